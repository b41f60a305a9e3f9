"""Runs to be explained: real modules and data modules, with nothing loaded."""

from collections.abc import Callable
from typing import Any

import pytest

from sampo.advantages import GiGPO
from sampo.data.datamodule import RolloutDataModule
from sampo.envs import Corridor
from sampo.explain import Run
from sampo.explain.objective import objective
from sampo.filtering import SpreadFilter
from sampo.losses import PolicyLoss
from sampo.module import SampoModule
from sampo.rollout.conversation import WindowContext
from sampo.rollout.engine import SamplingParams
from sampo.rollout.transformers_engine import TransformersEngine

MakeRun = Callable[..., Run]


@pytest.fixture
def make_run() -> MakeRun:
    """Return a maker of SAMPO runs: 16 tasks x 8 episodes x 15 turns x 64 tokens, 4 steps."""

    def make(loss: PolicyLoss | None = None, updates: int | None = 200, **settings: Any) -> Run:
        mine = {name: value for name, value in settings.items() if name in MODEL}
        data: dict[str, Any] = {
            "env": Corridor(max_turns=15),
            "tokenizer": "nowhere",
            "engine": TransformersEngine(),
            "context": WindowContext(),
            "advantage": GiGPO(),
            "group_filter": SpreadFilter(),
            "sampling": SamplingParams(max_new_tokens=64),
        }
        data |= {name: value for name, value in settings.items() if name not in MODEL}
        model = SampoModule("nowhere", loss or PolicyLoss(), **{"num_mini_batches": 4, **mine})
        return Run(model=model, data=RolloutDataModule(**data), updates=updates)

    return make


class Written:
    """The objective of a run as text."""

    def __init__(self, run: Run) -> None:
        self.objective = objective(run)

    @property
    def line(self) -> str:
        """The formula, without a line break."""
        return " ".join(" ".join(self.objective.lines(10_000)).split())

    @property
    def symbols(self) -> list[str]:
        """What is defined below it."""
        return [line.symbol for line in self.objective.where]

    def meaning(self, symbol: str) -> str:
        """Return the definition of a symbol and its words."""
        (line,) = (line for line in self.objective.where if line.symbol == symbol)
        return f"{line.formula}   {line.words}".strip()


@pytest.fixture
def written(make_run: MakeRun) -> Callable[..., Written]:
    """Return a maker of objectives; settings as those of `make_run`."""
    return lambda *args, **settings: Written(make_run(*args, **settings))


MODEL = (
    "batch_advantage",
    "adaptive_kl",
    "num_mini_batches",
    "mini_batch_rows",
    "epochs",
    "shuffle",
    "reference",
    "max_new_tokens",
    "value_learning_rate",
    "gradient_checkpointing",
)
