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
    tokens. `policy_loss` is the weighted mean of the surrogate; `ref_kl` is k3. `sampling_kl` (k3),
    `sampling_kl_k1`, `sampling_logprob_diff` (mean distance), its largest `_max`, and
    `sampling_ratio_off` (share of tokens with a ratio outside 0.9 to 1.1) compare the engine's
    log-probabilities with the trainer's.
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
        trainers = inputs.recomputed_logprobs
        recomputed = on_mask(inputs.old_logprobs if trainers is None else trainers, mask)
        distance, ratio = (recomputed - sampled).abs(), (recomputed - sampled).exp()
        off = (ratio < 0.9) | (ratio > 1.1)
        metrics["sampling_kl"] = Mean.over(kl_estimate(sampled, recomputed, "k3"), mask)
        metrics["sampling_kl_k1"] = Mean.over(kl_estimate(sampled, recomputed, "k1"), mask)
        metrics["sampling_logprob_diff"] = Mean.over(distance, mask)
        metrics["sampling_logprob_diff_max"] = Max.over(distance, mask)
        metrics["sampling_ratio_off"] = Mean.over(off.to(ratio.dtype), mask)
    if inputs.values is not None and inputs.returns is not None:
        error = on_mask(inputs.values.detach(), mask) - on_mask(inputs.returns, mask)
        metrics["value_error"] = Mean.over(error.square(), mask)
    return metrics
