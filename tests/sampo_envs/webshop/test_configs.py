"""The shipped configs mean what they say."""

from fit_parser import parse_fit

EXPERIMENT = ("envs/webshop", "algorithms/sampo", "experiments/webshop_qwen3_4b")


def test_the_environment_is_the_papers() -> None:
    env = parse_fit("--config=envs/webshop").data.env
    assert env.class_path == "sampo_envs.webshop.WebShopEnv"
    assert (env.init_args.data, env.init_args.max_turns) == ("made-up", 15)
    assert env.init_args.prompt_format.class_path == "sampo_envs.webshop.WebShopPrompt"


def test_the_experiment_has_the_papers_numbers() -> None:
    fit = parse_fit(*(f"--config={name}" for name in EXPERIMENT))
    model, data = fit.model, fit.data
    assert data.env.init_args.data == "fetched"
    assert data.env.init_args.split == "products"
    assert (data.groups_per_update, data.group_size, model.mini_batch_rows) == (16, 8, 128)
    assert (data.context_length, data.sampling.max_new_tokens) == (4096 + 512, 512)
    assert (data.eval_sampling.temperature, data.eval_sampling.top_p) == (0.6, 0.95)
    assert (data.max_filter_rounds, data.filter_cold_start) == (3, 5)
    surrogate = model.loss.surrogate.init_args
    assert (surrogate.clip_low, surrogate.clip_high, model.loss.kl_coef) == (0.003, 0.004, 0.01)
    assert data.advantage.init_args.normalise == "mean_std"
    assert fit.trainer.max_epochs * data.updates_per_epoch == 200


def test_the_nano_run_plays_the_shop_that_its_policy_was_cloned_in() -> None:
    run = parse_fit("--config=experiments/webshop_nano")
    clone = parse_fit("--config=envs/webshop_nano")
    assert run.model.policy == "nano-webshop"
    assert run.data.env.init_args.data == "made-up"
    for name in ("env", "context", "context_length", "eval_sampling", "evaluation"):
        assert run.data[name] == clone.data[name]
