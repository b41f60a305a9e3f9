"""Lightning checkpoints into Hugging Face folders, and finding the last one.

Checkpoints are loaded with `weights_only=True`: nothing in the file is executed.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch

from sampo.errors import CheckpointError
from sampo.models.policy import Policy, load_causal_lm, load_tokenizer

_PREFIX = "policy."


def load_checkpoint(path: str | Path) -> dict[str, Any]:
    """Load a checkpoint file on the CPU without executing anything in it.

    Raises:
        CheckpointError: it is not there, is not a checkpoint, or is none of sampo's.
    """
    file = Path(path)
    if not file.is_file():
        raise CheckpointError(f"There is no checkpoint {file.absolute()}.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch warns of odd pickles before it refuses them
            checkpoint = torch.load(file, map_location="cpu", weights_only=True)
    except (UnpicklingError, RuntimeError, EOFError, ValueError, KeyError) as error:
        reason = " ".join(str(error).split())[:200]
        raise CheckpointError(
            f"{file.absolute()} cannot be read as a checkpoint ({reason}). "
            "It is damaged or comes from another program; use another one."
        ) from error
    if not isinstance(checkpoint, dict) or "sampo" not in checkpoint:
        raise CheckpointError(f"{file.absolute()} is not a checkpoint that `sampo fit` wrote.")
    return checkpoint


def export_policy(checkpoint_path: str | Path, folder: str | Path) -> Path:
    """Write the policy of a checkpoint as a Hugging Face folder; return the folder.

    Args:
        checkpoint_path: a checkpoint of `sampo fit`.
        folder: made if need be; plain transformers and vLLM load it.
    """
    checkpoint = load_checkpoint(checkpoint_path)
    hparams = checkpoint["hyper_parameters"]
    policy = Policy(load_causal_lm(hparams["policy"], dtype=hparams["dtype"]))
    weights = {
        key.removeprefix(_PREFIX): value
        for key, value in checkpoint["state_dict"].items()
        if key.startswith(_PREFIX + "model.")  # a value head is no part of the policy
    }
    policy.load_state_dict(weights)
    policy.save_pretrained(folder, load_tokenizer(hparams["policy"]))
    return Path(folder)


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
