"""Combinations that are legal and unwise, each with a reason and a fix; a file per dial.

What cannot work at all is refused where it is made, by `__post_init__` and `__init__`.
"""

from __future__ import annotations

from sampo.explain.cautions.advantage import ADVANTAGE_RULES
from sampo.explain.cautions.aggregation import AGGREGATION_RULES
from sampo.explain.cautions.caution import Caution, Rule
from sampo.explain.cautions.filtering import FILTERING_RULES
from sampo.explain.cautions.masking import MASKING_RULES
from sampo.explain.cautions.no_effect import NO_EFFECT_RULES
from sampo.explain.cautions.off_policy import OFF_POLICY_RULES
from sampo.explain.cautions.ratio import RATIO_RULES
from sampo.explain.cautions.regularisers import REGULARISER_RULES
from sampo.explain.run import Run

RULES: tuple[Rule, ...] = (
    *AGGREGATION_RULES,
    *RATIO_RULES,
    *MASKING_RULES,
    *OFF_POLICY_RULES,
    *REGULARISER_RULES,
    *ADVANTAGE_RULES,
    *FILTERING_RULES,
    *NO_EFFECT_RULES,
)

__all__ = ["RULES", "Caution", "Rule", "cautions"]


def cautions(run: Run) -> list[Caution]:
    """Return what is unwise about a run, in the order of the dials; what has no effect last."""
    found = (rule(run) for rule in RULES)
    return [caution for caution in found if caution is not None]
