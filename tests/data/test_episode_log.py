"""Episodes survive the way to JSON lines and back."""

import json
import math
import subprocess
import sys
from dataclasses import replace

import pytest

from sampo.data.episode_log import (
    EpisodeRecord,
    TurnPieces,
    iter_episodes,
    read_episodes,
    state_hash,
    write_episodes,
)
from sampo.episode import Episode, FinishReason, StopReason, Turn
from sampo.errors import ConfigError, MissingDataError

TURN = Turn(
    observation="ein Flur, 大",
    reply="<action>left</action>",
    action="left",
    reward=-0.1,
    penalty=0.1,
    action_valid=False,
    admissible_actions=("right",),
    state_key=(1, 4),
    prompt_ids=(1, 2),
    action_ids=(3, 4),
    sampling_logprobs=(-0.5, -0.25),
    finish_reason=FinishReason.LENGTH,
    policy_version=6,
)
EPISODE = Episode(
    task="1>4",
    seed=2**63,
    turns=(TURN, replace(TURN, action=None, admissible_actions=None, starts_row=False)),
    success=False,
    stop_reason=StopReason.MAX_TURNS,
    task_type="corridor",
    metrics={"progress": 0.5},
)
PIECES = TurnPieces(prompt=("<user>", " 大"), action=("left", "<end>"))
DROPPED = EpisodeRecord(episode=EPISODE, update=7, group=3, kept=False, drop_reason="equal rewards")
TRAINED = EpisodeRecord(
    episode=EPISODE,
    update=7,
    group=1,
    filled=True,
    advantages=(0.5, None),
    pieces=(PIECES, PIECES),
)
BROKEN = EpisodeRecord(
    episode=replace(EPISODE, stop_reason=StopReason.ERROR, error="boom\nline 2", turns=()),
    update=7,
    group=-1,
    kept=False,
    drop_reason="failed",
)


def without(episode, **fields):
    return replace(episode, turns=tuple(replace(turn, **fields) for turn in episode.turns))


def test_round_trip_with_tokens_loses_the_state_key_only(tmp_path):
    path = write_episodes(tmp_path / "deep" / "e.jsonl", [TRAINED, BROKEN])
    kept = replace(TRAINED, episode=without(EPISODE, state_key=state_hash((1, 4))))
    assert read_episodes(path) == [kept, BROKEN]


def test_states_have_short_names_that_are_the_same_everywhere():
    keys = [(1, 4), "1, 4", ("room", frozenset({"key", "lamp", "door"})), None]
    code = f"from sampo.data.episode_log import state_hash; print(*map(state_hash, {keys!r}))"
    elsewhere = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    names = [state_hash(key) for key in keys]
    assert elsewhere.stdout.split() == [str(name) for name in names]
    assert len(set(names)) == 4
    assert [len(name or "") for name in names] == [12, 12, 12, 0]


def test_an_advantage_that_is_no_number_stays_json(tmp_path):
    strange = replace(TRAINED, advantages=(math.inf, 0.5))
    path = write_episodes(tmp_path / "e.jsonl", [strange])
    assert read_episodes(path)[0].advantages == (None, 0.5)


def test_files_of_older_runs_are_read(tmp_path):
    path = write_episodes(tmp_path / "e.jsonl", [DROPPED])
    row = json.loads(path.read_text(encoding="utf-8"))
    del row["filled"], row["advantages"], row["turns"][0]["state_key"]
    path.write_text(json.dumps(row), encoding="utf-8")
    (record,) = read_episodes(path)
    assert (record.filled, record.advantages, record.pieces) == (False, None, None)
    assert record.episode.turns[0].state_key is None


def test_what_stands_before_a_broken_line_can_be_had(tmp_path):
    path = write_episodes(tmp_path / "e.jsonl", [DROPPED, TRAINED])
    path.write_text(path.read_text(encoding="utf-8")[:-20], encoding="utf-8")
    episodes = iter_episodes(path)
    assert next(episodes).group == 3
    with pytest.raises(ConfigError, match="Line 2 of"):
        next(episodes)


def test_text_only_without_pieces(tmp_path):
    path = write_episodes(tmp_path / "e.jsonl", [DROPPED])
    text = path.read_text(encoding="utf-8")
    assert "_ids" not in text
    assert "大" in text
    (record,) = read_episodes(path)
    assert record.episode == without(
        EPISODE, state_key=state_hash((1, 4)), prompt_ids=(), action_ids=(), sampling_logprobs=()
    )


def test_sums_are_written_for_readers_of_the_json(tmp_path):
    path = write_episodes(tmp_path / "e.jsonl", [DROPPED])
    row = json.loads(path.read_text(encoding="utf-8"))
    assert row["reward"] == pytest.approx(-0.2)
    assert row["score"] == pytest.approx(-0.4)
    assert (row["action_tokens"], row["policy_version"]) == (4, 6)


def test_a_bare_episode_belongs_to_the_update_of_its_policy(tmp_path):
    (record,) = read_episodes(write_episodes(tmp_path / "e.jsonl", [EPISODE]))
    assert (record.update, record.kept, record.drop_reason) == (6, True, None)


def test_a_reward_that_is_no_number_stays_json(tmp_path):
    strange = replace(EPISODE, turns=(replace(TURN, reward=math.nan),))
    path = write_episodes(tmp_path / "e.jsonl", [strange])
    json.loads(path.read_text(encoding="utf-8"), parse_constant=pytest.fail)
    assert math.isnan(read_episodes(path)[0].episode.reward)


def test_a_broken_off_write_leaves_nothing_half_done(tmp_path):
    path = write_episodes(tmp_path / "e.jsonl", [DROPPED])

    def stream():
        yield BROKEN
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_episodes(path, stream())
    assert len(read_episodes(path)[0].episode.turns) == 2
    assert list(tmp_path.iterdir()) == [path]


def test_missing_file(tmp_path):
    with pytest.raises(MissingDataError, match="keep_updates"):
        read_episodes(tmp_path / "no.jsonl")


@pytest.mark.parametrize("line", ["{", "{}", "[]", '{"update": 1}'])
def test_foreign_lines_are_named(tmp_path, line):
    path = write_episodes(tmp_path / "e.jsonl", [EPISODE])
    path.write_text(path.read_text(encoding="utf-8") + line + "\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="Line 2 of"):
        read_episodes(path)
