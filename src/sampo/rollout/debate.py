"""Several samples per turn that have to agree: the majority debate of the paper's closed models."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace

from sampo.envs.prompt import PromptFormat
from sampo.episode import Completion, FinishReason
from sampo.errors import ConfigError
from sampo.rollout.agents import Agent, TurnRequest
from sampo.rollout.renderer import Message
from sampo.rollout.seeds import derive_seed

_INTRO = "Several solvers looked at this situation and proposed:"
_TASK = "Weigh these proposals and their reasons, then answer again in the form asked for above."


@dataclass(frozen=True, kw_only=True)
class Debate:
    """How a debate goes: vote; without a majority, argue and vote again; at last, draw lots.

    In each round every solver proposes an action. More than half of the solvers for one action
    decide. If there is no such majority, all are shown the different proposals, each with the
    reasoning of its first proposer, and propose again. After the last round one of the proposals
    is drawn. A reply without an action is no vote.

    References:
        ARLArena, https://arxiv.org/abs/2602.21534, App. E. The wording of its prompts is not
        given there; that of `instruction` and of the proposals is ours.
    """

    solvers: int = 3
    """Samples per round; odd, so that two actions cannot tie."""
    rounds: int = 2
    """Most rounds of arguing after the first vote; 0: a vote only."""
    instruction: str = ""
    """Added to every prompt. The paper's aggressive variant urges to finish early and to accept a
    partial reward."""

    def __post_init__(self) -> None:
        """Refuse a debate that cannot have a majority."""
        if self.solvers < 3 or self.solvers % 2 == 0 or self.rounds < 0:
            raise ConfigError(
                "A debate needs an odd number of solvers, at least 3, and rounds of at least 0, "
                f"got {self.solvers} and {self.rounds}."
            )


@dataclass
class _Turn:
    """A turn under debate."""

    request: TurnRequest
    round: int = 0
    replies: dict[int, Completion] = field(default_factory=dict)
    """Those of the present round, by solver."""
    proposals: dict[str, Completion] = field(default_factory=dict)
    """The actions of the latest round that had any, each with the first reply that proposes it."""


class DebateAgent(Agent):
    """Lets another agent write every reply several times and takes the one that wins.

    The turn is the winning reply alone; what the others cost is in the engine's counts.

    Args:
        agent: writes the replies; text only, because a debate is no prompt of the conversation.
        prompt_format: reads the actions that are voted on.
        debate: see `Debate`.

    Raises:
        ConfigError: the agent is a policy of ours.
    """

    text_only = True

    def __init__(self, agent: Agent, prompt_format: PromptFormat, debate: Debate) -> None:
        if not agent.text_only:
            raise ConfigError(
                "data.evaluation.debate is for served models: add `--config engines/openai` (a "
                "policy of ours can be served by `vllm serve`), or leave the debate out."
            )
        self._agent = agent
        self._format = prompt_format
        self._debate = debate
        self._turns: dict[Hashable, _Turn] = {}
        self._won: list[tuple[Hashable, Completion]] = []

    def submit(self, requests: Sequence[TurnRequest]) -> None:
        """Ask all solvers for their first proposals."""
        for request in requests:
            self._turns[request.key] = _Turn(request)
            self._ask(self._turns[request.key], "")

    def collect(self) -> list[tuple[Hashable, Completion]]:
        """Hear proposals, let debates go on, and return the replies that have won."""
        while self._turns and not self._won:
            self._hear()
        won, self._won = self._won, []
        return won

    def ready(self, timeout_s: float) -> bool:
        """Hear what has come, if anything has; return whether a reply has won."""
        if not self._won and self._agent.ready(timeout_s):
            self._hear()
        return bool(self._won)

    def end(self, session: Hashable) -> None:
        """Break off the debates of an episode."""
        for key in [k for k, turn in self._turns.items() if turn.request.session == session]:
            del self._turns[key]
        self._agent.end(session)

    def _hear(self) -> None:
        """Take in proposals; complete rounds are decided, or followed by the next one."""
        for name, completion in self._agent.collect():
            assert isinstance(name, tuple)  # as `_ask` makes them
            key, solver = name
            turn = self._turns.get(key)
            if turn is None:
                continue
            turn.replies[solver] = completion
            if len(turn.replies) == self._debate.solvers and (winner := self._decide(turn)):
                self._won.append((key, winner))
                del self._turns[key]

    def _ask(self, turn: _Turn, argument: str) -> None:
        """Ask all solvers for a round of proposals."""
        request = turn.request
        added = [part for part in (argument, self._debate.instruction) if part]
        messages = _with_addition(request.messages, added)
        self._agent.submit(
            [
                replace(
                    request,
                    key=(request.key, solver),
                    seed=derive_seed(request.seed, "debate", turn.round, solver),
                    messages=messages,
                )
                for solver in range(self._debate.solvers)
            ]
        )

    def _decide(self, turn: _Turn) -> Completion | None:
        """Return the reply that has won; None: the debate goes on."""
        replies = [turn.replies[solver] for solver in range(self._debate.solvers)]
        votes: Counter[str] = Counter()
        proposals: dict[str, Completion] = {}
        for reply in replies:
            action = self._action(turn, reply)
            if action is not None:
                votes[action] += 1
                proposals.setdefault(action, reply)
        turn.proposals = proposals or turn.proposals
        if not turn.proposals:
            return replies[0]  # nobody proposed anything: the turn goes as it would have gone
        action, count = votes.most_common(1)[0] if votes else ("", 0)
        if 2 * count > self._debate.solvers:
            return proposals[action]
        overlong = any(reply.finish_reason is FinishReason.CONTEXT for reply in replies)
        if turn.round == self._debate.rounds or overlong:
            lots = random.Random(derive_seed(turn.request.seed, "lots"))
            return lots.choice(list(turn.proposals.values()))
        turn.round, turn.replies = turn.round + 1, {}
        self._ask(turn, _argument(turn.proposals))
        return None

    def _action(self, turn: _Turn, reply: Completion) -> str | None:
        if reply.finish_reason is FinishReason.CONTEXT:
            return None
        return self._format.parse(reply.text or "", turn.request.admissible_actions).action


def _argument(proposals: dict[str, Completion]) -> str:
    """Return the proposals as they are shown, each with the whole reply of its first proposer."""
    listed = [
        f"Proposal {number}: {action}\nIts reasoning: {reply.text}"
        for number, (action, reply) in enumerate(proposals.items(), start=1)
    ]
    return "\n\n".join([_INTRO, *listed, _TASK])


def _with_addition(messages: Sequence[Message], added: Sequence[str]) -> tuple[Message, ...]:
    """Return the messages with further paragraphs at the end of the last one."""
    *before, last = messages
    return (*before, {**last, "content": "\n\n".join([last["content"], *added])})
