"""Make a nano policy from nothing: tokenizer, random weights, demonstrations, clone.

    OMP_NUM_THREADS=1 python tools/build_nano_policy.py --output runs/nano-sokoban

Reads `configs/envs/ENV.yaml` and `configs/experiments/clone_ENV.yaml`. Writes `init/` (the
untrained policy), `demonstrations.parquet` and `clone/version_N/hf` (what ships with sampo). A
seed gives the same policy on the same machine. Options `--data.env...=VALUE` change the environment
in all three steps; others that are not its own go to `sampo collect`.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from pathlib import Path

import torch
import yaml
from jsonargparse import ArgumentParser
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from sampo.envs import PromptView, TextEnv

CHAT_TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
TAGS = ("<action>", "</action>", "<think>", "</think>")
CONFIGS = Path(__file__).parents[1] / "configs"


def environment(name: str, changes: list[str]) -> TextEnv:
    """Return the environment of `configs/envs/NAME.yaml`, with options `--data.env...=VALUE`."""
    settings = yaml.safe_load((CONFIGS / "envs" / f"{name}.yaml").read_text())["data"]["env"]
    parser = ArgumentParser()
    parser.add_argument("--env", type=TextEnv)
    changed = [change.replace("--data.", "--", 1) for change in changes]
    return parser.instantiate(parser.parse_args([f"--env={json.dumps(settings)}", *changed])).env


def environment_text(env: TextEnv, episodes: int, turns: int, explore: float) -> list[str]:
    """Return messages as the policy will read and write them, without history.

    `explore` is the share of random admissible actions; the others are the expert's.
    """
    rng, coin, prompts = random.Random(0), random.Random(1), env.prompt_format
    texts: list[str] = []
    for task in env.tasks("train")[:episodes]:
        observation, info = env.reset(seed=0, options={"task": task})
        for turn in range(turns):
            action, admissible = env.expert_action(), info.get("admissible_actions")
            if admissible and (action is None or coin.random() < explore):
                action = rng.choice(admissible)
            assert action is not None, f"no expert and no admissible actions in {task}"
            view = PromptView(
                observation=observation,
                first_observation=observation,
                history=(),
                turn=turn,
                admissible_actions=admissible,
            )
            said, reply = prompts.message(view), prompts.reply(action)
            texts.append(f"user\n{said}\nassistant\n{reply}\nsystem\n")
            observation, _, terminated, truncated, info = env.step(action)
            if terminated or truncated:
                break
    return texts


def build_tokenizer(texts: list[str], vocab_size: int, digits: bool) -> PreTrainedTokenizerFast:
    """Return a byte-level BPE tokenizer of the texts; with `digits`, each digit is a token."""
    backend = Tokenizer(models.BPE())
    words = pre_tokenizers.ByteLevel(add_prefix_space=False)
    split = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), words])
    backend.pre_tokenizer = split if digits else words
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        min_frequency=2,
        special_tokens=["<|pad|>", "<|im_start|>", "<|im_end|>"],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    backend.train_from_iterator(texts, trainer)
    backend.add_tokens([AddedToken(tag, special=False, normalized=False) for tag in TAGS])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token="<|pad|>", eos_token="<|im_end|>"
    )
    tokenizer.chat_template = CHAT_TEMPLATE
    return tokenizer


def build_model(tokenizer: PreTrainedTokenizerFast, hidden: int, layers: int) -> Qwen3ForCausalLM:
    """Return a random Qwen3 of nano size."""
    pad_id, end_id = tokenizer.pad_token_id, tokenizer.eos_token_id
    assert isinstance(pad_id, int) and isinstance(end_id, int)
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=hidden,
        intermediate_size=3 * hidden,
        num_hidden_layers=layers,
        num_attention_heads=hidden // 32,
        num_key_value_heads=hidden // 64,
        head_dim=32,
        max_position_embeddings=2048,
        tie_word_embeddings=True,
        pad_token_id=pad_id,
        eos_token_id=end_id,
        bos_token_id=None,
    )
    torch.manual_seed(0)
    return Qwen3ForCausalLM(config).float()


def sampo(*args: str) -> None:
    """Run a sampo command and stop where it fails."""
    subprocess.run([sys.executable, "-m", "sampo", *args], check=True)


def main() -> None:
    """Make all parts, in order."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--env", default="sokoban_nano", help="name of configs/envs/ENV.yaml")
    parser.add_argument("--output", type=Path, default=Path("runs/nano-sokoban"))
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--vocab", type=int, default=512)
    parser.add_argument("--texts", type=int, default=1500, help="episodes the tokenizer reads")
    parser.add_argument("--text-turns", type=int, default=5, help="turns it reads of each")
    parser.add_argument("--explore", type=float, default=1.0, help="random actions in them")
    parser.add_argument("--digits", action="store_true", help="one token for each digit")
    parser.add_argument("--episodes", type=int, default=8000, help="demonstrations played")
    parser.add_argument("--noise", type=float, default=0.7, help="of the demonstrator")
    parser.add_argument("--turns", type=int, default=30, help="most turns of a demonstration")
    parser.add_argument("--seed", type=int, default=0)
    args, further = parser.parse_known_args()
    changes = [option for option in further if option.startswith("--data.env")]

    played = environment(args.env, changes)
    texts = environment_text(played, args.texts, args.text_turns, args.explore)
    tokenizer = build_tokenizer(texts, args.vocab, args.digits)
    init = args.output / "init"
    build_model(tokenizer, args.hidden, args.layers).save_pretrained(init)
    tokenizer.save_pretrained(init)
    demonstrations = str(args.output / "demonstrations.parquet")
    env = ["--config", f"envs/{args.env}", f"--seed_everything={args.seed}"]
    collect = [f"--model.policy={init}", f"--episodes={args.episodes}", f"--noise={args.noise}"]
    turns = f"--data.env.max_turns={args.turns}"
    sampo("collect", *env, *collect, turns, *further, f"--output={demonstrations}")
    paths = [f"--model.policy={init}", f"--data.demonstrations={demonstrations}"]
    logs = f"--trainer.logger.init_args.save_dir={args.output}"
    sampo("clone", *env, "--config", f"experiments/clone_{args.env}", *changes, *paths, logs)
    newest = max((args.output / "clone").glob("version_*"), key=lambda p: p.stat().st_mtime)
    print(f"The clone is in {newest / 'hf'}")


if __name__ == "__main__":
    main()
