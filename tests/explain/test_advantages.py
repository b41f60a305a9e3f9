"""Dial 3 as text."""

import pytest

from sampo.advantages import (
    GRPO,
    RLOO,
    AdvantageEstimator,
    BatchAdvantage,
    EntropyModulation,
    GiGPO,
    KLReward,
    OverlongPenalty,
    PassAtK,
    ReMax,
    TurnReward,
    TurnScore,
    Whiten,
)


@pytest.mark.parametrize(
    ("advantage", "text"),
    [
        (GRPO(), "(S_i − mean S) / (std S + 1e-6)"),
        (GRPO(divide_by_std=False), "S_i − mean S   over all turns"),
        (GRPO(baseline_over="episodes"), "over the episodes of the group"),
        (GRPO(singleton="score"), "alone: S_i"),
        (GiGPO(step_weight=0.5), "E_i + 0.5 · D_i"),
        (RLOO(), "n/(n−1) (S_i − mean S)"),
        (PassAtK(), "(S₁ − S₂) / (std + 1e-6)"),
        (PassAtK(divide_by_std=False), "S₁ − S₂   on the best"),
        (ReMax(), "S_i − R_greedy"),
        (TurnScore(), "S_i   no baseline"),
        (TurnReward(), "reward_i − 0.1 [turn i invalid]"),
    ],
)
def test_estimators(written, advantage: AdvantageEstimator, text: str) -> None:
    assert text in written(advantage=advantage).meaning("A_i")


def test_variants_of_gigpo(written) -> None:
    run = written(advantage=GiGPO(normalise="mean", gamma=1.0, similarity=0.95))
    assert run.meaning("D_i").startswith("Q_i − mean Q")
    assert "text is 0.95 alike" in run.meaning("D_i")
    assert run.meaning("Q_i").startswith("Σ_(j≥i) reward_j")


@pytest.mark.parametrize(
    ("stage", "symbol", "text"),
    [
        (EntropyModulation(), "A_i", "g_i A⁰_i + 0.05 f_next, minus its mean"),
        (EntropyModulation(k=2.0), "g_i", "exp(−2 h_i) / mean of it"),
        (EntropyModulation(zeta=0.0), "A_i", "g_i A⁰_i, minus its mean"),
        (KLReward(kl_coef=0.002), "A_i", "A⁰_i − 0.002 (K_i − mean K)"),
        (Whiten(), "A_t", "(G_t − mean G) / sqrt(var G + 1e-8)"),
        (Whiten(gamma=0.9), "G_t", "Σ_(u≥t) 0.9^(u−t) ρ_u"),
        (Whiten(kl_coef=0.1), "ρ_t", "else 0, − 0.1 log π_old(y_t)/π_ref(y_t)"),
    ],
)
def test_second_stages(written, stage: BatchAdvantage, symbol: str, text: str) -> None:
    assert text in written(batch_advantage=stage).meaning(symbol)


def test_penalties_are_part_of_the_score(written) -> None:
    run = written(invalid_action_penalty=0.0, shaping=OverlongPenalty(buffer_share=0.25))
    assert run.meaning("S_i").startswith("R − P_i")
    assert run.meaning("P_i").startswith("0.1 clip((T_i − 48) / 16, 0, 1)")  # of 64 tokens
