"""Arithmetic and algebra from seeds, each problem with a program that solves it.

Level 1 can be done in the head; from level 2 on a small model does better with the tool.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from sampo_envs.tools import Question

LEVELS = (1, 2, 3)

Maker = Callable[[Random, int], tuple[str, int, str]]
"""(random numbers, level) -> (text, answer, program that prints the answer)."""


@dataclass(frozen=True)
class _Size:
    """How large the numbers of a level are."""

    factor: int
    terms: int
    modulus: int


_SIZES = {1: _Size(9, 2, 7), 2: _Size(99, 3, 97), 3: _Size(9999, 4, 9973)}


def generate(seed: int, level: int, kinds: Sequence[str] | None = None) -> Question:
    """Return the problem of a seed.

    Args:
        seed: Any integer.
        level: One of `LEVELS`.
        kinds: Of `KINDS`, to draw from; None draws from all.

    Example:
        >>> generate(4, 1).kind in KINDS
        True
    """
    rng = Random(f"{seed}/{level}")
    kind = rng.choice(list(KINDS if kinds is None else kinds))
    text, answer, program = KINDS[kind](rng, level)
    return Question(text=text, answer=str(answer), kind=kind, solution=program)


def _products(rng: Random, level: int) -> tuple[str, int, str]:
    size = _SIZES[level]
    pairs = [(rng.randint(2, size.factor), rng.randint(2, size.factor)) for _ in range(size.terms)]
    signs = ["", *rng.choices(["+", "-"], k=size.terms - 1)]
    written = " ".join(
        f"{sign} {a} * {b}".strip() for sign, (a, b) in zip(signs, pairs, strict=True)
    )
    answer = sum(
        -a * b if sign == "-" else a * b for sign, (a, b) in zip(signs, pairs, strict=True)
    )
    return f"Compute {written}.", answer, f"print({written})"


def _power(rng: Random, level: int) -> tuple[str, int, str]:
    size = _SIZES[level]
    base, exponent = rng.randint(2, 9), rng.randint(2, size.factor)
    modulus = rng.randint(3, size.modulus)
    text = f"What is the remainder of {base}^{exponent} divided by {modulus}?"
    return text, pow(base, exponent, modulus), f"print(pow({base}, {exponent}, {modulus}))"


def _divisors(rng: Random, level: int) -> tuple[str, int, str]:
    number = rng.randint(2, {1: 30, 2: 400, 3: 9999}[level])
    text = f"What is the sum of all positive divisors of {number}?"
    program = f"n = {number}\nprint(sum(d for d in range(1, n + 1) if n % d == 0))"
    return text, sum(d for d in range(1, number + 1) if number % d == 0), program


def _linear(rng: Random, level: int) -> tuple[str, int, str]:
    size = _SIZES[level]
    x, a, b = (rng.randint(2, size.factor) for _ in range(3))
    c = rng.randint(1, a - 1)
    text = f"Solve {a} x + {b} = {c} x + {(a - c) * x + b} for x."
    program = (
        "from sympy import *\nx = symbols('x')\n"
        f"print(solve(Eq({a} * x + {b}, {c} * x + {(a - c) * x + b}), x)[0])"
    )
    return text, x, program


def _system(rng: Random, level: int) -> tuple[str, int, str]:
    size = _SIZES[level]
    x, y, a, b, c = (rng.randint(1, size.factor) for _ in range(5))
    # The last coefficient is chosen so that the determinant a d - b c is not 0.
    d = b * c // a + rng.randint(1, size.factor)
    first, second = a * x + b * y, c * x + d * y
    text = f"If {a} x + {b} y = {first} and {c} x + {d} y = {second}, what is x + y?"
    program = (
        "from sympy import *\nx, y = symbols('x y')\n"
        f"s = solve([{a} * x + {b} * y - {first}, {c} * x + {d} * y - {second}], [x, y])\n"
        "print(s[x] + s[y])"
    )
    return text, x + y, program


def _roots(rng: Random, level: int) -> tuple[str, int, str]:
    size = _SIZES[level]
    roots = [rng.choice([-1, 1]) * rng.randint(1, size.factor) for _ in range(2)]
    total, product = sum(roots), roots[0] * roots[1]
    text = f"What is the larger root of x^2 - ({total}) x + ({product}) = 0?"
    program = (
        "from sympy import *\nx = symbols('x')\n"
        f"print(max(solve(x**2 - ({total}) * x + ({product}), x)))"
    )
    return text, max(roots), program


KINDS: dict[str, Maker] = {
    "products": _products,
    "power": _power,
    "divisors": _divisors,
    "linear": _linear,
    "system": _system,
    "roots": _roots,
}
"""By task type."""
