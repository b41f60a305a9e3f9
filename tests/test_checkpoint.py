"""Checkpoints: export for plain transformers, the newest one, and files that are none."""

import os
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from sampo.checkpoint import export_policy, latest_checkpoint, load_checkpoint
from sampo.errors import CheckpointError
from tiny import save_tiny_policy
from training import make_data, make_module, make_trainer


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, torch.Tensor]]:
    """Return the folder of a short run, and its final weights."""
    folder = tmp_path_factory.mktemp("run")
    policy = save_tiny_policy(folder / "policy")
    module = make_module(policy)
    make_trainer(folder, epochs=1).fit(module, datamodule=make_data(policy))
    return folder / "version_0", module.state_dict()


def test_plain_transformers_loads_the_exported_policy(
    run: tuple[Path, dict[str, torch.Tensor]], tmp_path: Path
) -> None:
    folder, weights = run
    exported = export_policy(folder / "checkpoints" / "last.ckpt", tmp_path / "hf")
    for path in (exported, folder / "hf"):
        model = AutoModelForCausalLM.from_pretrained(path)
        for name, tensor in model.state_dict().items():
            assert torch.equal(tensor, weights[f"policy.model.{name}"])
        tokenizer = AutoTokenizer.from_pretrained(path)
        assert tokenizer.eos_token == "<|im_end|>" and tokenizer.chat_template


def test_the_reference_is_in_no_checkpoint(run: tuple[Path, dict[str, torch.Tensor]]) -> None:
    checkpoint = load_checkpoint(run[0] / "checkpoints" / "last.ckpt")
    assert all(name.startswith("policy.") for name in checkpoint["state_dict"])


def test_a_checkpoint_executes_nothing(tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return os.system, (f"touch {tmp_path / 'exploded'}",)

    torch.save({"sampo": Bomb()}, tmp_path / "bomb.ckpt")
    with pytest.raises(CheckpointError, match="cannot be read as a checkpoint"):
        load_checkpoint(tmp_path / "bomb.ckpt")
    assert not (tmp_path / "exploded").exists()


def test_files_that_are_no_checkpoints_of_ours(tmp_path: Path) -> None:
    torch.save({"state_dict": {}}, tmp_path / "other.ckpt")
    with pytest.raises(CheckpointError, match="not a checkpoint that `sampo fit` wrote"):
        load_checkpoint(tmp_path / "other.ckpt")
    with pytest.raises(CheckpointError, match="no checkpoint"):
        load_checkpoint(tmp_path / "missing.ckpt")


def test_the_newest_run_is_continued(tmp_path: Path) -> None:
    for number, age in ((0, 30), (1, 10), (2, 20)):
        path = tmp_path / f"version_{number}" / "checkpoints" / "last.ckpt"
        path.parent.mkdir(parents=True)
        path.write_bytes(b"")
        os.utime(path, (1_000_000 - age, 1_000_000 - age))
    assert latest_checkpoint(tmp_path).parts[-3] == "version_1"
