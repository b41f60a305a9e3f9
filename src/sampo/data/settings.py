"""Groups of settings that the data modules share."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from sampo.errors import ConfigError
from sampo.rollout.debate import Debate


@dataclass(frozen=True, kw_only=True)
class ChatSettings:
    """How messages are put into the chat template."""

    system: str | None = None
    """A system message for every row; None leaves it to the template."""
    template_kwargs: dict[str, Any] | None = None
    """Variables of the chat template, e.g. `{enable_thinking: false}`."""


@dataclass(frozen=True, kw_only=True)
class EvaluationSettings:
    """The fixed tasks of an evaluation: always the same ones, each played equally often."""

    num_tasks: int = 128
    """How many tasks, the first ones of the split; -1 takes all of them."""
    samples_per_task: int = 1
    seed: int = 0
    """Of sampling; evaluations with the same seed differ by the policy alone."""
    debate: Debate | None = None
    """Several samples per turn that have to agree, for served models; null: one sample."""

    def __post_init__(self) -> None:
        """Refuse an evaluation of nothing."""
        if self.num_tasks == 0 or self.num_tasks < -1 or self.samples_per_task < 1:
            raise ConfigError(
                "data.evaluation needs num_tasks of at least 1 (or -1 for all) and "
                f"samples_per_task of at least 1, got {self.num_tasks} and {self.samples_per_task}."
            )


@dataclass(frozen=True, kw_only=True)
class WorkerSettings:
    """Where environments run."""

    num_workers: int = 1
    """Worker processes; 0 runs environments in this process, without deadlines or isolation."""
    step_timeout_s: float = 60.0
    """An environment that takes longer over one step is killed and its episode played again."""
    reset_timeout_s: float = 120.0
    """Likewise for a reset."""
    max_concurrent: int = 256
    """Most episodes in play at once."""


def run_seed(seed: int | None) -> int:
    """Return the given seed, else the one that `seed_everything` set for the run, else 0."""
    return int(os.environ.get("PL_GLOBAL_SEED", "0")) if seed is None else seed


def check_positive(**values: int) -> None:
    """Refuse data settings below 1.

    Raises:
        ConfigError: names the setting.
    """
    for name, value in values.items():
        if value < 1:
            raise ConfigError(f"data.{name} must be at least 1, got {value}.")


def check_not_negative(**values: float) -> None:
    """Refuse data settings below 0.

    Raises:
        ConfigError: names the setting.
    """
    for name, value in values.items():
        if not value >= 0:
            raise ConfigError(f"data.{name} must be 0 or more, got {value}.")
