"""The remote sandbox against a small server that speaks Sandbox-Fusion's protocol."""

import json
import threading
from collections.abc import Iterator
from contextlib import redirect_stdout
from http.server import BaseHTTPRequestHandler, HTTPServer
from io import StringIO

import pytest

from sampo.errors import ConfigError, EnvFailure
from sampo_envs.tir_math.sandbox import Limits, RemoteSandbox, remote


class Fusion(BaseHTTPRequestHandler):
    """Answers with the next scripted reply, or runs the (harmless) program of the test itself."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, body))
        status, reply = self.server.script.pop(0) if self.server.script else (200, run(body))
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(reply).encode() if isinstance(reply, dict) else reply)

    def log_message(self, *args: object) -> None:
        """Say nothing."""


def run(body: dict) -> dict:
    out = StringIO()
    with redirect_stdout(out):
        exec(body["code"], {})  # noqa: S102 - the tests' own programs
    return finished(stdout=out.getvalue())


def finished(**result: object) -> dict:
    fields = {"status": "Finished", "execution_time": 0.25, "return_code": 0}
    fields |= {"stdout": "", "stderr": ""}
    return {
        "status": "Success",
        "message": "",
        "compile_result": None,
        "run_result": {**fields, **result},
        "executor_pod_name": None,
        "files": {},
    }


@pytest.fixture
def server() -> Iterator[HTTPServer]:
    with HTTPServer(("127.0.0.1", 0), Fusion) as made:
        made.script, made.asked = [], []
        thread = threading.Thread(target=made.serve_forever, daemon=True)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


@pytest.fixture
def sandbox(server: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> RemoteSandbox:
    monkeypatch.setattr(remote, "_PAUSE_S", 0.01)
    limits = Limits(wall_s=3, memory_mb=256, output_kb=1)
    return RemoteSandbox(url=f"http://127.0.0.1:{server.server_port}/", limits=limits)


def test_asks_in_the_protocol(server: HTTPServer, sandbox: RemoteSandbox) -> None:
    result = sandbox("print(6 * 7)")
    assert (result.outcome, result.stdout, result.wall_s) == ("finished", "42\n", 0.25)
    assert server.asked == [
        (
            "/run_code",
            {
                "code": "print(6 * 7)",
                "language": "python",
                "run_timeout": 3,
                "compile_timeout": 3,
                "memory_limit_MB": 256,
            },
        )
    ]


def test_earlier_programs_run_silently_before(sandbox: RemoteSandbox) -> None:
    assert sandbox("print(x)", ["x = 5\nprint('early')", "1/0"]).stdout == "5\n"


@pytest.mark.parametrize(
    ("run_result", "outcome"),
    [
        ({"return_code": 1, "stderr": "NameError"}, "error"),
        ({"return_code": -9}, "killed"),
        ({"status": "TimeLimitExceeded", "return_code": None}, "timeout"),
        ({"stdout": "x" * 2000}, "output_limit"),
    ],
)
def test_faults_of_programs_are_results(
    server: HTTPServer, sandbox: RemoteSandbox, run_result: dict, outcome: str
) -> None:
    server.script = [(200, {**finished(**run_result), "status": "Failed"})]
    result = sandbox("print(1)")
    assert result.outcome == outcome and len(result.stdout) <= 1024


def test_a_server_that_recovers_is_asked_again(server: HTTPServer, sandbox: RemoteSandbox) -> None:
    server.script = [(503, {}), (200, {"status": "SandboxError", "message": "no pod"})]
    assert sandbox("print(1)").stdout == "1\n"
    assert len(server.asked) == 3


def test_a_server_that_does_not_is_an_error(server: HTTPServer, sandbox: RemoteSandbox) -> None:
    server.script = [(200, b"nonsense")] * 2 + [
        (200, {"status": "SandboxError", "message": "full"})
    ]
    with pytest.raises(EnvFailure, match="no result after 3 attempts: full"):
        sandbox("print(1)")


def test_nobody_there_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "_PAUSE_S", 0.01)
    with pytest.raises(EnvFailure, match=r"no result after 1 attempts: .*refused"):
        RemoteSandbox(url="http://127.0.0.1:9", attempts=1)("print(1)")


def test_other_addresses_are_refused() -> None:
    with pytest.raises(ConfigError, match="must start with http"):
        RemoteSandbox(url="file:///etc/passwd")
