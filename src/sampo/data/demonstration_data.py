"""Demonstrations as training batches for behaviour cloning; validation is the rollout's own."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from lightning.pytorch.utilities import rank_zero_warn

from sampo.batch import RolloutBatch
from sampo.data.collate import collate
from sampo.data.demonstrations import read_demonstrations
from sampo.data.player import EpisodePlayer, chosen_format
from sampo.data.playing_datamodule import PlayingDataModule
from sampo.data.replay import replay
from sampo.data.settings import ChatSettings, EvaluationSettings, WorkerSettings, run_seed
from sampo.data.streams import TrainLoader, TrainStream
from sampo.envs import PromptFormat, TextEnv
from sampo.episode import Episode
from sampo.errors import ConfigError
from sampo.rollout.conversation import ContextPolicy
from sampo.rollout.engine import RolloutEngine, SamplingParams
from sampo.world import World


class DemonstrationDataModule(PlayingDataModule):
    """Streams demonstrations for training and rolled-out episodes for validation.

    Args:
        demonstrations: Parquet file that `sampo collect` wrote.
        env: the environment: its prompt format, and its tasks for validation.
        tokenizer: where the tokenizer is loaded from; linked to the policy.
        engine: writes the replies in validation.
        context: what the policy sees of an episode; the one that reinforcement learning will use.
        prompt_format: replaces the environment's own.
        batch_episodes: most demonstrations per optimiser step; batches of an epoch differ in size
            by one at most.
        max_demonstrations: how many are used, the first ones of the file; None takes all.
        eval_sampling: of validation episodes.
        context_length: most tokens of a prompt and its reply; demonstrations end before it.
        workers: where environments run in validation.
        evaluation: the fixed tasks of a validation.
        chat: how messages are put into the chat template.
        seed: of the order of demonstrations; None: the run's seed (`seed_everything`).
    """

    def __init__(
        self,
        demonstrations: str,
        env: TextEnv,
        tokenizer: str,
        engine: RolloutEngine,
        context: ContextPolicy,
        prompt_format: PromptFormat | None = None,
        batch_episodes: int = 16,
        max_demonstrations: int | None = None,
        eval_sampling: SamplingParams = SamplingParams(temperature=0.7),  # noqa: B008  frozen
        context_length: int = 2048,
        workers: WorkerSettings = WorkerSettings(),  # noqa: B008  frozen
        evaluation: EvaluationSettings = EvaluationSettings(),  # noqa: B008  frozen
        chat: ChatSettings = ChatSettings(),  # noqa: B008  frozen
        seed: int | None = None,
    ) -> None:
        if batch_episodes < 1 or (max_demonstrations is not None and max_demonstrations < 1):
            raise ConfigError(
                "data.batch_episodes and data.max_demonstrations must be at least 1, got "
                f"{batch_episodes} and {max_demonstrations}."
            )
        player = EpisodePlayer(
            env=env,
            tokenizer=tokenizer,
            engine=engine,
            context=context,
            prompt_format=chosen_format(env, prompt_format),
            context_length=context_length,
            invalid_action_penalty=0.0,  # demonstrations are not scored
            workers=workers,
            evaluation=evaluation,
            eval_sampling=eval_sampling,
            chat=chat,
            seed=run_seed(seed),
        )
        super().__init__(player)
        self.path = Path(demonstrations)
        self.batch_episodes = batch_episodes
        self.max_demonstrations = max_demonstrations
        self.seed = self.player.seed
        self.batches_done = 0
        """Batches handed out so far; part of the checkpoint."""
        self._episodes: tuple[Episode, ...] = ()

    @property
    def batches_per_epoch(self) -> int:
        """Optimiser steps in one pass over the demonstrations."""
        return -(-len(self._episodes) // self.batch_episodes)

    def setup(self, stage: str) -> None:
        """Load the tokenizer and replay the demonstrations."""
        self.player.world = World.join()
        if stage != "fit" or self._episodes:
            return
        loaded = read_demonstrations(self.path).episodes[: self.max_demonstrations]
        replayed = [
            replay(
                episode,
                self.renderer,
                self.player.prompt_format,
                self.player.context,
                self.player.context_length,
            )
            for episode in loaded
        ]
        cut = sum(
            len(new.turns) < len(old.turns) for new, old in zip(replayed, loaded, strict=True)
        )
        if cut:
            rank_zero_warn(
                f"{cut} of {len(loaded)} demonstrations do not fit into a context_length of "
                f"{self.player.context_length} tokens and are used up to the turn that does."
            )
        self._episodes = tuple(episode for episode in replayed if episode.turns)
        if not self._episodes:
            raise ConfigError(
                f"No demonstration in {self.path} has a turn that fits into a context_length of "
                f"{self.player.context_length} tokens. Raise data.context_length."
            )

    def train_dataloader(self) -> TrainLoader:
        """Return one pass over the demonstrations, in an order of its own."""
        stream = TrainStream(self._next_batch, lambda: self.batches_done, self.batches_per_epoch)
        return TrainLoader(stream)

    def state_dict(self) -> dict[str, Any]:
        """Return the counter from which the order follows, and its seed."""
        return {"batches_done": self.batches_done, "seed": self.seed}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on where a checkpoint stopped."""
        self.batches_done = state_dict["batches_done"]
        self.seed = state_dict["seed"]

    def _next_batch(self) -> RolloutBatch:
        epoch, number = divmod(self.batches_done, self.batches_per_epoch)
        order = list(range(len(self._episodes)))
        random.Random(f"{self.seed}/{epoch}").shuffle(order)
        chosen = [self._episodes[i] for i in order[number :: self.batches_per_epoch]]
        self.batches_done += 1
        no_advantages = [[0.0] * len(episode.turns) for episode in chosen]
        return collate(chosen, no_advantages, pad_id=self.player.pad_id)
