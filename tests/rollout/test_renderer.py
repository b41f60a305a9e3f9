"""Conversations without tokens."""

import pytest

from sampo.envs.tags import TagPrompt
from sampo.episode import Completion, FinishReason
from sampo.errors import EngineError
from sampo.rollout.conversation import TranscriptContext, WindowContext
from sampo.rollout.renderer import MessageRenderer

PROMPT = TagPrompt(current="{observation}", instruction="", history_intro="", history_item="")


def said(text: str | None) -> Completion:
    return Completion(
        token_ids=(), logprobs=(), finish_reason=FinishReason.STOP, policy_version=0, text=text
    )


def test_a_transcript_is_one_row_of_messages_and_no_ids() -> None:
    chat = MessageRenderer("Be brief.")
    talk = TranscriptContext().start(chat, PROMPT)
    first = talk.observe("a door", None)
    assert (first.ids, first.new_ids, first.starts_row) == ((), (), True)
    text, parsed = talk.act(said("<think>x</think><action>open</action>"))
    assert text.startswith("<think>") and parsed.action == "open"
    assert talk.observe("a room", None).starts_row is False
    assert chat.with_system(talk.messages) == (
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "a door"},
        {"role": "assistant", "content": "<think>x</think><action>open</action>"},
        {"role": "user", "content": "a room"},
    )


def test_a_window_starts_afresh_each_turn() -> None:
    chat = MessageRenderer(None)
    talk = WindowContext(history=0).start(chat, PROMPT)
    talk.observe("a door", None)
    talk.act(said("<action>open</action>"))
    assert talk.observe("a room", None).starts_row is True
    assert chat.with_system(talk.messages) == ({"role": "user", "content": "a room"},)


def test_an_engine_that_forgets_the_text_is_found_out() -> None:
    with pytest.raises(EngineError, match="without its text"):
        MessageRenderer(None).reply_text(said(None))
