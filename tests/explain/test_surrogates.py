"""Dial 2 as text."""

import pytest

from sampo.losses import (
    Clip,
    DetachedClip,
    EntropyBalanced,
    GeometricMean,
    PolicyLoss,
    Ratio,
    Reinforce,
    SoftGate,
    Surrogate,
    Unclipped,
)

TOKEN_RATIO = Ratio(level="token")


@pytest.mark.parametrize(
    ("ratio", "symbol", "text"),
    [
        (TOKEN_RATIO, "r_t", "π(y_t) / π_old(y_t)   one ratio per token; log r_t cut to [−20, 20]"),
        (Ratio(level="turn", length_normalise=False), "s_i", "Π_t π(y_t)/π_old(y_t)"),
        (Ratio(level="episode"), "s_e", "exp( 1/T_e Σ_t log π(y_t)/π_old(y_t) )"),
        (Ratio(level="turn", log_min=-2.0, log_max=3.0), "s_i", "log s_i cut to [−2, 3]"),
        (Ratio(level="turn"), "s_i", "log s_i cut above 10"),
    ],
)
def test_ratios(written, ratio: Ratio, symbol: str, text: str) -> None:
    assert text in written(PolicyLoss(ratio=ratio)).meaning(symbol)


@pytest.mark.parametrize(
    ("surrogate", "term"),
    [
        (Clip(), "max(−A_i r_t, −A_i clip(r_t, 0.8, 1.2))"),
        (Clip(clip_low=1.0), "max(−A_i r_t, −A_i min(r_t, 1.2))"),
        (Clip(dual_clip=3.0), "[ C_t +"),
        (SoftGate(), "−A_i f(r_t)"),
        (DetachedClip(), "−w_t A_i log π(y_t)"),
        (EntropyBalanced(dual_clip=None), "max(−B_t r_t, −B_t clip(r_t, 0.8, 1.2))"),
        (Reinforce(), "−A_i log π(y_t)"),
        (Unclipped(), "−A_i r_t"),
    ],
)
def test_surrogates(written, surrogate: Surrogate, term: str) -> None:
    assert term in written(PolicyLoss(ratio=TOKEN_RATIO, surrogate=surrogate)).line


def test_what_a_surrogate_needs_is_defined_below(written) -> None:
    def run(surrogate: Surrogate):
        return written(PolicyLoss(ratio=TOKEN_RATIO, surrogate=surrogate))

    assert run(Clip(dual_clip=3.0)).meaning("C_t").endswith("and where A_i < 0 at most −3 A_i")
    assert run(SoftGate()).meaning("τ") == "1 where the mean A of the turn is > 0, else 1.05"
    assert run(DetachedClip()).meaning("w_t").startswith("min(r_t, 1.2)   a number")
    assert run(EntropyBalanced()).meaning("B_t").startswith("A_i (1 + 0.2 z_t)")
    assert "z_t ≤ 0" in run(EntropyBalanced()).meaning("B_t")
    assert "r_t" not in run(Reinforce()).symbols


def test_geometric_mean_of_clipped_tokens(written) -> None:
    run = written(PolicyLoss(surrogate=GeometricMean(clip_low=0.3)))
    assert "−A_i s_i" in run.line
    assert run.meaning("l_t").endswith("where A_i > 0 at most 0.4, where < 0 at least −0.3")
    assert run.meaning("s_i").endswith("over the tokens of turn i; log s_i cut above 10")
    wide = written(PolicyLoss(surrogate=GeometricMean(), ratio=Ratio(level="episode")))
    assert "−Ā_e s_e" in wide.line
