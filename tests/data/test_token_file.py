"""What an update did to its tokens survives the way to the file and back."""

import stat

import numpy as np
import pytest
import torch

from sampo.data.token_file import read_tokens, token_path, write_tokens
from sampo.errors import ConfigError
from sampo.losses import TokenLog

# Turns 2, 0 and 3 in the order of micro-batches; turn 1 wrote nothing.
LOG = TokenLog(
    turn=torch.tensor([2, 2, 0, 3, 3, 3]),
    advantages=torch.tensor([-1.0, -1.0, 0.3, 2.0, 2.0, 2.5]),
    old_logprobs=torch.tensor([-0.1, -0.2, -0.3, -0.4, -0.5, -0.6]),
    log_ratio=torch.tensor([0.01, 0.02, 0.03, 0.04, 0.05, float("inf")]),
    log_weight=torch.tensor([0.5, 0.5, 0.25, 0.125, 0.125, 0.125], dtype=torch.bfloat16),
    in_range=torch.tensor([0.5, 0.5, 0.25, 0.125, 0.125, 0.125], dtype=torch.bfloat16),
    clipped=torch.tensor([True, False, False, False, True, False]),
    clipped_lower=torch.tensor([False, False, True, False, True, False]),
    kept=torch.tensor([True, True, False, True, True, False]),
    ref_log_ratio=torch.full((6,), 0.1),
)


def test_round_trip_sorts_by_turn(tmp_path):
    table = read_tokens(write_tokens(tmp_path / "t", LOG, num_turns=4))
    assert table.spans == {0: slice(0, 1), 2: slice(1, 3), 3: slice(3, 6)}
    columns = {name: values.tolist() for name, values in table.columns.items()}
    assert columns["advantages"] == pytest.approx([0.3, -1, -1, 2, 2, 2.5])
    assert columns["old_logprobs"] == pytest.approx([-0.3, -0.1, -0.2, -0.4, -0.5, -0.6])
    assert columns["log_ratio"][:5] == pytest.approx([0.03, 0.01, 0.02, 0.04, 0.05], rel=1e-3)
    assert columns["log_weight"] == [0.25, 0.5, 0.5, 0.125, 0.125, 0.125]
    assert columns["clipped"] == [False, True, False, False, True, False]
    assert columns["clipped_lower"] == [True, False, False, False, True, False]
    assert columns["kept"] == [False, True, True, True, True, False]
    assert columns["ref_kl"] == pytest.approx([0.0048374] * 6, rel=1e-3)  # exp(-0.1) + 0.1 - 1
    assert "entropy" not in columns


def test_an_infinite_ratio_stays_a_number(tmp_path):
    table = read_tokens(write_tokens(tmp_path / "t", LOG, num_turns=4))
    assert table.columns["log_ratio"][-1] == np.finfo(np.float32).max


def test_later_turns_are_left_out(tmp_path):
    table = read_tokens(write_tokens(tmp_path / "t", LOG, num_turns=3))
    assert set(table.spans) == {0, 2}
    assert len(table.columns["kept"]) == 3


def test_a_token_costs_about_twenty_bytes(tmp_path):
    many = {"turn": torch.arange(1000).repeat_interleave(100)}
    for name in (
        "advantages",
        "old_logprobs",
        "log_ratio",
        "log_weight",
        "in_range",
        "entropy",
        "ref_log_ratio",
    ):
        many[name] = torch.rand(100_000)
    for name in ("clipped", "clipped_lower", "kept"):
        many[name] = torch.rand(100_000) < 0.5
    path = write_tokens(tmp_path / "t", TokenLog(**many), num_turns=1000)
    # 4 x 4 bytes, 2 x 2 bytes and one of flags, besides 8 bytes per turn.
    assert path.stat().st_size == pytest.approx(21 * 100_000 + 8 * 1000, rel=0.01)


def test_an_update_of_no_tokens(tmp_path):
    assert not read_tokens(write_tokens(tmp_path / "t", LOG, num_turns=0)).spans


def test_the_file_is_as_readable_as_any_other(tmp_path):
    other = tmp_path / "other"
    other.touch()
    mode = write_tokens(tmp_path / "t", LOG, num_turns=4).stat().st_mode
    assert stat.S_IMODE(mode) == stat.S_IMODE(other.stat().st_mode)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "t"]


def test_a_broken_off_file_is_named(tmp_path):
    path = write_tokens(tmp_path / "t", LOG, num_turns=4)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(ConfigError, match="does not hold the tokens"):
        read_tokens(path)


def test_it_lies_beside_its_episodes():
    assert token_path("e/update_000012.jsonl").name == "update_000012.tokens.safetensors"
    assert token_path("update_000012.rank1.jsonl").name == "update_000012.rank1.tokens.safetensors"
