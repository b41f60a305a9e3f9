"""Who writes the replies: the policy through an engine, or a demonstrator.

Both speak the same way (`submit`, `collect`), so there is one agent-environment loop for training,
evaluation and collection.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from sampo.envs.prompt import PromptFormat
from sampo.episode import Completion, FinishReason
from sampo.errors import ConfigError, EnvFailure
from sampo.rollout.chat import ChatRenderer
from sampo.rollout.engine import GenerationRequest, RolloutEngine, SamplingParams
from sampo.rollout.renderer import Message


@dataclass(frozen=True, kw_only=True)
class TurnRequest:
    """Everything an agent may need to write one reply."""

    key: Hashable
    prompt_ids: tuple[int, ...]
    seed: int
    session: Hashable
    """The episode, so that an engine may keep its key-value cache."""
    max_new_tokens: int
    """What the context length leaves, at most the sampling limit."""
    admissible_actions: Sequence[str] | None
    expert_action: str | None
    messages: tuple[Message, ...] = ()
    """The prompt as messages, a system message included."""


class Agent(ABC):
    """Writes replies for many episodes at once."""

    needs_expert: bool = False
    """Whether environments have to say what their expert would do."""
    text_only: bool = False
    """Whether it reads messages and writes text, without token ids."""

    @abstractmethod
    def submit(self, requests: Sequence[TurnRequest]) -> None:
        """Queue turns; returns at once."""

    @abstractmethod
    def collect(self) -> list[tuple[Hashable, Completion]]:
        """Block until at least one reply is written; return those that are."""

    def ready(self, timeout_s: float) -> bool:
        """Return whether `collect` has something to return, waiting for it a moment."""
        return True

    def end(self, session: Hashable) -> None:  # noqa: B027  only engines keep anything
        """Forget an episode."""


class EngineAgent(Agent):
    """The policy, sampled by a rollout engine.

    Args:
        engine: a synced engine.
        params: sampling; its `max_new_tokens` is lowered per turn to what the context leaves.
        sessions: whether prompts of one episode extend each other (transcript context).
    """

    def __init__(
        self, engine: RolloutEngine, params: SamplingParams, *, sessions: bool = True
    ) -> None:
        self._engine = engine
        self._params = params
        self._sessions = sessions
        self.text_only = engine.served_model is not None

    def submit(self, requests: Sequence[TurnRequest]) -> None:
        """Queue the turns at the engine."""
        self._engine.submit(
            [
                GenerationRequest(
                    key=request.key,
                    prompt_ids=request.prompt_ids,
                    params=self._params_for(request),
                    seed=request.seed,
                    session=request.session if self._sessions else None,
                    messages=request.messages,
                )
                for request in requests
            ]
        )

    def collect(self) -> list[tuple[Hashable, Completion]]:
        """Return the replies that the engine has finished."""
        return self._engine.collect()

    def ready(self, timeout_s: float) -> bool:
        """Ask the engine."""
        return self._engine.ready(timeout_s)

    def end(self, session: Hashable) -> None:
        """Let the engine drop the episode's cache."""
        self._engine.end_session(session)

    def _params_for(self, request: TurnRequest) -> SamplingParams:
        if request.max_new_tokens == self._params.max_new_tokens:
            return self._params
        return replace(self._params, max_new_tokens=request.max_new_tokens)


class DemonstratorAgent(Agent):
    """The environment's expert, optionally unreliable.

    Args:
        renderer: encodes its replies.
        prompt_format: how an action is written as a reply.
        noise: probability per turn of a uniformly random admissible action in place of the
            expert's. A demonstrator that errs shows how to recover, and its clone plays unreliably
            but knows the game, which is what reinforcement learning can improve on.
    """

    needs_expert = True

    def __init__(
        self, renderer: ChatRenderer, prompt_format: PromptFormat, *, noise: float = 0.0
    ) -> None:
        if not 0 <= noise <= 1:
            raise ConfigError(f"The demonstrator's noise must be in [0, 1], got {noise}.")
        self._renderer = renderer
        self._format = prompt_format
        self._noise = noise
        self._written: list[tuple[Hashable, Completion]] = []

    def submit(self, requests: Sequence[TurnRequest]) -> None:
        """Write the replies at once."""
        self._written.extend((request.key, self._reply(request)) for request in requests)

    def collect(self) -> list[tuple[Hashable, Completion]]:
        """Return everything written since the last call."""
        written, self._written = self._written, []
        return written

    def _reply(self, request: TurnRequest) -> Completion:
        rng = random.Random(request.seed)
        action = request.expert_action
        if request.admissible_actions and (action is None or rng.random() < self._noise):
            action = rng.choice(list(request.admissible_actions))
        if action is None:
            raise EnvFailure(
                "The environment has no expert for this state and lists no admissible actions, so "
                "nothing can be demonstrated. Collect with `--source policy`."
            )
        ids = self._renderer.reply_ids(self._format.reply(action))
        return Completion(
            token_ids=ids,
            logprobs=(0.0,) * len(ids),
            finish_reason=FinishReason.STOP,
            policy_version=0,
        )
