"""Programs on this machine, in the strongest isolation that it offers."""

from __future__ import annotations

import atexit
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from sampo.errors import ConfigError, EnvFailure, did_you_mean
from sampo_envs.tir_math.sandbox.child import ChildFailure, LineChild
from sampo_envs.tir_math.sandbox.isolation import (
    LEVELS,
    WEAKNESS,
    Isolation,
    available,
    command,
    environ,
)
from sampo_envs.tir_math.sandbox.run import Limits, ProgramResult, Sandbox

_START_S = 60.0
_GRACE_S = 10.0
"""How much later than a program's deadline its result may come on a busy machine."""


@dataclass(frozen=True, kw_only=True)
class LocalSandbox(Sandbox):
    r"""A warm fork server in a sandbox of the operating system; one per process and setting.

    Every program gets a child of its own with the packages imported, without network, without the
    host's files and environment variables, in an empty private working folder, under `limits`,
    and is killed with all that it started. Nothing of it reaches the next program. Seeds of
    `random` and of hashes are fixed. Linux only.

    Where the strongest isolation is not to be had, the next one is used and a warning says what it
    lacks; `weakest` refuses instead.

    Raises:
        ConfigError: A setting that cannot work, or no isolation as strong as `weakest`.
        MissingDependencyError: One of `packages` is not installed.

    Example:
        >>> sandbox = LocalSandbox(packages=())
        >>> sandbox("print(6 * 7)").stdout  # doctest: +SKIP
        '42\n'
    """

    limits: Limits = field(default_factory=Limits)
    packages: tuple[str, ...] = ("mpmath", "sympy", "numpy")
    """Import packages that programs may use, imported once in the server."""
    isolation: Literal["auto", "bubblewrap", "unshare", "rlimits"] = "auto"
    """`auto` takes the strongest that works; a name takes that one."""
    weakest: Isolation = "rlimits"
    """The weakest isolation that is accepted; `bubblewrap` accepts nothing less."""

    def __post_init__(self) -> None:
        """Refuse unknown names."""
        for name, value, known in (
            ("isolation", self.isolation, ("auto", *LEVELS)),
            ("weakest", self.weakest, LEVELS),
        ):
            if value not in known:
                raise ConfigError(
                    f"Sandbox: {name}={value!r} is none of {', '.join(known)}."
                    f"{did_you_mean(value, known)}"
                )
        object.__setattr__(self, "packages", tuple(self.packages))  # YAML gives lists

    def __call__(self, program: str, earlier: Sequence[str] = ()) -> ProgramResult:
        """Run a program; see `Sandbox`."""
        server, level = self._started()
        try:
            answer = server.ask(
                {"program": program, "earlier": list(earlier)}, self.limits.wall_s + _GRACE_S
            )
        except ChildFailure as failure:
            raise EnvFailure(f"Sandbox ({level}): the fork server failed: {failure}.") from failure
        if answer["outcome"] == "not_fenced":
            raise EnvFailure(
                f"Sandbox ({level}): a program could not be fenced in and did not run: "
                f"{answer['stderr'].strip()[-300:]}"
            )
        return ProgramResult(**answer)

    def level(self) -> Isolation:
        """Return the isolation in use, after starting the server."""
        return self._started()[1]

    def close(self) -> None:
        """Stop this process's server of these settings; a next program starts another one."""
        self._started()[0].close()

    def _started(self) -> tuple[LineChild, Isolation]:
        return _server(self)


@lru_cache(maxsize=16)
def _server(sandbox: LocalSandbox) -> tuple[LineChild, Isolation]:
    """Start the fork server of these settings, in the strongest isolation that works."""
    wanted = LEVELS if sandbox.isolation == "auto" else (sandbox.isolation,)
    accepted = LEVELS[: LEVELS.index(sandbox.weakest) + 1]
    reasons: list[str] = []
    for level in wanted:
        if level not in accepted:
            continue
        if not available(level):
            reasons.append(f"{level}: not installed")
            continue
        server = LineChild(
            command(level, sandbox.packages, _settings(sandbox.limits)),
            start_timeout_s=_START_S,
            environ=environ(level, sandbox.packages),
        )
        try:
            server.start()
            server.ask({"program": "", "earlier": []}, _START_S)
        except ChildFailure as failure:
            reasons.append(f"{level}: {failure}")
            continue
        atexit.register(server.close)
        if level in WEAKNESS:
            why = f" ({'; '.join(reasons)})" if reasons else ""
            warnings.warn(
                f"SANDBOX ISOLATION IS ONLY {level!r}{why}: {WEAKNESS[level]}. Install bubblewrap, "
                "or set `weakest: bubblewrap` to refuse to run like this.",
                stacklevel=4,
            )
        return server, level
    raise ConfigError(
        f"Sandbox: no isolation at least as strong as weakest={sandbox.weakest!r} can be had here "
        f"with isolation={sandbox.isolation!r} ({'; '.join(reasons) or 'none was tried'}). Install "
        "bubblewrap (apt install bubblewrap), or accept a weaker one."
    )


def _settings(limits: Limits) -> dict[str, object]:
    return {
        "wall_s": limits.wall_s,
        "output_bytes": limits.output_kb * 1024,
        "fence": {
            "cpu_s": limits.cpu_s,
            "memory_bytes": limits.memory_mb * 2**20,
            "file_bytes": limits.files_mb * 2**20,
        },
    }
