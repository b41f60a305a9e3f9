"""The majority debate, its votes worked out by hand, with scripted solvers."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import pytest

from sampo.envs.tags import TagPrompt
from sampo.episode import Completion, FinishReason
from sampo.errors import ConfigError
from sampo.rollout.agents import Agent, TurnRequest
from sampo.rollout.debate import Debate, DebateAgent

PROMPT = TagPrompt()


def say(action: str, why: str = "so") -> str:
    return f"<think>{why}</think><action>{action}</action>"


class Solvers(Agent):
    """Answers each round with the next list of replies, one per solver; None: context is full."""

    text_only = True

    def __init__(self, *rounds: Sequence[str | None]) -> None:
        self.rounds = list(rounds)
        self.asked: list[list[TurnRequest]] = []
        self.ended: list[Hashable] = []
        self._written: list[tuple[Hashable, Completion]] = []

    def submit(self, requests: Sequence[TurnRequest]) -> None:
        self.asked.append(list(requests))
        for request, text in zip(requests, self.rounds.pop(0), strict=True):
            completion = Completion(
                token_ids=(),
                logprobs=(),
                finish_reason=FinishReason.CONTEXT if text is None else FinishReason.STOP,
                policy_version=0,
                text=text,
            )
            self._written.insert(0, (request.key, completion))  # the last one answers first

    def collect(self) -> list[tuple[Hashable, Completion]]:
        return [self._written.pop(0)] if self._written else []

    def end(self, session: Hashable) -> None:
        self.ended.append(session)


def turn(seed: int = 1) -> TurnRequest:
    return TurnRequest(
        key=4,
        prompt_ids=(),
        seed=seed,
        session=4,
        max_new_tokens=8,
        admissible_actions=["up", "down", "left"],
        expert_action=None,
        messages=({"role": "system", "content": "S"}, {"role": "user", "content": "Where?"}),
    )


def winner(agents: Solvers, seed: int = 1, **settings: int | str) -> str | None:
    agent = DebateAgent(agents, PROMPT, Debate(**settings))
    agent.submit([turn(seed)])
    ((key, completion),) = agent.collect()
    assert key == 4 and agent.collect() == []
    return completion.text


def test_two_of_three_decide_at_once_by_the_first_of_their_replies() -> None:
    solvers = Solvers([say("up", "a"), say("down", "b"), say("UP", "c")])
    assert winner(solvers) == say("up", "a")
    (asked,) = solvers.asked
    assert len({request.seed for request in asked}) == len({request.key for request in asked}) == 3
    assert all(request.messages == turn().messages for request in asked)


def test_half_of_the_votes_is_no_majority() -> None:
    """Five solvers, one of them mute: 2 of 5 is not more than half, 3 of 5 is."""
    first = [say("up"), say("up"), say("down"), say("left"), "hm"]
    second = [say("down"), say("up"), say("down"), "hm", say("down", "late")]
    solvers = Solvers(first, second)
    assert winner(solvers, solvers=5, rounds=1) == say("down")
    assert len(solvers.asked) == 2


def test_the_second_round_sees_each_proposal_once_with_its_first_reasoning() -> None:
    first = [say("up", "one"), say("down", "two"), say("left", "three")]
    solvers = Solvers(first, [say("up")] * 3)
    winner(solvers)
    (messages,) = {request.messages[-1]["content"] for request in solvers.asked[1]}
    assert messages.startswith("Where?\n\nSeveral solvers")
    for number, (action, why) in enumerate([("up", "one"), ("down", "two"), ("left", "three")], 1):
        assert f"Proposal {number}: {action}\nIts reasoning: {say(action, why)}" in messages
    assert solvers.asked[1][0].messages[0] == {"role": "system", "content": "S"}
    seeds = [request.seed for asked in solvers.asked for request in asked]
    assert len(set(seeds)) == 6


def test_after_the_last_round_lots_decide_and_all_proposals_come_up() -> None:
    replies = [say("up"), say("down"), say("left")]
    drawn = [winner(Solvers(replies), seed, rounds=0) for seed in range(60)]
    assert {drawn.count(reply) > 8 for reply in replies} == {True}  # 20 each on average
    assert drawn == [winner(Solvers(replies), seed, rounds=0) for seed in range(60)]


def test_a_round_without_proposals_falls_back_on_the_one_before() -> None:
    solvers = Solvers([say("up"), say("down"), "hm"], ["hm", "er", "oh"])
    assert winner(solvers, rounds=1) in (say("up"), say("down"))


def test_where_nobody_proposes_the_turn_goes_as_without_a_debate() -> None:
    solvers = Solvers(["hm", "er", "oh"])
    assert winner(solvers) == "hm"
    assert len(solvers.asked) == 1


def test_a_full_context_ends_the_debate_and_if_all_are_full_the_episode() -> None:
    solvers = Solvers([say("up"), say("down"), say("left")], [None, say("up"), say("down")])
    assert winner(solvers, rounds=5) in (say("up"), say("down"))
    agent = DebateAgent(Solvers([None] * 3), PROMPT, Debate())
    agent.submit([turn()])
    assert agent.collect()[0][1].finish_reason is FinishReason.CONTEXT


def test_the_instruction_is_in_every_prompt() -> None:
    solvers = Solvers([say("up"), say("down"), say("left")], [say("up")] * 3)
    winner(solvers, instruction="Finish early.")
    for asked in solvers.asked:
        for request in asked:
            assert request.messages[-1]["content"].endswith("\n\nFinish early.")


def test_an_ended_episode_is_forgotten() -> None:
    solvers = Solvers([say("up")] * 3)
    agent = DebateAgent(solvers, PROMPT, Debate())
    agent.submit([turn()])
    agent.end(4)
    assert solvers.ended == [4] and agent.collect() == []


@pytest.mark.parametrize("settings", [{"solvers": 2}, {"solvers": 1}, {"rounds": -1}])
def test_debates_without_a_majority_are_refused(settings: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match="odd number of solvers"):
        Debate(**settings)


def test_a_policy_of_ours_is_not_asked() -> None:
    solvers = Solvers()
    solvers.text_only = False
    with pytest.raises(ConfigError, match="for served models"):
        DebateAgent(solvers, PROMPT, Debate())
