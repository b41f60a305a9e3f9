"""Sampling with `vllm serve` processes that someone else started: one or more, here or elsewhere.

Token ids go out and come back over HTTP; nothing of vLLM is imported. How a server has to be
started is in docs/engines.md.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import aiohttp

from sampo.errors import ConfigError, EngineError
from sampo.models.policy import Policy
from sampo.rollout.engine import GenerationRequest
from sampo.rollout.replica import Replica, Reply
from sampo.rollout.replica_engine import ReplicaEngine

_KEY_VARIABLE = "VLLM_API_KEY"
_HOW = (
    "VLLM_SERVER_DEV_MODE=1 vllm serve FOLDER --logprobs-mode processed_logprobs "
    "--generation-config vllm --worker-extension-cls sampo.rollout.vllm_worker.WeightReceiver"
)


class VLLMServers(ReplicaEngine):
    """Samples with running vLLM servers, each request at the one with the fewest in flight.

    Several trainer processes deal the servers out among themselves.
    They take new weights from a folder, so they run where they can read it: on this machine, or
    with `transfer_folder` on storage that both see. If the servers ask for a key, it is read from
    the environment variable `VLLM_API_KEY`.

    Args:
        urls: of the servers, such as `http://127.0.0.1:8000`.
        context_length: most tokens of a prompt and its reply; None: what the model was made for.
        sleep: let the servers give weights and cache back while the policy is updated. They must
            have been started with `--enable-sleep-mode`, and on GPUs.
        transfer_folder: where weights are handed over; None: shared memory.
        reply_timeout_s: servers that answer nothing for so long are taken to hang.
        check_every: compare weights by checksum and probe at each so many syncs, and at the first
            three.
    """

    def __init__(
        self,
        *,
        urls: Sequence[str],
        context_length: int | None = None,
        sleep: bool = False,
        transfer_folder: str | None = None,
        reply_timeout_s: float = 600.0,
        check_every: int = 1,
    ) -> None:
        super().__init__(
            name="the vLLM servers",
            context_length=context_length,
            sleep=sleep,
            transfer_folder=transfer_folder,
            reply_timeout_s=reply_timeout_s,
            check_every=check_every,
        )
        self._urls = [url.rstrip("/").removesuffix("/v1") for url in urls]
        if not urls or len(set(self._urls)) < len(urls):
            raise ConfigError(
                f"VLLMServers needs the urls of one or more servers, each once, got {list(urls)}."
            )

    async def _start(self, policy: Policy, folder: Path, context_length: int) -> list[Replica]:
        """Ask this rank's servers what they are; with fewer servers than ranks, some share one."""
        rank, count = self._world.rank, len(self._urls)
        self._loads_them = rank < count
        mine = self._urls[rank :: self._world.size] or [self._urls[rank % count]]
        servers = [_ServedReplica(url, self._reply_timeout_s) for url in mine]
        try:
            for server in servers:
                await server.examine(context_length)
        except BaseException:
            for server in servers:
                await server.close()
            raise
        return list[Replica](servers)


class _ServedReplica(Replica):
    """One server. Used on one event loop."""

    def __init__(self, url: str, timeout_s: float) -> None:
        self._url = url
        key = os.environ.get(_KEY_VARIABLE)
        self._session = aiohttp.ClientSession(
            # No limit: batching is the server's. Kept connections it closes as we reuse them.
            connector=aiohttp.TCPConnector(limit=0, force_close=True),
            headers={"Authorization": f"Bearer {key}"} if key else {},
            timeout=aiohttp.ClientTimeout(total=None, sock_read=timeout_s),
        )
        self._model = ""
        self._asleep = False
        self.dtype = ""

    async def examine(self, context_length: int) -> None:
        """Take the server's settings, and refuse those that rollouts would be wrong with."""
        model = (await self._call("GET", "/v1/models"))["data"][0]
        self._model = model["id"]
        if model["max_model_len"] < context_length:
            raise EngineError(
                f"The vLLM server at {self._url} was started with --max-model-len "
                f"{model['max_model_len']}, less than the engine's context_length of "
                f"{context_length}. Restart it, or set data.engine.context_length."
            )
        settings = (await self._rpc("sampo_settings"))[0]
        if settings["logprobs_mode"] != "processed_logprobs":
            raise EngineError(
                f"The vLLM server at {self._url} reports log-probabilities before temperature and "
                f"truncation. Start it so: {_HOW}"
            )
        self.dtype = settings["dtype"]

    async def generate(self, request: GenerationRequest, fields: Mapping[str, Any]) -> Reply:
        """Sample a reply."""
        choice = await self._complete(request.prompt_ids, {**fields, "logprobs": 0})
        logprobs = choice["logprobs"]["token_logprobs"]
        return Reply(choice["token_ids"], logprobs, choice["finish_reason"])

    async def score(self, token_ids: Sequence[int]) -> list[float]:
        """Score the tokens as a prompt."""
        choice = await self._complete(token_ids, {"max_tokens": 1, "prompt_logprobs": 0})
        scored = choice["prompt_logprobs"]
        return [scored[i][str(token_ids[i])]["logprob"] for i in range(1, len(token_ids))]

    async def load(self, folder: Path) -> list[dict[str, int]]:
        """Take new weights; wake up where asleep."""
        if self._asleep:
            await self._call("POST", "/wake_up?tags=weights")
        sums = await self._rpc("sampo_load", str(folder))
        if self._asleep:
            await self._call("POST", "/wake_up?tags=kv_cache")
        self._asleep = False
        if not (await self._call("POST", "/reset_prefix_cache"))["success"]:
            raise EngineError(
                f"The vLLM server at {self._url} keeps the prefix cache of its old weights, "
                "because others use it too. Give sampo servers of its own."
            )
        return sums

    async def differing(self, folder: Path) -> list[str]:
        """Ask the workers what they do not compute with."""
        return (await self._rpc("sampo_differing", str(folder)))[0]

    async def sleep(self) -> None:
        """Give weights and cache back."""
        await self._call("POST", "/sleep?level=2")
        self._asleep = True

    async def close(self) -> None:
        """Close the connections; the server goes on."""
        await self._session.close()

    async def _complete(self, prompt: Sequence[int], fields: Mapping[str, Any]) -> dict[str, Any]:
        body = {"model": self._model, "prompt": list(prompt), "return_token_ids": True, **fields}
        return (await self._call("POST", "/v1/completions", body))["choices"][0]

    async def _rpc(self, method: str, *args: str) -> list[Any]:
        """Call a method of the server's workers."""
        body = {"method": method, "args": list(args)}
        return (await self._call("POST", "/collective_rpc", body))["results"]

    async def _call(self, verb: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Return the server's answer.

        Raises:
            EngineError: there is none, or it is a refusal.
        """
        try:
            async with self._session.request(verb, self._url + path, json=body) as response:
                text = await response.text()
                if response.status == 200:
                    return await response.json() if text else None
        except (aiohttp.ClientError, TimeoutError) as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            raise EngineError(
                f"The vLLM server at {self._url} is gone or does not answer ({reason}). Start it "
                "again, then go on from the last checkpoint."
            ) from error
        hint = ""
        if response.status in (404, 405, 500) and path == "/collective_rpc":
            hint = f" It must have been started so: {_HOW}"
        raise EngineError(
            f"The vLLM server at {self._url} answers {path} with {response.status}: "
            f"{' '.join(text.split())[:300]}.{hint}"
        )
