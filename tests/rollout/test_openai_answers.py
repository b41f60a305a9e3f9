"""Refusals in the forms that servers really use."""

import json

import pytest

from sampo.rollout.openai_answers import read_refusal


@pytest.mark.parametrize(
    ("text", "message", "code"),
    [
        ('{"error": {"message": "no\\n such", "code": "absent"}}', "no such.", "absent"),
        ('{"error": {"message": "bad!", "code": null, "type": "invalid"}}', "bad!", "invalid"),
        ('{"object": "error", "message": "old vLLM.", "code": 400}', "old vLLM.", "400"),
        ('{"detail": "Server is pinned"}', "Server is pinned.", ""),
        ('{"error": "model not loaded"}', "model not loaded.", ""),
        ("<h1>Bad gateway</h1>", "<h1>Bad gateway</h1>.", ""),
        ("[1, 2]", "[1, 2].", ""),
        ("", "no reason given.", ""),
        (json.dumps({"error": {"message": "x" * 1000}}), f"{'x' * 300}...", ""),
    ],
)
def test_every_form_of_refusal_becomes_one_sentence(text: str, message: str, code: str) -> None:
    refusal = read_refusal(400, text)
    assert (refusal.message, refusal.code) == (message, code)


@pytest.mark.parametrize(
    "text",
    [
        '{"error": {"message": "too many tokens", "code": "context_length_exceeded"}}',
        '{"error": {"message": "This model\'s maximum context length is 4096 tokens."}}',
        '{"error": {"message": "request exceeds the available context size"}}',
    ],
)
def test_a_full_context_is_known_by_its_words(text: str) -> None:
    assert read_refusal(400, text).is_of_length
    assert not read_refusal(400, '{"error": {"message": "temperature must be 1"}}').is_of_length
