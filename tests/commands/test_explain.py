"""`sampo explain`, driven for real: every algorithm, nothing loaded, plain refusals."""

from pathlib import Path

import lightning as L
import pytest

from sampo.cli import SampoCLI, main
from sampo.commands.explain import updates_of
from sampo.resources import list_configs

PAGE = Path(__file__).parents[2] / "docs" / "explain.md"
ALGORITHMS = [name for name in list_configs() if name.startswith("algorithms/")]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the parsers of the other subcommands: they take most of the time."""
    arguments = SampoCLI.subcommands()["explain"]
    monkeypatch.setattr(SampoCLI, "subcommands", staticmethod(lambda: {"explain": arguments}))


def explained(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    main(["explain", "--config", "quickstart", *args])
    return capsys.readouterr().out


def test_the_quickstart(capsys: pytest.CaptureFixture[str], monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    lines = explained(capsys).splitlines()
    assert lines[0] == "nano-sokoban on SokobanEnv, 100 updates"
    assert (
        "  L = 1/N Σ_i 1/T_i Σ_t [ max(−A_i s_i, −A_i clip(s_i, 0.95, 1.06)) + 0.01 k3_t ]"
    ) in lines
    assert lines[-1] == "Warnings: none."
    assert all(line == line.rstrip() for line in lines)


@pytest.mark.usefixtures("quick")
def test_the_page_shows_what_the_command_prints(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """To renew docs/explain.md, put the output at 80 columns in place of the old one."""
    command, shown = PAGE.read_text().split("$ sampo explain ")[1].split("```")[0].split("\n", 1)
    monkeypatch.setenv("COLUMNS", "80")
    main(["explain", *command.split()])
    assert capsys.readouterr().out == shown


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_is_explained(capsys: pytest.CaptureFixture[str], name: str) -> None:
    text = explained(capsys, "--config", name)
    assert "  L = " in text
    assert "Warnings: " in text


def test_nothing_is_loaded_or_written(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = explained(capsys, "--model.policy", "nobody/has-this-policy")
    assert text.startswith("nobody/has-this-policy on SokobanEnv")
    assert list(tmp_path.iterdir()) == []


def test_the_config_of_a_fit_serves(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with pytest.raises(SystemExit):
        main(["fit", "--config", "quickstart", "--print_config"])
    config = tmp_path / "config.yaml"
    config.write_text(capsys.readouterr().out)
    main(["explain", "--config", str(config)])
    assert "100 updates" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--model.loss.kl_coef", "-1"], "must be 0 or more"),
        (["--model.reference", "false"], "keep the reference"),
        (["--model.mini_batch_rows", "64"], "same thing in two ways"),
        (["--model.epochs", "0"], "at least 1"),
        (["--model.loss.surrogate.clip_low", "2"], "0 <= clip_low <= 1"),
        (
            ["--model.loss.surrogate", "GeometricMean", "--model.loss.ratio.level", "token"],
            "set loss.ratio.level to turn",
        ),
        (["--model.batch_advantage", "GAE"], "needs a value head"),
        (["--model.adaptive_kl.target", "0.1", "--model.loss.kl_coef", "0"], "which is 0"),
        (["--data.group_size", "0"], "at least 1"),
        (["--data.sampling.temperature", "0"], "the policy's own distribution"),
        (["--data.sampling.top_p", "0.9"], "the policy's own distribution"),
        (["--data.sampling.top_k", "5"], "the policy's own distribution"),
        (["--data.group_filter", "SpreadFiltr"], "'SpreadFilter'"),
    ],
)
@pytest.mark.usefixtures("quick")
def test_what_cannot_work_is_refused_in_a_sentence(
    capsys: pytest.CaptureFixture[str], options: list[str], reason: str
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["explain", "--config", "quickstart", *options])
    captured = capsys.readouterr()
    assert stop.value.code in (1, 2)
    assert captured.out == ""
    assert captured.err.strip().splitlines()[-1].startswith("sampo: error: ")
    assert reason in captured.err


class Epochs:
    updates_per_epoch = 10


@pytest.mark.parametrize(
    ("options", "updates"),
    [
        ({"max_epochs": 3}, 30),
        ({"max_epochs": 3, "limit_train_batches": 4}, 12),
        ({"max_epochs": 3, "limit_train_batches": 0.5}, 15),
        ({"max_epochs": 3, "limit_train_batches": 99}, 30),
        ({"max_epochs": -1}, None),
    ],
)
def test_length_of_a_run(options: dict[str, float], updates: int | None) -> None:
    trainer = L.Trainer(logger=False, enable_checkpointing=False, accelerator="cpu", **options)
    assert updates_of(trainer, Epochs()) == updates
