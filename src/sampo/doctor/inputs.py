"""What the checks look at: the objects that a config describes, as a run would use them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import torch
from lightning.pytorch.plugins.precision import Precision
from torch import Tensor

from sampo.batch import RolloutBatch
from sampo.data.datamodule import RolloutDataModule
from sampo.data.group_rollout import Rollout
from sampo.envs import TextEnv
from sampo.models.policy import Policy
from sampo.module import SampoModule
from sampo.rollout.collector import EpisodeRequest
from sampo.rollout.seeds import derive_seed
from sampo.rollout.workers import EnvPool

_GROUPS = 2
"""Groups of the small rollout: the fewest in which ids can clash between groups."""
_MIXED = {"bf16-mixed": torch.bfloat16, "16-mixed": torch.float16}


class SmallRollout(NamedTuple):
    """A training batch, and the episodes that it was made of."""

    rollout: Rollout
    batch: RolloutBatch


@dataclass(frozen=True, kw_only=True, eq=False)
class DoctorInputs:
    """One run, not started yet."""

    module: SampoModule
    data: RolloutDataModule
    runs: Path
    """Folder that will hold the run's folder; need not exist."""
    device: torch.device
    """Where the policy will be trained."""
    ckpt_path: str | None = None
    """Checkpoint whose weights are used, if any."""
    precision: Precision = field(default_factory=Precision)
    """Lightning's; scores are computed under it, as in training."""

    @property
    def env(self) -> TextEnv:
        """The environment's prototype."""
        return self.data.player.env

    @property
    def policy(self) -> Policy:
        """The policy, once the check `policy` has loaded it."""
        assert self.module.policy is not None, "say `needs = (PolicyLoads,)`"
        return self.module.policy

    @property
    def dtype(self) -> torch.dtype:
        """The coarsest numbers that a log-probability passes through."""
        return _MIXED.get(str(self.precision.precision), self.policy.model.dtype)

    @property
    def scratch(self) -> Path:
        """The nearest folder to `runs` that exists: temporary files share its file system."""
        runs = self.runs.absolute()
        return next(path for path in (runs, *runs.parents) if path.exists())

    @cached_property
    def small_rollout(self) -> SmallRollout:
        """What training would get as its first batch, had it `_GROUPS` groups per update."""
        data, plan, counters = self.data, self.data.plan, self.data.state_dict()
        data.plan = replace(plan, groups_per_update=_GROUPS, max_rounds=1)
        try:
            batch = next(iter(data.train_dataloader()))
            assert data.last_rollout is not None
            return SmallRollout(data.last_rollout, batch)
        finally:
            data.plan = plan
            data.load_state_dict(counters)

    def logprobs(self, policy: Policy, batch: RolloutBatch) -> Tensor:
        """Return the trainer's log-probabilities `[B, L]` of a batch, on the CPU."""
        with self.precision.forward_context():
            return self.module.scorer.logprobs(policy, batch.to(self.device)).cpu()

    def requests(self, count: int) -> Sequence[EpisodeRequest]:
        """Return episodes of `count` training tasks, in the order of the run."""
        source, seed = self.data.player.source("train"), self.data.player.seed
        tasks = [source.task(number) for number in range(min(count, len(source)))]
        return [
            EpisodeRequest(
                task=task,
                env_seed=derive_seed(seed, "env", task),
                sampling_seed=derive_seed(seed, "doctor", task),
            )
            for task in tasks
        ]

    def pool(self, *, num_workers: int, with_expert: bool = False) -> EnvPool:
        """Return copies of the environment under the run's deadlines.

        Args:
            num_workers: worker processes; none where the run has none.
            with_expert: whether replies carry the expert's action.
        """
        workers = self.data.player.workers
        return EnvPool(
            self.env,
            num_workers=num_workers if workers.num_workers else 0,
            step_timeout_s=workers.step_timeout_s,
            reset_timeout_s=workers.reset_timeout_s,
            with_expert=with_expert,
        )
