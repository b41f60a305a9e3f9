"""How good is the policy: metrics over finished episodes, intervals, and the report of a run."""

from sampo.evaluation.evaluated_module import EvaluatedModule
from sampo.evaluation.intervals import clustered_interval, wilson_interval
from sampo.evaluation.metrics import EpisodeMetrics
from sampo.evaluation.pass_at_k import mean_pass_at, pass_at_k
from sampo.evaluation.report import (
    EvaluationReport,
    EvaluationSetup,
    TypeResult,
    evaluate_episodes,
    usage_rows,
)

__all__ = [
    "EpisodeMetrics",
    "EvaluatedModule",
    "EvaluationReport",
    "EvaluationSetup",
    "TypeResult",
    "clustered_interval",
    "evaluate_episodes",
    "mean_pass_at",
    "pass_at_k",
    "usage_rows",
    "wilson_interval",
]
