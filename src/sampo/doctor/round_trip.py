"""Is what is written to the disk what comes back?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import torch

from sampo.checkpoint import export_policy
from sampo.doctor.check import Check, CheckResult
from sampo.doctor.gap import Gap, tolerance
from sampo.doctor.inputs import DoctorInputs
from sampo.doctor.loading import TokenizerLoads
from sampo.doctor.probe import probe_batch
from sampo.doctor.run_folder import RunFolder
from sampo.models.policy import Policy
from sampo.models.publishing import published_weights


@dataclass(frozen=True, kw_only=True)
class RoundTrip(Check):
    """The policy survives both of its ways to the disk: Hugging Face folder and checkpoint."""

    name: ClassVar[str] = "checkpoint"
    fix: ClassVar[str] = (
        "Try the model with plain transformers (save_pretrained, from_pretrained); weights that it "
        "does not save, or saves rounded, are lost at the end of the run, too."
    )
    needs: ClassVar[tuple[type[Check], ...]] = (TokenizerLoads, RunFolder)

    def __call__(self, inputs: DoctorInputs) -> CheckResult:
        """Write, load, compare; one copy on the disk at a time."""
        with TemporaryDirectory(prefix=".sampo-doctor-", dir=inputs.scratch) as folder:
            inputs.policy.save_pretrained(folder, inputs.data.renderer.tokenizer)
            if problem := _difference(inputs, folder):
                return self.failed(f"the Hugging Face folder comes back with {problem}")
        with TemporaryDirectory(prefix=".sampo-doctor-", dir=inputs.scratch) as folder:
            file, exported = Path(folder) / "last.ckpt", Path(folder) / "hf"
            torch.save(_checkpoint(inputs), file)
            export_policy(file, exported)
            if problem := _difference(inputs, exported):
                return self.failed(f"the checkpoint comes back with {problem}")
        return self.ok("Hugging Face folder and checkpoint give the same weights and scores")


def _checkpoint(inputs: DoctorInputs) -> dict[str, Any]:
    """Return what Lightning would store of the module."""
    module = inputs.module
    checkpoint = {"state_dict": module.state_dict(), "hyper_parameters": dict(module.hparams)}
    module.on_save_checkpoint(checkpoint)
    return checkpoint


def _difference(inputs: DoctorInputs, folder: str | Path) -> str:
    """Return how the policy in a folder differs from the present one, or an empty string."""
    policy, batch = inputs.policy, probe_batch(inputs)
    copy = Policy.load(
        str(folder),
        dtype=str(policy.model.dtype).removeprefix("torch."),
        attn_implementation=inputs.module.hparams["attn_implementation"],
    ).to(inputs.device)
    ours, theirs = published_weights(policy.model), published_weights(copy.model)
    if missing := ours.keys() ^ theirs.keys():
        return f"other parameters: {', '.join(sorted(missing)[:3])}"
    changed = [name for name, weight in ours.items() if not torch.equal(weight, theirs[name])]
    if changed:
        return f"other values of {len(changed)} parameters, among them {changed[0]}"
    before, after = inputs.logprobs(policy, batch), inputs.logprobs(copy, batch)
    gap, limit = Gap.between(before, after, batch.action_mask), tolerance(inputs.dtype)
    return "" if gap.within(limit) else f"other log-probabilities: {gap.describe(limit)}"
