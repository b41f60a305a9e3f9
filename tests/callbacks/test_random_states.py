"""Random states that go into a checkpoint and come back, also for more or fewer processes."""

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from sampo.callbacks.random_states import gathered_random_states, restore_random_states


@pytest.fixture(autouse=True)
def undisturbed() -> Iterator[None]:
    """Leave the random states of the other tests alone."""
    states = gathered_random_states()
    yield
    restore_random_states(states, 0)


def draws() -> list[float]:
    normal = float(np.random.normal())  # noqa: NPY002  the state that others draw from
    return [float(torch.rand(1)), random.random(), random.gauss(), normal]


def seeded(seed: int) -> dict:
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    draws()  # so that half of a pair of normal numbers is kept back
    return gathered_random_states()[0]


def test_what_follows_is_repeated_after_a_trip_through_a_file(tmp_path: Path) -> None:
    seeded(1)
    torch.save(gathered_random_states(), tmp_path / "states")
    expected = draws()
    seeded(2)
    restore_random_states(torch.load(tmp_path / "states", weights_only=True), 0)
    assert draws() == expected


def test_every_rank_gets_its_own_and_a_new_one_derives_its_own() -> None:
    states = [seeded(1), seeded(2)]
    following = []
    for rank in (0, 1, 2, 3, 2):
        restore_random_states(states, rank)
        following.append(draws())
    assert following[2] == following[4]  # the same whenever it is asked
    assert len({tuple(values) for values in following}) == 4

    seeded(2)
    assert following[1] == draws()


def test_a_derived_state_depends_on_where_the_run_was() -> None:
    restore_random_states([seeded(1)], 1)
    early = draws()
    restore_random_states([seeded(2)], 1)
    assert draws() != early
