"""Files from public addresses, checked before they are kept."""

from __future__ import annotations

import hashlib
import os
import tempfile
import urllib.request
from pathlib import Path

from sampo.errors import MissingDataError

_CHUNK = 2**20
_TIMEOUT_S = 60.0


def download(url: str, target: Path, sha256: str | None) -> bool:
    """Bring a file, unless it is there already with the right content.

    It appears under its name only when it is whole, so that a broken transfer leaves nothing.

    Args:
        url: An http(s) or file address.
        target: Where to put it; its folder is made.
        sha256: What its content must be, in hexadecimal; None where that is not known, and any
            file that is there already is kept.

    Returns:
        Whether it was brought now.

    Raises:
        MissingDataError: It cannot be had, or is not what was expected.
    """
    if target.is_file() and (sha256 is None or _digest(target) == sha256):
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    descriptor, part = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}-")
    try:
        with (
            os.fdopen(descriptor, "wb") as stream,
            urllib.request.urlopen(url, timeout=_TIMEOUT_S) as reply,
        ):
            while chunk := reply.read(_CHUNK):
                stream.write(chunk)
        if sha256 is not None and (found := _digest(Path(part))) != sha256:
            raise MissingDataError(
                f"{url} has the SHA-256 {found}, not {sha256}: it has changed or was cut off. "
                "Nothing was kept."
            )
        Path(part).chmod(0o644)
        Path(part).replace(target)
    except OSError as error:
        if isinstance(error, MissingDataError):
            raise
        raise MissingDataError(f"{url} could not be fetched to {target}: {error}.") from error
    finally:
        Path(part).unlink(missing_ok=True)
    return True


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
