"""The one agent-environment loop: many concurrent episodes, forward only.

Every episode alternates between an agent (which writes a reply) and its environment (which answers
it), at its own pace; finished episodes leave at once and the next ones take their place. A failed
environment costs its own episode: it is played once more in a fresh environment, and if that
fails too it comes back as an error episode without reward.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import count

from sampo.envs.prompt import PromptFormat
from sampo.episode import Completion, Episode, FinishReason, StopReason
from sampo.errors import ConfigError
from sampo.rollout.agents import Agent, TurnRequest
from sampo.rollout.cancellation import Cancellation
from sampo.rollout.conversation import ContextPolicy
from sampo.rollout.live_episode import EpisodeRequest, LiveEpisode
from sampo.rollout.renderer import Renderer
from sampo.rollout.seeds import derive_seed
from sampo.rollout.workers import EnvFault, EnvPool, EnvReply

__all__ = ["Collector", "EpisodeRequest", "EpisodeSettings"]

_SLOTS = count()
"""Slots are never used twice in a process: a reply that an engine still owes to a run that was
broken off is known to belong to nobody."""
_GATHER_S = 0.002
"""How long to wait for further environments before a batch of prompts goes to the agent."""


@dataclass(frozen=True, kw_only=True)
class EpisodeSettings:
    """What all episodes of a collector have in common."""

    renderer: Renderer
    prompt_format: PromptFormat
    context: ContextPolicy
    context_length: int
    """Most tokens of a prompt and its reply together."""
    max_new_tokens: int
    """Most tokens of one reply."""
    invalid_action_penalty: float = 0.1
    """Set as the `penalty` of every turn whose action is not valid (spec 7.3)."""


class Collector:
    """Plays episodes.

    Args:
        pool: the environments.
        agent: who writes the replies.
        settings: see `EpisodeSettings`.
        max_concurrent: most episodes in play at once.
        on_end: told every episode the moment it ends, error episodes included.
        cancellation: asked between turns whether to go on.
    """

    def __init__(
        self,
        pool: EnvPool,
        agent: Agent,
        settings: EpisodeSettings,
        *,
        max_concurrent: int = 256,
        on_end: Callable[[Episode], None] = lambda _: None,
        cancellation: Cancellation | None = None,
    ) -> None:
        self._pool = pool
        self._agent = agent
        self._settings = settings
        self._max_concurrent = max_concurrent
        self._on_end = on_end
        self._cancellation = cancellation or Cancellation()
        self._waiting: deque[tuple[int, EpisodeRequest]] = deque()
        self._live: dict[int, LiveEpisode] = {}
        self._done: dict[int, Episode] = {}
        self._asked = 0
        """Turns that are with the agent."""
        self.num_retries = 0
        """Episodes that were played again because their environment failed."""

    def run(self, requests: Sequence[EpisodeRequest]) -> list[Episode]:
        """Play all requests and return their episodes in the order of the requests."""
        self._waiting.extend(enumerate(requests))
        try:
            while self._waiting or self._live:
                self._cancellation.check()
                self._admit()
                self._hear_environments()
                self._hear_agent()
            return [self._done[index] for index in range(len(requests))]
        finally:
            self._abandon()

    def _admit(self) -> None:
        while self._waiting and len(self._live) < self._max_concurrent:
            index, request = self._waiting.popleft()
            self._start(index, request, attempt=0)

    def _start(self, index: int, request: EpisodeRequest, attempt: int) -> None:
        slot = next(_SLOTS)
        conversation = self._settings.context.start(
            self._settings.renderer, self._settings.prompt_format
        )
        self._live[slot] = LiveEpisode(index, request, conversation, attempt)
        self._pool.reset(slot, request.task, request.env_seed)

    def _hear_environments(self) -> None:
        """Take in what environments answered and hand the next prompts to the agent."""
        answers = self._pool.poll(0.0 if self._asked else None)
        while answers and self._pool.pending:
            more = self._pool.poll(_GATHER_S)
            if not more:
                break
            answers += more
        turns: list[TurnRequest] = []
        for slot, answer in answers:
            if isinstance(answer, EnvFault):
                self._fail(slot, answer)
            elif (turn := self._observe(slot, answer)) is not None:
                turns.append(turn)
        if turns:
            self._agent.submit(turns)
            self._asked += len(turns)

    def _observe(self, slot: int, answer: EnvReply) -> TurnRequest | None:
        """Credit the last action, then either end the episode or ask for the next reply."""
        episode = self._live[slot]
        if episode.turns:
            episode.turns[-1] = replace(episode.turns[-1], reward=answer.reward)
        episode.state = answer
        if answer.terminated or answer.truncated:
            reason = StopReason.TERMINATED if answer.terminated else StopReason.MAX_TURNS
            self._end(slot, reason)
            return None
        prompt = episode.conversation.observe(answer.observation, answer.admissible_actions)
        room = self._settings.context_length - len(prompt.ids)
        if room < 1:
            if not episode.turns:
                raise ConfigError(
                    f"The first prompt of task {episode.request.task!r} has {len(prompt.ids)} "
                    f"tokens, which leaves no room in a context_length of "
                    f"{self._settings.context_length}. Raise data.context_length."
                )
            self._end(slot, StopReason.CONTEXT)
            return None
        episode.prompt = prompt
        return TurnRequest(
            key=slot,
            prompt_ids=prompt.ids,
            seed=derive_seed(episode.request.sampling_seed, episode.attempt, len(episode.turns)),
            session=slot,
            max_new_tokens=min(self._settings.max_new_tokens, room),
            admissible_actions=answer.admissible_actions,
            expert_action=answer.expert_action,
            messages=self._settings.renderer.with_system(episode.conversation.messages),
        )

    def _hear_agent(self) -> None:
        """Take in finished replies and act on them; environments that answer first come first."""
        if not self._asked or (self._pool.pending and not self._agent.ready(_GATHER_S)):
            return
        for key, completion in self._agent.collect():
            if key not in self._live:
                continue
            assert isinstance(key, int)
            self._asked -= 1
            if completion.finish_reason is FinishReason.CONTEXT:
                self._stop_for_the_server(key, completion)
                continue
            penalty = self._settings.invalid_action_penalty
            turn = self._live[key].take_turn(completion, invalid_action_penalty=penalty)
            self._pool.step(key, turn.action or "")

    def _stop_for_the_server(self, slot: int, completion: Completion) -> None:
        """End an episode whose prompt is too long for the server of a served model."""
        episode = self._live[slot]
        if not episode.turns:
            raise ConfigError(
                f"The first prompt of task {episode.request.task!r} leaves no room for a reply at "
                f"the server, which says: {completion.text} Lower max_new_tokens of the sampling, "
                "or serve the model with a longer context."
            )
        self._end(slot, StopReason.CONTEXT)

    def _fail(self, slot: int, fault: EnvFault) -> None:
        episode = self._live[slot]
        if episode.attempt == 0:
            self._release(slot)
            self.num_retries += 1
            self._start(episode.index, episode.request, attempt=1)
        else:
            self._end(slot, StopReason.ERROR, error=fault.message)

    def _end(self, slot: int, reason: StopReason, *, error: str | None = None) -> None:
        episode = self._live[slot]
        state = episode.state
        ended = self._done[episode.index] = Episode(
            task=episode.request.task,
            seed=episode.request.env_seed,
            turns=tuple(episode.turns),
            success=state is not None and state.success and error is None,
            stop_reason=reason,
            task_type="" if state is None else state.task_type,
            error=error,
            metrics={} if state is None else state.metrics,
        )
        self._release(slot)
        self._on_end(ended)

    def _release(self, slot: int) -> None:
        del self._live[slot]
        self._pool.release(slot)
        self._agent.end(slot)

    def _abandon(self) -> None:
        """Forget a run, finished or broken off, so that the next one starts clean."""
        for slot in list(self._live):
            self._release(slot)
        self._waiting.clear()
        self._done = {}
        self._asked = 0
