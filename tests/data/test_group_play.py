"""Playing groups: failures go out, the greedy return goes in."""

import math
from collections.abc import Sequence
from typing import cast

import pytest

from sampo.data.group_play import PlayedGroup, play_groups
from sampo.episode import Episode, StopReason, Turn
from sampo.rollout.collector import Collector, EpisodeRequest

FAILED = None


class Returns:
    """Stands for a collector: plays one-turn episodes of given returns, one after the other."""

    def __init__(self, *returns: float | None) -> None:
        self.returns = list(returns)
        self.requests: list[EpisodeRequest] = []

    def run(self, requests: Sequence[EpisodeRequest]) -> list[Episode]:
        self.requests.extend(requests)
        return [self._episode(request, self.returns.pop(0)) for request in requests]

    def _episode(self, request: EpisodeRequest, value: float | None) -> Episode:
        turn = Turn(observation="", reply="", action="a", reward=value or 0.0)
        return Episode(
            task=request.task,
            seed=request.env_seed,
            turns=(turn,),
            success=False,
            stop_reason=StopReason.ERROR if value is FAILED else StopReason.TERMINATED,
            metrics={"own": 3.0},
        )


def play(*returns: float | None, greedy: Returns | None = None) -> list[PlayedGroup]:
    """Play groups of two."""
    requests = [
        EpisodeRequest(task=f"t{i // 2}", env_seed=i // 2, sampling_seed=i)
        for i in range(len(returns))
    ]
    return play_groups(
        cast(Collector, Returns(*returns)), requests, 2, cast("Collector | None", greedy)
    )


def test_failures_are_taken_out() -> None:
    whole, half, none = play(1, 2, FAILED, 3, FAILED, FAILED)
    assert [len(each.group.episodes) for each in (whole, half, none)] == [2, 1, 0]
    assert [each.group.num_failed for each in (whole, half, none)] == [0, 1, 2]
    assert [len(each.failures) for each in (whole, half, none)] == [0, 1, 2]
    assert whole.usable and half.usable and not none.usable
    assert none.verdict.reason == "failed"
    assert half.group.episodes[0].metrics == {"own": 3.0} and half.baseline is None


def test_the_greedy_return_is_with_every_episode() -> None:
    greedy = Returns(0.5, -1.0)
    first, second = play(1, 2, 3, FAILED, greedy=greedy)
    assert [(r.task, r.env_seed) for r in greedy.requests] == [("t0", 0), ("t1", 1)]
    assert [dict(e.metrics) for e in first.group.episodes] == [
        {"own": 3.0, "greedy_return": 0.5}
    ] * 2
    assert second.group.episodes[0].metrics["greedy_return"] == -1.0
    assert first.baseline is not None and first.baseline.reward == 0.5
    assert "greedy_return" not in first.baseline.metrics


@pytest.mark.parametrize("value", [FAILED, math.nan, math.inf])
def test_a_group_without_a_baseline_cannot_be_used(value: float | None) -> None:
    spoiled, fine = play(1, 2, 3, 4, greedy=Returns(value, 0.0))
    assert fine.usable and not spoiled.usable
    assert spoiled.verdict.reason == "greedy_failed" and not spoiled.verdict.keep
    assert len(spoiled.failures) == (value is FAILED)
    assert (spoiled.baseline is None) == (value is FAILED)
    assert len(spoiled.group.episodes) == 2 and spoiled.group.num_failed == 0


def test_a_group_that_failed_by_itself_says_so() -> None:
    (group,) = play(FAILED, FAILED, greedy=Returns(FAILED))
    assert group.verdict.reason == "failed"
    assert len(group.failures) == 3 and group.group.num_failed == 2
