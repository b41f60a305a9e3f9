"""The policy's weights on their way to an engine in another process, and the proof of arrival.

The weights travel as a Hugging Face folder with safetensors in shared memory: nothing is pickled,
names are those of published checkpoints, and the engine's own loader fuses and ties what it keeps
fused and tied. Whether they arrived is then asked twice: do the tensors that the engine read have
the checksums of the trainer's, and does the engine give a probe the trainer's log-probabilities?
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch
from safetensors import safe_open
from torch import Tensor, nn
from transformers import PreTrainedTokenizerBase
from transformers.utils import logging

from sampo.errors import EngineError
from sampo.models.policy import Policy

_SHARED_MEMORY = Path("/dev/shm")
_PROBE_TOKENS = 64
_LIMIT = 1e-3
_LIMIT_OF_HALF_PRECISION = 0.2
_WORDS = {8: torch.int64, 4: torch.int32, 2: torch.int16, 1: torch.uint8}


class WeightShipment:
    """A folder that a policy's weights are written into, sync after sync.

    Args:
        where: an existing folder that the engine's process can read too; None: shared memory
            where there is some, else the system's folder for temporary files.
    """

    def __init__(self, where: str | None) -> None:
        base = Path(where) if where else _SHARED_MEMORY if _SHARED_MEMORY.is_dir() else None
        if where and not Path(where).is_dir():
            raise EngineError(f"There is no folder {where} to hand weights over in; make it.")
        self._owner = tempfile.TemporaryDirectory(prefix="sampo-weights-", dir=base)
        self.folder = Path(self._owner.name)
        """Holds config and tokenizer from the first shipment on, and weights during one."""
        self.names: frozenset[str] = frozenset()
        """Of the weights, fixed by the first shipment."""

    @contextmanager
    def of(
        self, policy: Policy, tokenizer: PreTrainedTokenizerBase | None = None
    ) -> Iterator[dict[str, int]]:
        """Write the weights, and delete them at the end of the block.

        Yields:
            The checksum of each tensor, by its name in the files.

        Raises:
            EngineError: there is no room, or the weights' names are not those of the first time.
        """
        self._check_room(policy)
        with _no_progress_bar():
            policy.model.save_pretrained(self.folder)
        if tokenizer is not None:
            tokenizer.save_pretrained(self.folder)
        try:
            own = policy.model.state_dict()
            sums = {
                # A checkpoint may name a tensor otherwise than the model does; then the file's.
                name: checksum(own.get(name, tensor))
                for name, tensor in read_weights(self.folder)
            }
            self._check_names(frozenset(sums))
            yield sums
        finally:
            for file in self.folder.glob("*.safetensors"):
                file.unlink()

    def close(self) -> None:
        """Delete the folder."""
        self._owner.cleanup()

    def _check_room(self, policy: Policy) -> None:
        needed = sum(p.numel() * p.element_size() for p in policy.model.parameters())
        free = shutil.disk_usage(self.folder).free
        if needed > free:
            raise EngineError(
                f"The policy's weights take {needed / 2**30:.1f} GiB and {self.folder.parent} has "
                f"{free / 2**30:.1f} GiB left. Set the engine's transfer_folder to a folder with "
                "room, or enlarge shared memory (`docker run --shm-size`)."
            )

    def _check_names(self, names: frozenset[str]) -> None:
        if self.names and names != self.names:
            gone, new = sorted(self.names - names)[:5], sorted(names - self.names)[:5]
            raise EngineError(
                "The policy's parameters are not those that the engine was started with "
                f"(missing: {gone or 'none'}, new: {new or 'none'}). Use one engine per policy."
            )
        self.names = names


@contextmanager
def _no_progress_bar() -> Iterator[None]:
    """Keep transformers from drawing one per sync."""
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def read_weights(folder: Path) -> Iterator[tuple[str, Tensor]]:
    """Yield name and tensor of everything in a folder's safetensors files."""
    for file in sorted(folder.glob("*.safetensors")):
        with safe_open(file, framework="pt") as tensors:
            for name in tensors.keys():  # noqa: SIM118  not a mapping
                yield name, tensors.get_tensor(name)


def checksum(tensor: Tensor) -> int:
    """Return the sum of a tensor's bits, read as integers of its element's size."""
    words = tensor.detach().contiguous().view(_WORDS[tensor.element_size()])
    return int(words.sum(dtype=torch.int64))


def as_policy(policy: nn.Module) -> Policy:
    """Return the policy.

    Raises:
        EngineError: it is none.
    """
    if not isinstance(policy, Policy):
        raise EngineError(
            f"An engine samples from a sampo Policy, not {type(policy).__name__}. Wrap the model: "
            "Policy(model)."
        )
    return policy


def end_ids(policy: Policy, tokenizer: PreTrainedTokenizerBase | None) -> list[int]:
    """Return the tokens that end a reply: the model's own and the tokenizer's."""
    generation = policy.model.generation_config
    ids = None if generation is None else generation.eos_token_id
    found = set(ids if isinstance(ids, list) else [] if ids is None else [ids])
    if tokenizer is not None and isinstance(tokenizer.eos_token_id, int):
        found.add(tokenizer.eos_token_id)
    return sorted(found)


def probe(policy: Policy) -> tuple[int, ...]:
    """Return tokens from all over the vocabulary, for trainer and engine to score."""
    config = policy.model.config.get_text_config()
    count = min(_PROBE_TOKENS, config.vocab_size, config.max_position_embeddings - 1)
    return tuple(i * config.vocab_size // count for i in range(count))


def probe_logprobs(policy: Policy) -> Tensor:
    """Return the trainer's log-probabilities of the probe's tokens but the first."""
    device = policy.head_weight.device
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
    exact = engine_dtype in full and str(policy.model.dtype) in full
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
