"""Live copies of one environment, and the reading of what they return.

The isolation boundary: whatever an environment raises or returns becomes an `EnvReply` that keeps
the contract of `TextEnv`, or an `EnvFault` of that one copy. Used by the worker process, by
`EnvPool` without workers, and by `check_env`. It knows no processes and no deadlines.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Hashable, Mapping
from numbers import Real
from typing import Any, SupportsFloat, cast

import numpy as np

from sampo.envs.base import TextEnv
from sampo.envs.protocol import EnvFault, EnvReply, EnvRequest
from sampo.envs.spaces import MAX_TEXT_LENGTH
from sampo.errors import EnvFailure


class EnvSlots:
    """The live copies of a prototype environment.

    Args:
        prototype: Copied for every new number and itself never reset.
        with_expert: Whether replies carry `expert_action`.
    """

    def __init__(self, prototype: TextEnv, *, with_expert: bool = False) -> None:
        self._prototype = prototype
        self._with_expert = with_expert
        self._envs: dict[int, TextEnv] = {}

    def run(self, request: EnvRequest) -> EnvReply | EnvFault | None:
        """Do what is asked; None says that a release went well.

        After a fault the copy is gone, and a reset makes a new one.
        """
        try:
            return self._run(request)
        except EnvFailure as failure:
            message = str(failure)
        except (Exception, SystemExit) as error:  # noqa: BLE001
            # Broad on purpose: this is someone else's code, and whatever it raises, `sys.exit`
            # included, is a fact about one episode and must not reach the other ones.
            message = f"{request.kind} raised {one_line(error)}"
        self.drop(request.copy_id)
        return EnvFault(message=message)

    def drop(self, copy_id: int) -> None:
        """Forget a copy without asking it to close."""
        self._envs.pop(copy_id, None)

    def close(self) -> None:
        """Close every copy; errors in closing concern nobody any more."""
        for copy_id in list(self._envs):
            self.run(EnvRequest(kind="release", copy_id=copy_id))

    def _run(self, request: EnvRequest) -> EnvReply | None:
        if request.kind == "release":
            env = self._envs.pop(request.copy_id, None)
            if env is not None:
                env.close()
            return None
        if request.kind == "reset":
            env = self._envs.get(request.copy_id)
            if env is None:
                env = self._envs[request.copy_id] = copy.deepcopy(self._prototype)
            result = env.reset(seed=request.seed, options={"task": request.task})
            return read_reset(env, result, with_expert=self._with_expert)
        env = self._envs.get(request.copy_id)
        if env is None:
            raise EnvFailure("step came after a fault")
        return read_step(env, env.step(request.action), with_expert=self._with_expert)


def read_reset(env: TextEnv, result: Any, *, with_expert: bool = False) -> EnvReply:
    """Read what `env.reset` returned.

    Raises:
        EnvFailure: It is not what the contract says.
    """
    if not isinstance(result, tuple) or len(result) != 2:
        raise EnvFailure(f"reset did not return (observation, info) but {_described(result)}")
    observation, info = result
    return _reply(env, "reset", (observation, 0.0, False, False, info), with_expert)


def read_step(env: TextEnv, result: Any, *, with_expert: bool = False) -> EnvReply:
    """Read what `env.step` returned.

    Raises:
        EnvFailure: It is not what the contract says.
    """
    if not isinstance(result, tuple) or len(result) != 5:
        raise EnvFailure(
            "step did not return (observation, reward, terminated, truncated, info) but "
            f"{_described(result)}"
        )
    return _reply(env, "step", result, with_expert)


def _reply(env: TextEnv, verb: str, result: tuple[Any, ...], with_expert: bool) -> EnvReply:
    observation, reward, terminated, truncated, info = result
    _demand(isinstance(observation, str), verb, "an observation", "str", observation)
    if len(observation) > MAX_TEXT_LENGTH:
        raise EnvFailure(
            f"{verb} returned an observation of {len(observation)} characters; the limit is "
            f"{MAX_TEXT_LENGTH}"
        )
    _demand(_is_bool(terminated), verb, "`terminated`", "bool", terminated)
    _demand(_is_bool(truncated), verb, "`truncated`", "bool", truncated)
    _demand(isinstance(info, dict), verb, "`info`", "dict", info)
    success = info.get("success", False)
    _demand(_is_bool(success), verb, "info['success']", "bool", success)
    task_type = info.get("task_type", "")
    _demand(isinstance(task_type, str), verb, "info['task_type']", "str", task_type)
    over = bool(terminated) or bool(truncated)
    return EnvReply(
        observation=observation,
        reward=_finite(verb, "a reward", reward),
        terminated=bool(terminated),
        truncated=bool(truncated),
        admissible_actions=_admissible(verb, info.get("admissible_actions")),
        state_key=_state_key(env, verb),
        success=bool(success),
        task_type=task_type,
        metrics=_metrics(verb, info.get("metrics")),
        expert_action=_expert_action(env) if with_expert and not over else None,
    )


def _admissible(verb: str, actions: Any) -> tuple[str, ...] | None:
    if actions is None:
        return None
    what = "info['admissible_actions']"
    _demand(isinstance(actions, (list, tuple)), verb, what, "list of str", actions)
    for action in actions:
        _demand(isinstance(action, str), verb, f"an entry of {what}", "str", action)
    return tuple(actions)


def _metrics(verb: str, metrics: Any) -> dict[str, float]:
    if metrics is None:
        return {}
    _demand(isinstance(metrics, Mapping), verb, "info['metrics']", "dict of floats", metrics)
    for name in metrics:
        _demand(isinstance(name, str), verb, "a name in info['metrics']", "str", name)
    return {name: _finite(verb, f"the metric {name!r}", value) for name, value in metrics.items()}


def _state_key(env: TextEnv, verb: str) -> Hashable:
    key = env.state_key()
    try:
        hash(key)
    except TypeError as error:
        raise EnvFailure(f"after {verb}, state_key() returned what cannot be hashed") from error
    return key


def _expert_action(env: TextEnv) -> str | None:
    action = env.expert_action()
    _demand(action is None or isinstance(action, str), "expert_action", "an action", "str", action)
    return action


def _finite(verb: str, what: str, value: Any) -> float:
    _demand(isinstance(value, (Real, np.number, np.bool_)), verb, what, "float", value)
    number = float(cast(SupportsFloat, value))
    if not math.isfinite(number):
        raise EnvFailure(f"{verb} returned {what} of {number}")
    return number


def _is_bool(value: Any) -> bool:
    return isinstance(value, (bool, np.bool_))


def _demand(condition: bool, verb: str, what: str, wanted: str, value: Any) -> None:
    if not condition:
        raise EnvFailure(f"{verb} returned {what} of type {type(value).__name__}, not {wanted}")


def _described(value: Any) -> str:
    kind = type(value).__name__
    return f"a tuple of {len(value)}" if isinstance(value, tuple) else f"a value of type {kind}"


def one_line(error: BaseException) -> str:
    """Return `Type: message` on one line of at most 500 characters."""
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return text if len(text) <= 500 else text[:500] + "..."
