"""What a sequence is has to agree between the parts of an objective."""

import math

import pytest

from sampo.errors import ConfigError
from sampo.losses import Aggregation, Clip, PolicyLoss, SequenceMask


def test_sums_over_episodes_need_a_length():
    sums = Aggregation(kind="sum_over_max_length", level="episode")
    with pytest.raises(ConfigError, match=r"loss\.aggregation\.max_length"):
        PolicyLoss(aggregation=sums)
    with pytest.raises(ConfigError, match=r"loss\.regulariser_aggregation\.max_length"):
        PolicyLoss(regulariser_aggregation=sums)


def test_a_sequence_is_masked_whole():
    by_episode = Aggregation(level="episode")
    with pytest.raises(ConfigError, match="set both levels alike"):
        PolicyLoss(aggregation=by_episode, masking=SequenceMask(level="turn"))
    PolicyLoss(aggregation=by_episode, masking=SequenceMask(level="episode"))
    PolicyLoss(aggregation=Aggregation(level="turn"), masking=SequenceMask(level="episode"))
    PolicyLoss(aggregation=Aggregation(kind="token_mean"), masking=SequenceMask(level="turn"))


def test_a_coefficient_that_is_no_number_is_refused():
    for wrong in (math.nan, math.inf, -0.1):
        with pytest.raises(ConfigError, match="must be 0 or more"):
            PolicyLoss(kl_coef=wrong)
    with pytest.raises(ConfigError, match="dual_clip"):
        Clip(dual_clip=math.nan)
