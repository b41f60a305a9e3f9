"""A file of episodes, in numbers and in full."""

from dataclasses import replace

import pytest

from sampo.data.episode_log import EpisodeRecord, read_episodes, write_episodes
from sampo.data.token_file import token_path
from sampo.episode import Episode, StopReason
from sampo.view.episodes import LONGEST_PROMPT, LONGEST_TEXT, detail, load, summary
from sampo.view.run_files import EpisodeFile

from .conftest import GROUPS, MEMBERS, TURNS, record


def file_of(run, number=0):
    path = run / "episodes" / f"update_{number:06d}.jsonl"
    return EpisodeFile(kind="update", step=number + 1, path=path)


def test_numbers_of_a_file(small_run):
    # Members 1 and 3 of groups 0 and 1 succeed; group 2 was dropped.
    assert summary(load(file_of(small_run, 1))) == {
        "kind": "update",
        "step": 2,
        "file": "update_000001.jsonl",
        "episodes": 12,
        "successes": 4,
        "kept": 8,
        "failed": 0,
        "dropped": {"all_failed": 4},
        "types": {"even": [2, 8], "odd": [2, 4]},
    }


def test_failed_episodes_and_baselines_are_no_results(tmp_path):
    episode = record(0, 0, 1).episode
    broken = Episode(task="t", seed=0, turns=(), success=False, stop_reason=StopReason.ERROR)
    records = [
        EpisodeRecord(episode=episode, update=0),
        EpisodeRecord(episode=episode, update=0, kept=False, drop_reason="greedy_baseline"),
        EpisodeRecord(episode=broken, update=0, group=-1, kept=False, drop_reason="failed"),
    ]
    path = write_episodes(tmp_path / "update_000000.jsonl", records)
    numbers = summary(load(EpisodeFile(kind="update", step=1, path=path)))
    assert (numbers["episodes"], numbers["successes"], numbers["failed"]) == (1, 1, 1)


def test_a_turn_with_what_the_update_did_to_it(small_run):
    shown = detail(load(file_of(small_run)), most=100)
    assert len(shown["episodes"]) == GROUPS * MEMBERS
    turn = shown["episodes"][5]["turns"][0]  # member 1 of group 1
    assert shown["texts"][turn["observation"]].startswith("room 1.0 <img")
    assert shown["prompts"][turn["prompt"]]["pieces"] == ("<user>", "room", "\n")
    assert (turn["pieces"], turn["ids"]) == (("<act>", "right", "</act>"), (4, 5, 6))
    assert turn["logprobs"] == [-0.5, -0.25, -0.125]
    assert turn["advantage"] == 1.5
    update = turn["update"]
    assert update["log_ratio"] == pytest.approx([0.1] * 3, rel=1e-3)
    assert update["log_weight"] == pytest.approx([0.05] * 3, rel=1e-3)
    assert update["flags"] == [0, 1, 4]  # in range, clipped, rejected
    assert update["advantages"] == 1.5
    dropped = shown["episodes"][-1]["turns"][0]
    assert "update" not in dropped
    assert dropped["advantage"] is None


def test_states_that_are_equal_have_equal_keys(small_run):
    episodes = detail(load(file_of(small_run)), most=100)["episodes"]
    first = {e["turns"][0]["state_key"] for e in episodes[:MEMBERS]}
    second = {e["turns"][1]["state_key"] for e in episodes[:MEMBERS]}
    assert (len(first), len(second)) == (1, MEMBERS)


def test_turns_are_counted_over_kept_episodes_wherever_others_stand(run):
    file = file_of(run)
    records = read_episodes(file.path)
    write_episodes(file.path, [*records[-2:], *records[:-2]])  # two dropped ones to the front
    shown = detail(load(file), most=100)
    assert shown["episodes"][2]["turns"][0]["update"]["flags"] == [0, 1, 4]
    assert len([e for e in shown["episodes"] if "update" in e["turns"][0]]) == 2 * MEMBERS


def test_fewer_episodes_of_both_kinds(small_run):
    shown = detail(load(file_of(small_run)), most=4)
    assert [e["kept"] for e in shown["episodes"]] == [True] * 3 + [False]
    assert shown["left_out"] == 8
    # Turn numbers go by the file and not by what is shown.
    assert shown["episodes"][2]["turns"][TURNS - 1]["update"]["flags"] == [0, 1, 4]


def test_long_texts_and_prompts_lose_their_middle(tmp_path):
    short = record(0, 0, 0)
    pieces = replace(short.pieces[0], prompt=tuple(map(str, range(LONGEST_PROMPT + 5))))
    turn = replace(short.episode.turns[0], observation="x" * (LONGEST_TEXT + 1))
    long = replace(short, pieces=(pieces,), episode=replace(short.episode, turns=(turn,)))
    path = write_episodes(tmp_path / "update_000000.jsonl", [replace(long, advantages=(0.0,))])
    shown = detail(load(EpisodeFile(kind="update", step=1, path=path)), most=9)
    (prompt,) = shown["prompts"]
    assert (prompt["left_out"], prompt["cut_at"]) == (5, LONGEST_PROMPT // 2)
    assert prompt["pieces"][prompt["cut_at"]] == str(LONGEST_PROMPT // 2 + 5)
    assert "characters left out" in shown["texts"][0]


def test_a_half_written_file_is_shown_up_to_there(run):
    file = file_of(run)
    file.path.write_bytes(file.path.read_bytes()[:-40])
    loaded = load(file)
    assert len(loaded.records) == GROUPS * MEMBERS - 1
    (notice,) = loaded.notices
    assert notice.startswith("update_000000.jsonl breaks off: Line 12 of ")
    assert notice.endswith("The 11 episodes before are shown.")


def test_half_written_tokens_are_left_out(run):
    file = file_of(run)
    token_path(file.path).write_bytes(b"half")
    loaded = load(file)
    assert loaded.tokens is None
    assert "without what the update did to them" in loaded.notices[0]
    assert "update" not in detail(loaded, most=9)["episodes"][0]["turns"][0]
