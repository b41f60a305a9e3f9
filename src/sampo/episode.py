"""What was experienced: turns, episodes and groups of episodes.

The carriers between rollout, filtering, advantages and collation. They hold facts and nothing
else: token ids exactly as they were sampled, rewards exactly as the environment gave them. Nothing
here knows a model, an environment or an engine.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from enum import Enum


class FinishReason(str, Enum):
    """Why the engine stopped writing one reply."""

    STOP = "stop"
    """The policy ended its reply: an end-of-turn token, or a stop string."""
    LENGTH = "length"
    """The reply hit its token limit; it has no end-of-turn token."""
    ABORT = "abort"
    """The request was cancelled; the tokens so far are kept."""
    CONTEXT = "context"
    """Nothing was written: a server of another's model says that the prompt leaves no room."""


class StopReason(str, Enum):
    """Why an episode ended."""

    TERMINATED = "terminated"
    """The task ended it: solved, bought, answered, lost."""
    MAX_TURNS = "max_turns"
    """We ended it: the environment's turn limit."""
    CONTEXT = "context"
    """We ended it: the next prompt leaves no room for a reply in the context length."""
    ERROR = "error"
    """The environment failed. Such an episode carries no reward and enters no statistics."""


@dataclass(frozen=True, kw_only=True)
class Completion:
    """One reply as an engine sampled it."""

    token_ids: tuple[int, ...]
    """The sampled ids, the end-of-turn token included when it was sampled."""
    logprobs: tuple[float, ...]
    """Per token, the natural-log probability under the distribution that was sampled from
    (after temperature, top-p and top-k)."""
    finish_reason: FinishReason
    policy_version: int
    """Number of weight syncs that the sampling policy had seen."""
    text: str | None = None
    """The reply, from engines that give text and no ids (`token_ids` and `logprobs` are empty)."""
    num_tokens: int | None = None
    """Likewise, its tokens as the server counted them; None: it did not say."""


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One (observation, action, reward), with the tokens that made it.

    A *row* (one token sequence given to the model) is the concatenation of `prompt_ids` and
    `action_ids` of consecutive turns, from one turn that `starts_row` up to the next. In a window
    context every turn starts a row; in a transcript context only the first one does.

    Example (transcript, two turns; actions in capitals)::

        turn 0: starts_row=True   prompt_ids = [<user> room <assistant>]  action_ids = [UP <end>]
        turn 1: starts_row=False  prompt_ids = [<user> hall <assistant>]  action_ids = [GO <end>]
        row:    <user> room <assistant> UP <end> <user> hall <assistant> GO <end>
        mask:     0     0       0       1    1     0     0       0       1    1
    """

    observation: str
    """What the environment showed before this action."""
    reply: str
    """The action tokens as text, special tokens removed. A view: never re-tokenised."""
    action: str | None
    """The text given to the environment, or None where no action could be read."""
    reward: float
    """The environment's reward for this action, unshaped."""
    penalty: float = 0.0
    """Non-negative; subtracted from this turn's score and step return, never from `reward`."""
    format_valid: bool = True
    """The reply has exactly the demanded form."""
    action_valid: bool = True
    """The reply has the demanded form and its action is admissible."""
    admissible_actions: tuple[str, ...] | None = None
    """What the world would have understood, or None where it cannot be listed."""
    state_key: Hashable = None
    """Canonical key of the state in which the action was taken: the anchor of GiGPO."""
    starts_row: bool = True
    prompt_ids: tuple[int, ...] = ()
    """Tokens that the policy was given before this reply and did not write."""
    action_ids: tuple[int, ...] = ()
    """Tokens that the policy wrote."""
    sampling_logprobs: tuple[float, ...] = ()
    """One per action token, from the engine."""
    finish_reason: FinishReason = FinishReason.STOP
    policy_version: int = 0
    num_tokens: int | None = None
    """Tokens of the reply as a server counted them, where there are no `action_ids`."""

    @property
    def num_action_tokens(self) -> int:
        """Tokens that the policy wrote."""
        return len(self.action_ids) if self.num_tokens is None else self.num_tokens


@dataclass(frozen=True, kw_only=True)
class Episode:
    """One interaction from reset to end."""

    task: str
    """Task id, unique within the environment and split."""
    seed: int
    """Seed given to the environment's reset; equal within a group."""
    turns: tuple[Turn, ...]
    success: bool
    stop_reason: StopReason
    task_type: str = ""
    """Category of the task for reports, e.g. ALFWorld's `pick_two`. Empty: none."""
    error: str | None = None
    """What failed, where `stop_reason` is ERROR."""
    metrics: Mapping[str, float] = field(default_factory=dict[str, float])
    """Further numbers of the environment, e.g. WebShop's task score."""

    @property
    def reward(self) -> float:
        """Undiscounted sum of the environment's rewards: the raw return."""
        return sum(turn.reward for turn in self.turns)

    @property
    def score(self) -> float:
        """Raw return minus all per-turn penalties."""
        return self.reward - sum(turn.penalty for turn in self.turns)

    @property
    def failed(self) -> bool:
        """Whether the environment failed, so that the episode says nothing of the policy."""
        return self.stop_reason is StopReason.ERROR

    @property
    def policy_version(self) -> int:
        """The oldest version that wrote any of its turns (-1 without turns)."""
        return min((turn.policy_version for turn in self.turns), default=-1)

    @property
    def num_action_tokens(self) -> int:
        """Tokens that the policy wrote."""
        return sum(turn.num_action_tokens for turn in self.turns)


@dataclass(frozen=True, kw_only=True)
class EpisodeGroup:
    """The episodes of one task: the unit of filtering and of group-relative advantages."""

    task: str
    seed: int
    episodes: tuple[Episode, ...]
    """Finished episodes only. Failed ones are dropped before a group reaches a filter or an
    estimator; `num_failed` says how many there were."""
    num_failed: int = 0

    @property
    def success_rate(self) -> float:
        """Share of successful episodes (0 for an empty group)."""
        if not self.episodes:
            return 0.0
        return sum(episode.success for episode in self.episodes) / len(self.episodes)
