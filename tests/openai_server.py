"""A real HTTP server that speaks OpenAI's protocol on loopback: what it answers, the test says.

As a script it is a process of its own that can die:
    python openai_server.py PORT_FILE REPLIES
serves the reply `<action>right</action>` that many times and then kills itself with SIGKILL.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

RIGHT = "<action>right</action>"
MODELS = ("tiny", "tiny-large")


@dataclass
class Answer:
    """What the server says to one request."""

    body: Any
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    after_s: float = 0.0


@dataclass
class Server:
    """A running server and what it has been asked."""

    url: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list)
    """Bodies of the requests, in the order in which they came."""
    paths: list[str] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    """The `Authorization` headers."""
    times: list[float] = field(default_factory=list)
    """When each came, on the monotonic clock."""
    most_at_once: int = 0
    _open: int = 0


Handler = Callable[[Server, Mapping[str, Any]], Answer]


def reply(text: str, finish: str = "stop", **usage: Any) -> Answer:
    """A chat completion of 10 prompt and 3 completion tokens."""
    counts = {"prompt_tokens": 10, "completion_tokens": 3, **usage}
    choice = {"index": 0, "message": {"role": "assistant", "content": text}}
    return Answer({"choices": [{**choice, "finish_reason": finish}], "usage": counts})


def refusal(status: int, message: str, code: str = "", **headers: str) -> Answer:
    """An error in OpenAI's form."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer({"error": {"message": message, "code": code}}, status, named)


def app(server: Server, handle: Handler) -> web.Application:
    """Return the application: the list of models, and completions by `handle`."""

    async def complete(request: web.Request) -> web.Response:
        body = await request.json()
        server.asked.append(body)
        server.paths.append(request.path)
        server.keys.append(request.headers.get("Authorization"))
        server.times.append(asyncio.get_running_loop().time())
        server._open += 1
        server.most_at_once = max(server.most_at_once, server._open)
        try:
            answer = handle(server, body)
            await asyncio.sleep(answer.after_s)
        finally:
            server._open -= 1
        if isinstance(answer.body, str):
            return web.Response(text=answer.body, status=answer.status, headers=answer.headers)
        return web.json_response(answer.body, status=answer.status, headers=answer.headers)

    async def models(_: web.Request) -> web.Response:
        return web.json_response({"data": [{"id": name} for name in MODELS]})

    made = web.Application()
    made.router.add_get("/v1/models", models)
    made.router.add_post("/v1/{tail:.*}", complete)
    return made


async def serve(server: Server, handle: Handler) -> web.AppRunner:
    """Start on a free port."""
    runner = web.AppRunner(app(server, handle))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    return runner


@contextmanager
def running(handle: Handler) -> Iterator[Server]:
    """Run a server in a thread of this process."""
    loop, server = asyncio.new_event_loop(), Server()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    runner = asyncio.run_coroutine_threadsafe(serve(server, handle), loop).result(10)
    try:
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


def main(port_file: str, replies: int) -> None:
    """Serve until the last reply, then die without a word."""

    def handle(server: Server, _: Mapping[str, Any]) -> Answer:
        if len(server.asked) > replies:
            os.kill(os.getpid(), signal.SIGKILL)
        return reply(RIGHT)

    async def forever() -> None:
        server = Server()
        await serve(server, handle)
        partial = Path(port_file).with_suffix(".partial")
        partial.write_text(server.url)
        partial.rename(port_file)
        await asyncio.Event().wait()

    asyncio.run(forever())


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
