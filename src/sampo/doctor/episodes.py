"""Can the policy play, from the task to a training batch?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sampo.doctor.check import Check, CheckResult
from sampo.doctor.equal_starts import EqualStarts
from sampo.doctor.inputs import DoctorInputs
from sampo.doctor.loading import PolicyLoads, TokenizerLoads
from sampo.episode import StopReason


@dataclass(frozen=True, kw_only=True)
class EpisodesPlay(Check):
    """A small rollout with the run's engine, sampling, advantage and filter goes through."""

    name: ClassVar[str] = "episodes"
    fix: ClassVar[str] = "The sentence above names the part of data that cannot do its work."
    needs: ClassVar[tuple[type[Check], ...]] = (TokenizerLoads, PolicyLoads, EqualStarts)

    def __call__(self, inputs: DoctorInputs) -> CheckResult:
        """Roll out; `masks and ids` and `engine = trainer` look at what came of it."""
        inputs.data.setup("fit")
        rollout, batch = inputs.small_rollout
        episodes = [episode for group in rollout.all_groups for episode in group.episodes]
        if rollout.failed:
            total = len(rollout.failed) + len(episodes)
            return self.failed(
                f"{len(rollout.failed)} of {total} episodes failed, the last one: "
                f"{rollout.failed[-1].error}",
                "Mend the environment, or raise data.workers.step_timeout_s if it is slow.",
            )
        valid = [turn.action_valid for episode in episodes for turn in episode.turns]
        solved = sum(episode.success for episode in episodes)
        cut = sum(episode.stop_reason is StopReason.CONTEXT for episode in episodes)
        return self.ok(
            f"{len(episodes)} episodes, {solved} solved, {cut} ended by context_length; "
            f"{len(batch)} rows, {int(batch.action_mask.sum())} action tokens; {sum(valid)} of "
            f"{len(valid)} actions are valid"
        )
