"""Running checks: order, needs, exceptions, and what is printed."""

import io
from dataclasses import dataclass
from typing import ClassVar

import pytest
from rich.console import Console

from doctor.conftest import MakeInputs
from doctor.sick_worlds import HangsInStep, corridor
from sampo.data.settings import WorkerSettings
from sampo.doctor.check import Check, Status
from sampo.doctor.examination import CHECKS, examine, run_checks
from sampo.errors import DoctorError, PolicyError


@dataclass(frozen=True, kw_only=True)
class Asked(Check):
    name: ClassVar[str] = "asked"
    fix: ClassVar[str] = "do this"
    error: Exception | None = None

    def __call__(self, inputs):
        if self.error is not None:
            raise self.error
        return self.ok("well")


@dataclass(frozen=True, kw_only=True)
class Later(Asked):
    name: ClassVar[str] = "later"
    needs: ClassVar[tuple[type[Check], ...]] = (Asked,)


@dataclass(frozen=True, kw_only=True)
class Apart(Asked):
    name: ClassVar[str] = "apart"


def test_every_check_comes_after_what_it_needs_and_has_its_own_name() -> None:
    seen: list[type[Check]] = []
    for check in CHECKS:
        assert set(check.needs) <= set(seen)
        seen.append(type(check))
    names = [check.name for check in CHECKS]
    assert len(set(names)) == len(names)
    assert all(check.fix for check in CHECKS)


def test_a_check_that_raises_has_failed_and_the_others_go_on(make_inputs: MakeInputs) -> None:
    checks = (Asked(error=KeyError("two\nlines")), Later(), Apart())
    failed, skipped, apart = run_checks(make_inputs(load=False), checks)
    assert failed.status is Status.FAILED and failed.fix == "do this"
    assert failed.detail == "KeyError: 'two\\nlines'"
    assert skipped.status is Status.SKIPPED and "asked" in skipped.detail
    assert apart.status is Status.OK


def test_our_own_errors_are_already_sentences(make_inputs: MakeInputs) -> None:
    (result,) = run_checks(make_inputs(load=False), (Asked(error=PolicyError("No\npolicy.")),))
    assert result.detail == "No policy."


def test_a_healthy_run(make_inputs: MakeInputs) -> None:
    written = io.StringIO()
    workers = WorkerSettings(num_workers=1)
    examine(make_inputs(load=False, env=corridor(), workers=workers), Console(file=written))
    lines = written.getvalue().splitlines()
    assert len(lines) == len(CHECKS) + 1
    for line, check in zip(lines, CHECKS, strict=False):
        assert line.startswith("skipped" if check.name == "chat template" else "ok")
        assert check.name in line
    assert lines[-1].endswith("15 ok, 1 skipped, 0 FAILED")


def test_a_sick_run(make_inputs: MakeInputs) -> None:
    written = io.StringIO()
    workers = WorkerSettings(num_workers=1, step_timeout_s=0.5)
    inputs = make_inputs(load=False, env=corridor(HangsInStep), workers=workers)
    with pytest.raises(DoctorError, match=r"1 of 16 checks failed: equal starts\."):
        examine(inputs, Console(file=written))
    text = written.getvalue()
    assert "step did not return within 0.5 s" in text and "Traceback" not in text
    (place,) = [n for n, line in enumerate(text.splitlines()) if line.startswith("FAILED")]
    assert text.splitlines()[place + 1].strip().startswith("fix: ")
    assert all(len(line) > 20 for line in text.splitlines())  # nothing was wrapped
