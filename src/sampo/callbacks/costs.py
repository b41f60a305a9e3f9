"""What a run has cost so far: steps, tokens, seconds, and each of them per success."""

from __future__ import annotations

import time
from collections import defaultdict
from typing import Any

import lightning as L

from sampo.callbacks.latest import latest_rollout


class Costs(L.Callback):
    """Logs running totals as `cost/...`; they are part of the checkpoint.

    `episodes` (failed ones included), `env_steps`, `sampled_tokens`, `trained_tokens`,
    `discarded_tokens` (sampled and not trained on), `rollout_s` (waited for rollouts), `update_s`,
    `evaluation_s`, `successes`; and, once there was a success,
    `env_steps_per_success`, `sampled_tokens_per_success`, `seconds_per_success`. Successes are
    those of training rollouts. The figures of single updates are `rollout/...` and `time/...`.
    """

    def __init__(self) -> None:
        self.totals: dict[str, float] = defaultdict(float)
        self._evaluation_started = 0.0
        self._update_started = 0.0

    def on_train_batch_start(
        self, trainer: L.Trainer, pl_module: L.LightningModule, batch: Any, batch_idx: int
    ) -> None:
        """Start the clock of the update."""
        self._update_started = time.perf_counter()

    def on_train_batch_end(
        self,
        trainer: L.Trainer,
        pl_module: L.LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
    ) -> None:
        """Add up and log."""
        stats = latest_rollout(trainer).stats
        sampled = stats["rollout/action_tokens"]
        discarded = stats["rollout/action_tokens_not_trained"]
        spent = {
            "episodes": stats["rollout/episodes"] + stats["rollout/failed_episodes"],
            "env_steps": stats["rollout/env_steps"],
            "sampled_tokens": sampled,
            "trained_tokens": sampled - discarded,
            "discarded_tokens": discarded,
            "successes": round(stats["rollout/success_rate"] * stats["rollout/episodes"]),
            "rollout_s": stats["time/rollout_wait_s"],
            "update_s": time.perf_counter() - self._update_started,
        }
        for name, amount in spent.items():
            self.totals[name] += amount
        pl_module.log_dict({f"cost/{name}": float(v) for name, v in self.values().items()})

    def on_validation_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Start the clock of an evaluation."""
        self._evaluation_started = time.perf_counter()

    def on_validation_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Add the evaluation's seconds."""
        seconds = time.perf_counter() - self._evaluation_started
        self.totals["evaluation_s"] += seconds

    def values(self) -> dict[str, float]:
        """Return the totals, and what a success has cost."""
        totals = dict(self.totals)
        if not totals.get("successes"):
            return totals
        seconds = sum(totals.get(name, 0.0) for name in ("rollout_s", "update_s", "evaluation_s"))
        paid = {**totals, "seconds": seconds}
        return totals | {
            f"{name}_per_success": paid[name] / totals["successes"]
            for name in ("env_steps", "sampled_tokens", "seconds")
        }

    def state_dict(self) -> dict[str, Any]:
        """Return the totals."""
        return dict(self.totals)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on counting from them."""
        self.totals = defaultdict(float, state_dict)
