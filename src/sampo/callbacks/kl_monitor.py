"""How far the policy has moved: from the reference, and within an update."""

from __future__ import annotations

from typing import Any

import lightning as L
import torch
from lightning.pytorch.utilities import rank_zero_warn
from torch import Tensor

from sampo.callbacks.latest import latest_rollout
from sampo.controls import check_objective
from sampo.errors import ConfigError
from sampo.losses import AdaptiveKL, TokenLog, kl_estimate
from sampo.module import SampoModule


class KLMonitor(L.Callback):
    """Logs the KL on action tokens: k1 and k3, by turn of the episode and by sign of the advantage.

    `kl/ref_k1` and `kl/ref_k3` measure the distance to the reference, `kl/update_k1` and
    `kl/update_k3` that of the updated policy to the one that sampled (at the last pass over the
    rollout). Each also as `.../positive`, `.../negative` (advantage) and `.../turn_00` and so on.

    Args:
        target: wanted `train/ref_kl`; the coefficient of the KL is steered to it, as
            `model.adaptive_kl` does. Null: it stays as configured.
        stop_above: the run stops when `kl/ref_k3` was above this for three updates in a row; null:
            never.
        max_turns: turns of an episode that are told apart; later ones count to the last of them.
    """

    def __init__(
        self, target: float | None = None, stop_above: float | None = None, max_turns: int = 10
    ) -> None:
        if max_turns < 1 or (stop_above is not None and stop_above <= 0.0):
            raise ConfigError(
                f"KLMonitor: max_turns={max_turns} must be at least 1 and stop_above={stop_above} "
                "above 0 or null."
            )
        self.adaptive_kl = None if target is None else AdaptiveKL(target=target)
        self.stop_above = stop_above
        self.max_turns = max_turns
        self._above = 0
        """Updates in a row above the limit."""

    def setup(self, trainer: L.Trainer, pl_module: L.LightningModule, stage: str) -> None:
        """Hand the target to the module; refuse a limit on a distance that is not measured."""
        if self.adaptive_kl is not None:
            assert isinstance(pl_module, SampoModule)
            steer_kl(pl_module, self.adaptive_kl)
        if self.stop_above is not None and not pl_module.hparams["reference"]:
            raise ConfigError(
                "KLMonitor.stop_above needs a reference; set model.reference to true."
            )

    def on_train_batch_end(
        self,
        trainer: L.Trainer,
        pl_module: L.LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
    ) -> None:
        """Log the distances of the update, and stop the run if it has gone too far."""
        assert isinstance(pl_module, SampoModule) and pl_module.last_update is not None
        places = [
            place
            for group in latest_rollout(trainer).groups
            for episode in group.episodes
            for place in range(len(episode.turns))
        ]
        values = kl_values(pl_module.last_update.last_pass(), torch.tensor(places), self.max_turns)
        for logger in pl_module.loggers:
            logger.log_metrics(values, step=pl_module.update_step)
        if self.stop_above is not None:
            self._above = self._above + 1 if values["kl/ref_k3"] > self.stop_above else 0
            if self._above >= 3:
                trainer.should_stop = True
                rank_zero_warn(
                    f"Stopped: kl/ref_k3 was above {self.stop_above} in the last three updates "
                    f"({values['kl/ref_k3']:.3g} now)."
                )

    def state_dict(self) -> dict[str, Any]:
        """Return how long it has been above the limit."""
        return {"above": self._above}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore it."""
        self._above = state_dict["above"]


def steer_kl(module: SampoModule, rule: AdaptiveKL) -> None:
    """Let a rule steer the KL's coefficient.

    Raises:
        ConfigError: the objective has no KL, or another rule steers it.
    """
    if module.adaptive_kl not in (None, rule):
        raise ConfigError("KLMonitor.target and model.adaptive_kl both steer the KL; set one.")
    reference = bool(module.hparams["reference"])
    check_objective(module.loss, module.batch_advantage, rule, reference=reference)
    module.adaptive_kl = rule


def kl_values(log: TokenLog, places: Tensor, max_turns: int) -> dict[str, float]:
    """Return mean KL per action token, in all and by kind of token.

    Args:
        log: every action token once.
        places: int64, place in its episode of every turn of the rollout.
        max_turns: later turns count to the last of so many.
    """
    place = places.to(log.turn.device)[log.turn].clamp(max=max_turns - 1)
    kinds = {"": torch.ones_like(log.kept)}
    kinds |= {"/positive": log.advantages > 0, "/negative": log.advantages < 0}
    kinds |= {f"/turn_{turn:02d}": place == turn for turn in range(max_turns)}
    ratios = {"update": log.log_ratio, "ref": log.ref_log_ratio}
    values: dict[str, float] = {}
    for name, ratio in ratios.items():
        if ratio is None:
            continue
        zero = torch.zeros_like(ratio)
        # The update's samples come from the old policy, the reference's count as the present one's.
        new, old = (zero, ratio) if name == "update" else (ratio, zero)
        for estimator in ("k1", "k3"):
            tokens = kl_estimate(new, old, estimator)
            for kind, chosen in kinds.items():
                if bool(chosen.any()):
                    values[f"kl/{name}_{estimator}{kind}"] = float(tokens[chosen].mean())
    return values
