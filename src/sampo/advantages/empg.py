# pyright: strict
"""EMPG: confident turns count more, and turns that lead to certainty earn a bonus."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from sampo.advantages.batch import (
    BatchAdvantage,
    BatchAdvantageInputs,
    BatchAdvantageOutput,
    Requirement,
    required,
)
from sampo.advantages.turns import Turns
from sampo.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class EntropyModulation(BatchAdvantage):
    """EMPG's modulation of any group estimator's advantages by the entropy of the turns.

    With the mean token entropy `H_i` of turn `i` under the rollout policy, scaled to [0, 1] over
    the batch, and the first stage's advantage `A_i`::

        H~_i = (H_i - min H) / (max H - min H + 1e-8)
        g_i  = exp(-k H~_i) / (mean exp(-k H~) + 1e-8)
        f_i  = exp(-k_future H~_i)
        A'_i = g_i A_i + zeta f_{next turn of the episode}       no bonus on an episode's last turn
        then minus the mean of A' over the turns

    The next turn is known from the turn ids; the paper's code reads it from the wording of the
    prompt, which some prompts lack. Equal rewards do not give zeros, because of the bonus.

    References:
        Harnessing Uncertainty: Entropy-Modulated Policy Gradients for Long-Horizon LLM Agents,
        https://arxiv.org/abs/2509.09265
    """

    k: float = 1.0
    """How much faster confident turns learn; 0 leaves the scale alone."""
    k_future: float = 1.0
    """How sharply the bonus falls with the entropy of the next turn."""
    zeta: float = 0.05
    """Weight of the bonus."""

    def __post_init__(self) -> None:
        """Refuse weights that would turn the method around."""
        if not (self.k >= 0.0 and self.k_future >= 0.0 and self.zeta >= 0.0):
            raise ConfigError(
                f"EntropyModulation: k={self.k}, k_future={self.k_future} and zeta={self.zeta} "
                "must not be negative."
            )

    @property
    def requires(self) -> frozenset[Requirement]:
        """Which optional inputs must be given."""
        return frozenset({"entropy"})

    @torch.no_grad()
    def __call__(self, inputs: BatchAdvantageInputs) -> BatchAdvantageOutput:
        """Return the modulated advantages."""
        entropy = required(inputs.entropy, "entropy", "EntropyModulation")
        mask = inputs.action_mask
        turns = Turns.of(inputs)
        number = turns.number
        if len(turns) == 0:
            return BatchAdvantageOutput(advantages=torch.zeros_like(inputs.advantages))
        mean_entropy = turns.mean(entropy[mask])
        low, high = mean_entropy.min(), mean_entropy.max()
        scaled = (mean_entropy - low) / (high - low + 1e-8)
        confidence = torch.exp(-self.k * scaled)
        gain = confidence / (confidence.mean() + 1e-8)
        bonus = self.zeta * _of_next_turn(
            torch.exp(-self.k_future * scaled), _episode_of(inputs, number, len(turns))
        )
        tokens = inputs.advantages[mask].to(torch.float64) * gain[number] + bonus[number]
        tokens = tokens - turns.mean(tokens).mean()
        advantages = torch.zeros_like(inputs.advantages)
        advantages[mask] = tokens.to(advantages.dtype)
        return BatchAdvantageOutput(advantages=advantages)


def _episode_of(inputs: BatchAdvantageInputs, number: Tensor, count: int) -> Tensor:
    """Return `[count]`: the episode of each turn."""
    episodes = torch.zeros(count, dtype=torch.int64, device=number.device)
    episodes[number] = inputs.episode_ids[inputs.action_mask]
    return episodes


def _of_next_turn(values: Tensor, episodes: Tensor) -> Tensor:
    """Return each turn's value of the next turn of its episode, 0 for the last; turns by id."""
    order = torch.argsort(episodes, stable=True)
    ordered = episodes[order]
    following = torch.zeros_like(values)
    continues = ordered[1:] == ordered[:-1]
    following[order[:-1][continues]] = values[order[1:][continues]]
    return following
