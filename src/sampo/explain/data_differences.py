"""Paper against code on dials 3 and 4."""

from __future__ import annotations

from sampo.advantages import GRPO, RLOO, EntropyModulation, GiGPO, OverlongPenalty
from sampo.explain.difference import NOTHING, Difference, Point
from sampo.explain.formula import num, plural
from sampo.explain.run import Run
from sampo.filtering import SpreadFilter


def _statistics(run: Run) -> Difference | None:
    part = run.data.advantage
    if not isinstance(part, GRPO | GiGPO):
        return None
    vgrpo = isinstance(part, GRPO) and part.baseline_over == "episodes"
    names = {"turns": "all turns", "episodes": "the episodes", "first_turns": "the first turns"}
    return Difference(
        point="statistics of the scores",
        paper='"in the batch" (Eq. S16)',
        code="over all turns of the group" + ("; VGRPO: over the episodes" if vgrpo else ""),
        here=f"over {names[part.baseline_over]} of the group",
    )


def _division(run: Run) -> Difference | None:
    part = run.data.advantage
    if isinstance(part, GRPO):
        divides = part.divide_by_std
    elif isinstance(part, GiGPO):
        divides = part.normalise == "mean_std"
    else:
        return None
    return Difference(
        point="division by std",
        paper="unspecified",
        code="both are used",
        here="divided" if divides else "not divided",
    )


def _no_spread(run: Run) -> Difference | None:
    part = run.data.advantage
    if not isinstance(part, GRPO) or part.baseline_over != "episodes" or not part.divide_by_std:
        return None
    return Difference(
        point="episodes with equal means",
        paper=NOTHING,
        code="a turn's distance to the mean is divided by 1e-6",
        here="a turn's distance to the mean as it is",
    )


def _alone(run: Run) -> Difference | None:
    part = run.data.advantage
    if not isinstance(part, GRPO | GiGPO | RLOO):
        return None
    step = "; step part: 0" if isinstance(part, GiGPO) else ""
    return Difference(
        point="a pool of one",
        paper=NOTHING,
        code=f"the score itself{step}",
        here=("0" if part.singleton == "zero" else "the score itself") + step,
    )


def _same_state(run: Run) -> Difference | None:
    part = run.data.advantage
    if not isinstance(part, GiGPO):
        return None
    alike = f"text {num(part.similarity or 0)} alike"
    return Difference(
        point="the same state",
        paper="the same state",
        code="the same observation, or text 0.95 alike",
        here="equal state_key()" if part.similarity is None else alike,
    )


def _next_turn(run: Run) -> Difference | None:
    if not isinstance(run.stage, EntropyModulation):
        return None
    return Difference(
        point="EMPG: the next turn",
        paper="the next turn",
        code="read from the wording of the prompt, which some lack",
        here="by the turn's number",
    )


def _penalty(run: Run) -> Difference | None:
    amount = run.data.player.invalid_action_penalty
    if not amount:
        return None
    return Difference(
        point="format penalty",
        paper="0.1 for a malformed reply, on the final reward",
        code="0.1 for an invalid action, on its own turn",
        here=f"{num(amount)}, as in the code",
    )


def _overlong(run: Run) -> Difference | None:
    part = run.data.shaping
    if not isinstance(part, OverlongPenalty):
        return None
    return Difference(
        point="overlong penalty",
        paper=NOTHING,
        code="at most 0.1 over the last fifth of a reply; unbounded in mathematics",
        here=f"at most {num(part.factor)} over the last {num(100 * part.buffer_share)} %",
    )


def _spread(run: Run) -> SpreadFilter | None:
    return next((part for part in run.group_filters if isinstance(part, SpreadFilter)), None)


def _criterion(run: Run) -> Difference | None:
    part = _spread(run)
    if part is None:
        return None
    sides = {"raw_return": "the code's", "success": "the paper's", "score": "neither: score"}
    return Difference(
        point="filter criterion",
        paper="0 < successes < n (Eq. 7)",
        code="raw returns not all equal",
        here=sides[part.criterion],
    )


def _equality(run: Run) -> Difference | None:
    part = _spread(run)
    if part is None or part.criterion == "success":
        return None
    return Difference(
        point="equality of returns",
        paper=NOTHING,
        code="exact floats",
        here=f"within {num(part.tolerance)}" if part.tolerance else "exact floats",
    )


def _refill(run: Run) -> Difference | None:
    if not run.filters or run.data.plan.max_rounds == 1:
        return None
    return Difference(
        point="a refill round",
        paper=NOTHING,
        code="a whole new batch of tasks, the surplus thrown away",
        here="as many new tasks as are missing",
    )


def _last_round(run: Run) -> Difference | None:
    if not run.filters:
        return None
    return Difference(
        point="after the last round",
        paper=NOTHING,
        code="filled from dropped groups",
        here="the same, and counted",
    )


def _cold_start(run: Run) -> Difference | None:
    if not run.filters:
        return None
    start = run.data.plan.cold_start
    return Difference(
        point="cold start",
        paper=NOTHING,
        code="15 in ALFWorld; in WebShop filtering never starts",
        here=plural(start, "update") if start else "none",
    )


def _training_success(run: Run) -> Difference | None:
    if not run.filters:
        return None
    return Difference(
        point="training success",
        paper=NOTHING,
        code="over kept groups only",
        here="over everything rolled out",
    )


DATA_POINTS: tuple[Point, ...] = (
    _statistics,
    _division,
    _no_spread,
    _alone,
    _same_state,
    _next_turn,
    _penalty,
    _overlong,
    _criterion,
    _equality,
    _refill,
    _last_round,
    _cold_start,
    _training_success,
)
