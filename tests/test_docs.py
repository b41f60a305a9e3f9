"""The examples in the documentation run: their own tests, their configs, an update with them."""

import importlib
import math
import sys
from pathlib import Path
from pydoc import locate
from typing import Any

import pytest
import yaml

from doc_pages import DIALS, examples
from fit_parser import build_fit
from sampo.data.datamodule import RolloutDataModule
from sampo.losses import PolicyLoss
from sampo.module import SampoModule
from tiny import save_tiny_policy
from training import make_data, make_module, make_trainer


@pytest.fixture
def folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files of one page, importable."""
    for name, content in examples(request.param).items():
        (tmp_path / name).write_text(content)
        monkeypatch.delitem(sys.modules, Path(name).stem, raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> str:
    return save_tiny_policy(tmp_path_factory.mktemp("policy"))


def parts_of(built: Any) -> dict[str, Any]:
    """Return what a config chose on the four dials, by the names of the settings."""
    loss, data, judges = built.model.loss, built.data, built.data.judges
    return {
        "model.loss.ratio": loss.ratio,
        "model.loss.surrogate": loss.surrogate,
        "model.loss.aggregation": loss.aggregation,
        "model.loss.regulariser_aggregation": loss.regulariser_aggregation,
        "model.loss.kl_coef": loss.kl_coef,
        "model.batch_advantage": built.model.batch_advantage,
        "model.adaptive_kl": built.model.adaptive_kl,
        "data.advantage": data.advantage,
        "data.group_filter": judges.group_filter,
    }


def check_part(part: Any, spec: Any) -> None:
    """Check that an object is what a piece of YAML says."""
    if not isinstance(spec, dict):
        name = f"{type(part).__module__}.{type(part).__qualname__}"
        assert part == spec or name == spec
        return
    settings = spec.get("init_args", {}) if "class_path" in spec else spec
    if "class_path" in spec:
        assert isinstance(part, locate(spec["class_path"]))  # pyright: ignore[reportArgumentType]
    for key, value in settings.items():
        ours = getattr(part, key)
        if isinstance(value, list):
            for one, wanted in zip(ours, value, strict=True):
                check_part(one, wanted)
        else:
            check_part(ours, value)


def flat(config: dict[str, Any], names: set[str], prefix: str = "") -> dict[str, Any]:
    """Return what a config says of each of the named settings."""
    found: dict[str, Any] = {}
    for key, value in config.items():
        name = prefix + key
        found |= {name: value} if name in names else flat(value, names, f"{name}.")
    return found


def test_every_dial_has_a_whole_example() -> None:
    for page in DIALS:
        names = list(examples(page))
        module, test, config = names[:3]
        assert test == f"test_{module}" and config.endswith(".yaml")


@pytest.mark.parametrize("folder", DIALS, indirect=True)
def test_examples_pass_their_own_tests(folder: Path) -> None:
    checks = [
        check
        for path in folder.glob("test_*.py")
        for name, check in vars(importlib.import_module(path.stem)).items()
        if name.startswith("test_")
    ]
    assert checks
    for check in checks:
        check()


@pytest.mark.parametrize("folder", [*DIALS, "kl-and-entropy"], indirect=True)
def test_examples_are_what_their_configs_build_and_they_train(folder: Path, policy: str) -> None:
    (path,) = folder.glob("*.yaml")
    built = build_fit("--config=quickstart", f"--config={path}")
    parts = parts_of(built)
    chosen = flat(yaml.safe_load(path.read_text()), set(parts))
    assert chosen
    for name, spec in chosen.items():
        check_part(parts[name], spec)
    judge = built.data.judges.group_filter
    train(
        make_module(
            policy,
            loss=built.model.loss,
            batch_advantage=built.model.batch_advantage,
            adaptive_kl=built.model.adaptive_kl,
        ),
        make_data(policy, advantage=built.data.advantage, group_filter=judge, updates_per_epoch=1),
        folder,
    )


@pytest.mark.parametrize("folder", ["dial-1-aggregation"], indirect=True)
def test_an_aggregation_of_ones_own_trains(folder: Path, policy: str) -> None:
    own = importlib.import_module("length_power").LengthPower()
    data = make_data(policy, updates_per_epoch=1)
    train(make_module(policy, loss=PolicyLoss(aggregation=own)), data, folder)


def train(module: SampoModule, data: RolloutDataModule, folder: Path) -> None:
    """Train for an update."""
    trainer = make_trainer(folder, epochs=1)
    trainer.fit(module, datamodule=data)
    assert module.update_step == 1
    assert all(math.isfinite(value) for value in trainer.callback_metrics.values())
