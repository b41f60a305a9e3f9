"""The bookshop: its laws, its answers, and that nobody can write to it."""

import pytest

from sampo.envs import check_env
from sampo.errors import ConfigError
from sampo_envs.sql_qa import SqlQaEnv, SqlTool


def test_keeps_the_contract() -> None:
    check_env(SqlQaEnv())


def test_every_question_belongs_to_one_split_and_is_solved_by_its_query() -> None:
    env = SqlQaEnv()
    tasks = [task for split in ("train", "val", "test") for task in env.tasks(split)]
    assert len(tasks) == len(set(tasks)) == 176
    for task in tasks:
        question = env.question(task)
        assert question.solution is not None
        assert env.tool(question.solution, ()).text == question.answer


def test_an_episode_by_hand() -> None:
    env = SqlQaEnv()
    observation, _ = env.reset(options={"task": "sum/Norway/1"})
    assert observation == "How many copies of books by authors from Norway were sold in month 1?"
    observation, *_ = env.step("```sql\nSELECT count(*), min(name) FROM authors\n```")
    assert observation == "Result: 8 | Ada Lindt"
    # Norway's are the books 8, 16, ... and 4, 12, ...: of number b, (32 b + 17) mod 47 were sold.
    copies = sum((32 * book + 17) % 47 for book in (*range(8, 41, 8), *range(4, 37, 8)))
    assert env.step(f"\\boxed{{{copies}}}")[1:3] == (1.0, True)


def test_names_are_right_whatever_their_capitals() -> None:
    env = SqlQaEnv()
    env.reset(options={"task": "best/crime/1"})
    answer = env.question("best/crime/1").answer
    assert env.step(f"\\boxed{{{answer.upper()}}}")[1] == 1.0


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("DROP TABLE books", "not authorized"),
        ("INSERT INTO authors (name) VALUES ('x')", "not authorized"),
        ("UPDATE books SET price = 0", "not authorized"),
        ("ATTACH 'other.db' AS other", "not authorized"),
        ("VACUUM INTO 'copy.db'", "authorization denied"),
        ("PRAGMA writable_schema = 1", "not authorized"),
        ("SELECT 1; SELECT 2", "one statement"),
        ("SELECT random()", "not authorized to use function"),
        ("SELECT load_extension('x')", "not authorized to use function"),
        ("SELECT zeroblob(1000000000)", "too big"),
        ("SELECT x FROM nowhere", "no such table"),
        ("gibberish", "syntax error"),
        ("\x00", "null character"),
        (
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT sum(i) FROM n",
            "interrupted",
        ),
    ],
)
def test_what_is_not_a_small_query_is_an_error_as_text(query: str, message: str) -> None:
    tool = SqlTool(max_steps=100_000)
    result = tool(query, ())
    assert result.failed and message in result.text
    assert tool("SELECT count(*) FROM books", ()).text == "40"


def test_many_rows_are_cut_and_none_is_said() -> None:
    lines = SqlTool(max_rows=3)("SELECT id, title FROM books", ()).text.splitlines()
    assert len(lines) == 4 and lines[-1] == "(more rows left out)" and " | " in lines[0]
    assert SqlTool()("SELECT * FROM books WHERE id < 0", ()).text == "(no rows)"


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"no task 'best/crimes/1'. Did you mean 'best/crime/1"):
        SqlQaEnv().reset(options={"task": "best/crimes/1"})
    with pytest.raises(ConfigError, match="no split 'trian'"):
        SqlQaEnv().tasks("trian")
