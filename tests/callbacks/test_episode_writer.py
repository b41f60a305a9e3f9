"""Every rolled-out episode ends up in a file, with what became of it."""

from collections import Counter
from dataclasses import replace

import pytest

from sampo.callbacks.episode_writer import EpisodeWriter
from sampo.data.episode_log import read_episodes
from sampo.errors import ConfigError

from .conftest import Bystander


def names(folder):
    return sorted(path.name for path in (folder / "episodes").iterdir())


def test_one_file_per_update_and_evaluation(fit, run_path):
    fit([EpisodeWriter()])
    assert names(run_path) == [
        *[f"update_00000{number}.jsonl" for number in range(4)],
        *[f"validation_00000{number}.jsonl" for number in (0, 2, 4)],
    ]


def test_dropped_groups_are_there_with_their_reason(fit, run_path, data):
    fit([EpisodeWriter()], max_epochs=1)
    records = read_episodes(run_path / "episodes" / "update_000001.jsonl")
    rollout = data.last_rollout
    assert rollout.update == 1
    groups = [*((group, None) for group in rollout.groups), *rollout.dropped]
    expected = [
        (number, reason is None, reason, episode.task, episode.reward)
        for number, (group, reason) in enumerate(groups)
        for episode in group.episodes
    ]
    assert len(expected) >= 4
    assert [
        (r.group, r.kept, r.drop_reason, r.episode.task, r.episode.reward) for r in records
    ] == expected
    assert {record.update for record in records} == {1}


def test_evaluations_hold_the_validation_tasks(fit, run_path, data):
    fit([EpisodeWriter()], max_epochs=1)
    before = read_episodes(run_path / "episodes" / "validation_000000.jsonl")
    after = read_episodes(run_path / "episodes" / "validation_000002.jsonl")
    assert [r.episode.task for r in before] == list(data.player.env.tasks("val"))[:3]
    assert [r.episode.task for r in before] == [r.episode.task for r in after]
    assert {r.update for r in after} == {2}


def test_only_the_newest_files_are_kept(fit, run_path):
    fit([EpisodeWriter(keep_updates=2)])
    assert names(run_path) == [
        "update_000002.jsonl",
        "update_000003.jsonl",
        "validation_000002.jsonl",
        "validation_000004.jsonl",
    ]


def test_the_size_of_a_file_is_bounded(fit, run_path):
    fit([EpisodeWriter(max_episodes_per_update=3)], max_epochs=1)
    counts = Counter(len(read_episodes(path)) for path in (run_path / "episodes").iterdir())
    assert counts == {3: 4}


def test_text_by_default(fit, run_path):
    fit([EpisodeWriter()], max_epochs=1)
    (record, *_) = read_episodes(run_path / "episodes" / "update_000000.jsonl")
    assert record.episode.turns[0].reply.startswith("<action>")
    assert record.episode.turns[0].action_ids == ()


def test_ids_on_request(fit, run_path, data):
    fit([EpisodeWriter(with_ids=True)], max_epochs=1)
    (record, *_) = read_episodes(run_path / "episodes" / "update_000001.jsonl")
    assert record.episode.turns[0].prompt_ids
    assert record.episode.turns[0] == replace(
        data.last_rollout.all_groups[0].episodes[0].turns[0], state_key=None
    )


def test_the_rollout_of_an_update_that_crashes_is_there(fit, run_path):
    with pytest.raises(SystemExit):
        fit([EpisodeWriter()], module=Bystander(fail_at=1))
    assert "update_000001.jsonl" in names(run_path)


def test_a_second_run_overwrites_nothing(fit, run_path):
    fit([EpisodeWriter()], max_epochs=1)
    before = (run_path / "episodes" / "update_000000.jsonl").stat().st_mtime_ns
    fit([EpisodeWriter()], max_epochs=1)
    assert (run_path / "episodes" / "update_000000.jsonl").stat().st_mtime_ns == before


def test_limits_are_positive():
    with pytest.raises(ConfigError, match=r"EpisodeWriter\.keep_updates must be at least 1"):
        EpisodeWriter(keep_updates=0)
    with pytest.raises(ConfigError, match=r"EpisodeWriter\.max_episodes_per_update must be"):
        EpisodeWriter(max_episodes_per_update=0)
