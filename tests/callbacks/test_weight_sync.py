"""When the engine sleeps; that batches are of the latest weights is in tests/test_training.py."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from sampo.callbacks import WeightSync
from sampo.rollout.scripted_engine import ScriptedEngine


class Sleeper(ScriptedEngine):
    naps = 0

    def sleep(self) -> None:
        self.naps += 1


@pytest.mark.parametrize(("max_staleness", "naps"), [(0, 1), (1, 0)])
def test_the_engine_sleeps_unless_it_plays_beside_the_update(data, max_staleness: int, naps: int):
    engine = data.player.engine = Sleeper(["x"])
    data.max_staleness = max_staleness
    trainer = SimpleNamespace(datamodule=data)
    WeightSync().on_train_batch_start(trainer, SimpleNamespace(), None, 0)
    assert engine.naps == naps
