"""The table of the four dials."""

from sampo.advantages import EntropyModulation, OverlongPenalty
from sampo.explain.dials import dial_rows
from sampo.filtering import KeepAll, RejectVoidTurns, TopVariance
from sampo.losses import AdaptiveKL, Aggregation, Clip, PolicyLoss, Ratio, SequenceMask


def table(run) -> dict[str, str]:
    return {row.setting: row.value for row in dial_rows(run)}


def test_sampo(make_run) -> None:
    assert [(row.dial, row.setting, row.value) for row in dial_rows(make_run())] == [
        ("aggregation", "model.loss.aggregation", "sequence_mean_token_mean, level turn"),
        ("ratio, clip", "model.loss.ratio", "level turn, geometric mean"),
        ("", "model.loss.surrogate", "Clip: clip_low 0.003, clip_high 0.004"),
        ("", "model.loss.kl", "k3, gradient estimator, kl_coef 0.01"),
        (
            "advantage",
            "data.advantage",
            "GiGPO: gamma 0.95, step_weight 1, normalise mean_std, baseline_over turns, "
            "singleton zero",
        ),
        ("", "data.invalid_action_penalty", "0.1"),
        ("filter", "data.group_filter", "SpreadFilter: criterion raw_return, tolerance 1e-6"),
        ("", "data.max_filter_rounds", "3"),
    ]


def test_what_has_no_effect_is_not_shown(make_run) -> None:
    loss = PolicyLoss(
        ratio=Ratio(level="token"),
        surrogate=Clip(),
        aggregation=Aggregation(kind="token_mean"),
        kl_coef=0.0,
    )
    rows = table(make_run(loss, group_filter=KeepAll()))
    assert rows["model.loss.aggregation"] == "token_mean"
    assert rows["model.loss.ratio"] == "level token"
    assert rows["model.loss.kl"] == "none in the loss"
    assert rows["data.group_filter"] == "KeepAll"
    assert "data.max_filter_rounds" not in rows


def test_what_is_switched_on_is_shown(make_run) -> None:
    loss = PolicyLoss(
        ratio=Ratio(level="turn", log_max=1.0),
        masking=SequenceMask(threshold=3e-3),
        entropy_coef=1e-3,
        regulariser_aggregation=Aggregation(kind="token_mean"),
    )
    rows = table(
        make_run(
            loss,
            batch_advantage=EntropyModulation(),
            adaptive_kl=AdaptiveKL(target=0.1),
            shaping=OverlongPenalty(),
            episode_filters=[RejectVoidTurns()],
            group_selector=TopVariance(),
            filter_cold_start=5,
        )
    )
    assert rows["model.loss.ratio"] == "level turn, geometric mean, log_max 1"
    assert rows["model.loss.masking"] == "threshold 0.003, level turn, denominator surviving"
    assert rows["model.loss.entropy_coef"] == "0.001"
    assert rows["model.loss.regulariser_aggregation"] == "token_mean"
    assert rows["model.batch_advantage"].startswith("EntropyModulation: k 1")
    assert rows["model.adaptive_kl"] == "target 0.1, horizon 10000"
    assert rows["data.shaping"] == "OverlongPenalty: buffer_share 0.2, factor 0.1"
    assert rows["data.episode_filters"] == "[RejectVoidTurns]"
    assert rows["data.group_selector"] == "TopVariance: top_p 0.5, share_of groups"
    assert rows["data.filter_cold_start"] == "5 updates"
