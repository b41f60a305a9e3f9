"""The local sandbox: what a program gives back, kept state, settings, and its failures."""

import pickle
import shutil
import warnings

import pytest

from sampo.errors import ConfigError, EnvFailure, MissingDependencyError
from sampo_envs.tir_math.sandbox import Limits, LocalSandbox, isolation, local


@pytest.fixture(scope="module")
def sandbox() -> LocalSandbox:
    made = LocalSandbox(packages=("mpmath", "sympy"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made.level()
    return made


def test_a_program_runs_with_the_packages(sandbox: LocalSandbox) -> None:
    result = sandbox("from sympy import *\nx = symbols('x')\nprint(solve(x**2 - 4))")
    assert (result.outcome, result.stdout, result.exit_code) == ("finished", "[-2, 2]\n", 0)
    assert result.cpu_s > 0 and 0 < result.wall_s < 10


def test_a_traceback_shows_the_program_and_nothing_of_the_sandbox(sandbox: LocalSandbox) -> None:
    result = sandbox("def f():\n    return 1 / 0\nf()")
    assert result.outcome == "error"
    assert result.stderr.splitlines()[:3] == [
        "Traceback (most recent call last):",
        '  File "<program>", line 3, in <module>',
        "    f()",
    ]
    assert "cell.py" not in result.stderr and result.stderr.endswith("division by zero\n")


def test_variables_of_earlier_programs_are_there_and_their_output_is_not(
    sandbox: LocalSandbox,
) -> None:
    earlier = ["x = 3\nprint('early')", "y = x + 1\n1/0\nx = 9", "import math"]
    result = sandbox("print(x, y, math.floor(2.5), __name__)", earlier)
    assert (result.stdout, result.stderr) == ("3 4 2 __main__\n", "")


def test_classes_defined_by_programs_work(sandbox: LocalSandbox) -> None:
    result = sandbox(
        "from dataclasses import dataclass\nimport pickle\n@dataclass\nclass P:\n    x: int\n"
        "print(pickle.loads(pickle.dumps(P(3))))"
    )
    assert result.stdout == "P(x=3)\n"


def test_what_is_random_by_default_repeats(sandbox: LocalSandbox) -> None:
    program = "import random\nprint(random.random(), hash('word'), {'a', 'b', 'c'})"
    assert sandbox(program).stdout == sandbox(program).stdout


def test_equal_settings_share_a_server_and_copies_can_be_sent_away(sandbox: LocalSandbox) -> None:
    copy = pickle.loads(pickle.dumps(sandbox))
    assert copy == sandbox and local._server(copy) is local._server(sandbox)


def test_a_server_that_was_lost_is_an_error_and_the_next_one_works(sandbox: LocalSandbox) -> None:
    own = LocalSandbox(packages=(), isolation="rlimits", limits=Limits(wall_s=7))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        server, _ = local._server(own)
    server._process.kill()
    server._process.wait()
    with pytest.raises(EnvFailure, match="the fork server failed: it ended, exit code -9"):
        own("print(1)")
    assert own("print(1)").stdout == "1\n"
    own.close()


def test_weaker_isolation_is_warned_of(sandbox: LocalSandbox) -> None:
    local._server.cache_clear()
    with pytest.warns(UserWarning, match="ISOLATION IS ONLY 'rlimits'.*read and write every file"):
        LocalSandbox(packages=(), isolation="rlimits").level()


def test_the_next_best_isolation_is_taken_and_the_reason_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = shutil.which
    monkeypatch.setattr(
        isolation.shutil, "which", lambda name: None if name == "bwrap" else found(name)
    )
    local._server.cache_clear()
    with pytest.warns(UserWarning, match="bubblewrap: not installed"):
        assert LocalSandbox(packages=()).level() != "bubblewrap"
    local._server.cache_clear()


def test_refuses_to_run_below_the_weakest_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolation.shutil, "which", lambda name: None)
    strict = LocalSandbox(packages=(), weakest="bubblewrap", limits=Limits(wall_s=6))
    with pytest.raises(ConfigError, match=r"weakest='bubblewrap'.*bubblewrap: not installed"):
        strict("print(1)")
    with pytest.raises(ConfigError, match="none was tried"):
        LocalSandbox(packages=(), weakest="unshare", isolation="rlimits")("print(1)")


def test_isolation_that_does_not_start_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "command", lambda *_: ["/bin/false"])
    broken = LocalSandbox(packages=(), limits=Limits(wall_s=6.5))
    with pytest.raises(ConfigError, match="rlimits: it ended, exit code 1"):
        broken("print(1)")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"isolation": "bubblewarp"}, "Did you mean 'bubblewrap'"),
        ({"weakest": "none"}, "weakest='none' is none of"),
    ],
)
def test_unknown_names_are_refused(settings: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        LocalSandbox(**settings)


def test_packages_that_are_not_there_are_refused() -> None:
    with pytest.raises(MissingDependencyError, match="'simpy' is not installed"):
        LocalSandbox(packages=("simpy",))("print(1)")
    with pytest.raises(ConfigError, match="'this' of `packages` is a module"):
        LocalSandbox(packages=("this",))("print(1)")


def test_limits_must_be_positive() -> None:
    with pytest.raises(ConfigError, match="wall_s is 0"):
        Limits(wall_s=0)
