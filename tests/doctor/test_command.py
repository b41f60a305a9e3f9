"""`sampo doctor` as a user runs it: what it prints, and the exit status."""

import subprocess
import sys
from pathlib import Path

import pytest

from sampo.cli import main


def options(policy: str, folder: Path) -> list[str]:
    return [
        "doctor",
        "--config=quickstart",
        f"--model.policy={policy}",
        f"--trainer.logger.init_args.save_dir={folder}",
        "--data.env=sampo.envs.Corridor",
        "--data.sampling.max_new_tokens=2",
        "--data.eval_sampling.max_new_tokens=2",
        "--data.workers.num_workers=0",
        "--data.context_length=1024",
    ]


def test_a_healthy_config_exits_with_zero(
    policy: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(options(policy, tmp_path / "runs")) is None
    printed = capsys.readouterr().out
    assert "14 ok, 2 skipped, 0 FAILED" in printed
    assert not (tmp_path / "runs").exists()


def test_a_sick_config_exits_with_one_and_says_what_to_do(
    policy: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main([*options(policy, tmp_path), "--data.context_length=4000", "--data.env.length=3"])
    assert stop.value.code == 1
    printed, error = capsys.readouterr()
    assert error.strip().splitlines()[-1] == "sampo: error: 1 of 16 checks failed: lengths."
    assert "fix: Set --data.context_length 2048 or less." in printed
    assert "Traceback" not in printed + error


def test_workers_import_the_runaway_without_torch() -> None:
    program = "import sys, sampo.doctor.runaway_env; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
