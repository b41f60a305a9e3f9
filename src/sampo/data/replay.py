"""A demonstration in the tokens of a policy.

It is replayed through the conversation that reinforcement learning uses, with the same context
policy, prompt format and chat template: the same prompts, with the demonstrator's replies in place
of sampled ones. Pure; no environment is played.
"""

from __future__ import annotations

from dataclasses import replace

from sampo.envs import PromptFormat
from sampo.episode import Completion, Episode, FinishReason, StopReason, Turn
from sampo.errors import ConfigError
from sampo.rollout.chat import ChatRenderer
from sampo.rollout.conversation import ContextPolicy


def replay(
    episode: Episode,
    renderer: ChatRenderer,
    prompt_format: PromptFormat,
    context: ContextPolicy,
    context_length: int,
) -> Episode:
    """Return a demonstration with the tokens that the policy would see and write.

    Args:
        episode: text only, as it is read from disk.
        renderer: chat template and tokenizer of the policy.
        prompt_format: of the environment.
        context: decides what the policy sees, and so what a row is.
        context_length: most tokens of a prompt and its reply; the episode ends before the first
            turn that does not fit, and its `stop_reason` is then CONTEXT.

    Raises:
        ConfigError: a reply does not mean what it meant when it was collected.
    """
    conversation = context.start(renderer, prompt_format)
    turns: list[Turn] = []
    for turn in episode.turns:
        prompt = conversation.observe(turn.observation, turn.admissible_actions)
        ids = renderer.reply_ids(turn.reply)
        if len(prompt.ids) + len(ids) > context_length:
            return replace(episode, turns=tuple(turns), stop_reason=StopReason.CONTEXT)
        completion = Completion(
            token_ids=ids,
            logprobs=(0.0,) * len(ids),
            finish_reason=FinishReason.STOP,
            policy_version=0,
        )
        _, parsed = conversation.act(completion)
        if parsed.action != turn.action:
            raise ConfigError(
                f"A reply in the demonstration of task {episode.task!r} meant {turn.action!r} when "
                f"it was collected, but the present prompt format reads it as {parsed.action!r}: "
                f"{turn.reply!r}. Use the prompt format that the demonstrations were collected "
                "with, or collect them again."
            )
        turns.append(
            replace(
                turn,
                starts_row=prompt.starts_row,
                prompt_ids=prompt.new_ids,
                action_ids=ids,
                sampling_logprobs=completion.logprobs,
            )
        )
    return replace(episode, turns=tuple(turns))
