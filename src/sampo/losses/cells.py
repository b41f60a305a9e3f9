# pyright: strict
"""Who moves, and where to: an update by sign of the advantage, side of the ratio, and entropy.

The paper's early signs of collapse are here: out-of-range tokens pile up on the lower side (A < 0
with a small ratio), and the cell `negative_below` comes to hold most of the KL to the reference.
Computed once per update from its `TokenLog`. Names are bare; whoever logs them adds a prefix.
"""

from __future__ import annotations

import torch
from torch import Tensor

from sampo.losses.token_log import TokenLog

CELLS = ("negative_below", "negative_above", "positive_below", "positive_above")
"""Sign of the advantage x side of the ratio from 1. Tokens with advantage 0 are in none; a ratio
of exactly 1 counts as below."""
QUANTILES = {"ratio_p05": 0.05, "ratio_p50": 0.5, "ratio_p95": 0.95}


def token_metrics(log: TokenLog, clip_range: tuple[float, float] | None) -> dict[str, float]:
    """Return what an update did to its tokens.

    Args:
        log: the action tokens, of all passes over the rollout.
        clip_range: least and largest ratio that count as in range; None: there is no such range.

    Returns:
        For each cell `cells/NAME/token_share` of all action tokens, `clip_fraction` within the
        cell, quantiles of the ratio, and with a reference `kl_share` of the summed k3. With
        entropies the same for the tokens above the median entropy and for the others, as
        `cells_high_entropy/...` and `cells_low_entropy/...`; the shares are still of everything.
        With a clip range `out_of_range_lower` (A < 0 and below it) and `out_of_range_upper`
        (A > 0 and above it), as shares of all action tokens. `effective_sample_size` is that of
        the importance weights that were used, as a share of the number of tokens.
    """
    if len(log) == 0:
        return {}
    numbers = _cell_numbers(log)
    metrics = _cells("cells", log, numbers, torch.ones_like(log.kept))
    if log.entropy is not None:
        high = log.entropy > log.entropy.median()
        metrics |= _cells("cells_high_entropy", log, numbers, high)
        metrics |= _cells("cells_low_entropy", log, numbers, ~high)
    if clip_range is not None:
        ratio = log.in_range.exp()
        low = (log.advantages < 0) & (ratio < clip_range[0])
        high = (log.advantages > 0) & (ratio > clip_range[1])
        metrics["out_of_range_lower"] = float(low.double().mean())
        metrics["out_of_range_upper"] = float(high.double().mean())
    metrics["effective_sample_size"] = effective_sample_size(log.log_weight)
    return metrics


def effective_sample_size(log_weights: Tensor) -> float:
    """Return `(sum w)^2 / (n sum w^2)`: 1 for equal weights, 1/n if one weighs everything."""
    shifted = (log_weights - log_weights.max()).double().exp()
    return float(shifted.sum().square() / (len(shifted) * shifted.square().sum()))


def _cell_numbers(log: TokenLog) -> Tensor:
    """Return int64 `[N]`: place in `CELLS`, 4 for tokens that are in none."""
    positive, above = log.advantages > 0, log.log_weight > 0
    return torch.where(log.advantages != 0, 2 * positive.long() + above.long(), 4)


def _cells(prefix: str, log: TokenLog, numbers: Tensor, chosen: Tensor) -> dict[str, float]:
    """Return the metrics of the four cells over the chosen tokens."""
    metrics: dict[str, float] = {}
    ref_kl = log.ref_kl
    all_kl = None if ref_kl is None else float(ref_kl.double().sum())
    for number, cell in enumerate(CELLS):
        inside = chosen & (numbers == number)
        count = int(inside.sum())
        name = f"{prefix}/{cell}"
        metrics[f"{name}/token_share"] = count / len(log)
        clipped = int((inside & (log.clipped | log.clipped_lower)).sum())
        metrics[f"{name}/clip_fraction"] = clipped / max(count, 1)
        if ref_kl is not None and all_kl is not None:
            kl = float(ref_kl[inside].double().sum())
            metrics[f"{name}/kl_share"] = kl / all_kl if all_kl > 0.0 else 0.0
        if count:
            weights = log.log_weight[inside].sort().values
            for quantile, share in QUANTILES.items():
                place = round(share * (count - 1))
                metrics[f"{name}/{quantile}"] = float(weights[place].exp())
    return metrics
