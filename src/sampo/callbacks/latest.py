"""What callbacks look at after an update: the rollout that was just trained on."""

from __future__ import annotations

import lightning as L

from sampo.data.datamodule import RolloutDataModule
from sampo.data.group_rollout import Rollout


def rollout_data(trainer: L.Trainer) -> RolloutDataModule:
    """Return the data module of a run that rolls out."""
    data = trainer.datamodule  # pyright: ignore[reportAttributeAccessIssue]
    assert isinstance(data, RolloutDataModule), "for `sampo fit` only"
    return data


def latest_rollout(trainer: L.Trainer) -> Rollout:
    """Return what the present training batch was made of."""
    rollout = rollout_data(trainer).last_rollout
    assert rollout is not None, "a training batch without a rollout"
    return rollout
