"""What the parser says of plain values, and what a user is told instead."""

from sampo.cli_values import explain_plain_value, explain_union

UNION = (
    "Does not validate against any of the Union subtypes\nSubtypes: [{}]\nErrors:\n  - {}\n"
    "Given value type: <class 'str'>\nGiven value: {}"
)


def test_one_of_several_words() -> None:
    text = "Expected a typing.Literal['token', 'turn']. Got value: tokn"
    assert explain_plain_value(text) == "'tokn' is none of token, turn. Did you mean 'token'?"


def test_a_type() -> None:
    text = "Expected a <class 'int'>. Got value: None"
    assert explain_plain_value(text) == "expected int, got null."


def test_words_or_null() -> None:
    kinds = "typing.Literal['bf16-mixed', '32-true'], <class 'NoneType'>"
    reasons = (
        "Expected a typing.Literal['bf16-mixed', '32-true']\n  - Expected a <class 'NoneType'>"
    )
    assert explain_union(UNION.format(kinds, reasons, "bf16-mixd")) == (
        "'bf16-mixd' is none of bf16-mixed, 32-true, null. Did you mean 'bf16-mixed'?"
    )


def test_a_number_or_null() -> None:
    kinds = "<class 'int'>, <class 'NoneType'>"
    reasons = "Expected a <class 'int'>\n  - Expected a <class 'NoneType'>"
    sentence = "expected int or null, got 'lucky'."
    assert explain_union(UNION.format(kinds, reasons, "lucky")) == sentence


def test_what_a_class_says_of_its_settings_comes_first() -> None:
    kinds = "<class 'sampo.callbacks.Checkpoints'>, <class 'NoneType'>"
    reasons = "n must be at least 1, got 0.\n  - Expected a <class 'NoneType'>"
    given = "Namespace(class_path='sampo.callbacks.Checkpoints')"
    assert explain_union(UNION.format(kinds, reasons, given)) == "n must be at least 1, got 0."
    plain = UNION.format(kinds, reasons, "Namespace(n=0)")
    assert explain_union(plain) == "(n=0) does not fit: n must be at least 1, got 0."


def test_other_texts() -> None:
    assert explain_union("something else") is None
    assert explain_plain_value("something else") == "something else"
