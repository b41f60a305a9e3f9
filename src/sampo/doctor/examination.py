"""Runs the checks, cheap ones first, and prints each answer as it comes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from rich.console import Console

from sampo.doctor.chat_template import ChatTemplate
from sampo.doctor.check import Check, CheckResult, Status
from sampo.doctor.engine_agreement import EngineEqualsTrainer
from sampo.doctor.env_laws import EnvLaws
from sampo.doctor.episodes import EpisodesPlay
from sampo.doctor.equal_starts import EqualStarts
from sampo.doctor.expert import ExpertSolves
from sampo.doctor.inputs import DoctorInputs
from sampo.doctor.lengths import Lengths
from sampo.doctor.loading import PolicyLoads, TokenizerLoads
from sampo.doctor.masks import MasksAndIds
from sampo.doctor.padding import PaddedEqualsSingle
from sampo.doctor.round_trip import RoundTrip
from sampo.doctor.run_folder import RunFolder
from sampo.doctor.runaway import RunawayKilled
from sampo.doctor.tasks import Tasks
from sampo.doctor.versions import Versions
from sampo.envs.slots import one_line
from sampo.errors import DoctorError, SampoError

CHECKS: tuple[Check, ...] = (
    Versions(),
    TokenizerLoads(),
    PolicyLoads(),
    RunFolder(),
    Tasks(),
    EqualStarts(),
    EnvLaws(),
    ExpertSolves(),
    RunawayKilled(),
    ChatTemplate(),
    Lengths(),
    PaddedEqualsSingle(),
    EpisodesPlay(),
    MasksAndIds(),
    EngineEqualsTrainer(),
    RoundTrip(),
)
"""In the order in which they run; each comes after what it needs."""


def examine(inputs: DoctorInputs, console: Console | None = None) -> None:
    """Run all checks and print one line for each, with a second one for the fix of a failure.

    Args:
        inputs: the run.
        console: where to; default standard output.

    Raises:
        DoctorError: A check failed; the message names all that did.
    """
    console = console or Console()
    started = time.perf_counter()
    results: list[CheckResult] = []
    for result in run_checks(inputs):
        results.append(result)
        console.print("\n".join(_lines(result)), markup=False, highlight=False, soft_wrap=True)
    names = {status: [r.name for r in results if r.status is status] for status in Status}
    counts = ", ".join(f"{len(names[status])} {status.value}" for status in Status)
    seconds = time.perf_counter() - started
    console.print(f"{len(results)} checks in {seconds:.1f} s: {counts}", highlight=False)
    if failed := names[Status.FAILED]:
        raise DoctorError(f"{len(failed)} of {len(results)} checks failed: {', '.join(failed)}.")


def run_checks(inputs: DoctorInputs, checks: Sequence[Check] = CHECKS) -> Iterator[CheckResult]:
    """Yield the answer of each check as soon as it is there.

    A check that needs another one which did not pass is skipped. One that raises has failed, and
    the others go on.
    """
    passed: set[type[Check]] = set()
    try:
        for check in checks:
            started = time.perf_counter()
            result = _answer(check, inputs, passed)
            if result.status is Status.OK:
                passed.add(type(check))
            yield replace(result, seconds=time.perf_counter() - started)
    finally:
        inputs.data.teardown("doctor")


def _answer(check: Check, inputs: DoctorInputs, passed: set[type[Check]]) -> CheckResult:
    missing = [needed.name for needed in check.needs if needed not in passed]
    if missing:
        return check.skipped(f"it needs what failed or was skipped: {', '.join(missing)}")
    try:
        return check(inputs)
    except SampoError as error:
        return check.failed(" ".join(str(error).split()))
    except Exception as error:  # noqa: BLE001
        # Broad on purpose, and only here: a doctor reports whatever is wrong, be it in torch, in
        # an engine or in someone's environment, and goes on to the next check.
        return check.failed(one_line(error))


def _lines(result: CheckResult) -> list[str]:
    lines = [f"{result.status.value:<8}{result.seconds:>5.1f} s  {result.name:<18}{result.detail}"]
    return lines + ([f"{'':<17}fix: {result.fix}"] if result.status is Status.FAILED else [])
