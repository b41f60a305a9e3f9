"""Seeing a collapse come: typed rules over the signals of a run, and a machine of four stages.

Pure: numbers in, alarms out. `callbacks.CollapseDetector` feeds it and acts on what it says.
"""

from sampo.collapse.default_rules import default_rules
from sampo.collapse.monitor import CollapseMonitor
from sampo.collapse.robust import slope
from sampo.collapse.rules import Above, Below, Drop, Judgement, Jump, NonFinite, Rule, Slope
from sampo.collapse.stages import Alarm, Stage

__all__ = [
    "Above",
    "Alarm",
    "Below",
    "CollapseMonitor",
    "Drop",
    "Judgement",
    "Jump",
    "NonFinite",
    "Rule",
    "Slope",
    "Stage",
    "default_rules",
    "slope",
]
