"""Make small ALFWorld games out of what the alfworld package ships; each is won by its walkthrough.

    python tools/make_alfworld_games.py games.zip --train 8 --valid_seen 4 --valid_unseen 4

Numbers are games of each of the six types. A target that ends in `.zip` leaves domain and grammar
to the installed package, as `envs/sampo_envs/alfworld/generated.zip` does, which this made with the
numbers of its defaults; any other is a folder of complete game files, as in ALFWorld's release.
"""

from __future__ import annotations

import argparse
import json
import time
import zipfile
from itertools import islice
from pathlib import Path
from typing import Any

from sampo_envs.alfworld.engine import Board, Play, translate
from sampo_envs.alfworld.games import FILE, SPLITS, TYPES, installed_texts
from sampo_envs.alfworld.generate import make_games


def complete(game: dict[str, Any]) -> dict[str, Any]:
    """Return a game as in the release, with its domain and grammar."""
    domain, grammar = installed_texts()
    rest = {key: value for key, value in game.items() if key != "task"}
    grammar = grammar.replace("UNKNOWN GOAL", game["task"])
    return {"pddl_domain": domain, "grammar": grammar, **rest}


def replay(game: dict[str, Any]) -> bool:
    """Return whether the walkthrough wins in our own engine, too, and not before its end."""
    whole = complete(game)
    domain, problem = whole["pddl_domain"], whole["pddl_problem"]
    play = Play(Board(domain, whole["grammar"], translate(domain, problem)))
    won = []
    for command in game["walkthrough"]:
        play.step(command)
        won.append(play.won)
    return won[-1] and not any(won[:-1])


def write(target: Path, games: dict[str, dict[str, Any]]) -> None:
    """Write games as a zip file or as a folder."""
    if target.suffix != ".zip":
        for name, game in games.items():
            path = target / name / FILE
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(complete(game)))
        return
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, game in games.items():
            # A fixed date: the same games make the same file.
            entry = zipfile.ZipInfo(f"{name}/{FILE}")
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, json.dumps(game), compresslevel=9)


def main() -> None:
    """Make, solve, replay and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("target", type=Path)
    for split, count in zip(SPLITS, (8, 4, 4), strict=True):
        parser.add_argument(f"--{split}", type=int, default=count)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    games: dict[str, dict[str, Any]] = {}
    for split in SPLITS:
        for kind in TYPES:
            began, steps = time.process_time(), []
            for name, game in islice(make_games(kind, split, args.seed), getattr(args, split)):
                assert replay(game), f"{name} is not won by its walkthrough"
                games[name] = game
                steps.append(len(game["walkthrough"]))
            spent = time.process_time() - began
            print(f"{split} {kind}: walkthroughs of {sorted(steps)} commands, {spent:.1f} CPU s")
    write(args.target, games)
    print(f"{len(games)} games in {args.target}")


if __name__ == "__main__":
    main()
