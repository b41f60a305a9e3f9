"""The objective with its numbers: sums, masks, and what is not known."""

from dataclasses import dataclass

import pytest

from sampo.advantages import AdvantageEstimator, BatchAdvantage, BatchAdvantageOutput
from sampo.losses import Aggregation, DetachedClip, PolicyLoss, SequenceMask, Surrogate

TOKENS = Aggregation(kind="token_mean")


def test_sampo_is_the_formula_of_the_docs(written) -> None:
    run = written()
    assert run.line == (
        "L = 1/N Σ_i 1/T_i Σ_t [ max(−A_i s_i, −A_i clip(s_i, 0.997, 1.004)) + 0.01 k3_t ]"
    )
    assert run.meaning("s_i").startswith("exp( 1/T_i Σ_t log π(y_t)/π_old(y_t) )")
    assert run.meaning("k3_t").startswith("min(exp(d_t) − d_t − 1, 10)")
    assert run.meaning("A_i").startswith("E_i + 1 · D_i")
    assert run.meaning("E_i").startswith("(S_i − mean S) / (std S + 1e-6)")
    assert run.meaning("Q_i").startswith("Σ_(j≥i) 0.95^(j−i) reward_j − 0.1 [turn i invalid]")


def test_every_symbol_is_explained_once(written) -> None:
    symbols = written().symbols
    assert len(symbols) == len(set(symbols))


@pytest.mark.parametrize(
    ("aggregation", "sums"),
    [
        (Aggregation(kind="token_mean"), "1/T Σ_i Σ_t ["),
        (Aggregation(kind="sequence_mean_token_mean"), "1/N Σ_i 1/T_i Σ_t ["),
        (Aggregation(kind="sequence_mean_token_sum"), "1/N Σ_i Σ_t ["),
        (Aggregation(kind="sum_over_max_length", max_length=512), "1/N Σ_i 1/512 Σ_t ["),
        (Aggregation(level="episode"), "1/E Σ_e 1/T_e Σ_t ["),
    ],
)
def test_aggregations(written, aggregation: Aggregation, sums: str) -> None:
    assert f"L = {sums}" in written(PolicyLoss(aggregation=aggregation)).line


def test_an_open_length_is_the_limit_of_a_reply(written) -> None:
    loss = PolicyLoss(aggregation=Aggregation(kind="sum_over_max_length"))
    assert "1/64 Σ_t" in written(loss, max_new_tokens=64).line


def test_a_mask_that_shrinks_the_denominators_splits_the_sum(written) -> None:
    loss = PolicyLoss(masking=SequenceMask(threshold=3e-3), aggregation=TOKENS)
    run = written(loss)
    assert run.line.startswith("L = 1/T′ Σ_i Σ_t M_i max(")
    assert run.line.endswith("+ 1/T Σ_i Σ_t 0.01 k3_t")
    assert "> 0.003" in run.meaning("M_i")
    assert run.meaning("M_i").endswith("below 0.997")  # exp(-0.003) = 0.9970


def test_a_mask_that_leaves_them_stays_in_one_sum(written) -> None:
    mask = SequenceMask(denominator="all", level="episode")
    text = written(PolicyLoss(masking=mask, surrogate=DetachedClip())).line
    assert "Σ_t [ −M_e w_t A_i log π(y_t) + 0.01 k3_t ]" in text


def test_terms_that_are_summed_another_way_stand_apart(written) -> None:
    loss = PolicyLoss(regulariser_aggregation=TOKENS)
    assert written(loss).line.endswith("+ 1/T Σ_i Σ_t 0.01 k3_t")
    loss = PolicyLoss(regulariser_aggregation=TOKENS, kl_coef=0.0, entropy_coef=0.001)
    assert written(loss).line.endswith("+ 1/T Σ_i Σ_t (−0.001 H_t)")


def test_long_formulas_break_between_terms(written) -> None:
    lines = written().objective.lines(76)
    assert len(lines) == 2
    assert lines[0].index("max") == lines[1].index("+")
    assert max(map(len, lines)) <= 76


@dataclass(frozen=True, kw_only=True)
class MySurrogate(Surrogate):
    """A surrogate of the user's."""

    strength: float = 2.0

    def __call__(self, inputs):
        raise NotImplementedError


class MyEstimator(AdvantageEstimator):
    """An estimator of the user's."""

    def __call__(self, group):
        raise NotImplementedError


class MyStage(BatchAdvantage):
    """A stage of the user's."""

    def __call__(self, inputs) -> BatchAdvantageOutput:
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class MyLoss(PolicyLoss):
    """A loss of the user's."""


@dataclass(frozen=True, kw_only=True)
class MyAggregation(Aggregation):
    """An aggregation of the user's."""


@dataclass(frozen=True, kw_only=True)
class MyMask(SequenceMask):
    """A mask of the user's."""


def test_unknown_classes_are_named(written) -> None:
    loss = MyLoss(surrogate=MySurrogate(), aggregation=MyAggregation(), masking=MyMask())
    run = written(loss, advantage=MyEstimator(), batch_advantage=MyStage())
    assert "L = Σ_t w_t" in run.line
    assert "MySurrogate_t" in run.line
    assert run.meaning("MySurrogate_t") == ("MySurrogate: strength 2   A surrogate of the user's.")
    assert run.meaning("s_i").startswith("exp(")  # what it may well use
    assert run.meaning("A_t") == "MyStage   A stage of the user's."
    assert run.meaning("A⁰_i") == "MyEstimator   An estimator of the user's."
    assert run.meaning("MyLoss").endswith("A loss of the user's.")
    assert run.meaning("w_t").startswith("MyAggregation: kind sequence_mean_token_mean")
    assert run.meaning("M_i").startswith("MyMask: threshold 0.223")
