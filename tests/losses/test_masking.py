"""Sequence masking by hand."""

from dataclasses import replace

import pytest
import torch

from sampo.errors import ConfigError
from sampo.losses import SequenceMask


def test_only_negative_sequences_that_shrank_go(batch_of):
    """Mean log-ratio -0.3 for turns 0 (A < 0) and 1 (A > 0), +0.3 for turn 2 (A < 0)."""
    batch = batch_of([[0, 0, -1], [1, 1, -1], [2, -1, -1]])
    log_ratio = torch.tensor([[-0.5, -0.1, 9.0], [-0.3, -0.3, 9.0], [0.3, 9.0, 9.0]])
    advantages = torch.tensor([[-1.0, -1, 0], [1, 1, 0], [-1, 0, 0]])
    keep = SequenceMask(threshold=0.2)(log_ratio, advantages, batch)
    assert keep.tolist() == [[False] * 3, [True, True, False], [True, False, False]]


def test_inequalities_are_strict(batch_of):
    batch = batch_of([[0], [1]])
    log_ratio = torch.tensor([[-0.25], [-9.0]])
    keep = SequenceMask(threshold=0.25)(log_ratio, torch.tensor([[-1.0], [0.0]]), batch)
    assert keep.tolist() == [[True], [True]]


def test_episode_level_rejects_all_its_rows(batch_of):
    # Episode 5 has mean log-ratio (-0.1 - 0.1 - 1.0) / 3 = -0.4.
    batch = batch_of([[0, 0], [1, -1], [2, -1]], [[5, 5], [5, -1], [6, -1]])
    log_ratio = torch.tensor([[-0.1, -0.1], [-1.0, 0.0], [-0.1, 0.0]])
    mask = SequenceMask(threshold=0.3, level="episode")
    keep = mask(log_ratio, torch.full((3, 2), -1.0), batch)
    assert keep.tolist() == [[False, False], [False, False], [True, False]]


def test_wrong_settings_say_what_to_do():
    with pytest.raises(ConfigError, match="0 or more"):
        SequenceMask(threshold=-0.1)
    with pytest.raises(ConfigError, match="turn or episode"):
        replace(SequenceMask(), level="token")
    with pytest.raises(ConfigError, match="surviving or all"):
        replace(SequenceMask(), denominator="rows")
