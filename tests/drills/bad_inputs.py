"""A hundred bad configs, data files and checkpoints, and what the sentence about each must say.

A case is a name, the arguments of the command line, and words that the sentence has to hold: what
was wrong, where, and what to do. In the arguments, `{quick}` stands for a small complete run,
`{clone}` for a cloning, `{save}` for a folder to write to, and any other `{name}` for a file that
`bad_files` makes.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """One bad input."""

    name: str
    args: str
    """Separated by spaces."""
    words: tuple[str, ...]
    """Must all be in the sentence."""


def case(name: str, args: str, *words: str) -> Case:
    """Return a case."""
    return Case(name, args, words)


FIT = "fit {quick} "

COMMANDS = [
    case("no-subcommand", "", "subcommand", "fit"),
    case("unknown-subcommand", "fitt", "'fitt'", "Did you mean 'fit'?"),
    case("stray-word", FIT + "faster", "faster"),
    case("option-without-value", FIT + "--model.learning_rate", "model.learning_rate"),
    case("unknown-option", FIT + "--model.learning_rat 1", "'model.learning_rate'"),
    case("unknown-trainer-option", FIT + "--trainer.max_epoch 1", "'trainer.max_epochs'"),
    case("collect-without-output", "collect {quick}", "--output"),
    case("collect-unknown-source", "collect {quick} --output {save}/x.parquet --source exprt",
         "'exprt'", "'expert'"),
    case("collect-nothing", "collect {quick} --output {save}/x.parquet --episodes 0", "at least 1"),
    case("collect-into-a-folder", "collect {quick} --output {save}", "{save}"),
    case("evaluate-unknown-split", "evaluate {quick} --split tset", "'tset'", "'test'"),
    case("export-without-checkpoint", "export {quick} --output {save}/hf", "--ckpt_path"),
    case("export-onto-a-file", "export {quick} --ckpt_path {good_ckpt} --output {text}", "{text}"),
    case("view-missing-run", "view {save}/nowhere --open false", "nowhere"),
    case("view-empty-folder", "view {empty_folder} --open false", "{empty_folder}"),
    case("view-a-file", "view {text} --open false", "{text}"),
    case("view-unknown-option", "view {save} --opne false", "--opne"),
    case("arena-unknown-grid", "arena --config papr", "'papr'"),
    case("arena-no-grid", "arena --config {text}", "{text}"),
    case("arena-unknown-key", "arena --config {bad_grid}", "sedes"),
]  # fmt: skip

CONFIG_FILES = [
    case("config-unknown-name", "fit --config quikstart", "'quikstart'", "'quickstart'"),
    case("config-missing-file", "fit --config {save}/none.yaml", "none.yaml"),
    case("config-folder", "fit --config {empty_folder}", "{empty_folder}"),
    case("config-list", FIT + "--config {list_yaml}", "list.yaml"),
    case("config-scalar", FIT + "--config {scalar_yaml}", "scalar.yaml"),
    case("config-broken", FIT + "--config {broken_yaml}", "broken.yaml"),
    case("config-tabs", FIT + "--config {tabs_yaml}", "tabs.yaml"),
    case("config-binary", FIT + "--config {binary_yaml}", "UTF-8", "binary.yaml"),
    case("config-unknown-section", FIT + "--config {modle_yaml}", "modle", "'model.learning_rate'"),
    case("config-unknown-setting", FIT + "--config {sise_yaml}", "group_sise", "data.group_size"),
    case("config-unknown-class-setting", FIT + "--config {env_sise_yaml}", "'lenght'", "'length'"),
    case("config-unknown-class", FIT + "--config {class_yaml}", "Corridr", "'Corridor'"),
    case("config-class-of-another-kind", FIT + "--config {kind_yaml}", "GRPO", "Clip"),
    case("config-null-section", FIT + "--config {null_yaml}", "null", "model.loss"),
    case("config-linked", FIT + "--config {linked_yaml}", "data.tokenizer", "model.policy"),
    case("config-text-for-number", FIT + "--config {text_yaml}", "group_size", "'many'"),
    case("config-of-cloning", FIT + "--config experiments/clone_sokoban_nano", "demonstrations"),
]  # fmt: skip

VALUES = [
    case("number-negative-lr", FIT + "--model.learning_rate -1", "learning_rate", "-1"),
    case("number-nan-lr", FIT + "--model.learning_rate nan", "learning_rate", "nan"),
    case("number-words", FIT + "--data.group_size many", "group_size", "'many'"),
    case("number-zero-groups", FIT + "--data.groups_per_update 0", "groups_per_update", "at least"),
    case("number-zero-size", FIT + "--data.group_size 0", "group_size", "at least"),
    case("number-zero-epochs", FIT + "--model.epochs 0", "epochs", "at least"),
    case("number-betas-one", FIT + "--model.betas [0.9]", "betas"),
    case("number-betas-high", FIT + "--model.betas [0.9,1.5]", "betas", "1.5"),
    case("number-clip", FIT + "--model.loss.surrogate.clip_low -0.1", "clip_low", "-0.1"),
    case("number-grad-norm", FIT + "--model.max_grad_norm 0", "max_grad_norm"),
    case("number-tokens", FIT + "--model.micro_batch_tokens 0", "micro_batch_tokens"),
    case("number-warmup", FIT + "--model.warmup_updates -3", "warmup_updates", "-3"),
    case("number-temperature", FIT + "--data.sampling.temperature -1", "temperature", "-1"),
    case("number-greedy-training", FIT + "--data.sampling.temperature 0", "temperature"),
    case("number-top-p", FIT + "--data.sampling.top_p 0.5", "top_p"),
    case("number-reply", FIT + "--data.sampling.max_new_tokens 0", "max_new_tokens", "at least 1"),
    case("number-workers", FIT + "--data.workers.num_workers -1", "num_workers", "-1"),
    case("number-timeout", FIT + "--data.workers.step_timeout_s 0", "step_timeout_s"),
    case("number-every-n", FIT + "--config {every_n_yaml}", "every_n_updates", "at least 1"),
    case("number-stale", FIT + "--data.max_staleness 2", "max_staleness", "2"),
    case("choice-schedule", FIT + "--model.lr_schedule cosin", "'cosin'", "'cosine'"),
    case("choice-level", FIT + "--model.loss.ratio.level tokn", "'tokn'", "'token'"),
    case("choice-dtype", FIT + "--model.dtype float12", "'float12'", "float16"),
    case("choice-attention", FIT + "--model.attn_implementation flsh", "flsh"),
    case("class-engine", FIT + "--data.engine TransformerEngine", "'TransformersEngine'"),
    case("class-filter", FIT + "--data.group_filter GiGPO", "GiGPO", "SpreadFilter"),
    case("class-in-a-list", FIT + '--data.episode_filters=[{"class_path":"RejectVoidTurn"}]',
         "RejectVoidTurn"),
    case("class-callback", FIT + "--trainer.callbacks+=Checkpoint", "Checkpoint"),
    case("class-import-fails", FIT + "--data.env needs_more.Env", "a_package_that_is_not_there"),
    case("class-init-fails", FIT + "--data.env broken_init.Env", "broken_init.py:4", "KeyError"),
    case("class-setting-out-of-range", FIT + "--data.env.length 1", "length", "at least 3"),
    case("both-batch-sizes", FIT + "--model.num_mini_batches 2 --model.mini_batch_rows 3",
         "num_mini_batches", "mini_batch_rows"),
    case("kl-controller-without-kl", FIT + "--model.adaptive_kl AdaptiveKL "
         "--model.adaptive_kl.target 0.1 --model.loss.kl_coef 0", "kl_coef"),
    case("kl-without-reference", FIT + "--model.reference false --model.loss.kl_coef 0.1",
         "reference"),
    case("precision-unknown", FIT + "--trainer.precision 12", "precision"),
    case("accelerator-unknown", FIT + "--trainer.accelerator gpuu", "gpuu"),
    case("devices-negative", FIT + "--trainer.accelerator cpu --trainer.devices -5", "devices"),
    case("strategy-unknown", FIT + "--trainer.strategy fsdb", "fsdb"),
    case("seed-words", FIT + "--seed_everything lucky", "seed_everything: expected", "lucky"),
    case("context-too-short", FIT + "--data.context_length 3", "context_length", "Raise"),
    case("monitor-unknown", FIT + "--config {monitor_yaml}", "'eval/succes'", "eval/success_rate"),
    case("output-in-a-file", FIT + "--trainer.logger.init_args.save_dir {text}/runs", "{text}"),
    case("env-without-tasks", FIT + "--data.env no_tasks.Env", "task"),
    case("env-always-fails", FIT + "--data.env fails.Env", "no simulator here"),
    case("env-fails-in-worker", FIT + "--data.env fails.Env --data.workers.num_workers 1",
         "no simulator here"),
    case("env-without-prompt", FIT + "--data.env mute.Env", "prompt_format"),
    case("served-nothing-named", "fit {quick} --engine openai", "model"),
]  # fmt: skip

POLICIES = [
    case("policy-unknown-name", FIT + "--model.policy nano-sokobn", "'nano-sokoban'"),
    case("policy-empty-folder", FIT + "--model.policy {empty_folder}", "{empty_folder}"),
    case("policy-damaged-weights", FIT + "--model.policy {damaged_policy}", "damaged_policy"),
    case("policy-broken-config", FIT + "--model.policy {broken_policy}", "broken_policy"),
    case("policy-without-tokenizer", FIT + "--model.policy {mute_policy}", "tokenizer"),
    case("policy-without-template", FIT + "--model.policy {plain_policy}", "chat_template"),
    case("policy-of-pickles", FIT + "--model.policy {pickled_policy}", "safetensors"),
    case("policy-unknown-model", FIT + "--model.policy {alien_policy}", "alien"),
]  # fmt: skip

DATA = [
    case("clone-missing", "clone {clone} --data.demonstrations {save}/none.parquet",
         "none.parquet", "sampo collect"),
    case("clone-text", "clone {clone} --data.demonstrations {text}", "Parquet"),
    case("clone-cut", "clone {clone} --data.demonstrations {cut_parquet}", "cut.parquet"),
    case("clone-folder", "clone {clone} --data.demonstrations {empty_folder}", "{empty_folder}"),
    case("clone-other-columns", "clone {clone} --data.demonstrations {other_parquet}",
         "sampo collect"),
    case("clone-unknown-setting", "clone {clone} --model.learning_rat 1", "'model.learning_rate'"),
    case("clone-setting-of-fit", "clone {clone} --data.group_size 3", "group_size"),
    case("webshop-missing", FIT + "--data.env sampo_envs.webshop.WebShopEnv "
         "--data.env.data {save}/none", "none"),
    case("webshop-empty", FIT + "--data.env sampo_envs.webshop.WebShopEnv "
         "--data.env.data {empty_folder}", "{empty_folder}"),
    case("alfworld-missing", FIT + "--data.env sampo_envs.alfworld.AlfworldEnv "
         "--data.env.data {save}/none", "none"),
    case("alfworld-empty", FIT + "--data.env sampo_envs.alfworld.AlfworldEnv "
         "--data.env.data {empty_folder}", "{empty_folder}"),
]  # fmt: skip

CHECKPOINTS = [
    case("ckpt-missing", FIT + "--ckpt_path {save}/none.ckpt", "none.ckpt"),
    case("ckpt-none-yet", FIT + "--trainer.logger.init_args.save_dir {fresh} --ckpt_path last",
         "no checkpoint", "{fresh}"),
    case("ckpt-folder", FIT + "--ckpt_path {empty_folder}", "folder"),
    case("ckpt-empty", FIT + "--ckpt_path {empty_ckpt}", "empty.ckpt"),
    case("ckpt-text", FIT + "--ckpt_path {text}", "{text}"),
    case("ckpt-cut", FIT + "--ckpt_path {cut_ckpt}", "cut.ckpt", "damaged"),
    case("ckpt-flipped", FIT + "--ckpt_path {flipped_ckpt}", "flipped.ckpt", "damaged"),
    case("ckpt-zip", FIT + "--ckpt_path {zip_ckpt}", "zip.ckpt", "damaged"),
    case("ckpt-bomb", FIT + "--ckpt_path {bomb_ckpt}", "bomb.ckpt", "execute code"),
    case("ckpt-of-others", FIT + "--ckpt_path {other_ckpt}", "other.ckpt", "sampo fit"),
    case("ckpt-a-list", FIT + "--ckpt_path {list_ckpt}", "list.ckpt"),
    case("ckpt-no-counters", FIT + "--ckpt_path {no_counters_ckpt}", "no_counters.ckpt"),
    case("ckpt-no-optimizer", FIT + "--ckpt_path {no_optimizer_ckpt}", "no_optimizer.ckpt"),
    case("ckpt-no-cursor", FIT + "--ckpt_path {no_cursor_ckpt}", "no_cursor.ckpt"),
    case("ckpt-no-weight", FIT + "--ckpt_path {no_weight_ckpt}", "no_weight.ckpt", "model.policy"),
    case("ckpt-other-shape", FIT + "--ckpt_path {wide_ckpt}", "wide.ckpt", "model.policy"),
    case("ckpt-weights-only", FIT + "--ckpt_path {weights_ckpt}", "weights.ckpt"),
    case("ckpt-evaluate-cut", "evaluate {quick} --ckpt_path {cut_ckpt}", "cut.ckpt", "damaged"),
    case("ckpt-evaluate-shape", "evaluate {quick} --ckpt_path {wide_ckpt}", "wide.ckpt"),
    case("ckpt-validate-shape", "validate {quick} --ckpt_path {wide_ckpt}", "wide.ckpt"),
    case("ckpt-export-cut", "export {quick} --ckpt_path {cut_ckpt} --output {save}/hf", "cut.ckpt"),
    case("ckpt-export-shape", "export {quick} --ckpt_path {wide_ckpt} --output {save}/hf",
         "wide.ckpt"),
]  # fmt: skip

CASES = [*COMMANDS, *CONFIG_FILES, *VALUES, *POLICIES, *DATA, *CHECKPOINTS]
