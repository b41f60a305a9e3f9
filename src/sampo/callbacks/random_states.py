"""The random states of a process: torch's on CPU and CUDA, Python's and numpy's.

Everything that sampo draws has a seed of its own (see `sampo.rollout.seeds`); these are for what
environments, models and callbacks of others draw.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import torch.distributed as dist


def random_states() -> dict[str, Any]:
    """Return the random states of this process, as tensors, numbers and lists only."""
    version, internal, gauss = random.getstate()
    name, keys, position, has_gauss, cached = np.random.get_state(legacy=True)  # noqa: NPY002  others draw from it
    return {
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state() if torch.cuda.is_initialized() else None,
        "python": [version, list(internal), gauss],
        "numpy": [str(name), np.asarray(keys).tolist(), int(position), int(has_gauss), cached],
    }


def gathered_random_states() -> list[dict[str, Any]]:
    """Return the random states of all ranks, in their order. Every rank has to call it."""
    mine = random_states()
    if not (dist.is_available() and dist.is_initialized()):
        return [mine]
    states: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(states, mine)
    return states


def restore_random_states(states: Sequence[dict[str, Any]], rank: int) -> None:
    """Put this process into its state.

    Args:
        states: of all ranks of the run that wrote the checkpoint.
        rank: of this process. One that the earlier run did not have derives its state from that of
            rank 0, the same whenever it is asked.
    """
    if rank >= len(states):
        text = states[0]["torch"].numpy().tobytes() + str(rank).encode()
        seed = int.from_bytes(hashlib.sha256(text).digest()[:4], "big")
        torch.manual_seed(seed)
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        return
    state = states[rank]
    torch.set_rng_state(state["torch"])
    if state["cuda"] is not None and torch.cuda.is_available():
        torch.cuda.set_rng_state(state["cuda"])
    version, internal, gauss = state["python"]
    random.setstate((version, tuple(internal), gauss))
    np.random.set_state(tuple(state["numpy"]))  # noqa: NPY002
