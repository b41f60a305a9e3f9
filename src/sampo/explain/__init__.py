"""What a config optimises, before anything runs: `sampo explain`.

Works on the instantiated and not loaded module and data module: no weights, no workers, no
rollouts, no run folder. `formula` is open to classes of one's own.
"""

from __future__ import annotations

# Imported for the formulas that they register.
from sampo.explain import advantages as _advantages  # noqa: F401
from sampo.explain import surrogates as _surrogates  # noqa: F401
from sampo.explain.cautions import Caution, cautions
from sampo.explain.formula import Definition, Formula, formula
from sampo.explain.run import Run
from sampo.explain.screen import screen

__all__ = ["Caution", "Definition", "Formula", "Run", "cautions", "formula", "screen"]
