"""The checker that comes with the environment contract.

`check_env` plays a few short episodes and raises one clear sentence for the first law that does
not hold. Meant for a test of every environment; it needs no model. Laws that no test can prove
(that equal state keys mean equal futures) are probed only.
"""

from __future__ import annotations

import copy
import pickle
import random
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from gymnasium.utils.env_checker import check_env as check_gymnasium_env

from sampo.envs.base import TextEnv
from sampo.envs.process import WorkerProcess, worker_start
from sampo.envs.prompt import PromptFormat, PromptView
from sampo.envs.protocol import EnvFault, EnvReply, EnvRequest
from sampo.envs.slots import EnvSlots, one_line
from sampo.errors import EnvFailure

Choose = Callable[[EnvReply], str | None]
"""Chooses an action; None stops playing."""

GARBAGE = (
    "",
    " \n\t",
    "x" * 10_000,
    "日本語 \u202e \x00 🚪",
    "<think></think><action>go</action>",
    "<action><action></think>",
    "{0} %s ${HOME} \\",
)
"""Actions that no world understands and every world has to bear."""

_SPLITS = ("train", "val", "test")
_MOST_TASKS = 10_000
_TIMEOUT_S = 120.0


def check_env(env: TextEnv, *, split: str = "train", episodes: int = 4, seed: int = 0) -> None:
    """Check an environment against gymnasium's rules and the laws of `TextEnv`.

    The environment itself is left alone; copies are played.

    Args:
        env: The prototype.
        split: Split whose tasks are played.
        episodes: Episodes per check; also the most tasks that an expert is tried on.
        seed: Of the tasks, of the resets and of the random actions.

    Raises:
        EnvFailure: A law does not hold; the message says which one, and where.
    """
    try:
        _check_attributes(env)
        tasks = _check_tasks(env, split)
        _check_with_gymnasium(env)
        rng = random.Random(seed)
        chosen = [tasks[rng.randrange(len(tasks))] for _ in range(episodes)]
        for task in chosen:
            record = _play(env, task, seed, lambda reply: _random_action(reply, rng))
            _check_prompts(env.prompt_format, record)
            _check_repetition(env, record)
        _check_other_process(env, _play(env, chosen[0], seed, lambda r: _random_action(r, rng)))
        for garbage in GARBAGE:
            _play(env, chosen[0], seed, lambda _, garbage=garbage: garbage)
        _check_expert(env, chosen, seed)
    except EnvFailure as failure:
        raise EnvFailure(f"{type(env).__name__} breaks its contract: {failure}.") from failure


def _check_attributes(env: TextEnv) -> None:
    if not isinstance(env, TextEnv):
        raise EnvFailure("it is not a subclass of sampo.envs.TextEnv")
    try:
        prompt_format, max_turns = env.prompt_format, env.max_turns
    except AttributeError as error:
        raise EnvFailure(f"{error}; set it in __init__") from error
    if not isinstance(prompt_format, PromptFormat):
        raise EnvFailure(f"prompt_format is {prompt_format!r}, which is not a PromptFormat")
    if not isinstance(max_turns, int) or max_turns < 1:
        raise EnvFailure(f"max_turns is {max_turns!r}, which is not a positive int")


def _check_tasks(env: TextEnv, split: str) -> Sequence[str]:
    seen: dict[str, str] = {}
    for name in _SPLITS:
        tasks = list(islice(iter(env.tasks(name)), _MOST_TASKS))
        if tasks != list(islice(iter(env.tasks(name)), _MOST_TASKS)):
            raise EnvFailure(f"tasks({name!r}) has no fixed order")
        for task in tasks:
            if not isinstance(task, str):
                raise EnvFailure(f"tasks({name!r}) holds {task!r}, which is not a str")
            if task in seen:
                raise EnvFailure(f"the task {task!r} of {name} is also one of {seen[task]}")
            seen[task] = name
    tasks = env.tasks(split)
    if not len(tasks):
        raise EnvFailure(f"tasks({split!r}) is empty")
    return tasks


def _check_with_gymnasium(env: TextEnv) -> None:
    env = copy.deepcopy(env)
    # Other render modes can only be tried on registered environments.
    skip_render = env.spec is None or env.render_mode is None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            check_gymnasium_env(env, skip_render_check=skip_render)
        except EnvFailure:
            raise
        except Exception as error:
            # Broad on purpose: whatever the environment or gymnasium's checker raises is the news.
            raise EnvFailure(f"gymnasium's check says: {one_line(error)}") from error
    for warning in caught:
        if "WARN:" in str(warning.message):
            raise EnvFailure(f"gymnasium's check warns: {' '.join(str(warning.message).split())}")
    env.close()


class _Record:
    """One episode as it was played."""

    def __init__(self, task: str, seed: int) -> None:
        self.task = task
        self.seed = seed
        self.replies: list[EnvReply] = []
        self.actions: list[str] = []

    def requests(self, copy_id: int) -> Iterator[EnvRequest]:
        """Yield what has to be asked to play it again."""
        yield EnvRequest(kind="reset", copy_id=copy_id, task=self.task, seed=self.seed)
        for action in self.actions:
            yield EnvRequest(kind="step", copy_id=copy_id, action=action)


def _play(env: TextEnv, task: str, seed: int, choose: Choose) -> _Record:
    """Play one episode on a fresh copy, checking types, state keys and the turn limit."""
    slots = EnvSlots(env, with_expert=True)
    record = _Record(task, seed)
    request = EnvRequest(kind="reset", copy_id=0, task=task, seed=seed)
    while True:
        where = f"(task {task!r}, seed {seed}, turn {len(record.actions)})"
        reply = slots.run(request)
        if not isinstance(reply, EnvReply):
            raise EnvFailure(f"{_message(reply)} {where}")
        _check_state_key(reply, where)
        record.replies.append(reply)
        action = None if reply.over else choose(reply)
        if action is None:
            break
        if len(record.actions) >= env.max_turns:
            raise EnvFailure(f"the episode goes on after max_turns={env.max_turns} turns {where}")
        request = EnvRequest(kind="step", copy_id=0, action=action)
        record.actions.append(action)
    slots.close()
    return record


def _check_state_key(reply: EnvReply, where: str) -> None:
    key = reply.state_key
    try:
        same = pickle.loads(pickle.dumps(key))
    except Exception as error:
        # Broad on purpose: pickling calls the methods of whatever object the key is.
        raise EnvFailure(f"state_key() cannot be pickled: {one_line(error)} {where}") from error
    if same != key or hash(same) != hash(key):
        raise EnvFailure(
            f"state_key() is {key!r}, which does not equal itself after pickling; use tuples, "
            f"strings and numbers {where}"
        )


def _check_prompts(prompt: PromptFormat, record: _Record) -> None:
    first = record.replies[0]
    history: list[tuple[str, str]] = []
    for turn, reply in enumerate(record.replies):
        view = PromptView(
            observation=reply.observation,
            first_observation=first.observation,
            history=tuple(history[-2:]),
            turn=turn,
            admissible_actions=reply.admissible_actions,
        )
        for text in (prompt.message(view), prompt.followup(view)):
            if not isinstance(text, str):
                raise EnvFailure(f"prompt_format made a message of type {type(text).__name__}")
        for action in {*(reply.admissible_actions or ()), reply.expert_action} - {None}:
            assert action is not None
            parsed = prompt.parse(prompt.reply(action), reply.admissible_actions)
            if parsed.action != action or not parsed.valid:
                raise EnvFailure(
                    f"prompt_format reads {prompt.reply(action)!r}, its own reply for the action "
                    f"{action!r}, as {parsed}"
                )
        if turn < len(record.actions):
            history.append((reply.observation, record.actions[turn]))
    for garbage in GARBAGE:
        prompt.parse(garbage, first.admissible_actions)


def _check_repetition(env: TextEnv, record: _Record) -> None:
    """Play again: on one copy twice, on two copies in turn, and on a pickled one."""
    slots = EnvSlots(env)
    _compare(record, [slots.run(request) for request in record.requests(0)], "in a second copy")
    again, beside = [], []
    for left, right in zip(record.requests(0), record.requests(1), strict=True):
        again.append(slots.run(left))
        beside.append(slots.run(right))
    _compare(record, again, "after another episode, or beside another copy")
    _compare(record, beside, "beside another copy")
    slots.close()
    pickled = EnvSlots(pickle.loads(worker_start(env).prototype))
    _compare(record, [pickled.run(request) for request in record.requests(0)], "after pickling")
    pickled.close()


def _check_other_process(env: TextEnv, record: _Record) -> None:
    worker = WorkerProcess(
        worker_start(env),
        step_timeout_s=_TIMEOUT_S,
        reset_timeout_s=_TIMEOUT_S,
        # Another order of sets of strings than here, whatever it is here.
        environ={"PYTHONHASHSEED": "1" if hash("sampo") % 2 else "2"},
    )
    try:
        (started,) = _answers(worker)
        if started is not None:
            raise EnvFailure(f"it cannot be run in a worker process: {_message(started)}")
        worker.send(list(record.requests(0)))
        _compare(record, _answers(worker), "in another process")
        worker.ask_to_stop()
    finally:
        worker.stop(timeout_s=5.0)


def _answers(worker: WorkerProcess) -> list[EnvReply | EnvFault | None]:
    replies: list[EnvReply | EnvFault | None] = []
    while not worker.idle:
        worker.connection.poll(min(worker.time_left_s, 0.5))
        answers, loss = worker.collect()
        replies += [answer for _, answer in answers]
        if loss is not None:
            raise EnvFailure(loss)
    return replies


def _compare(
    record: _Record, replies: Sequence[EnvReply | EnvFault | None], circumstance: str
) -> None:
    for turn, (first, second) in enumerate(zip(record.replies, replies, strict=True)):
        where = f"{circumstance} (task {record.task!r}, seed {record.seed}, turn {turn})"
        if not isinstance(second, EnvReply):
            raise EnvFailure(f"{_message(second)}, {where}")
        if replace(first, expert_action=None) != second:
            names = [
                name
                for name, value in vars(second).items()
                if name != "expert_action" and vars(first)[name] != value
            ]
            raise EnvFailure(f"the same actions gave another {', '.join(names)} {where}")


def _check_expert(env: TextEnv, tasks: Sequence[str], seed: int) -> None:
    records = [_play(env, task, seed, lambda reply: reply.expert_action) for task in tasks]
    asked = [record for record in records if record.actions]
    if asked and not any(record.replies[-1].success for record in asked):
        raise EnvFailure(f"expert_action() solved none of the tasks {sorted(set(tasks))}")


def _random_action(reply: EnvReply, rng: random.Random) -> str:
    """Return an admissible action; now and then the expert's, or garbage."""
    if reply.expert_action is not None and rng.random() < 0.3:
        return reply.expert_action
    if reply.admissible_actions and rng.random() < 0.9:
        return rng.choice(reply.admissible_actions)
    return rng.choice(GARBAGE)


def _message(answer: EnvFault | EnvReply | None) -> str:
    return answer.message if isinstance(answer, EnvFault) else "no answer"
