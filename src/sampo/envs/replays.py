"""Episodes that are played, and played again elsewhere to see whether they stay the same.

The part of `check_env` that runs environments: types, state keys, the turn limit and determinism.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from sampo.envs.base import TextEnv
from sampo.envs.process import WorkerProcess, worker_start
from sampo.envs.protocol import EnvFault, EnvReply, EnvRequest
from sampo.envs.slots import EnvSlots, one_line
from sampo.errors import EnvFailure

_TIMEOUT_S = 120.0


class Record:
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


def play(env: TextEnv, task: str, seed: int, choose: Callable[[EnvReply], str | None]) -> Record:
    """Play one episode on a fresh copy, checking types, state keys and the turn limit.

    Args:
        env: The prototype.
        task: Task of the episode.
        seed: Seed of the reset.
        choose: Chooses the next action; None stops playing.

    Raises:
        EnvFailure: Something is not as the contract says.
    """
    slots = EnvSlots(env, with_expert=True)
    record = Record(task, seed)
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
        same = pickle.loads(pickle.dumps(key))  # noqa: S301 - just pickled
    except Exception as error:
        # Broad on purpose: pickling calls the methods of whatever object the key is.
        raise EnvFailure(f"state_key() cannot be pickled: {one_line(error)} {where}") from error
    if same != key or hash(same) != hash(key):
        raise EnvFailure(
            f"state_key() is {key!r}, which does not equal itself after pickling; use tuples, "
            f"strings and numbers {where}"
        )


def check_repetition(env: TextEnv, record: Record) -> None:
    """Play again: on one copy twice, on two copies in turn, and on a pickled one.

    Raises:
        EnvFailure: Some reply differs.
    """
    slots = EnvSlots(env)
    _compare(record, [slots.run(request) for request in record.requests(0)], "in a second copy")
    again, beside = [], []
    for left, right in zip(record.requests(0), record.requests(1), strict=True):
        again.append(slots.run(left))
        beside.append(slots.run(right))
    _compare(record, again, "after another episode, or beside another copy")
    _compare(record, beside, "beside another copy")
    slots.close()
    prototype = pickle.loads(worker_start(env).prototype)  # noqa: S301 - just pickled
    pickled = EnvSlots(prototype)
    _compare(record, [pickled.run(request) for request in record.requests(0)], "after pickling")
    pickled.close()


def check_other_process(env: TextEnv, record: Record) -> None:
    """Play again in a worker process, where sets of strings have another order.

    Raises:
        EnvFailure: Some reply differs, or no worker can be started.
    """
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
    record: Record, replies: Sequence[EnvReply | EnvFault | None], circumstance: str
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


def _message(answer: EnvFault | EnvReply | None) -> str:
    return answer.message if isinstance(answer, EnvFault) else "no answer"
