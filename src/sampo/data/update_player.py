"""Plays what one update is made of: groups filtered, filled up, counted and shaped."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

from sampo.advantages import RewardShaping
from sampo.data.group_rollout import GroupPlan, Judges, Rollout, roll_out
from sampo.data.player import EpisodePlayer
from sampo.data.rollout_stats import rollout_stats, shaping_stats
from sampo.data.task_source import TaskSource
from sampo.rollout.engine import SamplingParams


@dataclass(kw_only=True, eq=False)
class UpdatePlayer:
    """Rolls out update after update; holds no counters."""

    player: EpisodePlayer
    judges: Judges
    sampling: SamplingParams
    shaping: RewardShaping | None
    _source: TaskSource | None = field(default=None, init=False)

    def forget_tasks(self) -> None:
        """Draw the order of tasks anew: the seed has changed."""
        self._source = None

    def __call__(
        self, plan: GroupPlan, *, update: int, next_task: int, with_greedy: bool
    ) -> Rollout:
        """Return the rollout of an update, with its metrics and the seconds it took.

        Args:
            plan: how many groups, and how hard to try.
            update: number of the update, from 0.
            next_task: the task source's counter.
            with_greedy: whether each group gets one more, greedy episode.
        """
        started = time.perf_counter()
        if self._source is None:
            self._source = self.player.source("train")
        collector, greedy = self.player.policy_collector(self.sampling), None
        if with_greedy:
            greedy = self.player.policy_collector(replace(self.sampling, temperature=0.0))
        rollout = roll_out(
            collector,
            self._source,
            self.judges,
            plan,
            update=update,
            next_task=next_task,
            greedy=greedy,
            world=self.player.world,
        )
        rollout = self._with_stats(rollout)
        seconds = max(self.player.world.gather(lambda: time.perf_counter() - started))
        return replace(rollout, stats={**rollout.stats, "time/rollout_s": seconds})

    def _with_stats(self, rollout: Rollout) -> Rollout:
        """Return the rollout with its metrics, and with shaped penalties where it is trained on."""
        limit = self.sampling.max_new_tokens
        stats = rollout_stats(rollout, max_new_tokens=limit)
        groups = rollout.groups
        if self.shaping is not None:
            groups = tuple(self.shaping(group, max_new_tokens=limit) for group in groups)
            stats |= shaping_stats(rollout.groups, groups)
        return replace(rollout, groups=groups, stats=stats)
