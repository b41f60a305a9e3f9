"""Advantages without some episodes are those of groups in which they never were."""

import pytest

from sampo.advantages import GRPO, RLOO, GiGPO
from sampo.data.group_advantages import GroupAdvantages
from sampo.episode import Episode, EpisodeGroup, StopReason, Turn


def episode(*rewards):
    turns = tuple(
        Turn(
            observation="o",
            reply="r",
            action="a",
            reward=reward,
            penalty=0.0,
            format_valid=True,
            action_valid=True,
            state_key=("s", number),
            starts_row=True,
        )
        for number, reward in enumerate(rewards)
    )
    return Episode(task="t", seed=0, turns=turns, success=False, stop_reason=StopReason.TERMINATED)


def group(*episodes):
    return EpisodeGroup(task="t", seed=0, episodes=episodes, num_failed=0)


FIRST = group(episode(1.0, 2.0), episode(0.0), episode(5.0))
SECOND = group(episode(4.0), episode(0.0, 1.0))


@pytest.mark.parametrize("estimator", [GRPO(), GiGPO(), RLOO()], ids=lambda e: type(e).__name__)
def test_rejected_episodes_move_no_baseline(estimator):
    advantages = GroupAdvantages(groups=(FIRST, SECOND), estimator=estimator)
    whole = [*estimator(FIRST), *estimator(SECOND)]
    assert advantages() == [list(values) for values in whole]
    without = advantages({1})
    alone = estimator(group(FIRST.episodes[0], FIRST.episodes[2]))
    assert without == [list(alone[0]), [0.0], list(alone[1]), *advantages()[3:]]
    assert without[0] != advantages()[0]


def test_a_group_may_lose_all():
    advantages = GroupAdvantages(groups=(FIRST, SECOND), estimator=GRPO())
    assert advantages({3, 4})[3:] == [[0.0], [0.0, 0.0]]
    assert advantages({3, 4})[:3] == advantages()[:3]
