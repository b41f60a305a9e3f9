"""The shipped configs mean what they say."""

from pathlib import Path

import pytest

from fit_parser import parse_fit
from sampo.cli import main

EXPERIMENT = ("envs/alfworld", "algorithms/sampo", "experiments/alfworld_qwen3_4b")


def test_the_environment_is_the_papers() -> None:
    data = parse_fit("--config=envs/alfworld").data
    assert data.env.class_path == "sampo_envs.alfworld.AlfworldEnv"
    assert (data.env.init_args.data, data.env.init_args.max_turns) == ("generated", 50)
    assert data.env.init_args.prompt_format.class_path == "sampo_envs.alfworld.AlfworldPrompt"
    assert data.context.init_args.history == 2


def test_the_experiment_has_the_papers_numbers() -> None:
    fit = parse_fit(*(f"--config={name}" for name in EXPERIMENT))
    model, data = fit.model, fit.data
    assert data.env.init_args.data == "fetched"
    assert (data.groups_per_update, data.group_size, model.mini_batch_rows) == (16, 8, 256)
    assert (data.context_length, data.sampling.max_new_tokens) == (2048 + 512, 512)
    assert (data.eval_sampling.temperature, data.eval_sampling.top_p) == (0.6, 0.95)
    assert (data.max_filter_rounds, data.filter_cold_start) == (3, 15)
    surrogate = model.loss.surrogate.init_args
    assert (surrogate.clip_low, surrogate.clip_high, model.loss.kl_coef) == (0.003, 0.004, 0.01)
    advantage = data.advantage.init_args
    assert (advantage.normalise, advantage.gamma) == ("mean_std", 0.95)
    assert data.evaluation.num_tasks == -1  # all of valid_seen, each once
    assert fit.trainer.max_epochs * data.updates_per_epoch == 200


def test_the_nano_experiment_stands_by_itself() -> None:
    fit = parse_fit("--config=experiments/alfworld_nano")
    assert fit.model.policy == "nano-alfworld"
    env, nano = fit.data.env, parse_fit("--config=envs/alfworld_nano").data
    assert env == nano.env
    assert fit.data.context == nano.context and nano.context.init_args.history == 2
    assert fit.data.context_length == nano.context_length


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`gradient_checkpointing_enable` is deprecated:FutureWarning")
def test_the_experiment_runs_with_a_tiny_model_in_its_place(tmp_path: Path) -> None:
    sizes = {
        "model.policy": "nano-alfworld",
        "model.dtype": "float32",
        "data.env.init_args.data": "generated",
        "data.env.init_args.max_turns": 2,
        "data.groups_per_update": 2,
        "data.group_size": 2,
        "data.updates_per_epoch": 1,
        "data.sampling.max_new_tokens": 8,
        "data.eval_sampling.max_new_tokens": 8,
        "data.evaluation.num_tasks": 2,
        "data.workers.num_workers": 1,
        "trainer.max_epochs": 1,
        "trainer.logger.init_args.save_dir": tmp_path,
    }
    options = [f"--{name}={value}" for name, value in sizes.items()]
    main(["fit", *(f"--config={name}" for name in EXPERIMENT), *options])
    assert next(tmp_path.glob("*/version_0/checkpoints/last.ckpt")).is_file()
