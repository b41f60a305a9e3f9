"""A run that was killed or interrupted in the middle of a step goes on as if nothing happened."""

import subprocess
import sys
from pathlib import Path

import lightning as L
import pytest
import torch

from sampo.checkpoint import latest_checkpoint, load_checkpoint
from tiny import save_tiny_policy
from training import make_data, make_module, make_trainer

TESTS = Path(__file__).parent


class Diary(L.Callback):
    """Notes what the run looked like after each update."""

    def __init__(self) -> None:
        self.pages: dict[int, dict[str, float]] = {}

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx) -> None:
        page = {k: float(v) for k, v in trainer.callback_metrics.items() if "time" not in k}
        self.pages[pl_module.update_step] = page | {"rows": float(len(batch))}


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> str:
    return save_tiny_policy(tmp_path_factory.mktemp("policy"))


@pytest.fixture(scope="module")
def unbroken(policy: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict, Diary]:
    """Return the final weights and the diary of nine updates in three epochs."""
    return run(policy, tmp_path_factory.mktemp("unbroken"))


def run(policy: str, folder: Path, ckpt_path: str | None = None) -> tuple[dict, Diary]:
    diary, module = Diary(), make_module(policy)
    trainer = make_trainer(folder, epochs=3, callbacks=[diary])
    trainer.fit(module, datamodule=make_data(policy), ckpt_path=ckpt_path)
    return module.state_dict(), diary


@pytest.mark.parametrize(
    ("signal_name", "where", "updates_done"),
    [("KILL", "update", 5), ("KILL", "rollout", 5), ("INT", "update", 6), ("INT", "rollout", 5)],
)
def test_a_resumed_run_equals_the_unbroken_one(
    policy: str,
    unbroken: tuple[dict, Diary],
    tmp_path: Path,
    signal_name: str,
    where: str,
    updates_done: int,
) -> None:
    """Struck in the sixth update: a kill loses that update, Ctrl-C in an update finishes it."""
    command = [sys.executable, str(TESTS / "run_and_die.py"), policy, str(tmp_path)]
    struck = subprocess.run(
        [*command, signal_name, where], capture_output=True, text=True, timeout=300, check=False
    )
    assert struck.returncode == (-9 if signal_name == "KILL" else 1), struck.stderr
    last = latest_checkpoint(tmp_path)
    assert load_checkpoint(last)["sampo"]["update_step"] == updates_done
    weights, diary = run(policy, tmp_path, ckpt_path="last")
    expected_weights, expected = unbroken
    assert sorted(diary.pages) == list(range(updates_done + 1, 10))
    for update, page in diary.pages.items():
        kept = {k: v for k, v in page.items() if not k.startswith("eval/")}
        wanted = {k: v for k, v in expected.pages[update].items() if not k.startswith("eval/")}
        assert kept == wanted
    assert all(torch.equal(weights[name], tensor) for name, tensor in expected_weights.items())
