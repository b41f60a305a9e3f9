"""A thousand faults of the environment in one run: no step is lost, each one is counted."""

from collections import Counter
from pathlib import Path

import lightning as L
import pytest

from drills.faulty_world import KINDS, FaultyCorridor
from sampo.callbacks import Checkpoints, RolloutStats, WeightSync
from sampo.callbacks.latest import latest_rollout
from sampo.data.settings import WorkerSettings
from sampo.filtering import KeepAll
from sampo.trainer import SampoTrainer
from tiny import save_tiny_policy
from training import make_data, make_module

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.filterwarnings("ignore:.*failed twice and are left out"),  # told to the user, once
]

FAULTS = 1000
UPDATES = 60
"""Most of them; the run ends after the first one without a fault."""


class Ledger(L.Callback):
    """Adds up what each rollout says of faults, and stops when there are no more."""

    def __init__(self) -> None:
        self.retried = 0
        self.failed = 0
        self.reasons: Counter[str] = Counter()
        self.updates = 0

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx) -> None:
        rollout = latest_rollout(trainer)
        retried = int(rollout.stats["rollout/retried_episodes"])
        failed = int(rollout.stats["rollout/failed_episodes"])
        assert all(episode.failed and episode.error for episode in rollout.failed)
        self.retried += retried
        self.failed += failed
        self.updates += 1
        if not retried + failed:
            trainer.should_stop = True


def test_a_thousand_faults_cost_no_step_and_are_all_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = save_tiny_policy(tmp_path / "policy")
    log, ledger = tmp_path / "faults", Ledger()
    data = make_data(
        policy,
        env=FaultyCorridor(str(log), most=FAULTS),
        group_filter=KeepAll(),
        groups_per_update=16,
        group_size=8,
        updates_per_epoch=UPDATES,
        workers=WorkerSettings(num_workers=3, step_timeout_s=5.0, reset_timeout_s=30.0),
    )
    module = make_module(policy)
    trainer = SampoTrainer(
        accelerator="cpu",
        devices=1,
        max_epochs=1,
        num_sanity_val_steps=0,
        limit_val_batches=0,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        use_distributed_sampler=False,
        default_root_dir=tmp_path,
        callbacks=[WeightSync(), RolloutStats(), ledger, Checkpoints(monitor=None, export=False)],
    )
    trainer.fit(module, datamodule=data)

    injected = Counter(log.read_text())
    with capsys.disabled():
        kinds = {f"{KINDS[k.lower()]} in {'reset' if k.isupper() else 'step'}": n
                 for k, n in sorted(injected.items())}  # fmt: skip
        print(f"\n{injected.total()} faults in {ledger.updates} updates: {kinds}; "  # noqa: T201
              f"{ledger.retried} retried, {ledger.failed} failed episodes")  # fmt: skip
    assert injected.total() >= FAULTS
    assert {k.lower() for k in injected} == set(KINDS)
    assert {k.lower() for k in injected if k.isupper()} == set(KINDS)
    # A fault ends an attempt: the first one is played again, the second one is an error episode.
    assert ledger.retried + ledger.failed == injected.total()
    # Two mini-batches per update, none skipped, none missing.
    assert module.update_step == ledger.updates
    assert trainer.global_step == 2 * ledger.updates
    assert module.skipped.in_a_row == 0
