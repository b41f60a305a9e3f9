"""Keeps what the policy did: every rolled-out episode as JSON lines in the run folder."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import lightning as L

from sampo.callbacks.run_folder import run_folder
from sampo.data.datamodule import RolloutDataModule
from sampo.data.demonstration_data import DemonstrationDataModule
from sampo.data.episode_log import EpisodeRecord, write_episodes
from sampo.data.group_rollout import Rollout
from sampo.episode import Episode
from sampo.errors import ConfigError


class EpisodeWriter(L.Callback):
    """Writes `episodes/update_000012.jsonl` per update, `validation_000012.jsonl` per evaluation.

    An update's file is written before the update, so that the episodes behind a crash are there to
    be read. It holds kept groups, then dropped ones with the filter's reason, then failed
    episodes. Behaviour cloning has evaluations only. `sampo.data.episode_log.read_episodes` reads
    the files back. With several ranks each writes its own episodes, to files that end in
    `.rankN.jsonl`.

    Args:
        keep_updates: number of newest files of either kind that are kept; null keeps all.
        max_episodes_per_update: most episodes of one file, in the order above; null writes all.
        with_ids: whether to write token ids and log-probabilities too (about five times larger).
    """

    def __init__(
        self,
        keep_updates: int | None = 50,
        max_episodes_per_update: int | None = 1024,
        with_ids: bool = False,
    ) -> None:
        limits = {
            "keep_updates": keep_updates,
            "max_episodes_per_update": max_episodes_per_update,
        }
        for name, value in limits.items():
            if value is not None and value < 1:
                raise ConfigError(
                    f"EpisodeWriter.{name} must be at least 1, or null for no limit, got {value}. "
                    "To write no episodes leave the callback out."
                )
        self.keep_updates = keep_updates
        self.max_episodes_per_update = max_episodes_per_update
        self.with_ids = with_ids
        self._evaluated: list[Episode] = []

    def setup(self, trainer: L.Trainer, pl_module: L.LightningModule, stage: str) -> None:
        """Settle the run folder while all ranks are here."""
        run_folder(trainer)

    def on_train_batch_start(
        self, trainer: L.Trainer, pl_module: L.LightningModule, batch: Any, batch_idx: int
    ) -> None:
        """Write the rollout that is about to be trained on."""
        data = trainer.datamodule  # pyright: ignore[reportAttributeAccessIssue]
        if not isinstance(data, RolloutDataModule):
            return
        rollout = data.last_rollout
        assert rollout is not None, "a training batch without a rollout"
        self._write(trainer, "update", rollout.update, _records(rollout))

    def on_validation_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Start a new evaluation."""
        self._evaluated = []

    def on_validation_batch_end(
        self,
        trainer: L.Trainer,
        pl_module: L.LightningModule,
        outputs: Any,
        batch: list[Episode],
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        """Remember the episodes of one chunk."""
        self._evaluated.extend(batch)

    def on_validation_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Write the evaluation."""
        update = _updates_done(trainer)
        records = (
            EpisodeRecord(
                episode=episode,
                update=update,
                group=number,
                kept=not episode.failed,
                drop_reason="failed" if episode.failed else None,
            )
            for number, episode in enumerate(self._evaluated)
        )
        self._write(trainer, "validation", update, records)
        self._evaluated = []

    def _write(
        self, trainer: L.Trainer, kind: str, update: int, records: Iterator[EpisodeRecord]
    ) -> None:
        """Write one file and delete the oldest of its kind."""
        folder = run_folder(trainer) / "episodes"
        suffix = f".rank{trainer.global_rank}.jsonl" if trainer.world_size > 1 else ".jsonl"
        bounded = islice(records, self.max_episodes_per_update)
        write_episodes(folder / f"{kind}_{update:06d}{suffix}", bounded, with_ids=self.with_ids)
        if self.keep_updates is not None:
            for old in _written(folder, kind, suffix)[: -self.keep_updates]:
                old.unlink()


def _updates_done(trainer: L.Trainer) -> int:
    """Return the number of updates, or of cloning steps, before an evaluation."""
    data = trainer.datamodule  # pyright: ignore[reportAttributeAccessIssue]
    if isinstance(data, DemonstrationDataModule):
        return data.batches_done
    assert isinstance(data, RolloutDataModule)
    return data.update


def _records(rollout: Rollout) -> Iterator[EpisodeRecord]:
    """Yield every episode of a rollout with what became of it."""
    for number, group in enumerate(rollout.groups):
        for episode in group.episodes:
            yield EpisodeRecord(episode=episode, update=rollout.update, group=number)
    for number, (group, reason) in enumerate(rollout.dropped, start=len(rollout.groups)):
        for episode in group.episodes:
            yield EpisodeRecord(
                episode=episode,
                update=rollout.update,
                group=number,
                kept=False,
                drop_reason=reason,
            )
    for episode in rollout.failed:
        yield EpisodeRecord(
            episode=episode, update=rollout.update, group=-1, kept=False, drop_reason="failed"
        )


def _written(folder: Path, kind: str, suffix: str) -> list[Path]:
    """Return the files of one kind, oldest update first."""
    return sorted(folder.glob(f"{kind}_[0-9]*{suffix}"))
