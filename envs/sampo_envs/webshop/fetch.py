"""Get the real data: `python -m sampo_envs.webshop.fetch`.

WebShop's authors keep their files on Google Drive; `--from` takes another place, such as a mirror
or `file:///...`, that has them under their names, plain or with `.gz`. What comes is checked: its
SHA-256 where the file is known, that it is JSON at all, and, once the table of nouns is there too,
that goals and splits are those of the manifest.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from sampo.errors import ConfigError, MissingDataError, SampoError
from sampo_envs.download import download
from sampo_envs.webshop.catalogue import find_file
from sampo_envs.webshop.data import fetched_folder
from sampo_envs.webshop.manifest import PRICE_SEED, describe, name_of
from sampo_envs.webshop.shop import open_shop

DRIVE = "https://drive.usercontent.google.com/download?export=download&confirm=t&id="


class Source(NamedTuple):
    """One file of the data."""

    name: str
    drive_id: str | None
    """Where it is on Google Drive; None for files that only mirrors have."""
    sha256: str | None = None
    """Of the plain JSON, where it is known."""
    needed: bool = True


_HUMAN = Source("items_human_ins.json", "14Kb5SPBk_jfdLZ_CDBNitW98QLDlKR5O", needed=False)
_NOUNS = Source(
    "title_nouns_en_core_web_sm_3.8.0.json",
    None,
    "817028c88f838d284355fc225db90697106fef26a966c96dbbdcf8eeb7743b95",
    needed=False,
)
SETS = {
    "small": (
        Source("items_shuffle_1000.json", "1EgHdxQ_YxqIQlvvq5iKlCrkEKR6-j0Ib"),
        Source(
            "items_ins_v2_1000.json",
            "1IduG0xl544V_A_jv3tHXC0kyFi7PnyBu",
            "f88a36314a397b53b3d9c3fa5878e5f7b26d35019a51ec83fbedeca61a948f6f",
        ),
        _HUMAN,
        _NOUNS,
    ),
    "full": (
        Source("items_shuffle.json", "1A2whVgOO0euk5O13n2iYDM0bQRkkRduB"),
        Source("items_ins_v2.json", "1s2j6NgHljiZzQNL3veZaAiyW_qDEgBNi"),
        _HUMAN,
        _NOUNS,
    ),
}
"""The files of the 1,000 products of the paper, and of all 1.18 million."""


def fetch(name: str, folder: Path, base: str | None) -> list[str]:
    """Bring the files of a set into a folder and return what came, a line for each file.

    Args:
        name: One of `SETS`.
        folder: Where to; files that are there already are kept.
        base: Address of a folder with the files; None is Google Drive.

    Raises:
        MissingDataError: A file that is needed cannot be had.
        ConfigError: What came is not what was asked for.
    """
    folder.mkdir(parents=True, exist_ok=True)
    return [_fetch_one(source, folder, base) for source in SETS[name]]


def report(folder: Path) -> str:
    """Return what the data of a folder are, by the manifest."""
    if find_file(folder, "nouns") is None:
        return (
            "The table of title nouns is missing. Make it with `python -m "
            f"sampo_envs.webshop.nouns {folder}`."
        )
    entry = describe(open_shop(folder, "synthetic", PRICE_SEED))
    name = name_of(entry)
    known = f"exactly {name}" if name else "not a catalogue that the manifest knows"
    return f"{entry['goals']} synthetic goals; goals and splits are {known}."


def _fetch_one(source: Source, folder: Path, base: str | None) -> str:
    present = [path for path in _names(source, folder) if path.is_file()]
    if present:
        return f"{present[0].name}: is there already"
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        for path in _names(source, Path(scratch)):
            address = f"{base.rstrip('/')}/{path.name}" if base else f"{DRIVE}{source.drive_id}"
            if not (base or source.drive_id) or not _came(address, path):
                continue
            facts = _check(path, source)
            path.rename(folder / path.name)
            return f"{path.name}: {facts}"
    where = base or "Google Drive"
    if source.needed:
        raise MissingDataError(
            f"WebShop: {source.name} cannot be had from {where}. Download it by hand into "
            f"{folder}, or name another address with --from."
        )
    return f"{source.name}: not at {where}; it is optional here"


def _names(source: Source, folder: Path) -> tuple[Path, Path]:
    return folder / source.name, folder / f"{source.name}.gz"


def _came(address: str, path: Path) -> bool:
    """Bring a file, whose hash is of the plain text inside; False where there is nothing."""
    try:
        return download(address, path, None)
    except MissingDataError:
        return False


def _check(path: Path, source: Source) -> str:
    """Return size and hash of a file that came.

    Raises:
        ConfigError: It is not JSON, or not the file that is known.
    """
    total, size = hashlib.sha256(), 0
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        start = file.read(1)
        file.seek(0)
        while block := file.read(2**20):
            total.update(block)
            size += len(block)
    found = total.hexdigest()
    if start not in (b"[", b"{"):
        raise ConfigError(
            f"WebShop: what came for {source.name} is not JSON; the server may have sent a page "
            "that asks for something. Download the file by hand."
        )
    if source.sha256 is not None and found != source.sha256:
        raise ConfigError(
            f"WebShop: {source.name} has SHA-256 {found}, not {source.sha256}. It is damaged, or "
            "another version."
        )
    checked = "as known" if source.sha256 else "no known value to compare with"
    return f"{size} bytes, SHA-256 {found} ({checked})"


def main(arguments: list[str] | None = None) -> int:
    """Fetch, and say what came."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("set", nargs="?", default="small", choices=tuple(SETS))
    parser.add_argument("--to", type=Path, help="folder (default: where data=fetched looks)")
    parser.add_argument("--from", dest="base", help="address of a folder with the files")
    args = parser.parse_args(arguments)
    folder = args.to or fetched_folder()
    try:
        lines = [*fetch(args.set, folder, args.base), report(folder)]
    except SampoError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write("\n".join([f"{folder}:", *lines]) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
