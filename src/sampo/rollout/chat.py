"""Messages into token ids, through the tokenizer's own chat template.

The only place that knows chat templates. Everything is encoded once, as it is added: a whole
conversation is never rendered again, because neither decoding and re-encoding nor a template's
treatment of history (Qwen3's drops old `<think>` blocks) gives back the ids that were sampled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast

from sampo.episode import Completion
from sampo.errors import PolicyError
from sampo.rollout.renderer import Message, Renderer

_CACHED = 8192
"""Most texts whose ids are remembered: the members of a group see the same first prompts, and
rendering and encoding were measured at half the time of a rollout of a nano policy."""
_REPLY = "REPLY7f3a"
"""Stands for a reply in the conversations that are rendered to learn the template's framing."""
_THOUGHTFUL_REPLY = f"<think>\nwhy\n</think>\n\n{_REPLY}"


class ChatRenderer(Renderer):
    """Renders user messages as the token ids that a policy is given.

    Args:
        tokenizer: a tokenizer with a chat template and an end-of-sequence token.
        system: text of a system message that opens every row, or None for the template's default.
        template_kwargs: further variables of the template, e.g. `{"enable_thinking": False}`.

    Raises:
        PolicyError: the tokenizer has no chat template or no end-of-sequence token, or its
            template loses replies.
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        *,
        system: str | None = None,
        template_kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        if tokenizer.chat_template is None or tokenizer.eos_token_id is None:
            raise PolicyError(
                f"The tokenizer of {tokenizer.name_or_path!r} has no chat template or no "
                "end-of-sequence token. Use an instruct checkpoint, or set both on the tokenizer."
            )
        super().__init__(system)
        self.tokenizer = tokenizer
        self._template_kwargs = dict(template_kwargs or {})
        assert isinstance(tokenizer.eos_token_id, int)  # a list only for several tokens
        self.end_id = tokenizer.eos_token_id
        self._end_text = str(tokenizer.eos_token)
        self._encode = lru_cache(_CACHED)(self._encode_text)
        self._opening = lru_cache(_CACHED)(self._render_opening)
        self._text = lru_cache(_CACHED)(self._decode)
        self.keeps_prefix = self._replies_survive(_REPLY)
        """Whether the template renders old replies as they were written."""
        self.keeps_thoughts = self._replies_survive(_THOUGHTFUL_REPLY)
        """Whether it also keeps a `<think>` block of an old reply."""

    def opening(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """Return the ids of a fresh prompt that ends where the policy begins to write."""
        return self._opening(tuple((m["role"], m["content"]) for m in messages))

    def continuation(self, message: str, *, closed: bool) -> tuple[int, ...]:
        """Return the ids between one reply and the next.

        Args:
            message: the user message in between.
            closed: whether the reply before ended with the end-of-sequence token. If not (it was
                cut off), the closing token is added here, as framing that is not trained on.
        """
        text = self._render(
            [
                {"role": "user", "content": "x"},
                {"role": "assistant", "content": _REPLY},
                {"role": "user", "content": message},
            ],
            generate=True,
        )
        _, _, tail = text.partition(_REPLY)
        if closed:
            tail = tail.removeprefix(self._end_text)
        return self._encode(tail)

    def keeps(self, reply: str) -> bool:
        """Return whether a transcript may go on after this reply without breaking its prefix."""
        return self.keeps_thoughts if "</think>" in reply else self.keeps_prefix

    def is_closed(self, completion: Completion) -> bool:
        """Return whether a reply ended with the end-of-sequence token."""
        return completion.token_ids[-1:] == (self.end_id,)

    def reply_text(self, completion: Completion) -> str:
        """Return the sampled ids as text without special tokens."""
        return self.text(completion.token_ids)

    def reply_ids(self, text: str) -> tuple[int, ...]:
        """Return the ids of a demonstrated reply, with its end-of-sequence token."""
        return (*self._encode(text), self.end_id)

    def text(self, ids: Sequence[int]) -> str:
        """Return sampled ids as text without special tokens: a view, never encoded again."""
        return self._text(tuple(ids))

    def _render(self, messages: Sequence[Message], *, generate: bool) -> str:
        rendered = self.tokenizer.apply_chat_template(
            [dict(message) for message in self.with_system(messages)],
            add_generation_prompt=generate,
            tokenize=False,
            **self._template_kwargs,
        )
        assert isinstance(rendered, str)
        return rendered

    def _render_opening(self, messages: tuple[tuple[str, str], ...]) -> tuple[int, ...]:
        rendered = self._render(
            [{"role": role, "content": content} for role, content in messages], generate=True
        )
        return self._encode(rendered)

    def _encode_text(self, text: str) -> tuple[int, ...]:
        if isinstance(self.tokenizer, PreTrainedTokenizerFast):  # ten times less overhead
            backend = self.tokenizer.backend_tokenizer
            return tuple(backend.encode(text, add_special_tokens=False).ids)
        return tuple(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def _decode(self, ids: tuple[int, ...]) -> str:
        text = self.tokenizer.decode(list(ids), skip_special_tokens=True)
        assert isinstance(text, str)  # a list only for a batch
        return text

    def _replies_survive(self, reply: str) -> bool:
        first: list[Message] = [{"role": "user", "content": "x"}]
        later: list[Message] = [
            *first,
            {"role": "assistant", "content": reply},
            {"role": "user", "content": "y"},
        ]
        whole = self._render(later, generate=True)
        if _REPLY not in whole:
            raise PolicyError(
                f"The chat template of {self.tokenizer.name_or_path!r} loses the assistant's "
                "replies, so episodes cannot be written with it. Set another chat template."
            )
        return whole.startswith(self._render(first, generate=True) + reply)
