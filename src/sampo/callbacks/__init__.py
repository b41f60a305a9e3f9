"""What watches a run and acts: one thing each, composed in the config's `trainer.callbacks`."""

from sampo.callbacks.budget import Budget
from sampo.callbacks.checkpoints import Checkpoints
from sampo.callbacks.clone_export import CloneExport
from sampo.callbacks.clone_sync import CloneSync
from sampo.callbacks.collapse_detector import CollapseDetector
from sampo.callbacks.costs import Costs
from sampo.callbacks.episode_writer import EpisodeWriter
from sampo.callbacks.kl_monitor import KLMonitor
from sampo.callbacks.progress import RunProgress
from sampo.callbacks.rollout_stats import RolloutStats
from sampo.callbacks.run_summary import RunSummary
from sampo.callbacks.sample_texts import SampleTexts
from sampo.callbacks.throughput import Throughput
from sampo.callbacks.weight_sync import WeightSync

__all__ = [
    "Budget",
    "Checkpoints",
    "CloneExport",
    "CloneSync",
    "CollapseDetector",
    "Costs",
    "EpisodeWriter",
    "KLMonitor",
    "RolloutStats",
    "RunProgress",
    "RunSummary",
    "SampleTexts",
    "Throughput",
    "WeightSync",
]
