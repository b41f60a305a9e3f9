"""Questions about a bundled database, answered with SQL; the example of a tool environment."""

from sampo_envs.sql_qa.env import SqlPrompt, SqlQaEnv, SqlTool

__all__ = ["SqlPrompt", "SqlQaEnv", "SqlTool"]
