"""Confirmation, hysteresis, stages and state on series with known answers."""

import json
import math

import pytest

from sampo.collapse import Above, CollapseMonitor, Drop, NonFinite, Stage, default_rules
from sampo.errors import ConfigError


def monitor(*rules, **settings) -> CollapseMonitor:
    return CollapseMonitor(rules=rules or (Above(signal="x", threshold=1.0, window=1),), **settings)


def feed(watch: CollapseMonitor, values, signal="x", start=1) -> list[int]:
    """Return the updates at which there was an alarm."""
    return [step for step, v in enumerate(values, start=start) if watch.update(step, {signal: v})]


def test_an_alarm_needs_confirmation_and_comes_once():
    watch = monitor()
    assert feed(watch, [0, 2, 0, 2, 2, 2, 2]) == [5]
    assert watch.stage is Stage.WARNING
    assert watch.onset == 4


def test_it_holds_until_it_was_clearly_better_for_long():
    watch = monitor(release=3)
    feed(watch, [2, 2])
    feed(watch, [0.9, 0.9, 0.9, 0.9])  # better, but not clearly
    assert watch.stage is Stage.WARNING
    feed(watch, [0.5, 0.5, 2.0, 0.5, 0.5])
    assert watch.stage is Stage.WARNING
    feed(watch, [0.5])
    assert watch.stage is Stage.HEALTHY
    assert feed(watch, [2, 2], start=20) == [21]


def test_the_worst_rule_gives_the_stage_and_agreeing_warnings_raise_it():
    rules = [Above(signal=name, threshold=1.0, window=1, confirm=1) for name in "abc"]
    watch = monitor(
        *rules, Above(signal="d", threshold=1.0, window=1, confirm=1, stage="collapsed")
    )
    watch.update(1, {"a": 2.0, "b": 2.0})
    assert watch.stage is Stage.WARNING
    (alarm,) = watch.update(2, {"a": 2.0, "b": 2.0, "c": 3.0})
    assert watch.stage is Stage.COLLAPSING
    assert (alarm.rule, alarm.value, alarm.threshold) == ("c:above:warning", 3.0, 1.0)
    assert alarm.stage == "collapsing" and "c: 3 is above 1" in alarm.message
    watch.update(3, {"d": 2.0})
    assert watch.stage is Stage.COLLAPSED


def test_two_rules_on_one_signal_do_not_agree_with_each_other():
    watch = monitor(
        Above(signal="a", threshold=1.0, window=1, confirm=1),
        Drop(signal="a", share=0.1, window=1, confirm=1),
        agreeing=2,
    )
    watch.update(1, {"a": 9.0})
    watch.update(2, {"a": 2.0})
    assert watch.stage is Stage.WARNING


def test_what_is_not_finite_is_seen_at_once_and_spoils_no_median():
    watch = monitor(NonFinite(signal="x"), Above(signal="x", threshold=1.0, window=2))
    assert feed(watch, [0.5, math.nan]) == [2]
    assert watch.stage is Stage.COLLAPSING
    assert watch.history["x"] == [0.5]


def test_signals_that_are_not_logged_are_not_judged():
    watch = monitor()
    assert watch.update(1, {"y": 100.0}) == []
    assert watch.stage is Stage.HEALTHY


def test_state_goes_through_json_and_continues_exactly():
    values = [0.1, 2, 0.3, 2, 2, 0.5, 0.5, 0.5, 2, 2]
    whole = monitor()
    expected = feed(whole, values)
    for cut in range(1, len(values)):
        first, second = monitor(), monitor()
        alarms = feed(first, values[:cut])
        second.load_state_dict(json.loads(json.dumps(first.state_dict())))
        assert alarms + feed(second, values[cut:], start=cut + 1) == expected


def test_a_restart_forgets_the_trouble_and_not_the_best():
    watch = monitor(Drop(signal="x", share=0.5, window=1, confirm=1))
    feed(watch, [0.8, 0.8, 0.2, 0.2])
    assert watch.stage is Stage.WARNING
    watch.forget_since(2)
    watch.restart()
    assert watch.stage is Stage.HEALTHY and watch.history["x"] == [0.8, 0.8]
    assert feed(watch, [0.7, 0.3], start=5) == [6]


def test_two_rules_of_one_name_are_refused():
    with pytest.raises(ConfigError, match="x:above:warning"):
        monitor(Above(signal="x", threshold=1.0), Above(signal="x", threshold=2.0))


def test_default_rules_are_quiet_on_steady_signals():
    watch = CollapseMonitor(rules=default_rules())
    signals = {
        "rollout/success_rate": 0.6,
        "rollout/valid_action_rate": 0.98,
        "rollout/valid_format_rate": 0.99,
        "train/ref_kl": 0.05,
        "train/approx_kl": 0.01,
        "train/grad_norm": 1.0,
        "train/entropy": 0.3,
        "train/policy_loss": -0.01,
        "train/effective_sample_size": 0.98,
    }
    for step in range(1, 60):
        noise = 1.0 + 0.05 * math.sin(7.0 * step)
        assert watch.update(step, {name: value * noise for name, value in signals.items()}) == []
