"""Bring the paper's data: `python -m sampo_envs.tir_math.fetch`.

The training set (MATH levels 3 to 5, as SimpleRL-Zoo chose them), AIME 2024 and AIME 2025 come from
the repository of the paper's code. `FileProblems` reads them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sampo.errors import SampoError
from sampo_envs.download import download

ORIGIN = (
    "https://raw.githubusercontent.com/WillDreamer/ARLArena/"
    "dc1da9f717d1238c49d6f538e5b5bb4b134e76ef/recipe/math_agent/dataset/simplelr_math_35"
)


@dataclass(frozen=True, kw_only=True)
class Source:
    """A file that can be fetched."""

    path: str
    """Below the origin."""
    rows: int
    sha256: str


SOURCES = {
    "math35_train": Source(
        path="train_new.parquet",
        rows=8523,
        sha256="c32364d704774e9084c47b06541e2bf9f47ea43e7fc0e7ca403384984b3421e4",
    ),
    "aime24": Source(
        path="aime.parquet",
        rows=30,
        sha256="324b59b4a9134735057635c4f4973cd6a25be8ea11720d46673f2b9f28bf3e79",
    ),
    "aime25": Source(
        path="aime25.parquet",
        rows=30,
        sha256="6afa92a6639609c46fecba23b365144cc6186e8e818be1ed0cf475423405fda7",
    ),
}
"""By the name of the file that is written, without its `.parquet`."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Fetch what is asked for; return the exit code."""
    known = ", ".join(SOURCES)
    parser = argparse.ArgumentParser(
        prog="python -m sampo_envs.tir_math.fetch", description=__doc__
    )
    parser.add_argument("names", nargs="*", metavar="name", help=f"{known}; all if none")
    parser.add_argument("--to", type=Path, default=Path("data/math"), help="folder (%(default)s)")
    parser.add_argument("--origin", default=ORIGIN, help="another place with the same files")
    options = parser.parse_args(arguments)
    if unknown := sorted(set(options.names) - set(SOURCES)):
        parser.error(f"no data set {unknown[0]!r}; there are {known}")
    for name in options.names or SOURCES:
        source, target = SOURCES[name], options.to / f"{name}.parquet"
        try:
            new = download(options.origin.rstrip("/") + "/" + source.path, target, source.sha256)
        except SampoError as error:
            sys.stderr.write(f"{error}\n")
            return 1
        sys.stdout.write(f"{target}: {source.rows} problems{'' if new else ' (was there)'}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
