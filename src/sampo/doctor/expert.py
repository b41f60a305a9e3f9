"""Can the tasks be solved at all? The environment's own expert shows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sampo.doctor.check import Check, CheckResult
from sampo.doctor.equal_starts import EqualStarts
from sampo.doctor.inputs import DoctorInputs
from sampo.doctor.loading import TokenizerLoads
from sampo.doctor.worlds import first_replies


@dataclass(frozen=True, kw_only=True)
class ExpertSolves(Check):
    """The expert solves most of a handful of tasks, under the run's prompts and limits.

    Its actions go the whole way of a reply: written in the prompt format, encoded, parsed, played.
    """

    name: ClassVar[str] = "expert"
    fix: ClassVar[str] = (
        "Look at max_turns and data.context_length (is there time?), at the prompt format (are its "
        "own replies understood?), and at expert_action."
    )
    needs: ClassVar[tuple[type[Check], ...]] = (TokenizerLoads, EqualStarts)
    tasks: int = 6
    least: float = 0.5
    """Share of the tasks that has to be solved; experts may give up on hard ones."""

    def __call__(self, inputs: DoctorInputs) -> CheckResult:
        """Play them."""
        requests, player = inputs.requests(self.tasks), inputs.data.player
        with inputs.pool(num_workers=1, with_expert=True) as pool:
            shown = first_replies(pool, requests)
        if all(reply.expert_action is None for reply in shown):
            return self.skipped(f"{type(inputs.env).__name__} has no expert_action")
        episodes = player.collector(player.demonstrator(0.0), inputs.data.sampling).run(requests)
        errors = [episode.error for episode in episodes if episode.failed]
        if errors:
            return self.failed(f"{len(errors)} of {len(episodes)} episodes failed: {errors[0]}")
        solved = sum(episode.success for episode in episodes)
        turns = max(len(episode.turns) for episode in episodes)
        detail = f"solves {solved} of {len(episodes)} tasks, in at most {turns} turns"
        return self.ok(detail) if solved >= self.least * len(episodes) else self.failed(detail)
