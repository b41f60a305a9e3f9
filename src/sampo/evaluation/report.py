"""The report of an evaluation: what came out, how sure it is, and what is needed to repeat it.

Takes finished episodes and facts about the run; rolls out nothing and writes no file.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from rich.table import Table

from sampo.episode import Episode
from sampo.evaluation.intervals import clustered_interval
from sampo.evaluation.metrics import EpisodeMetrics
from sampo.evaluation.pass_at_k import mean_pass_at

INTERVAL_METHOD = "Wilson score interval at the cluster-robust effective sample size, by task"
_PACKAGES = ("sampo", "torch", "lightning", "transformers", "torchmetrics", "numpy", "vllm")
_SHOWN = (
    ("reward", "mean return"),
    ("score", "mean score"),
    ("turn_weighted_score", "turn-weighted score"),
    ("turns", "turns per episode"),
    ("valid_action_rate", "valid actions"),
    ("valid_format_rate", "valid format"),
    ("stop_max_turns", "ended by max_turns"),
    ("stop_context", "ended by context"),
    ("reply_tokens", "tokens per reply"),
)


def package_versions(names: Sequence[str] = _PACKAGES) -> dict[str, str]:
    """Return the versions of those packages that are installed."""
    versions: dict[str, str] = {}
    for name in names:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions


@dataclass(frozen=True, kw_only=True)
class EvaluationSetup:
    """What the caller knows of an evaluation and the episodes do not say."""

    split: str
    """Tasks that were played: `val`, `test` or `train`."""
    seed: int | None = None
    """Seed of the run that the episode seeds were derived from."""
    sampling: Mapping[str, Any] = field(default_factory=dict)
    """Sampling parameters of the replies."""
    checkpoint: str | None = None
    """Path of the checkpoint or Hugging Face folder; None: the policy of the config."""
    config: str | Mapping[str, Any] | None = None
    """Path of the resolved config, or the config itself."""
    packages: Mapping[str, str] = field(default_factory=package_versions)
    """Versions of the packages that matter."""


@dataclass(frozen=True, kw_only=True)
class TypeResult:
    """Success of the episodes of one task type."""

    episodes: int
    successes: int
    low: float
    """Lower end of the interval of the success rate."""
    high: float
    """Upper end."""

    @property
    def success_rate(self) -> float:
        """Share of successful episodes."""
        return self.successes / self.episodes


@dataclass(frozen=True, kw_only=True)
class EvaluationReport:
    """The outcome of one evaluation."""

    totals: Mapping[str, float]
    """The metrics of `EpisodeMetrics` over all episodes; NaN where there was nothing to count."""
    per_type: Mapping[str, TypeResult]
    """By task type; empty where the environment names none."""
    env_metrics: Mapping[str, float]
    """Means of the environment's own metrics (`info["metrics"]`), each over the finished episodes
    that have it."""
    success_low: float
    """Lower end of the interval of `totals["success_rate"]`."""
    success_high: float
    """Upper end."""
    confidence: float
    """Coverage of all intervals."""
    tasks: int
    """Number of different tasks with a finished episode: the clusters of the interval."""
    samples_per_task: float
    """Mean number of finished episodes per task."""
    pass_at: Mapping[int, float]
    """pass@k, unbiased, averaged over tasks, for k = 1, 2, 4, ... up to the fewest samples of a
    task; see `sampo.evaluation.pass_at_k`."""
    policy_version: int
    """The oldest version that wrote a turn (-1: no turn was played)."""
    setup: EvaluationSetup
    """Everything needed to repeat it."""
    usage: Mapping[str, float] = field(default_factory=dict)
    """What a served model's replies cost: requests, tokens, money; empty where nobody is paid."""
    interval_method: str = INTERVAL_METHOD

    def to_json(self) -> str:
        """Return the report as JSON; a number that is not finite becomes null."""
        return json.dumps(_finite(asdict(self)), indent=2, default=str)

    def table(self) -> Table:
        """Return the report as a table for the screen."""
        table = Table(title=f"Evaluation on {self.tasks} {self.setup.split} tasks")
        table.add_column("metric")
        table.add_column("value", justify="right")
        table.add_column(f"{self.confidence:.0%} interval", justify="right")
        success = _interval(self.success_low, self.success_high)
        table.add_row("success rate", f"{self.totals['success_rate']:.3f}", success)
        for name, result in self.per_type.items():
            label = f"  {name} ({result.episodes})"
            span = _interval(result.low, result.high)
            table.add_row(label, f"{result.success_rate:.3f}", span)
        for label, value in _pass_rows(self.pass_at):
            table.add_row(label, f"{value:.3f}", "")
        for key, label in _SHOWN:
            table.add_row(label, f"{self.totals[key]:.3f}", "")
        for name, value in self.env_metrics.items():
            table.add_row(f"env: {name}", f"{value:.3f}", "")
        table.add_row("episodes", f"{self.totals['episodes']:.0f}", "")
        table.add_row("failed episodes (left out)", f"{self.totals['failed_episodes']:.0f}", "")
        for label, text in usage_rows(self.usage):
            table.add_row(label, text, "")
        return table


def usage_rows(usage: Mapping[str, float]) -> list[tuple[str, str]]:
    """Return what a served model cost as rows of a table: counts whole, money to 4 decimals."""
    return [
        (name.replace("_", " "), f"{value:,.4f}" if name == "cost" else f"{value:,.0f}")
        for name, value in usage.items()
    ]


def evaluate_episodes(
    episodes: Sequence[Episode], setup: EvaluationSetup, *, confidence: float = 0.95
) -> EvaluationReport:
    """Return the report of finished episodes.

    Args:
        episodes: the episodes of *all* ranks, several per task if so sampled. Failed ones are
            counted and left out of everything else.
        setup: facts of the run, kept in the report.
        confidence: coverage of the intervals.
    """
    metrics = EpisodeMetrics(sync_on_compute=False)
    metrics.update(episodes)
    totals = {name: float(value) for name, value in metrics.compute().items()}
    finished = [episode for episode in episodes if not episode.failed]
    by_task = _successes_by_task(finished)
    low, high = clustered_interval(list(by_task.values()), confidence)
    types = sorted({episode.task_type for episode in finished} - {""})
    played = [episode.policy_version for episode in finished if episode.turns]
    return EvaluationReport(
        totals=totals,
        env_metrics=_env_metrics(finished),
        per_type={name: _type_result(finished, name, confidence) for name in types},
        success_low=low,
        success_high=high,
        confidence=confidence,
        tasks=len(by_task),
        samples_per_task=len(finished) / len(by_task) if by_task else 0.0,
        pass_at=mean_pass_at(list(by_task.values())),
        policy_version=min(played, default=-1),
        setup=setup,
    )


def _env_metrics(episodes: Sequence[Episode]) -> dict[str, float]:
    """Return the mean of each metric over the episodes that have it."""
    values: dict[str, list[float]] = {}
    for episode in episodes:
        for name, value in episode.metrics.items():
            values.setdefault(name, []).append(float(value))
    return {name: sum(each) / len(each) for name, each in sorted(values.items())}


def _type_result(episodes: Sequence[Episode], task_type: str, confidence: float) -> TypeResult:
    """Return the result of one task type."""
    counts = _successes_by_task([e for e in episodes if e.task_type == task_type])
    low, high = clustered_interval(list(counts.values()), confidence)
    return TypeResult(
        episodes=sum(n for _, n in counts.values()),
        successes=sum(s for s, _ in counts.values()),
        low=low,
        high=high,
    )


def _successes_by_task(episodes: Sequence[Episode]) -> dict[str, tuple[int, int]]:
    """Return (successes, episodes) per task."""
    counts: dict[str, tuple[int, int]] = {}
    for episode in episodes:
        successes, n = counts.get(episode.task, (0, 0))
        counts[episode.task] = (successes + episode.success, n + 1)
    return counts


def _pass_rows(pass_at: Mapping[int, float]) -> list[tuple[str, float]]:
    """Return the rows of the table: none where no task has two samples."""
    most = max(pass_at, default=1)
    if most == 1:
        return []
    return [(f"avg@{most}" if k == 1 else f"pass@{k}", value) for k, value in pass_at.items()]


def _interval(low: float, high: float) -> str:
    """Return an interval as text."""
    return f"{low:.3f} to {high:.3f}"


def _finite(value: Any) -> Any:
    """Return the value with every number that JSON cannot express replaced by None."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    return value
