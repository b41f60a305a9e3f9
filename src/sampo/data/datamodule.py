"""The stream of freshly generated episodes, as a Lightning DataModule.

It holds environments and an engine, and never the model: weights reach the engine through the
`WeightSync` callback alone. One training batch is one rollout by one policy version.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

from sampo.advantages import AdvantageEstimator, RewardShaping
from sampo.batch import RolloutBatch
from sampo.data.ahead import RolloutAhead
from sampo.data.collate import collate
from sampo.data.group_advantages import GroupAdvantages
from sampo.data.group_rollout import GroupPlan, Judges, Rollout
from sampo.data.player import EpisodePlayer, chosen_format
from sampo.data.playing_datamodule import PlayingDataModule
from sampo.data.settings import (
    ChatSettings,
    EvaluationSettings,
    WorkerSettings,
    check_not_negative,
    check_positive,
    run_seed,
)
from sampo.data.streams import TrainLoader, TrainStream
from sampo.data.trainable import check_trainable, warn_of_single_episodes
from sampo.data.update_player import UpdatePlayer
from sampo.envs import PromptFormat, TextEnv
from sampo.filtering import EpisodeFilter, GroupFilter, GroupSelector
from sampo.losses import OffPolicyCorrection
from sampo.rollout.conversation import ContextPolicy
from sampo.rollout.engine import RolloutEngine, SamplingParams
from sampo.world import World


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
        max_staleness: 1 plays the next rollout while this one is trained on, by the policy of one
            update before; 0 plays it afterwards. See docs/off-policy.md.
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
        max_staleness: Literal[0, 1] = 0,
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
        self.max_staleness = max_staleness
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
        self._play_update = UpdatePlayer(
            player=player,
            judges=self.judges,
            sampling=sampling,
            shaping=shaping,
        )
        self._ahead = RolloutAhead(self._play, player.cancellation)

    def setup(self, stage: str) -> None:
        """Load the tokenizer and refuse training on a distribution that is not the policy's."""
        self.player.world = World.join()
        if not self.engine.served_model:
            _ = self.renderer
        if stage != "fit":
            return
        self.check_training(self._correction())
        warn_of_single_episodes(self.advantage, self.plan.group_size)

    def check_training(self, correction: OffPolicyCorrection | None) -> None:
        """Refuse rollouts that the loss could not be trained on; see `check_trainable`."""
        check_trainable(self.engine, self.sampling, correction, self.max_staleness)

    def _correction(self) -> OffPolicyCorrection | None:
        """Return the correction of the loss that is trained with, where there is a trainer."""
        module = None if self.trainer is None else self.trainer.lightning_module
        return getattr(getattr(module, "loss", None), "correction", None)

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
        self._play_update.forget_tasks()

    def finish_rollout(self) -> None:
        """Wait until the rollout ahead is played: the weights are about to change."""
        self._ahead.wait()

    def discard_rollout(self) -> None:
        """Forget the rollout ahead: its policy has been given up."""
        self._ahead.discard()

    def teardown(self, stage: str) -> None:
        """Break off the rollout ahead and close workers; the engine stays for the next stage."""
        self._ahead.close()
        super().teardown(stage)

    def _next_batch(self) -> RolloutBatch:
        """Return the next update's batch; the counters move only when it is complete."""
        rollout = self._ahead.take()
        waited_s, self._ahead.waited_s = self._ahead.waited_s, 0.0
        if rollout is None:
            rollout = self._play()
            waited_s += rollout.stats["time/rollout_s"]
        waited = {"time/rollout_wait_s": max(self.player.world.gather(lambda: waited_s))}
        advantages = GroupAdvantages(groups=rollout.groups, estimator=self.advantage)
        batch = collate(
            [episode for group in rollout.groups for episode in group.episodes],
            advantages(),
            pad_id=self.player.pad_id,
        )
        self.last_rollout = replace(rollout, stats={**rollout.stats, **waited})
        self.update += 1
        self.next_task = rollout.next_task
        if self.max_staleness and not self._ends_here():
            self._ahead.start()
        return replace(batch, regroup=advantages)

    def _play(self) -> Rollout:
        return self._play_update(
            self.plan,
            update=self.update,
            next_task=self.next_task,
            with_greedy=self.advantage.needs_greedy,
        )

    def _ends_here(self) -> bool:
        """Whether the trainer wants no further update."""
        trainer = self.trainer
        if trainer is None or trainer.max_epochs is None or trainer.max_epochs < 0:
            return False
        return self.update >= trainer.max_epochs * trainer.num_training_batches
