"""Groups for one update: roll out, filter, refill.

Dynamic filtering (dial 4): groups that the filter drops are replaced by groups of new tasks, for
a bounded number of rounds; then the batch is completed from what was dropped, and if even that
does not suffice the update goes on with fewer groups. Nothing is ever rolled out and not counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sampo.data.task_source import TaskSource
from sampo.episode import Episode, EpisodeGroup
from sampo.filtering import GroupFilter
from sampo.rollout.collector import Collector, EpisodeRequest
from sampo.rollout.seeds import derive_seed


@dataclass(frozen=True, kw_only=True)
class Rollout:
    """Everything that was rolled out for one update."""

    update: int
    """Number of the update, from 0."""
    groups: tuple[EpisodeGroup, ...]
    """What is trained on."""
    dropped: tuple[tuple[EpisodeGroup, str], ...] = ()
    """What is not, each with the filter's reason."""
    failed: tuple[Episode, ...] = ()
    """Episodes whose environment failed twice."""
    num_filled: int = 0
    """How many of `groups` the filter would have dropped, but nothing better was found."""
    num_rounds: int = 1
    num_retries: int = 0
    """Episodes that were played again because their environment failed."""
    next_task: int = 0
    """The task source's counter after this update."""
    stats: Mapping[str, float] = field(default_factory=dict)
    """Metrics over all rolled-out groups, kept or not (`rollout/...`), and times."""

    @property
    def all_groups(self) -> tuple[EpisodeGroup, ...]:
        """Kept and dropped groups."""
        return (*self.groups, *(group for group, _ in self.dropped))


@dataclass(frozen=True, kw_only=True)
class GroupPlan:
    """How many groups an update wants, and how hard it tries to get informative ones."""

    groups_per_update: int
    group_size: int
    max_rounds: int = 3
    """Most rounds of rolling out, the first one included. 1: the filter only counts."""
    cold_start: int = 0
    """Number of first updates in which nothing is filtered."""
    seed: int = 0


def roll_out(
    collector: Collector,
    source: TaskSource,
    group_filter: GroupFilter,
    plan: GroupPlan,
    *,
    update: int,
    next_task: int,
) -> Rollout:
    """Play the groups of one update.

    Args:
        collector: plays episodes.
        source: where tasks come from.
        group_filter: judges groups.
        plan: see `GroupPlan`.
        update: number of the update, from 0; seeds derive from it.
        next_task: the task source's counter.
    """
    kept: list[EpisodeGroup] = []
    dropped: list[tuple[EpisodeGroup, str]] = []
    failed: list[Episode] = []
    retries_before = collector.num_retries
    rounds = 0
    filtering = update >= plan.cold_start
    while len(kept) < plan.groups_per_update and rounds < plan.max_rounds:
        wanted = plan.groups_per_update - len(kept)
        tasks = [source.task(next_task + i) for i in range(wanted)]
        groups = _play_groups(collector, tasks, plan, update=update, first_task=next_task)
        next_task += wanted
        rounds += 1
        for group, failures in groups:
            failed.extend(failures)
            verdict = group_filter(group)
            if group.episodes and (verdict.keep or not filtering):
                kept.append(group)
            else:
                dropped.append((group, verdict.reason if group.episodes else "failed"))
    num_filled = _fill(kept, dropped, plan.groups_per_update)
    return Rollout(
        update=update,
        groups=tuple(kept),
        dropped=tuple(dropped),
        failed=tuple(failed),
        num_filled=num_filled,
        num_rounds=rounds,
        num_retries=collector.num_retries - retries_before,
        next_task=next_task,
    )


def _play_groups(
    collector: Collector, tasks: Sequence[str], plan: GroupPlan, *, update: int, first_task: int
) -> list[tuple[EpisodeGroup, list[Episode]]]:
    """Play one group per task; return each with its failed episodes taken out."""
    requests = [
        EpisodeRequest(
            task=task,
            env_seed=derive_seed(plan.seed, "env", task),
            sampling_seed=derive_seed(plan.seed, "train", update, first_task + number, member),
        )
        for number, task in enumerate(tasks)
        for member in range(plan.group_size)
    ]
    episodes = collector.run(requests)
    groups: list[tuple[EpisodeGroup, list[Episode]]] = []
    for start in range(0, len(episodes), plan.group_size):
        members = episodes[start : start + plan.group_size]
        failures = [episode for episode in members if episode.failed]
        group = EpisodeGroup(
            task=members[0].task,
            seed=members[0].seed,
            episodes=tuple(episode for episode in members if not episode.failed),
            num_failed=len(failures),
        )
        groups.append((group, failures))
    return groups


def _fill(kept: list[EpisodeGroup], dropped: list[tuple[EpisodeGroup, str]], wanted: int) -> int:
    """Move dropped groups back, oldest first, until there are as many as wanted."""
    usable = [entry for entry in dropped if entry[0].episodes][: max(wanted - len(kept), 0)]
    for entry in usable:
        dropped.remove(entry)
        kept.append(entry[0])
    return len(usable)


def rollout_stats(rollout: Rollout) -> dict[str, float]:
    """Return the metrics of a rollout, over all groups that were rolled out, kept or not."""
    groups = rollout.all_groups
    episodes = [episode for group in groups for episode in group.episodes]
    turns = [turn for episode in episodes for turn in episode.turns]
    trained = sum(e.num_action_tokens for group in rollout.groups for e in group.episodes)
    written = sum(episode.num_action_tokens for episode in episodes)
    stats: dict[str, float] = {
        "rollout/success_rate": _mean([episode.success for episode in episodes]),
        "rollout/reward": _mean([episode.reward for episode in episodes]),
        "rollout/score": _mean([episode.score for episode in episodes]),
        "rollout/turns": _mean([len(episode.turns) for episode in episodes]),
        "rollout/valid_action_rate": _mean([turn.action_valid for turn in turns]),
        "rollout/valid_format_rate": _mean([turn.format_valid for turn in turns]),
        "rollout/reply_tokens": _mean([len(turn.action_ids) for turn in turns]),
        "rollout/episodes": len(episodes),
        "rollout/action_tokens": written,
        "rollout/prompt_tokens": sum(len(turn.prompt_ids) for turn in turns),
        "rollout/action_tokens_not_trained": written - trained,
        "rollout/kept_group_fraction": (len(rollout.groups) - rollout.num_filled)
        / max(len(groups), 1),
        "rollout/filled_groups": rollout.num_filled,
        "rollout/rounds": rollout.num_rounds,
        "rollout/failed_episodes": len(rollout.failed),
        "rollout/retried_episodes": rollout.num_retries,
    }
    reasons = Counter(reason for _, reason in rollout.dropped)
    stats |= {f"rollout/dropped_{reason}": number for reason, number in reasons.items()}
    ends = Counter(episode.stop_reason.value for episode in episodes)
    stats |= {f"rollout/stop_{reason}": number / len(episodes) for reason, number in ends.items()}
    return stats


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
