"""Equal prompts are fed once; passes are bounded."""

from sampo.rollout.prefill import share_prompts, split_by_tokens
from sampo.rollout.slot_table import Row


def test_equal_prompts_have_one_leader():
    rows = [
        Row(most_tokens=99, ids=list(ids))
        for ids in ((1, 2, 3), (4,), (1, 2, 3), (1, 2), (1, 2, 3))
    ]
    leaders, followers = share_prompts(rows)
    assert leaders == [rows[1], rows[3], rows[0]]
    assert followers == [(rows[2], rows[0]), (rows[4], rows[0])]


def test_resumed_rows_are_fed_themselves():
    rows = [Row(most_tokens=99, ids=[1, 2, 3]), Row(most_tokens=99, ids=[1, 2, 3], cached=2)]
    assert share_prompts(rows) == ([rows[1], rows[0]], [])


def test_runs_count_padding():
    """New tokens 1, 1, 3, 3, 9 with a budget of 6: 2 x 1, then 2 x 3, then one too large."""
    rows = [Row(most_tokens=99, ids=[0] * n) for n in (1, 1, 3, 3, 9)]
    parts = list(split_by_tokens(rows, 6))
    assert [[len(row.ids) for row in part] for part in parts] == [[1, 1], [3, 3], [9]]


def test_cached_tokens_are_not_counted():
    rows = [Row(most_tokens=99, ids=[0] * 50, cached=49) for _ in range(4)]
    assert [len(part) for part in split_by_tokens(rows, 3)] == [3, 1]
