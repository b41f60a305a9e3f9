"""The policy of a run as a Hugging Face folder, whatever it is spread over."""

from __future__ import annotations

import lightning as L
from transformers import PreTrainedTokenizerBase

from sampo.callbacks.run_folder import run_folder
from sampo.checkpoint import write_folder
from sampo.models.policy import Policy
from sampo.models.sharding import is_sharded, plain
from sampo.models.whole_weights import gathered_state


def write_policy(trainer: L.Trainer, policy: Policy, tokenizer: PreTrainedTokenizerBase) -> None:
    """Write `hf/` in the run folder. Every rank has to call it; the first one writes."""
    writes = trainer.is_global_zero
    state = gathered_state(policy, keep=writes) if is_sharded(policy) else None
    if writes:
        write_folder(plain(policy), tokenizer, run_folder(trainer) / "hf", state_dict=state)
