"""Paper against code: only what a config touches, and the side that it takes."""

import pytest

from sampo.advantages import (
    GRPO,
    RLOO,
    EntropyModulation,
    GiGPO,
    KLReward,
    OverlongPenalty,
    ReMax,
)
from sampo.explain.differences import differences
from sampo.filtering import AllOf, KeepAll, SpreadFilter
from sampo.losses import (
    Aggregation,
    Clip,
    DetachedClip,
    EntropyBalanced,
    GeometricMean,
    PolicyLoss,
    Ratio,
    Reinforce,
    SequenceMask,
    SoftGate,
)

TOKEN = Ratio(level="token")


def sides(run) -> dict[str, str]:
    return {line.point: line.here for line in differences(run)}


def test_sampo_takes_the_sides_of_the_docs(make_run) -> None:
    assert sides(make_run()) == {
        "aggregation": "the code's",
        "aggregation: micro-batches": "as one mini-batch",
        "aggregation: KL, entropy": "as the surrogate",
        "clip of a turn's ratio": "0.003 and 0.004",
        "bounds of log-ratio": "≤ 10",
        "KL to the reference": "k3, 0.01, in the loss",
        "entropy bonus": "none",
        "mini-batches": "4 equal parts, in order",
        "statistics of the scores": "over all turns of the group",
        "division by std": "divided",
        "a pool of one": "0; step part: 0",
        "the same state": "equal state_key()",
        "format penalty": "0.1, as in the code",
        "filter criterion": "the code's",
        "equality of returns": "within 1e-6",
        "a refill round": "as many new tasks as are missing",
        "after the last round": "the same, and counted",
        "cold start": "none",
        "training success": "over everything rolled out",
    }


@pytest.mark.parametrize(
    ("loss", "point", "here"),
    [
        (PolicyLoss(aggregation=Aggregation(kind="token_mean")), "aggregation", "the paper's"),
        (
            PolicyLoss(aggregation=Aggregation(kind="sequence_mean_token_sum")),
            "aggregation",
            "neither: sequence_mean_token_sum",
        ),
        (
            PolicyLoss(regulariser_aggregation=Aggregation(kind="token_mean")),
            "aggregation: KL, entropy",
            "token_mean",
        ),
        (PolicyLoss(ratio=TOKEN, surrogate=Clip()), "dual clip", "none"),
        (PolicyLoss(ratio=TOKEN, surrogate=Clip(dual_clip=3.0)), "dual clip", "3"),
        (PolicyLoss(ratio=TOKEN, surrogate=Clip()), "bounds of log-ratio", "−20 to 20"),
        (
            PolicyLoss(ratio=TOKEN, surrogate=DetachedClip(clip_low=0.2)),
            "CISPO's lower bound",
            "bounded below at 0.8",
        ),
        (
            PolicyLoss(ratio=TOKEN, surrogate=DetachedClip()),
            "CISPO's lower bound",
            "no lower bound",
        ),
        (PolicyLoss(ratio=TOKEN, surrogate=SoftGate()), "SAPO's temperatures", "1 and 1.05"),
        (
            PolicyLoss(ratio=TOKEN, surrogate=EntropyBalanced(gradient_above="high_entropy")),
            "AEPO: who keeps a gradient above the clip",
            "high-entropy tokens; compared per mini-batch",
        ),
        (PolicyLoss(masking=SequenceMask()), "sequence mask: threshold", "0.223"),
        (
            PolicyLoss(masking=SequenceMask(denominator="all")),
            "sequence mask: rejected tokens",
            "stay",
        ),
        (PolicyLoss(kl_coef=0.0), "KL to the reference", "only logged"),
        (PolicyLoss(entropy_coef=0.001), "entropy bonus", "0.001"),
    ],
)
def test_sides_of_the_loss(make_run, loss: PolicyLoss, point: str, here: str) -> None:
    assert sides(make_run(loss))[point] == here


@pytest.mark.parametrize(
    ("settings", "point", "here"),
    [
        (
            {"advantage": GRPO(baseline_over="episodes")},
            "statistics of the scores",
            "over the episodes of the group",
        ),
        (
            {"advantage": GRPO(baseline_over="episodes")},
            "episodes with equal means",
            "a turn's distance to the mean as it is",
        ),
        ({"advantage": GRPO(divide_by_std=False)}, "division by std", "not divided"),
        ({"advantage": RLOO(singleton="score")}, "a pool of one", "the score itself"),
        ({"advantage": GiGPO(similarity=0.9)}, "the same state", "text 0.9 alike"),
        ({"batch_advantage": EntropyModulation()}, "EMPG: the next turn", "by the turn's number"),
        ({"shaping": OverlongPenalty()}, "overlong penalty", "at most 0.1 over the last 20 %"),
        ({"group_filter": SpreadFilter(criterion="success")}, "filter criterion", "the paper's"),
        ({"group_filter": SpreadFilter(tolerance=0.0)}, "equality of returns", "exact floats"),
        (
            {"group_filter": AllOf(filters=(SpreadFilter(criterion="score"),))},
            "filter criterion",
            "neither: score",
        ),
        ({"filter_cold_start": 15}, "cold start", "15 updates"),
        (
            {"num_mini_batches": None, "mini_batch_rows": 256, "shuffle": True},
            "mini-batches",
            "256 rows, shuffled",
        ),
        (
            {"loss": PolicyLoss(kl_coef=0.0), "batch_advantage": KLReward()},
            "KL to the reference",
            "k1, 0.001, in the reward",
        ),
        ({"loss": PolicyLoss(kl_coef=0.0), "reference": False}, "KL to the reference", "none"),
    ],
)
def test_sides_of_the_rest(make_run, settings, point: str, here: str) -> None:
    assert sides(make_run(**settings))[point] == here


def test_equal_means_matter_only_where_they_are_divided_by(make_run) -> None:
    for advantage in (GRPO(), GRPO(baseline_over="episodes", divide_by_std=False)):
        assert "episodes with equal means" not in sides(make_run(advantage=advantage))


@pytest.mark.parametrize(
    ("loss", "code"),
    [
        (PolicyLoss(ratio=TOKEN, surrogate=Clip()), "token ±20, sequence ≤ 10"),
        (PolicyLoss(ratio=TOKEN, surrogate=EntropyBalanced()), "none in AEPO and GMPO"),
        (PolicyLoss(surrogate=GeometricMean()), "none in AEPO and GMPO"),
    ],
)
def test_the_code_bounds_log_ratios_in_some_methods(make_run, loss: PolicyLoss, code: str) -> None:
    (found,) = (line for line in differences(make_run(loss)) if line.point == "bounds of log-ratio")
    assert found.code == code


def test_paper_and_code_agree_on_dr_grpo(make_run) -> None:
    rule = Aggregation(kind="sum_over_max_length", max_length=64)
    loss = PolicyLoss(ratio=TOKEN, surrogate=Clip(), aggregation=rule)
    assert not [line for line in differences(make_run(loss)) if "T_max" in line.code]
    assert "sum over a fixed length" not in sides(make_run(loss))


def test_what_a_config_does_not_touch_is_left_out(make_run) -> None:
    run = make_run(
        PolicyLoss(ratio=TOKEN, surrogate=Reinforce(), kl_coef=0.0),
        advantage=ReMax(),
        group_filter=KeepAll(),
        invalid_action_penalty=0.0,
        num_mini_batches=1,
    )
    assert set(sides(run)) == {"aggregation: micro-batches", "KL to the reference", "entropy bonus"}
