"""A complete small training run for tests: a real environment, engine and random policy.

The corridor is played with a prompt format under which every reply is an action, so that even a
random policy's episodes differ and there is something to learn from the first update on.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lightning as L

from anything_goes import AnythingGoes
from sampo.advantages import GiGPO
from sampo.callbacks import Checkpoints, RolloutStats, WeightSync
from sampo.data.datamodule import RolloutDataModule
from sampo.data.settings import EvaluationSettings, WorkerSettings
from sampo.envs.toy import Corridor
from sampo.filtering import SpreadFilter
from sampo.losses import Clip, PolicyLoss
from sampo.module import SampoModule
from sampo.rollout.conversation import WindowContext
from sampo.rollout.engine import SamplingParams
from sampo.rollout.transformers_engine import TransformersEngine


def make_data(policy: str, **settings: Any) -> RolloutDataModule:
    """Return the corridor's data module; `settings` override its arguments."""
    defaults: dict[str, Any] = {
        "env": Corridor(length=4, max_turns=4, prompt_format=AnythingGoes()),
        "tokenizer": policy,
        "engine": TransformersEngine(),
        "context": WindowContext(history=0),
        "advantage": GiGPO(),
        "group_filter": SpreadFilter(),
        "sampling": SamplingParams(max_new_tokens=1),
        "eval_sampling": SamplingParams(max_new_tokens=1),
        "groups_per_update": 3,
        "group_size": 6,
        "updates_per_epoch": 3,
        "context_length": 200,
        "workers": WorkerSettings(num_workers=0),
        "evaluation": EvaluationSettings(num_tasks=-1, samples_per_task=16),
        "seed": 1,
    }
    return RolloutDataModule(**{**defaults, **settings})


def make_module(policy: str, **settings: Any) -> SampoModule:
    """Return a module that learns fast."""
    loss = PolicyLoss(surrogate=Clip(clip_low=0.2, clip_high=0.2))
    defaults: dict[str, Any] = {"learning_rate": 5e-3, "num_mini_batches": 2}
    return SampoModule(policy, settings.pop("loss", loss), **{**defaults, **settings})


def make_trainer(folder: Path, *, epochs: int, callbacks: list[L.Callback] | None = None) -> Any:
    """Return a quiet trainer with the callbacks that training cannot do without."""
    from sampo.trainer import SampoTrainer

    return SampoTrainer(
        accelerator="cpu",
        devices=1,
        max_epochs=epochs,
        num_sanity_val_steps=-1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        use_distributed_sampler=False,
        default_root_dir=folder,
        callbacks=[WeightSync(), RolloutStats(), Checkpoints(), *(callbacks or [])],
    )
