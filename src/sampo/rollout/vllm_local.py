"""One vLLM engine whose core runs in processes of their own on this machine.

It is given the imported package, and knows nothing of policies: `vllm_engine` starts it.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from sampo.errors import EngineError
from sampo.rollout.engine import GenerationRequest
from sampo.rollout.replica import Replica, Reply
from sampo.world import World

_SHUTDOWN_S = 20.0
_RANK_VARIABLES = {
    "MASTER_ADDR", "MASTER_PORT", "RANK", "LOCAL_RANK", "GROUP_RANK", "ROLE_RANK", "NODE_RANK",
    "WORLD_SIZE", "LOCAL_WORLD_SIZE", "ROLE_WORLD_SIZE",
}  # fmt: skip
"""Of launchers, which vLLM reads as well."""


class LocalReplica(Replica):
    """vLLM's asynchronous engine. Made and used on one event loop.

    Args:
        vllm: the package.
        arguments: of its `AsyncEngineArgs`.

    Raises:
        EngineError: it does not start.
    """

    def __init__(self, vllm: ModuleType, arguments: Mapping[str, Any]) -> None:
        self._vllm = vllm
        self._numbers = count()
        self._asleep = False
        with one_sentence("does not start"), no_warnings():
            args = vllm.AsyncEngineArgs(**arguments)
            self._core = vllm.AsyncLLMEngine.from_engine_args(args)
        self.dtype = str(self._core.model_config.dtype)

    async def end_with(self, process: int) -> None:
        """Have vLLM end when a process is gone, however that came."""
        with one_sentence("does not start"):
            await self._core.collective_rpc("sampo_watch", args=(process,))

    async def generate(self, request: GenerationRequest, fields: Mapping[str, Any]) -> Reply:
        """Sample a reply."""
        params = self._vllm.SamplingParams(
            **fields,
            logprobs=0,  # the sampled token's only
            detokenize=bool(request.params.stop),
            output_kind=self._vllm.sampling_params.RequestOutputKind.FINAL_ONLY,
        )
        reply = (await self._ask(request.prompt_ids, params)).outputs[0]
        tokens = zip(reply.token_ids, reply.logprobs, strict=True)
        logprobs = [by_token[token].logprob for token, by_token in tokens]
        return Reply(reply.token_ids, logprobs, reply.finish_reason)

    async def score(self, token_ids: Sequence[int]) -> list[float]:
        """Score the tokens as a prompt."""
        params = self._vllm.SamplingParams(max_tokens=1, prompt_logprobs=0, detokenize=False)
        scored = (await self._ask(token_ids, params)).prompt_logprobs
        return [scored[i][token_ids[i]].logprob for i in range(1, len(token_ids))]

    async def load(self, folder: Path) -> list[dict[str, int]]:
        """Take new weights; wake up where asleep."""
        with one_sentence("failed to take new weights"):
            if self._asleep:
                await self._core.wake_up(["weights"])
            sums = await self._core.collective_rpc("sampo_load", args=(str(folder),))
            if self._asleep:
                await self._core.wake_up(["kv_cache"])
            self._asleep = False
            if not await self._core.reset_prefix_cache():
                raise EngineError("vLLM does not drop the prefix cache of its old weights.")
        return sums

    async def differing(self, folder: Path) -> list[str]:
        """Ask the workers what they do not compute with."""
        with one_sentence("failed to compare weights"):
            names = await self._core.collective_rpc("sampo_differing", args=(str(folder),))
        return names[0]

    async def sleep(self) -> None:
        """Give weights and cache back."""
        with one_sentence("failed to go to sleep"):
            await self._core.sleep(level=2)  # the next weights are the trainer's anyway
        self._asleep = True

    async def close(self) -> None:
        """End vLLM's processes."""
        # Killed before it has ended its workers, its core would leave shared memory behind.
        self._core.shutdown(timeout=_SHUTDOWN_S)
        del self._core  # while there is an interpreter that can take it apart

    async def _ask(self, token_ids: Sequence[int], params: Any) -> Any:
        """Return the finished output of one request."""
        prompt = {"prompt_token_ids": list(token_ids)}
        with one_sentence("failed in the middle of a rollout"):
            replies = self._core.generate(prompt, params, request_id=str(next(self._numbers)))
            return [output async for output in replies][-1]


@contextmanager
def one_sentence(what: str) -> Iterator[None]:
    """Turn what vLLM raises into an `EngineError`; it has logged the details."""
    try:
        yield
    except EngineError:
        raise
    except Exception as error:
        if type(error).__name__ == "EngineDeadError":
            raise EngineError(
                "vLLM's engine process has died; its last words are above (none where the system "
                "killed it, as it does when memory runs out). Go on from the last checkpoint."
            ) from error
        reason = " ".join(str(error).split())[:400] or type(error).__name__
        raise EngineError(f"vLLM {what}: {reason}") from error


@contextmanager
def alone(world: World, devices: int) -> Iterator[None]:
    """Start processes on this rank's device that know nothing of the trainer's other ranks.

    Raises:
        EngineError: the engine asks for more than one device.
    """
    if world.size == 1:
        yield
        return
    if devices > 1:
        raise EngineError(
            f"VLLMEngine.tensor_parallel_size is {devices}, but each of the {world.size} trainer "
            "processes has one device. Set it to 1, or take VLLMServers on devices of their own."
        )
    before = dict(os.environ)
    for name in [n for n in before if n in _RANK_VARIABLES or n.startswith("TORCHELASTIC_")]:
        del os.environ[name]
    if torch.cuda.is_available():
        visible = before.get("CUDA_VISIBLE_DEVICES", "").split(",")
        device = torch.cuda.current_device()
        os.environ["CUDA_VISIBLE_DEVICES"] = visible[device] if visible[0] else str(device)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def no_warnings() -> Iterator[None]:
    """Silence warnings about what vLLM is built on, here and in processes started meanwhile.

    They are not the user's to mend.
    """
    before = os.environ.get("PYTHONWARNINGS")
    os.environ["PYTHONWARNINGS"] = "ignore"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        if before is None:
            del os.environ["PYTHONWARNINGS"]
        else:
            os.environ["PYTHONWARNINGS"] = before
