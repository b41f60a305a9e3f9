"""Mistakes on the command line: one plain sentence each, and exit status 2."""

from pathlib import Path

import pytest

from fit_parser import parse_fit
from sampo.cli import main

SURROGATES = "Clip, DetachedClip, EntropyBalanced, GeometricMean, Reinforce, SoftGate, Unclipped."


def refused(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    """Return the sentence with which options are refused."""
    with pytest.raises(SystemExit) as stop:
        parse_fit("--config=quickstart", *options)
    assert stop.value.code == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    return line.removeprefix("sampo: error: ")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            ["--model.loss.surrogate", "GRPO"],
            f"model.loss.surrogate: GRPO is no Surrogate; set one of {SURROGATES}",
        ),
        (
            ["--model.loss.surrogate", "sampo.advantages.GRPO"],
            f"model.loss.surrogate: GRPO is no Surrogate; set one of {SURROGATES}",
        ),
        (
            ["--model.batch_advantage", "GRPO"],
            "model.batch_advantage: GRPO is no BatchAdvantage; set one of EntropyModulation, GAE, "
            "KLReward, Whiten.",
        ),
        (["--trainer.logger", "GRPO"], "trainer.logger: GRPO is no Logger."),
        (
            ["--model.loss.surrogate", "Clop"],
            "model.loss.surrogate: there is no class 'Clop'. Did you mean 'Clip'?",
        ),
        (
            ["--model.loss.surrogate", "sampo.loss.Clip"],
            "model.loss.surrogate: there is no class 'sampo.loss.Clip'. Did you mean 'Clip'?",
        ),
        (
            ["--model.loss.surrogate", "5"],
            f"model.loss.surrogate: there is no class '5'; set one of {SURROGATES}",
        ),
    ],
)
def test_classes(capsys: pytest.CaptureFixture[str], options: list[str], sentence: str) -> None:
    assert refused(capsys, *options) == sentence


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            ["--data.advantage", "sampo.advantages.GRPO", "--data.advantage.gamma", "0.9"],
            "GRPO has no setting 'gamma'; it has baseline_over, divide_by_std, singleton.",
        ),
        (
            ["--data.advantage.gama", "0.9"],
            "GiGPO has no setting 'gama'. Did you mean 'gamma'?",
        ),
        (
            ["--data.advantage", "TurnReward", "--data.advantage.gamma", "0.9"],
            "TurnReward has no setting 'gamma'; it has none at all.",
        ),
    ],
)
def test_settings_of_a_class(
    capsys: pytest.CaptureFixture[str], options: list[str], sentence: str
) -> None:
    assert refused(capsys, *options) == sentence


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        (
            "model.loss",
            "model.loss: must not be null; leave it out, or set what is in it: ratio, surrogate, "
            "aggregation, masking, correction, kl, kl_coef, entropy_coef, "
            "regulariser_aggregation, value.",
        ),
        (
            "model.loss.ratio",
            "model.loss.ratio: must not be null; leave it out, or set what is in it: level, "
            "length_normalise, log_min, log_max.",
        ),
        (
            "model.loss.kl",
            "model.loss.kl: must not be null; leave it out, or set what is in it: kind, gradient.",
        ),
        (
            "model.loss.surrogate",
            f"model.loss.surrogate: must not be null; set one of {SURROGATES}",
        ),
        (
            "data.advantage",
            "data.advantage: must not be null; set one of GRPO, GiGPO, PassAtK, RLOO, ReMax, "
            "TurnReward, TurnScore.",
        ),
        (
            "data.group_filter",
            "data.group_filter: must not be null; set one of AccuracyBand, AllOf, KeepAll, "
            "SpreadFilter.",
        ),
        ("model.loss.kl_coef", "model.loss.kl_coef: expected float, got null."),
    ],
)
def test_null(capsys: pytest.CaptureFixture[str], name: str, sentence: str) -> None:
    assert refused(capsys, f"--{name}", "null") == sentence


def test_null_in_a_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    config = tmp_path / "mine.yaml"
    config.write_text("data: {group_filter: null}\n")
    sentence = "data.group_filter has no value, or null; set one of AccuracyBand, AllOf, KeepAll, "
    assert refused(capsys, f"--config={config}") == sentence + "SpreadFilter."


def test_environments_for_tests_are_not_offered(capsys: pytest.CaptureFixture[str]) -> None:
    import sampo.doctor.runaway_env  # noqa: F401

    sentence = refused(capsys, "--data.env", "null")
    assert "Corridor" in sentence and "Runaway" not in sentence


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("model.max_new_tokens", "data.sampling.max_new_tokens"),
        ("model.temperature", "data.sampling.temperature"),
        ("data.tokenizer", "model.policy"),
    ],
)
def test_linked_settings(capsys: pytest.CaptureFixture[str], name: str, source: str) -> None:
    assert refused(capsys, f"--{name}", "5") == f"{name} is linked to {source}; set {source}."


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (
            "sapo",
            "model.loss.kl: 'sapo' is no group of settings; set what is in it: kind, gradient.",
        ),
        ('{"gradient": "k9"}', "model.loss.kl.gradient: 'k9' is none of estimator, k2, "),
    ],
)
def test_values_of_a_group(capsys: pytest.CaptureFixture[str], value: str, sentence: str) -> None:
    assert refused(capsys, "--model.loss.kl", value).startswith(sentence)


def test_a_null_inside_of_a_setting_that_may_be_null_is_one_sentence(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(
            ["explain", "--config=quickstart", "--config=algorithms/grpo_sm"]
            + ["--model.loss.masking.threshold=null"]
        )
    assert stopped.value.code == 1
    lines = capsys.readouterr().err.strip().splitlines()
    assert lines[-1].startswith("sampo: error: (threshold=None, level='turn'")
    assert "does not fit: '>=' not supported" in lines[-1]
