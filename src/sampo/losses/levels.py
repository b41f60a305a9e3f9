# pyright: strict
"""What a sequence is has to agree between the parts of an objective."""

from __future__ import annotations

from sampo.errors import ConfigError
from sampo.losses.aggregation import Aggregation
from sampo.losses.masking import SequenceMask
from sampo.losses.segments import widest


def check_levels(
    aggregation: Aggregation, regulariser: Aggregation | None, masking: SequenceMask | None
) -> None:
    """Refuse sums over episodes of unknown length, and sequences that are masked in part.

    Raises:
        ConfigError: says which setting to change.
    """
    rules = {"aggregation": aggregation, "regulariser_aggregation": regulariser}
    for name, rule in rules.items():
        if rule is None or rule.kind != "sum_over_max_length":
            continue
        if rule.level == "episode" and rule.max_length is None:
            raise ConfigError(
                f"loss.{name} sums over whole episodes, whose length has no limit of its own; set "
                f"loss.{name}.max_length, or loss.{name}.level to turn."
            )
    if masking is None or aggregation.kind == "token_mean":
        return
    if widest(masking.level, aggregation.level) != masking.level:
        raise ConfigError(
            f"loss.masking rejects single turns, but loss.aggregation takes the mean of each "
            f"{aggregation.level} over all its tokens; set both levels alike."
        )
