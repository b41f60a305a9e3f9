"""What environments have in common whose policy calls a tool in its text, turn by turn.

A tool environment is a `Tool`, a `ToolEnv` that knows its questions, and nothing else: see
`docs/add-a-tool-environment.md`, `sampo_envs.tir_math` and `sampo_envs.sql_qa`.
"""

from sampo_envs.tools.env import Question, ToolEnv
from sampo_envs.tools.prompt import ToolPrompt
from sampo_envs.tools.reading import first_block, last_boxed
from sampo_envs.tools.tool import ResultText, Tool, ToolResult

__all__ = [
    "Question",
    "ResultText",
    "Tool",
    "ToolEnv",
    "ToolPrompt",
    "ToolResult",
    "first_block",
    "last_boxed",
]
