"""Subcommands without torch say what goes wrong in one sentence."""

import errno

import pytest

from sampo.errors import ConfigError
from sampo.plain_commands import in_one_sentence


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ConfigError("No run in\nhere."), "No run in here."),
        (OSError(errno.ENOSPC, "No space left on device"), "No space left on device. Free some"),
        (
            PermissionError(errno.EACCES, "Permission denied", "/there"),
            "/there: Permission denied.",
        ),
    ],
)
def test_what_is_plain_ends_the_command(
    error: Exception, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended, in_one_sentence():
        raise error
    assert ended.value.code == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"sampo: error: {said}")


def test_what_is_not_plain_is_raised() -> None:
    with pytest.raises(OSError, match="odd"), in_one_sentence():
        raise OSError("odd")
