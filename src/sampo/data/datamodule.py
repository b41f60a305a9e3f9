"""The stream of freshly generated episodes, as a Lightning DataModule.

It holds environments and an engine, and never the model: weights reach the engine through the
`WeightSync` callback alone. One training batch is one rollout by one policy version.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import lightning as L
import torch
from torch.utils.data import DataLoader

from sampo.advantages import AdvantageEstimator
from sampo.batch import RolloutBatch
from sampo.data.collate import collate
from sampo.data.group_rollout import GroupPlan, Rollout, roll_out, rollout_stats
from sampo.data.streams import EvaluationStream, TrainLoader, TrainStream
from sampo.data.task_source import TaskSource
from sampo.envs import PromptFormat, TextEnv
from sampo.episode import Episode
from sampo.errors import ConfigError
from sampo.filtering import GroupFilter
from sampo.models.policy import load_tokenizer
from sampo.rollout.agents import Agent, DemonstratorAgent, EngineAgent
from sampo.rollout.chat import ChatRenderer
from sampo.rollout.collector import Collector, EpisodeRequest, EpisodeSettings
from sampo.rollout.conversation import ContextPolicy, TranscriptContext
from sampo.rollout.engine import RolloutEngine, SamplingParams
from sampo.rollout.seeds import derive_seed
from sampo.rollout.workers import EnvPool


@dataclass(frozen=True, kw_only=True)
class ChatSettings:
    """How messages are put into the chat template."""

    system: str | None = None
    """A system message for every row; None leaves it to the template."""
    template_kwargs: dict[str, Any] | None = None
    """Variables of the chat template, e.g. `{enable_thinking: false}`."""


@dataclass(frozen=True, kw_only=True)
class EvaluationSettings:
    """The fixed tasks of an evaluation: always the same ones, each played equally often."""

    num_tasks: int = 128
    """How many tasks, the first ones of the split; -1 takes all of them."""
    samples_per_task: int = 1
    seed: int = 0
    """Of sampling; evaluations with the same seed differ by the policy alone."""


@dataclass(frozen=True, kw_only=True)
class WorkerSettings:
    """Where environments run."""

    num_workers: int = 1
    """Worker processes; 0 runs environments in this process, without deadlines or isolation."""
    step_timeout_s: float = 60.0
    """An environment that takes longer over one step is killed and its episode played again."""
    reset_timeout_s: float = 120.0
    """Likewise for a reset."""
    max_concurrent: int = 256
    """Most episodes in play at once."""


class RolloutDataModule(L.LightningDataModule):
    """Streams rollouts for training and episodes for evaluation.

    Args:
        env: the environment, as a prototype that is copied into the workers.
        tokenizer: where the tokenizer is loaded from; linked to the policy.
        engine: writes the replies.
        context: what the policy sees of an episode, and so what a row is.
        advantage: dial 3.
        group_filter: dial 4.
        sampling: of training episodes; the policy's own distribution, so no top-p or top-k.
        eval_sampling: of evaluation episodes.
        prompt_format: replaces the environment's own.
        groups_per_update: tasks per update (B).
        group_size: episodes per task (n).
        updates_per_epoch: updates between two evaluations; an epoch has no other meaning.
        max_filter_rounds: most rounds of rolling out per update, the first one included.
        filter_cold_start: number of first updates in which nothing is filtered.
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
        workers: WorkerSettings = WorkerSettings(),
        evaluation: EvaluationSettings = EvaluationSettings(),
        chat: ChatSettings = ChatSettings(),
        seed: int | None = None,
    ) -> None:
        super().__init__()
        _check_positive(
            groups_per_update=groups_per_update,
            group_size=group_size,
            updates_per_epoch=updates_per_epoch,
            max_filter_rounds=max_filter_rounds,
            context_length=context_length,
        )
        self.env = env
        self.engine = engine
        self.context = context
        self.advantage = advantage
        self.group_filter = group_filter
        self.sampling = sampling
        self.eval_sampling = eval_sampling
        self.prompt_format = prompt_format or env.prompt_format
        self.updates_per_epoch = updates_per_epoch
        self.invalid_action_penalty = invalid_action_penalty
        self.context_length = context_length
        self.workers = workers
        self.evaluation = evaluation
        self.seed = _run_seed(seed)
        self.plan = GroupPlan(
            groups_per_update=groups_per_update,
            group_size=group_size,
            max_rounds=max_filter_rounds,
            cold_start=filter_cold_start,
            seed=self.seed,
        )
        self.update = 0
        """Number of updates rolled out so far; part of the checkpoint."""
        self.next_task = 0
        """Counter of the task source; part of the checkpoint."""
        self.last_rollout: Rollout | None = None
        """What the latest training batch was made of."""
        self._tokenizer_source = tokenizer
        self._chat = chat
        self._pools: dict[bool, EnvPool] = {}
        self._renderer: ChatRenderer | None = None
        self._sources: dict[str, TaskSource] = {}

    @property
    def renderer(self) -> ChatRenderer:
        """The chat renderer, loaded with the tokenizer on first use."""
        if self._renderer is None:
            self._renderer = ChatRenderer(
                load_tokenizer(self._tokenizer_source),
                system=self._chat.system,
                template_kwargs=self._chat.template_kwargs,
            )
            self.engine.bind(self._renderer.tokenizer)
        return self._renderer

    def setup(self, stage: str) -> None:
        """Load the tokenizer and refuse training on a distribution that is not the policy's."""
        _ = self.renderer
        params = self.sampling
        if stage == "fit" and (params.temperature == 0 or params.top_p < 1 or params.top_k > 0):
            raise ConfigError(
                "data.sampling must be the policy's own distribution in training (temperature "
                "above 0, top_p 1, top_k 0): replies from a truncated one would be trained on as "
                "if the policy had written them. Truncate in data.eval_sampling instead."
            )

    def teardown(self, stage: str) -> None:
        """Close workers; the engine stays for the next stage."""
        for pool in self._pools.values():
            pool.close()
        self._pools = {}

    def train_dataloader(self) -> TrainLoader:
        """Return one epoch of rollout batches."""
        stream = TrainStream(self._next_batch, lambda: self.update, self.updates_per_epoch)
        return TrainLoader(stream)

    def val_dataloader(self) -> DataLoader[list[Episode]]:
        """Return the fixed validation tasks as finished episodes."""
        return self._evaluation_loader("val")

    def test_dataloader(self) -> DataLoader[list[Episode]]:
        """Return the fixed test tasks as finished episodes."""
        return self._evaluation_loader("test")

    def transfer_batch_to_device(
        self, batch: Any, device: torch.device, dataloader_idx: int
    ) -> Any:
        """Move rollout batches (frozen, so Lightning cannot); episodes stay where they are."""
        return batch.to(device) if isinstance(batch, RolloutBatch) else batch

    def state_dict(self) -> dict[str, Any]:
        """Return the counters from which everything else follows."""
        return {"update": self.update, "next_task": self.next_task, "seed": self.seed}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on where a checkpoint stopped, with its seed."""
        self.update = state_dict["update"]
        self.next_task = state_dict["next_task"]
        self.seed = state_dict["seed"]
        self.plan = replace(self.plan, seed=self.seed)
        self._sources = {}

    def collector(self, agent: Agent, params: SamplingParams) -> Collector:
        """Return the loop over this module's environments with the given agent."""
        settings = EpisodeSettings(
            renderer=self.renderer,
            prompt_format=self.prompt_format,
            context=self.context,
            context_length=self.context_length,
            max_new_tokens=params.max_new_tokens,
            invalid_action_penalty=self.invalid_action_penalty,
        )
        pool = self._pool(with_expert=agent.needs_expert)
        return Collector(pool, agent, settings, max_concurrent=self.workers.max_concurrent)

    def policy_agent(self, params: SamplingParams) -> EngineAgent:
        """Return the policy as the writer of replies."""
        sessions = isinstance(self.context, TranscriptContext)
        return EngineAgent(self.engine, params, sessions=sessions)

    def demonstrator(self, noise: float) -> DemonstratorAgent:
        """Return the environment's expert as the writer of replies."""
        return DemonstratorAgent(self.renderer, self.prompt_format, noise=noise)

    def source(self, split: str) -> TaskSource:
        """Return the tasks of a split; only training tasks are shuffled."""
        if split not in self._sources:
            self._sources[split] = TaskSource(
                self.env.tasks(split), seed=self.seed, shuffle=split == "train"
            )
        return self._sources[split]

    def num_evaluation_tasks(self, split: str) -> int:
        """Return how many tasks an evaluation plays."""
        available = len(self.source(split))
        wanted = self.evaluation.num_tasks
        return available if wanted < 0 else min(wanted, available)

    def evaluate_range(self, split: str, numbers: range) -> list[Episode]:
        """Play the evaluation episodes with the given numbers (sample by sample, task by task)."""
        source, seed = self.source(split), self.evaluation.seed
        samples = self.evaluation.samples_per_task
        requests = [
            EpisodeRequest(
                task=(task := source.task(number // samples)),
                env_seed=derive_seed(seed, "env", task),
                sampling_seed=derive_seed(seed, "eval", task, number % samples),
            )
            for number in numbers
        ]
        agent = self.policy_agent(self.eval_sampling)
        return self.collector(agent, self.eval_sampling).run(requests)

    def _evaluation_loader(self, split: str) -> DataLoader[list[Episode]]:
        episodes = self.num_evaluation_tasks(split) * self.evaluation.samples_per_task
        stream = EvaluationStream(
            lambda numbers: self.evaluate_range(split, numbers),
            episodes,
            self.workers.max_concurrent,
        )
        return DataLoader(stream, batch_size=None, num_workers=0)

    def _next_batch(self) -> RolloutBatch:
        """Roll out the next update; the counters move only when it is complete."""
        started = time.perf_counter()
        rollout = roll_out(
            self.collector(self.policy_agent(self.sampling), self.sampling),
            self.source("train"),
            self.group_filter,
            self.plan,
            update=self.update,
            next_task=self.next_task,
        )
        if not rollout.groups:
            raise ConfigError(
                f"Every environment of update {self.update} failed; the last one said: "
                f"{rollout.failed[-1].error}"
            )
        batch = self._collate(rollout)
        stats = {
            **rollout_stats(rollout),
            "time/rollout_s": time.perf_counter() - started,
        }
        self.last_rollout = replace(rollout, stats=stats)
        self.update += 1
        self.next_task = rollout.next_task
        return batch

    def _collate(self, rollout: Rollout) -> RolloutBatch:
        advantages = [values for group in rollout.groups for values in self.advantage(group)]
        episodes = [episode for group in rollout.groups for episode in group.episodes]
        pad_id = self.renderer.tokenizer.pad_token_id
        return collate(
            episodes, advantages, pad_id=self.renderer.end_id if pad_id is None else pad_id
        )

    def _pool(self, *, with_expert: bool) -> EnvPool:
        if with_expert not in self._pools:
            self._pools[with_expert] = EnvPool(
                self.env,
                num_workers=self.workers.num_workers,
                step_timeout_s=self.workers.step_timeout_s,
                reset_timeout_s=self.workers.reset_timeout_s,
                with_expert=with_expert,
            )
        return self._pools[with_expert]


def _run_seed(seed: int | None) -> int:
    """Return the given seed, else the one that `seed_everything` set for the run, else 0."""
    if seed is not None:
        return seed
    import os

    return int(os.environ.get("PL_GLOBAL_SEED", "0"))


def _check_positive(**values: int) -> None:
    for name, value in values.items():
        if value < 1:
            raise ConfigError(f"data.{name} must be at least 1, got {value}.")
