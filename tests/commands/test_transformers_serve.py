"""Against `transformers serve` in a process of its own: a server that is not ours.

It needs what `pip install transformers[serving]` brings; without that these tests are skipped.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from sampo.callbacks.run_folder import run_folder
from sampo.data.datamodule import RolloutDataModule
from sampo.data.episode_log import read_episodes
from sampo.data.settings import EvaluationSettings, WorkerSettings
from sampo.episode import Episode
from sampo.errors import EngineError
from sampo.models.sources import resolve_policy
from sampo.rollout.conversation import ContextPolicy, TranscriptContext, WindowContext
from sampo.rollout.engine import RolloutEngine, SamplingParams
from sampo.rollout.openai_engine import OpenAIEngine
from sampo.rollout.pace import RequestLimits
from sampo.rollout.transformers_engine import TransformersEngine
from sampo_envs.sokoban import SokobanEnv
from training import make_data, make_module, make_trainer

POLICY = resolve_policy("nano-sokoban")
COMMAND = shutil.which("transformers", path=str(Path(sys.executable).parent))

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        COMMAND is None or any(find_spec(name) is None for name in ("fastapi", "uvicorn")),
        reason="`transformers serve` needs pip install transformers[serving]",
    ),
]


@pytest.fixture
def server() -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """The nano policy behind `transformers serve`: its URL and its process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    assert COMMAND is not None
    where = ["--host", "127.0.0.1", "--port", str(port), "--device", "cpu", "--dtype", "float32"]
    process = subprocess.Popen([COMMAND, "serve", POLICY, *where], start_new_session=True)
    url = f"http://127.0.0.1:{port}/v1"
    try:
        until = time.monotonic() + 200
        while process.poll() is None and time.monotonic() < until:
            try:
                with urllib.request.urlopen(f"{url}/models", timeout=5):
                    break
            except OSError:
                time.sleep(0.5)
        yield url, process
    finally:
        process.kill()
        process.wait()


def data(engine: RolloutEngine, context: ContextPolicy, **settings: Any) -> RolloutDataModule:
    """The quickstart's game with greedy replies."""
    return make_data(
        POLICY,
        engine=engine,
        context=context,
        env=SokobanEnv(size=6, boxes=1, search_depth=30, max_turns=10, rendering="relative"),
        eval_sampling=SamplingParams(temperature=0.0, max_new_tokens=8),
        context_length=2048,  # never reached: the server knows nothing of it
        **{"evaluation": EvaluationSettings(num_tasks=24), **settings},
    )


def play(folder: Path, module_data: RolloutDataModule) -> list[Episode]:
    trainer = make_trainer(folder, epochs=1)
    trainer.evaluate(make_module(POLICY), module_data)
    return written(run_folder(trainer))


def written(folder: Path) -> list[Episode]:
    return [record.episode for record in read_episodes(folder / "evaluation_val_episodes.jsonl")]


def replies(episodes: list[Episode]) -> list[list[str]]:
    return [[turn.reply for turn in episode.turns] for episode in episodes]


@pytest.mark.parametrize("context", [WindowContext(history=0), TranscriptContext()])
@pytest.mark.parametrize("mode", ["chat", "completions"])
def test_a_served_policy_plays_as_it_does_here(
    tmp_path: Path, server: tuple[str, Any], mode: Any, context: ContextPolicy
) -> None:
    """Greedy, word for word, and with as many tokens: two ways to the same model."""
    template = POLICY if mode == "completions" else None
    engine = OpenAIEngine(model=POLICY, base_url=server[0], mode=mode, tokenizer=template)
    there = play(tmp_path / "there", data(engine, context))
    here = play(tmp_path / "here", data(TransformersEngine(), context))
    assert replies(there) == replies(here)
    assert [e.success for e in there] == [e.success for e in here]
    assert engine.usage()["replies_without_token_count"] == 0
    turns = sum(len(episode.turns) for episode in here)
    assert engine.usage()["requests"] == turns
    assert engine.usage()["completion_tokens"] == 4 * turns  # an action, and its end


def test_its_death_in_the_middle(
    tmp_path: Path, server: tuple[str, subprocess.Popen[bytes]]
) -> None:
    url, process = server
    limits = RequestLimits(max_retries=2, first_wait_s=0.1)
    engine = OpenAIEngine(model=POLICY, base_url=url, limits=limits)
    module_data = data(
        engine,
        WindowContext(history=0),
        evaluation=EvaluationSettings(num_tasks=-1, samples_per_task=4),
        workers=WorkerSettings(num_workers=0, max_concurrent=4),
    )
    trainer = make_trainer(tmp_path, epochs=1)
    begin = module_data.engine.submit
    asked = []

    def strike(requests: Any) -> None:
        asked.extend(requests)
        if len(asked) > 60 and process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
        begin(requests)

    module_data.engine.submit = strike
    with pytest.raises(EngineError, match=r"cannot be reached.*had given \d+ replies.* are in "):
        trainer.evaluate(make_module(POLICY), module_data)
    assert len(written(run_folder(trainer))) > 0


def test_a_wrong_name(tmp_path: Path, server: tuple[str, Any]) -> None:
    engine = OpenAIEngine(model=f"{POLICY}-large", base_url=server[0])
    with pytest.raises(EngineError, match=r"has no model .*Did you mean .*nano-sokoban'\? "):
        play(tmp_path, data(engine, WindowContext(history=0)))
