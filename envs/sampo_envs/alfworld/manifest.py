"""The known collections of games: how many of each type a split has, and digests that fix them.

    python -m sampo_envs.alfworld.manifest DATA

prints the entry of what `data=DATA` means.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections import Counter
from importlib.resources import files
from typing import Any

from sampo.errors import EnvFailure
from sampo_envs.alfworld.data import open_games
from sampo_envs.alfworld.games import SPLITS, Games, read_game, task_type

RELEASE = "json_2.1.1"
"""The entry of the official games."""


def read_manifest() -> dict[str, Any]:
    """Return the entry of each known collection by its name."""
    text = files(__package__ or "").joinpath("manifest.json").read_text(encoding="utf-8")
    return json.loads(text)


def describe(games: Games) -> dict[str, Any]:
    """Return what each split has: number of games, of each type, and a digest; reads them all.

    The digest is over names, problems and walkthroughs. Domain and grammar are left out: a
    release's copy of them does not make other games of these.
    """
    return {split: _describe(games, split) for split in SPLITS}


def _describe(games: Games, split: str) -> dict[str, Any]:
    total, types = hashlib.sha256(), Counter[str]()
    for name in sorted(games.splits[split]):
        types[task_type(name)] += 1
        try:
            game = read_game(games, name)
            lines = (name, game.problem, *game.walkthrough)
        except EnvFailure:
            lines = (name, "cannot be played")
        total.update("\n".join(lines).encode() + b"\n")
    count = sum(types.values())
    return {"games": count, **dict(sorted(types.items())), "sha256": total.hexdigest()}


def compare(found: dict[str, Any], known: dict[str, Any]) -> list[str]:
    """Return a line for each split: what is there, and whether it is what the manifest knows."""
    return [f"{split}: {_verdict(found[split], known[split])}" for split in SPLITS]


def _verdict(found: dict[str, Any], known: dict[str, Any]) -> str:
    count = found["games"]
    if count == 0:
        return f"no games (officially {known['games']})"
    if count != known["games"]:
        return f"{count} games, not the official {known['games']}"
    if known["sha256"] is None:
        return f"{count} games, the official number (no digest is known)"
    same = "exactly" if found == known else "in number, but not in content,"
    return f"{count} games, {same} those of the manifest"


def main() -> None:
    """Print the entry of the games that the command line names."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", help="a folder or an archive, or generated, or fetched")
    entry = describe(open_games(parser.parse_args().data))
    sys.stdout.write(json.dumps(entry, indent=2) + "\n")


if __name__ == "__main__":
    main()
