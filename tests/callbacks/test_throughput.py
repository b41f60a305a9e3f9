"""Speeds are amounts over the time that they took."""

import csv

import pytest

from sampo.callbacks import throughput
from sampo.callbacks.throughput import Throughput

from .conftest import Bystander


class Clock:
    """Goes on by two seconds between start and end of every update."""

    def __init__(self):
        self.now = 0.0

    def perf_counter(self):
        self.now += 2.0
        return self.now


class TokenCounter(Bystander):
    """Remembers the tokens of each batch."""

    def __init__(self):
        super().__init__()
        self.tokens = []

    def training_step(self, batch, batch_idx):
        self.tokens.append(int(batch.lengths.sum()))


def test_rates_of_each_update(fit, run_path, data, monkeypatch):
    monkeypatch.setattr(throughput, "time", Clock())
    module = TokenCounter()
    fit([Throughput()], module=module, max_epochs=1)
    with (run_path / "metrics.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["time/trained_tokens_per_s"]]
    trained = [float(row["time/trained_tokens_per_s"]) for row in rows]
    assert trained == [tokens / 2.0 for tokens in module.tokens]
    stats = data.last_rollout.stats
    seconds = stats["time/rollout_s"]
    assert float(rows[-1]["time/episodes_per_s"]) == pytest.approx(
        stats["rollout/episodes"] / seconds
    )
    assert float(rows[-1]["time/sampled_tokens_per_s"]) == pytest.approx(
        stats["rollout/action_tokens"] / seconds
    )
