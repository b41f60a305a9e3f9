"""Token-exact conversations: what is prompt, what is action, and where rows begin."""

import pytest

from sampo.envs import PromptFormat, PromptView
from sampo.envs.prompt import ParsedAction
from sampo.episode import Completion, FinishReason
from sampo.errors import PolicyError
from sampo.rollout.chat import ChatRenderer
from sampo.rollout.conversation import Conversation, TranscriptContext, WindowContext
from tiny import FORGETFUL_TEMPLATE, tiny_tokenizer


class Plain(PromptFormat):
    """Shows history as `o>a`, reads the whole reply as the action."""

    def message(self, view: PromptView) -> str:
        past = " ".join(f"{o}>{a}" for o, a in view.history)
        return f"[{past}] {view.observation}"

    def followup(self, view: PromptView) -> str:
        return view.observation

    def parse(self, reply: str, admissible_actions: object) -> ParsedAction:
        return ParsedAction(action=reply or None, format_valid=True, valid=True)

    def reply(self, action: str) -> str:
        return action


def renderer(template: str | None = None) -> ChatRenderer:
    return ChatRenderer(tiny_tokenizer(template) if template else tiny_tokenizer())


def completion(chat: ChatRenderer, text: str, *, closed: bool = True) -> Completion:
    ids = chat.reply_ids(text)
    ids = ids if closed else ids[:-1]
    return Completion(
        token_ids=ids,
        logprobs=(0.0,) * len(ids),
        finish_reason=FinishReason.STOP if closed else FinishReason.LENGTH,
        policy_version=0,
    )


def start(context: WindowContext | TranscriptContext, chat: ChatRenderer) -> Conversation:
    return context.start(chat, Plain())


def decode(chat: ChatRenderer, ids: tuple[int, ...]) -> str:
    return chat.tokenizer.decode(list(ids))


def test_window_prompts_are_fresh_and_show_the_last_turns_only() -> None:
    chat = renderer()
    talk = start(WindowContext(history=1), chat)
    for number, reply in enumerate(["up", "down", "left"]):
        prompt = talk.observe(f"o{number}", None)
        assert prompt.starts_row and prompt.ids == prompt.new_ids
        talk.act(completion(chat, reply))
    prompt = talk.observe("o3", None)
    assert decode(chat, prompt.ids) == (
        "<|im_start|>user\n[o2>left] o3<|im_end|>\n<|im_start|>assistant\n"
    )


def test_transcript_appends_around_the_sampled_tokens() -> None:
    """<user> o0 <assistant> | up <end> | newline <user> o1 <assistant>."""
    chat = renderer()
    talk = start(TranscriptContext(), chat)
    first = talk.observe("o0", None)
    reply = completion(chat, "up")
    talk.act(reply)
    second = talk.observe("o1", None)
    assert first.starts_row and not second.starts_row
    assert second.ids == first.ids + reply.token_ids + second.new_ids
    assert decode(chat, second.new_ids) == (
        "\n<|im_start|>user\no1<|im_end|>\n<|im_start|>assistant\n"
    )
    whole = chat.tokenizer.apply_chat_template(
        [
            {"role": "user", "content": "[] o0"},
            {"role": "assistant", "content": "up"},
            {"role": "user", "content": "o1"},
        ],
        add_generation_prompt=True,
        tokenize=False,
    )
    assert decode(chat, second.ids) == whole


def test_a_reply_that_was_cut_off_is_closed_by_framing() -> None:
    chat = renderer()
    talk = start(TranscriptContext(), chat)
    talk.observe("o0", None)
    reply = completion(chat, "up", closed=False)
    talk.act(reply)
    second = talk.observe("o1", None)
    assert decode(chat, second.new_ids).startswith("<|im_end|>\n<|im_start|>user")
    assert chat.end_id not in reply.token_ids and second.new_ids[0] == chat.end_id


def test_sampled_ids_are_kept_even_where_the_text_encodes_otherwise() -> None:
    """The policy may spell a text in other tokens than the tokenizer would."""
    chat = renderer()
    canonical = chat.reply_ids("left")[:-1]
    spelled = tuple(token for letter in "left" for token in chat.tokenizer(letter)["input_ids"])
    assert spelled != canonical and chat.text(spelled) == chat.text(canonical)
    talk = start(TranscriptContext(), chat)
    first = talk.observe("o0", None)
    ids = (*spelled, chat.end_id)
    talk.act(
        Completion(
            token_ids=ids,
            logprobs=(0.0,) * len(ids),
            finish_reason=FinishReason.STOP,
            policy_version=0,
        )
    )
    second = talk.observe("o1", None)
    assert second.ids[len(first.ids) : len(first.ids) + len(ids)] == ids


def test_a_template_that_rewrites_history_starts_a_new_row() -> None:
    chat = renderer(FORGETFUL_TEMPLATE)
    assert chat.keeps_prefix and not chat.keeps_thoughts
    talk = start(TranscriptContext(), chat)
    talk.observe("o0", None)
    talk.act(completion(chat, "up"))
    assert not talk.observe("o1", None).starts_row
    talk.act(completion(chat, "<think>why</think>down"))
    broken = talk.observe("o2", None)
    assert broken.starts_row and broken.ids == broken.new_ids
    assert "why" not in decode(chat, broken.ids) and "down" in decode(chat, broken.ids)


def test_append_only_template_keeps_thoughts() -> None:
    chat = renderer()
    assert chat.keeps_prefix and chat.keeps_thoughts


def test_a_template_without_replies_is_refused() -> None:
    with pytest.raises(PolicyError, match="loses the assistant's replies"):
        renderer("{% for m in messages %}{{ m['content'] if m['role'] == 'user' }}{% endfor %}")


def test_system_message_opens_every_row() -> None:
    chat = ChatRenderer(tiny_tokenizer(), system="Be brief.")
    ids = chat.opening([{"role": "user", "content": "x"}])
    assert decode(chat, ids).startswith("<|im_start|>system\nBe brief.<|im_end|>")
    assert "Be brief." not in decode(chat, chat.continuation("y", closed=True))
