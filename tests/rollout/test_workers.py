"""Only the guilty slot pays: environments that hang, crash and talk nonsense, for real."""

from __future__ import annotations

import time
from importlib import import_module
from pathlib import Path

import pytest

from sampo.envs import Corridor
from sampo.errors import ConfigError
from sampo.rollout.workers import EnvFault, EnvPool, EnvReply

# Generous: a loaded machine must not fail an innocent slot. Only tests of hangs wait for it.
DEADLINE_S = 3.0


@pytest.fixture
def faulty(monkeypatch):
    """The module of misbehaving environments, importable here only thanks to sys.path."""
    monkeypatch.syspath_prepend(Path(__file__).parent)
    return import_module("faulty_envs")


def answers(pool: EnvPool) -> dict[int, EnvReply | EnvFault]:
    """Wait for all that is pending."""
    got = {}
    while pool.pending:
        for slot, answer in pool.poll():
            assert slot not in got
            got[slot] = answer
    return got


def reply(pool: EnvPool, slot: int) -> EnvReply:
    answer = answers(pool)[slot]
    assert isinstance(answer, EnvReply), answer
    return answer


def fault(pool: EnvPool, slot: int) -> str:
    answer = answers(pool)[slot]
    assert isinstance(answer, EnvFault), answer
    return answer.message


def crowd(pool: EnvPool, guilty: int, action: str) -> tuple[str, dict[int, str]]:
    """Play four slots for three turns; `guilty` does `action` in the second one.

    Returns the fault, and the last observation of the other ones.
    """
    for slot in range(4):
        pool.reset(slot, f"task{slot}", 10 + slot)
    answers(pool)
    message, seen = "", {}
    for turn in range(3):
        for slot in range(4):
            if not message or slot != guilty:
                pool.step(slot, action if turn == 1 and slot == guilty else f"a{slot}{turn}")
        for slot, answer in answers(pool).items():
            if isinstance(answer, EnvFault):
                assert slot == guilty and not message
                message = answer.message
            else:
                seen[slot] = answer.observation
                assert answer.reward == turn + 1
    del seen[guilty]
    return message, seen


# Slot 1's turns 0, 1, 2 write a10 a11 a12, and so on.
INNOCENT = {slot: f"task{slot} {10 + slot}: a{slot}0 a{slot}1 a{slot}2" for slot in (0, 1, 3)}

CRASHES = {
    "exit": "step crashed the worker process, exit code 7",
    "kill": "step crashed the worker process, exit code -9 (SIGKILL); it last printed: last words",
}
NONSENSE = {
    "raise": "step raised KeyError: 'two\\nlines'",
    "sys.exit": "step raised SystemExit: 3",
    "nan": "step returned a reward of nan",
    "str reward": "step returned a reward of type str, not float",
    "bytes": "step returned an observation of type bytes, not str",
    "huge": "step returned an observation of 1000001 characters; the limit is 1000000",
    "four": (
        "step did not return (observation, reward, terminated, truncated, info) but a tuple of 4"
    ),
    "none": (
        "step did not return (observation, reward, terminated, truncated, info) but a value of "
        "type NoneType"
    ),
    "int flag": "step returned `terminated` of type int, not bool",
    "bad list": "step returned info['admissible_actions'] of type str, not list of str",
    "bad entry": "step returned an entry of info['admissible_actions'] of type int, not str",
    "bad success": "step returned info['success'] of type str, not bool",
    "bad metric": "step returned the metric 'm' of type str, not float",
    "unhashable": "after step, state_key() returned what cannot be hashed",
}
PICKLING = {
    "unpicklable": "step returned what cannot be pickled (TypeError: never)",
    "unloadable": "step returned what cannot be unpickled (RuntimeError: not here)",
}


def test_crash_costs_its_own_slot_only(faulty):
    with EnvPool(faulty.FaultyEnv(), num_workers=1) as pool:
        for action, message in CRASHES.items():
            assert crowd(pool, guilty=2, action=action) == (message, INNOCENT)
            for slot in range(4):
                pool.release(slot)


def test_hang_costs_its_own_slot_only(faulty):
    with EnvPool(faulty.FaultyEnv(), step_timeout_s=DEADLINE_S) as pool:
        message, seen = crowd(pool, guilty=2, action="hang")
    assert message == f"step did not return within {DEADLINE_S:g} s"
    assert seen == INNOCENT


@pytest.mark.parametrize("num_workers", [0, 1])
def test_nonsense_costs_its_own_slot_only(faulty, num_workers):
    with EnvPool(faulty.FaultyEnv(), num_workers=num_workers) as pool:
        for action, message in {**NONSENSE, **(PICKLING if num_workers else {})}.items():
            assert crowd(pool, guilty=2, action=action) == (message, INNOCENT), action
            pool.reset(2, "again", 0)  # a slot with a fault can start anew
            assert reply(pool, 2).observation == "again 0: "


def test_two_crashes_of_one_batch_are_told_apart(faulty):
    """The second one is queued behind the first, and meets a fresh worker."""
    with EnvPool(faulty.FaultyEnv()) as pool:
        for slot in range(3):
            pool.reset(slot, "t", slot)
        answers(pool)
        pool.step(0, "exit")
        pool.step(1, "kill")
        pool.step(2, "fine")
        got = answers(pool)
        assert isinstance(got[0], EnvFault) and "exit code 7" in got[0].message
        assert isinstance(got[1], EnvFault) and "SIGKILL" in got[1].message
        assert isinstance(got[2], EnvReply) and got[2].observation == "t 2: fine"


def test_faults_in_reset(faulty):
    with EnvPool(faulty.FaultyEnv(), reset_timeout_s=DEADLINE_S + 5) as pool:
        pool.reset(0, "raise", 0)
        pool.reset(1, "hang", 0)
        pool.reset(2, "fine", 0)
        got = answers(pool)
        assert got[0] == EnvFault(message="reset raised FileNotFoundError: no level")
        assert got[1] == EnvFault(message="reset did not return within 8 s")
        assert isinstance(got[2], EnvReply)


def test_a_replay_that_shows_something_else_is_a_fault_of_that_slot(faulty):
    """`pid` shows the process id, so its episode cannot be brought back in another process."""
    with EnvPool(faulty.FaultyEnv()) as pool:
        for slot, task in enumerate(["pid", "good", "bad"]):
            pool.reset(slot, task, 0)
        answers(pool)
        pool.step(2, "exit")
        assert "exit code 7" in fault(pool, 2)
        pool.step(0, "a")
        pool.step(1, "a")
        got = answers(pool)
        assert got[0] == EnvFault(
            message="replaying the episode in a fresh worker showed another observation; the "
            "environment is not deterministic"
        )
        assert isinstance(got[1], EnvReply) and got[1].observation == "good 0: a"


def test_the_deadline_counts_from_the_start_of_each_step(faulty):
    """Queued behind others, and polled late: neither is the environment's fault."""
    with EnvPool(faulty.FaultyEnv(), step_timeout_s=2.0, reset_timeout_s=60) as pool:
        for slot in range(3):
            pool.reset(slot, "t", slot)
        answers(pool)
        for slot in range(3):
            pool.step(slot, "sleep")  # 1.2 s each, 3.6 s together
        early = pool.poll(timeout_s=0)
        time.sleep(2.5)  # the policy thinks meanwhile
        got = {**dict(early), **answers(pool)}
        assert [type(got[slot]) for slot in range(3)] == [EnvReply] * 3


def test_replies_carry_everything(faulty):
    with EnvPool(Corridor(length=3), with_expert=True) as pool:
        pool.reset(7, "1>2", 0)
        first = reply(pool, 7)
        assert first == EnvReply(
            observation="at 1 door 2",
            reward=0.0,
            terminated=False,
            truncated=False,
            admissible_actions=("left", "right"),
            state_key=(1, 2),
            success=False,
            task_type="right",
            metrics={"cells_to_go": 1.0},
            expert_action="right",
        )
        pool.step(7, "right")
        last = reply(pool, 7)
        assert (last.reward, last.terminated, last.success, last.over) == (0.9, True, True, True)
        assert last.expert_action is None  # the episode is over


def test_a_release_that_hangs_harms_nobody(faulty):
    with EnvPool(faulty.FaultyEnv(), step_timeout_s=DEADLINE_S) as pool:
        pool.reset(0, "t", 0)
        pool.reset(1, "t", 1)
        answers(pool)
        pool.step(0, "hang in close")
        answers(pool)
        pool.release(0)
        pool.step(1, "a")
        assert reply(pool, 1).observation == "t 1: a"


def test_a_released_slot_answers_no_more(faulty):
    with EnvPool(faulty.FaultyEnv(), num_workers=0) as pool:
        pool.reset(0, "old", 0)
        pool.release(0)
        assert pool.pending == 0
        pool.reset(0, "new", 0)
        assert reply(pool, 0).observation == "new 0: "


def test_misuse_is_told(faulty):
    with EnvPool(faulty.FaultyEnv(), num_workers=0) as pool:
        assert pool.poll() == []
        with pytest.raises(ValueError, match="Slot 0 has no episode"):
            pool.step(0, "a")
        pool.reset(0, "t", 0)
        with pytest.raises(ValueError, match="Slot 0 still waits for its reset"):
            pool.step(0, "a")
        answers(pool)
        pool.step(0, "end")
        answers(pool)
        with pytest.raises(ValueError, match="The episode of slot 0 is over"):
            pool.step(0, "a")
    with pytest.raises(ConfigError, match="num_workers=-1"):
        EnvPool(faulty.FaultyEnv(), num_workers=-1)
