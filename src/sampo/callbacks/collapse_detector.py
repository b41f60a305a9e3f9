"""Sees a collapse come, and acts: rules over the signals of every update, actions per stage."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import lightning as L

from sampo.callbacks.collapse_actions import Action, Rollback, Trouble, Warn
from sampo.callbacks.healthy_checkpoints import HealthyCheckpoints
from sampo.callbacks.latest import latest_rollout
from sampo.callbacks.run_folder import run_folder
from sampo.callbacks.weight_sync import WeightSync
from sampo.collapse import Alarm, CollapseMonitor, Rule, Stage, default_rules
from sampo.data.episode_log import EpisodeRecord, write_episodes
from sampo.data.group_rollout import Rollout
from sampo.errors import ConfigError
from sampo.module import SampoModule


class CollapseDetector(L.Callback):
    """Watches the signals of every update and acts when they say that the run goes wrong.

    Every alarm is a line of `alarms.jsonl` in the run folder, with the file of the episodes behind
    it. The stage is logged as `collapse/stage` (0 healthy to 3 collapsed). Put it before
    `WeightSync` in the list of callbacks, so that weights that were put back reach the engine.

    Args:
        rules: null takes those of `sampo.collapse.default_rules`.
        on_warning: what is done when the run enters the stage `warning`; null: a line is printed.
        on_collapsing: likewise for `collapsing`.
        on_collapsed: likewise for `collapsed`.
        repeat_after: updates after which the actions of a stage that lasts are done again.
        agreeing: warnings on so many signals together count as collapsing.
        healthy_every: updates between checkpoints to roll back to; written only with a `Rollback`.
        num_episodes: episodes saved with an alarm, those of the lowest score.
    """

    def __init__(
        self,
        rules: list[Rule] | None = None,
        on_warning: list[Action] | None = None,
        on_collapsing: list[Action] | None = None,
        on_collapsed: list[Action] | None = None,
        repeat_after: int = 10,
        agreeing: int = 3,
        healthy_every: int = 5,
        num_episodes: int = 32,
    ) -> None:
        for name, value in {
            "repeat_after": repeat_after,
            "agreeing": agreeing,
            "healthy_every": healthy_every,
            "num_episodes": num_episodes,
        }.items():
            if value < 1:
                raise ConfigError(f"CollapseDetector.{name} must be at least 1, got {value}.")
        self.monitor = CollapseMonitor(rules=rules or default_rules(), agreeing=agreeing)
        chosen = dict(zip(list(Stage)[1:], (on_warning, on_collapsing, on_collapsed), strict=True))
        self.actions: dict[Stage, Sequence[Action]] = {
            stage: [Warn()] if actions is None else actions for stage, actions in chosen.items()
        }
        self.repeat_after = repeat_after
        self.num_episodes = num_episodes
        self.healthy = HealthyCheckpoints(Path(), every=healthy_every)
        self._acted = (Stage.HEALTHY, 0)
        """Stage that was last acted on, and the update."""

    @property
    def rolls_back(self) -> bool:
        """Whether any stage has a `Rollback`."""
        return any(isinstance(a, Rollback) for actions in self.actions.values() for a in actions)

    def setup(self, trainer: L.Trainer, pl_module: L.LightningModule, stage: str) -> None:
        """Check that every action can be done, and settle the folder."""
        if stage != "fit":
            return
        assert isinstance(pl_module, SampoModule)
        kinds = [type(callback) for callback in trainer.callbacks]  # pyright: ignore[reportAttributeAccessIssue]
        if self.rolls_back and WeightSync in kinds[: kinds.index(type(self))]:
            raise ConfigError(
                "CollapseDetector with Rollback must stand before WeightSync in trainer.callbacks: "
                "the engine would go on with the weights that were given up."
            )
        for actions in self.actions.values():
            for action in actions:
                if obstacle := action.obstacle(pl_module):
                    raise ConfigError(obstacle)
        self.healthy.folder = run_folder(trainer) / "checkpoints"

    def on_train_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Keep what the run starts from."""
        assert isinstance(pl_module, SampoModule)
        there = trainer.strategy.broadcast(bool(self.healthy.written()))  # rank 0 may be writing
        if self.rolls_back and not there:
            self.healthy.save(trainer, pl_module.update_step)

    def on_train_batch_end(
        self,
        trainer: L.Trainer,
        pl_module: L.LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
    ) -> None:
        """Judge the update, act, and keep a checkpoint if all is well."""
        assert isinstance(pl_module, SampoModule) and pl_module.last_update is not None
        rollout = latest_rollout(trainer)
        signals = {f"train/{name}": value for name, value in pl_module.last_update.values.items()}
        signals |= rollout.stats
        update = pl_module.update_step
        alarms = self.monitor.update(update, signals)
        stage = self.monitor.stage
        if stage is Stage.HEALTHY:
            self._acted = (stage, update)
            if self.rolls_back and update % self.healthy.every == 0:
                self.healthy.save(trainer, update)
        episodes = self._save_episodes(trainer, rollout) if alarms else None
        done = self._act(trainer, pl_module, alarms, episodes)
        if trainer.is_global_zero:
            self._write(run_folder(trainer) / "alarms.jsonl", alarms, episodes, done)
        pl_module.log("collapse/stage", float(stage))

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the rules, plain values only."""
        return {
            "monitor": self.monitor.state_dict(),
            "healthy": self.healthy.state_dict(),
            "acted": [int(self._acted[0]), self._acted[1]],
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore it."""
        self.monitor.load_state_dict(state_dict["monitor"])
        self.healthy.load_state_dict(state_dict["healthy"])
        stage, update = state_dict["acted"]
        self._acted = (Stage(stage), update)

    def _act(
        self,
        trainer: L.Trainer,
        module: SampoModule,
        alarms: Sequence[Alarm],
        episodes: Path | None,
    ) -> str:
        """Do what the config says of a stage that was entered, or that lasts."""
        stage, update = self.monitor.stage, module.update_step
        entered = stage > self._acted[0]
        lasts = stage is not Stage.HEALTHY and update - self._acted[1] >= self.repeat_after
        if not entered and not lasts:
            return ""
        self._acted = (stage, update)
        trouble = Trouble(
            trainer=trainer,
            module=module,
            alarms=alarms,
            stage=stage.name.lower(),
            onset=self.monitor.onset or update,
            healthy=self.healthy,
            episodes=episodes,
        )
        before = self.healthy.rollbacks
        done = [action(trouble) for action in self.actions[stage]]
        if self.healthy.rollbacks > before:
            self.monitor.forget_since(update - trouble.onset + 1)
            self.monitor.restart()
            self._acted = (Stage.HEALTHY, update)
        return ", ".join(text for text in done if text)

    def _save_episodes(self, trainer: L.Trainer, rollout: Rollout) -> Path:
        """Write the worst episodes of the rollout beside the alarms."""
        episodes = [episode for group in rollout.all_groups for episode in group.episodes]
        worst = sorted(episodes, key=lambda episode: episode.score)[: self.num_episodes]
        path = run_folder(trainer) / "alarms" / f"update_{rollout.update:06d}.jsonl"
        if trainer.is_global_zero:
            records = [EpisodeRecord(episode=e, update=rollout.update) for e in worst]
            write_episodes(path, records)
        return path

    @staticmethod
    def _write(path: Path, alarms: Sequence[Alarm], episodes: Path | None, done: str) -> None:
        """Append the alarms to the run's list."""
        if alarms:
            with path.open("a", encoding="utf-8") as lines:
                for alarm in alarms:
                    full = replace(alarm, episodes=str(episodes), action=done)
                    lines.write(json.dumps(full.to_json()) + "\n")
