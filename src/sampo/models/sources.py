"""Where policies come from: folders, the Hugging Face hub, and what ships with sampo.

Names and paths only; `models.policy` loads what they mean.
"""

from __future__ import annotations

from pathlib import Path

from sampo.errors import PolicyError, did_you_mean

_SHIPPED = Path(__file__).resolve().parents[1] / "assets" / "policies"


def list_policies() -> list[str]:
    """Return the names of the checkpoints that ship with sampo, sorted."""
    return sorted(path.parent.name for path in _SHIPPED.glob("*/config.json"))


def resolve_policy(source: str) -> str:
    """Return the folder or hub id that `source` means.

    Args:
        source: a Hugging Face folder, a hub id such as `Qwen/Qwen3-0.6B`, or a name out of
            `list_policies`. An existing folder wins.

    Raises:
        PolicyError: a folder without a model, or an unknown name; names the nearest shipped one.
    """
    folder = Path(source).expanduser()
    if folder.is_dir():
        if not (folder / "config.json").is_file():
            raise PolicyError(
                f"The folder {folder.absolute()} holds no model: it has no config.json. Give the "
                "folder that `save_pretrained` (or `sampo clone`) wrote."
            )
        return str(folder)
    if source in (names := list_policies()):
        return str(_SHIPPED / source)
    owner, _, model = source.partition("/")
    if owner and model and "/" not in model and not source.startswith((".", "~")):
        return source
    shipped = f" Shipped policies: {', '.join(names) or 'none'}."
    raise PolicyError(
        f"No policy {source!r}: there is no folder {folder.absolute()}, and no checkpoint of that "
        f"name ships with sampo.{did_you_mean(source, names) or shipped} Models of the Hugging "
        "Face hub are named owner/model."
    )
