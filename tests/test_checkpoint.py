"""Checkpoints: export for plain transformers, the newest one, and files that are none."""

import os
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from sampo.checkpoint import (
    export_policy,
    latest_checkpoint,
    load_checkpoint,
    resumable,
    weights_that_fit,
)
from sampo.errors import CheckpointError
from sampo.models.policy import Policy
from tiny import save_tiny_policy
from training import make_data, make_module, make_trainer


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, torch.Tensor]]:
    """Return the folder of a short run, and its final weights."""
    folder = tmp_path_factory.mktemp("run")
    policy = save_tiny_policy(folder / "policy")
    module = make_module(policy)
    make_trainer(folder, epochs=1).fit(module, datamodule=make_data(policy))
    return folder / "version_0", module.state_dict()


def test_plain_transformers_loads_the_exported_policy(
    run: tuple[Path, dict[str, torch.Tensor]], tmp_path: Path
) -> None:
    folder, weights = run
    exported = export_policy(folder / "checkpoints" / "last.ckpt", tmp_path / "hf")
    for path in (exported, folder / "hf"):
        model = AutoModelForCausalLM.from_pretrained(path)
        for name, tensor in model.state_dict().items():
            assert torch.equal(tensor, weights[f"policy.model.{name}"])
        tokenizer = AutoTokenizer.from_pretrained(path)
        assert tokenizer.eos_token == "<|im_end|>" and tokenizer.chat_template
        assert model.generation_config.do_sample  # `transformers serve` is greedy without it


def test_the_reference_is_in_no_checkpoint(run: tuple[Path, dict[str, torch.Tensor]]) -> None:
    checkpoint = load_checkpoint(run[0] / "checkpoints" / "last.ckpt")
    assert all(name.startswith("policy.") for name in checkpoint["state_dict"])


def test_a_checkpoint_executes_nothing(tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return os.system, (f"touch {tmp_path / 'exploded'}",)

    torch.save({"sampo": Bomb()}, tmp_path / "bomb.ckpt")
    with pytest.raises(CheckpointError, match="cannot be read as a checkpoint"):
        load_checkpoint(tmp_path / "bomb.ckpt")
    assert not (tmp_path / "exploded").exists()


def test_a_byte_that_changed_since_the_file_was_written_is_seen(
    run: tuple[Path, dict[str, torch.Tensor]], tmp_path: Path
) -> None:
    """torch writes checksums, and loads a damaged weight without a word."""
    content = bytearray((run[0] / "checkpoints" / "last.ckpt").read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / "last.ckpt").write_bytes(content)
    torch.load(tmp_path / "last.ckpt", weights_only=True)
    with pytest.raises(CheckpointError, match="not as it was written"):
        load_checkpoint(tmp_path / "last.ckpt")


def test_what_is_in_one(run: tuple[Path, dict[str, torch.Tensor]]) -> None:
    checkpoint = load_checkpoint(run[0] / "checkpoints" / "last.ckpt")
    assert checkpoint["sampo"]["update_step"] == 3  # the version of the policy
    assert checkpoint["RolloutDataModule"]["update"] == 3
    assert checkpoint["RolloutDataModule"]["next_task"] >= 9  # three groups per update
    about = checkpoint["sampo_run"]
    assert len(about["random_states"]) == 1
    assert about["versions"]["torch"] == torch.__version__
    assert about["config"] is None  # this run was put together in Python


def test_a_checkpoint_that_lacks_a_part_is_not_gone_on_from(
    run: tuple[Path, dict[str, torch.Tensor]], tmp_path: Path
) -> None:
    whole = torch.load(run[0] / "checkpoints" / "last.ckpt", weights_only=True)
    del whole["RolloutDataModule"]
    torch.save(whole, tmp_path / "other.ckpt")
    load_checkpoint(tmp_path / "other.ckpt")  # enough to export or to evaluate
    with (
        pytest.raises(CheckpointError, match="lacks RolloutDataModule"),
        resumable(tmp_path / "other.ckpt", "RolloutDataModule"),
    ):
        pass


def test_a_checkpoint_of_another_policy_is_named() -> None:
    error = RuntimeError("Error(s) in loading state_dict for X:\n\tsize mismatch for w: 1.\n\tb")
    with (
        pytest.raises(
            CheckpointError, match=r"a\.ckpt does not fit the policy: size mismatch for w"
        ),
        weights_that_fit("a.ckpt"),
    ):
        raise error
    with pytest.raises(RuntimeError, match="something else"), weights_that_fit("a.ckpt"):
        raise RuntimeError("something else")


def test_a_folder_that_cannot_be_written_leaves_the_earlier_export(
    run: tuple[Path, dict[str, torch.Tensor]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exported = export_policy(run[0] / "checkpoints" / "last.ckpt", tmp_path / "hf")
    before = {path.name: path.read_bytes() for path in exported.iterdir()}

    def full_disk(self: Policy, folder: Path, *args: object, **options: object) -> None:
        (folder / "config.json").write_text("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Policy, "save_pretrained", full_disk)
    with pytest.raises(CheckpointError, match="No space left on device"):
        export_policy(run[0] / "checkpoints" / "last.ckpt", tmp_path / "hf")
    assert {path.name: path.read_bytes() for path in exported.iterdir()} == before
    assert [path.name for path in tmp_path.iterdir()] == ["hf"]


def test_files_that_are_no_checkpoints_of_ours(tmp_path: Path) -> None:
    torch.save({"state_dict": {}}, tmp_path / "other.ckpt")
    with pytest.raises(CheckpointError, match="not a checkpoint that `sampo fit` wrote"):
        load_checkpoint(tmp_path / "other.ckpt")
    with pytest.raises(CheckpointError, match="no checkpoint"):
        load_checkpoint(tmp_path / "missing.ckpt")


def test_the_newest_run_is_continued(tmp_path: Path) -> None:
    for number, age in ((0, 30), (1, 10), (2, 20)):
        path = tmp_path / f"version_{number}" / "checkpoints" / "last.ckpt"
        path.parent.mkdir(parents=True)
        path.write_bytes(b"")
        os.utime(path, (1_000_000 - age, 1_000_000 - age))
    assert latest_checkpoint(tmp_path).parts[-3] == "version_1"
