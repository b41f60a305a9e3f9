"""Game files that are bad, and workers that are killed: one episode each, and the run goes on."""

import json
import os
import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from alfworld_games import whole
from sampo.errors import EnvFailure
from sampo.rollout.workers import EnvFault, EnvPool, EnvReply
from sampo_envs.alfworld import AlfworldEnv

BAD = "train/pick_and_place_simple-Mug-None-Desk-301/"


def contents(name: str) -> dict[str, Any]:
    """Return bad game files by the kind of their fault."""
    good = whole(name)
    text = json.dumps(good)
    return {
        "truncated": text[: len(text) // 2],
        "no_json": "PDDL, not JSON",
        "no_game": [1, 2],
        "unsolvable": {**good, "solvable": False},
        "older": {key: value for key, value in good.items() if key != "grammar"},
        "no_walkthrough": {**good, "walkthrough": None},
        "other_grammar": {**good, "grammar": "rules { in another language }"},
        "other_domain": {**good, "pddl_domain": "(define (domain other))"},
        "cut_problem": {**good, "pddl_problem": good["pddl_problem"][:2000]},
        "hopeless": {
            **good,
            "pddl_problem": re.sub(r"\(pickupable .*\)", "", good["pddl_problem"]),
        },
    }


def test_a_bad_file_is_named(one_of_each, write_games: Callable[..., Path]) -> None:
    bad = contents(one_of_each[0])
    folder = write_games(**bad)
    env = AlfworldEnv(data=str(folder))
    assert len(env.tasks("train")) == 6 + len(bad)
    said = {}
    for trial in bad:
        with pytest.raises(EnvFailure, match="ALFWorld: the game ") as caught:
            env.reset(options={"task": BAD + trial})
        said[trial] = str(caught.value)
        assert str(folder / BAD / trial / "game.tw-pddl") in said[trial]
    assert "truncated or damaged" in said["truncated"] and "no JSON" in said["no_json"]
    assert "not solvable" in said["unsolvable"] and "no walkthrough" in said["no_walkthrough"]
    assert "of another version" in said["older"] and "'grammar'" in said["older"]
    for trial in ("other_grammar", "other_domain", "cut_problem", "hopeless"):
        assert "damaged, unsolvable or of another version" in said[trial]
    assert "no plan can win it" in said["hopeless"]
    env.reset(options={"task": one_of_each[0]})


def replies(pool: EnvPool, count: int) -> dict[int, Any]:
    found: dict[int, Any] = {}
    while len(found) < count:
        found.update(pool.poll())
    return found


def test_it_costs_one_episode_of_a_run(one_of_each, write_games: Callable[..., Path]) -> None:
    bad = contents(one_of_each[0])
    env = AlfworldEnv(data=str(write_games(truncated=bad["truncated"])))
    with EnvPool(env, num_workers=1, with_expert=True) as pool:
        for slot, task in enumerate([one_of_each[0], BAD + "truncated", one_of_each[1]]):
            pool.reset(slot, task=task, seed=0)
        found = replies(pool, 3)
        assert isinstance(found[1], EnvFault)
        assert "truncated/game.tw-pddl" in found[1].message
        for slot in (0, 2):
            assert isinstance(found[slot], EnvReply)
            pool.step(slot, found[slot].expert_action)
        assert all(isinstance(reply, EnvReply) for reply in replies(pool, 2).values())


def test_a_killed_worker_is_replaced_and_its_games_go_on(one_of_each: list[str]) -> None:
    env = AlfworldEnv()
    with EnvPool(env, num_workers=1, with_expert=True) as pool:
        for slot, task in enumerate(one_of_each[:2]):
            pool.reset(slot, task=task, seed=0)
        found = replies(pool, 2)
        for slot in (0, 1):
            pool.step(slot, found[slot].expert_action)
        found = replies(pool, 2)
        os.kill(pool._lanes[0].worker.pid, signal.SIGKILL)
        won = set()
        while len(won) < 2:
            playing = [slot for slot in (0, 1) if slot not in won]
            for slot in playing:
                pool.step(slot, found[slot].expert_action)
            found.update(replies(pool, len(playing)))
            for slot in playing:
                reply = found[slot]
                if isinstance(reply, EnvFault):
                    # The one request that the worker was busy with; its episode starts again.
                    pool.reset(slot, task=one_of_each[slot], seed=0)
                    found.update(replies(pool, 1))
                elif reply.success:
                    won.add(slot)
