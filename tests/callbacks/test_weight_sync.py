"""When the engine sleeps; that batches are of the latest weights is in tests/test_training.py."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from sampo.callbacks import WeightSync
from sampo.errors import ConfigError
from sampo.rollout.scripted_engine import ScriptedEngine


class Sleeper(ScriptedEngine):
    naps = 0

    def sleep(self) -> None:
        self.naps += 1


def test_the_engine_sleeps_during_the_update(data):
    engine = data.player.engine = Sleeper(["x"])
    trainer = SimpleNamespace(datamodule=data)
    WeightSync().on_train_batch_start(trainer, SimpleNamespace(), None, 0)
    assert engine.naps == 1


def test_one_that_sleeps_plays_nothing_beside_the_update(data):
    data.player.engine = Sleeper(["x"])
    data.player.engine.sleeps = True
    data.max_staleness = 1
    with pytest.raises(ConfigError, match=r"data\.engine\.sleep takes the engine's memory"):
        data.check_training(None)
    data.max_staleness = 0
    data.check_training(None)
