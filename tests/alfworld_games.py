"""Games of the package, as files of the release have them."""

from typing import Any

from sampo_envs.alfworld import open_games, read_game


def whole(name: str) -> dict[str, Any]:
    """Return a game of the package as a complete file of the release has it."""
    game = read_game(open_games("generated"), name)
    return {
        "pddl_domain": game.domain,
        "grammar": game.grammar,
        "pddl_problem": game.problem,
        "solvable": True,
        "walkthrough": list(game.walkthrough),
    }
