"""The update: one normalisation law, one meaning of old log-probabilities, no silent NaN."""

from dataclasses import replace
from pathlib import Path

import lightning as L
import pytest
import torch
from lightning.pytorch.core.optimizer import LightningOptimizer
from torch.utils.data import DataLoader

from sampo.batch import RolloutBatch, ScoredBatch
from sampo.data.collate import collate
from sampo.episode import Episode, StopReason, Turn
from sampo.errors import ConfigError, EngineError, NonFiniteError
from sampo.losses import Aggregation, Clip, PolicyLoss, Ratio
from sampo.module import SampoModule
from sampo.scoring import Scorer
from sampo.trainer import SampoTrainer
from sampo.update_log import UpdateLog
from tiny import save_tiny_policy

LOSS = PolicyLoss(surrogate=Clip(clip_low=0.2, clip_high=0.2))


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> str:
    return save_tiny_policy(tmp_path_factory.mktemp("policy"))


def rollout(version: int = 0, *, scale: float = 1.0, turns: int = 6) -> RolloutBatch:
    """Return rows of different lengths with advantages of both signs."""
    generator = torch.Generator().manual_seed(7)

    def ids(n: int) -> tuple[int, ...]:
        return tuple(torch.randint(5, 200, (n,), generator=generator).tolist())

    episodes, advantages = [], []
    for number in range(turns):
        written = 1 + number % 3
        turn = Turn(
            observation="",
            reply="",
            action="",
            reward=0.0,
            prompt_ids=ids(3 + 2 * number),
            action_ids=ids(written),
            sampling_logprobs=(-5.0,) * written,
            policy_version=version,
        )
        episodes.append(
            Episode(
                task="t", seed=0, turns=(turn,), success=True, stop_reason=StopReason.TERMINATED
            )
        )
        advantages.append([scale * (1.0 if number % 2 else -0.5)])
    return collate(episodes, advantages, pad_id=0)


class Data(L.LightningDataModule):
    """Hands out given batches."""

    def __init__(self, batches: list[RolloutBatch]) -> None:
        super().__init__()
        self.batches = batches

    def train_dataloader(self) -> DataLoader[RolloutBatch]:
        return DataLoader(self.batches, batch_size=None)  # pyright: ignore[reportArgumentType]

    def val_dataloader(self) -> DataLoader[RolloutBatch]:
        return self.train_dataloader()

    def transfer_batch_to_device(self, batch, device, dataloader_idx):
        return batch


def train(module: SampoModule, batches: list[RolloutBatch], folder: Path) -> SampoModule:
    trainer = L.Trainer(
        accelerator="cpu",
        devices=1,
        max_epochs=1,
        limit_val_batches=0,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=folder,
    )
    trainer.fit(module, datamodule=Data(batches))
    return module


class AlwaysScores(Scorer):
    """Computes old log-probabilities even where they are not needed."""

    def score(self, batch: RolloutBatch, *, unchanged: bool) -> ScoredBatch:
        return super().score(batch, unchanged=False)


def weights(module: SampoModule) -> torch.Tensor:
    assert module.policy is not None
    return torch.cat([p.detach().flatten() for p in module.policy.parameters()])


def make(policy: str, loss: PolicyLoss = LOSS, **settings: object) -> SampoModule:
    return SampoModule(policy, loss, **{"learning_rate": 1e-3, **settings})  # pyright: ignore


@pytest.mark.parametrize("aggregation", ["token_mean", "sequence_mean_token_mean"])
def test_splitting_into_micro_batches_changes_nothing(
    policy: str, tmp_path: Path, aggregation: str
) -> None:
    loss = PolicyLoss(
        surrogate=Clip(clip_low=0.2, clip_high=0.2),
        aggregation=Aggregation(kind=aggregation),  # pyright: ignore[reportArgumentType]
        kl_coef=0.1,
    )
    whole = train(make(policy, loss, num_mini_batches=2), [rollout()], tmp_path)
    split = train(
        make(policy, loss, num_mini_batches=2, micro_batch_tokens=16), [rollout()], tmp_path
    )
    torch.testing.assert_close(weights(whole), weights(split), rtol=0, atol=2e-6)


def test_equal_rows_are_scored_once_and_trained_on_as_often_as_they_occur(
    policy: str, tmp_path: Path
) -> None:
    """Three copies of two rows, scored as two rows or (each in a micro-batch of its own) as six."""
    rows = torch.tensor([0, 1, 0, 1, 0, 1])
    batch = rollout().select(rows)
    turns = torch.arange(6)[:, None].expand_as(batch.turn_ids)
    batch = replace(batch, turn_ids=torch.where(batch.action_mask, turns, -1))
    together = train(make(policy), [batch], tmp_path)
    apart = train(make(policy, micro_batch_tokens=1), [batch], tmp_path)
    torch.testing.assert_close(weights(together), weights(apart), rtol=0, atol=2e-6)


def test_one_step_needs_no_second_scoring(policy: str, tmp_path: Path) -> None:
    """With one optimiser step the loss's own forward pass gives the old log-probabilities."""
    short = train(make(policy), [rollout()], tmp_path)
    module = make(policy)
    module.configure_model()
    scorer = module.scorer
    module._scorer = AlwaysScores(**vars(scorer))
    scored = train(module, [rollout()], tmp_path)
    torch.testing.assert_close(weights(short), weights(scored), rtol=0, atol=2e-6)


def test_good_actions_become_likelier(policy: str, tmp_path: Path) -> None:
    batch = rollout()
    module = make(policy, PolicyLoss(surrogate=Clip(clip_low=0.9, clip_high=9.0), kl_coef=0.0))
    module.configure_model()
    assert module.policy is not None
    before = module.scorer.logprobs(module.policy, batch)
    train(module, [batch], tmp_path)
    change = module.scorer.logprobs(module.policy, batch) - before
    good = batch.action_mask & (batch.advantages > 0)
    bad = batch.action_mask & (batch.advantages < 0)
    assert change[good].mean() > 0 > change[bad].mean()


@pytest.mark.parametrize(
    ("settings", "steps"),
    [
        ({}, 1),
        ({"num_mini_batches": 3}, 3),
        ({"num_mini_batches": 3, "epochs": 2}, 6),
        ({"mini_batch_rows": 4}, 2),
        ({"mini_batch_rows": 100}, 1),
    ],
)
def test_number_of_optimiser_steps(
    policy: str, tmp_path: Path, settings: dict[str, int], steps: int
) -> None:
    module = train(make(policy, **settings), [rollout()], tmp_path)
    assert module.trainer.global_step == steps
    assert module.update_step == 1


def test_rows_of_an_episode_stay_in_one_mini_batch(policy: str) -> None:
    loss = PolicyLoss(ratio=Ratio(level="episode"), aggregation=Aggregation(level="episode"))
    module = make(policy, loss, num_mini_batches=4, shuffle=True, epochs=2)
    batch = rollout()
    parts = module.mini_batches(batch, loss.keep_together_in_mini_batch, 0)
    assert len(parts) == 8
    assert sorted(torch.cat(parts[:4]).tolist()) == list(range(6))
    assert torch.cat(parts[:4]).tolist() != torch.cat(parts[4:]).tolist()


def test_rollouts_of_another_policy_version_are_refused(policy: str, tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="policy version 0, but the policy is at version 1"):
        train(make(policy), [rollout(0), rollout(0)], tmp_path)


def test_non_finite_steps_are_skipped_kept_and_finally_fatal(policy: str, tmp_path: Path) -> None:
    module = make(policy, max_skipped_steps=1)
    module.configure_model()
    before = weights(module).clone()
    with pytest.raises(NonFiniteError, match="2 optimiser steps in a row, at update 1"):
        train(module, [rollout(0, scale=float("nan")), rollout(1, scale=float("inf"))], tmp_path)
    assert torch.equal(weights(module), before)
    saved = sorted(path.name for path in (tmp_path / "skipped").iterdir())
    assert saved == ["update_000000_1.safetensors", "update_000001_2.safetensors"]


def test_one_bad_batch_costs_one_step(policy: str, tmp_path: Path) -> None:
    module = make(policy, max_skipped_steps=1)
    train(module, [rollout(0, scale=float("nan")), rollout(1)], tmp_path)
    assert module.skipped.in_a_row == 0 and module.update_step == 2
    assert bool(torch.isfinite(weights(module)).all())


@pytest.mark.parametrize(
    ("kind", "factors"),
    [("constant", [1 / 3, 2 / 3, 1, 1]), ("linear", [1 / 3, 2 / 3, 1, 0.5])],
)
def test_learning_rate_course(policy: str, tmp_path: Path, kind: str, factors: list[float]) -> None:
    """Four updates, two of warm-up: 1/3, 2/3 of it, then full, then (linear) half way down."""
    module = make(policy, lr_schedule=kind, warmup_updates=2)
    seen: list[float] = []
    step = module._step

    def note(optimizer: LightningOptimizer, scored: ScoredBatch, log: UpdateLog) -> object:
        seen.append(optimizer.param_groups[0]["lr"])
        return step(optimizer, scored, log)

    module._step = note  # pyright: ignore[reportAttributeAccessIssue]
    train(module, [rollout(version) for version in range(4)], tmp_path)
    assert seen == pytest.approx([1e-3 * factor for factor in factors])


def test_scaled_losses_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(L.Trainer, "precision", "16-mixed")  # on a CPU Lightning takes bf16 for it
    with pytest.raises(ConfigError, match="use bf16-mixed"):
        SampoTrainer(accelerator="cpu", default_root_dir=tmp_path)


def test_settings_that_contradict_each_other_are_refused(policy: str) -> None:
    with pytest.raises(ConfigError, match="same thing in two ways"):
        make(policy, num_mini_batches=2, mini_batch_rows=3)
    with pytest.raises(ConfigError, match=r"kl_coef to 0"):
        make(policy, reference=False)
    make(policy, PolicyLoss(kl_coef=0.0), reference=False)
