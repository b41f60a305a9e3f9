"""What is counted, and what it costs."""

from typing import Any

import pytest

from sampo.errors import ConfigError
from sampo.rollout.served_usage import Prices, Usage


def test_without_prices_there_is_no_cost_rather_than_a_zero() -> None:
    usage = Usage(prices=Prices())
    usage.add_reply({"prompt_tokens": 5, "completion_tokens": 2})
    assert usage.cost is None and "cost" not in usage.values()
    assert Usage(prices=Prices(prompt=0, completion=0)).cost == 0


def test_cached_tokens_cost_like_others_unless_their_price_is_given() -> None:
    counts = {
        "prompt_tokens": 1_000_000,
        "completion_tokens": 0,
        "prompt_tokens_details": {"cached_tokens": 250_000},
    }
    for prices, cost in [
        (Prices(prompt=4, completion=9), 4.0),
        (Prices(prompt=4, completion=9, cached_prompt=1), 3.25),  # 0.75 x 4 + 0.25 x 1
    ]:
        usage = Usage(prices=prices)
        usage.add_reply(counts)
        assert usage.cost == cost


@pytest.mark.parametrize("counts", [None, {}, {"prompt_tokens": "5", "completion_tokens": -1}, [1]])
def test_a_server_that_does_not_count_is_noted(counts: Any) -> None:
    usage = Usage(prices=Prices())
    assert usage.add_reply(counts) is None
    assert usage.uncounted_replies == usage.replies == 1


@pytest.mark.parametrize(
    "prices", [{"prompt": 1}, {"cached_prompt": 1}, {"prompt": 1, "completion": -1}]
)
def test_prices_that_give_no_sum(prices: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match="prices"):
        Prices(**prices)
