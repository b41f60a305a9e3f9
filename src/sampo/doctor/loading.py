"""Can the tokenizer and the policy be loaded, and given to the engine?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sampo.checkpoint import load_checkpoint
from sampo.doctor.check import Check, CheckResult
from sampo.doctor.inputs import DoctorInputs


@dataclass(frozen=True, kw_only=True)
class TokenizerLoads(Check):
    """The tokenizer has what conversations need: a pad token, an end token, a chat template."""

    name: ClassVar[str] = "tokenizer"
    fix: ClassVar[str] = "Set model.policy to an instruct checkpoint; the tokenizer is taken there."

    def __call__(self, inputs: DoctorInputs) -> CheckResult:
        """Load it; the loader refuses what lacks a part."""
        tokenizer = inputs.data.renderer.tokenizer
        return self.ok(
            f"{len(tokenizer)} tokens, a reply ends with {tokenizer.eos_token!r}, rows are padded "
            f"with {tokenizer.convert_ids_to_tokens(inputs.data.player.pad_id)!r}"
        )


@dataclass(frozen=True, kw_only=True)
class PolicyLoads(Check):
    """The policy loads, fits on the device, and the engine takes its weights."""

    name: ClassVar[str] = "policy"
    fix: ClassVar[str] = "Check model.policy, model.dtype and --ckpt_path, and the device's memory."

    def __call__(self, inputs: DoctorInputs) -> CheckResult:
        """Load it as a run would."""
        module = inputs.module
        module.configure_model()
        if inputs.ckpt_path is not None:
            checkpoint = load_checkpoint(inputs.ckpt_path)
            module.on_load_checkpoint(checkpoint)
            module.load_state_dict(checkpoint["state_dict"])
        inputs.precision.convert_module(module)
        module.to(inputs.device)
        inputs.data.engine.sync_weights(inputs.policy, module.update_step)
        numbers = sum(parameter.numel() for parameter in inputs.policy.parameters())
        source = inputs.ckpt_path or module.hparams["policy"]
        dtype = str(inputs.policy.model.dtype).removeprefix("torch.")
        return self.ok(f"{source}: {numbers:,} parameters in {dtype} on {inputs.device}")
