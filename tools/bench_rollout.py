"""Rollout speed: the transformers engine against `model.generate` on each turn's whole prompt.

    OMP_NUM_THREADS=1 python tools/bench_rollout.py

Both play the same Sokoban episodes in transcript context and groups of 8, with the same random
3.7M-parameter Qwen3. A random policy solves nothing, so the episodes are made ragged: their turn
limits go round from 1 to 15, and a sixteenth of the vocabulary ends a reply. The plain loop goes
turn by turn, and its finished episodes leave between turns too. Times are CPU seconds of this
process, in which everything runs, so that a busy machine disturbs little.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import GenerationConfig, PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from sampo.episode import Completion, FinishReason
from sampo.models.policy import Policy
from sampo.rollout.agents import EngineAgent
from sampo.rollout.chat import ChatRenderer
from sampo.rollout.collector import Collector, EpisodeRequest, EpisodeSettings
from sampo.rollout.conversation import TranscriptContext
from sampo.rollout.engine import SamplingParams
from sampo.rollout.transformers_engine import TransformersEngine
from sampo.rollout.workers import EnvPool
from sampo_envs.sokoban.env import SokobanEnv
from sampo_envs.sokoban.prompt import RULES

TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
VOCABULARY = 2048
Cost = tuple[float, int, int]  # CPU seconds, turns, sampled tokens


class RaggedSokoban(SokobanEnv):
    """Sokoban whose turn limit is 1 to 15, by the seed."""

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Start a level."""
        self.max_turns = 1 + (seed or 0) % 15
        return super().reset(seed=seed, options=options)


def make_policy(env: SokobanEnv) -> tuple[Policy, ChatRenderer]:
    """Train a tokenizer on prompts and make a random model, 256 wide and 4 layers deep."""
    texts = [env.reset(options={"task": task})[0] for task in env.tasks("train")[:50]]
    special = ["<|pad|>", "<|im_start|>", "<|im_end|>"]
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(special_tokens=special, show_progress=False, vocab_size=1024)
    backend.train_from_iterator([RULES, *texts], trainer)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token=special[0], eos_token=special[2]
    )
    tokenizer.chat_template = TEMPLATE
    torch.manual_seed(0)
    shape: dict[str, Any] = {"hidden_size": 256, "intermediate_size": 768, "num_hidden_layers": 4}
    shape |= {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 64}
    model = Qwen3ForCausalLM(Qwen3Config(vocab_size=VOCABULARY, tie_word_embeddings=True, **shape))
    ends = list(range(2, VOCABULARY, 16))
    model.generation_config = GenerationConfig(eos_token_id=ends, pad_token_id=0)
    return Policy(model).eval(), ChatRenderer(tokenizer)


def with_engine(policy: Policy, settings: EpisodeSettings, tasks: list[str]) -> Cost:
    """Play with the collector."""
    engine = TransformersEngine()
    assert isinstance(settings.renderer, ChatRenderer)
    engine.bind(settings.renderer.tokenizer)
    engine.sync_weights(policy, 0)
    agent = EngineAgent(engine, SamplingParams(max_new_tokens=settings.max_new_tokens))
    requests = [EpisodeRequest(task=t, env_seed=i, sampling_seed=i) for i, t in enumerate(tasks)]
    with EnvPool(RaggedSokoban(), num_workers=0) as pool:
        start = time.process_time()
        episodes = Collector(pool, agent, settings).run(requests)
        seconds = time.process_time() - start
    turns = sum(len(episode.turns) for episode in episodes)
    return seconds, turns, sum(episode.num_action_tokens for episode in episodes)


@torch.inference_mode()
def with_generate(policy: Policy, settings: EpisodeSettings, tasks: list[str]) -> Cost:
    """Play turn by turn."""
    generate: Any = policy.model.generate
    start, turns, tokens, live = time.process_time(), 0, 0, []
    for seed, task in enumerate(tasks):
        world = RaggedSokoban()
        talk = settings.context.start(settings.renderer, settings.prompt_format)
        live.append((world, talk, world.reset(seed=seed, options={"task": task})[0]))
    while live:
        prompts = [talk.observe(seen, None).ids for _, talk, seen in live]
        width = max(map(len, prompts))
        ids = torch.tensor([(0,) * (width - len(p)) + p for p in prompts])
        mask = torch.tensor([[0] * (width - len(p)) + [1] * len(p) for p in prompts])
        output = generate(
            input_ids=ids, attention_mask=mask, do_sample=True, temperature=1.0, top_k=0, top_p=1.0,
            max_new_tokens=settings.max_new_tokens,
        )  # fmt: skip
        still = []
        for (world, talk, _), row in zip(live, output[:, width:].tolist(), strict=True):
            length = next((i + 1 for i, token in enumerate(row) if token % 16 == 2), len(row))
            stop, ids = FinishReason.STOP, tuple(row[:length])
            _, parsed = talk.act(
                Completion(token_ids=ids, logprobs=(), finish_reason=stop, policy_version=0)
            )
            seen, _, terminated, truncated, _ = world.step(parsed.action or "")
            turns, tokens = turns + 1, tokens + length
            if not (terminated or truncated):
                still.append((world, talk, seen))
        live = still
    return time.process_time() - start, turns, tokens


def main() -> None:
    """Measure both."""
    parser = argparse.ArgumentParser(description="Rollout speed, see the docstring.")
    parser.add_argument("--episodes", type=int, default=32)
    args = parser.parse_args()
    env = RaggedSokoban()
    policy, renderer = make_policy(env)
    settings = EpisodeSettings(
        renderer=renderer,
        prompt_format=env.prompt_format,
        context=TranscriptContext(),
        context_length=4096,
        max_new_tokens=24,
    )
    tasks = [env.tasks("train")[i // 8] for i in range(args.episodes)]
    rates: list[float] = []
    for name, play in (("engine", with_engine), ("generate", with_generate)):
        play(policy, settings, tasks[:2])  # warm up
        seconds, turns, tokens = play(policy, settings, tasks)
        rates.append(tokens / seconds)
        print(f"{name:>8}: {turns} turns, {tokens} tokens, {seconds:.1f} CPU s,", end=" ")
        print(f"{len(tasks) / seconds:.2f} episodes/s, {rates[-1]:.0f} tokens/s", flush=True)
    print(f"   ratio: {rates[0] / rates[1]:.1f} in tokens/s (the aim is 3)")


if __name__ == "__main__":
    main()
