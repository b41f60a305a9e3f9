"""The policy's weights on their way to an engine in another process.

They travel as a Hugging Face folder with safetensors in shared memory: nothing is pickled, names
are those of published checkpoints, and the engine's own loader fuses and ties what it keeps fused
and tied. Sharded weights are gathered and written layer by layer. Whether they arrived is the
business of `weight_proof`.
"""

from __future__ import annotations

import json
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from safetensors import safe_open
from torch import Tensor, nn
from transformers import PreTrainedTokenizerBase
from transformers.utils import SAFE_WEIGHTS_INDEX_NAME, logging

from sampo.errors import EngineError
from sampo.models.policy import Policy
from sampo.models.publishing import published_weights, write_model
from sampo.models.sharding import is_sharded, plain
from sampo.models.whole_weights import num_bytes, state_pieces
from sampo.rollout.weight_proof import checksum
from sampo.world import World

_SHARED_MEMORY = Path("/dev/shm")


class WeightShipment:
    """A folder that a policy's weights are written into, sync after sync.

    Of several ranks the first one on each machine writes, and those beside it read the same files.
    Everything is collective.

    Args:
        where: an existing folder that the engine's process can read too; None: shared memory
            where there is some, else the system's folder for temporary files.
        world: the ranks of the run.
    """

    def __init__(self, where: str | None, world: World = World()) -> None:  # noqa: B008  frozen
        base = Path(where) if where else _SHARED_MEMORY if _SHARED_MEMORY.is_dir() else None
        if where and not Path(where).is_dir():
            raise EngineError(f"There is no folder {where} to hand weights over in; make it.")
        self._world = world
        hosts = world.gather(socket.gethostname)
        self._writer = hosts.index(hosts[world.rank])
        """The rank that writes for this one."""
        self._owner = None
        if self._writes:
            self._owner = tempfile.TemporaryDirectory(prefix="sampo-weights-", dir=base)
        names = world.gather(lambda: "" if self._owner is None else self._owner.name)
        self.folder = Path(names[self._writer])
        """Holds config and tokenizer from the first shipment on, and weights during one."""
        self.names: frozenset[str] = frozenset()
        """Of the weights, fixed by the first shipment."""
        self._files: dict[str, str] = {}
        """Of each tensor written in a piece, the file."""

    @contextmanager
    def of(
        self, policy: Policy, tokenizer: PreTrainedTokenizerBase | None = None
    ) -> Iterator[dict[str, int]]:
        """Write the weights, and delete them at the end of the block.

        Of several ranks the last thing in the block has to be collective: then all have read them.

        Yields:
            The checksum of each tensor, by its name in the files.

        Raises:
            EngineError: there is no room, or the weights' names are not those of the first time.
        """
        sums: dict[str, int] = {}
        failure: Exception | None = None
        for number, piece in enumerate(state_pieces(policy) if is_sharded(policy) else [None]):
            if self._writes and failure is None:
                try:
                    sums |= self._write(policy, number, piece)
                except Exception as error:  # noqa: BLE001  raised below, when no rank gathers
                    failure = error

        def written() -> dict[str, int]:
            if failure is not None:
                raise failure
            if self._files:
                self._write_index()
            if self._writes and tokenizer is not None:
                tokenizer.save_pretrained(self.folder)
            return sums

        try:
            sums = self._world.gather(written)[self._writer]
            self._check_names(frozenset(sums))
            yield sums
        finally:
            if self._writes:
                for file in self.folder.glob("*.safetensors"):
                    file.unlink()

    def close(self) -> None:
        """Delete the folder."""
        if self._owner is not None:
            self._owner.cleanup()

    @property
    def _writes(self) -> bool:
        return self._writer == self._world.rank

    def _write(
        self, policy: Policy, number: int, piece: dict[str, Tensor] | None
    ) -> dict[str, int]:
        """Write a piece of the state dict, or all of it (None); return its checksums."""
        if number == 0:
            self._check_room(policy)
        model = plain(policy).model
        own = published_weights(model, piece)
        if not own:  # tied to another one
            return {}
        part = self.folder if piece is None else self.folder / "part"
        with _no_progress_bar():
            write_model(model, part, piece)
        # A checkpoint may name a tensor otherwise than the model does; then the file's.
        sums = {name: checksum(own.get(name, tensor)) for name, tensor in read_weights(part)}
        if piece is not None:
            for file in part.iterdir():
                is_weights = file.suffix == ".safetensors"
                file.replace(
                    self.folder / (f"{number:05d}.safetensors" if is_weights else file.name)
                )
            part.rmdir()
            self._files |= dict.fromkeys(sums, f"{number:05d}.safetensors")
        return sums

    def _write_index(self) -> None:
        """Say which piece holds which tensor, as published checkpoints do."""
        index = {"metadata": {}, "weight_map": self._files}
        (self.folder / SAFE_WEIGHTS_INDEX_NAME).write_text(json.dumps(index))

    def _check_room(self, policy: Policy) -> None:
        needed = num_bytes(policy)
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


def as_policy(policy: nn.Module) -> Policy:
    """Return the policy.

    Raises:
        EngineError: it is none.
    """
    if not (isinstance(policy, Policy) or is_sharded(policy)):
        raise EngineError(
            f"An engine samples from a sampo Policy, not {type(policy).__name__}. Wrap the model: "
            "Policy(model)."
        )
    return cast(Policy, policy)  # or what it is wrapped in


def end_ids(policy: Policy, tokenizer: PreTrainedTokenizerBase | None) -> list[int]:
    """Return the tokens that end a reply: the model's own and the tokenizer's."""
    generation = policy.model.generation_config
    ids = None if generation is None else generation.eos_token_id
    found = set(ids if isinstance(ids, list) else [] if ids is None else [ids])
    if tokenizer is not None and isinstance(tokenizer.eos_token_id, int):
        found.add(tokenizer.eos_token_id)
    return sorted(found)
