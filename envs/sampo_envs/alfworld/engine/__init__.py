"""The real engine: TextWorld's grammar and logic over Fast Downward's simulator, without its waste.

Importing this package imports `textworld`, `alfworld` and `fast_downward`, which takes a second;
`sampo_envs.alfworld.env` does so in `reset`. What is TextWorld's and what is not: its parsers, its
fact store with its queries, ALFWorld's names and Fast Downward's library are used as they are;
translating is done once per problem (`grounding`), one library serves all games of a process
(`simulator`), and texts are derived without copying (`texts`). Transcripts equal those of
`textworld.envs.PddlEnv` letter for letter, which a test shows.
"""

from sampo.errors import MissingDependencyError

try:
    import alfworld  # noqa: F401
    import fast_downward  # noqa: F401
    import tatsu  # noqa: F401
    import textworld  # noqa: F401
except ImportError as error:
    raise MissingDependencyError(
        f"ALFWorld: the package {error.name} is not installed. Install it with `pip install "
        "alfworld`, or with this benchmark: `pip install sampo[alfworld]`."
    ) from error

from sampo_envs.alfworld.engine.board import Board
from sampo_envs.alfworld.engine.grounding import Grounding, ground, translate
from sampo_envs.alfworld.engine.play import Play

__all__ = ["Board", "Grounding", "Play", "ground", "translate"]
