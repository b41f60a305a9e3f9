"""What a checkpoint says of the run that wrote it."""

from sampo.callbacks.run_facts import differing_versions, versions


def test_the_same_versions_are_no_news() -> None:
    assert set(versions()) == {"sampo", "torch", "lightning", "transformers", "python"}
    assert not differing_versions(versions())


def test_other_versions_are_told_with_both_numbers() -> None:
    then = {**versions(), "torch": "1.0"}
    assert differing_versions(then) == f"torch 1.0 (now {versions()['torch']})"
