"""The four dials in words, from whatever is in the config."""

import pytest

from sampo.resources import find_config
from sampo.view.facts import describe, read_facts


def test_the_dials_of_the_quickstart():
    facts, text, notices = read_facts(find_config("quickstart"))
    told = dict(facts)
    assert told["surrogate"] == "Clip (clip_low 0.05, clip_high 0.06)"
    assert told["ratio"] == "level turn"
    assert told["advantage"] == "GiGPO (normalise mean_std)"
    assert told["update"] == "20 groups × 8 episodes"
    assert "sequence mask" not in told
    assert text.startswith("# SAMPO on Sokoban")
    assert not notices


@pytest.mark.parametrize(
    ("text", "notice"),
    [("model: [1", "is not complete YAML"), ("- 1\n", "holds no settings"), ("", "holds no")],
)
def test_a_broken_config_is_shown_as_it_is(tmp_path, text, notice):
    path = tmp_path / "config.yaml"
    path.write_text(text)
    facts, shown, notices = read_facts(path)
    assert (facts, shown) == ([], text)
    assert notice in notices[0]


def test_no_config():
    facts, text, notices = read_facts(None)
    assert (facts, text) == ([], "")
    assert notices == ["There is no config.yaml, so the page says nothing of the settings."]


def test_nested_settings():
    nested = {"class_path": "a.AllOf", "init_args": {"inner": {"class_path": "b.Band"}, "no": None}}
    assert describe(nested) == "AllOf (inner Band)"
    assert describe(None) == ""
