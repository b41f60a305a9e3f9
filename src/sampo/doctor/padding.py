"""Does a row score the same in whatever company it is scored?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from sampo.batch import RolloutBatch
from sampo.doctor.check import Check, CheckResult
from sampo.doctor.gap import Gap, tolerance
from sampo.doctor.inputs import DoctorInputs
from sampo.doctor.loading import PolicyLoads, TokenizerLoads
from sampo.doctor.probe import probe_batch


@dataclass(frozen=True, kw_only=True)
class PaddedEqualsSingle(Check):
    """Log-probabilities of rows alone, padded together, reordered and split are the same.

    They differ where padding is seen, positions are counted from the wrong end, rows leak into
    each other, or the model is random (dropout).
    """

    name: ClassVar[str] = "padded = single"
    fix: ClassVar[str] = (
        "Set the model's dropout to 0 in its config.json and try --model.attn_implementation "
        "sdpa or eager; an architecture that sees padding cannot be trained here."
    )
    needs: ClassVar[tuple[type[Check], ...]] = (TokenizerLoads, PolicyLoads)

    def __call__(self, inputs: DoctorInputs) -> CheckResult:
        """Score the same rows in four ways."""
        batch = probe_batch(inputs)
        rows = torch.arange(len(batch))
        alone = _scored(inputs, batch, list(rows.split(1)))
        ways = {
            "padded together": _scored(inputs, batch, [rows]),
            "reversed, in twos": _scored(inputs, batch, list(rows.flip(0).split(2))),
            "padded with another token": _scored(inputs, _repadded(batch), [rows]),
        }
        limit = tolerance(inputs.dtype)
        gaps = {way: Gap.between(alone, scores, batch.action_mask) for way, scores in ways.items()}
        for way, gap in gaps.items():
            if not gap.within(limit):
                return self.failed(f"{way}, rows score otherwise than alone: {gap.describe(limit)}")
        worst = max(gaps.values(), key=lambda gap: gap.max_diff)
        return self.ok(f"{len(batch)} rows, {len(ways)} ways: {worst.describe(limit)}")


def _scored(inputs: DoctorInputs, batch: RolloutBatch, parts: Sequence[Tensor]) -> Tensor:
    """Return the log-probabilities `[B, L]` of all rows, scored part by part (row indices)."""
    scores = torch.zeros_like(batch.advantages)
    for rows in parts:
        part = batch.select(rows)
        scores[rows, : part.token_ids.shape[1]] = inputs.logprobs(inputs.policy, part)
    return scores


def _repadded(batch: RolloutBatch) -> RolloutBatch:
    """Return the batch with the first row's second token in place of the pad token."""
    columns = torch.arange(batch.token_ids.shape[1])
    padding = columns >= batch.lengths[:, None]
    return replace(
        batch, token_ids=batch.token_ids.masked_fill(padding, int(batch.token_ids[0, 1]))
    )
