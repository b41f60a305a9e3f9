"""The shipped clone `nano-tir-math` is where the nano experiment starts from."""

from pathlib import Path

import pytest

from sampo.models.loading import load_tokenizer
from trained import evaluated


def test_each_digit_is_a_token_and_a_problem_is_short() -> None:
    tokenizer = load_tokenizer("nano-tir-math")
    ids = tokenizer("print(83 * 47)")["input_ids"]
    tokens = [tokenizer.decode([token]) for token in ids]
    assert [token for token in tokens if token.strip().isdigit()] == ["8", "3", "4", "7"]
    assert len(ids) < 12


@pytest.mark.slow
def test_the_clone_calls_the_tool_in_half_of_the_problems(tmp_path: Path) -> None:
    pytest.importorskip("math_verify", reason="grading needs the extra sampo[math]")
    logs = f"--trainer.logger.init_args.save_dir={tmp_path}"
    report = tmp_path / "report.json"
    measured = evaluated(report, "--config", "experiments/tir_math_nano", logs)
    assert measured["env_metrics"]["tool_used"] == pytest.approx(0.5, abs=0.12)
    # Who does not call the tool is wrong.
    assert 0.2 < measured["totals"]["success_rate"] <= measured["env_metrics"]["tool_used"] + 0.02
