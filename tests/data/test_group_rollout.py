"""Dynamic filtering: what is kept, dropped, refilled and counted."""

from collections.abc import Sequence
from typing import cast

from sampo.data.group_rollout import GroupPlan, Rollout, roll_out, rollout_stats
from sampo.data.task_source import TaskSource
from sampo.episode import Episode, StopReason, Turn
from sampo.filtering import SpreadFilter
from sampo.rollout.collector import Collector, EpisodeRequest

GOOD, FLAT, BROKEN, HALF = "good", "flat", "broken", "half"


class OutcomeByTask:
    """Stands for a collector: outcomes follow from the task's name (one unit under test)."""

    def __init__(self) -> None:
        self.num_retries = 0
        self.requests: list[EpisodeRequest] = []

    def run(self, requests: Sequence[EpisodeRequest]) -> list[Episode]:
        start = len(self.requests)
        self.requests.extend(requests)
        return [self._play(start + i, request) for i, request in enumerate(requests)]

    def _play(self, number: int, request: EpisodeRequest) -> Episode:
        kind, member = request.task.split("/")[0], number % 2
        reward = {GOOD: 10.0 * member, HALF: 10.0, FLAT: 0.0, BROKEN: 0.0}[kind]
        broken = kind == BROKEN or (kind == HALF and member == 1)
        return Episode(
            task=request.task,
            seed=request.env_seed,
            turns=(Turn(observation="o", reply="r", action="a", reward=reward, action_ids=(1, 2)),),
            success=reward > 0 and not broken,
            stop_reason=StopReason.ERROR if broken else StopReason.TERMINATED,
            error="it hung" if broken else None,
        )


def run(
    tasks: list[str], *, cold_start: int = 0, rounds: int = 3, groups: int = 2
) -> tuple[Rollout, OutcomeByTask]:
    collector = OutcomeByTask()
    plan = GroupPlan(
        groups_per_update=groups, group_size=2, max_rounds=rounds, cold_start=cold_start
    )
    source = TaskSource([f"{t}/{i}" for i, t in enumerate(tasks)], seed=0, shuffle=False)
    rollout = roll_out(
        cast(Collector, collector), source, SpreadFilter(), plan, update=0, next_task=0
    )
    return rollout, collector


def kinds(rollout: Rollout) -> list[str]:
    return [group.task.split("/")[0] for group in rollout.groups]


def test_dropped_groups_are_replaced_by_new_tasks() -> None:
    rollout, collector = run([GOOD, FLAT, FLAT, GOOD, GOOD])
    assert kinds(rollout) == [GOOD, GOOD]
    assert [reason for _, reason in rollout.dropped] == ["all_failed", "all_failed"]
    assert rollout.num_rounds == 3 and rollout.num_filled == 0
    assert rollout.next_task == 4 and len(collector.requests) == 8


def test_the_last_round_is_filled_from_what_there_is() -> None:
    rollout, _ = run([GOOD, FLAT, FLAT, FLAT, FLAT], rounds=2)
    assert kinds(rollout) == [GOOD, FLAT]
    assert rollout.num_filled == 1 and len(rollout.dropped) == 1


def test_nothing_is_filtered_during_the_cold_start() -> None:
    rollout, _ = run([FLAT, FLAT, GOOD], cold_start=1)
    assert kinds(rollout) == [FLAT, FLAT] and rollout.num_rounds == 1


def test_failed_episodes_are_taken_out_and_counted() -> None:
    rollout, _ = run([BROKEN, HALF, GOOD, GOOD], rounds=2)
    assert kinds(rollout) == [GOOD, GOOD]
    assert len(rollout.failed) == 3
    assert sorted(reason for _, reason in rollout.dropped) == ["all_solved", "failed"]
    stats = rollout_stats(rollout)
    assert stats["rollout/failed_episodes"] == 3
    assert stats["rollout/dropped_failed"] == 1


def test_success_is_reported_over_everything_that_was_rolled_out() -> None:
    """Kept: 1 of 2 solved. Dropped: 0 of 2. Together 1 of 4, not the kept groups' one half."""
    rollout, _ = run([GOOD, FLAT, FLAT, FLAT], groups=1)
    assert kinds(rollout) == [GOOD]
    rollout, _ = run([FLAT, GOOD, FLAT], groups=1)
    stats = rollout_stats(rollout)
    assert stats["rollout/success_rate"] == 0.25
    assert stats["rollout/kept_group_fraction"] == 0.5
    assert stats["rollout/action_tokens"] == 8
    assert stats["rollout/action_tokens_not_trained"] == 4


def test_members_share_the_environment_seed_and_differ_in_sampling() -> None:
    _, collector = run([GOOD, GOOD])
    first, second, third, _ = collector.requests
    assert first.env_seed == second.env_seed != third.env_seed
    assert len({request.sampling_seed for request in collector.requests}) == 4
