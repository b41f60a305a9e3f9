"""The stream of freshly generated episodes, as a Lightning DataModule.

It holds environments and an engine, and never the model: weights reach the engine through the
`WeightSync` callback alone. One training batch is one rollout by one policy version.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from lightning.pytorch.utilities import rank_zero_warn

from sampo.advantages import AdvantageEstimator, RewardShaping
from sampo.batch import RolloutBatch
from sampo.data.collate import collate
from sampo.data.group_rollout import GroupPlan, Judges, Rollout, roll_out
from sampo.data.player import EpisodePlayer, chosen_format
from sampo.data.playing_datamodule import PlayingDataModule
from sampo.data.rollout_stats import rollout_stats, shaping_stats
from sampo.data.settings import (
    ChatSettings,
    EvaluationSettings,
    WorkerSettings,
    check_not_negative,
    check_positive,
    run_seed,
)
from sampo.data.streams import TrainLoader, TrainStream
from sampo.data.task_source import TaskSource
from sampo.envs import PromptFormat, TextEnv
from sampo.errors import ConfigError
from sampo.filtering import EpisodeFilter, GroupFilter, GroupSelector
from sampo.rollout.conversation import ContextPolicy
from sampo.rollout.engine import RolloutEngine, SamplingParams


class RolloutDataModule(PlayingDataModule):
    """Streams rollouts for training and episodes for evaluation.

    Args:
        env: the environment, as a prototype that is copied into the workers.
        tokenizer: where the tokenizer is loaded from; linked to the policy.
        engine: writes the replies.
        context: what the policy sees of an episode, and so what a row is.
        advantage: dial 3. One that needs a greedy baseline (`ReMax`) costs one more episode per
            task, played at temperature 0 and not trained on.
        group_filter: dial 4: which groups are trained on; dropped ones are replaced by new tasks.
        episode_filters: dial 4: episodes that any of these rejects leave their group before it is
            judged or compared. They still count in success rates and costs.
        group_selector: dial 4: after refilling, ranks the groups of the update against each other
            and drops the lowest (`TopVariance`), so that fewer than `groups_per_update` are
            trained on. Where it would drop all, all are kept.
        shaping: penalties by the tokens of a reply, put on the groups that are trained on after
            filtering (`OverlongPenalty`).
        sampling: of training episodes; the policy's own distribution, so no top-p or top-k.
        eval_sampling: of evaluation episodes.
        prompt_format: replaces the environment's own.
        groups_per_update: tasks per update (B).
        group_size: episodes per task (n).
        updates_per_epoch: updates between two evaluations; an epoch has no other meaning.
        max_filter_rounds: most rounds of rolling out per update, the first one included.
        filter_cold_start: number of first updates in which nothing is filtered: neither
            `episode_filters` nor `group_filter` nor `group_selector` are asked.
        invalid_action_penalty: subtracted from the score and step return of an invalid turn.
        context_length: most tokens of a prompt and its reply.
        workers: where environments run.
        evaluation: the fixed tasks of an evaluation.
        chat: how messages are put into the chat template.
        seed: of task order, environments and sampling; None: the run's seed (`seed_everything`).
    """

    def __init__(
        self,
        env: TextEnv,
        tokenizer: str,
        engine: RolloutEngine,
        context: ContextPolicy,
        advantage: AdvantageEstimator,
        group_filter: GroupFilter,
        episode_filters: Sequence[EpisodeFilter] = (),
        group_selector: GroupSelector | None = None,
        shaping: RewardShaping | None = None,
        sampling: SamplingParams = SamplingParams(),  # noqa: B008  frozen
        eval_sampling: SamplingParams = SamplingParams(temperature=0.7),  # noqa: B008  frozen
        prompt_format: PromptFormat | None = None,
        groups_per_update: int = 16,
        group_size: int = 8,
        updates_per_epoch: int = 10,
        max_filter_rounds: int = 3,
        filter_cold_start: int = 0,
        invalid_action_penalty: float = 0.1,
        context_length: int = 2048,
        workers: WorkerSettings = WorkerSettings(),  # noqa: B008  frozen
        evaluation: EvaluationSettings = EvaluationSettings(),  # noqa: B008  frozen
        chat: ChatSettings = ChatSettings(),  # noqa: B008  frozen
        seed: int | None = None,
    ) -> None:
        check_not_negative(
            invalid_action_penalty=invalid_action_penalty, filter_cold_start=filter_cold_start
        )
        check_positive(
            groups_per_update=groups_per_update,
            group_size=group_size,
            updates_per_epoch=updates_per_epoch,
            max_filter_rounds=max_filter_rounds,
            context_length=context_length,
        )
        player = EpisodePlayer(
            env=env,
            tokenizer=tokenizer,
            engine=engine,
            context=context,
            prompt_format=chosen_format(env, prompt_format),
            context_length=context_length,
            invalid_action_penalty=invalid_action_penalty,
            workers=workers,
            evaluation=evaluation,
            eval_sampling=eval_sampling,
            chat=chat,
            seed=run_seed(seed),
        )
        super().__init__(player)
        self.advantage = advantage
        self.shaping = shaping
        self.judges = Judges(
            episode_filters=episode_filters,
            group_filter=group_filter,
            group_selector=group_selector,
        )
        self.sampling = sampling
        self.updates_per_epoch = updates_per_epoch
        self.plan = GroupPlan(
            groups_per_update=groups_per_update,
            group_size=group_size,
            max_rounds=max_filter_rounds,
            cold_start=filter_cold_start,
            seed=self.player.seed,
        )
        self.update = 0
        """Number of updates rolled out so far; part of the checkpoint."""
        self.next_task = 0
        """Counter of the task source; part of the checkpoint."""
        self.last_rollout: Rollout | None = None
        """What the latest training batch was made of."""
        self._source: TaskSource | None = None

    def setup(self, stage: str) -> None:
        """Load the tokenizer and refuse training on a distribution that is not the policy's."""
        _ = self.renderer
        if stage != "fit":
            return
        self.check_training_sampling()
        if self.plan.group_size == 1 and self.advantage.compares_episodes:
            rank_zero_warn(
                "data.group_size is 1, so group-relative advantages are all zero: "
                f"{type(self.advantage).__name__} has nothing to compare an episode with. Set it "
                "to 2 or more, or data.advantage to one for single episodes, such as ReMax."
            )

    def check_training_sampling(self) -> None:
        """Refuse training on a distribution that is not the policy's.

        Raises:
            ConfigError: `sampling` is greedy or truncated.
        """
        params = self.sampling
        if params.temperature == 0 or params.top_p < 1 or params.top_k > 0:
            raise ConfigError(
                "data.sampling must be the policy's own distribution in training (temperature "
                "above 0, top_p 1, top_k 0): replies from a truncated one would be trained on as "
                "if the policy had written them. Truncate in data.eval_sampling instead."
            )

    def train_dataloader(self) -> TrainLoader:
        """Return one epoch of rollout batches."""
        stream = TrainStream(self._next_batch, lambda: self.update, self.updates_per_epoch)
        return TrainLoader(stream)

    def state_dict(self) -> dict[str, Any]:
        """Return the counters from which everything else follows."""
        return {"update": self.update, "next_task": self.next_task, "seed": self.plan.seed}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on where a checkpoint stopped, with its seed."""
        self.update = state_dict["update"]
        self.next_task = state_dict["next_task"]
        self.plan = replace(self.plan, seed=state_dict["seed"])
        self.player.seed = state_dict["seed"]
        self._source = None

    def _next_batch(self) -> RolloutBatch:
        """Roll out the next update; the counters move only when it is complete."""
        started = time.perf_counter()
        if self._source is None:
            self._source = self.player.source("train")
        collector, greedy = self.player.policy_collector(self.sampling), None
        if self.advantage.needs_greedy:
            greedy = self.player.policy_collector(replace(self.sampling, temperature=0.0))
        rollout = roll_out(
            collector,
            self._source,
            self.judges,
            self.plan,
            update=self.update,
            next_task=self.next_task,
            greedy=greedy,
        )
        rollout = self._with_stats(rollout)
        batch = collate(
            [episode for group in rollout.groups for episode in group.episodes],
            [values for group in rollout.groups for values in self.advantage(group)],
            pad_id=self.player.pad_id,
        )
        seconds = {"time/rollout_s": time.perf_counter() - started}
        self.last_rollout = replace(rollout, stats={**rollout.stats, **seconds})
        self.update += 1
        self.next_task = rollout.next_task
        return batch

    def _with_stats(self, rollout: Rollout) -> Rollout:
        """Return the rollout with its metrics, and with shaped penalties where it is trained on."""
        limit = self.sampling.max_new_tokens
        stats = rollout_stats(rollout, max_new_tokens=limit)
        groups = rollout.groups
        if self.shaping is not None:
            groups = tuple(self.shaping(group, max_new_tokens=limit) for group in groups)
            stats |= shaping_stats(rollout.groups, groups)
        return replace(rollout, groups=groups, stats=stats)
