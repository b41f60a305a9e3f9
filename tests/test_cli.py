"""The command line, driven for real: names, composition, saved configs, plain errors."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from sampo.checkpoint import load_checkpoint
from sampo.cli import main
from sampo.resources import list_configs
from small_run import small
from tiny import save_tiny_policy

EXPERIMENTS = [
    name
    for name in list_configs()
    if name == "quickstart" or ("experiments/" in name and "clone" not in name)
]


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> str:
    return save_tiny_policy(tmp_path_factory.mktemp("policy"))


def parsed(capsys: pytest.CaptureFixture[str], *args: str) -> dict:
    with pytest.raises(SystemExit) as stop:
        main([*args, "--print_config"])
    assert stop.value.code == 0
    return yaml.safe_load(capsys.readouterr().out)


def failure(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    """Return the one line that a failing command prints."""
    with pytest.raises(SystemExit) as stop:
        main([*args])
    assert stop.value.code not in (0, None)
    lines = capsys.readouterr().err.strip().splitlines()
    assert "Traceback" not in "\n".join(lines)
    assert lines[-1].startswith("sampo: error: ")
    return lines[-1]


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_complete_config_parses(capsys: pytest.CaptureFixture[str], name: str) -> None:
    config = parsed(capsys, "fit", "--config", name)
    assert config["data"]["env"]["class_path"]


def test_the_cloning_config_parses_and_plays_the_quickstarts_game(
    capsys: pytest.CaptureFixture[str],
) -> None:
    files = ["--config", "envs/sokoban_nano", "--config", "experiments/clone_sokoban_nano"]
    clone = parsed(capsys, "clone", *files)["data"]
    quickstart = parsed(capsys, "fit", "--config", "quickstart")["data"]
    for name in ("env", "context", "context_length", "eval_sampling", "evaluation", "workers"):
        assert clone[name] == quickstart[name]


def test_later_configs_and_options_win(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    first, second = tmp_path / "a.yaml", tmp_path / "b.yaml"
    first.write_text("data: {group_size: 4, groups_per_update: 5}\n")
    second.write_text("data: {group_size: 6, advantage: {class_path: sampo.advantages.GRPO}}\n")
    options = ["--config", "quickstart", "--config", str(first), "--config", str(second)]
    config = parsed(capsys, "fit", *options, "--data.groups_per_update", "7")
    assert config["data"]["group_size"] == 6
    assert config["data"]["groups_per_update"] == 7
    assert config["data"]["advantage"]["class_path"].endswith("GRPO")
    assert "gamma" not in config["data"]["advantage"]["init_args"]


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        (["--config", "quikstart"], "quickstart"),
        (["--model.learning_rat", "1"], "'model.learning_rate'"),
        (["--data.env.sise", "7"], "'size'"),
        (["--data.env", "sampo_envs.sokoban.SokobanEn"], "'SokobanEnv'"),
        (["--data.group_sizes", "1"], "data.group_size"),
        (["--data.context", "WindowContex"], "'WindowContext'"),
        (["--model.lr_schedule", "cosin"], "cosine"),
        (["--data.group_size", "many"], "group_size"),
        (["--data.context.history", "-1"], "at least 0"),
        (["--model.batch_advantage.lam", "0.9"], "choose one of its classes first: Ent"),
        (["--model.batch_advantage", "GAE", "--model.batch_advantage.lam", "7"], "lam=7.0 must"),
        (["--model.loss.masking.threshold", "-1"], "set it to 0 or more"),
    ],
)
def test_mistakes_get_one_sentence_with_the_nearest_name(
    capsys: pytest.CaptureFixture[str], options: list[str], hint: str
) -> None:
    assert hint in failure(capsys, "fit", "--config", "quickstart", *options)


def test_a_strategy_that_loses_the_policy_is_refused_before_a_process_starts(
    capsys: pytest.CaptureFixture[str],
) -> None:
    forked = ["--trainer.devices", "2", "--trainer.strategy", "ddp_fork"]
    message = failure(capsys, "fit", "--config", "quickstart", *forked)
    assert "Take ddp" in message and "fsdp2" in message


def test_an_output_folder_that_cannot_be_made(
    policy: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("in the way")
    options = small(policy, tmp_path / "file")
    assert "file" in failure(capsys, "fit", "--config", "quickstart", *options)


def test_an_environment_without_a_prompt_format(
    policy: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mute_env.py").write_text(
        "from sampo.envs import TextEnv\nclass Mute(TextEnv):\n    max_turns = 3\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    message = failure(capsys, "fit", "--config", "quickstart", "--data.env", "mute_env.Mute")
    assert "Mute has no prompt_format" in message


def test_an_existing_gymnasium_environment_by_its_id(policy: str, tmp_path: Path) -> None:
    config = tmp_path / "lake.yaml"
    config.write_text(
        "data: {env: {class_path: sampo.envs.GymnasiumTextEnv, init_args: {env_id: FrozenLake-v1, "
        "wrapper: sampo.envs.FrozenLakeText, max_turns: 2}}, context_length: 512}\n"
    )
    options = [option for option in small(policy, tmp_path) if "data.env" not in option]
    workers = ["--data.workers.num_workers=1"]
    main(["fit", "--config", "quickstart", "--config", str(config), *options, *workers])
    assert next(tmp_path.glob("*/version_0/checkpoints/last.ckpt")).is_file()


def test_an_environment_that_always_fails_stops_the_run_and_says_why(
    policy: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_env.py").write_text(
        "from sampo.envs import Corridor\n"
        "class Broken(Corridor):\n"
        "    def reset(self, *, seed=None, options=None):\n"
        "        raise RuntimeError('no simulator here')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    options = [option for option in small(policy, tmp_path) if "data.env" not in option]
    env = ["--data.env", "broken_env.Broken"]
    message = failure(capsys, "fit", "--config", "quickstart", *env, *options)
    assert "no simulator here" in message


def test_a_module_that_cannot_be_imported_is_told_from_one_that_is_not_there(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "needs_more.py").write_text("import a_package_that_is_not_there\n")
    monkeypatch.syspath_prepend(tmp_path)
    env = ["--data.env", "needs_more.Env"]
    assert "a_package_that_is_not_there" in failure(capsys, "fit", "--config", "quickstart", *env)


def test_a_key_mistyped_in_a_file_is_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    config = tmp_path / "mine.yaml"
    config.write_text("data: {group_sise: 4}\n")
    message = failure(capsys, "fit", "--config", "quickstart", "--config", str(config))
    assert "group_sise" in message and "data.group_size" in message


def test_fit_twice_then_evaluate_and_export(
    policy: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--config", "quickstart", *small(policy, tmp_path)]
    assert main(["fit", *options]) is None
    first = next(tmp_path.glob("*/version_0"))
    before = (first / "config.yaml").read_bytes()
    about = load_checkpoint(first / "checkpoints" / "last.ckpt")["sampo_run"]
    assert yaml.safe_load(about["config"]) == yaml.safe_load(before)
    assert (first / "hf" / "model.safetensors").is_file()
    assert list((first / "episodes").glob("*.jsonl"))
    summary = capsys.readouterr().out
    assert "version_0" in summary

    main(["fit", *options])
    assert next(tmp_path.glob("*/version_1")).is_dir()
    assert (first / "config.yaml").read_bytes() == before

    report = tmp_path / "report.json"
    saved = ["--config", str(first / "config.yaml")]
    main(["evaluate", *saved, "--ckpt_path", "last", f"--output={report}"])
    assert yaml.safe_load(report.read_text())["totals"]["episodes"] == 1
    assert "success rate" in capsys.readouterr().out

    main(["validate", *saved, "--ckpt_path", "last"])
    assert "eval/success_rate" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["validate", *saved, "--ckpt_path", str(tmp_path / "nowhere.ckpt")])
    capsys.readouterr()
    main(["export", *saved, "--ckpt_path", "last", f"--output={tmp_path / 'hf'}"])
    assert (tmp_path / "hf" / "model.safetensors").is_file()


def test_the_checkpoint_does_not_override_the_command_line(policy: str, tmp_path: Path) -> None:
    options = ["--config", "quickstart", *small(policy, tmp_path)]
    main(["fit", *options, "--model.learning_rate=0.001"])
    checkpoint = next(tmp_path.glob("*/version_0/checkpoints/last.ckpt"))
    resumed = ["--model.learning_rate=0.5", f"--ckpt_path={checkpoint}", "--trainer.max_epochs=2"]
    main(["fit", *options, *resumed])
    config = yaml.safe_load(next(tmp_path.glob("*/version_1/config.yaml")).read_text())
    assert config["model"]["learning_rate"] == 0.5


def test_missing_and_damaged_checkpoints(
    policy: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["fit", "--config", "quickstart", *small(policy, tmp_path), "--ckpt_path"]
    assert "no checkpoint" in failure(capsys, *options, str(tmp_path / "nowhere.ckpt"))
    damaged = tmp_path / "damaged.ckpt"
    damaged.write_bytes(b"\x80not a checkpoint")
    assert "damaged" in failure(capsys, *options, str(damaged))
    assert "no checkpoint to continue from" in failure(capsys, *options, "last")


def test_the_console_script_exits_with_zero() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "sampo", "--help"], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0
    for name in ("fit", "validate", "evaluate", "collect", "clone", "export", "view"):
        assert name in result.stdout
