"""Transcripts under templates that keep history, and under others."""

from pathlib import Path

import pytest

from doctor.conftest import MakeInputs
from doctor.sick_worlds import corridor
from sampo.doctor.chat_template import ChatTemplate
from sampo.doctor.check import Status
from sampo.envs import Corridor, TagPrompt
from sampo.rollout.conversation import TranscriptContext
from tiny import CHAT_TEMPLATE, FORGETFUL_TEMPLATE, tiny_model, tiny_tokenizer

SHOUTING = CHAT_TEMPLATE.replace(
    "{{ m['content'] }}", "{{ m['content'] + ('!' if m['role'] == 'assistant' else '') }}"
)
COUNTING = CHAT_TEMPLATE.replace("{% for m", "{{ messages|length }}{% for m")


def policy_with(template: str, folder: Path) -> str:
    tiny_model().save_pretrained(folder)
    tokenizer = tiny_tokenizer(template)
    tokenizer.save_pretrained(folder)
    return str(folder)


def test_a_window_has_no_prefix(make_inputs: MakeInputs) -> None:
    result = ChatTemplate()(make_inputs(load=False, env=corridor()))
    assert result.status is Status.SKIPPED and "fresh prompt" in result.detail


def test_a_template_that_keeps_history(make_inputs: MakeInputs) -> None:
    inputs = make_inputs(load=False, env=corridor(), context=TranscriptContext())
    result = ChatTemplate()(inputs)
    assert result.status is Status.OK and "blocks: kept" in result.detail


@pytest.mark.parametrize("template", [SHOUTING, COUNTING])
def test_templates_that_rewrite_history(
    make_inputs: MakeInputs, tmp_path: Path, template: str
) -> None:
    source = policy_with(template, tmp_path / "policy")
    inputs = make_inputs(load=False, source=source, env=corridor(), context=TranscriptContext())
    result = ChatTemplate()(inputs)
    assert result.status is Status.FAILED and result.detail.startswith("turn 1")
    assert "WindowContext" in result.fix


@pytest.mark.parametrize(
    ("think", "status"), [("required", Status.FAILED), ("forbidden", Status.OK)]
)
def test_forgotten_thoughts_matter_where_replies_have_them(
    make_inputs: MakeInputs, tmp_path: Path, think: str, status: Status
) -> None:
    source = policy_with(FORGETFUL_TEMPLATE, tmp_path / "policy")
    env = Corridor(prompt_format=TagPrompt(think=think))
    inputs = make_inputs(load=False, source=source, env=env, context=TranscriptContext())
    result = ChatTemplate()(inputs)
    assert result.status is status
    assert status is Status.FAILED or "dropped" in result.detail
