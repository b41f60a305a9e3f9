"""Every rolled-out episode ends up in a file, with what became of it."""

from collections import Counter
from dataclasses import replace

import pytest
import torch

from sampo.batch import RolloutBatch
from sampo.callbacks.episode_writer import EpisodeWriter, turn_advantages
from sampo.data.episode_log import read_episodes, state_hash
from sampo.data.token_file import read_tokens, token_path
from sampo.errors import ConfigError
from sampo.rollout.scripted_engine import ScriptedEngine
from training import make_data, make_module, make_trainer

from .conftest import LEFT, RIGHT, Bystander


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


def test_text_alone_on_request(fit, run_path):
    fit([EpisodeWriter(with_ids=False)], max_epochs=1)
    (record, *_) = read_episodes(run_path / "episodes" / "update_000000.jsonl")
    assert record.episode.turns[0].reply.startswith("<action>")
    assert record.episode.turns[0].action_ids == ()
    assert record.pieces is None


def test_the_tokens_of_the_first_groups_and_their_texts(fit, run_path, data):
    fit([EpisodeWriter(token_groups=1)], max_epochs=1)
    records = read_episodes(run_path / "episodes" / "update_000001.jsonl")
    assert [r.pieces is not None for r in records] == [r.group == 0 for r in records]
    played = data.last_rollout.all_groups[0].episodes[0].turns[0]
    (first, *_) = records
    assert first.episode.turns[0] == replace(played, state_key=state_hash(played.state_key))
    assert len(first.pieces[0].prompt) == len(played.prompt_ids)
    assert "".join(first.pieces[0].action).startswith(played.reply)


class Interrupted(ScriptedEngine):
    """Breaks off the rollout of the second update at its sixth reply."""

    def __init__(self, replies, data):
        super().__init__(replies)
        self.data, self.given = data, 0

    def collect(self):
        done = super().collect()
        self.given += len(done) if self.data.update == 1 else 0
        if self.given > 5:
            raise RuntimeError("pulled the plug")
        return done


def test_a_rollout_that_breaks_off_leaves_what_had_ended(fit, run_path, data):
    data.player.engine = Interrupted([RIGHT, RIGHT, LEFT], data)
    with pytest.raises(RuntimeError, match="pulled the plug"):
        fit([EpisodeWriter(token_groups=1)])
    assert names(run_path) == [
        "update_000000.jsonl",
        "update_000001.partial.jsonl",
        "validation_000000.jsonl",
    ]
    records = read_episodes(run_path / "episodes" / "update_000001.partial.jsonl")
    assert len(records) >= 2  # of at most two turns, two at a time
    assert {(r.update, r.kept, r.drop_reason) for r in records} == {(1, False, "not_judged")}
    assert all(record.episode.turns for record in records)
    assert [r.pieces is not None for r in records] == [r.group == 0 for r in records]


def test_an_episode_is_in_the_file_when_it_ends(fit, run_path, data):
    seen = []

    class Reader(EpisodeWriter):
        def _add_to_stream(self, trainer, episode):
            super()._add_to_stream(trainer, episode)
            (file,) = (run_path / "episodes").glob("*.partial.jsonl")
            seen.append((read_episodes(file)[-1].episode.task == episode.task, file.name))

    fit([Reader()], max_epochs=1)
    assert all(there for there, _ in seen)
    assert Counter(name for _, name in seen) >= Counter(
        {
            "validation_000000.partial.jsonl": 3,
            "update_000000.partial.jsonl": 4,
            "update_000001.partial.jsonl": 4,
            "validation_000002.partial.jsonl": 3,
        }
    )


def test_some_updates_only(fit, run_path):
    fit([EpisodeWriter(every_n_updates=3)])
    assert [name for name in names(run_path) if name.startswith("update")] == [
        "update_000000.jsonl",
        "update_000003.jsonl",
    ]


def test_advantages_are_those_of_the_rollout(fit, run_path, data):
    fit([EpisodeWriter()], max_epochs=1)
    records = read_episodes(run_path / "episodes" / "update_000001.jsonl")
    expected = [tuple(v) for group in data.last_rollout.groups for v in data.advantage(group)]
    trained = [record.advantages for record in records if record.kept]
    assert trained == [pytest.approx(values) for values in expected]
    assert {record.advantages for record in records if not record.kept} <= {None}


def test_a_turn_without_action_tokens_has_no_advantage():
    batch = RolloutBatch(
        token_ids=torch.tensor([[7, 7, 7], [7, 7, 7]]),
        lengths=torch.tensor([3, 3]),
        action_mask=torch.tensor([[False, True, True], [False, False, True]]),
        turn_ids=torch.tensor([[-1, 0, 0], [-1, -1, 2]]),
        episode_ids=torch.tensor([[-1, 0, 0], [-1, -1, 1]]),
        advantages=torch.tensor([[0.0, 0.5, 0.5], [0.0, 0.0, -2.0]]),
        sampling_logprobs=torch.zeros(2, 3),
        policy_version=0,
    )
    assert turn_advantages(batch) == [0.5, None, -2.0]


def test_what_the_update_did_to_each_token(policy_folder, tmp_path):
    trainer = make_trainer(tmp_path, epochs=1, callbacks=[EpisodeWriter(keep_updates=2)])
    module, data = make_module(policy_folder), make_data(policy_folder)
    trainer.fit(module, datamodule=data)
    files = sorted((tmp_path / "version_0" / "episodes").glob("update_*"))
    assert [path.name for path in files] == [
        "update_000001.jsonl",
        "update_000001.tokens.safetensors",
        "update_000002.jsonl",
        "update_000002.tokens.safetensors",
    ]
    table = read_tokens(files[3])
    turns = [t for r in read_episodes(files[2]) if r.kept for t in r.episode.turns]
    assert {n: s.stop - s.start for n, s in table.spans.items()} == {
        n: len(turn.action_ids) for n, turn in enumerate(turns) if turn.action_ids
    }
    # The engine sampled from the very weights that the trainer scored again.
    sampled = [value for turn in turns for value in turn.sampling_logprobs]
    assert table.columns["old_logprobs"].tolist() == pytest.approx(sampled, abs=1e-4)
    assert not (table.columns["log_ratio"] == 0).all()


def test_tokens_of_the_first_groups_only(policy_folder, tmp_path):
    callback = EpisodeWriter(keep_updates=1, token_groups=1)
    trainer = make_trainer(tmp_path, epochs=1, callbacks=[callback])
    trainer.fit(make_module(policy_folder), datamodule=make_data(policy_folder))
    (path,) = (tmp_path / "version_0" / "episodes").glob("update_*.jsonl")
    first = [r for r in read_episodes(path) if r.group == 0 and r.kept]
    assert len(read_tokens(token_path(path)).spans) == sum(len(r.episode.turns) for r in first)


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
    with pytest.raises(ConfigError, match=r"EpisodeWriter\.token_groups must be .* with_ids"):
        EpisodeWriter(token_groups=0)
    with pytest.raises(ConfigError, match=r"EpisodeWriter\.every_n_updates must be at least 1"):
        EpisodeWriter(every_n_updates=0)
