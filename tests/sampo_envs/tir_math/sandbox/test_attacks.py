"""Programs that try to get out or to do harm: each ends as text, and the next one notices nothing.

Every attack here is harmless to the host should it succeed, too: bounded loops, files of our own.
"""

import os
import sys
import time
import warnings
from ast import literal_eval
from pathlib import Path

import pytest

from sampo.errors import ConfigError
from sampo_envs.tir_math.sandbox import Limits, LocalSandbox

LIMITS = Limits(wall_s=10.0, cpu_s=2, memory_mb=512, files_mb=4, output_kb=16)


def sandbox(level: str, limits: Limits = LIMITS) -> LocalSandbox:
    """Return a sandbox that is up, its warning heard."""
    made = LocalSandbox(packages=(), isolation=level, limits=limits)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made.level()
    except ConfigError as error:
        pytest.skip(f"no {level} here: {error}")
    return made


@pytest.fixture(scope="module", params=["bubblewrap", "unshare"])
def fenced(request: pytest.FixtureRequest) -> LocalSandbox:
    """A sandbox in which programs are alone."""
    return sandbox(request.param)


@pytest.fixture(scope="module", params=["bubblewrap", "unshare", "rlimits"])
def any_level(request: pytest.FixtureRequest) -> LocalSandbox:
    return sandbox(request.param)


CONTAINED = {
    "fork bomb": (
        "import os\nfor _ in range(50):\n    os.fork()",
        "error",
        "PermissionError",
    ),
    "fork by another name": (
        "import subprocess\nsubprocess.run(['/bin/echo', 'hello'])",
        "error",
        "PermissionError",
    ),
    "processes of a pool": (
        "import multiprocessing\nmultiprocessing.get_context('fork').Process(target=print).start()",
        "error",
        "PermissionError",
    ),
    "memory bomb": ("x = bytearray(10**9)", "error", "MemoryError"),
    "memory that no limit counts": (
        "import os\nos.memfd_create('hoard')",
        "error",
        "PermissionError",
    ),
    "sockets": (
        "import socket\nsocket.create_connection(('127.0.0.1', 22), 1)",
        "error",
        "PermissionError",
    ),
    "signal to the parent": (
        "import os\nos.kill(os.getppid() or 1, 9)",
        "error",
        "PermissionError",
    ),
    "signal by way of a file owner": (
        "import fcntl, os\nr, w = os.pipe()\nfcntl.fcntl(r, fcntl.F_SETOWN, os.getppid() or 1)",
        "error",
        "PermissionError",
    ),
    "limits of the parent": (
        "import os, resource\nresource.prlimit(os.getppid() or 1, resource.RLIMIT_CPU, (1, 1))",
        "error",
        "PermissionError",
    ),
    "limits raised": (
        "import resource\nresource.setrlimit(resource.RLIMIT_AS, (2**40, 2**40))",
        "error",
        "ValueError",
    ),
    "_exit": ("import os\nprint('so far', flush=True)\nos._exit(7)", "error", "so far"),
    "quit": ("print('bye')\nquit()", "finished", "bye"),
    "sys.exit with a text": ("import sys\nsys.exit('stopped')", "error", "stopped"),
    "deep recursion": ("def f(n):\n    return f(n + 1)\nf(0)", "error", "RecursionError"),
    "recursion out of the stack": (
        "import sys\nsys.setrecursionlimit(10**9)\ndef f(x):\n    return [f(x)].sort(key=f)\n"
        "import json\nx = []\nfor _ in range(10**5):\n    x = [x]\nprint(len(repr(x)))",
        None,
        "",
    ),
    "binary output": (
        "import sys\nsys.stdout.buffer.write(bytes(range(256)))",
        "finished",
        "ABC",
    ),
    "surrogates": ("print('\\ud800')", "error", "UnicodeEncodeError"),
    "no input": ("input()", "error", "EOFError"),
    "syntax error": ("def f(:\n    pass", "error", "SyntaxError"),
    "nul bytes": ("print('a')\x00", "error", "null bytes"),
    "stdout taken away": ("import sys\nsys.stdout = None\n1/0", "error", "ZeroDivisionError"),
    "an exception that lies": (
        "class E(BaseException):\n    def __str__(self): raise E\nraise E",
        "error",
        "E",
    ),
}


@pytest.mark.parametrize("name", CONTAINED)
def test_comes_back_as_text_and_hurts_nobody(any_level: LocalSandbox, name: str) -> None:
    program, outcome, text = CONTAINED[name]
    result = any_level(program)
    assert text in result.stdout + result.stderr
    if outcome is not None:
        assert result.outcome == outcome
    assert any_level("print('alive')").stdout == "alive\n"


def test_endless_output_ends_at_the_limit(any_level: LocalSandbox) -> None:
    result = any_level("while True:\n    print('x' * 1000)")
    assert result.outcome == "output_limit"
    assert len(result.stdout) == LIMITS.output_kb * 1024


def test_cpu_time_is_limited(any_level: LocalSandbox) -> None:
    result = any_level("print('began')\nwhile True:\n    pass")
    assert (result.outcome, result.stdout) == ("timeout", "began\n")


def test_wall_time_is_limited_even_without_output_or_work(any_level: LocalSandbox) -> None:
    quick = sandbox(any_level.isolation, Limits(wall_s=0.5))
    result = quick("import os, time\nos.close(1)\nos.close(2)\ntime.sleep(60)")
    assert result.outcome == "timeout" and 0.5 <= result.wall_s < 5
    quick.close()


def test_one_program_leaves_nothing_to_the_next(any_level: LocalSandbox) -> None:
    any_level(
        "import builtins, os, random, sys, math\n"
        "builtins.print = builtins.len = None\n"
        "math.pi = 3\n"
        "os.environ['SECRET'] = 'x'\n"
        "sys.path.insert(0, '/work')\n"
        "random.seed(5)\n"
        "open('left.txt', 'w').write('x')\n"
    )
    result = any_level(
        "import math, os, random, sys\n"
        "print(math.pi > 3.1, 'SECRET' in os.environ, os.listdir('.'), sys.path[0] == '/work')\n"
        "print(random.random())"
    )
    first, drawn = result.stdout.splitlines()
    assert first == "True False [] False"
    assert any_level("import random\nprint(random.random())").stdout.strip() == drawn


def test_environment_variables_stay_outside(
    any_level: LocalSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_KEY", "sesame")
    fresh = sandbox(any_level.isolation, Limits(wall_s=9))
    result = fresh(
        "import os\nprint(dict(os.environ))\n"
        "for name in ('self', '1', '2', str(os.getppid())):\n"
        "    try:\n        print(open(f'/proc/{name}/environ').read())\n"
        "    except OSError as error:\n        print(error)"
    )
    assert "sesame" not in result.stdout
    fresh.close()


def test_no_descriptor_of_the_server_is_open(any_level: LocalSandbox) -> None:
    assert (
        any_level(
            "import os\nfound = []\nfor fd in range(3, 64):\n"
            "    try:\n        os.fstat(fd)\n        found.append(fd)\n"
            "    except OSError:\n        pass\nprint(found)"
        ).stdout
        == "[]\n"
    )


WRITES = """
import os, pathlib
for path in ({target!r}, '/etc/x', '/usr/x', '/dev/shm/x', '/x', '/var/tmp/x', '/dev/x'):
    try:
        pathlib.Path(path).write_text('changed')
        print('WROTE', path)
    except OSError:
        pass
for path in ('/proc/sys/kernel/core_pattern', '/proc/sysrq-trigger', '/proc/self/oom_score_adj'):
    try:
        open(path, 'r+').close()
        print('OPENED', path)
    except OSError:
        pass
for folder, below, _ in os.walk('/'):
    if folder.count('/') > 1 or folder in ('/proc', '/sys'):
        below.clear()
    if folder == os.getcwd():
        continue
    try:
        open(os.path.join(folder, 'sampo-probe'), 'x').close()
        print('WROTE', folder)
    except OSError:
        pass
"""


def test_writes_nowhere_but_in_its_folder(fenced: LocalSandbox, tmp_path: Path) -> None:
    target = tmp_path / "target.txt"
    target.write_text("untouched")
    result = fenced(WRITES.format(target=str(target)))
    assert (result.outcome, result.stdout) == ("finished", "")
    assert target.read_text() == "untouched"


def test_files_are_limited_together(fenced: LocalSandbox) -> None:
    result = fenced(
        "for number in range(9):\n"
        "    open(f'{number}', 'wb').write(bytes(10**6))\n"
        "    print(number)"
    )
    assert (result.outcome, result.stdout.split()) == ("error", ["0", "1", "2", "3"])
    assert "No space left" in result.stderr


def test_one_file_is_limited_everywhere(any_level: LocalSandbox) -> None:
    result = any_level("open('big', 'wb').write(bytes(10**7))")
    assert result.outcome == "error" and "OSError" in result.stderr


def test_symbolic_links_lead_nowhere(fenced: LocalSandbox, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("sesame")
    result = fenced(
        "import os\n"
        f"os.symlink({str(tmp_path)!r}, 'out')\n"
        "for action in (lambda: open('out/new', 'w'), lambda: os.remove('out/secret.txt')):\n"
        "    try:\n        action()\n        print('DONE')\n"
        "    except OSError as error:\n        print(type(error).__name__)\n"
        "os.symlink('/', 'root')\nos.chdir('root')\nprint(os.getcwd())"
    )
    assert result.outcome == "finished" and "DONE" not in result.stdout
    assert secret.read_text() == "sesame" and len(list(tmp_path.iterdir())) == 1


READS = """
import os
for path in (
    {secret!r}, {home!r}, '/etc/passwd',
    '/proc/1/root/etc/passwd', '/proc/2/root/etc/passwd', '/proc/2/cwd/etc/passwd',
):
    try:
        print('READ', open(path).read())
    except OSError:
        pass
print(sorted(os.listdir('/')))
"""
SEEN = {"bin", "dev", "etc", "lib", "lib64", "packages", "proc", "sandbox", "usr", "work"}


def test_the_hosts_files_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("sesame")
    paths = {"secret": str(tmp_path / "secret.txt"), "home": str(Path.home() / ".bashrc")}
    result = sandbox("bubblewrap")(READS.format(**paths))
    assert result.outcome == "finished" and "READ" not in result.stdout
    prefix = Path(sys.base_prefix).resolve().parts[1]  # the way to the interpreter, and no more
    assert set(literal_eval(result.stdout)) <= SEEN | {prefix}


def test_a_folder_left_by_a_killed_program_is_removed() -> None:
    result = sandbox("rlimits")(
        "import os\nopen('x', 'w').close()\nprint(os.getcwd())\nos._exit(1)"
    )
    folder = Path(result.stdout.strip())
    assert folder.name.startswith("sampo-program-") and not folder.exists()


def test_threads_are_allowed(any_level: LocalSandbox) -> None:
    result = any_level(
        "import threading\nt = threading.Thread(target=print, args=('hi',))\nt.start()\nt.join()"
    )
    assert result.stdout == "hi\n"


def test_programs_die_with_the_server(fenced: LocalSandbox) -> None:
    before = children()
    own = sandbox(fenced.isolation, Limits(wall_s=8))
    started = children() - before
    own.close()
    until = time.monotonic() + 10
    while any(alive(pid) for pid in started) and time.monotonic() < until:
        time.sleep(0.05)
    assert started and not any(alive(pid) for pid in started)


def children() -> set[int]:
    """Return the ids of all processes that descend from this one."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(path.parent.name)] = int(fields[1])
    found, front = set(), {os.getpid()}
    while front:
        front = {pid for pid, parent in parents.items() if parent in front}
        found |= front
    return found


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
