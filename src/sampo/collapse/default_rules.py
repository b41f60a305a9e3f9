# pyright: strict
"""The rules that are used where the config names none.

Rates, shares and nats mean the same for any policy; everything else is compared with the run's own
past. Thresholds were chosen on runs of seeds that take no part in the figures of docs/collapse.md.
"""

from __future__ import annotations

from sampo.collapse.rules import Above, Below, Drop, Jump, NonFinite, Rule, Slope


def default_rules() -> list[Rule]:
    """Return the rules over the signals that every run logs."""
    return [
        # What is wanted.
        Drop(signal="rollout/success_rate", share=0.35, window=8),
        Drop(signal="rollout/success_rate", share=0.5, window=8, stage="collapsed"),
        # The form goes before success does.
        Drop(signal="rollout/valid_action_rate", share=0.15),
        Drop(signal="rollout/valid_action_rate", share=0.4, stage="collapsing"),
        Drop(signal="rollout/valid_format_rate", share=0.15),
        Drop(signal="rollout/valid_format_rate", share=0.4, stage="collapsing"),
        # How far the policy has gone.
        Jump(signal="train/ref_kl", factor=4.0, floor=0.3),
        Above(signal="train/ref_kl", threshold=1.5, stage="collapsing"),
        Slope(signal="train/ref_kl", per_update=0.05),
        Above(signal="train/approx_kl", threshold=0.1),
        # One update that moves the policy many times further than those before it is no noise: such
        # runs recover a few times, and then do not.
        Jump(
            signal="train/approx_kl",
            factor=4.0,
            floor=0.05,
            window=1,
            confirm=1,
            stage="collapsing",
        ),
        Jump(signal="train/grad_norm", factor=4.0),
        Jump(signal="train/entropy", factor=2.5, floor=0.3),
        Slope(signal="train/entropy", per_update=0.03),
        Jump(signal="train/entropy", factor=0.1, stage="collapsing", floor=0.02),
        # The paper's early signs: bad sequences that are driven out of range.
        Jump(signal="train/out_of_range_lower", factor=4.0, floor=0.15),
        Jump(signal="train/out_of_range_upper", factor=4.0, floor=0.15),
        Above(signal="train/cells/negative_below/kl_share", threshold=0.85, window=5),
        Above(signal="train/cells/negative_below/token_share", threshold=0.8, window=5),
        Below(signal="train/effective_sample_size", threshold=0.3, window=1, confirm=1),
        # How replies and groups degenerate.
        Above(signal="rollout/truncated_reply_rate", threshold=0.5),
        Jump(signal="rollout/reply_length_share", factor=1.4, floor=0.6),
        Above(signal="rollout/repetition_rate", threshold=0.5),
        Above(signal="rollout/zero_spread_groups", threshold=0.9, window=5),
        NonFinite(signal="train/policy_loss"),
        NonFinite(signal="train/grad_norm"),
    ]
