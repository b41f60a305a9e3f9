"""Every curve is drawn once, related ones together."""

from sampo.view.charts import REST, draw
from sampo.view.curves import Curve


def curve(*steps: int) -> Curve:
    return Curve(steps=steps, values=tuple(float(step) for step in steps))


def test_related_curves_share_a_chart():
    charts, _ = draw({"eval/success_rate": curve(0, 2), "rollout/success_rate": curve(1, 2)})
    assert [(c.section, c.title, c.series) for c in charts] == [
        (
            "Outcome",
            "Success rate",
            {"rollout/success_rate": "rollouts", "eval/success_rate": "held-out"},
        )
    ]


def test_a_star_takes_what_is_there_and_names_it():
    charts, _ = draw({"eval/success_rate/pick_two": curve(0), "eval/success_rate/look": curve(0)})
    (chart,) = charts
    assert chart.title == "Held-out success by task type"
    assert chart.series == {
        "eval/success_rate/look": "look",
        "eval/success_rate/pick_two": "pick two",
    }


def test_an_unknown_curve_has_a_chart_of_its_own():
    charts, _ = draw({"mine/loss": curve(1), "train/entropy": curve(1)})
    assert [(c.section, c.title) for c in charts] == [("Stability", "Entropy"), (REST, "mine/loss")]


def test_a_count_that_was_not_logged_is_zero():
    curves = {"rollout/episodes": curve(1, 2, 3), "rollout/dropped_all_failed": curve(2)}
    _, completed = draw(curves)
    assert completed["rollout/dropped_all_failed"] == Curve(steps=(1, 2, 3), values=(0.0, 2.0, 0.0))
    assert curves["rollout/dropped_all_failed"] == curve(2)


def test_phases_share_a_chart_and_rates_do_not_join_them():
    names = ("rollout_s", "update_s", "score_s", "sampled_tokens_per_s", "episodes_per_s")
    charts, _ = draw({f"time/{name}": curve(1) for name in names})
    drawn = {c.title: list(c.series.values()) for c in charts}
    assert drawn == {
        "Seconds per update": ["rollout", "update", "score"],
        "Tokens per second": ["sampled"],
        "Episodes per second": ["episodes"],
    }
