"""Policy and reference of a module: loaded, sharded as the trainer says, and made ready."""

from __future__ import annotations

import lightning as L

from sampo.models.compilation import compile_layers
from sampo.models.packing import settle_packing
from sampo.models.policy import Policy
from sampo.models.reference import Reference
from sampo.models.sharding import Sharding, shard_as_told
from sampo.world import World


def make_policies(
    module: L.LightningModule, sharding: Sharding, *, value_head: bool
) -> tuple[Policy, Reference | None]:
    """Return the policy and its frozen copy, if there is to be one; call it in `configure_model`.

    Args:
        module: whose hyper-parameters say what is loaded.
        sharding: see `Sharding`.
        value_head: whether the policy predicts values.
    """
    policy = Policy.of(module.hparams)
    reference = Reference.of(policy) if module.hparams["reference"] else None
    if value_head:
        policy.add_value_head()
    wrapped = shard_as_told(module, policy, sharding)
    if reference is None:
        return wrapped, None
    if reference.model is None:  # the policy itself, its adapters off
        return wrapped, Reference.of(wrapped)
    frozen = shard_as_told(module, reference.model, sharding)
    return wrapped, Reference(frozen, frozen)


def make_ready(
    module: L.LightningModule, policy: Policy, reference: Reference | None, world: World
) -> None:
    """Let the reference follow the policy, which Lightning has moved; pack rows; compile.

    Collective; call it in `on_fit_start`.
    """
    if reference is not None:
        reference.follow(policy)
    with module.trainer.precision_plugin.forward_context():
        packed = settle_packing(policy, module.hparams["packing"], world)
    if packed and reference is not None:
        reference.pack(packed)
    if module.hparams["compile"]:
        compile_layers(policy)
