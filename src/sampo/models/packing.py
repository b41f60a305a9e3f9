"""Rows packed one behind the other instead of padded: decided and proven before the first update.

Packing wastes no token on padding. It pays where attention over packed rows is one kernel call,
which is on CUDA; on a CPU it depends on the rows (docs/scaling.md).
"""

from __future__ import annotations

from typing import Literal

import torch
from lightning.pytorch.utilities import rank_zero_warn

from sampo.models.packed_attention import PACKED
from sampo.models.policy import Policy
from sampo.models.sharding import compute_device
from sampo.world import World

Packing = Literal["auto"] | bool
"""`on` and `off` are YAML's words for true and false."""

_PROBES = (((61, 7, 1, 33, 18), 0), ((50, 61, 26, 33), 24))
"""Tokens of each row, and how many of them all rows begin with."""
_LIMITS = {torch.float64: 1e-6, torch.float32: 1e-4, torch.float16: 0.05, torch.bfloat16: 0.2}
"""Largest difference of two log-probabilities of one token, in nats, that rounding explains."""


def settle_packing(policy: Policy, packing: Packing, world: World) -> str | None:
    """Pack rows from now on if that is wanted and right. Collective.

    What is wanted is tried on rows of several lengths. If packed rows do not score as single ones
    do, rows are padded, and one warning says why. Call it under the autocast that scores are
    computed under.

    Args:
        policy: on its device.
        packing: `auto` is on where the policy computes on a CUDA device in half precision.
        world: all ranks pack, or none does.

    Returns:
        The attention that packed rows are computed with; None: rows are padded.
    """
    # Flash attention knows half precision only.
    flash = compute_device(policy).type == "cuda" and _dtype(policy).itemsize == 2
    if not (flash if packing == "auto" else packing):
        return None
    loaded = policy.padded_attention
    attention = loaded if loaded.startswith("flash_attention") else PACKED
    if loaded not in (attention, "sdpa"):
        found = f"model.attn_implementation {loaded} knows of no packed rows"
    else:
        found = _other_layers(policy) or _difference(policy, attention)
    problem = next((each for each in world.gather(lambda: found) if each), "")
    if not problem:
        return attention
    policy.unpack()
    rank_zero_warn(f"Rows are padded, not packed (model.packing {packing}): {problem}.")
    return None


def _other_layers(policy: Policy) -> str:
    settings = policy.model.config.get_text_config().to_dict()
    others = set(settings.get("layer_types") or ()) - {"full_attention"}
    if others or settings.get("sliding_window"):
        named = ", ".join(sorted(others)) or "sliding_window"
        return f"{type(policy.model).__name__} has other layers than full attention ({named})"
    return ""


def _difference(policy: Policy, attention: str) -> str:
    """Return how packed rows score otherwise than single ones, or an empty string."""
    training = policy.training
    policy.eval()
    gap, limit = 0.0, _LIMITS[_dtype(policy)]
    try:
        with torch.no_grad():
            for lengths, beginning in _PROBES:
                gap = max(gap, _gap(policy, attention, lengths, beginning))
    except (ImportError, TypeError, RuntimeError, ValueError) as error:
        # A kernel that is missing, of another release, or not made for this device or dtype.
        return f"packed attention does not run here ({type(error).__name__}: {error})"
    finally:
        policy.train(training)
    if gap <= limit:
        return ""
    return f"their log-probabilities differ by {gap:.2g} from those of single rows (limit {limit})"


def _gap(policy: Policy, attention: str, tokens: tuple[int, ...], beginning: int) -> float:
    """Return the largest difference of a token's log-probability, packed and by itself."""
    device, size = compute_device(policy), policy.head_weight.shape[0]
    lengths, shape = torch.tensor(tokens, device=device), (len(tokens), max(tokens))
    # From all over the vocabulary.
    ids = torch.arange(shape[0] * shape[1], device=device).reshape(shape) * 7919 % size
    ids[:, :beginning] = ids[0, :beginning]
    columns = torch.arange(shape[1], device=device)[None]
    mask = (columns > beginning) & (columns < lengths[:, None])
    policy.unpack()
    single = torch.zeros(shape, device=device)
    for row, length in enumerate(tokens):
        part = (slice(row, row + 1), slice(length))
        single[part] = policy(ids[part], lengths[row : row + 1], mask[part]).logprobs.float()
    policy.pack(attention)
    packed = policy(ids, lengths, mask).logprobs.float()
    gap = (packed - single)[mask].abs()
    return gap.max().item() if bool(gap.isfinite().all()) else float("inf")


def _dtype(policy: Policy) -> torch.dtype:
    """Return what scores are computed in."""
    kind = compute_device(policy).type
    mixed = torch.is_autocast_enabled(kind)
    return torch.get_autocast_dtype(kind) if mixed else policy.head_weight.dtype
