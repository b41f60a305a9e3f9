"""Copies of a checkpoint with a bit turned or the end cut off: refused, or as good as before."""

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch

from sampo.checkpoint import load_checkpoint
from sampo.errors import CheckpointError
from tiny import save_tiny_policy
from training import make_data, make_module, make_trainer

pytestmark = pytest.mark.slow


def same(one: Any, other: Any) -> bool:
    """Whether two nested checkpoints agree in every bit."""
    if isinstance(one, torch.Tensor):
        return torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


def test_no_damaged_copy_is_loaded_as_something_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = save_tiny_policy(tmp_path / "policy")
    make_trainer(tmp_path, epochs=1).fit(make_module(policy), datamodule=make_data(policy))
    file = tmp_path / "version_0" / "checkpoints" / "last.ckpt"
    good, content = load_checkpoint(file), file.read_bytes()
    rng, ends = random.Random(0), Counter[str]()
    for number in range(600):
        copy = bytearray(content)
        # A third anywhere, a third in the archive's table of contents, a third cut off.
        first = (0, len(content) - 12_000, 0)[number % 3]
        place = rng.randrange(first, len(content))
        if number % 3 == 2:
            del copy[place:]
        else:
            copy[place] ^= 1 << rng.randrange(8)
        file.write_bytes(copy)
        try:
            loaded = load_checkpoint(file)
        except CheckpointError:
            ends["refused"] += 1
        else:
            assert number % 3 < 2 and same(good, loaded)
            ends["as good as before"] += 1
    with capsys.disabled():
        print(f"\n600 damaged copies: {dict(ends)}")  # noqa: T201
    assert ends["refused"] > 500
