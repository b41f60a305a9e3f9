"""What travels between a rollout and the environments that it runs.

Plain values, all picklable. They say nothing of how an environment is run: `sampo.envs.slots`
answers requests, `sampo.envs.process` carries them to another process, and
`sampo.rollout.workers.EnvPool` shares them out.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class EnvReply:
    """What an environment answered to one `reset` or `step`."""

    observation: str
    reward: float
    """0 after a reset."""
    terminated: bool
    truncated: bool
    admissible_actions: tuple[str, ...] | None
    """Action texts understood now, or None where they cannot be listed."""
    state_key: Hashable
    """Key of the state that this reply describes."""
    success: bool
    """Whether the task is solved in that state."""
    task_type: str = ""
    metrics: Mapping[str, float] = field(default_factory=dict)
    expert_action: str | None = None
    """Filled only where it was asked for and the episode is not over."""

    @property
    def over(self) -> bool:
        """Whether the episode has ended."""
        return self.terminated or self.truncated


@dataclass(frozen=True, kw_only=True)
class EnvFault:
    """The environment of one slot broke its contract; its episode cannot go on."""

    message: str
    """What failed, in one sentence."""


@dataclass(frozen=True, kw_only=True)
class EnvRequest:
    """One thing to do with one environment copy."""

    kind: Literal["start", "reset", "step", "release"]
    copy_id: int = -1
    """Number of the copy; a reset with a new number makes a new copy."""
    task: str = ""
    seed: int = 0
    action: str = ""


@dataclass(frozen=True, kw_only=True)
class WorkerStart:
    """The first message to a worker process."""

    prototype: bytes
    """The pickled environment."""
    with_expert: bool
    """Whether replies carry `expert_action`."""
    sys_path: tuple[str, ...]
    """The parent's import path, so that whatever it can import the worker can."""
    pythonpath: str | None
    """The parent's PYTHONPATH, for programs that the environment itself starts."""
