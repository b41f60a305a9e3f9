"""Generated problems: their answers are right, by their own programs and by hand."""

from contextlib import redirect_stdout
from io import StringIO

import pytest

from sampo_envs.tir_math.generate import KINDS, LEVELS, generate


def printed(program: str) -> str:
    out = StringIO()
    with redirect_stdout(out):
        exec(program, {})  # noqa: S102 - ours
    return out.getvalue().strip()


@pytest.mark.parametrize("level", LEVELS)
def test_programs_print_the_answers(level: int) -> None:
    problems = [generate(seed, level) for seed in range(120)]
    assert {problem.kind for problem in problems} == set(KINDS)
    for problem in problems:
        assert problem.solution is not None
        assert printed(problem.solution) == problem.answer, problem


def test_a_seed_is_a_problem() -> None:
    assert generate(5, 2) == generate(5, 2) != generate(6, 2)
    assert generate(5, 1) != generate(5, 2)


def test_kinds_narrow_the_draw() -> None:
    assert {generate(seed, 2, ["roots"]).kind for seed in range(20)} == {"roots"}
    assert generate(5, 2, list(KINDS)) == generate(5, 2)


def test_levels_get_harder() -> None:
    lengths = [
        sum(len(generate(seed, level).answer) for seed in range(200)) / 200 for level in LEVELS
    ]
    assert lengths[0] < lengths[1] < lengths[2]


def test_texts_read_well() -> None:
    texts = {generate(seed, 1).kind: generate(seed, 1).text for seed in range(60)}
    assert set(texts) == set(KINDS)
    assert texts["power"].startswith("What is the remainder of ")
    assert texts["products"].startswith("Compute ") and "+ -" not in texts["products"]
