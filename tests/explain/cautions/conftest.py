"""One law for every caution."""

from collections.abc import Callable
from typing import Any

import pytest

from sampo.explain.cautions import Rule


@pytest.fixture
def check(make_run) -> Callable[[Rule, dict[str, Any], dict[str, Any]], None]:
    """Return a check that a rule speaks of one config, in sentences, and not of another."""

    def check(rule: Rule, unwise: dict[str, Any], fine: dict[str, Any]) -> None:
        caution = rule(make_run(**unwise))
        assert caution is not None
        assert all(part.endswith(".") for part in (caution.says, caution.why, caution.fix))
        assert rule(make_run(**fine)) is None

    return check
