"""Requests to an OpenAI-compatible server, repeated where that can help, refused in one sentence.

HTTP only: what is asked and what the answers mean is `sampo.rollout.openai_engine`'s business. The
key is read from the environment for every request and kept nowhere; whatever a server says is
cleaned of it before it is passed on.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp

from sampo.errors import ConfigError, EngineError, did_you_mean
from sampo.rollout.openai_answers import Refusal, one_line, read_refusal
from sampo.rollout.pace import Pace, RequestLimits, retry_after_s
from sampo.rollout.served_usage import Usage

_TRY_AGAIN = frozenset({408, 409, 425, 429})
_SPENT = ("insufficient_quota", "billing_hard_limit_reached")
"""Codes of a 429 that no waiting mends."""
_SHOWN_MODELS = 8


class OpenAIClient:
    """Speaks to one server. All methods run in one asyncio loop.

    Args:
        base_url: up to and including `/v1`.
        shown_url: the URL as errors may name it.
        key_variable: environment variable that holds the key; unset for servers that ask for none.
        limits: see `RequestLimits`.
        usage: is told of every try.
    """

    def __init__(
        self, base_url: str, shown_url: str, key_variable: str, limits: RequestLimits, usage: Usage
    ) -> None:
        self._base_url = base_url.rstrip("/")
        self._shown_url = shown_url
        self._key_variable = key_variable
        self._limits = limits
        self._usage = usage
        self._pace = Pace(limits.requests_per_minute)
        self._slots = asyncio.Semaphore(limits.max_concurrent)
        self._session: aiohttp.ClientSession | None = None

    async def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any] | Refusal:
        """Return the answer to a request, after as many tries as it needs.

        Returns:
            The JSON of a success; a `Refusal` where the server says that this request cannot be
            served (400, 413, 422), for the caller to read.

        Raises:
            EngineError: anything else that is no success, after the last try.
        """
        async with self._slots:
            for repetition in range(self._limits.max_retries + 1):
                problem, wait_s = await self._try(path, body)
                if not isinstance(problem, str):
                    return problem
                if repetition == self._limits.max_retries:
                    break
                self._pace.rest(wait_s or 0.0)
                await asyncio.sleep((wait_s or 0.0) + self._limits.wait_s(repetition))
            raise EngineError(f"{problem} Gave up after {repetition + 1} tries.{self._so_far()}")

    async def explain(self, refusal: Refusal, model: str) -> EngineError:
        """Return the error for a request that the server does not serve, its cause looked up."""
        says = f"({refusal.status}) {refusal.message}".strip()
        known = await self._models()
        if known and model not in known:
            shown = ", ".join(known[:_SHOWN_MODELS])
            more = f" and {len(known) - _SHOWN_MODELS} more" if len(known) > _SHOWN_MODELS else ""
            return EngineError(
                f"The server at {self._shown_url} has no model {model!r}."
                f"{did_you_mean(model, known)} It has {shown}{more}. It said: {says}"
            )
        hint = ""
        if refusal.status == 404:
            hint = " The base_url of most servers ends in /v1."
        return EngineError(
            f"The server at {self._shown_url} refuses the request: {says}{hint}{self._so_far()}"
        )

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None
        self._slots = asyncio.Semaphore(self._limits.max_concurrent)  # the next loop is another

    async def _try(
        self, path: str, body: Mapping[str, Any]
    ) -> tuple[dict[str, Any] | Refusal | str, float | None]:
        """Return what came of one try.

        Returns:
            The answer, a refusal, or, where it is worth another try, what was wrong; and the
            seconds that the server wants to be left alone.
        """
        await self._pace.turn()
        self._usage.requests += 1
        try:
            status, headers, text = await self._send("POST", path, json.dumps(body))
        except TimeoutError:
            return f"{self._server} did not answer within {self._limits.timeout_s:g} s.", None
        except aiohttp.InvalidURL as error:
            raise ConfigError(f"{self._shown_url} is no URL of a server.") from error
        except aiohttp.ClientError as error:
            return f"{self._server} cannot be reached ({one_line(str(error))}).", None
        if status == 200:
            return self._read(text), None
        refusal = read_refusal(status, self._without_key(text))
        if status in (401, 403):
            raise EngineError(self._refused_key(refusal))
        if status in _TRY_AGAIN or status >= 500:
            return self._hold(refusal, retry_after_s(headers))
        return refusal, None

    def _hold(self, refusal: Refusal, wait_s: float | None) -> tuple[str, float | None]:
        """Return what was wrong with a try that may be repeated, and when.

        Raises:
            EngineError: repeating it would not help, or not soon enough.
        """
        says = f"{self._server} answers {refusal.status}: {refusal.message}"
        if refusal.code in _SPENT:
            raise EngineError(f"{says}{self._so_far()}")
        if wait_s is not None and wait_s > self._limits.longest_wait_s:
            raise EngineError(
                f"{says} It asks to wait {wait_s:.0f} s, longer than limits.longest_wait_s "
                f"({self._limits.longest_wait_s:g}).{self._so_far()}"
            )
        return says, wait_s

    async def _send(
        self, method: str, path: str, data: str | None
    ) -> tuple[int, Mapping[str, str], str]:
        """Return status, headers and text of an answer."""
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=self._limits.max_concurrent)
            self._session = aiohttp.ClientSession(
                connector=connector, cookie_jar=aiohttp.DummyCookieJar()
            )
        async with self._session.request(
            method,
            f"{self._base_url}/{path}",
            data=data,
            headers={"Content-Type": "application/json", **self._authorization()},
            timeout=aiohttp.ClientTimeout(total=self._limits.timeout_s),
            proxy=self._proxy(),
            allow_redirects=False,  # the key goes to the server that was named and to no other
        ) as response:
            return response.status, response.headers, await response.text(errors="replace")

    def _proxy(self) -> str | None:
        """Return the proxy that the environment names (`https_proxy`, `no_proxy`), if any.

        aiohttp's own `trust_env` would also look into ~/.netrc, and clash with our key.
        """
        parts = urlsplit(self._base_url)
        bypassed = proxy_bypass(parts.hostname or "")
        return None if bypassed else getproxies().get(parts.scheme)

    def _authorization(self) -> dict[str, str]:
        """Return the header with the key; none where the variable is not set."""
        key = os.environ.get(self._key_variable, "").strip()
        if not (key.isascii() and key.isprintable()):
            raise ConfigError(
                f"The environment variable {self._key_variable} holds no key: keys are printable "
                "ASCII on one line."
            )
        return {"Authorization": f"Bearer {key}"} if key else {}

    def _read(self, text: str) -> dict[str, Any]:
        try:
            answer = json.loads(text)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise EngineError(
                f"{self._server} answers, but not as an OpenAI-compatible one does: "
                f"{one_line(self._without_key(text))!r}. The base_url of most servers ends in /v1."
            )
        return answer

    async def _models(self) -> list[str]:
        """Return the names of the server's models; empty where it does not say."""
        try:
            status, _, text = await self._send("GET", "models", None)
            listed = json.loads(text)["data"] if status == 200 else []
            return sorted(str(entry["id"]) for entry in listed)
        except (aiohttp.ClientError, TimeoutError, ValueError, KeyError, TypeError):
            return []  # it is asked to explain an error, which must not become another one

    def _refused_key(self, refusal: Refusal) -> str:
        name = self._key_variable
        state = (
            "is not set" if not os.environ.get(name, "").strip() else "holds the key that was sent"
        )
        return (
            f"{self._server} lets no one in with this key ({refusal.status}: {refusal.message}). "
            f"It is taken from the environment variable {name}, which {state}."
        )

    @property
    def _server(self) -> str:
        return f"The server at {self._shown_url}"

    def _so_far(self) -> str:
        """Return how far it went, for errors in the middle of a run."""
        replies = self._usage.replies
        return f" It had given {replies} replies before." if replies else ""

    def _without_key(self, text: str) -> str:
        key = os.environ.get(self._key_variable, "").strip()
        return text.replace(key, "***") if key else text
