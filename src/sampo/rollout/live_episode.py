"""An episode in play: what the collector knows of it between two of its turns."""

from __future__ import annotations

from dataclasses import dataclass, field

from sampo.envs.protocol import EnvReply
from sampo.episode import Completion, Turn
from sampo.rollout.conversation import Conversation, Prompt


@dataclass(frozen=True, kw_only=True)
class EpisodeRequest:
    """One episode to be played."""

    task: str
    env_seed: int
    """Given to the environment's reset; equal within a group."""
    sampling_seed: int
    """Root of the seeds of this episode's replies; different within a group."""


@dataclass
class LiveEpisode:
    """An episode in play."""

    index: int
    """Its place in the list of requests."""
    request: EpisodeRequest
    conversation: Conversation
    attempt: int
    """How often it was begun before."""
    turns: list[Turn] = field(default_factory=list)
    state: EnvReply | None = None
    """The environment's latest answer: what the next action is taken on."""
    prompt: Prompt | None = None

    def take_turn(self, completion: Completion, *, invalid_action_penalty: float) -> Turn:
        """Add the turn that a reply makes, its reward still to come, and return it."""
        assert self.state is not None and self.prompt is not None
        text, parsed = self.conversation.act(completion)
        turn = Turn(
            observation=self.state.observation,
            reply=text,
            action=parsed.action,
            reward=0.0,
            penalty=0.0 if parsed.valid else invalid_action_penalty,
            format_valid=parsed.format_valid,
            action_valid=parsed.valid,
            admissible_actions=self.state.admissible_actions,
            state_key=self.state.state_key,
            starts_row=self.prompt.starts_row,
            prompt_ids=self.prompt.new_ids,
            action_ids=completion.token_ids,
            sampling_logprobs=completion.logprobs,
            finish_reason=completion.finish_reason,
            policy_version=completion.policy_version,
            num_tokens=completion.num_tokens,
        )
        self.turns.append(turn)
        return turn
