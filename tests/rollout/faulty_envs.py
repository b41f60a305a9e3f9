"""Environments that misbehave on command. Imported by name, in workers too."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

import gymnasium

from sampo.envs import TagPrompt, TextEnv


class FaultyEnv(TextEnv):
    """Shows its whole history, so that a lost or mixed-up episode is seen at once.

    The observation is `task seed: action action ...`; the action `end` terminates. Actions and
    tasks named in `_misbehave`, `step` and `reset` do what they say.
    """

    def __init__(self, prototype_lock: bool = False) -> None:
        self.prompt_format = TagPrompt()
        self.max_turns = 1000
        self.lock = threading.Lock() if prototype_lock else None

    def tasks(self, split):
        return [split]

    def reset(self, *, seed=None, options=None):
        gymnasium.Env.reset(self, seed=seed)
        assert options is not None
        self.task, self.given, self.actions = options["task"], seed, []
        if self.task == "hang":
            time.sleep(1000)
        if self.task == "raise":
            raise FileNotFoundError("no\nlevel")
        return self.show(), {}

    def show(self):
        process = f" pid {os.getpid()}" if self.task == "pid" else ""
        return f"{self.task} {self.given}: {' '.join(self.actions)}{process}"

    def state_key(self):
        last = self.actions[-1] if self.actions else ""
        return {"unhashable": [], "unpicklable": _Unpicklable(), "unloadable": _Unloadable()}.get(
            last, (self.task, *self.actions)
        )

    def step(self, action):
        self.actions.append(action)
        _misbehave(action)
        info = {"success": action == "end", "metrics": {"length": len(self.actions)}}
        result = (self.show(), float(len(self.actions)), action == "end", False, info)
        nonsense = {
            "nan": (result[0], float("nan"), *result[2:]),
            "str reward": (result[0], "1", *result[2:]),
            "bytes": (b"", *result[1:]),
            "huge": ("x" * 1_000_001, *result[1:]),
            "four": result[:4],
            "none": None,
            "int flag": (*result[:2], 0, *result[3:]),
            "bad list": (*result[:4], {"admissible_actions": "up"}),
            "bad entry": (*result[:4], {"admissible_actions": [1]}),
            "bad success": (*result[:4], {"success": "yes"}),
            "bad metric": (*result[:4], {"metrics": {"m": "much"}}),
        }
        return nonsense.get(action, result)

    def expert_action(self):
        return "end"

    def close(self):
        if self.actions[:1] == ["note close"]:
            with open(self.actions[1], "a") as file:  # noqa: PTH123
                file.write("closed\n")
        if self.actions[:1] == ["hang in close"]:
            time.sleep(1000)


def _misbehave(action: str) -> None:
    match action:
        case "hang":
            time.sleep(1000)
        case "sleep":
            time.sleep(1.2)
        case "exit":
            os._exit(7)
        case "kill":
            print("last words", file=sys.stderr)  # noqa: T201
            os.kill(os.getpid(), signal.SIGKILL)
        case "sys.exit":
            sys.exit(3)
        case "raise":
            raise KeyError("two\nlines")
        case "print":
            print("x" * 300_000, flush=True)  # noqa: T201
        case "read stdin":
            assert sys.stdin.read() == ""


class _Unpicklable:
    def __reduce__(self):
        raise TypeError("never")


class _Unloadable:
    def __reduce__(self):
        return (_fail_to_load, ())


def _fail_to_load():
    raise RuntimeError("not here")


class PidEnv(FaultyEnv):
    """Cannot be imported in a worker."""

    def __reduce__(self):
        return (_only_in, (os.getpid(),))


def _only_in(pid):
    if os.getpid() != pid:
        raise ImportError("this simulator is not installed")
    return FaultyEnv()


class CrashOnLoad(FaultyEnv):
    """Kills the worker while it starts."""

    def __reduce__(self):
        return (_die_unless, (os.getpid(),))


def _die_unless(pid):
    if os.getpid() != pid:
        os._exit(9)
    return FaultyEnv()
