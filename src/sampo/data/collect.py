"""Plays episodes for demonstrations, with the expert or with the policy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from sampo.data.datamodule import RolloutDataModule
from sampo.episode import Episode
from sampo.errors import ConfigError
from sampo.rollout.collector import EpisodeRequest
from sampo.rollout.seeds import derive_seed


@dataclass(frozen=True, kw_only=True)
class CollectionPlan:
    """Which episodes are played, and which of them are demonstrations."""

    source: Literal["expert", "policy"]
    num_episodes: int
    """Episodes that are played; fewer may pass."""
    split: str = "train"
    noise: float = 0.0
    """Of the expert; see `DemonstratorAgent`."""
    only_successes: bool = True
    min_reward: float | None = None
    """Least raw return of a demonstration."""

    def __post_init__(self) -> None:
        """Refuse what has no effect."""
        if self.num_episodes < 1:
            raise ConfigError(f"collect needs --episodes of at least 1, got {self.num_episodes}.")
        if self.source == "policy" and self.noise:
            raise ConfigError("--noise is the expert's; raise data.sampling.temperature instead.")

    @property
    def policy_name(self) -> str:
        """Who acts, for the file."""
        if self.source == "policy":
            return "policy"
        return f"expert(noise={self.noise:g})" if self.noise else "expert"

    def accepts(self, episode: Episode) -> bool:
        """Return whether an episode is a demonstration."""
        if episode.failed or (self.only_successes and not episode.success):
            return False
        return self.min_reward is None or episode.reward >= self.min_reward


def collect_demonstrations(
    data: RolloutDataModule, plan: CollectionPlan, progress: Callable[[int, int], None]
) -> Iterator[Episode]:
    """Play episodes of consecutive tasks and yield those that are demonstrations.

    Args:
        data: environments, tasks and, with `source="policy"`, a synced engine.
        plan: see `CollectionPlan`.
        progress: called with (episodes played, demonstrations so far) after each chunk.
    """
    player = data.player
    if plan.source == "expert":
        agent = player.demonstrator(plan.noise)
    else:
        agent = player.policy_agent(data.sampling)
    collector = player.collector(agent, data.sampling)
    source, chunk, accepted = player.source(plan.split), player.workers.max_concurrent, 0
    for start in range(0, plan.num_episodes, chunk):
        numbers = range(start, min(start + chunk, plan.num_episodes))
        requests = [
            EpisodeRequest(
                task=(task := source.task(number)),
                env_seed=derive_seed(player.seed, "env", task),
                sampling_seed=derive_seed(player.seed, "collect", number),
            )
            for number in numbers
        ]
        for episode in collector.run(requests):
            if plan.accepts(episode):
                accepted += 1
                yield episode
        progress(numbers.stop, accepted)
