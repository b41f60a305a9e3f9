"""What controllers change of the objective, and what may not be combined."""

import pytest

from sampo.advantages import GAE, KLReward, Whiten
from sampo.controls import Controls, check_objective, configured_kl
from sampo.errors import ConfigError
from sampo.losses import AdaptiveKL, PolicyLoss, SequenceMask, ValueLoss


def test_nothing_changes_by_itself():
    loss, stage = PolicyLoss(), Whiten(kl_coef=0.1)
    assert Controls().objective(loss, stage) == (loss, stage)


def test_the_coefficient_goes_where_the_kl_is():
    controls = Controls(kl_coef=0.5)
    loss, stage = controls.objective(PolicyLoss(kl_coef=0.01), None)
    assert (loss.kl_coef, stage) == (0.5, None)
    loss, stage = controls.objective(PolicyLoss(kl_coef=0.0), KLReward(kl_coef=0.01))
    assert loss.kl_coef == 0.0 and configured_kl(loss, stage) == 0.5
    loss, stage = controls.objective(PolicyLoss(kl_coef=0.0), Whiten())
    assert loss.kl_coef == 0.5 and stage == Whiten()


def test_a_mask_is_added_and_never_replaced():
    own = SequenceMask(threshold=0.5)
    controls = Controls(masking=SequenceMask(threshold=0.1))
    assert controls.objective(PolicyLoss(), None)[0].masking == controls.masking
    assert controls.objective(PolicyLoss(masking=own), None)[0].masking == own


def test_state_survives_as_plain_values():
    controls = Controls(lr_scale=0.25, kl_coef=0.3, masking=SequenceMask(threshold=0.1))
    restored = Controls()
    restored.load_state_dict(controls.state_dict())
    assert restored == controls
    restored.load_state_dict(Controls().state_dict())
    assert restored == Controls()


@pytest.mark.parametrize(
    ("parts", "fix"),
    [
        ({"loss": PolicyLoss(), "reference": False}, "kl_coef to 0"),
        ({"stage": KLReward(), "reference": False}, "keep the reference"),
        ({"adaptive_kl": AdaptiveKL(target=0.1)}, "adaptive_kl to null"),
        ({"stage": GAE()}, "set model.loss.value"),
        ({"loss": PolicyLoss(kl_coef=0.0, value=ValueLoss())}, "model.batch_advantage to GAE"),
    ],
)
def test_parts_that_need_what_is_not_there_are_refused(parts, fix):
    whole = {
        "loss": PolicyLoss(kl_coef=0.0),
        "stage": None,
        "adaptive_kl": None,
        "reference": True,
        **parts,
    }
    with pytest.raises(ConfigError, match=fix):
        check_objective(**whole)
