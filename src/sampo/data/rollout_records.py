"""What became of every episode of a rollout, as records for its file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice, repeat

from sampo.data.episode_log import EpisodeRecord
from sampo.data.group_rollout import Rollout


def rollout_records(
    rollout: Rollout, advantages: Sequence[float | None] = ()
) -> Iterator[EpisodeRecord]:
    """Yield every episode once: trained on, dropped, greedy baselines, failed.

    Groups keep their number in `Rollout.all_groups`; an episode that an episode filter took out
    of its group follows that group's others. Baselines carry the number of the group of their task,
    failed episodes -1.

    Args:
        rollout: what was rolled out.
        advantages: of each turn that is trained on, in order; missing ones become None.
    """
    values = chain(advantages, repeat(None))
    reasons = [None] * len(rollout.groups) + [reason for _, reason in rollout.dropped]
    first_filled = len(rollout.groups) - rollout.num_filled
    for number, (group, reason) in enumerate(zip(rollout.all_groups, reasons, strict=True)):
        for episode in group.episodes:
            kept = reason is None
            yield EpisodeRecord(
                episode=episode,
                update=rollout.update,
                group=number,
                kept=kept,
                drop_reason=reason,
                filled=kept and number >= first_filled,
                advantages=tuple(islice(values, len(episode.turns))) if kept else None,
            )
        for episode, home, why in rollout.rejected:
            if home == number:
                yield EpisodeRecord(
                    episode=episode,
                    update=rollout.update,
                    group=number,
                    kept=False,
                    drop_reason=why,
                )
    homes = {(group.task, group.seed): n for n, group in enumerate(rollout.all_groups)}
    others = [(episode, "greedy_baseline") for episode in rollout.baselines]
    for episode, why in [*others, *((episode, "failed") for episode in rollout.failed)]:
        home = -1 if why == "failed" else homes.get((episode.task, episode.seed), -1)
        yield EpisodeRecord(
            episode=episode, update=rollout.update, group=home, kept=False, drop_reason=why
        )
