"""The second stage: whitening, GAE and EMPG over a rollout batch."""

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from sampo.advantages import GAE, BatchAdvantageInputs, EntropyModulation, KLReward, Whiten
from sampo.advantages.batch import whitened
from sampo.advantages.chains import chains
from sampo.errors import ConfigError


def inputs_of(turns, episodes, numbers, **more) -> BatchAdvantageInputs:
    """Build a batch from turn ids (-1 off the mask), episode of each turn, number of each turn."""
    turn_ids = torch.tensor(turns)
    mask = turn_ids >= 0

    def of_turn(values: dict[int, float]) -> Tensor:
        return torch.tensor([[values.get(t, -1) for t in row] for row in turns])

    return BatchAdvantageInputs(
        advantages=of_turn(numbers).double() * mask,
        action_mask=mask,
        turn_ids=turn_ids,
        episode_ids=torch.where(mask, of_turn(episodes), -1),
        **{key: torch.tensor(value).double() for key, value in more.items()},
    )


# Episode 0 has turns 4 and 6, in two rows with the later one first; episode 1 has turn 7.
TURNS = [[6, 6, -1], [-1, 4, -1], [7, -1, 7]]
EPISODES = {4: 0, 6: 0, 7: 1}


def test_chains_put_turns_in_order_of_time():
    inputs = inputs_of(TURNS, EPISODES, {4: 1.0, 6: 2.0, 7: 3.0})
    values = torch.arange(9.0).reshape(3, 3)
    lined = chains(inputs, "episode")
    assert lined.pad(values).tolist() == [[4.0, 0.0, 1.0], [6.0, 8.0, 0.0]]
    assert lined.ends_turn.tolist() == [True, False, True, False, True]
    by_turn = chains(inputs, "turn")
    assert by_turn.pad(values).tolist() == [[4.0, 0.0], [0.0, 1.0], [6.0, 8.0]]
    back = by_turn.unpad(by_turn.pad(values), values)
    assert torch.equal(back, values * inputs.action_mask)


def test_whiten_by_hand():
    """Turns of 1, 2 and 2 tokens with scores 4, 2, 0 and gamma 0.5: returns 4 | 1 2 | 0 0.

    Mean 1.4; squares 6.76 + 0.16 + 0.36 + 1.96 + 1.96 = 11.2 over 4: std sqrt(2.8).
    """
    inputs = inputs_of(TURNS, EPISODES, {4: 4.0, 6: 2.0, 7: 0.0})
    advantages = Whiten(gamma=0.5)(inputs).advantages
    std = math.sqrt(2.8)
    assert advantages[0].tolist() == pytest.approx([-0.4 / std, 0.6 / std, 0.0])
    assert advantages[1].tolist() == pytest.approx([0.0, 2.6 / std, 0.0])
    assert advantages[2].tolist() == pytest.approx([-1.4 / std, 0.0, -1.4 / std])


def test_kl_in_the_reward_of_each_token():
    # One turn of 2 tokens, score 1, kl 2 and 3 at weight 0.1: returns 1 - 0.2 - 0.3 and 1 - 0.3.
    inputs = inputs_of([[0, 0]], {0: 0}, {0: 1.0}, kl=[[2.0, 3.0]])
    stage = Whiten(kl_coef=0.1)
    assert stage.requires == {"kl"}
    advantages = stage(inputs).advantages
    # 0.5 and 0.7: whitened -1 / sqrt 2 and 1 / sqrt 2.
    assert advantages[0].tolist() == pytest.approx([-math.sqrt(0.5), math.sqrt(0.5)], rel=1e-5)
    with pytest.raises(ConfigError, match="kl"):
        stage(replace(inputs, kl=None))


def test_whitening_never_divides_by_nothing():
    mask = torch.tensor([[True, True, False]])
    assert whitened(torch.tensor([[0.3, 0.3, 9.0]]), mask).tolist() == [[0, 0, 0]]
    assert whitened(torch.tensor([[5.0, 1.0, 2.0]]), mask & False).tolist() == [[0, 0, 0]]
    assert whitened(torch.tensor([[5.0]]), torch.tensor([[True]])).tolist() == [[0.0]]


def brute_force_gae(rewards, values, gamma, lam):
    """Return the double sum of the definition."""
    n = len(rewards)
    following = [*values[1:], 0.0]
    deltas = [rewards[t] + gamma * following[t] - values[t] for t in range(n)]
    return [sum((gamma * lam) ** (u - t) * deltas[u] for u in range(t, n)) for t in range(n)]


VALUES = [[0.5, 0.7, 0.0], [0.0, 0.2, 0.0], [0.1, 0.0, -0.4]]


def test_gae_over_episodes_is_the_definition():
    inputs = inputs_of(TURNS, EPISODES, {4: 1.0, 6: 2.0, 7: 3.0}, values=VALUES)
    output = GAE(gamma=0.9, lam=0.8, whiten=False)(inputs)
    # Episode 0 in time: token of turn 4, then both of turn 6; rewards on the last of each turn.
    first = brute_force_gae([1.0, 0.0, 2.0], [0.2, 0.5, 0.7], 0.9, 0.8)
    second = brute_force_gae([0.0, 3.0], [0.1, -0.4], 0.9, 0.8)
    assert output.advantages[1, 1].item() == pytest.approx(first[0])
    assert output.advantages[0].tolist() == pytest.approx([*first[1:], 0.0])
    assert output.advantages[2].tolist() == pytest.approx([second[0], 0.0, second[1]])
    assert output.returns is not None
    assert output.returns[0].tolist() == pytest.approx([first[1] + 0.5, first[2] + 0.7, 0.0])


def test_gae_over_turns_stops_at_their_ends():
    inputs = inputs_of(TURNS, EPISODES, {4: 1.0, 6: 2.0, 7: 3.0}, values=VALUES)
    output = GAE(gamma=0.9, lam=0.8, chain="turn", whiten=False)(inputs)
    assert output.advantages[1, 1].item() == pytest.approx(1.0 - 0.2)


def test_lambda_one_without_values_is_the_return():
    inputs = inputs_of(TURNS, EPISODES, {4: 1.0, 6: 2.0, 7: 3.0}, values=[[0.0] * 3] * 3)
    advantages = GAE(whiten=False)(inputs).advantages
    assert advantages.tolist() == [[2, 2, 0], [0, 3, 0], [3, 0, 3]]


def test_annex_of_empg():
    """Five turns of two tokens (the fourth has one); episodes p (0, 1) and q (0, 1, 2)."""
    inputs = inputs_of(
        [[0, 0], [1, 1], [2, 2], [3, -1], [4, 4]],
        {0: 0, 1: 0, 2: 1, 3: 1, 4: 1},
        {0: 1.0, 1: 1.0, 2: -1.0, 3: -1.0, 4: 0.5},
        entropy=[[0.5, 0.7], [0.2, 0.1], [1.0, 0.4], [0.3, 9.9], [0.9, 0.9]],
    )
    advantages = EntropyModulation()(inputs).advantages
    expected = [0.746585, 1.398119, -0.862609, -1.411355, 0.129261]
    assert advantages[:, 0].tolist() == pytest.approx(expected, abs=1e-6)
    assert advantages[:, 1].tolist() == pytest.approx([*expected[:3], 0, expected[4]], abs=1e-6)


def test_empg_does_not_care_for_the_order_of_rows():
    turns = [[0, 0], [1, 1], [2, -1]]
    numbers, episodes = {0: 1.0, 1: -1.0, 2: 0.5}, {0: 0, 1: 0, 2: 1}
    entropy = [[0.5, 0.7], [0.2, 0.1], [0.9, 0.0]]
    straight = EntropyModulation()(inputs_of(turns, episodes, numbers, entropy=entropy))
    mixed = EntropyModulation()(inputs_of(turns[::-1], episodes, numbers, entropy=entropy[::-1]))
    assert torch.allclose(straight.advantages, mixed.advantages.flip(0))


def test_kl_in_the_reward_by_hand():
    """Turns 0 and 1 with KL sums 0.3 and 0.1 around their mean 0.2."""
    inputs = inputs_of(
        [[0, 0], [1, -1]], {0: 0, 1: 0}, {0: 1.0, 1: -1.0}, kl=[[0.1, 0.2], [0.1, 9.0]]
    )
    advantages = KLReward(kl_coef=2.0)(inputs).advantages
    assert advantages[0].tolist() == pytest.approx([0.8, 0.8])
    assert advantages[1].tolist() == pytest.approx([-0.8, 0.0])
    equal = inputs_of([[0], [1]], {0: 0, 1: 1}, {0: 0.0, 1: 0.0}, kl=[[0.4], [0.4]])
    assert KLReward()(equal).advantages.tolist() == [[0.0], [0.0]]
    with pytest.raises(ConfigError, match="batch_advantage to null"):
        KLReward(kl_coef=0.0)


@pytest.mark.parametrize("stage", [Whiten(), GAE(), EntropyModulation(), KLReward()])
def test_nothing_written_gives_zeros(stage):
    zeros = [[0.0, 0.0]]
    empty = inputs_of([[-1, -1]], {}, {}, values=zeros, entropy=zeros, kl=zeros)
    assert stage(empty).advantages.tolist() == [[0.0, 0.0]]


def test_wrong_settings_and_missing_inputs_say_what_to_do():
    bare = inputs_of([[0, 0]], {0: 0}, {0: 1.0})
    with pytest.raises(ConfigError, match="values"):
        GAE()(bare)
    with pytest.raises(ConfigError, match="entropy"):
        EntropyModulation()(bare)
    with pytest.raises(ConfigError, match="gamma=2"):
        Whiten(gamma=2.0)
    with pytest.raises(ConfigError, match="turn or episode"):
        GAE(chain="row")  # pyright: ignore[reportArgumentType]
