"""All rules together."""

from sampo.explain.cautions import cautions
from sampo.losses import Aggregation, Clip, PolicyLoss


def test_sampo_needs_no_caution(make_run) -> None:
    assert cautions(make_run()) == []


def test_cautions_carry_the_numbers_of_the_config(make_run) -> None:
    loss = PolicyLoss(surrogate=Clip(clip_low=0.3, clip_high=0.25))
    (wide,) = cautions(make_run(loss))
    assert wide.says.startswith("A clip of 0.3 and 0.25 around the geometric-mean ratio of a turn")
    (late,) = cautions(make_run(filter_cold_start=20, updates=10))
    assert late.says.startswith("filter_cold_start 20 in a run of 10 updates")
    assert late.fix == "--data.filter_cold_start 1."


def test_cautions_come_in_the_order_of_the_dials(make_run) -> None:
    loss = PolicyLoss(aggregation=Aggregation(kind="token_mean"), surrogate=Clip(), kl_coef=0.0)
    found = cautions(make_run(loss, group_size=1, max_filter_rounds=1))
    starts = [caution.says.split(" ")[0] for caution in found]
    assert starts == ["aggregation", "A", "The", "group_size", "max_filter_rounds", "SpreadFilter"]
