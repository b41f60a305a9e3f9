"""Dial 3: how good a turn was. One estimator per file, all pure functions of one group."""

from sampo.advantages.base import AdvantageEstimator, Advantages
from sampo.advantages.gigpo import GiGPO
from sampo.advantages.grpo import GRPO

__all__ = ["GRPO", "AdvantageEstimator", "Advantages", "GiGPO"]
