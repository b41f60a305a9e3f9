"""The streams that a Trainer iterates over."""

from typing import Any

import torch

from sampo.data.streams import TrainLoader, TrainStream


def loader(done: int) -> TrainLoader:
    batch: Any = object()
    return TrainLoader(TrainStream(lambda: batch, lambda: done, 3))


def test_an_epoch_goes_on_where_the_counter_stands() -> None:
    """Of epochs of three updates: after 4 updates, the second epoch lacks two."""
    assert len(list(loader(4))) == 2
    assert len(loader(4)) == 3


def test_iterating_draws_nothing_from_torch() -> None:
    """A resumed run iterates once more than the unbroken one, and must not draw once more."""
    before = torch.get_rng_state()
    list(loader(0))
    assert torch.equal(torch.get_rng_state(), before)
