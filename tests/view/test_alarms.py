"""Alarms are read line by line; a line that is none is said."""

import json

from sampo.view.alarms import read_alarms

from .conftest import ALARM


def test_in_order_of_their_step(tmp_path):
    path = tmp_path / "alarms.jsonl"
    later = {"step": 7, "rule": "entropy_below"}
    path.write_text(f"{json.dumps(later)}\n{json.dumps(ALARM)}\n")
    alarms, notices = read_alarms(path)
    assert [alarm["step"] for alarm in alarms] == [2, 7]
    assert alarms[0] == ALARM
    assert alarms[1]["threshold"] is None
    assert not notices


def test_a_half_written_line(tmp_path):
    path = tmp_path / "alarms.jsonl"
    path.write_text(f'{json.dumps(ALARM)}\n[3]\n{{"rule": "x"}}\n{json.dumps(ALARM)[:20]}')
    alarms, notices = read_alarms(path)
    assert alarms == [ALARM]
    assert notices == [
        f"Line {number} of alarms.jsonl is no alarm and is not shown." for number in (2, 3, 4)
    ]


def test_none():
    assert read_alarms(None) == ([], [])
