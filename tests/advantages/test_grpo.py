"""GRPO: Annex A of the specification, and groups of one."""

import pytest

from sampo.advantages import GRPO


@pytest.mark.parametrize(
    ("estimator", "won", "lost", "lost_invalid"),
    [
        # Nine rows: seven of 10, one of 0 and one of -0.1: mean 7.766667.
        (GRPO(), 0.503944, -1.752523, -1.775088),
        (GRPO(divide_by_std=False), 2.233333, -7.766667, -7.866667),
        # Three episode means 10, -0.05, 10: mean 6.65.
        (GRPO(baseline_over="episodes"), 0.577350, -1.146083, -1.163318),
        (GRPO(divide_by_std=False, baseline_over="episodes"), 3.35, -6.65, -6.75),
    ],
)
def test_annex(annex_groups, estimator, won, lost, lost_invalid):
    a0, a1, a2 = estimator(annex_groups[0])
    assert a0 == pytest.approx([won] * 3, abs=1e-6)
    assert a1 == pytest.approx([lost, lost_invalid], abs=1e-6)
    assert a2 == pytest.approx([won] * 4, abs=1e-6)


def test_a_group_of_one(annex_groups):
    assert GRPO()(annex_groups[1]) == [[0.0]]
    assert GRPO(singleton="score")(annex_groups[1]) == [[-0.1]]


def test_one_episode_of_several_turns_has_no_baseline_over_episodes(make_group, make_episode):
    group = make_group(make_episode([0, 10], penalties=[0.1, 0]))
    assert GRPO(baseline_over="episodes")(group) == [[0.0, 0.0]]
    assert GRPO(baseline_over="episodes", singleton="score")(group) == [[9.9, 10.0]]


def test_equally_bad_episodes_still_teach_the_format(make_group, make_episode):
    """Both lose, one with an invalid turn: scores 0, 0 | 0, -0.1; mean -0.025, std 0.05."""
    group = make_group(make_episode([0, 0]), make_episode([0, 0], penalties=[0, 0.1]))
    assert GRPO()(group)[0] == pytest.approx([0.5, 0.5], rel=1e-4)
    assert GRPO()(group)[1] == pytest.approx([0.5, -1.5], rel=1e-4)
