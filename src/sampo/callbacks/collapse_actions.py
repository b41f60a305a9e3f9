"""What a collapse detector may do about what it sees; one class per action."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import lightning as L
from lightning.pytorch.utilities import rank_zero_info

from sampo.callbacks.healthy_checkpoints import HealthyCheckpoints
from sampo.callbacks.latest import rollout_data
from sampo.callbacks.whole_files import save_checkpoint
from sampo.collapse import Alarm
from sampo.controls import configured_kl
from sampo.errors import ConfigError
from sampo.losses import SequenceMask
from sampo.module import SampoModule


@dataclass(frozen=True, kw_only=True, eq=False)
class Trouble:
    """What an action may look at and change."""

    trainer: L.Trainer
    module: SampoModule
    alarms: Sequence[Alarm]
    """Those of this update; none where an action is repeated."""
    stage: str
    onset: int
    """First update at which one of the rules was beyond its threshold."""
    healthy: HealthyCheckpoints
    episodes: Path | None
    """File of the episodes behind it."""


class Action(ABC):
    """Something that is done when a run enters a stage."""

    def obstacle(self, module: SampoModule) -> str | None:
        """Return, before the run, why this could not be done, and what to change."""
        return None

    @abstractmethod
    def __call__(self, trouble: Trouble) -> str:
        """Do it; return what was done in a few words, or nothing if there was nothing to do."""


@dataclass(frozen=True, kw_only=True)
class Warn(Action):
    """Say it on the console."""

    def __call__(self, trouble: Trouble) -> str:
        """Print the alarms."""
        seen = "; ".join(alarm.message for alarm in trouble.alarms) or "no change"
        where = f" Episodes: {trouble.episodes}" if trouble.episodes else ""
        step = trouble.module.update_step
        rank_zero_info(f"Update {step}: {trouble.stage}. {seen}.{where}")
        return "warned"


@dataclass(frozen=True, kw_only=True)
class Save(Action):
    """Keep a checkpoint of this moment, to look at."""

    def __call__(self, trouble: Trouble) -> str:
        """Write `checkpoints/alarm_UPDATE.ckpt`."""
        name = f"alarm_{trouble.module.update_step:06d}.ckpt"
        save_checkpoint(trouble.trainer, trouble.healthy.folder / name)
        return f"saved {name}"


@dataclass(frozen=True, kw_only=True)
class Stop(Action):
    """End the run; its checkpoints stay."""

    def __call__(self, trouble: Trouble) -> str:
        """Ask the trainer to stop after this update."""
        trouble.trainer.should_stop = True
        return "stopped"


@dataclass(frozen=True, kw_only=True)
class LowerLR(Action):
    """Multiply the learning rate for the rest of the run."""

    factor: float = 0.5
    least: float = 0.01
    """Smallest share of the configured rate that it goes down to."""

    def __post_init__(self) -> None:
        """Refuse factors that do not lower it."""
        if not 0.0 < self.factor < 1.0 or not 0.0 < self.least <= 1.0:
            raise ConfigError(
                f"LowerLR: factor={self.factor} must lie between 0 and 1 and least={self.least} "
                "above 0 and at most 1."
            )

    def __call__(self, trouble: Trouble) -> str:
        """Lower it."""
        controls = trouble.module.controls
        before = controls.lr_scale
        controls.lr_scale = max(before * self.factor, min(self.least, before))
        return f"learning rate x {controls.lr_scale:.3g}" if controls.lr_scale < before else ""


@dataclass(frozen=True, kw_only=True)
class RaiseKL(Action):
    """Multiply the coefficient of the KL to the reference, or start with one."""

    factor: float = 3.0
    start: float = 0.01
    """Used where the coefficient is 0."""
    most: float = 1.0

    def __post_init__(self) -> None:
        """Refuse factors that do not raise it."""
        if self.factor <= 1.0 or not 0.0 < self.start <= self.most:
            raise ConfigError(
                f"RaiseKL: factor={self.factor} must be above 1 and 0 < start={self.start} <= "
                f"most={self.most}."
            )

    def obstacle(self, module: SampoModule) -> str | None:
        """Ask for a reference."""
        there = bool(module.hparams["reference"])
        return None if there else "RaiseKL needs a reference; set model.reference to true."

    def __call__(self, trouble: Trouble) -> str:
        """Raise it."""
        module = trouble.module
        now = module.controls.kl_coef
        if now is None:
            now = configured_kl(module.loss, module.batch_advantage)
        raised = min(now * self.factor, self.most) if now > 0.0 else self.start
        if raised <= now:
            return ""
        module.controls.kl_coef = raised
        return f"KL coefficient {raised:.3g}"


@dataclass(frozen=True, kw_only=True)
class EnableSequenceMask(Action):
    """Mask bad sequences that the policy has moved away from, from now on."""

    threshold: float = 3e-3

    def __call__(self, trouble: Trouble) -> str:
        """Switch it on, unless there is a mask."""
        module = trouble.module
        if module.loss.masking is not None or module.controls.masking is not None:
            return ""
        module.controls.masking = SequenceMask(threshold=self.threshold)
        return f"sequence mask at {self.threshold:g}"


@dataclass(frozen=True, kw_only=True)
class Rollback(Action):
    """Put weights and optimiser back to the last checkpoint that was healthy.

    Counters go on: the tasks and seeds of the lost updates are not played again. Combine it with
    an action that changes something, or the run may collapse the same way.
    """

    margin: int = 3
    """The checkpoint must be at least so many updates older than the first sign of trouble."""
    at_most: int = 3
    """How often; after that the run stops."""

    def __post_init__(self) -> None:
        """Refuse counts that make no sense."""
        if self.margin < 0 or self.at_most < 1:
            raise ConfigError(
                f"Rollback: margin={self.margin} must not be negative and at_most={self.at_most} "
                "must be at least 1."
            )

    def __call__(self, trouble: Trouble) -> str:
        """Put the run back, or stop it if that was tried too often."""
        if trouble.healthy.rollbacks >= self.at_most:
            trouble.trainer.should_stop = True
            return f"stopped after {self.at_most} rollbacks"
        rollout_data(trouble.trainer).discard_rollout()
        update = trouble.healthy.restore(trouble.module, before=trouble.onset - self.margin)
        return f"rolled back to update {update}"
