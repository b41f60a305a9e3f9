"""Where the files that ship with sampo are: configs, looked up by name.

In a checkout the configs are the repository's `configs/`; in an installed wheel they are package
data. Nothing is read or parsed here; the command line does that.
"""

from __future__ import annotations

from pathlib import Path

from sampo.errors import ConfigError, did_you_mean

_PACKAGE = Path(__file__).resolve().parent
_CANDIDATES = (_PACKAGE / "configs", _PACKAGE.parents[1] / "configs")
_MANY = 12
"""More names than these are not listed in an error."""


def config_root() -> Path:
    """Return the folder of the shipped configs.

    Raises:
        ConfigError: the installation is damaged and has none.
    """
    for folder in _CANDIDATES:
        if folder.is_dir():
            return folder
    looked = " or ".join(str(folder) for folder in _CANDIDATES)
    raise ConfigError(f"The configs that ship with sampo are not in {looked}. Install sampo again.")


def list_configs() -> list[str]:
    """Return the names of all shipped configs, sorted, e.g. `envs/sokoban` and `quickstart`."""
    root = config_root()
    files = root.rglob("*.yaml")
    return sorted(file.relative_to(root).with_suffix("").as_posix() for file in files)


def find_config(name_or_path: str | Path) -> Path:
    """Return the file that a `--config` argument means.

    An existing file wins; otherwise the argument is the name of a shipped config, with or without
    `.yaml`.

    Args:
        name_or_path: a path, or a name out of `list_configs`.

    Raises:
        ConfigError: neither; names the nearest shipped config and the places that were tried.
    """
    path = Path(name_or_path)
    if path.is_file():
        return path
    name = path.as_posix().removesuffix(".yaml")
    names = list_configs()
    root = config_root()
    if name in names:
        return root / f"{name}.yaml"
    if path.is_dir():
        raise ConfigError(f"The config {path.absolute()} is a folder; name a file in it.")
    few = f" Shipped configs: {', '.join(names)}." if len(names) <= _MANY else ""
    hint = did_you_mean(name, names) or few
    raise ConfigError(
        f"No config {str(name_or_path)!r}: there is no file {path.absolute()}, "
        f"and no config of that name in {root}.{hint}"
    )
