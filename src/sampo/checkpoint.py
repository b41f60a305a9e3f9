"""Lightning checkpoints into Hugging Face folders, and finding the last one.

Checkpoints are loaded with `weights_only=True`: nothing in the file is executed.
"""

from __future__ import annotations

import shutil
import warnings
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, TypeVar
from zipfile import BadZipFile, ZipFile, is_zipfile

import torch
from safetensors import SafetensorError
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from sampo.errors import CheckpointError
from sampo.models.loading import load_tokenizer
from sampo.models.lora import LoRA
from sampo.models.policy import Policy

_PREFIX = "policy."
_File = TypeVar("_File", str, Path, str | None)


def load_checkpoint(path: str | Path, *, mmap: bool = False) -> dict[str, Any]:
    """Load a checkpoint file on the CPU without executing anything in it.

    Every byte is compared with the checksums in the file, which torch writes and does not read.

    Args:
        path: a checkpoint of `sampo fit`.
        mmap: leave the tensors on the disk until they are read; for a look at the rest.

    Raises:
        CheckpointError: it is not there, is not a checkpoint, is damaged, or is none of sampo's.
    """
    file = Path(path)
    if file.is_dir():
        raise CheckpointError(
            f"{file.absolute()} is a folder; name the checkpoint file in it, e.g. "
            "checkpoints/last.ckpt of a run."
        )
    if not file.is_file():
        raise CheckpointError(
            f"There is no checkpoint {file.absolute()}. Name another one, or `last` for the newest "
            "of this run's name."
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch warns of odd pickles before it refuses them
            _compare_checksums(file)
            checkpoint = torch.load(file, map_location="cpu", weights_only=True, mmap=mmap)
    except UnpicklingError as error:
        raise CheckpointError(
            f"{file.absolute()} cannot be read as a checkpoint: it holds objects that would execute"
            " code when they are loaded, which was not done. Use one that `sampo fit` wrote."
        ) from error
    except (RuntimeError, EOFError, ValueError, KeyError, BadZipFile, zlib.error) as error:
        reason = " ".join(str(error).split())[:200]
        raise CheckpointError(
            f"{file.absolute()} cannot be read as a checkpoint ({reason}). "
            "It is damaged or comes from another program; use another one."
        ) from error
    if not isinstance(checkpoint, dict) or "sampo" not in checkpoint:
        raise CheckpointError(f"{file.absolute()} is not a checkpoint that `sampo fit` wrote.")
    _check_parts(file, checkpoint, ("state_dict", "hyper_parameters"))
    _check_parts(file, checkpoint["sampo"], ("update_step",))
    return checkpoint


@contextmanager
def weights_that_fit(path: _File) -> Iterator[_File]:
    """Say which checkpoint it is whose weights do not fit the policy that they are loaded into.

    Args:
        path: the checkpoint, which is given back; None: none is loaded.

    Raises:
        CheckpointError: instead of torch's `RuntimeError` about a state dict.
    """
    try:
        yield path
    except RuntimeError as error:
        words = str(error)
        if path is None or "loading state_dict" not in words:
            raise
        problems = [line.strip() for line in words.splitlines()[1:] if line.strip()]
        more = f", and {len(problems) - 1} more" if len(problems) > 1 else ""
        raise CheckpointError(
            f"{path} does not fit the policy: {problems[0][:250].rstrip('. ')}{more}. Set "
            "model.policy (and value head or adapters) as in the run that wrote it."
        ) from error


@contextmanager
def resumable(path: _File, data: str) -> Iterator[_File]:
    """Refuse a checkpoint that a run cannot go on from, before and while it is put in place.

    Args:
        path: the checkpoint, which is given back; None: the run starts anew.
        data: name of the class whose counters have to be in it.

    Raises:
        CheckpointError: as `load_checkpoint` and `weights_that_fit`, or a part is missing.
    """
    if path is not None:
        checkpoint = load_checkpoint(path, mmap=True)
        _check_parts(Path(path), checkpoint, ("optimizer_states", "loops", data))
    with weights_that_fit(path):
        yield path


def _compare_checksums(file: Path) -> None:
    if not is_zipfile(file):
        raise ValueError("it is no archive as torch writes it, or cut off")
    with ZipFile(file) as archive:
        damaged = archive.testzip()
    if damaged is not None:
        raise ValueError(f"{damaged} in it is not as it was written")


def _check_parts(file: Path, holder: Any, names: Sequence[str]) -> None:
    missing = [name for name in names if not isinstance(holder, dict) or name not in holder]
    if missing:
        raise CheckpointError(
            f"{file.absolute()} is no complete checkpoint: it lacks {', '.join(missing)}. Use one "
            "that `sampo fit` wrote, e.g. checkpoints/last.ckpt of a run."
        )


def export_policy(checkpoint_path: str | Path, folder: str | Path) -> Path:
    """Write the policy of a checkpoint as a Hugging Face folder; return the folder.

    Args:
        checkpoint_path: a checkpoint of `sampo fit`.
        folder: made if need be; plain transformers and vLLM load it.
    """
    checkpoint = load_checkpoint(checkpoint_path)
    hparams = checkpoint["hyper_parameters"]
    lora = LoRA.of(hparams.get("lora"))
    if lora is not None:  # merged into the base as it was published, not into 4 bits
        lora = replace(lora, four_bit_base=False)
    policy = Policy.load(hparams["policy"], dtype=hparams["dtype"], lora=lora)
    weights = {
        key.removeprefix(_PREFIX): value
        for key, value in checkpoint["state_dict"].items()
        if key.startswith(_PREFIX + "model.")  # a value head is no part of the policy
    }
    with weights_that_fit(str(checkpoint_path)):
        policy.load_state_dict(weights)
    write_folder(policy, load_tokenizer(hparams["policy"]), folder)
    return Path(folder)


def write_folder(
    policy: Policy,
    tokenizer: PreTrainedTokenizerBase,
    folder: str | Path,
    *,
    state_dict: Mapping[str, Tensor] | None = None,
) -> None:
    """Write a policy as a Hugging Face folder, of which no file is ever half there.

    Args:
        policy: what was trained.
        tokenizer: written beside the model.
        folder: made if need be; files of the same names are replaced.
        state_dict: the policy's gathered full state dict, where it is sharded.

    Raises:
        CheckpointError: it could not be written.
    """
    folder = Path(folder)
    part = folder.with_name(f".{folder.name}.part")
    try:
        shutil.rmtree(part, ignore_errors=True)  # of a run that was killed here
        part.mkdir(parents=True)
        policy.save_pretrained(part, tokenizer, state_dict=state_dict)
        folder.mkdir(exist_ok=True)
        for file in part.iterdir():
            file.replace(folder / file.name)
    except (OSError, SafetensorError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise CheckpointError(
            f"The policy could not be written to {folder.absolute()} ({reason}). Free some space "
            "or name another folder; `sampo export` writes it again from a checkpoint."
        ) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def latest_checkpoint(runs: Path) -> Path:
    """Return the newest `last.ckpt` of the runs in a folder.

    Args:
        runs: folder with one sub-folder per run (`version_0`, ...).

    Raises:
        CheckpointError: there is none.
    """
    found = sorted(runs.glob("*/checkpoints/last.ckpt"), key=lambda path: path.stat().st_mtime)
    if not found:
        raise CheckpointError(
            f"There is no checkpoint to continue from in {runs.absolute()}. Give its path with "
            "--ckpt_path, or start anew without it."
        )
    return found[-1]
