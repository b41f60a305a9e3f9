"""What every estimator of one group promises."""

import math
import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sampo.advantages import GRPO, RLOO, AdvantageEstimator, GiGPO, PassAtK
from sampo.episode import EpisodeGroup

ESTIMATORS: dict[str, AdvantageEstimator] = {
    "grpo": GRPO(),
    "grpo_mean": GRPO(divide_by_std=False),
    "grpo_episodes": GRPO(baseline_over="episodes"),
    "gigpo": GiGPO(),
    "gigpo_mean": GiGPO(normalise="mean", step_weight=0.5, gamma=1.0),
    "rloo": RLOO(),
    "rloo_episodes": RLOO(baseline_over="episodes"),
    "pass_at_k": PassAtK(),
    "gigpo_similar": GiGPO(similarity=1.0),
    "gigpo_episodes": GiGPO(baseline_over="episodes"),
}
every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=ESTIMATORS.keys())
few = settings(max_examples=30, deadline=None)


def flat(advantages: list[list[float]]) -> list[float]:
    return [value for episode in advantages for value in episode]


def shifted(group: EpisodeGroup, constant: float) -> EpisodeGroup:
    """Add a constant to every episode's reward, on its last turn."""
    return replace(
        group,
        episodes=tuple(
            replace(
                episode,
                turns=(
                    *episode.turns[:-1],
                    replace(episode.turns[-1], reward=episode.turns[-1].reward + constant),
                ),
            )
            for episode in group.episodes
        ),
    )


@every_estimator
@given(data=st.data())
@few
def test_one_finite_number_per_turn(estimator, groups, data):
    group = data.draw(groups)
    advantages = estimator(group)
    assert [len(row) for row in advantages] == [len(e.turns) for e in group.episodes]
    assert all(math.isfinite(value) for value in flat(advantages))


@every_estimator
@given(data=st.data())
@few
def test_equal_episodes_give_exact_zeros(estimator, groups, data):
    group = data.draw(groups)
    if group.episodes:
        # 0.1 * 3 is not a sum that floats can write: the mean of equal scores is taken as is.
        twin = replace(group.episodes[0], turns=group.episodes[0].turns[-1:])
        twin = shifted(replace(group, episodes=(twin,)), 0.1 * 3).episodes[0]
        assert set(flat(estimator(replace(group, episodes=(twin,) * 7)))) == {0.0}


@every_estimator
@given(data=st.data(), seed=st.integers(0, 99))
@few
def test_order_of_episodes_does_not_matter(estimator, groups, data, seed):
    group = data.draw(groups)
    order = list(range(len(group.episodes)))
    random.Random(seed).shuffle(order)
    mixed = replace(group, episodes=tuple(group.episodes[i] for i in order))
    before, after = estimator(group), estimator(mixed)
    assert flat(after) == pytest.approx(flat([before[i] for i in order]), abs=1e-9)


@every_estimator
@given(data=st.data(), constant=st.sampled_from([-3.0, 0.5, 100.0]))
@few
def test_a_constant_on_all_rewards_changes_nothing(estimator, groups, data, constant):
    group = data.draw(groups)
    if isinstance(estimator, GiGPO):
        # The step part compares discounted returns, which a constant at the end shifts unequally
        # unless all turns of a state are as far from the end; so compare the episode part.
        estimator = replace(estimator, step_weight=0.0)
    before, after = flat(estimator(group)), flat(estimator(shifted(group, constant)))
    assert after == pytest.approx(before, abs=1e-6)


@every_estimator
@given(data=st.data())
@few
def test_a_nan_reward_spoils_its_own_episode_only(estimator, groups, data):
    group = data.draw(groups)
    spoiled = shifted(replace(group, episodes=group.episodes[:1]), math.nan).episodes
    advantages = estimator(replace(group, episodes=group.episodes + spoiled))
    assert flat(advantages[: len(group.episodes)]) == flat(estimator(group))
    assert set(flat(advantages[len(group.episodes) :])) <= {0.0}


def test_no_episodes(make_group):
    for estimator in ESTIMATORS.values():
        assert estimator(make_group()) == []
