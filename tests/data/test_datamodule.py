"""Dials 3 and 4 in real small rollouts: the corridor, a random policy, a real engine."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from sampo.advantages import GRPO, RLOO, GiGPO, OverlongPenalty, PassAtK, ReMax, TurnScore
from sampo.batch import RolloutBatch
from sampo.data.datamodule import RolloutDataModule
from sampo.data.group_rollout import Rollout
from sampo.data.settings import WorkerSettings
from sampo.envs.toy import Corridor
from sampo.episode import Episode
from sampo.filtering import EpisodeFilter, KeepAll, RejectOverlong, TopVariance, Verdict
from sampo.models.policy import Policy
from sampo.rollout.engine import SamplingParams
from sampo.rollout.scripted_engine import ScriptedEngine
from sampo.rollout.transformers_engine import TransformersEngine
from tiny import save_tiny_policy
from training import AnythingGoes, make_data, make_module, make_trainer

LEFT, RIGHT_AND_LONG = "b", "a<action>right</action>"
"""What `AnythingGoes` reads as left and right; the second does not fit into three tokens."""


class RejectTriples(EpisodeFilter):
    """Of one's own: rejects about every third episode."""

    def __call__(self, episode: Episode) -> Verdict:
        triple = sum(turn.action_ids[0] for turn in episode.turns) % 3 == 0
        return Verdict(keep=not triple, reason="triple")


Play = Callable[..., tuple[RolloutDataModule, list[RolloutBatch]]]


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> str:
    return save_tiny_policy(tmp_path_factory.mktemp("policy"))


@pytest.fixture
def play(policy: str) -> Any:
    """Return a function that rolls out updates with one random policy."""

    def run(*, updates: int = 1, **settings: Any) -> tuple[RolloutDataModule, list[RolloutBatch]]:
        data = make_data(policy, **settings)
        data.setup("fit")
        data.engine.sync_weights(Policy.load(policy), 0)
        stream = iter(data.train_dataloader())
        batches = [next(stream) for _ in range(updates)]
        data.teardown("fit")
        return data, batches

    return run


def rolled_out(data: RolloutDataModule) -> Rollout:
    assert data.last_rollout is not None
    return data.last_rollout


def num_rows(rollout: Rollout) -> int:
    """A window context has one row per turn."""
    return sum(len(episode.turns) for group in rollout.groups for episode in group.episodes)


def scripted(**settings: Any) -> dict[str, Any]:
    """Settings under which replies go left, or right and are cut at three tokens."""
    return {
        "engine": ScriptedEngine([LEFT, RIGHT_AND_LONG, LEFT, LEFT, RIGHT_AND_LONG]),
        "sampling": SamplingParams(max_new_tokens=3),
        "group_filter": KeepAll(),
        **settings,
    }


def test_rejected_episodes_are_not_trained_on_but_count(play: Play) -> None:
    data, (batch,) = play(**scripted(episode_filters=[RejectOverlong()]))
    rollout = rolled_out(data)
    episodes = [e for group in rollout.groups_as_played for e in group.episodes]
    assert 0 < len(rollout.rejected) < len(episodes) == 6 * len(rollout.all_groups)
    assert len(batch) == num_rows(rollout)
    assert all(rollout.all_groups[number].task == e.task for e, number, _ in rollout.rejected)
    stats = rollout.stats
    assert stats["rollout/rejected_overlong"] == len(rollout.rejected)
    solved = sum(episode.success for episode in episodes)
    assert stats["rollout/success_rate"] == pytest.approx(solved / len(episodes))
    assert stats["rollout/env_steps"] == sum(len(episode.turns) for episode in episodes)
    assert stats["rollout/env_steps"] > len(batch)
    written = sum(episode.num_action_tokens for episode in episodes)
    assert stats["rollout/action_tokens"] == written
    assert stats["rollout/action_tokens_not_trained"] == written - int(batch.action_mask.sum())


def test_the_cold_start_rejects_drops_and_selects_nothing(play: Play) -> None:
    everything = {"episode_filters": [RejectOverlong()], "group_selector": TopVariance(top_p=0.4)}
    data, _ = play(**scripted(filter_cold_start=1, **everything))
    rollout = rolled_out(data)
    assert (len(rollout.groups), rollout.dropped, rollout.rejected) == (3, (), ())
    data, _ = play(updates=2, **scripted(filter_cold_start=1, **everything))
    assert rolled_out(data).rejected


def test_the_selector_drops_the_least_varied_groups(play: Play) -> None:
    data, (batch,) = play(
        group_filter=KeepAll(), groups_per_update=4, group_selector=TopVariance(top_p=0.5)
    )
    rollout = rolled_out(data)
    assert [reason for _, reason in rollout.dropped] == ["low_variance"] * 2
    assert len(rollout.groups) == 2 and len(batch) == num_rows(rollout)

    def spread(group: Any) -> float:
        return float(torch.tensor([e.reward for e in group.episodes]).var(unbiased=False))

    worst_kept = min(spread(group) for group in rollout.groups)
    assert worst_kept >= max(spread(group) for group, _ in rollout.dropped)
    assert rollout.stats["rollout/dropped_low_variance"] == 2
    assert rollout.stats["rollout/kept_group_fraction"] == 0.5


def test_shaping_comes_after_filtering_and_before_the_estimator(play: Play) -> None:
    """Limit 3, buffer all of it, factor 0.3: every action token costs 0.1 of its turn's score."""
    shaping = OverlongPenalty(buffer_share=1.0, factor=0.3)
    settings: dict[str, Any] = {"advantage": TurnScore(), "group_selector": TopVariance(top_p=0.6)}
    plain, (before,) = play(**scripted(**settings))
    shaped, (after,) = play(**scripted(shaping=shaping, **settings))
    assert torch.equal(before.token_ids, after.token_ids)
    tokens = before.action_mask.sum(dim=1, keepdim=True)
    assert len(set(tokens.flatten().tolist())) > 1
    expected = torch.where(before.action_mask, before.advantages - 0.1 * tokens, 0.0)
    assert torch.allclose(after.advantages, expected, atol=1e-6)
    rollout = rolled_out(shaped)
    for group in rollout.groups:
        for episode in group.episodes:
            for turn in episode.turns:
                assert turn.penalty == pytest.approx(0.1 * len(turn.action_ids))
    assert rollout.dropped and all(
        turn.penalty == 0
        for group, _ in rollout.dropped
        for episode in group.episodes
        for turn in episode.turns
    )
    mean = 0.1 * float(tokens.float().mean())
    assert rollout.stats["rollout/shaping_penalty"] == pytest.approx(mean)
    assert "rollout/shaping_penalty" not in rolled_out(plain).stats
    assert rollout.stats["rollout/score"] == rolled_out(plain).stats["rollout/score"]


def test_remax_compares_with_a_greedy_episode_that_is_not_trained_on(play: Play) -> None:
    data, (batch,) = play(
        advantage=ReMax(), group_filter=KeepAll(), sampling=SamplingParams(max_new_tokens=2)
    )
    rollout = rolled_out(data)
    assert len(rollout.groups) == len(rollout.baselines) == 3
    assert len(batch) == num_rows(rollout)
    for group, greedy in zip(rollout.groups, rollout.baselines, strict=True):
        assert (group.task, group.seed) == (greedy.task, greedy.seed)
        assert len(group.episodes) == 6
        assert all(turn.sampling_logprobs == (0.0, 0.0) for turn in greedy.turns)
        assert {episode.metrics["greedy_return"] for episode in group.episodes} == {greedy.reward}
    expected = [
        episode.reward - greedy.reward
        for group, greedy in zip(rollout.groups, rollout.baselines, strict=True)
        for episode in group.episodes
        for _ in episode.turns
    ]
    assert batch.advantages.max(dim=1).values.tolist() != [0.0] * len(batch)
    assert batch.advantages[batch.action_mask].tolist() == pytest.approx(
        [value for value in expected for _ in range(2)]
    )
    stats = rollout.stats
    greedy_tokens = sum(episode.num_action_tokens for episode in rollout.baselines)
    assert stats["rollout/greedy_episodes"] == 3 and stats["rollout/episodes"] == 18
    assert stats["rollout/action_tokens_not_trained"] == greedy_tokens > 0
    assert stats["rollout/action_tokens"] == greedy_tokens + int(batch.action_mask.sum())
    assert stats["rollout/env_steps"] == len(batch) + sum(len(e.turns) for e in rollout.baselines)


def test_greedy_episodes_do_not_disturb_the_sampled_ones(play: Play) -> None:
    """And they are the same whoever asks: a function of task, seed and weights."""
    _, plain = play(updates=2, advantage=TurnScore(), group_filter=KeepAll())
    first, remax = play(updates=2, advantage=ReMax(), group_filter=KeepAll())
    assert all(torch.equal(a.token_ids, b.token_ids) for a, b in zip(plain, remax, strict=True))
    second, _ = play(updates=2, advantage=ReMax(), group_filter=KeepAll(), group_size=1)
    replies = [
        [turn.action_ids for episode in rolled_out(data).baselines for turn in episode.turns]
        for data in (first, second)
    ]
    assert replies[0] == replies[1]


class Fragile(Corridor):
    """Breaks on the second step to the right of any task that starts in cell 1."""

    def step(self, action: str) -> Any:
        observation, reward, terminated, truncated, info = super().step(action)
        if self._start == "1" and self._position == 3:
            reward = math.nan
        return observation, reward, terminated, truncated, info

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        self._start = (options or {}).get("task", "0>4").split(">")[0]
        return super().reset(seed=seed, options=options)


def test_a_reward_of_nan_is_a_failure_of_the_environment(play: Play) -> None:
    env = Fragile(length=6, max_turns=4, prompt_format=AnythingGoes())
    data, (batch,) = play(env=env, groups_per_update=6, group_filter=KeepAll())
    rollout = rolled_out(data)
    assert rollout.failed and all("nan" in str(episode.error) for episode in rollout.failed)
    assert sum(group.num_failed for group in rollout.all_groups) == len(rollout.failed)
    assert torch.isfinite(batch.advantages).all()
    assert len(batch) == num_rows(rollout)
    assert all(math.isfinite(value) for value in rollout.stats.values())
    assert rollout.stats["rollout/non_finite_rewards"] == 0


class GreedyTrap(Corridor):
    """Breaks in cells of odd number, after three equal moves: how greedy episodes often begin."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        self._moves: list[str] = []
        self._odd = int((options or {}).get("task", "0>4").split(">")[0]) % 2 == 1
        return super().reset(seed=seed, options=options)

    def step(self, action: str) -> Any:
        self._moves.append(action)
        if self._odd and self._moves[:3] in (["left"] * 3, ["right"] * 3):
            raise RuntimeError("stuck")
        return super().step(action)


def test_a_group_whose_greedy_episode_fails_is_dropped_and_replaced(play: Play) -> None:
    env = GreedyTrap(length=7, max_turns=5, prompt_format=AnythingGoes())
    data, (batch,) = play(env=env, advantage=ReMax(), group_filter=KeepAll(), groups_per_update=4)
    rollout = rolled_out(data)
    assert "greedy_failed" in [reason for _, reason in rollout.dropped]
    assert len(rollout.groups) == 4 and rollout.num_rounds > 1
    assert all("greedy_return" in e.metrics for g in rollout.groups for e in g.episodes)
    assert len(batch) == num_rows(rollout)
    dropped = [group for group, reason in rollout.dropped if reason == "greedy_failed"]
    assert rollout.stats["rollout/dropped_greedy_failed"] == len(dropped)
    members_failed = sum(group.num_failed for group in rollout.all_groups)
    assert len(rollout.failed) >= members_failed + len(dropped)


@pytest.mark.parametrize("estimator", [GRPO(), RLOO(), GiGPO(), PassAtK()])
def test_a_group_of_one_is_warned_of_and_gives_no_nonsense(play: Play, estimator: Any) -> None:
    with pytest.warns(UserWarning, match=r"data\.group_size is 1, so group-relative") as caught:
        data, (batch,) = play(advantage=estimator, group_size=1, max_filter_rounds=1)
    assert len(caught) == 1 and type(estimator).__name__ in str(caught[0].message)
    # Only GiGPO's step part can tell turns of one episode apart, where it revisits a state.
    if not isinstance(estimator, GiGPO):
        assert not batch.advantages.any()
    assert torch.isfinite(batch.advantages).all()
    assert rolled_out(data).stats["rollout/zero_spread_groups"] == 1.0
    assert rolled_out(data).num_filled == 3


@pytest.mark.parametrize("estimator", [ReMax(), TurnScore()])
def test_estimators_for_single_episodes_take_groups_of_one(play: Play, estimator: Any) -> None:
    _, (batch,) = play(
        advantage=estimator, group_size=1, groups_per_update=8, group_filter=KeepAll()
    )
    assert batch.advantages.any()


@pytest.mark.parametrize("estimator", [GRPO(), RLOO(), GiGPO(step_weight=0.0), PassAtK()])
def test_equal_rewards_give_zeros(play: Play, estimator: Any) -> None:
    """GiGPO's step part may tell turns apart: who stays in a state is further from the end."""
    data, (batch,) = play(
        engine=ScriptedEngine([LEFT]), advantage=estimator, group_filter=KeepAll()
    )
    assert not batch.advantages.any()
    assert rolled_out(data).stats["rollout/zero_spread_groups"] == 1.0


def test_replies_are_watched(play: Play) -> None:
    """Replies of one token at a limit of one: all of full length, none long enough to repeat."""
    data, _ = play()
    stats = rolled_out(data).stats
    assert stats["rollout/reply_length_share"] == 1.0
    assert stats["rollout/truncated_reply_rate"] > 0.9
    assert stats["rollout/repetition_rate"] == 0.0
    stuck = ScriptedEngine(["!" * 20])
    data, _ = play(engine=stuck, group_filter=KeepAll(), sampling=SamplingParams(max_new_tokens=8))
    assert rolled_out(data).stats["rollout/repetition_rate"] == pytest.approx(1 - 1 / 5)
    assert rolled_out(data).stats["rollout/truncated_reply_rate"] == 1.0


def test_worker_processes_are_shared_with_the_greedy_episodes(policy: str, tmp_path: Path) -> None:
    data = make_data(
        policy,
        env=Corridor(length=5, max_turns=2),
        engine=ScriptedEngine(["<action>right</action>"]),
        advantage=ReMax(),
        group_filter=KeepAll(),
        group_size=2,
        sampling=SamplingParams(max_new_tokens=32),
        workers=WorkerSettings(num_workers=1, max_concurrent=2),
    )
    data.setup("fit")
    next(iter(data.train_dataloader()))
    data.teardown("fit")
    assert len(rolled_out(data).baselines) == 3


@pytest.mark.parametrize("advantage", [ReMax(), GiGPO()])
def test_training_goes_on_with_all_of_it(policy: str, tmp_path: Path, advantage: Any) -> None:
    data = make_data(
        policy,
        **scripted(
            engine=TransformersEngine(),
            advantage=advantage,
            episode_filters=[RejectTriples()],
            group_selector=TopVariance(top_p=0.6),
            shaping=OverlongPenalty(buffer_share=0.5),
            filter_cold_start=1,
        ),
    )
    trainer = make_trainer(tmp_path, epochs=1)
    trainer.fit(make_module(policy), datamodule=data)
    rollout = rolled_out(data)
    assert (data.update, rollout.update) == (3, 2)
    assert len(rollout.groups) == 2 and rollout.rejected
    metrics = trainer.callback_metrics
    assert metrics["train/sampling_logprob_diff_max"] < 1e-4
    assert metrics["rollout/rejected_triple"] == len(rollout.rejected)
    assert ("rollout/greedy_episodes" in metrics) == advantage.needs_greedy
