"""The environment API: text worlds, how they are talked to, and the checks that they pass.

Imports gymnasium and numpy, never torch: worker processes import it and shall start at once.
"""

from sampo.envs.base import TextEnv, task_of
from sampo.envs.check import check_env
from sampo.envs.frozen_lake import FrozenLakeText
from sampo.envs.gymnasium_text import GymnasiumTextEnv, TextAdapter
from sampo.envs.prompt import ParsedAction, PromptFormat, PromptView
from sampo.envs.spaces import AnyText
from sampo.envs.tags import TagPrompt
from sampo.envs.toy import Corridor

__all__ = [
    "AnyText",
    "Corridor",
    "FrozenLakeText",
    "GymnasiumTextEnv",
    "ParsedAction",
    "PromptFormat",
    "PromptView",
    "TagPrompt",
    "TextAdapter",
    "TextEnv",
    "check_env",
    "task_of",
]
