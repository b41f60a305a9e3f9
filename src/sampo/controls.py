"""What may change in the course of a run: the hands of controllers on the objective.

The config says how a run starts; an adaptive KL coefficient or a collapse detector then turns these
three. They are part of every checkpoint.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from sampo.advantages import BatchAdvantage
from sampo.errors import ConfigError
from sampo.losses import AdaptiveKL, PolicyLoss, SequenceMask


@dataclass(kw_only=True)
class Controls:
    """Departures from the config; the defaults depart in nothing."""

    lr_scale: float = 1.0
    """Factor on every learning rate."""
    kl_coef: float | None = None
    """In place of the configured coefficient of the KL; None: that one."""
    masking: SequenceMask | None = None
    """A sequence mask where the config has none."""

    def objective(
        self, loss: PolicyLoss, stage: BatchAdvantage | None
    ) -> tuple[PolicyLoss, BatchAdvantage | None]:
        """Return loss and advantage stage as they are now.

        The coefficient goes where the config has its KL: into the reward if only there, else into
        the loss.
        """
        if self.masking is not None and loss.masking is None:
            loss = replace(loss, masking=self.masking)
        if self.kl_coef is not None:
            if kl_in_reward(loss, stage):
                stage = replace(stage, kl_coef=self.kl_coef)  # pyright: ignore[reportArgumentType]
            else:
                loss = replace(loss, kl_coef=self.kl_coef)
        return loss, stage

    def state_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore them."""
        masking = state["masking"]
        self.lr_scale, self.kl_coef = state["lr_scale"], state["kl_coef"]
        self.masking = None if masking is None else SequenceMask(**masking)


def configured_kl(loss: PolicyLoss, stage: BatchAdvantage | None) -> float:
    """Return the coefficient of the KL in the config, wherever it is; 0: there is none."""
    return loss.kl_coef or float(getattr(stage, "kl_coef", 0.0))


def kl_in_reward(loss: PolicyLoss, stage: BatchAdvantage | None) -> bool:
    """Return whether the KL is in the reward and only there."""
    return loss.kl_coef == 0.0 and configured_kl(loss, stage) > 0.0


def check_objective(
    loss: PolicyLoss,
    stage: BatchAdvantage | None,
    adaptive_kl: AdaptiveKL | None,
    *,
    reference: bool,
) -> None:
    """Refuse parts that need what the others do not give.

    Raises:
        ConfigError: says which setting to change.
    """
    requires = frozenset() if stage is None else stage.requires
    name = type(stage).__name__
    if not reference and (loss.needs_reference or "kl" in requires or adaptive_kl is not None):
        raise ConfigError(
            "The objective has a KL term but model.reference is false; set model.loss.kl_coef to 0 "
            "(and model.batch_advantage.kl_coef, model.adaptive_kl to null) or keep the reference."
        )
    if adaptive_kl is not None and configured_kl(loss, stage) == 0.0:
        raise ConfigError(
            "model.adaptive_kl scales the coefficient of the KL, which is 0; set "
            "model.loss.kl_coef to where it should start, or model.adaptive_kl to null."
        )
    if "values" in requires and loss.value is None:
        raise ConfigError(
            f"{name} needs a value head, which nothing trains; set model.loss.value to "
            "{coef: 0.5, clip: 0.2}."
        )
    if loss.value is not None and "values" not in requires:
        raise ConfigError(
            "model.loss.value trains a value head that no advantage reads; set "
            "model.batch_advantage to GAE, or model.loss.value to null."
        )
