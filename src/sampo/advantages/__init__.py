"""Dial 3: how good a turn was. One estimator per file, all pure functions.

Per group: `AdvantageEstimator`. Per rollout batch, where a method needs more: `BatchAdvantage`.
"""

from sampo.advantages.base import AdvantageEstimator, Advantages
from sampo.advantages.batch import BatchAdvantage, BatchAdvantageInputs, BatchAdvantageOutput
from sampo.advantages.empg import EntropyModulation
from sampo.advantages.gae import GAE
from sampo.advantages.gigpo import GiGPO
from sampo.advantages.grpo import GRPO
from sampo.advantages.kl_reward import KLReward
from sampo.advantages.pass_at_k import PassAtK
from sampo.advantages.raw import TurnReward, TurnScore
from sampo.advantages.remax import ReMax
from sampo.advantages.rloo import RLOO
from sampo.advantages.shaping import OverlongPenalty, RewardShaping
from sampo.advantages.whiten import Whiten

__all__ = [
    "GAE",
    "GRPO",
    "RLOO",
    "AdvantageEstimator",
    "Advantages",
    "BatchAdvantage",
    "BatchAdvantageInputs",
    "BatchAdvantageOutput",
    "EntropyModulation",
    "GiGPO",
    "KLReward",
    "OverlongPenalty",
    "PassAtK",
    "ReMax",
    "RewardShaping",
    "TurnReward",
    "TurnScore",
    "Whiten",
]
