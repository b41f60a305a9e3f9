"""Scalars are read whole, and thinned without losing a spike."""

import math

import pytest
from torch.utils.tensorboard import SummaryWriter

from sampo.view.curves import MAX_POINTS, read_curves, thinned


def test_all_scalars_in_order(tmp_path):
    with SummaryWriter(str(tmp_path)) as writer:
        writer.add_scalar("train/entropy", 0.5, 2, walltime=1000.0)
        writer.add_scalar("train/entropy", 0.25, 1, walltime=1060.0)
        writer.add_scalar("train/entropy", math.nan, 3, walltime=1070.0)
        writer.add_scalar("hp_metric", -1, 0, walltime=1000.0)
    curves = read_curves(tmp_path)
    (tag,) = curves.by_tag
    assert tag == "train/entropy"
    assert curves.by_tag[tag].steps == (1, 2, 3)
    assert curves.by_tag[tag].values[:2] == (0.25, 0.5)
    assert math.isnan(curves.by_tag[tag].values[2])
    assert (curves.started, curves.ended) == (1000.0, 1070.0)


def test_a_broken_off_file_ends_where_it_ends(tmp_path):
    with SummaryWriter(str(tmp_path)) as writer:
        for step in range(10):
            writer.add_scalar("train/entropy", step, step)
    (events,) = tmp_path.glob("events*")
    events.write_bytes(events.read_bytes()[:-5])
    assert read_curves(tmp_path).by_tag["train/entropy"].steps == tuple(range(9))


def test_no_files(tmp_path):
    curves = read_curves(tmp_path)
    assert (curves.by_tag, curves.started, curves.ended) == ({}, None, None)


@pytest.mark.parametrize("count", [1, MAX_POINTS, MAX_POINTS + 1, 10_000])
def test_thinning_keeps_ends_and_spikes(count):
    values = [0.0] * count
    values[count // 2], values[count // 3] = 9.0, -9.0
    curve = thinned(range(count), values)
    assert len(curve.steps) <= MAX_POINTS + 1
    assert (curve.steps[0], curve.steps[-1]) == (0, count - 1)
    assert (max(curve.values), min(curve.values)) == (max(values), min(values))
    assert list(curve.steps) == sorted(set(curve.steps))


def test_thinning_of_what_is_no_number():
    curve = thinned(range(2000), [math.nan] * 1999 + [1.0])
    assert curve.values[-1] == 1.0
    assert len(curve.steps) < 2000
