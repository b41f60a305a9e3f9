"""The proof that an engine computes with the trainer's weights, and with nothing else.

Two questions: do the tensors that the engine read have the checksums of the trainer's, and does the
engine give a probe the trainer's log-probabilities?
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from sampo.errors import EngineError
from sampo.models.policy import Policy
from sampo.models.sharding import compute_device, compute_dtype

_PROBE_TOKENS = 64
_LIMIT = 1e-3
_LIMIT_OF_HALF_PRECISION = 0.2
_WORDS = {8: torch.int64, 4: torch.int32, 2: torch.int16, 1: torch.uint8}


def is_due(syncs: int, every: int) -> bool:
    """Return whether weights are compared after so many syncs: the first three, then `every`."""
    return syncs < 3 or syncs % every == 0


def checksum(tensor: Tensor) -> int:
    """Return the sum of a tensor's bits, read as integers of its element's size."""
    words = tensor.detach().contiguous().view(_WORDS[tensor.element_size()])
    return int(words.sum(dtype=torch.int64))


def probe(policy: Policy) -> tuple[int, ...]:
    """Return tokens from all over the vocabulary, for trainer and engine to score."""
    config = policy.model.config.get_text_config()
    count = min(_PROBE_TOKENS, config.vocab_size, config.max_position_embeddings - 1)
    return tuple(i * config.vocab_size // count for i in range(count))


def probe_logprobs(policy: Policy) -> Tensor:
    """Return the trainer's log-probabilities of the probe's tokens but the first.

    Collective if the policy is sharded.
    """
    device = compute_device(policy)
    ids = torch.tensor([probe(policy)], device=device)
    mask = torch.ones_like(ids, dtype=torch.bool)
    mask[:, 0] = False
    lengths = torch.tensor([ids.shape[1]], device=device)
    training = policy.training
    policy.eval()
    with torch.no_grad():
        scores = policy(ids, lengths, mask, with_entropy=False).logprobs
    policy.train(training)
    return scores[0, 1:].double().cpu()


def probe_gap(trainers: Tensor, engines: Sequence[float]) -> float:
    """Return the mean absolute difference of two scores of the probe, in nats."""
    return (trainers - torch.tensor(engines, dtype=torch.float64)).abs().mean().item()


def probe_limit(policy: Policy, engine_dtype: str) -> float:
    """Return the largest gap that rounding explains.

    In half precision one logit rounds by up to 0.06 nats; a wrong matrix makes gaps of several.
    """
    full = ("torch.float32", "torch.float64")
    exact = engine_dtype in full and str(compute_dtype(policy)) in full
    return _LIMIT if exact else _LIMIT_OF_HALF_PRECISION


def check_arrival(
    version: int,
    *,
    sent: Mapping[str, int],
    received: Sequence[Mapping[str, int]],
    gap: float,
    limit: float,
    differing: Callable[[], list[str]],
    thorough: bool,
) -> None:
    """Compare the engine's weights with the trainer's.

    Args:
        version: of the sync, for the message.
        sent: checksums of the trainer's tensors.
        received: checksums of what each of the engine's workers read.
        gap: see `probe_gap`.
        limit: see `probe_limit`.
        differing: asks the engine which of the weights it does not compute with.
        thorough: whether to ask that even if all else agrees.

    Raises:
        EngineError: they differ; names the parameters.
    """
    for worker in received:
        if worker != sent:
            wrong = [name for name in sent if worker.get(name) != sent[name]]
            wrong += [name for name in worker if name not in sent]
            raise _mismatch(version, "checksums differ from those that were sent", wrong)
    if not gap <= limit:  # NaN included
        found = f"a probe's log-probabilities differ by {gap:.2g} on average (limit {limit:g})"
        raise _mismatch(version, found, differing())
    if thorough and (wrong := differing()):
        raise _mismatch(version, "it does not compute with what it was given", wrong)


def _mismatch(version: int, found: str, names: list[str]) -> EngineError:
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    named = "which parameters are at fault could not be told"
    if names:
        named = f"at fault: {', '.join(names[:8])}{more}"
    return EngineError(
        f"After sync {version} the engine's weights are not the trainer's: {found}; {named}. "
        "What it samples could not be trained on, so the run stops."
    )
