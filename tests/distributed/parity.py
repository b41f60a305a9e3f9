"""What the parity test runs, in one process and on every rank of several: short training runs.

Usage: torchrun --nproc-per-node 2 parity.py POLICY FOLDER
writes FOLDER/STRATEGY_SCENARIO_rankN.pt, what `run` returns, and FOLDER/exchange_rankN.pt.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import lightning as L
import torch
from tests.distributed.exchange import exchange
from tests.rollout.test_replica_engine import Copies
from torch.utils.data import DataLoader

from sampo.advantages import GAE
from sampo.batch import RolloutBatch
from sampo.callbacks import RolloutStats, WeightSync
from sampo.callbacks.healthy_checkpoints import HealthyCheckpoints
from sampo.data.collate import collate
from sampo.episode import Episode, StopReason, Turn
from sampo.flat_shards import is_flat, units_of
from sampo.losses import Clip, PolicyLoss, SequenceMask
from sampo.losses.value import ValueLoss
from sampo.models.lora import LoRA
from sampo.models.policy import Policy
from sampo.models.whole_weights import gathered_state, whole, whole_parameters
from sampo.module import SampoModule
from sampo.trainer import SampoTrainer
from training import make_data, make_module

UPDATES = 5
SCENARIOS = ("rollouts", "adapters", "given")
STRATEGIES = ("ddp", "fsdp", "fsdp1")


class Diary(L.Callback):
    """Notes what an update was: metrics, and the clipped gradients of its steps."""

    def __init__(self) -> None:
        self.pages: list[dict[str, float]] = []
        self.gradients: list[dict[str, torch.Tensor]] = []

    def on_before_optimizer_step(self, trainer: Any, pl_module: Any, optimizer: Any) -> None:
        policy = pl_module.policy
        units = [dict(policy.named_parameters())]
        if is_flat(policy):
            units = units_of(policy, writeback=False, with_grads=True)
        self.gradients.append(
            {
                name: whole(parameter.grad).clone()
                for unit in units
                for name, parameter in unit.items()
                if parameter.requires_grad
            }
        )

    def on_train_batch_end(self, trainer: Any, pl_module: Any, *args: Any) -> None:
        values = pl_module.last_update.values | {"rows": float(len(args[1]))}
        data = trainer.datamodule
        if hasattr(data, "last_rollout"):
            stats = data.last_rollout.stats
            values |= {k: v for k, v in stats.items() if not k.startswith("time/")}
        self.pages.append(values)


class Back(L.Callback):
    """Puts the run back from the third update to the second: weights and optimiser."""

    def __init__(self, folder: Path) -> None:
        self._healthy = HealthyCheckpoints(folder, every=1)

    def on_train_batch_end(self, trainer: Any, pl_module: Any, *args: Any) -> None:
        if pl_module.update_step == 2:
            self._healthy.save(trainer, 2)
        if pl_module.update_step == 3:
            self._healthy.restore(pl_module, before=2)


class WithSGD(SampoModule):
    """AdamW would divide a gradient that is all rounding by its own size: no rank can repeat that.

    (A value head that starts at zero has such gradients; the scenario `rollouts` has AdamW.)
    """

    def configure_optimizers(self) -> torch.optim.Optimizer:
        groups = [{"params": list(self.scorer.policy.parameters()), "base_lr": 0.05}]
        return torch.optim.SGD(groups, lr=0.05)


class Given(L.LightningDataModule):
    """Hands out batches of decreasing size; the last ones have fewer rows than there are ranks."""

    def train_dataloader(self) -> DataLoader[RolloutBatch]:
        sizes = (9, 5, 3, 2, 1)
        batches = [given_batch(version, rows) for version, rows in enumerate(sizes)]
        return DataLoader(batches, batch_size=None)  # pyright: ignore[reportArgumentType]

    def val_dataloader(self) -> DataLoader[RolloutBatch]:
        return self.train_dataloader()  # never used

    def transfer_batch_to_device(self, batch, device, dataloader_idx):
        return batch


def given_batch(version: int, rows: int) -> RolloutBatch:
    """Return rows of different lengths with advantages of both signs."""
    generator = torch.Generator().manual_seed(version)

    def ids(n: int) -> tuple[int, ...]:
        return tuple(torch.randint(5, 200, (n,), generator=generator).tolist())

    episodes = []
    for number in range(rows):
        written = 1 + number % 3
        turn = Turn(
            observation="",
            reply="",
            action="",
            reward=float(number % 2),
            prompt_ids=ids(3 + 3 * number),
            action_ids=ids(written),
            sampling_logprobs=(-5.0,) * written,
            policy_version=version,
        )
        ended = StopReason.TERMINATED
        episodes.append(Episode(task="t", seed=0, turns=(turn,), success=True, stop_reason=ended))
    values = [[1.0 if number % 2 else -0.5] for number in range(rows)]
    return collate(episodes, values, pad_id=0)


def make(policy: str, scenario: str) -> tuple[SampoModule, L.LightningDataModule]:
    """Return what a scenario trains.

    `rollouts`: three groups per update, so two for one rank and one for the other; the filter drops
    groups, and where one is played anew the other rank has none. Clipped gradients, a reference,
    and a rollback.
    `adapters`: the same with LoRA, whose checkpoints hold neither the base nor moments of it.
    `given`: a value head, and a sequence mask that rejects in the second of two passes.
    """
    clip = Clip(clip_low=0.2, clip_high=0.2)
    if scenario != "given":
        loss = PolicyLoss(surrogate=clip, kl_coef=0.1)
        lora = LoRA(r=4, alpha=8.0) if scenario == "adapters" else None
        # Adapters start from it. Not torch's alone: Lightning's DDP goes back to the seed that it
        # was told, which may be that of an earlier test.
        L.seed_everything(11, verbose=False)
        module = make_module(
            policy, loss=loss, lora=lora, max_grad_norm=0.1, micro_batch_tokens=400
        )
        return module, make_data(policy, updates_per_epoch=UPDATES, group_size=4)
    loss = PolicyLoss(
        surrogate=clip,
        kl_coef=0.0,
        entropy_coef=0.01,
        masking=SequenceMask(threshold=1e-5),
        value=ValueLoss(),
    )
    return WithSGD(
        policy,
        loss,
        batch_advantage=GAE(),
        reference=False,
        num_mini_batches=2,
        epochs=2,
        micro_batch_tokens=30,
    ), Given()


def shipped(policy: Policy) -> dict[str, torch.Tensor]:
    """Return what an engine of this rank has after two syncs, which it compares by itself."""
    engine = Copies()
    for version in (1, 2):
        engine.sync_weights(policy, version)
    copy = engine.copies[0]._policy
    assert copy is not None
    weights = {name: weight.detach().clone() for name, weight in copy.model.named_parameters()}
    engine.close()
    return weights


def run(policy: str, scenario: str, strategy: str, folder: Path) -> dict[str, Any]:
    """Train; return metrics and gradients of each update, and the parameters at the end."""
    single = strategy == "single"
    strategies = {"single": "auto", "ddp": "ddp", "fsdp": "fsdp2", "fsdp1": "fsdp1"}
    diary = Diary()
    trainer = SampoTrainer(
        accelerator="cpu",
        strategy=strategies[strategy],
        devices=1 if single else 2,
        max_epochs=1,
        num_sanity_val_steps=0,
        limit_val_batches=0 if scenario == "given" else 1.0,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        use_distributed_sampler=False,
        default_root_dir=folder,
        callbacks=[diary]
        if scenario == "given"
        else [Back(folder / f"{strategy}_{scenario}"), WeightSync(), RolloutStats(), diary],
    )
    module, data = make(policy, scenario)
    trainer.fit(module, datamodule=data)
    assert module.policy is not None
    return {
        "pages": diary.pages,
        "gradients": diary.gradients,
        "weights": {name: w.clone() for name, w in whole_parameters(module.policy)},
        "state": gathered_state(module.policy, keep=True),
        "shipped": shipped(module.policy) if scenario == "rollouts" else {},
        "eval": {k: float(v) for k, v in trainer.callback_metrics.items() if "eval/" in k},
    }


def main(policy: str, folder: str) -> None:
    """Run everything on this rank."""
    for strategy in STRATEGIES:
        for scenario in SCENARIOS:
            result = run(policy, scenario, strategy, Path(folder))
            rank = torch.distributed.get_rank()
            torch.save(result, Path(folder) / f"{strategy}_{scenario}_rank{rank}.pt")
    torch.save(exchange(), Path(folder) / f"exchange_rank{rank}.pt")


if __name__ == "__main__":
    main(*sys.argv[1:])
