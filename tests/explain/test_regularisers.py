"""KL, entropy bonus and value loss as text."""

from dataclasses import dataclass

import pytest
import torch

from sampo.advantages import GAE, KLReward, TurnReward
from sampo.losses import AdaptiveKL, KLPenalty, PolicyLoss, Ratio, ValueLoss
from sampo.losses.kl import kl_estimate

TOKEN_RATIO = Ratio(level="token")


@pytest.mark.parametrize(
    ("kl", "term"),
    [
        (KLPenalty(kind="k1", gradient="k2"), "+ 0.01 k1_t"),
        (KLPenalty(kind="abs"), "+ 0.01 |d_t|"),
        (KLPenalty(kind="k2"), "+ 0.01 k2_t"),
        (KLPenalty(gradient="importance_weighted"), "+ 0.01 r_t k3_t"),
    ],
)
def test_kl_terms(written, kl: KLPenalty, term: str) -> None:
    run = written(PolicyLoss(kl=kl))
    assert f"{term} ]" in run.line
    assert ("r_t" in run.symbols) == ("r_t" in term)


def test_the_cuts_of_k3_are_shown_and_real(written) -> None:
    run = written()
    assert run.meaning("k3_t") == "min(exp(d_t) − d_t − 1, 10)   KL to the frozen first policy"
    assert run.meaning("d_t") == "log π_ref(y_t) − log π(y_t)   in k3 cut to [−20, 20]"
    far = torch.tensor([-50.0, 50.0])
    values = kl_estimate(torch.zeros(2), far, "k3")
    assert values.tolist() == [10.0, 10.0]
    other = written(PolicyLoss(kl=KLPenalty(kind="k2")))
    assert other.meaning("d_t") == "log π_ref(y_t) − log π(y_t)"
    weighted = written(PolicyLoss(kl=KLPenalty(gradient="importance_weighted")))
    assert weighted.meaning("k3_t").endswith("log r_t cut to [−20, 20] here")


@dataclass(frozen=True, kw_only=True)
class MyKL(KLPenalty):
    """A KL of the user's."""


@dataclass(frozen=True, kw_only=True)
class MyValueLoss(ValueLoss):
    """A value loss of the user's."""


def test_terms_of_the_users_are_named(written) -> None:
    run = written(PolicyLoss(kl=MyKL(), value=MyValueLoss()), batch_advantage=GAE())
    assert run.line.endswith("+ 0.01 KL_t + 0.5 U_t ]")
    assert run.meaning("KL_t").endswith("A KL of the user's.")
    assert run.meaning("U_t").endswith("A value loss of the user's.")


def test_a_term_that_is_off_is_not_there(written) -> None:
    text = written(PolicyLoss(kl_coef=0.0)).line
    assert "k3" not in text
    assert "[" not in text


def test_entropy_bonus_and_adaptive_kl(written) -> None:
    run = written(PolicyLoss(entropy_coef=0.001), adaptive_kl=AdaptiveKL(target=0.05))
    assert run.line.endswith("+ β k3_t − 0.001 H_t ]")
    assert "clip(KL/0.05 − 1, −0.2, 0.2) min(tokens/10,000, 1)" in run.meaning("β")
    assert "from 0.01 on" in run.meaning("β")


def test_value_loss_and_gae(written) -> None:
    loss = PolicyLoss(ratio=TOKEN_RATIO, value=ValueLoss())
    run = written(loss, batch_advantage=GAE(lam=0.95), advantage=TurnReward())
    assert "−A_t r_t" in run.line
    assert run.line.endswith("+ 0.5 U_t ]")
    assert "(V°_t + clip(V_t − V°_t, −0.2, 0.2) − G_t)²" in run.meaning("U_t")
    assert run.meaning("U_t").endswith(
        "V_t: the value head before token t, now; V°_t: at the rollout"
    )
    assert run.meaning("G_t").startswith("A_t + V°_t")
    assert run.meaning("δ_t").startswith("ρ_t + V°_(t+1) − V°_t")
    assert run.meaning("A_t").startswith("δ_t + 0.95 A_(t+1)")
    assert run.meaning("A⁰_i").startswith("reward_i − 0.1 [turn i invalid]")
    free = PolicyLoss(value=ValueLoss(clip=None))
    assert written(free, batch_advantage=GAE()).meaning("U_t").startswith("1/2 (V_t − G_t)²   ")


def test_an_adaptive_kl_in_the_reward(written) -> None:
    settings = {"batch_advantage": KLReward(), "adaptive_kl": AdaptiveKL(target=0.1)}
    run = written(PolicyLoss(kl_coef=0.0), **settings)
    assert run.meaning("A_i").startswith("A⁰_i − β (K_i − mean K)")
    assert "from 0.001 on" in run.meaning("β")
