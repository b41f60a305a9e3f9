"""Do prompts and replies fit into the context, and the context into the model?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sampo.doctor.check import Check, CheckResult
from sampo.doctor.equal_starts import EqualStarts
from sampo.doctor.inputs import DoctorInputs
from sampo.doctor.loading import PolicyLoads, TokenizerLoads
from sampo.doctor.worlds import first_replies


@dataclass(frozen=True, kw_only=True)
class Lengths(Check):
    """The model knows every position and token; a first prompt leaves room for a whole reply."""

    name: ClassVar[str] = "lengths"
    fix: ClassVar[str] = "Set data.context_length and max_new_tokens so that they fit."
    needs: ClassVar[tuple[type[Check], ...]] = (TokenizerLoads, PolicyLoads, EqualStarts)
    tasks: int = 8
    """Tasks whose first prompts are measured."""

    def __call__(self, inputs: DoctorInputs) -> CheckResult:
        """Compare the settings with the model and with real prompts."""
        data, model = inputs.data, inputs.policy.model
        context = data.player.context_length
        positions = getattr(model.config.get_text_config(), "max_position_embeddings", None)
        if positions is not None and context > positions:
            return self.failed(
                f"data.context_length is {context}, but the model has {positions} positions",
                f"Set --data.context_length {positions} or less.",
            )
        known, embedded = len(data.renderer.tokenizer), len(inputs.policy.head_weight)
        if known > embedded:
            return self.failed(
                f"the tokenizer has {known} tokens, but the model knows {embedded}",
                "Use the tokenizer that belongs to the model, or resize its embeddings.",
            )
        prompt = max(self._first_prompts(inputs))
        for name, params in (
            ("sampling", data.sampling),
            ("eval_sampling", data.player.eval_sampling),
        ):
            if prompt + params.max_new_tokens > context:
                return self.failed(
                    f"a first prompt takes {prompt} tokens and data.{name}.max_new_tokens is "
                    f"{params.max_new_tokens}, more than data.context_length {context}",
                    f"Set --data.context_length {prompt + params.max_new_tokens} or more, or "
                    f"--data.{name}.max_new_tokens {max(context - prompt, 1)} or less.",
                )
        return self.ok(
            f"first prompts take up to {prompt} tokens, replies {data.sampling.max_new_tokens}, of "
            f"context_length {context}; the model has {positions or 'any number of'} positions"
        )

    def _first_prompts(self, inputs: DoctorInputs) -> list[int]:
        """Return the lengths of the first prompts of a few tasks, in tokens."""
        player = inputs.data.player
        with inputs.pool(num_workers=1) as pool:
            shown = first_replies(pool, inputs.requests(self.tasks))
        conversations = [player.context.start(player.renderer, player.prompt_format) for _ in shown]
        return [
            len(conversation.observe(reply.observation, reply.admissible_actions).ids)
            for conversation, reply in zip(conversations, shown, strict=True)
        ]
