"""Dynamic filtering: what is kept, rejected, dropped, refilled and selected."""

from collections.abc import Sequence
from typing import Any, cast

import pytest

from sampo.data.group_rollout import GroupPlan, Judges, Rollout, roll_out
from sampo.data.task_source import TaskSource
from sampo.episode import Episode, EpisodeGroup, FinishReason, StopReason, Turn
from sampo.errors import ConfigError, EnvFailure
from sampo.filtering import (
    KEPT,
    GroupSelector,
    KeepAll,
    RejectOverlong,
    SpreadFilter,
    TopVariance,
    Verdict,
)
from sampo.rollout.collector import Collector, EpisodeRequest

GOOD, FLAT, BROKEN, HALF, CUT, LONG = "good", "flat", "broken", "half", "cut", "long"


class OutcomeByTask:
    """Stands for a collector: outcomes follow from the task's name (one unit under test).

    Every second member differs: GOOD solves, HALF fails to run, CUT solves but is cut. All members
    of FLAT get nothing, those of BROKEN fail, those of LONG are cut.
    """

    def __init__(self) -> None:
        self.num_retries = 0
        self.requests: list[EpisodeRequest] = []

    def run(self, requests: Sequence[EpisodeRequest]) -> list[Episode]:
        start = len(self.requests)
        self.requests.extend(requests)
        self.num_retries += 1
        return [self._play(start + i, request) for i, request in enumerate(requests)]

    def _play(self, number: int, request: EpisodeRequest) -> Episode:
        kind, member = request.task.split("/")[0], number % 2
        solved = {GOOD: 10.0 * member, CUT: 10.0 * member, HALF: 10.0}
        broken = kind == BROKEN or (kind == HALF and member == 1)
        cut = kind == LONG or (kind == CUT and member == 1)
        turn = Turn(
            observation="o",
            reply="r",
            action="a",
            reward=solved.get(kind, 0.0),
            action_ids=(1, 2),
            finish_reason=FinishReason.LENGTH if cut else FinishReason.STOP,
        )
        return Episode(
            task=request.task,
            seed=request.env_seed,
            turns=(turn,),
            success=turn.reward > 0 and not broken,
            stop_reason=StopReason.ERROR if broken else StopReason.TERMINATED,
            error="it hung" if broken else None,
        )


def run(
    tasks: list[str],
    *,
    cold_start: int = 0,
    rounds: int = 3,
    groups: int = 2,
    greedy: Any = None,
    **judges: Any,
) -> tuple[Rollout, OutcomeByTask]:
    collector = OutcomeByTask()
    plan = GroupPlan(
        groups_per_update=groups, group_size=2, max_rounds=rounds, cold_start=cold_start
    )
    source = TaskSource([f"{t}/{i}" for i, t in enumerate(tasks)], seed=0, shuffle=False)
    rollout = roll_out(
        cast(Collector, collector),
        source,
        Judges(**{"group_filter": SpreadFilter(), **judges}),
        plan,
        update=0,
        next_task=0,
        greedy=greedy,
    )
    return rollout, collector


def kinds(rollout: Rollout) -> list[str]:
    return [group.task.split("/")[0] for group in rollout.groups]


def reasons(rollout: Rollout) -> list[str]:
    return [reason for _, reason in rollout.dropped]


def test_dropped_groups_are_replaced_by_new_tasks() -> None:
    rollout, collector = run([GOOD, FLAT, FLAT, GOOD, GOOD])
    assert kinds(rollout) == [GOOD, GOOD]
    assert reasons(rollout) == ["all_failed", "all_failed"]
    assert rollout.num_rounds == 3 and rollout.num_filled == 0
    assert rollout.next_task == 4 and len(collector.requests) == 8


def test_the_last_round_is_filled_from_what_there_is() -> None:
    rollout, _ = run([GOOD, FLAT, FLAT, FLAT, FLAT], rounds=2)
    assert kinds(rollout) == [GOOD, FLAT]
    assert rollout.num_filled == 1 and len(rollout.dropped) == 1


def test_nothing_is_filtered_during_the_cold_start() -> None:
    rollout, _ = run([FLAT, FLAT, GOOD], cold_start=1)
    assert kinds(rollout) == [FLAT, FLAT] and rollout.num_rounds == 1
    rollout, _ = run(
        [LONG, CUT, GOOD],
        cold_start=1,
        episode_filters=[RejectOverlong()],
        group_selector=TopVariance(top_p=0.5),
    )
    assert kinds(rollout) == [LONG, CUT] and rollout.num_rounds == 1
    assert rollout.rejected == () and rollout.dropped == () and rollout.num_filled == 0


def test_failed_episodes_are_taken_out_and_counted() -> None:
    rollout, _ = run([BROKEN, HALF, GOOD, GOOD], rounds=2)
    assert kinds(rollout) == [GOOD, GOOD]
    assert len(rollout.failed) == 3
    assert sorted(reasons(rollout)) == ["all_solved", "failed"]


def test_a_cold_start_cannot_keep_a_group_without_episodes() -> None:
    rollout, _ = run([BROKEN, FLAT, FLAT], cold_start=1)
    assert kinds(rollout) == [FLAT, FLAT] and reasons(rollout) == ["failed"]


def test_members_share_the_environment_seed_and_differ_in_sampling() -> None:
    _, collector = run([GOOD, GOOD])
    first, second, third, _ = collector.requests
    assert first.env_seed == second.env_seed != third.env_seed
    assert len({request.sampling_seed for request in collector.requests}) == 4


def test_rejected_episodes_leave_before_the_group_is_judged() -> None:
    """CUT has spread only together with its cut episode, so it is dropped once that is gone."""
    rollout, _ = run([CUT, GOOD, GOOD], episode_filters=[RejectOverlong()])
    assert kinds(rollout) == [GOOD, GOOD]
    assert reasons(rollout) == ["all_failed"]
    ((episode, group, reason),) = rollout.rejected
    assert reason == "overlong" and episode.success
    assert rollout.all_groups[group].task == episode.task == "cut/0"
    assert [len(group.episodes) for group in rollout.all_groups] == [2, 2, 1]
    assert [len(group.episodes) for group in rollout.groups_as_played] == [2, 2, 2]


def test_a_group_that_rejection_leaves_empty_is_replaced_and_never_filled_in() -> None:
    rollout, _ = run([LONG, GOOD, LONG, LONG], rounds=2, episode_filters=[RejectOverlong()])
    assert kinds(rollout) == [GOOD]
    assert reasons(rollout) == ["rejected", "rejected"]
    assert [group for _, group, _ in rollout.rejected] == [1, 1, 2, 2]
    assert rollout.num_rounds == 2 and rollout.num_filled == 0


def test_what_rejection_leaves_of_a_group_may_be_filled_in() -> None:
    rollout, _ = run([CUT, FLAT], groups=1, rounds=1, episode_filters=[RejectOverlong()])
    assert kinds(rollout) == [CUT] and rollout.num_filled == 1
    assert len(rollout.groups[0].episodes) == 1 and rollout.rejected[0][1] == 0


def test_the_selector_compares_what_refilling_brought() -> None:
    rollout, _ = run([FLAT, GOOD, GOOD, GOOD], groups=3, group_selector=TopVariance(top_p=0.5))
    assert [group.task for group in rollout.groups] == ["good/1", "good/2"]
    assert [(g.task, reason) for g, reason in rollout.dropped] == [
        ("flat/0", "all_failed"),
        ("good/3", "low_variance"),
    ]
    assert rollout.num_rounds == 2


def test_a_filled_group_that_the_selector_drops_is_not_filled() -> None:
    rollout, _ = run([FLAT, GOOD], rounds=1, group_selector=TopVariance(top_p=0.5))
    assert kinds(rollout) == [GOOD]
    assert reasons(rollout) == ["low_variance"] and rollout.num_filled == 0


class AgainstAll(GroupSelector):
    def __call__(self, groups: Sequence[EpisodeGroup]) -> list[Verdict]:
        return [Verdict(keep=False, reason="never")] * len(groups)


@pytest.mark.parametrize("selector", [AgainstAll(), TopVariance(share_of="variance")])
def test_a_selector_that_would_leave_nothing_is_overruled(selector: GroupSelector) -> None:
    rollout, _ = run([FLAT, FLAT], group_filter=KeepAll(), group_selector=selector)
    assert kinds(rollout) == [FLAT, FLAT] and rollout.dropped == ()
    assert rollout.num_filled == 2


class InOrder(GroupSelector):
    """Remembers what it was shown."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def __call__(self, groups: Sequence[EpisodeGroup]) -> list[Verdict]:
        self.shown = [group.task for group in groups]
        return [KEPT] * len(groups)


def test_the_selector_sees_filled_groups_too() -> None:
    selector = InOrder()
    rollout, _ = run([FLAT, GOOD], rounds=1, group_selector=selector)
    assert selector.shown == ["good/1", "flat/0"]
    assert rollout.num_filled == 1


def test_every_environment_fails() -> None:
    with pytest.raises(EnvFailure, match=r"failed in every group of update 0; .* it hung"):
        run([BROKEN, BROKEN])


def test_every_episode_is_rejected() -> None:
    says = r"\(1 failed, 5 rejected\); .* rejected 10 episodes \(overlong\)\. Loosen them"
    with pytest.raises(ConfigError, match=says):
        run([BROKEN, LONG, LONG, LONG, LONG, LONG], episode_filters=[RejectOverlong()])
