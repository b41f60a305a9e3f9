"""The page stays small: the important files first, evenly spread ones while there is room."""

from itertools import pairwise
from pathlib import Path

import pytest

from sampo.view.details import by_importance, collect
from sampo.view.encoding import chunk
from sampo.view.episodes import detail, load
from sampo.view.run_files import EpisodeFile, find_run


def files(count):
    return [EpisodeFile(kind="update", step=i + 1, path=Path(f"{i}")) for i in range(count)]


def test_newest_alarmed_first_then_spread():
    steps = [file.step for file in by_importance(files(100), {33, 500})]
    assert steps[:4] == [99, 100, 33, 1]
    assert sorted(steps) == list(range(1, 101))
    early = sorted(steps[:20])
    assert max(b - a for a, b in pairwise(early)) <= 100 // 8 + 1


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_few_files(count):
    assert len(list(by_importance(files(count), {1}))) == count


def test_everything_where_there_is_room(small_run):
    details = collect(find_run(small_run).episodes, set())
    assert [row["chunk"] is not None for row in details.summaries] == [True] * 4
    assert [(row["kind"], row["step"]) for row in details.summaries] == [
        ("update", 1),
        ("update", 2),
        ("validation", 3),
        ("update", 3),
    ]
    assert not details.notices


def test_the_budget_is_kept(small_run):
    episodes = find_run(small_run).episodes
    newest = len(chunk(detail(load(episodes[-1]), most=512)))
    evaluation = len(chunk(detail(load(episodes[-2]), most=512)))
    details = collect(episodes, {1}, budget=newest + evaluation + 10)
    shown = [row["chunk"] is not None for row in details.summaries]
    assert shown == [False, False, True, True]
    assert sum(map(len, details.chunks)) == newest + evaluation
    assert details.summaries[0]["successes"] == 4  # told though not shown


def test_a_file_that_is_too_large_is_shown_in_part(small_run, monkeypatch):
    (first, *_) = find_run(small_run).episodes
    whole = len(chunk(detail(load(first), most=512)))
    monkeypatch.setattr("sampo.view.details.FILE_BUDGET", whole - 1)
    monkeypatch.setattr("sampo.view.details.MOST_EPISODES", 16)
    details = collect([first], set())
    assert len(details.chunks[0]) < whole


def test_a_file_without_episodes_has_nothing_to_read(tmp_path):
    path = tmp_path / "update_000000.jsonl"
    path.touch()
    details = collect([EpisodeFile(kind="update", step=1, path=path)], set())
    assert (details.chunks, details.summaries[0]["episodes"]) == ([], 0)
