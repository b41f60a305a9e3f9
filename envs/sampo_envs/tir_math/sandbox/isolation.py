"""How much of the machine a program can see: three ways to start the fork server, best first.

`bubblewrap`: namespaces and a file system made of the interpreter and the chosen packages, nothing
else. `unshare`: the same namespaces, the host's files readable and not writable. `rlimits`: limits
and the filter of system calls only; files can be read and written with the user's own rights.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from sampo.errors import ConfigError, MissingDependencyError

Isolation = Literal["bubblewrap", "unshare", "rlimits"]
LEVELS: tuple[Isolation, ...] = ("bubblewrap", "unshare", "rlimits")
"""From the strongest to the weakest."""

WEAKNESS = {
    "unshare": "model-written code has no network, but can read every file that you can read",
    "rlimits": (
        "model-written code is limited in time and memory, has no network and starts no "
        "processes, but can read and write every file that you can"
    ),
}

_HERE = Path(__file__).parent
_PACKAGES, _PROGRAM, _WORK = "/packages", "/sandbox", "/work"
_WARM_UP = """
import sympy
x = sympy.Symbol("x")
sympy.solve(x**2 - 2 * x - 5, x)
sympy.simplify(sympy.sin(x) ** 2 + sympy.integrate(x, x))
"""
"""sympy imports much of itself, and fills its caches, when it is first used."""
_BOOT = (
    "import sys; sys.path.insert(0, sys.argv[1]); from inside.server import main; "
    "del sys.path[0]; main(sys.argv[2])"
)


def available(level: Isolation) -> bool:
    """Return whether the program that this level needs is installed."""
    return {"bubblewrap": _installed("bwrap"), "unshare": _installed("unshare")}.get(level, True)


def environ(level: Isolation, packages: Sequence[str]) -> dict[str, str]:
    """Return all environment variables of the server: none of the caller's."""
    folders = dict.fromkeys(str(folder.parent) for folder in package_folders(packages))
    return {
        "PYTHONPATH": _PACKAGES if level == "bubblewrap" else ":".join(folders),
        "PYTHONHASHSEED": "0",  # the same program prints the same
        "PYTHONUTF8": "1",
        "OPENBLAS_NUM_THREADS": "1",  # a fork server has one thread
        "OMP_NUM_THREADS": "1",
        "HOME": _WORK,
    }


def command(level: Isolation, packages: Sequence[str], settings: dict[str, Any]) -> list[str]:
    """Return the command line that starts the fork server.

    Args:
        level: How it is isolated.
        packages: Names of the import packages that programs may use, imported beforehand.
        settings: `wall_s`, `output_bytes` and the limits of `fence`; see `inside/server.py`.
    """
    inside = level == "bubblewrap"
    fence = {
        **settings["fence"],
        "alone": level != "rlimits",
        "folder": _WORK if inside else tempfile.gettempdir(),
    }
    full = {
        **settings,
        "fence": fence,
        "seal": level == "unshare",
        "preload": list(packages),
        "warm_up": _WARM_UP if "sympy" in packages else "",
    }
    server: list[str] = [_interpreter(), "-s", "-S", "-P", "-B", "-c", _BOOT]
    server += [_PROGRAM if inside else str(_HERE), json.dumps(full)]
    wrapper = {"bubblewrap": _bubblewrap, "unshare": _unshare}.get(level)
    return (wrapper(packages) if wrapper else []) + server


def package_folders(packages: Sequence[str]) -> list[Path]:
    """Return the folders of import packages, with those of the libraries that wheels put beside.

    Raises:
        MissingDependencyError: One is not installed.
        ConfigError: One is not a package but a single file.
    """
    folders: list[Path] = []
    for name in packages:
        spec = find_spec(name)
        if spec is None:
            raise MissingDependencyError(
                f"Sandbox: the package {name!r} is not installed. Install it (pip install "
                "'sampo[math]' brings sympy and mpmath), or leave it out of `packages`."
            )
        if not spec.submodule_search_locations:
            raise ConfigError(f"Sandbox: {name!r} of `packages` is a module, not a package folder.")
        folder = Path(next(iter(spec.submodule_search_locations)))
        folders += [folder, *folder.parent.glob(f"{name}.libs")]
    return folders


def _bubblewrap(packages: Sequence[str]) -> list[str]:
    prefix = str(Path(sys.base_prefix).resolve())
    line = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session"]
    line += ["--ro-bind", "/usr", "/usr", "--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"]
    for folder in ("/bin", "/lib", "/lib64"):
        if Path(folder).is_symlink():
            line += ["--symlink", f"usr{folder}", folder]
        else:
            line += ["--ro-bind-try", folder, folder]
    if not prefix.startswith("/usr"):
        line += ["--ro-bind", prefix, prefix]
    line += ["--proc", "/proc", "--dev", "/dev", "--remount-ro", "/dev"]
    line += ["--dir", _WORK]
    line += ["--ro-bind", str(_HERE / "inside"), f"{_PROGRAM}/inside"]
    for folder in package_folders(packages):
        line += ["--ro-bind", str(folder), f"{_PACKAGES}/{folder.name}"]
    return [*line, "--remount-ro", "/", "--chdir", "/", "--"]


def _unshare(packages: Sequence[str]) -> list[str]:
    line = ["unshare", "--user", "--map-root-user", "--net", "--ipc", "--pid", "--mount"]
    return [*line, "--fork", "--kill-child", "--"]


def _interpreter() -> str:
    """Return the interpreter itself, not the link to it in a virtual environment."""
    return str(Path(sys.executable).resolve())


def _installed(program: str) -> bool:
    return shutil.which(program) is not None
