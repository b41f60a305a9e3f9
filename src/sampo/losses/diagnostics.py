# pyright: strict
"""What an update did, in numbers that add up over micro-batches and ranks.

Called by `PolicyLoss` without gradient. Names are bare; whoever logs them adds a prefix
(`train/approx_kl`).
"""

from __future__ import annotations

import torch
from torch import Tensor

from sampo.losses.inputs import LossInputs, on_mask
from sampo.losses.kl import kl_estimate
from sampo.losses.metrics import Max, Mean, Metric
from sampo.losses.segments import segments
from sampo.losses.surrogates import SurrogateOutput


def loss_metrics(
    inputs: LossInputs, output: SurrogateOutput, log_ratio: Tensor
) -> dict[str, Metric]:
    """Return what one micro-batch says about the update, over its action tokens.

    `approx_kl` is the mean of log pi_old - log pi_theta (k1) over all action tokens;
    `approx_kl_kept`, only with a sequence mask, the same over the tokens that it kept, which hides
    the drift that the mask reacts to. `clip_fraction` and `clip_fraction_lower` are over kept
    tokens. `policy_loss` is the weighted mean of the surrogate; `ref_kl` is k3 and `sampling_kl`
    is k3 between the engine's and the recomputed log-probabilities.
    """
    mask = inputs.action_mask
    keep = mask if inputs.keep is None else mask & inputs.keep
    weighted = on_mask(output.loss.detach(), mask) * inputs.weights
    ratio = output.log_weight.exp()
    metrics: dict[str, Metric] = {
        "policy_loss": Mean(total=weighted.sum(), weight=inputs.weights.sum()),
        "approx_kl": Mean.over(-log_ratio, mask),
        "clip_fraction": Mean.over(output.clipped.to(ratio.dtype), keep),
        "clip_fraction_lower": Mean.over(output.clipped_lower.to(ratio.dtype), keep),
        "ratio_mean": Mean.over(ratio, keep),
        "ratio_max": Max.over(ratio, keep),
    }
    if inputs.keep is not None:
        turns = segments(inputs, "turn")
        rejected = turns.sum((~keep).to(ratio.dtype)) > 0
        metrics["approx_kl_kept"] = Mean.over(-log_ratio, keep)
        metrics["masked_turn_fraction"] = Mean.over(
            rejected.to(ratio.dtype), torch.ones_like(rejected)
        )
    if inputs.entropy is not None:
        metrics["entropy"] = Mean.over(inputs.entropy, mask)
    if inputs.ref_logprobs is not None:
        logprobs = on_mask(inputs.logprobs.detach(), mask)
        reference = on_mask(inputs.ref_logprobs, mask)
        metrics["ref_kl"] = Mean.over(kl_estimate(logprobs, reference, "k3"), mask)
    if inputs.sampling_logprobs is not None:
        sampled = on_mask(inputs.sampling_logprobs, mask)
        recomputed = on_mask(inputs.old_logprobs, mask)
        metrics["sampling_kl"] = Mean.over(kl_estimate(sampled, recomputed, "k3"), mask)
        metrics["sampling_logprob_diff_max"] = Max.over((recomputed - sampled).abs(), mask)
    return metrics


CELLS = ("negative_below", "negative_above", "positive_below", "positive_above")
"""Sign of the advantage x side of the ratio from 1. Tokens with advantage 0 are in none."""


def cell_metrics(
    inputs: LossInputs, output: SurrogateOutput, clip_range: tuple[float, float] | None
) -> dict[str, Metric]:
    """Return what happened in each cell of advantage sign x ratio side.

    The paper's early signs of collapse: out-of-range tokens pile up on the lower side (A < 0 with a
    small ratio), and the cell `negative_below` comes to hold most of the KL to the reference.

    Returns:
        For each cell `cells/NAME/token_share` of all action tokens, `cells/NAME/clip_fraction`
        within the cell and, with a reference, `cells/NAME/kl_share` of the summed k3. With
        `entropy_zscores` given, both shares also for the cell's tokens of above-average entropy, as
        `cells/NAME/high_entropy/...`. With a clip range `out_of_range_lower` (A < 0 and below it)
        and `out_of_range_upper` (A > 0 and above it), as shares of all action tokens.
    """
    mask = inputs.action_mask
    advantages = on_mask(inputs.advantages, mask)
    above = output.log_weight > 0
    positive = advantages > 0
    signed = mask & (advantages != 0)
    number = torch.where(signed, 2 * positive.long() + above.long(), 4).flatten()
    everything = mask.to(output.log_weight.dtype)
    counts = _by_cell(everything, number)
    sums: dict[str, tuple[Tensor, Tensor]] = {
        "token_share": (everything, everything.sum().expand(4)),
        "clip_fraction": (on_mask(output.clipped.to(everything.dtype), mask), counts),
    }
    if inputs.ref_logprobs is not None:
        reference = on_mask(inputs.ref_logprobs, mask)
        logprobs = on_mask(inputs.logprobs.detach(), mask)
        kl = on_mask(kl_estimate(logprobs, reference, "k3"), mask)
        sums["kl_share"] = (kl, kl.sum().expand(4))
    if inputs.entropy_zscores is not None:
        uncertain = on_mask(inputs.entropy_zscores, mask) > 0
        for name in ("token_share", "kl_share"):
            if name in sums:
                values, whole = sums[name]
                sums[f"high_entropy/{name}"] = (values * uncertain, whole)
    metrics: dict[str, Metric] = {}
    for name, (values, weights) in sums.items():
        totals = _by_cell(values, number)
        for i, cell in enumerate(CELLS):
            metrics[f"cells/{cell}/{name}"] = Mean(total=totals[i], weight=weights[i])
    if clip_range is not None:
        ratio = output.log_weight.exp()
        low = signed & ~positive & (ratio < clip_range[0])
        high = positive & mask & (ratio > clip_range[1])
        metrics["out_of_range_lower"] = Mean.over(low.to(everything.dtype), mask)
        metrics["out_of_range_upper"] = Mean.over(high.to(everything.dtype), mask)
    return metrics


def _by_cell(values: Tensor, number: Tensor) -> Tensor:
    """Return `[4]`: the sum of `values` over the tokens of each cell."""
    return values.new_zeros(5).index_add(0, number, values.flatten())[:4]
