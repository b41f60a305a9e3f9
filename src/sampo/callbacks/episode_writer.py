"""Keeps what the policy did: every rolled-out episode as JSON lines in the run folder."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import lightning as L
import torch

from sampo.batch import RolloutBatch
from sampo.callbacks.episode_stream import EpisodeStream
from sampo.callbacks.latest import latest_rollout
from sampo.callbacks.run_folder import run_folder
from sampo.data.datamodule import RolloutDataModule
from sampo.data.demonstration_data import DemonstrationDataModule
from sampo.data.episode_log import EpisodeRecord, write_episodes
from sampo.data.player import ignore
from sampo.data.playing_datamodule import PlayingDataModule
from sampo.data.rollout_records import rollout_records
from sampo.data.token_file import token_path, write_tokens
from sampo.data.token_pieces import TokenPieces
from sampo.episode import Episode
from sampo.errors import ConfigError
from sampo.module import SampoModule


class EpisodeWriter(L.Callback):
    """Writes `episodes/update_000012.jsonl` per update, `validation_000012.jsonl` per evaluation.

    Each episode is written the moment it ends, to `update_000012.partial.jsonl`, so that a rollout
    that breaks off leaves what it has played. When the rollout is complete, and before the update,
    the file proper takes its place, with advantages and what the filters said: the groups that were
    trained on, then dropped ones with the reason, then greedy baselines, then failed episodes;
    episodes that left their group stand at its end. After the update
    `update_000012.tokens.safetensors` joins it: what the loss did to each token of the groups whose
    tokens are written. Behaviour cloning has evaluations only.
    `sampo.data.episode_log.read_episodes` reads the episodes back, `sampo view` shows it all. Of
    several ranks each writes its own as they end (`.partial.rankN.jsonl`); files proper hold all.

    Args:
        keep_updates: number of newest files of either kind that are kept; null keeps all.
        max_episodes_per_update: most episodes of one file, in the order above; null writes all.
        every_n_updates: writes the updates whose number (from 0) this divides; evaluations always.
        with_ids: whether to write token ids, their texts and log-probabilities, too.
        token_groups: number of first groups of an update, or of first episodes of an evaluation,
            whose tokens are written; null: of all.
    """

    def __init__(
        self,
        keep_updates: int | None = 50,
        max_episodes_per_update: int | None = 1024,
        every_n_updates: int = 1,
        with_ids: bool = True,
        token_groups: int | None = 8,
    ) -> None:
        limits = {
            "keep_updates": keep_updates,
            "max_episodes_per_update": max_episodes_per_update,
            "token_groups": token_groups,
        }
        for name, value in limits.items():
            if value is not None and value < 1:
                raise ConfigError(
                    f"EpisodeWriter.{name} must be at least 1, or null for no limit, got {value}. "
                    "For no episodes leave the callback out, for no tokens set with_ids to false."
                )
        if every_n_updates < 1:
            raise ConfigError(
                f"EpisodeWriter.every_n_updates must be at least 1, got {every_n_updates}."
            )
        self.keep_updates = keep_updates
        self.max_episodes_per_update = max_episodes_per_update
        self.every_n_updates = every_n_updates
        self.with_ids = with_ids
        self.token_groups = token_groups
        self._pieces: TokenPieces | None = None
        self._evaluated: list[Episode] = []
        self._streams: dict[Path, EpisodeStream] = {}

    def setup(self, trainer: L.Trainer, pl_module: L.LightningModule, stage: str) -> None:
        """Settle the run folder while all ranks are here, and ask to be told of episodes."""
        run_folder(trainer)
        data = trainer.datamodule  # pyright: ignore[reportAttributeAccessIssue]
        if isinstance(data, PlayingDataModule):
            data.player.on_episode = partial(self._add_to_stream, trainer)

    def teardown(self, trainer: L.Trainer, pl_module: L.LightningModule, stage: str) -> None:
        """Ask no longer."""
        data = trainer.datamodule  # pyright: ignore[reportAttributeAccessIssue]
        if isinstance(data, PlayingDataModule):
            data.player.on_episode = ignore

    def on_train_batch_start(
        self, trainer: L.Trainer, pl_module: L.LightningModule, batch: Any, batch_idx: int
    ) -> None:
        """Write the rollout that is about to be trained on."""
        data = trainer.datamodule  # pyright: ignore[reportAttributeAccessIssue]
        if not isinstance(data, RolloutDataModule):
            return
        rollout = latest_rollout(trainer)
        if rollout.update % self.every_n_updates == 0:
            records = rollout_records(rollout, turn_advantages(batch))
            self._write(trainer, "update", rollout.update, records)

    def on_train_batch_end(
        self,
        trainer: L.Trainer,
        pl_module: L.LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
    ) -> None:
        """Write what the update did to the tokens."""
        if not self.with_ids or not isinstance(pl_module, SampoModule):
            return
        data = trainer.datamodule  # pyright: ignore[reportAttributeAccessIssue]
        assert isinstance(data, RolloutDataModule)
        rollout = latest_rollout(trainer)
        if rollout.update % self.every_n_updates == 0 and trainer.is_global_zero:
            assert pl_module.last_update is not None, "an update without a log"
            groups = rollout.groups[: self.token_groups]
            episodes = [episode for group in groups for episode in group.episodes]
            num_turns = sum(len(e.turns) for e in episodes[: self.max_episodes_per_update])
            path = token_path(self._file(trainer, "update", rollout.update))
            write_tokens(path, pl_module.last_update.last_pass(), num_turns=num_turns)

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

    def _with_pieces(
        self, trainer: L.Trainer, records: Iterator[EpisodeRecord]
    ) -> Iterator[EpisodeRecord]:
        """Add the texts of tokens to the episodes of the first groups."""
        groups, cut = self.token_groups, self._cutter(trainer)
        for record in records:
            if not cut or record.group < 0 or (groups is not None and record.group >= groups):
                yield record
            else:
                yield replace(record, pieces=cut.turns(record.episode))

    def _cutter(self, trainer: L.Trainer) -> TokenPieces | None:
        """Return what cuts tokens into text, made on first use; None: a served model has none."""
        if self._pieces is None:
            data = trainer.datamodule  # pyright: ignore[reportAttributeAccessIssue]
            assert isinstance(data, PlayingDataModule)
            if data.engine.served_model:
                return None
            self._pieces = TokenPieces(data.renderer.tokenizer)
        return self._pieces

    def _add_to_stream(self, trainer: L.Trainer, episode: Episode) -> None:
        """Write an episode that has just ended, if its file will be written."""
        kind, update = "update", _updates_done(trainer)
        if trainer.validating or trainer.sanity_checking:
            kind = "validation"
        elif not trainer.training or update % self.every_n_updates:
            return
        file = self._partial_file(trainer, kind, update)
        if file not in self._streams:
            self._streams[file] = EpisodeStream(
                file,
                update=update,
                most=self.max_episodes_per_update,
                pieces=self._cutter(trainer) if self.with_ids else None,
                token_groups=self.token_groups,
            )
        self._streams[file].add(episode)

    def _write(
        self, trainer: L.Trainer, kind: str, update: int, records: Iterator[EpisodeRecord]
    ) -> None:
        """Write one file and delete the oldest of its kind."""
        file = self._file(trainer, kind, update)
        if trainer.is_global_zero:
            if self.with_ids:
                records = self._with_pieces(trainer, records)
            write_episodes(file, islice(records, self.max_episodes_per_update))
        stream = self._streams.pop(self._partial_file(trainer, kind, update), None)
        if stream is not None:
            stream.discard()
        if self.keep_updates is not None and trainer.is_global_zero:
            kind_of_file = file.name.replace(f"{update:06d}", "[0-9]*[0-9]")
            for old in sorted(file.parent.glob(kind_of_file))[: -self.keep_updates]:
                old.unlink()
                token_path(old).unlink(missing_ok=True)

    def _file(self, trainer: L.Trainer, kind: str, update: int, ending: str = "") -> Path:
        """Return the file of an update or evaluation."""
        return run_folder(trainer) / "episodes" / f"{kind}_{update:06d}{ending}.jsonl"

    def _partial_file(self, trainer: L.Trainer, kind: str, update: int) -> Path:
        """Return the file of this rank's episodes in a rollout that is not over."""
        rank = "" if trainer.is_global_zero else f".rank{trainer.global_rank}"
        return self._file(trainer, kind, update, f".partial{rank}")


def turn_advantages(batch: RolloutBatch) -> list[float | None]:
    """Return the advantage of each turn of a rollout; None for a turn without action tokens.

    Turns after the last one with action tokens are not in the list.
    """
    turns, values = batch.turn_ids[batch.action_mask], batch.advantages[batch.action_mask]
    advantages = values.new_full((int(turns.max()) + 1 if len(turns) else 0,), torch.nan)
    advantages[turns] = values
    return [None if math.isnan(value) else value for value in advantages.tolist()]


def _updates_done(trainer: L.Trainer) -> int:
    """Return the number of updates, or of cloning steps, before an evaluation."""
    data = trainer.datamodule  # pyright: ignore[reportAttributeAccessIssue]
    if isinstance(data, DemonstrationDataModule):
        return data.batches_done
    assert isinstance(data, RolloutDataModule)
    return data.update
