"""Demonstrations survive the way to disk and back, and bad files are refused with a sentence."""

from io import StringIO

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from sampo.data.demonstrations import SCHEMA, read_demonstrations, write_demonstrations
from sampo.episode import Episode, StopReason, Turn
from sampo.errors import ConfigError, MissingDataError


def turn(
    action: str | None = "up",
    reward=-0.1,
    admissible: tuple[str, ...] | None = ("up", "down"),
    **kwargs,
):
    return Turn(
        observation="a wall",
        reply=f"<action>{action}</action>",
        action=action,
        reward=reward,
        admissible_actions=admissible,
        **kwargs,
    )


def episode(task="level-1", *turns, success=True, stop=StopReason.TERMINATED, **kwargs):
    return Episode(task=task, seed=2**62, turns=turns, success=success, stop_reason=stop, **kwargs)


EPISODES = [
    episode("level-1", turn("up"), turn("left", 10.9, admissible=None), task_type="6x6"),
    episode(
        "level-2",
        turn(None, format_valid=False, action_valid=False, admissible=()),
        success=False,
        stop=StopReason.MAX_TURNS,
    ),
    episode("level-3", success=False, stop=StopReason.CONTEXT),
]


def test_round_trip_keeps_everything_but_tokens(tmp_path):
    path = tmp_path / "deep" / "demos.parquet"
    metadata = {"env": "sokoban", "split": "train"}
    write_demonstrations(path, EPISODES, policy="expert", metadata=metadata, rows_per_write=2)
    demonstrations = read_demonstrations(path)
    assert list(demonstrations.episodes) == EPISODES
    assert demonstrations.policies == ("expert",) * 3
    assert demonstrations.metadata == metadata


def test_the_file_is_plain_parquet_of_the_documented_schema(tmp_path):
    path = tmp_path / "demos.parquet"
    write_demonstrations(path, EPISODES[:1], policy="expert")
    table = pq.read_table(path)
    assert table.schema.equals(SCHEMA)
    assert table.schema.metadata[b"sampo.demonstrations"] == b"1"
    (row,) = table.to_pylist()
    assert row["reward"] == pytest.approx(10.8)
    assert row["turns"][1] == {
        "observation": "a wall",
        "reply": "<action>left</action>",
        "action": "left",
        "reward": 10.9,
        "format_valid": True,
        "action_valid": True,
        "admissible_actions": None,
    }


def test_failed_episodes_are_left_out(tmp_path):
    path = tmp_path / "demos.parquet"
    broken = episode("level-9", turn(), stop=StopReason.ERROR)
    summary = write_demonstrations(path, [broken, *EPISODES], policy="expert")
    assert summary.episodes == 3
    assert [e.task for e in read_demonstrations(path).episodes] == ["level-1", "level-2", "level-3"]


def test_episodes_are_streamed_and_the_file_appears_when_complete(tmp_path):
    path = tmp_path / "demos.parquet"
    seen = []

    def stream():
        for number in range(5):
            seen.append(path.exists())
            yield episode(f"level-{number}", turn())

    write_demonstrations(path, stream(), policy="expert", rows_per_write=2)
    assert seen == [False] * 5
    assert pq.ParquetFile(path).metadata.num_rows == 5
    assert list(tmp_path.iterdir()) == [path]


def test_a_broken_off_collection_keeps_the_old_file(tmp_path):
    path = tmp_path / "demos.parquet"
    write_demonstrations(path, EPISODES, policy="old")

    def stream():
        yield EPISODES[0]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_demonstrations(path, stream(), policy="new")
    assert set(read_demonstrations(path).policies) == {"old"}
    assert list(tmp_path.iterdir()) == [path]


def test_nothing_to_write_is_said_and_leaves_no_file(tmp_path):
    with pytest.raises(MissingDataError, match="Lower it, or collect more"):
        write_demonstrations(tmp_path / "demos.parquet", [], policy="expert")
    assert not list(tmp_path.iterdir())


def test_summary_by_hand(tmp_path):
    path = tmp_path / "demos.parquet"
    tokens = episode("level-4", turn("up", action_ids=(1, 2, 3)), turn("up", action_ids=(4,)))
    written = write_demonstrations(path, [*EPISODES, tokens], policy="expert")
    assert (written.episodes, written.successes, written.turns) == (4, 2, 5)
    assert written.success_rate == 0.5
    # (-0.1 + 10.9) + (-0.1) + 0 + (-0.2), over 4 episodes.
    assert written.reward == pytest.approx(10.5 / 4)
    assert written.action_tokens == 4
    assert written.actions == {"up": 3, "left": 1, "": 1}
    read = read_demonstrations(path).summary()
    assert read.action_tokens == 0
    assert read.actions == written.actions


def test_summary_table_shows_the_most_frequent_actions(tmp_path):
    summary = write_demonstrations(tmp_path / "demos.parquet", EPISODES, policy="expert(noise=0.1)")
    out = StringIO()
    Console(width=100, file=out).print(summary.table(most_actions=2))
    text = out.getvalue()
    assert "by expert(noise=0.1)" in text
    assert "33.3%" in text
    assert "(none read)" not in text


def test_missing_file_says_where_and_what_to_do(tmp_path):
    with pytest.raises(MissingDataError, match=f"{tmp_path}/no.parquet.*sampo collect"):
        read_demonstrations(tmp_path / "no.parquet")


def test_no_parquet_file(tmp_path):
    path = tmp_path / "demos.parquet"
    path.write_text("[]")
    with pytest.raises(ConfigError, match="is not a Parquet file"):
        read_demonstrations(path)


def test_parquet_of_something_else(tmp_path):
    path = tmp_path / "other.parquet"
    pq.write_table(pa.table({"messages": ["hello"]}), path)
    with pytest.raises(ConfigError, match=r"lacks the metadata entry sampo\.demonstrations"):
        read_demonstrations(path)


def rewrite(path, table, version="1"):
    pq.write_table(table.replace_schema_metadata({"sampo.demonstrations": version}), path)


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "good.parquet"
    write_demonstrations(path, EPISODES, policy="expert")
    return pq.read_table(path)


def test_another_version(tmp_path, table):
    rewrite(tmp_path / "new.parquet", table, version="2")
    with pytest.raises(ConfigError, match="version 2; this sampo reads version 1"):
        read_demonstrations(tmp_path / "new.parquet")


def test_missing_column(tmp_path, table):
    rewrite(tmp_path / "cut.parquet", table.drop_columns(["policy", "seed"]))
    with pytest.raises(ConfigError, match=r"lacks the column\(s\) seed, policy"):
        read_demonstrations(tmp_path / "cut.parquet")


def test_column_of_another_type(tmp_path, table):
    turns = table.column_names.index("turns")
    rewrite(tmp_path / "bad.parquet", table.set_column(turns, "turns", pa.array([1, 2, 3])))
    with pytest.raises(ConfigError, match="does not have the demonstration schema"):
        read_demonstrations(tmp_path / "bad.parquet")


def test_unknown_stop_reason(tmp_path, table):
    place = table.column_names.index("stop_reason")
    column = pa.array(["terminated", "bored", "context"])
    rewrite(tmp_path / "bad.parquet", table.set_column(place, "stop_reason", column))
    with pytest.raises(ConfigError, match="bored"):
        read_demonstrations(tmp_path / "bad.parquet")


def test_further_columns_are_ignored(tmp_path, table):
    extra = table.append_column("note", pa.array(["x"] * 3))
    rewrite(tmp_path / "extra.parquet", extra)
    assert len(read_demonstrations(tmp_path / "extra.parquet").episodes) == 3
