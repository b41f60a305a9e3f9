"""The shipped configs build what they say."""

from dataclasses import replace

from fit_parser import build_fit, parse_fit
from sampo.filtering import RejectOverlong, RejectVoidTurns
from sampo.rollout.conversation import TranscriptContext
from sampo_envs.tir_math import FileProblems, GeneratedProblems, TirMathEnv

RUN, NANO = "experiments/tir_math_qwen3_4b", "experiments/tir_math_nano"


def test_the_environment() -> None:
    data = build_fit("--config", "quickstart", "--config", "envs/tir_math").data
    env = data.player.env
    assert isinstance(env, TirMathEnv) and isinstance(data.player.context, TranscriptContext)
    assert env.problems == GeneratedProblems(levels=(2, 3))
    assert (env.max_turns, env.tool.sandbox.weakest) == (5, "rlimits")
    assert list(data.sampling.stop) == ["```\n"]


def test_the_nano_run() -> None:
    """It works from the shipped clone; only demonstrations hold guesses."""
    data = build_fit("--config", NANO).data
    env = data.player.env
    assert isinstance(env, TirMathEnv) and isinstance(data.player.context, TranscriptContext)
    assert env.problems == GeneratedProblems(levels=(3,), kinds=("divisors",))
    demonstrated = build_fit("--config", NANO, "--config", "envs/tir_math_nano").data.player
    assert demonstrated.env.problems == replace(env.problems, guess_share=0.5)
    assert demonstrated.env.tool == env.tool and demonstrated.prompt_format == env.prompt_format
    assert demonstrated.eval_sampling == data.player.eval_sampling


def test_the_papers_run() -> None:
    built = build_fit("--config", RUN)
    env, loss = built.data.player.env, built.model.loss
    assert isinstance(env.problems, FileProblems) and env.tool.sandbox.weakest == "bubblewrap"
    assert built.data.judges.episode_filters == [RejectVoidTurns(), RejectOverlong()]
    assert (loss.surrogate.clip_low, loss.surrogate.clip_high, loss.kl_coef) == (0.2, 0.28, 0.0)
    plan = built.data.plan
    mini_batches = parse_fit("--config", RUN).model.num_mini_batches
    # Mini-batches of 128 episodes, each one row.
    assert plan.groups_per_update * plan.group_size / mini_batches == 128
