"""`sampo evaluate` and `sampo collect` with a model behind a real server on loopback.

A few of them through the command line, whose parser takes its seconds.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch

from openai_server import RIGHT, Answer, Server, refusal, reply, running
from sampo.callbacks import EpisodeWriter
from sampo.callbacks.run_folder import run_folder
from sampo.cli import main
from sampo.data.demonstrations import read_demonstrations
from sampo.data.episode_log import read_episodes
from sampo.data.settings import ChatSettings, EvaluationSettings, WorkerSettings
from sampo.envs.toy import Corridor
from sampo.episode import Episode, StopReason
from sampo.errors import ConfigError, EngineError
from sampo.module import SampoModule
from sampo.rollout.conversation import TranscriptContext
from sampo.rollout.debate import Debate
from sampo.rollout.openai_engine import OpenAIEngine
from sampo.rollout.pace import RequestLimits
from sampo.trainer import SampoTrainer
from tiny import save_tiny_policy
from training import make_data, make_module, make_trainer

KEY = "sk-secret-0123456789"
ABSENT = "--model.policy=no-one/has-this-model"
"""Were weights or a tokenizer loaded, this could not be found."""


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def options(url: str, folder: Path, *more: str) -> list[str]:
    """Return what asks the server to walk to the door at 2 or 0 of a corridor of three cells."""
    return [
        "--config=quickstart",
        "--engine=openai",
        f"--data.engine.init_args.base_url={url}",
        "--data.engine.init_args.model=tiny",
        "--data.engine.init_args.limits.max_retries=1",
        "--data.engine.init_args.limits.first_wait_s=0.01",
        ABSENT,
        f"--trainer.logger.init_args.save_dir={folder}",
        "--data.env=sampo.envs.Corridor",
        "--data.env.length=3",
        "--data.env.max_turns=4",
        "--data.evaluation.num_tasks=-1",
        "--data.workers.num_workers=0",
        *more,
    ]


def made(url: str, folder: Path, **settings: Any) -> tuple[SampoTrainer, SampoModule, Any]:
    """Return trainer, module and data of the same evaluation without the command line."""
    limits = RequestLimits(max_retries=1, first_wait_s=0.01)
    engine = OpenAIEngine(model="tiny", base_url=url, limits=limits)
    defaults: dict[str, Any] = {
        "env": Corridor(length=3, max_turns=4),
        "evaluation": EvaluationSettings(num_tasks=-1),
    }
    data = make_data("no-one/has-this-model", engine=engine, **{**defaults, **settings})
    trainer = make_trainer(folder, epochs=1, callbacks=[EpisodeWriter()])
    return trainer, make_module("no-one/has-this-model"), data


def play(url: str, folder: Path, **settings: Any) -> list[Episode]:
    """Evaluate and return the episodes that were written."""
    trainer, module, data = made(url, folder, **settings)
    trainer.evaluate(module, data)
    return written(run_folder(trainer))


def written(folder: Path) -> list[Episode]:
    return [record.episode for record in read_episodes(folder / "evaluation_val_episodes.jsonl")]


def failure(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    """Return the one sentence that a failing command ends with."""
    with pytest.raises(SystemExit) as stop:
        main([*args])
    assert stop.value.code not in (0, None)
    error = capsys.readouterr().err
    assert "Traceback" not in error and KEY not in error
    return error.strip().splitlines()[-1].removeprefix("sampo: error: ")


def walk(_: Server, body: Mapping[str, Any]) -> Answer:
    """Play perfectly: the door's number says where it is."""
    door = body["messages"][-1]["content"].split("door ")[-1][0]
    return reply("<action>left</action>" if door == "0" else RIGHT)


@contextmanager
def process(folder: Path, replies: int) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Run a server in a process of its own, which kills itself after some replies."""
    port = folder / "port"
    script = Path(__file__).parents[1] / "openai_server.py"
    server = subprocess.Popen([sys.executable, str(script), str(port), str(replies)])
    try:
        while not port.exists() and server.poll() is None:
            time.sleep(0.05)
        yield port.read_text(), server
    finally:
        server.kill()
        server.wait()


def test_an_evaluation_reports_what_it_cost_and_tells_the_key_to_nobody_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prices = "--data.engine.init_args.prices={prompt: 1000, completion: 10000}"
    with running(walk) as server:
        main(["evaluate", *options(server.url, tmp_path, prices)])
    folder = next(tmp_path.glob("*/version_0"))
    report = json.loads((folder / "evaluation_val.json").read_text())
    (episode,) = written(folder)
    turns = len(episode.turns)
    assert report["totals"]["success_rate"] == 1.0
    assert report["totals"]["reply_tokens"] == 3.0  # as the server counts
    assert report["setup"]["checkpoint"] == f"tiny at {server.url}"
    assert report["usage"]["prompt_tokens"] == 10 * turns
    assert report["usage"]["cost"] == pytest.approx(turns * (10 * 1e-3 + 3 * 1e-2))
    printed = capsys.readouterr()
    assert f"{turns * 0.04:.4f}" in printed.out
    assert "No weights are loaded" in printed.err

    assert set(server.keys) == {f"Bearer {KEY}"}
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    names = {path.name for path in files}
    assert {"config.yaml", "evaluation_val.json", "validation_000000.jsonl"} <= names
    assert any(name.startswith("events.out") for name in names)
    assert all(KEY.encode() not in path.read_bytes() for path in files)
    assert KEY not in printed.out + printed.err


def test_a_server_that_dies_leaves_the_episodes_that_had_ended(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One task, played 12 times, two at a time; the server's process is killed after 11 replies."""
    often = ["--data.evaluation.samples_per_task=12", "--data.workers.max_concurrent=2"]
    with process(tmp_path, replies=11) as (url, server):
        message = failure(capsys, "evaluate", *options(url, tmp_path / "runs", *often))
        assert server.wait() == -9
    folder = next((tmp_path / "runs").glob("*/version_0"))
    assert f"The server at {url} cannot be reached" in message
    assert "It had given 11 replies before." in message
    episodes = written(folder)
    turns = [len(episode.turns) for episode in episodes]
    assert all(episode.stop_reason is not StopReason.ERROR for episode in episodes)
    # What is not in the file was in play: at most two episodes.
    assert 0 < len(episodes) < 12 and 0 <= 11 - sum(turns) < 2 * max(turns)
    assert f"the {len(episodes)} episodes that had ended are in {folder}" in message
    assert not (folder / "evaluation_val.json").exists()
    assert all(KEY.encode() not in p.read_bytes() for p in tmp_path.rglob("*") if p.is_file())


def test_the_fragment_alone_says_what_is_missing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    base = ["evaluate", "--config=quickstart", "--engine=openai"]
    assert "Which model?" in failure(capsys, *base)
    assert "'engines/openai'" in failure(capsys, "evaluate", "--engine=opnai")


def test_a_failure_of_a_chunk_keeps_its_ended_episodes_too(tmp_path: Path) -> None:
    """All twelve are one chunk; the server refuses after the first have ended."""

    def moody(server: Server, body: Mapping[str, Any]) -> Answer:
        return walk(server, body) if len(server.asked) < 20 else refusal(400, "enough")

    evaluation = EvaluationSettings(num_tasks=-1, samples_per_task=40)
    with running(moody) as server:
        trainer, module, data = made(server.url, tmp_path, evaluation=evaluation)
        with pytest.raises(EngineError, match=r"\(400\) enough.* broke off"):
            trainer.evaluate(module, data)
    episodes = written(run_folder(trainer))
    assert 0 < len(episodes) < 20
    assert all(episode.success for episode in episodes)


def test_a_transcript_grows_by_messages(tmp_path: Path) -> None:
    with running(lambda *_: reply("<action>hm</action>")) as server:
        chat = ChatSettings(system="Be brief.")
        play(server.url, tmp_path, context=TranscriptContext(), chat=chat)
    roles = [[message["role"] for message in body["messages"]] for body in server.asked]
    assert roles[0] == ["system", "user"]
    assert roles[3] == ["system", "user", *["assistant", "user"] * 3]
    assert server.asked[3]["messages"][2] == {"role": "assistant", "content": "<action>hm</action>"}


def test_an_episode_ends_where_the_server_has_no_room(tmp_path: Path) -> None:
    def full(server: Server, _: Mapping[str, Any]) -> Answer:
        return refusal(400, "maximum context length is 9") if len(server.asked) > 2 else reply("hm")

    with running(full) as server:
        (episode,) = play(server.url, tmp_path / "a")
        assert episode.stop_reason is StopReason.CONTEXT
        assert len(episode.turns) == 2
        with pytest.raises(ConfigError, match="leaves no room for a reply at the server"):
            play(server.url, tmp_path / "b")


def test_a_debate_asks_several_times_per_turn(tmp_path: Path) -> None:
    """Solver 0 is wrong and outvoted; every turn costs three requests."""

    def mostly(server: Server, body: Mapping[str, Any]) -> Answer:
        return reply("<action>stay</action>") if len(server.asked) % 3 == 1 else walk(server, body)

    evaluation = EvaluationSettings(num_tasks=-1, debate=Debate(solvers=3))
    with running(mostly) as server:
        (episode,) = play(server.url, tmp_path, evaluation=evaluation)
    assert episode.success
    assert len(server.asked) == 3 * len(episode.turns)


def test_a_debate_is_for_served_models(tmp_path: Path) -> None:
    policy = save_tiny_policy(tmp_path / "policy")
    data = make_data(policy, evaluation=EvaluationSettings(debate=Debate()))
    trainer = make_trainer(tmp_path, epochs=1)
    with pytest.raises(ConfigError, match="debate is for served models"):
        trainer.evaluate(make_module(policy), data)


def test_collecting_keeps_text_and_the_name_of_the_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "demos.parquet"
    with running(walk) as server:
        trainer, module, data = made(server.url, tmp_path)
        trainer.collect(module, data, str(file), episodes=3, source="policy")
    kept = read_demonstrations(file)
    assert set(kept.policies) == {f"tiny at {server.url}"}
    assert len(kept.episodes) == 3
    replies = {turn.reply for episode in kept.episodes for turn in episode.turns}
    assert replies <= {RIGHT, "<action>left</action>"}
    assert f"requests {len(server.asked)}" in capsys.readouterr().out


def test_collecting_keeps_what_it_has_when_the_server_dies(tmp_path: Path) -> None:
    file = tmp_path / "demos.parquet"
    workers = WorkerSettings(num_workers=0, max_concurrent=4)
    with process(tmp_path, replies=40) as (url, _):
        trainer, module, data = made(url, tmp_path, workers=workers)
        with pytest.raises(EngineError, match=r"broke off; what it had is in .*demos\.parquet"):
            trainer.collect(module, data, str(file), episodes=50, source="policy")
    kept = read_demonstrations(file).episodes
    assert 0 < len(kept) < 50
    assert all(episode.success for episode in kept)


def test_nothing_is_left_where_nothing_was_collected(tmp_path: Path) -> None:
    trainer, module, data = made("http://127.0.0.1:9/v1", tmp_path)
    with pytest.raises(EngineError, match="cannot be reached"):
        trainer.collect(module, data, str(tmp_path / "demos.parquet"), source="policy")
    assert not (tmp_path / "demos.parquet").exists()


def test_training_and_explaining_are_refused_before_anything_is_loaded(tmp_path: Path) -> None:
    trainer, module, data = made("http://127.0.0.1:9/v1", tmp_path)
    with pytest.raises(ConfigError, match=r"tiny at http://127.* cannot be trained"):
        trainer.fit(module, datamodule=data)
    with pytest.raises(ConfigError, match="cannot be trained"):
        trainer.explain(module, data)
    assert module.policy is None


def test_settings_without_effect_are_refused(tmp_path: Path) -> None:
    chat = ChatSettings(template_kwargs={"enable_thinking": False})
    with pytest.raises(ConfigError, match="tell the server with"):
        play("http://127.0.0.1:9/v1", tmp_path, chat=chat)
    checkpoint = tmp_path / "x.ckpt"
    torch.save({"sampo": {"update_step": 1}, "state_dict": {}, "hyper_parameters": {}}, checkpoint)
    trainer, module, data = made("http://127.0.0.1:9/v1", tmp_path)
    with pytest.raises(ConfigError, match="is of no use to tiny at"):
        trainer.evaluate(module, data, ckpt_path=str(checkpoint))
