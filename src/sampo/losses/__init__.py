"""Dials 1 and 2: how token losses are summed, and how importance ratios are taken and clipped.

Pure functions of tensors: no logging, no model, no config lookup. `PolicyLoss` composes the parts.
"""

from sampo.losses.aggregation import Aggregation, TokenWeights
from sampo.losses.cells import effective_sample_size, token_metrics
from sampo.losses.correction import OffPolicyCorrection, correction_metrics
from sampo.losses.detached_clip import DetachedClip
from sampo.losses.entropy_balanced import EntropyBalanced, EntropyMoments
from sampo.losses.geometric_mean import GeometricMean
from sampo.losses.inputs import LossInputs, LossOutput, LossPlan
from sampo.losses.kl import AdaptiveKL, KLPenalty, kl_estimate
from sampo.losses.masking import SequenceMask
from sampo.losses.metrics import Max, Mean, Metric, combine
from sampo.losses.policy_loss import PolicyLoss
from sampo.losses.ratio import Ratio
from sampo.losses.reinforce import Reinforce, Unclipped
from sampo.losses.segments import Level, Segments, segments
from sampo.losses.soft_gate import SoftGate
from sampo.losses.surrogates import Clip, Surrogate, SurrogateInputs, SurrogateOutput
from sampo.losses.token_log import TokenLog
from sampo.losses.value import ValueLoss

__all__ = [
    "AdaptiveKL",
    "Aggregation",
    "Clip",
    "DetachedClip",
    "EntropyBalanced",
    "EntropyMoments",
    "GeometricMean",
    "KLPenalty",
    "Level",
    "LossInputs",
    "LossOutput",
    "LossPlan",
    "Max",
    "Mean",
    "Metric",
    "OffPolicyCorrection",
    "PolicyLoss",
    "Ratio",
    "Reinforce",
    "Segments",
    "SequenceMask",
    "SoftGate",
    "Surrogate",
    "SurrogateInputs",
    "SurrogateOutput",
    "TokenLog",
    "TokenWeights",
    "Unclipped",
    "ValueLoss",
    "combine",
    "correction_metrics",
    "effective_sample_size",
    "kl_estimate",
    "segments",
    "token_metrics",
]
