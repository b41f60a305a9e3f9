"""What the ranks of a process group tell each other, for tests/distributed/test_ranks.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from sampo.errors import EnvFailure
from sampo.world import World, is_shared


def exchange() -> dict[str, Any]:
    """Return what this rank has got; everything but `played` should be the same on all."""
    world = World.join()
    played: list[int] = []

    def play(numbers: Sequence[int]) -> list[str]:
        played.extend(numbers)
        return [f"group {number}" for number in numbers]

    def fail_on_rank_1() -> int:
        if world.rank == 1:
            raise EnvFailure("The environment of rank 1 broke.")
        return world.rank

    shared = world.share(range(5), play)
    single = world.share([7], play)  # nothing for rank 1
    none = world.share([], play)
    try:
        world.gather(fail_on_rank_1)
    except EnvFailure as error:
        failure, told = str(error), is_shared(error)
    else:
        failure, told = "", False
    return {
        "shared": shared,
        "single": single,
        "none": none,
        "played": played,
        "failure": failure,
        "told": told,
        "after the failure": world.gather(lambda: world.rank),
        "sum": world.sum_(torch.tensor([1.0, float(world.rank)])).tolist(),
    }
