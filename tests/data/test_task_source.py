"""The order of tasks is a function of a counter."""

import pytest

from sampo.data.task_source import TaskSource
from sampo.errors import ConfigError

TASKS = [f"t{i}" for i in range(7)]


def test_each_pass_plays_every_task_once_in_its_own_order() -> None:
    source = TaskSource(TASKS, seed=3)
    first = [source.task(i) for i in range(7)]
    second = [source.task(i) for i in range(7, 14)]
    assert sorted(first) == sorted(second) == TASKS
    assert first != second and first != TASKS


def test_any_number_can_be_asked_for_first() -> None:
    unbroken = TaskSource(TASKS, seed=3)
    wanted = [unbroken.task(i) for i in range(20)]
    resumed = TaskSource(TASKS, seed=3)
    assert [resumed.task(i) for i in range(12, 20)] == wanted[12:]


def test_evaluation_tasks_come_as_listed() -> None:
    source = TaskSource(TASKS, seed=3, shuffle=False)
    assert [source.task(i) for i in range(8)] == [*TASKS, "t0"]


def test_no_task_is_an_error() -> None:
    with pytest.raises(ConfigError, match="no task"):
        TaskSource([], seed=0)
