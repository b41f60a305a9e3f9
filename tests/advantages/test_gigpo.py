"""GiGPO: Annex A of the specification, and a brute-force reference."""

import statistics
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sampo.advantages import GiGPO
from sampo.episode import EpisodeGroup
from sampo.errors import ConfigError


def test_annex_step_part_mean(annex_groups):
    """Anchors s0, s1, s2 | s0, s1 | s0, s3, s1, s2; s3 is seen once."""
    a0, a1, a2 = GiGPO(normalise="mean").step_part(annex_groups[0])
    # s1: 9.5, -0.1, 9.5 -> mean 6.3.
    assert a0 == pytest.approx([3.15875, 3.2, 0], abs=1e-6)
    assert a1 == pytest.approx([-5.86625, -6.4], abs=1e-6)
    assert a2 == pytest.approx([2.7075, 0, 3.2, 0], abs=1e-6)


def test_annex_step_part_mean_std(annex_groups):
    a0, a1, a2 = GiGPO().step_part(annex_groups[0])
    assert a0 == pytest.approx([0.621149, 0.577350, 0], abs=1e-6)
    assert a1 == pytest.approx([-1.153563, -1.154700], abs=1e-6)
    assert a2 == pytest.approx([0.532414, 0, 0.577350, 0], abs=1e-6)


def test_annex_sum(annex_groups):
    a0, a1, a2 = GiGPO()(annex_groups[0])
    assert a0 == pytest.approx([1.125094, 1.081295, 0.503944], abs=1e-6)
    assert a1 == pytest.approx([-2.906086, -2.929788], abs=1e-6)
    assert a2 == pytest.approx([1.036358, 0.503944, 1.081295, 0.503944], abs=1e-6)


def test_annex_group_of_one(annex_groups):
    assert GiGPO()(annex_groups[1]) == [[0.0]]
    assert GiGPO(singleton="score")(annex_groups[1]) == [[-0.1]]


def test_turns_without_a_state_key_are_nobodys_peers(make_group, make_episode):
    group = make_group(make_episode([1, 0]), make_episode([0, 0]))
    assert GiGPO().step_part(group) == [[0.0, 0.0], [0.0, 0.0]]


def test_a_state_revisited_in_one_episode_is_compared_with_itself(make_group, make_episode):
    # gamma 0.5: returns 0.25, 0.5, 1; "a" has 0.25 and 1, mean 0.625.
    group = make_group(make_episode([0, 0, 1], ["a", "b", "a"]))
    assert GiGPO(gamma=0.5, normalise="mean").step_part(group) == [[-0.375, 0.0, 0.375]]


def test_similar_text_joins_the_first_similar_cluster(make_group, make_episode):
    """`room 12` and `room 13` share 6 of 7 letters each: ratio 12 / 14 = 0.857."""
    group = make_group(make_episode([4], ["room 12"]), make_episode([0], ["room 13"]))
    assert GiGPO(normalise="mean").step_part(group) == [[0.0], [0.0]]
    assert GiGPO(normalise="mean", similarity=0.85).step_part(group) == [[2.0], [-2.0]]
    assert GiGPO(normalise="mean", similarity=0.9).step_part(group) == [[0.0], [0.0]]


def test_similarity_needs_text(make_group, make_episode):
    with pytest.raises(ConfigError, match="tuple"):
        GiGPO(similarity=0.9)(make_group(make_episode([0], [(1, 2)])))
    with pytest.raises(ConfigError, match="similarity=2"):
        GiGPO(similarity=2.0)


def brute_force(group: EpisodeGroup, estimator: GiGPO) -> list[list[float]]:
    """Quadratic and direct: every sum spelled out for every turn."""
    divide = estimator.normalise == "mean_std"

    def relative(value: float, peers: list[float]) -> float:
        if len(set(peers)) < 2:
            return 0.0
        std = statistics.stdev(peers)
        return (value - statistics.fmean(peers)) / (std + 1e-6 if divide else 1.0)

    def discounted(i: int, k: int) -> float:
        turns = group.episodes[i].turns
        future = sum(estimator.gamma ** (j - k) * turns[j].reward for j in range(k, len(turns)))
        return future - turns[k].penalty

    places = [(i, k) for i, episode in enumerate(group.episodes) for k in range(len(episode.turns))]

    def score(i: int, k: int) -> float:
        return group.episodes[i].reward - group.episodes[i].turns[k].penalty

    def key(i: int, k: int) -> object:
        return group.episodes[i].turns[k].state_key

    result = []
    for i, episode in enumerate(group.episodes):
        row = []
        for k in range(len(episode.turns)):
            peers = [p for p in places if key(*p) is not None and key(*p) == key(i, k)]
            step = relative(discounted(i, k), [discounted(*p) for p in peers])
            whole = relative(score(i, k), [score(*p) for p in places])
            row.append(whole + estimator.step_weight * step)
        result.append(row)
    return result


@pytest.mark.parametrize("normalise", ["mean", "mean_std"])
@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_agrees_with_brute_force(groups, data, normalise):
    group = data.draw(groups)
    estimator = replace(GiGPO(gamma=0.9, step_weight=0.7), normalise=normalise)
    for row, expected in zip(estimator(group), brute_force(group, estimator), strict=True):
        assert row == pytest.approx(expected, abs=1e-6)
