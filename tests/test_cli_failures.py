"""Exceptions on their way to the user: one sentence, or a traceback where we are to blame."""

import errno
import traceback

import pytest
from lightning.fabric.utilities.exceptions import MisconfigurationException

from sampo.cli_failures import explain_failure, making_failed
from sampo.errors import ConfigError, did_you_mean


def raised(make: object, *args: object) -> Exception:
    """Return an exception that was raised in this file."""
    try:
        make(*args)  # pyright: ignore[reportCallIssue]
    except Exception as error:  # noqa: BLE001  whatever it is
        return error
    raise AssertionError


def fail(error: Exception) -> None:
    raise error


def test_a_full_disk_is_told_with_what_to_do() -> None:
    sentence = explain_failure(OSError(errno.ENOSPC, "No space left on device"))
    assert sentence is not None
    assert sentence.startswith("No space left on device. Free some space, or write elsewhere with")
    assert "--ckpt_path last" in sentence


def test_a_file_is_named() -> None:
    error = OSError(errno.EROFS, "Read-only file system", "/here")
    sentence = explain_failure(error)
    assert sentence is not None and sentence.startswith("/here: Read-only file system. Make it wr")
    assert explain_failure(OSError(errno.ENOENT, "Not there", "/here")) == "/here: Not there."


def test_ours_within_anothers() -> None:
    error = ValueError("the parser's page")
    error.__cause__ = ConfigError("one\nsentence")
    assert explain_failure(error) == "one sentence"
    assert explain_failure(MisconfigurationException("no  GPU")) == "no GPU"


@pytest.mark.parametrize("error", [ValueError("x"), KeyError("x"), OSError("x"), RuntimeError("x")])
def test_bugs_keep_their_traceback(error: Exception) -> None:
    assert explain_failure(error) is None


def test_a_class_of_the_users_is_told_with_its_line() -> None:
    error = raised(fail, KeyError("level"))
    line = traceback.extract_tb(error.__traceback__)[-1].lineno
    failure = making_failed(error)
    assert failure is not None
    assert str(failure) == (
        f"What the config asks for cannot be made (KeyError, raised at {__file__}:{line}): 'level'"
    )


def test_names_that_lightning_does_not_know_get_the_nearest_one() -> None:
    words = "You selected an invalid strategy name: `strategy='ddpp'`. It must be either a string"
    failure = making_failed(raised(fail, ValueError(words)))
    assert str(failure) == "trainer.strategy: there is no strategy 'ddpp'. Did you mean 'ddp'?"


def test_what_is_raised_within_sampo_is_left_alone() -> None:
    assert making_failed(raised(did_you_mean, "a", None)) is None  # fails within sampo.errors
    assert making_failed(raised(fail, ConfigError("a sentence"))) is None
