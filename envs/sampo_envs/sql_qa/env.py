"""Questions about a small database, answered with SQL: a tool environment in a few dozen lines."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import ClassVar

from sampo.errors import ConfigError, did_you_mean
from sampo_envs.splits import known_split, owner
from sampo_envs.tools import Question, ResultText, Tool, ToolEnv, ToolPrompt, ToolResult

_SCRIPT = Path(__file__).with_name("bookshop.sql")
_READING = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE}
_UNREPEATABLE = {"random", "randomblob", "load_extension", "date", "time", "datetime", "julianday"}
_UNREPEATABLE |= {"strftime", "unixepoch", "current_date", "current_time", "current_timestamp"}
_STEPS_AT_ONCE = 10_000


@dataclass(frozen=True, kw_only=True)
class SqlTool(Tool):
    """Runs one query on the bookshop database, which nobody can write to."""

    languages: ClassVar[tuple[str, ...]] = ("sql",)

    max_rows: int = 20
    max_steps: int = 5_000_000
    """Most steps of SQLite's machine: a limit that, unlike time, is the same everywhere."""

    def __call__(self, call: str, earlier: Sequence[str]) -> ToolResult:
        """Answer a query with its rows, one a line."""
        steps_left = self.max_steps // _STEPS_AT_ONCE

        def out_of_steps() -> bool:
            nonlocal steps_left
            steps_left -= 1
            return steps_left < 0

        database = _database()
        database.set_progress_handler(out_of_steps, _STEPS_AT_ONCE)
        try:
            rows = database.execute(call).fetchmany(self.max_rows + 1)
        except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
            return ToolResult(text=f"Error: {error}", failed=True)
        lines = [" | ".join(str(value) for value in row) for row in rows[: self.max_rows]]
        lines += ["(more rows left out)"] if len(rows) > self.max_rows else []
        return ToolResult(text="\n".join(lines) or "(no rows)")


@lru_cache(maxsize=1)
def _database() -> sqlite3.Connection:
    """Return the database, in memory; only reading is allowed from here on."""
    database = sqlite3.connect(":memory:")
    database.executescript(_SCRIPT.read_text())
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 100_000)

    def allowed(action: int, _: str | None, name: str | None, *__: str | None) -> int:
        harmless = action == sqlite3.SQLITE_FUNCTION and name not in _UNREPEATABLE
        return sqlite3.SQLITE_OK if harmless or action in _READING else sqlite3.SQLITE_DENY

    database.set_authorizer(allowed)
    return database


@dataclass(frozen=True, kw_only=True)
class SqlPrompt(ToolPrompt):
    """Tells of the tables."""

    task: str = (
        "Answer the question about a bookshop. Its SQLite database has the tables\n"
        "authors(id, name, country, born)\n"
        "books(id, author_id, title, genre, year, price)\n"
        "sales(id, book_id, month, copies)\n"
        "Write one query at a time in a block\n```sql\n...\n```\nand wait for its rows. When you "
        "know the answer, give it as \\boxed{answer}."
    )
    languages: tuple[str, ...] = ("sql",)


_SOLD = "FROM sales JOIN books ON books.id = book_id JOIN authors ON authors.id = author_id"
_TEMPLATES = {
    "count": (
        "How many books of the genre {what} appeared in {when} or later?",
        "SELECT count(*) FROM books WHERE genre = '{what}' AND year >= {when}",
        product(("crime", "history", "poetry", "novel"), range(1987, 2020, 2)),
    ),
    "sum": (
        "How many copies of books by authors from {what} were sold in month {when}?",
        f"SELECT sum(copies) {_SOLD} WHERE country = '{{what}}' AND month = {{when}}",
        product(("Norway", "Italy", "Austria", "Egypt", "Japan"), range(1, 13)),
    ),
    "best": (
        "Who wrote the book of the genre {what} that sold most copies in month {when}?",
        f"SELECT name {_SOLD} WHERE genre = '{{what}}' AND month = {{when}} "
        "ORDER BY copies DESC LIMIT 1",
        product(("crime", "history", "poetry", "novel"), range(1, 13)),
    ),
}
"""By task type: the question, the query that answers it, and what to fill in."""


@lru_cache(maxsize=1)
def _questions() -> dict[str, Question]:
    """Return all questions by their task: `best/poetry/7`."""
    questions: dict[str, Question] = {}
    for kind, (text, query, values) in _TEMPLATES.items():
        for what, when in values:
            solution = query.format(what=what, when=when)
            (answer,) = _database().execute(solution).fetchone()
            questions[f"{kind}/{what}/{when}"] = Question(
                text=text.format(what=what, when=when),
                answer=str(answer),
                kind=kind,
                solution=solution,
            )
    return questions


class SqlQaEnv(ToolEnv):
    r"""Answer questions about a bookshop by querying its database.

    Actions, rewards and ends are those of `ToolEnv`: a block "```sql ... ```" is a query, and
    `\boxed{...}` the answer, right where it is the gold answer, capitals ignored.

    State key:
        (task, digest of the queries made).

    Version history:
        1: first version.

    Args:
        tool: What the blocks are given to.
        max_turns: Most turns of an episode.
        prompt_format: How it is talked to.
        result_text: How results are shown.
    """

    def __init__(
        self,
        *,
        tool: SqlTool | None = None,
        max_turns: int = 4,
        prompt_format: ToolPrompt | None = None,
        result_text: ResultText | None = None,
    ) -> None:
        super().__init__(
            tool=tool or SqlTool(),
            max_turns=max_turns,
            prompt_format=prompt_format or SqlPrompt(),
            result_text=result_text or ResultText(),
        )

    def tasks(self, split: str) -> list[str]:
        """Return the tasks of a split: `best/poetry/7`."""
        known_split(split, "SqlQa")
        return [task for task, question in _questions().items() if owner(question.text) == split]

    def question(self, task: str) -> Question:
        """Return the question of a task."""
        if task not in _questions():
            raise ConfigError(
                f"SqlQa: there is no task {task!r}.{did_you_mean(task, _questions())}"
            )
        return _questions()[task]

    def judge(self, question: Question, answer: str) -> bool:
        """Return whether it is the gold answer, capitals ignored."""
        return answer.casefold() == question.answer.casefold()
