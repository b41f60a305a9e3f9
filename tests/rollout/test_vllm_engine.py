"""What is vLLM's own: its settings, the check of its weights, its death, a real run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from fit_parser import parse_fit
from sampo.errors import ConfigError, EngineError, MissingDependencyError
from sampo.models.policy import Policy
from sampo.rollout import vllm_engine
from sampo.rollout.engine import GenerationRequest, SamplingParams
from sampo.rollout.transformers_engine import TransformersEngine
from sampo.rollout.vllm_engine import VLLMEngine
from sampo.rollout.vllm_servers import VLLMServers
from tiny import tiny_model, tiny_tokenizer
from vllm_server import serve

needs_vllm = pytest.mark.skipif(find_spec("vllm") is None, reason="vLLM is not installed")


def test_its_absence_is_told_with_the_command(monkeypatch):
    monkeypatch.setattr(vllm_engine, "find_spec", lambda _: None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'sampo\[vllm\]'"):
        VLLMEngine().sync_weights(Policy(tiny_model()), 0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_batch": 0}, "max_batch"),
        ({"cache_gib": 0.0}, "cache_gib"),
        ({"reply_timeout_s": 0.0}, "reply_timeout_s"),
        (
            {"engine_args": {"logprobs_mode": "raw_logprobs", "seed": 3}},
            "may not set logprobs_mode:",
        ),
    ],
)
def test_impossible_settings_are_named(settings, message: str):
    with pytest.raises(ConfigError, match=message):
        VLLMEngine(**settings)


@pytest.mark.parametrize(
    ("name", "options", "kind"),
    [
        ("transformers", [], TransformersEngine),
        ("vllm", ["--data.engine.cache_gib=0.5"], VLLMEngine),
        ("vllm_servers", ["--data.engine.urls=[http://a:8000, http://b:8000/v1]"], VLLMServers),
    ],
)
def test_the_shipped_configs_name_engines(name: str, options: list[str], kind: type):
    engine = parse_fit("--config=quickstart", f"--config=engines/{name}", *options).data.engine
    assert engine.class_path == f"{kind.__module__}.{kind.__name__}"
    made = kind(**engine.init_args.as_dict())
    if isinstance(made, VLLMServers):
        assert made._urls == ["http://a:8000", "http://b:8000"]


def test_servers_are_named_once():
    for urls in ([], ["http://a:1", "http://a:1/v1"]):
        with pytest.raises(ConfigError, match="urls"):
            VLLMServers(urls=urls)


def test_a_server_that_is_not_there_is_named():
    engine = VLLMServers(urls=["http://127.0.0.1:9"])
    with pytest.raises(EngineError, match=r"http://127.0.0.1:9 is gone or does not answer"):
        engine.sync_weights(Policy(tiny_model()), 0)


@needs_vllm
@pytest.mark.slow
def test_heads_without_a_kernel_are_named():
    with pytest.raises(EngineError, match=r"16 dimensions.*no kernel.*TransformersEngine"):
        VLLMEngine().sync_weights(Policy(tiny_model(head_dim=16)), 0)


@needs_vllm
@pytest.mark.slow
@pytest.mark.parametrize(
    ("worker", "culprit"),
    [
        ("StaleHead", "model.embed_tokens.weight"),
        ("LostProjection", "model.layers.1.self_attn.v_proj.weight"),
    ],
)
def test_a_sync_that_goes_wrong_names_the_parameter(monkeypatch, worker: str, culprit: str):
    """Checksums agree, since the workers read what was sent; the probe does not."""
    arguments = VLLMEngine._arguments

    def faulty(self, *args):
        given = arguments(self, *args)
        return {**given, "worker_extension_cls": f"faulty_vllm_worker.{worker}"}

    monkeypatch.setattr(VLLMEngine, "_arguments", faulty)
    tests = str(Path(__file__).parents[1])
    monkeypatch.setenv("PYTHONPATH", f"{tests}:{os.environ.get('PYTHONPATH', '')}")
    policy = Policy(tiny_model(head_dim=32))
    with torch.no_grad():
        for parameter in policy.parameters():
            if parameter.ndim == 2:
                parameter.mul_(8.0)
    engine = VLLMEngine(cache_gib=0.25)
    engine.bind(tiny_tokenizer())
    engine.sync_weights(policy, 1)
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.mul_(1.1)
    with pytest.raises(EngineError, match=f"After sync 2 .*at fault: {culprit}\\. "):
        engine.sync_weights(policy, 2)


@needs_vllm
@pytest.mark.slow
def test_sleep_is_ignored_on_a_cpu_with_a_warning():
    if torch.cuda.is_available():
        pytest.skip("has a GPU")
    policy = Policy(tiny_model(head_dim=32))
    engine = VLLMEngine(cache_gib=0.25, sleep=True)
    with pytest.warns(UserWarning, match="sleep is ignored"):
        engine.sync_weights(policy, 1)
    engine.sleep()
    engine.sync_weights(policy, 2)
    engine.close()


SHORT_RUN = [
    "--config=quickstart", "--config=engines/vllm", "--data.engine.cache_gib=0.25",
    "--data.groups_per_update=4", "--data.group_size=4", "--data.updates_per_epoch=3",
    "--data.evaluation.num_tasks=8",
]  # fmt: skip


def start_fit(folder: Path, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "sampo", "fit", *SHORT_RUN, *options]
    return subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@needs_vllm
@pytest.mark.slow
def test_the_quickstart_runs_on_it(tmp_path: Path):
    """Its log-probabilities are the trainer's after every update, and it leaves nothing behind."""
    handover = tmp_path / "handover"
    handover.mkdir()
    fit = start_fit(tmp_path, "--trainer.max_epochs=1", f"--data.engine.transfer_folder={handover}")
    out, err = fit.communicate(timeout=280)
    assert fit.returncode == 0, err
    assert "Finished after 3 updates" in out + err
    assert not list(handover.iterdir())
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(tmp_path / "runs/quickstart/version_0"))
    events.Reload()
    mismatch = [event.value for event in events.Scalars("train/sampling_kl")]
    assert len(mismatch) == 3 and max(map(abs, mismatch)) < 1e-6


@needs_vllm
@pytest.mark.slow
def test_its_death_in_the_middle_of_a_rollout_ends_the_run_with_a_sentence(tmp_path: Path):
    import psutil

    fit = start_fit(tmp_path, "--trainer.max_epochs=50")
    steps = tmp_path / "runs/quickstart/version_0/episodes"
    deadline = time.monotonic() + 200
    while not list(steps.glob("*")) and time.monotonic() < deadline and fit.poll() is None:
        time.sleep(0.2)
    family = psutil.Process(fit.pid).children(recursive=True)
    engine = [child for child in family if "EngineCore" in " ".join(child.cmdline())]
    assert engine, [child.cmdline() for child in family]
    os.kill(engine[0].pid, signal.SIGKILL)
    _, err = fit.communicate(timeout=90)
    assert fit.returncode == 1
    last = [line for line in err.splitlines() if line.startswith("sampo: ")]
    assert len(last) == 1 and "vLLM's engine process has died" in last[0]
    assert "last checkpoint" in last[0] and "Traceback" not in err.split(last[0])[1]
    time.sleep(5)
    assert not [child for child in family if child.is_running()]


@needs_vllm
@pytest.mark.slow
def test_it_does_not_outlive_a_trainer_that_is_killed(tmp_path: Path):
    import psutil

    fit = start_fit(tmp_path, "--trainer.max_epochs=50")
    assert fit.stderr is not None
    for line in fit.stderr:
        if "vLLM started" in line:
            break
    family = psutil.Process(fit.pid).children(recursive=True)
    assert any("EngineCore" in " ".join(child.cmdline()) for child in family)
    time.sleep(5)  # the workers are told whom to watch right after the start
    fit.kill()
    fit.communicate(timeout=30)
    _, alive = psutil.wait_procs(family, timeout=60)
    assert not alive, [process.cmdline() for process in alive]


@needs_vllm
@pytest.mark.slow
def test_a_servers_death_in_the_middle_of_a_rollout_is_told_with_its_name(tmp_path: Path):
    import psutil

    policy = Policy(tiny_model(head_dim=32))
    policy.save_pretrained(tmp_path, tiny_tokenizer())
    with serve(tmp_path) as server:
        family = psutil.Process(server.process.pid).children(recursive=True)
        engine = VLLMServers(urls=[server.url])
        engine.sync_weights(policy, 1)
        params = SamplingParams(max_new_tokens=1500)
        engine.submit(
            [GenerationRequest(key=i, prompt_ids=(5, 6), params=params, seed=i) for i in range(200)]
        )
        server.process.kill()
        with pytest.raises(EngineError, match=f"{server.url} is gone or does not answer"):
            while engine.collect():
                pass
        engine.close()
        for process in family:  # a core that is killed leaves its shared memory behind
            if process.is_running() and "EngineCore" in " ".join(process.cmdline()):
                process.terminate()
        psutil.wait_procs(family, timeout=30)
