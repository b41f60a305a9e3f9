"""Builders of groups, shared by the tests of the advantages."""

import random
from collections.abc import Callable, Hashable, Sequence

import pytest
from hypothesis import strategies as st

from sampo.episode import Episode, EpisodeGroup, StopReason, Turn


def episode_of(
    rewards: Sequence[float],
    keys: Sequence[Hashable] | None = None,
    penalties: Sequence[float] | None = None,
) -> Episode:
    turns = tuple(
        Turn(
            observation="",
            reply="",
            action=None,
            reward=reward,
            penalty=0.0 if penalties is None else penalties[k],
            state_key=None if keys is None else keys[k],
        )
        for k, reward in enumerate(rewards)
    )
    return Episode(
        task="t",
        seed=0,
        turns=turns,
        success=sum(rewards) > 0,
        stop_reason=StopReason.TERMINATED,
    )


def group_of(*episodes: Episode) -> EpisodeGroup:
    return EpisodeGroup(task="t", seed=0, episodes=episodes)


@pytest.fixture(scope="session")
def make_episode() -> Callable[..., Episode]:
    return episode_of


@pytest.fixture(scope="session")
def make_group() -> Callable[..., EpisodeGroup]:
    return group_of


@pytest.fixture(scope="session")
def annex_groups() -> tuple[EpisodeGroup, EpisodeGroup]:
    """Groups a (episodes a0, a1, a2) and b (b0) of Annex A of the specification."""
    return (
        group_of(
            episode_of([0, 0, 10], ["s0", "s1", "s2"]),
            episode_of([0, 0], ["s0", "s1"], [0, 0.1]),
            episode_of([0, 0, 0, 10], ["s0", "s3", "s1", "s2"]),
        ),
        group_of(episode_of([0], ["s0"], [0.1])),
    )


def random_group(seed: int) -> EpisodeGroup:
    """Build none to six episodes of one to five turns, with penalties and few distinct states."""
    pick = random.Random(seed)

    def episode() -> Episode:
        length = pick.randint(1, 5)
        return episode_of(
            pick.choices([0.0, -0.1, 1.0, 10.0], k=length),
            pick.choices(["a", "b", "c", None], k=length),
            pick.choices([0.0, 0.1], k=length),
        )

    return group_of(*(episode() for _ in range(pick.randint(0, 6))))


@pytest.fixture(scope="session")
def groups() -> st.SearchStrategy[EpisodeGroup]:
    """Strategy of groups; from a seed, which is ten times faster than drawing every number."""
    return st.integers(0, 2**31).map(random_group)
