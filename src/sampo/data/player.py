"""Plays episodes for a data module: its environments, its engine, its tasks.

What training, evaluation, collection and cloning's validation have in common. It owns the worker
processes and opens nothing before it is asked for an episode.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from torch.utils.data import DataLoader

from sampo.data.settings import ChatSettings, EvaluationSettings, WorkerSettings
from sampo.data.streams import EvaluationStream, unused_generator
from sampo.data.task_source import TaskSource
from sampo.envs import PromptFormat, TextEnv
from sampo.episode import Episode
from sampo.errors import ConfigError
from sampo.models.loading import load_tokenizer
from sampo.rollout.agents import Agent, DemonstratorAgent, EngineAgent
from sampo.rollout.cancellation import Cancellation
from sampo.rollout.chat import ChatRenderer
from sampo.rollout.collector import Collector, EpisodeRequest, EpisodeSettings
from sampo.rollout.conversation import ContextPolicy, TranscriptContext
from sampo.rollout.debate import DebateAgent
from sampo.rollout.engine import RolloutEngine, SamplingParams
from sampo.rollout.renderer import MessageRenderer, Renderer
from sampo.rollout.seeds import derive_seed
from sampo.rollout.workers import EnvPool
from sampo.world import World


@dataclass(kw_only=True, eq=False)
class EpisodePlayer:
    """Plays episodes of one environment with one engine."""

    env: TextEnv
    """A prototype that is copied into the workers."""
    tokenizer: str
    """Where the tokenizer is loaded from."""
    engine: RolloutEngine
    """Writes the policy's replies."""
    context: ContextPolicy
    """What the policy sees of an episode."""
    prompt_format: PromptFormat
    context_length: int
    """Most tokens of a prompt and its reply."""
    invalid_action_penalty: float
    """Set on turns whose action is not valid."""
    workers: WorkerSettings
    evaluation: EvaluationSettings
    eval_sampling: SamplingParams
    chat: ChatSettings
    seed: int
    """Of the order of training tasks."""
    on_episode: Callable[[Episode], None] = field(default_factory=lambda: ignore, init=False)
    """Told every episode of this rank the moment it ends, whatever it was played for."""
    cancellation: Cancellation = field(default_factory=Cancellation, init=False)
    """Breaks off what is being played in another thread."""
    world: World = field(default_factory=World, init=False)
    """The ranks that share the episodes."""
    _renderer: ChatRenderer | None = field(default=None, init=False)
    _pools: dict[bool, EnvPool] = field(default_factory=dict, init=False)

    @property
    def renderer(self) -> ChatRenderer:
        """The chat renderer, loaded with the tokenizer on first use."""
        if self._renderer is None:
            self._renderer = ChatRenderer(
                load_tokenizer(self.tokenizer),
                system=self.chat.system,
                template_kwargs=self.chat.template_kwargs,
            )
            self.engine.bind(self._renderer.tokenizer)
        return self._renderer

    @property
    def pad_id(self) -> int:
        """Token that fills rows; the end-of-sequence token where there is no pad token."""
        pad_id = self.renderer.tokenizer.pad_token_id
        if pad_id is None:
            return self.renderer.end_id
        assert isinstance(pad_id, int)  # a list only where several tokens are asked for
        return pad_id

    def collector(self, agent: Agent, params: SamplingParams) -> Collector:
        """Return the loop over the environments with the given agent."""
        settings = EpisodeSettings(
            renderer=self._messages() if agent.text_only else self.renderer,
            prompt_format=self.prompt_format,
            context=self.context,
            context_length=self.context_length,
            max_new_tokens=params.max_new_tokens,
            invalid_action_penalty=self.invalid_action_penalty,
        )
        pool = self._pool(with_expert=agent.needs_expert)
        return Collector(
            pool,
            agent,
            settings,
            max_concurrent=self.workers.max_concurrent,
            on_end=self.on_episode,
            cancellation=self.cancellation,
        )

    def policy_collector(self, params: SamplingParams) -> Collector:
        """Return the loop over the environments with the policy as agent."""
        return self.collector(self.policy_agent(params), params)

    def policy_agent(self, params: SamplingParams) -> EngineAgent:
        """Return the policy as the writer of replies."""
        # A served model keeps nothing of a session, but what an episode waits for can be given up.
        sessions = isinstance(self.context, TranscriptContext) or bool(self.engine.served_model)
        return EngineAgent(self.engine, params, sessions=sessions)

    def demonstrator(self, noise: float) -> DemonstratorAgent:
        """Return the environment's expert as the writer of replies."""
        return DemonstratorAgent(self.renderer, self.prompt_format, noise=noise)

    def source(self, split: str) -> TaskSource:
        """Return the tasks of a split; only training tasks are shuffled."""
        return TaskSource(self.env.tasks(split), seed=self.seed, shuffle=split == "train")

    def evaluation_loader(self, split: str) -> DataLoader[list[Episode]]:
        """Return the fixed evaluation tasks of a split as finished episodes, in chunks."""
        source, wanted = self.source(split), self.evaluation.num_tasks
        tasks = len(source) if wanted < 0 else min(wanted, len(source))
        stream = EvaluationStream(
            lambda numbers: self.world.share(numbers, lambda mine: self._evaluate(source, mine)),
            tasks * self.evaluation.samples_per_task,
            self.workers.max_concurrent * self.world.size,
        )
        generator = unused_generator()
        return DataLoader(stream, batch_size=None, num_workers=0, generator=generator)

    def close(self) -> None:
        """Close workers; the engine and its policy stay."""
        for pool in self._pools.values():
            pool.close()
        self._pools = {}

    def _evaluate(self, source: TaskSource, numbers: Sequence[int]) -> list[Episode]:
        """Play the evaluation episodes with the given numbers: task by task, sample by sample."""
        seed, samples = self.evaluation.seed, self.evaluation.samples_per_task
        requests = [
            EpisodeRequest(
                task=(task := source.task(number // samples)),
                env_seed=derive_seed(seed, "env", task),
                sampling_seed=derive_seed(seed, "eval", task, number % samples),
            )
            for number in numbers
        ]
        agent: Agent = self.policy_agent(self.eval_sampling)
        if self.evaluation.debate is not None:
            agent = DebateAgent(agent, self.prompt_format, self.evaluation.debate)
        return self.collector(agent, self.eval_sampling).run(requests)

    def _messages(self) -> Renderer:
        """Return what keeps the conversations of a served model."""
        if self.chat.template_kwargs:
            raise ConfigError(
                "data.chat.template_kwargs is for a chat template of ours; tell the server with "
                "data.engine.init_args.body, e.g. {chat_template_kwargs: {enable_thinking: false}}."
            )
        return MessageRenderer(self.chat.system)

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


def ignore(episode: Episode) -> None:
    """Do nothing with an episode that has ended."""


def chosen_format(env: TextEnv, given: PromptFormat | None) -> PromptFormat:
    """Return the prompt format of the config, or else the environment's own.

    Raises:
        ConfigError: there is neither.
    """
    chosen = given or getattr(env, "prompt_format", None)
    if not isinstance(chosen, PromptFormat):
        raise ConfigError(
            f"{type(env).__name__} has no prompt_format that is a PromptFormat, got {chosen!r}. "
            "Set one in its __init__ (sampo.envs.TagPrompt serves), or data.prompt_format in the "
            "config."
        )
    return chosen
