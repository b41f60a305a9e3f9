"""The known collections of games."""

from sampo_envs.alfworld import open_games
from sampo_envs.alfworld.manifest import compare, describe, read_manifest

KINDS = ("Pick", "Look", "Clean", "Heat", "Cool", "Pick2")


def test_the_official_numbers() -> None:
    known = read_manifest()["json_2.1.1"]
    numbers = {
        split: [entry["games"]] + [entry[kind] for kind in KINDS] for split, entry in known.items()
    }
    assert numbers == {
        "train": [3553, 790, 308, 650, 459, 533, 813],
        "valid_seen": [140, 35, 13, 27, 16, 25, 24],
        "valid_unseen": [134, 24, 18, 31, 23, 21, 17],
    }
    for split in numbers.values():
        assert split[0] == sum(split[1:])


def test_the_games_of_the_package_are_those_of_the_manifest() -> None:
    known = read_manifest()["generated"]
    assert describe(open_games("generated")) == known
    assert compare(known, known) == [
        "train: 48 games, exactly those of the manifest",
        "valid_seen: 24 games, exactly those of the manifest",
        "valid_unseen: 24 games, exactly those of the manifest",
    ]


def test_differences_are_told() -> None:
    known = read_manifest()["json_2.1.1"]
    other = {**known, "train": {**known["train"], "sha256": "0"}}
    assert compare(other, known)[0].endswith("in number, but not in content, those of the manifest")
    assert (
        compare(known, known)[2]
        == "valid_unseen: 134 games, the official number (no digest is known)"
    )


def test_the_real_games_are_those_of_the_manifest(real_data: str) -> None:
    said = compare(describe(open_games(real_data)), read_manifest()["json_2.1.1"])
    assert said[0] == "train: 3553 games, exactly those of the manifest"
    assert said[1] == "valid_seen: 140 games, exactly those of the manifest"
