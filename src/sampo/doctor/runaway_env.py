"""An environment that hangs on purpose. Imported by worker processes, so without torch."""

from __future__ import annotations

import os
import time
from collections.abc import Hashable, Sequence
from typing import Any

from sampo.envs import TextEnv


class Runaway(TextEnv):
    """The real environment, whose every step never returns.

    The process id is the metric `pid` of a reset.

    Args:
        env: the real one; it is unpickled and reset as in a run.
    """

    def __init__(self, env: TextEnv) -> None:
        self.env = env
        self.prompt_format = env.prompt_format
        self.max_turns = env.max_turns

    def tasks(self, split: str) -> Sequence[str]:
        """Return the real tasks."""
        return self.env.tasks(split)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Reset the real environment."""
        observation, _ = self.env.reset(seed=seed, options=options)
        return observation, {"metrics": {"pid": os.getpid()}}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Hang."""
        while True:
            time.sleep(1.0)

    def state_key(self) -> Hashable:
        """Return the real key."""
        return self.env.state_key()

    def close(self) -> None:
        """Close the real environment."""
        self.env.close()
