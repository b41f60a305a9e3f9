"""Where the paper and its released code differ, and on which side a config is.

Only what the config touches. The facts are those of `docs/objective.md`.
"""

from __future__ import annotations

from sampo.explain.data_differences import DATA_POINTS
from sampo.explain.difference import Difference
from sampo.explain.loss_differences import LOSS_POINTS
from sampo.explain.run import Run


def differences(run: Run) -> list[Difference]:
    """Return the points on which a config takes a side, in the order of the dials."""
    found = (point(run) for point in (*LOSS_POINTS, *DATA_POINTS))
    return [difference for difference in found if difference is not None]
