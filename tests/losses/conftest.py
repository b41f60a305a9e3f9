"""Builders of small micro-batches, shared by the tests of the losses."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from sampo.losses import EntropyMoments, LossInputs, PolicyLoss
from sampo.losses.segments import HasSegments

# Annex A of the specification: four rows (turns) of at most four tokens.
OLD = [[-1, -0.5, -2, -0.1], [-0.7, -1.2, -0.3, 0], [-2, -1, 0, 0], [-0.4, -0.6, -0.8, -1.5]]
LOG_RATIO = [
    [0.30, -0.10, 0.05, -0.40],
    [-0.50, -0.60, 0.10, 0],
    [1.50, -0.20, 0, 0],
    [0.002, -0.004, 0.001, -0.003],
]
MASK = [[1, 1, 1, 1], [1, 1, 1, 0], [1, 1, 0, 0], [1, 1, 1, 1]]
ROW_ADVANTAGES = [1.2, -0.8, -1.5, 0.5]


def row_ids(mask: Tensor) -> Tensor:
    """Number the rows on action tokens: one turn per row, as in a window context."""
    rows = torch.arange(mask.shape[0])[:, None].expand(mask.shape)
    return torch.where(mask, rows, torch.full_like(rows, -1))


@pytest.fixture
def golden() -> LossInputs:
    """The micro-batch of Annex A, in double precision, without weights yet."""
    mask = torch.tensor(MASK, dtype=torch.bool)
    old = torch.tensor(OLD, dtype=torch.float64)
    logprobs = (old + torch.tensor(LOG_RATIO, dtype=torch.float64)).requires_grad_()
    advantages = torch.tensor(ROW_ADVANTAGES, dtype=torch.float64)[:, None].expand(4, 4) * mask
    return LossInputs(
        logprobs=logprobs,
        old_logprobs=old,
        advantages=advantages,
        action_mask=mask,
        turn_ids=row_ids(mask),
        episode_ids=row_ids(mask),
        weights=torch.zeros_like(old),
    )


@pytest.fixture(scope="session")
def planned() -> Callable[[PolicyLoss, LossInputs], LossInputs]:
    """Give inputs the weights of a whole mini-batch."""

    def plan(loss: PolicyLoss, inputs: LossInputs) -> LossInputs:
        parts = loss.plan(
            inputs,
            log_ratio=(inputs.logprobs - inputs.old_logprobs).detach(),
            advantages=inputs.advantages,
        )
        return replace(
            inputs,
            weights=parts.surrogate.normalised(),
            regulariser_weights=parts.regulariser.normalised(),
            keep=parts.keep if loss.masking is not None else None,
        )

    return plan


@pytest.fixture(scope="session")
def random_inputs() -> Callable[..., LossInputs]:
    """Build rows of several turns with observation tokens between them, in double precision."""

    def build(seed: int, *, rows: int = 5, width: int = 12, spread: float = 0.3) -> LossInputs:
        generator = torch.Generator().manual_seed(seed)
        shape = (rows, width)

        def noise() -> Tensor:
            return torch.randn(shape, generator=generator, dtype=torch.float64)

        turn_in_row = torch.arange(width)[None].expand(shape) // 4
        mask = torch.rand(shape, generator=generator) < 0.7
        turns = torch.arange(rows)[:, None] * 100 + turn_in_row
        episodes = (torch.arange(rows) // 2)[:, None].expand(shape)
        off = torch.full(shape, -1)
        old = -noise().abs() - 0.1
        entropy = noise().abs()
        per_turn = torch.randn(rows * 100 + width, generator=generator, dtype=torch.float64)
        return LossInputs(
            logprobs=(old + spread * noise()).requires_grad_(),
            old_logprobs=old,
            advantages=per_turn[turns] * mask,
            action_mask=mask,
            turn_ids=torch.where(mask, turns, off),
            episode_ids=torch.where(mask, episodes, off),
            weights=torch.zeros(shape, dtype=torch.float64),
            ref_logprobs=old + 0.2 * noise(),
            entropy=entropy.requires_grad_(),
            entropy_zscores=EntropyMoments.of(entropy, mask).zscores(entropy, mask),
        )

    return build


@pytest.fixture(scope="session")
def batch_of() -> Callable[..., HasSegments]:
    """Build masks and ids from turn ids (-1 off the mask) and, optionally, episode ids."""

    def build(turns: list[list[int]], episodes: list[list[int]] | None = None) -> HasSegments:
        turn_ids = torch.tensor(turns)
        return LossInputs(
            logprobs=torch.zeros(turn_ids.shape),
            old_logprobs=torch.zeros(turn_ids.shape),
            advantages=torch.zeros(turn_ids.shape),
            action_mask=turn_ids >= 0,
            turn_ids=turn_ids,
            episode_ids=turn_ids if episodes is None else torch.tensor(episodes),
            weights=torch.zeros(turn_ids.shape),
        )

    return build
