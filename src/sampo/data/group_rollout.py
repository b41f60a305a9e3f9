"""Groups for one update: roll out, filter, refill, select.

Dial 4. Episodes that are rejected leave their group; groups that the filter drops are replaced by
groups of new tasks, for a bounded number of rounds; then the batch is completed from what was
dropped, and if even that does not suffice the update goes on with fewer groups. Last, what there is
may be ranked and cut. Nothing is ever rolled out and not counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from sampo.data.group_play import PlayedGroup, play_groups
from sampo.data.task_source import TaskSource
from sampo.episode import Episode, EpisodeGroup
from sampo.errors import ConfigError, EnvFailure
from sampo.filtering import (
    EpisodeFilter,
    GroupFilter,
    GroupSelector,
    KeepAll,
    reject_episodes,
)
from sampo.rollout.collector import Collector, EpisodeRequest
from sampo.rollout.seeds import derive_seed
from sampo.world import World


@dataclass(frozen=True, kw_only=True)
class Rollout:
    """Everything that was rolled out for one update."""

    update: int
    """Number of the update, from 0."""
    groups: tuple[EpisodeGroup, ...]
    """What is trained on."""
    dropped: tuple[tuple[EpisodeGroup, str], ...] = ()
    """What is not, each with the reason: the filter's or selector's, or `failed` (every
    environment), `rejected` (every episode left) or `greedy_failed` (no baseline)."""
    rejected: tuple[tuple[Episode, int, str], ...] = ()
    """Episodes that an episode filter took out of their group: the episode, the group's number in
    `all_groups`, the filter's reason."""
    baselines: tuple[Episode, ...] = ()
    """Greedy episodes, one per group where the estimator wants them. Never trained on, and in no
    statistics but the costs."""
    failed: tuple[Episode, ...] = ()
    """Episodes whose environment failed twice, greedy ones included."""
    num_filled: int = 0
    """How many of `groups`, the last ones, a filter or the selector would have dropped, but nothing
    better was found."""
    num_rounds: int = 1
    num_retries: int = 0
    """Episodes that were played again because their environment failed."""
    next_task: int = 0
    """The task source's counter after this update."""
    stats: Mapping[str, float] = field(default_factory=dict)
    """Metrics over all rolled-out groups, kept or not (`rollout/...`), and times."""

    @property
    def all_groups(self) -> tuple[EpisodeGroup, ...]:
        """Kept and dropped groups, without their rejected episodes."""
        return (*self.groups, *(group for group, _ in self.dropped))

    @property
    def groups_as_played(self) -> tuple[EpisodeGroup, ...]:
        """Kept and dropped groups, each with its rejected episodes at the end."""
        members = [list(group.episodes) for group in self.all_groups]
        for episode, number, _ in self.rejected:
            members[number].append(episode)
        return tuple(
            replace(group, episodes=tuple(episodes))
            for group, episodes in zip(self.all_groups, members, strict=True)
        )


@dataclass(frozen=True, kw_only=True)
class GroupPlan:
    """How many groups an update wants, and how hard it tries to get informative ones."""

    groups_per_update: int
    group_size: int
    max_rounds: int = 3
    """Most rounds of rolling out, the first one included. 1: the filter only counts."""
    cold_start: int = 0
    """Number of first updates in which nothing is filtered: no judge is asked."""
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class Judges:
    """Who says what is trained on, in the order in which they are asked."""

    episode_filters: Sequence[EpisodeFilter] = ()
    group_filter: GroupFilter = field(default_factory=KeepAll)
    group_selector: GroupSelector | None = None


def roll_out(
    collector: Collector,
    source: TaskSource,
    judges: Judges,
    plan: GroupPlan,
    *,
    update: int,
    next_task: int,
    greedy: Collector | None = None,
    world: World = World(),  # noqa: B008  frozen
) -> Rollout:
    """Play the groups of one update, each on one rank; all ranks return the same.

    Args:
        collector: plays episodes.
        source: where tasks come from.
        judges: see `Judges`.
        plan: see `GroupPlan`.
        update: number of the update, from 0; seeds derive from it.
        next_task: the task source's counter.
        greedy: plays one more episode per group, whose return every episode of the group then
            carries in its metrics; None: the estimator needs none.
        world: the ranks that share the groups of every round.

    Raises:
        EnvFailure: no group can be trained on, because environments failed.
        ConfigError: no group can be trained on, because episodes were rejected.
    """
    if update < plan.cold_start:
        judges = Judges()
    kept: list[PlayedGroup] = []
    dropped: list[PlayedGroup] = []
    collectors = [collector] if greedy is None else [collector, greedy]
    retries_before = sum(each.num_retries for each in collectors)
    rounds = 0

    def play(numbers: Sequence[int]) -> list[PlayedGroup]:
        requests = _requests(source, plan, update, numbers)
        return play_groups(collector, requests, plan.group_size, greedy)

    while len(kept) < plan.groups_per_update and rounds < plan.max_rounds:
        numbers = range(next_task, next_task + plan.groups_per_update - len(kept))
        next_task = numbers.stop
        rounds += 1
        for played in world.share(numbers, play):
            _judge(played, judges)
            (kept if played.verdict.keep else dropped).append(played)
    retries = sum(each.num_retries for each in collectors) - retries_before
    _fill(kept, dropped, plan.groups_per_update)
    _select(kept, dropped, judges.group_selector)
    every = [*kept, *dropped]
    rollout = Rollout(
        update=update,
        groups=tuple(played.group for played in kept),
        dropped=tuple((played.group, played.verdict.reason) for played in dropped),
        rejected=tuple(
            (episode, number, reason)
            for number, played in enumerate(every)
            for episode, reason in played.rejected
        ),
        baselines=tuple(p.baseline for p in every if p.baseline is not None),
        failed=tuple(episode for played in every for episode in played.failures),
        num_filled=sum(not played.verdict.keep for played in kept),
        num_rounds=rounds,
        num_retries=sum(world.gather(lambda: retries)),
        next_task=next_task,
    )
    if not kept:
        raise _nothing_left(rollout)
    return rollout


def _requests(
    source: TaskSource, plan: GroupPlan, update: int, numbers: Sequence[int]
) -> list[EpisodeRequest]:
    """Return the episodes of the groups with the given numbers, group by group."""
    return [
        EpisodeRequest(
            task=(task := source.task(number)),
            env_seed=derive_seed(plan.seed, "env", task),
            sampling_seed=derive_seed(plan.seed, "train", update, number, member),
        )
        for number in numbers
        for member in range(plan.group_size)
    ]


def _judge(played: PlayedGroup, judges: Judges) -> None:
    """Take out rejected episodes, then ask whether the rest is kept."""
    if not played.usable:
        return
    played.group, played.rejected = reject_episodes(played.group, judges.episode_filters)
    if played.group.episodes:
        played.verdict = judges.group_filter(played.group)
    else:
        played.spoil("rejected")


def _fill(kept: list[PlayedGroup], dropped: list[PlayedGroup], wanted: int) -> None:
    """Move dropped groups back, oldest first, until there are as many as wanted."""
    for played in [played for played in dropped if played.usable][: max(wanted - len(kept), 0)]:
        dropped.remove(played)
        kept.append(played)


def _select(
    kept: list[PlayedGroup], dropped: list[PlayedGroup], selector: GroupSelector | None
) -> None:
    """Drop what the selector is against, unless nothing would be left."""
    if selector is None or not kept:
        return
    verdicts = selector([played.group for played in kept])
    judged = list(zip(kept, verdicts, strict=True))
    nothing_left = not any(verdict.keep for verdict in verdicts)
    for played, verdict in judged:
        if not verdict.keep:
            played.verdict = verdict
            if not nothing_left:
                kept.remove(played)
                dropped.append(played)


def _nothing_left(rollout: Rollout) -> EnvFailure | ConfigError:
    """Return the error of an update without a group to train on."""
    last = rollout.failed[-1].error if rollout.failed else "a return that is not finite"
    if not rollout.rejected:
        return EnvFailure(
            f"An environment failed in every group of update {rollout.update}; the last one said: "
            f"{last}"
        )
    dropped = Counter(reason for _, reason in rollout.dropped)
    counts = ", ".join(f"{number} {reason}" for reason, number in sorted(dropped.items()))
    rejected = ", ".join(sorted({reason for _, _, reason in rollout.rejected}))
    return ConfigError(
        f"No group of update {rollout.update} can be trained on ({counts}); data.episode_filters "
        f"rejected {len(rollout.rejected)} episodes ({rejected}). Loosen them, or raise "
        "data.filter_cold_start, the number of first updates in which they are not asked."
    )
