"""Naming a class starts it afresh, in files and on the command line; everything else merges."""

import re
from pathlib import Path

import pytest
import yaml
from jsonargparse import Namespace

from fit_parser import build_fit, parse_fit
from sampo.cli_configs import forget_replaced
from sampo.errors import ConfigError


def files(folder: Path, *configs: object) -> list[str]:
    """Return the options that apply the configs one after another."""
    options: list[str] = []
    for number, config in enumerate(configs):
        path = folder / f"{number}.yaml"
        path.write_text(yaml.safe_dump(config))
        options += ["--config", str(path)]
    return options


def surrogate(spec: object) -> dict:
    return {"model": {"loss": {"surrogate": spec}}}


CLIP = surrogate({"class_path": "Clip", "init_args": {"clip_low": 0.9, "dual_clip": 7.0}})


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        ({"class_path": "sampo.losses.Clip"}, (0.2, 0.2, None)),
        ({"class_path": "Clip", "init_args": {"clip_high": 0.3}}, (0.2, 0.3, None)),
        ("Clip", (0.2, 0.2, None)),
        ({"init_args": {"clip_high": 0.3}}, (0.9, 0.3, 7.0)),
        ({"clip_high": 0.3}, (0.9, 0.3, 7.0)),
    ],
    ids=["class", "class and arguments", "short name", "init_args alone", "arguments alone"],
)
def test_the_same_class(tmp_path: Path, second: object, expected: tuple) -> None:
    loss = parse_fit("--config=quickstart", *files(tmp_path, CLIP, surrogate(second))).model.loss
    args = loss.surrogate.init_args
    assert loss.surrogate.class_path == "sampo.losses.Clip"
    assert (args.clip_low, args.clip_high, args.dual_clip) == expected


@pytest.mark.parametrize("second", ["DetachedClip", {"class_path": "sampo.losses.DetachedClip"}])
def test_another_class_with_arguments_of_the_same_name(tmp_path: Path, second: object) -> None:
    loss = parse_fit("--config=quickstart", *files(tmp_path, CLIP, surrogate(second))).model.loss
    assert loss.surrogate.class_path == "sampo.losses.DetachedClip"
    assert vars(loss.surrogate.init_args) == {"clip_low": 1.0, "clip_high": 0.2}


def test_classes_within_classes(tmp_path: Path) -> None:
    prompt = {"class_path": "sampo_envs.sokoban.SokobanPrompt", "init_args": {"think": "optional"}}
    env = {"class_path": "sampo_envs.sokoban.SokobanEnv", "init_args": {"prompt_format": prompt}}
    again = {"init_args": {"prompt_format": {"class_path": prompt["class_path"]}}}
    one = {"init_args": {"prompt_format": {"init_args": {"first": "Go."}}}}
    first = {"data": {"env": env}}

    def inner(*later: object) -> Namespace:
        configs = files(tmp_path, first, *({"data": {"env": config}} for config in later))
        return parse_fit("--config=quickstart", *configs).data.env.init_args.prompt_format.init_args

    assert inner().think == "optional"
    assert inner(one).think == "optional" and inner(one).first == "Go."
    assert inner(again).think == "required"
    assert inner(one, again).first == ""
    whole = parse_fit("--config=quickstart", *files(tmp_path, first, {"data": {"env": env}}))
    assert whole.data.env.init_args.rendering != "relative"  # the quickstart's, of the same class


def test_lists_are_replaced_whole(tmp_path: Path) -> None:
    def log(**args: object) -> dict:
        writer = {"class_path": "sampo.callbacks.EpisodeWriter", "init_args": args}
        return {"trainer": {"callbacks": [writer]}}

    parsed = parse_fit(
        *files(tmp_path, log(keep_updates=3), log(with_ids=True)), "--data.env=Corridor"
    )
    (writer,) = parsed.trainer.callbacks
    assert (writer.init_args.keep_updates, writer.init_args.with_ids) == (50, True)


def test_groups_without_a_class_merge_key_by_key(tmp_path: Path) -> None:
    first = {
        "model": {"loss": {"ratio": {"length_normalise": False}, "masking": {"threshold": 0.5}}}
    }
    second = {"model": {"loss": {"ratio": {"level": "token"}, "masking": {"level": "episode"}}}}
    loss = parse_fit("--config=quickstart", *files(tmp_path, first, second)).model.loss
    assert (loss.ratio.level, loss.ratio.length_normalise) == ("token", False)
    assert (loss.masking.threshold, loss.masking.level) == (0.5, "episode")


def test_an_option_that_names_a_class(tmp_path: Path) -> None:
    clip = ["--config=quickstart", *files(tmp_path, CLIP)]
    same = parse_fit(*clip, "--model.loss.surrogate", "sampo.losses.Clip").model.loss.surrogate
    assert vars(same.init_args) == {"clip_low": 0.2, "clip_high": 0.2, "dual_clip": None}
    other = parse_fit(*clip, "--model.loss.surrogate=DetachedClip").model.loss.surrogate
    assert vars(other.init_args) == {"clip_low": 1.0, "clip_high": 0.2}
    options = ["--model.loss.surrogate", "Clip", "--model.loss.surrogate.clip_high", "0.3"]
    args = parse_fit(*clip, *options).model.loss.surrogate.init_args
    assert (args.clip_low, args.clip_high) == (0.2, 0.3)
    single = parse_fit(*clip, "--model.loss.surrogate.clip_high=0.3").model.loss.surrogate.init_args
    assert (single.clip_low, single.clip_high, single.dual_clip) == (0.9, 0.3, 7.0)


def test_an_option_within_a_class() -> None:
    prompt = "--data.env.prompt_format"
    named = [f"{prompt}=sampo_envs.sokoban.SokobanPrompt", f"{prompt}.think=optional"]
    sokoban = ["--config=envs/sokoban", *named]
    assert parse_fit(*sokoban).data.env.init_args.prompt_format.init_args.think == "optional"
    afresh = parse_fit(*sokoban, named[0]).data.env.init_args
    assert afresh.prompt_format.init_args.think == "required" and afresh.rendering == "grid"


def test_short_class_names() -> None:
    context = parse_fit("--config=quickstart", "--data.context", "TranscriptContext").data.context
    assert context.class_path.endswith(".TranscriptContext")


def test_another_environment_keeps_its_own_prompt() -> None:
    env = parse_fit("--config=envs/sokoban", "--data.env", "sampo.envs.Corridor").data.env
    assert env.init_args.prompt_format is None


def test_linked_settings_follow() -> None:
    sampling = ["--data.sampling.temperature=0.5", "--data.sampling.max_new_tokens=7"]
    model = build_fit("--config=quickstart", *sampling).model
    assert (model.hparams.temperature, model.hparams.max_new_tokens) == (0.5, 7)


def test_appending_to_a_list_keeps_it() -> None:
    base = parse_fit("--config=quickstart").trainer.callbacks
    more = parse_fit("--config=quickstart", "--trainer.callbacks+=WeightSync").trainer.callbacks
    assert more[:-1] == base and len(more) == len(base) + 1


@pytest.mark.parametrize("given", [None, 3, "text", ["list"]])
def test_what_is_no_mapping_forgets_nothing(given: object) -> None:
    chosen = Namespace(a=Namespace(class_path="A", init_args=Namespace(b=1)))
    before = chosen.clone()
    forget_replaced(chosen, given)
    forget_replaced(chosen, {"a": 3, "unknown": {"b": 1}})
    assert chosen == before


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ({"model": {"loss": None}}, "0.yaml: model.loss must not be null; leave it out"),
        ({"model": {"loss": {"ratio": None}}}, "0.yaml: model.loss.ratio must not be null"),
        (
            {"model": {"max_new_tokens": 5}},
            "0.yaml: model.max_new_tokens is linked to data.sampling.max_new_tokens; set that.",
        ),
        ({"data": {"tokenizer": "x"}}, "0.yaml: data.tokenizer is linked to model.policy"),
    ],
)
def test_what_would_be_ignored_is_refused(tmp_path: Path, config: object, sentence: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(sentence)):
        parse_fit("--config=quickstart", *files(tmp_path, config))


def test_what_may_be_null_can_be(tmp_path: Path) -> None:
    nulls = {"model": {"loss": {"masking": None, "value": None}}, "data": {"shaping": None}}
    loss = parse_fit(
        "--config=quickstart", "--config=algorithms/grpo_sm", *files(tmp_path, nulls)
    ).model.loss
    assert loss.masking is None and loss.value is None
