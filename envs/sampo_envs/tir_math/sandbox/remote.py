"""Programs on another machine, by Sandbox-Fusion's HTTP protocol."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sampo.errors import ConfigError, EnvFailure
from sampo_envs.tir_math.sandbox.run import Limits, Outcome, ProgramResult, Sandbox

_GRACE_S = 30.0
_PAUSE_S = 0.5
_SILENTLY = """\
import contextlib, io
for _source in {earlier!r}:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            exec(_source, globals())
        except BaseException:
            pass
"""


@dataclass(frozen=True, kw_only=True)
class RemoteSandbox(Sandbox):
    """A Sandbox-Fusion server, or one that speaks like it: POST `url`/run_code.

    How well it isolates is its own affair; of `limits`, time and memory are sent along and the
    output is cut here. A server that fails is asked again, `attempts` times in all.

    References:
        SandboxFusion, https://github.com/bytedance/SandboxFusion

    Raises:
        ConfigError: The address is no http(s) address, or there is no attempt.
    """

    url: str
    """Address of the server, e.g. `http://localhost:8080`."""
    limits: Limits = field(default_factory=Limits)
    attempts: int = 3

    def __post_init__(self) -> None:
        """Refuse addresses of other kinds."""
        if not self.url.startswith(("http://", "https://")) or self.attempts < 1:
            raise ConfigError(
                f"RemoteSandbox: url={self.url!r} must start with http:// or https:// and "
                f"attempts={self.attempts} must be at least 1."
            )

    def __call__(self, program: str, earlier: Sequence[str] = ()) -> ProgramResult:
        """Run a program; see `Sandbox`."""
        code = (_SILENTLY.format(earlier=list(earlier)) if earlier else "") + program
        question = {
            "code": code,
            "language": "python",
            "run_timeout": self.limits.wall_s,
            "compile_timeout": self.limits.wall_s,
            "memory_limit_MB": self.limits.memory_mb,
        }
        reason = ""
        for attempt in range(self.attempts):
            if attempt:
                time.sleep(_PAUSE_S * 2 ** (attempt - 1))
            try:
                answer = self._post(question)
            except (OSError, ValueError) as error:  # no connection, an HTTP error, no JSON
                reason = str(error)
                continue
            if answer.get("status") != "SandboxError" and answer.get("run_result"):
                return _result(answer["run_result"], self.limits)
            reason = str(answer.get("message") or "it answered with a SandboxError")
        raise EnvFailure(
            f"Sandbox at {self.url}: no result after {self.attempts} attempts: {reason}."
        )

    def _post(self, question: dict[str, Any]) -> dict[str, Any]:
        request = urllib.request.Request(
            f"{self.url.rstrip('/')}/run_code",
            data=json.dumps(question).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=self.limits.wall_s + _GRACE_S) as reply:
            return json.load(reply)


def _result(run: dict[str, Any], limits: Limits) -> ProgramResult:
    code = int(run.get("return_code") or 0)
    outcome: Outcome = "finished" if code == 0 else ("error" if code > 0 else "killed")
    if run.get("status") == "TimeLimitExceeded":
        outcome = "timeout"
    most = limits.output_kb * 1024
    stdout, stderr = run.get("stdout") or "", run.get("stderr") or ""
    if max(len(stdout), len(stderr)) > most:
        outcome = "output_limit"
    return ProgramResult(
        outcome=outcome,
        stdout=stdout[:most],
        stderr=stderr[:most],
        exit_code=code,
        wall_s=float(run.get("execution_time") or 0.0),
    )
