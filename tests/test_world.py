"""A process by itself; what several do together is in tests/distributed."""

import pickle

import pytest
import torch

from sampo.errors import ConfigError
from sampo.world import World, _Failure, is_shared, lost_peer


def test_alone_everything_is_done_here() -> None:
    world = World.join()
    assert world == World(rank=0, size=1)
    assert world.share([1, 2, 3], lambda items: [item * 10 for item in items]) == [10, 20, 30]
    assert world.gather(lambda: "x") == ["x"]
    assert world.sum_(torch.tensor([1.0, 2.0])).tolist() == [1.0, 2.0]


def test_alone_an_error_is_just_raised() -> None:
    def fail() -> None:
        raise ConfigError("No.")

    with pytest.raises(ConfigError) as caught:
        World().gather(fail)
    assert not is_shared(caught.value)
    assert lost_peer(RuntimeError("[gloo/transport] Connection closed by peer")) is None


class UnsendableError(Exception):
    def __reduce__(self):
        raise TypeError("not to be pickled")


@pytest.mark.parametrize(
    ("error", "received"),
    [
        (ConfigError("No."), ConfigError("No.")),
        (UnsendableError("x"), RuntimeError("UnsendableError('x')")),
    ],
)
def test_errors_travel_or_else_their_words_do(error: Exception, received: Exception) -> None:
    arrived = pickle.loads(pickle.dumps(_Failure(error))).error
    assert (type(arrived), str(arrived)) == (type(received), str(received))
