"""Every shipped method: what its fragment says, whatever came before it, and that it trains."""

import math
from functools import cache
from pathlib import Path
from pydoc import locate
from typing import Any

import pytest
import torch
import yaml

from fit_parser import build_fit, fit_parser, parse_fit
from sampo.losses import Aggregation, KLPenalty, PolicyLoss, Ratio, SequenceMask, ValueLoss
from sampo.models.policy import Policy
from sampo.resources import find_config, list_configs
from tiny import save_tiny_policy
from training import make_trainer

NAMES = [name.split("/")[1] for name in list_configs() if name.startswith("algorithms/")]
IN_DEFAULT_SUITE = {"sampo", "ppo", "empg", "aepo", "grpo_sm"}

TOKEN, TURN = "token", "turn"
MEAN, SEQUENCES, BY_LENGTH = "token_mean", "sequence_mean_token_mean", "sum_over_max_length"
TABLE = {
    # method: ratio, surrogate, aggregation, masked, advantage, second stage, filter
    "grpo": (TOKEN, "Clip", MEAN, False, "GRPO", None, "KeepAll"),
    "grpo_st": (TOKEN, "Clip", SEQUENCES, False, "GRPO", None, "KeepAll"),
    "grpo_sm": (TOKEN, "Clip", MEAN, True, "GRPO", None, "KeepAll"),
    "vanilla_grpo": (TOKEN, "Clip", MEAN, False, "GRPO", None, "KeepAll"),
    "drgrpo": (TOKEN, "Clip", BY_LENGTH, False, "GRPO", None, "KeepAll"),
    "gspo": (TURN, "Clip", SEQUENCES, False, "GRPO", None, "KeepAll"),
    "sapo": (TOKEN, "SoftGate", MEAN, False, "GRPO", None, "KeepAll"),
    "sapo_sm": (TOKEN, "SoftGate", MEAN, True, "GRPO", None, "KeepAll"),
    "cispo": (TOKEN, "DetachedClip", MEAN, False, "GRPO", None, "KeepAll"),
    "cispo_sm": (TOKEN, "DetachedClip", MEAN, True, "GRPO", None, "KeepAll"),
    "dapo": (TOKEN, "Clip", MEAN, False, "GRPO", None, "SpreadFilter"),
    "dapo_gigpo": (TOKEN, "Clip", MEAN, False, "GiGPO", None, "SpreadFilter"),
    "gigpo": (TOKEN, "Clip", MEAN, False, "GiGPO", None, "KeepAll"),
    "empg": (TOKEN, "Clip", MEAN, False, "GRPO", "EntropyModulation", "KeepAll"),
    "aepo": (TOKEN, "EntropyBalanced", MEAN, False, "GRPO", None, "KeepAll"),
    "gmpo": (TURN, "GeometricMean", SEQUENCES, False, "GRPO", None, "KeepAll"),
    "rloo": (TOKEN, "Clip", MEAN, False, "RLOO", None, "KeepAll"),
    "reinforce_pp": (TOKEN, "Clip", MEAN, False, "TurnScore", "Whiten", "KeepAll"),
    "reinforce_pp_baseline": (TOKEN, "Clip", MEAN, False, "GRPO", "Whiten", "KeepAll"),
    "remax": (TOKEN, "Clip", MEAN, False, "ReMax", None, "KeepAll"),
    "ppo": (TOKEN, "Clip", MEAN, False, "TurnReward", "GAE", "KeepAll"),
    "pass_at_k": (TOKEN, "Clip", MEAN, False, "PassAtK", None, "KeepAll"),
    "sampo": (TURN, "Clip", SEQUENCES, False, "GiGPO", None, "SpreadFilter"),
}
"""The paper's Table 1 and the other methods of its code. GSPO's and SAMPO's aggregation is the
code's; the table writes the mean over tokens."""

CONTRARY = """
model:
  loss:
    ratio: {level: episode, length_normalise: false}
    surrogate: {class_path: Clip, init_args: {clip_low: 0.9, clip_high: 0.8, dual_clip: 9.0}}
    aggregation: {kind: sum_over_max_length, level: episode, max_length: 7}
    masking: {threshold: 0.5, level: episode, denominator: all}
    kl: {kind: k1, gradient: k2}
    kl_coef: 0.7
    value: {coef: 9.0, clip: null}
  batch_advantage:
    class_path: GAE
    init_args: {gamma: 0.5, lam: 0.5, chain: turn, whiten: false, kl_coef: 0.5}
data:
  advantage:
    class_path: GiGPO
    init_args: {gamma: 0.1, step_weight: 9.0, normalise: mean, baseline_over: episodes}
  group_filter: {class_path: SpreadFilter, init_args: {criterion: success, tolerance: 0.5}}
  max_filter_rounds: 9
  shaping: {class_path: OverlongPenalty, init_args: {factor: 3.0}}
"""
"""Says the opposite of every fragment, on every dial, with the classes that most of them use."""


@cache
def read(name: str) -> dict[str, Any]:
    return yaml.safe_load(find_config(f"algorithms/{name}").read_text())


def made(spec: dict[str, Any] | None) -> Any:
    """Return the object that a fragment's text alone describes."""
    return spec and locate(spec["class_path"])(**spec.get("init_args", {}))


def check_dials(name: str, built: Any, *, reply_limit: int) -> None:
    """Check that the dials are what the fragment's text alone says, and nothing else."""
    model, data = read(name)["model"], read(name)["data"]
    loss = model["loss"]
    expected = PolicyLoss(
        ratio=Ratio(**loss["ratio"]),
        surrogate=made(loss["surrogate"]),
        aggregation=Aggregation(**loss["aggregation"]),
        masking=loss["masking"] and SequenceMask(**loss["masking"]),
        kl=KLPenalty(**loss["kl"]),
        kl_coef=loss["kl_coef"],
        value=loss["value"] and ValueLoss(**loss["value"]),
    )
    assert built.model.loss == expected.with_reply_limit(reply_limit)
    assert built.model.batch_advantage == made(model["batch_advantage"])
    assert built.data.advantage == made(data["advantage"])
    assert built.data.judges.group_filter == made(data["group_filter"])
    assert built.data.plan.max_rounds == data["max_filter_rounds"]
    assert built.data.shaping == made(data["shaping"])


def test_the_table_is_complete() -> None:
    assert set(NAMES) == set(TABLE)


@pytest.mark.parametrize(
    ("base", "reply_limit"),
    [("quickstart", 8), pytest.param("envs/sokoban", 512, marks=pytest.mark.slow)],
)
@pytest.mark.parametrize("name", NAMES)
def test_a_fragment_means_what_it_says_after_any_other(
    name: str, base: str, reply_limit: int, tmp_path: Path
) -> None:
    contrary = tmp_path / "contrary.yaml"
    contrary.write_text(CONTRARY)
    built = build_fit(*(f"--config={c}" for c in (base, contrary, f"algorithms/{name}")))
    check_dials(name, built, reply_limit=reply_limit)
    assert type(built.data.player.env).__name__ == "SokobanEnv"
    loss, data = built.model.loss, built.data
    stage = built.model.batch_advantage
    assert TABLE[name] == (
        loss.ratio.level,
        type(loss.surrogate).__name__,
        loss.aggregation.kind,
        loss.masking is not None,
        type(data.advantage).__name__,
        stage and type(stage).__name__,
        type(data.judges.group_filter).__name__,
    )


@pytest.mark.parametrize("name", ["ppo", "grpo_sm", "drgrpo"])
def test_a_saved_config_gives_it_back(name: str, tmp_path: Path) -> None:
    saved = tmp_path / "config.yaml"
    saved.write_text(
        fit_parser().dump(parse_fit("--config=quickstart", f"--config=algorithms/{name}"))
    )
    check_dials(name, build_fit("--config=algorithms/sampo", f"--config={saved}"), reply_limit=8)


def test_environments_and_methods_have_no_setting_in_common() -> None:
    def keys(config: dict[str, Any]) -> set[str]:
        return {f"{group}.{key}" for group, settings in config.items() for key in settings}

    methods = set().union(*(keys(read(name)) for name in NAMES))
    for name in list_configs():
        if name.startswith("envs/"):
            assert not methods & keys(yaml.safe_load(find_config(name).read_text()))


@pytest.mark.parametrize("name", NAMES)
def test_a_fragment_is_short_and_says_how_it_is_used(name: str) -> None:
    lines = find_config(f"algorithms/{name}").read_text().splitlines()
    assert len(lines) <= 18
    assert f"#   sampo fit --config quickstart --config algorithms/{name}" in lines


def test_the_numbers_of_the_paper() -> None:
    def args(name: str, part: str = "surrogate") -> dict[str, Any]:
        return read(name)["model"]["loss"][part].get("init_args", read(name)["model"]["loss"][part])

    for name in ("gspo", "sampo"):
        assert args(name) == {"clip_low": 0.003, "clip_high": 0.004, "dual_clip": None}
    for name in ("grpo", "grpo_st", "grpo_sm", "gigpo", "dapo", "dapo_gigpo", "empg"):
        assert args(name) == {"clip_low": 0.2, "clip_high": 0.2, "dual_clip": 3.0}
    for name in ("sapo", "sapo_sm"):
        assert (args(name)["tau_positive"], args(name)["tau_negative"]) == (1.0, 1.05)
    for name in ("cispo", "cispo_sm"):
        assert args(name) == {"clip_low": 1.0, "clip_high": 0.2}
    for name in ("grpo_sm", "sapo_sm", "cispo_sm"):
        mask = {"threshold": 0.003, "level": "turn", "denominator": "surviving"}
        assert args(name, "masking") == mask
    for name in NAMES:
        assert args(name, "kl")["kind"] == "k3" and read(name)["model"]["loss"]["kl_coef"] == 0.01


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> str:
    return save_tiny_policy(tmp_path_factory.mktemp("policy"))


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[] if n in IN_DEFAULT_SUITE else pytest.mark.slow) for n in NAMES],
)
def test_a_fragment_trains(name: str, policy: str, tmp_path: Path) -> None:
    built = build_fit(
        "--config=quickstart",
        f"--config=algorithms/{name}",
        f"--model.policy={policy}",
        "--model.num_mini_batches=2",
        "--model.warmup_updates=0",
        "--data.env=sampo.envs.Corridor",
        "--data.env.length=4",
        "--data.env.max_turns=4",
        "--data.env.prompt_format=anything_goes.AnythingGoes",
        "--data.sampling.max_new_tokens=2",
        "--data.eval_sampling.max_new_tokens=2",
        "--data.context_length=200",
        "--data.groups_per_update=3",
        "--data.group_size=4",
        "--data.updates_per_epoch=2",
        "--data.evaluation.num_tasks=1",
        "--data.workers.num_workers=0",
    )
    trainer = make_trainer(tmp_path, epochs=1)
    trainer.fit(built.model, datamodule=built.data)
    assert built.model.update_step == 2
    metrics = trainer.callback_metrics
    assert all(math.isfinite(value) for value in metrics.values())
    assert metrics["train/skipped_steps"] == 0
    assert metrics["train/grad_norm"] > 0
    before = Policy.load(policy).state_dict()
    after = built.model.policy.state_dict()
    moved = [key for key in before if not torch.equal(before[key], after[key])]
    assert len(moved) > len(before) / 2
