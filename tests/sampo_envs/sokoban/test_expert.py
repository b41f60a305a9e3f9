"""The expert follows its plan, makes a new one when it was left, and knows when it is lost."""

from __future__ import annotations

import pytest

from sampo_envs.sokoban import expert as expert_module
from sampo_envs.sokoban import move, parse_level, solve
from sampo_envs.sokoban.expert import Expert


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Collect every search that an expert starts."""
    seen: list[object] = []

    def counting(board, state, node_limit):
        seen.append(state)
        return solve(board, state, node_limit)

    monkeypatch.setattr(expert_module, "solve", counting)
    return seen


def test_one_search_serves_the_whole_plan(searches: list[object]):
    board, state = parse_level(["######", "#.$  #", "#@   #", "######"])
    expert = Expert(board)
    taken = []
    while (action := expert.action(state)) is not None:
        taken.append(action)
        state = move(board, state, action)
    assert taken == ["right", "right", "up", "left"]
    assert len(searches) == 1


def test_leaving_the_plan_costs_one_search_more(searches: list[object]):
    # Away from the box (left) instead of towards it (right): the way back is the new plan.
    board, state = parse_level(["#######", "# @ $.#", "#######"])
    expert = Expert(board)
    assert expert.action(state) == "right"
    state = move(board, state, "left")
    assert expert.action(state) == "right"
    assert expert.action(state) == "right"
    assert len(searches) == 2


def test_a_lost_level_is_searched_once(searches: list[object]):
    board, state = parse_level(["#####", "#$ .#", "# @ #", "#####"])
    expert = Expert(board)
    assert expert.action(state) is None
    assert expert.action(move(board, state, "left")) is None
    assert len(searches) == 1


def test_the_node_limit_gives_no_advice():
    board, state = parse_level(["########", "#@    $#", "#     .#", "#      #", "########"])
    assert Expert(board, node_limit=3).action(state) is None
    # The push goes down from above the box, which stands at the upper wall: never.
    assert Expert(board).action(state) is None
