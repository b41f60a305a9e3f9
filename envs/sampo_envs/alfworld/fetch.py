"""Get the real games: `python -m sampo_envs.alfworld.fetch`.

Brings the text games of ALFWorld's public release, a zip file of 37 MB that is played from as it
is, checks its SHA-256, and says how many games of which split it got, and whether they are those of
the manifest. `--from` takes the same file from another place, or names an archive or a folder that
is there already, which is then only looked at.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sampo.errors import SampoError
from sampo_envs.alfworld.data import FETCHED, VARIABLE, fetched_place, open_games, release_place
from sampo_envs.alfworld.data import RELEASE as FILE
from sampo_envs.alfworld.manifest import RELEASE, compare, describe, read_manifest
from sampo_envs.download import download

URL = f"https://github.com/alfworld/alfworld/releases/download/0.4.2/{FILE}"
SHA256 = "5df77ea759f2211a4106082839ddbbb790f1ba4e7d097ed732cf453f72aa36cf"


def report(data: str) -> list[str]:
    """Return what the games of a setting are, a line for each split."""
    return compare(describe(open_games(data)), read_manifest()[RELEASE])


def main(arguments: list[str] | None = None) -> int:
    """Fetch, and say what came."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--to", type=Path, help="the zip file (default: where data=fetched looks)")
    parser.add_argument("--from", dest="source", default=URL, help="address, folder or archive")
    args = parser.parse_args(arguments)
    try:
        if "://" in args.source:
            target = args.to or release_place()
            came = download(args.source, target, SHA256)
            lines = [f"{target}: SHA-256 {SHA256} as known" + ("" if came else ", was there")]
            data = str(target)
        else:
            data = args.source
            lines = [f"{data}: is there already"]
        lines += report(data)
    except SampoError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    by = (
        f"data={FETCHED}" if fetched_place() == Path(data) else f"data={data}, or {VARIABLE}={data}"
    )
    sys.stdout.write("\n".join([*lines, f"Play them with {by}."]) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
