"""A small complete training run in a forked process, told apart by what it is doing.

Whoever strikes it sees on a shared board whether it rolls out, updates or saves. It is used by the
drill of kills, which must not pay ten seconds of imports for each of its runs.
"""

from __future__ import annotations

import mmap
import os
import random
import struct
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import lightning as L
import numpy as np
import torch

from sampo.callbacks import (
    Checkpoints,
    CollapseDetector,
    Costs,
    KLMonitor,
    RolloutStats,
    WeightSync,
)
from sampo.callbacks.latest import latest_rollout
from sampo.callbacks.run_folder import run_folder
from sampo.checkpoint import load_checkpoint
from sampo.losses import AdaptiveKL, Clip, PolicyLoss
from sampo.module import SampoModule
from sampo.trainer import SampoTrainer
from training import make_data, make_module

PHASES = ("else", "rollout", "update", "save")
UPDATES = 9
"""In three epochs, with an evaluation after each."""
_BOARD = struct.Struct("ii")


class Board:
    """What a forked process is doing, in memory that its parent sees."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, _BOARD.size)

    def write(self, phase: str, update: int) -> None:
        """Note a phase of the update with this number (from 0)."""
        self._memory[:] = _BOARD.pack(PHASES.index(phase), update)

    def read(self) -> tuple[str, int]:
        """Return the phase and the update."""
        phase, update = _BOARD.unpack(self._memory[:])
        return PHASES[phase], update


class Diary(L.Callback):
    """Notes what the run looked like after each update, and draws from every random source.

    It stands before `Checkpoints`, so that a checkpoint holds the states after the draws.
    """

    def __init__(self) -> None:
        self.pages: dict[int, dict[str, float]] = {}

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx) -> None:
        assert isinstance(pl_module, SampoModule)
        assert pl_module.last_update is not None
        logged = {**latest_rollout(trainer).stats, **pl_module.last_update.values}
        page = {name: value for name, value in logged.items() if not name.startswith("time/")}
        page["torch"] = float(torch.rand(1))
        page["python"] = random.random()
        page["numpy"] = float(np.random.random())  # noqa: NPY002
        self.pages[pl_module.update_step] = page


@dataclass
class Watch:
    """Wraps what a run does, so that the board says which phase it is in."""

    board: Board
    spans: list[tuple[str, int, float]] = field(default_factory=list)
    """Phase, update and seconds, of everything that ended."""
    update: int = 0

    def wrap(self, phase: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return `call` with its phase on the board while it runs."""

        def watched(*args: Any, **options: Any) -> Any:
            self.board.write(phase, self.update)
            started = time.perf_counter()
            try:
                return call(*args, **options)
            finally:
                self.spans.append((phase, self.update, time.perf_counter() - started))
                self.board.write("else", self.update)

        return watched

    def next_batch(self, call: Callable[[], Any]) -> Callable[[], Any]:
        """Return the data's `_next_batch` watched; it begins an update."""
        watched, begun = self.wrap("rollout", call), []

        def counted() -> Any:
            self.update += bool(begun)
            begun.append(True)
            return watched()

        return counted


def train(policy: str, folder: Path, watch: Watch, ckpt_path: str | None) -> dict[str, Any]:
    """Train to the end and return all that must not differ between a broken and an unbroken run."""
    # A resumed run starts from other random states, so that it must find the checkpoint's.
    L.seed_everything(0 if ckpt_path is None else 1, verbose=False)
    loss = PolicyLoss(surrogate=Clip(clip_low=0.2, clip_high=0.2), kl_coef=0.01)
    module = make_module(
        policy,
        loss=loss,
        adaptive_kl=AdaptiveKL(target=0.01, horizon=100),
        shuffle=True,
        lr_schedule="cosine",
        warmup_updates=2,
    )
    data, diary = make_data(policy), Diary()
    watchers: list[L.Callback] = [diary, KLMonitor(), Costs(), CollapseDetector()]
    trainer = SampoTrainer(
        accelerator="cpu",
        max_epochs=3,
        num_sanity_val_steps=-1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        use_distributed_sampler=False,
        default_root_dir=folder,
        callbacks=[WeightSync(), RolloutStats(), *watchers, Checkpoints(export=False)],
        **_processes(),
    )
    data._next_batch = watch.next_batch(data._next_batch)
    module.training_step = watch.wrap("update", module.training_step)
    trainer.save_checkpoint = watch.wrap("save", trainer.save_checkpoint)
    if ckpt_path is not None:
        watch.update = _update_of(trainer, ckpt_path)
    trainer.fit(module, datamodule=data, ckpt_path=ckpt_path)
    last = run_folder(trainer) / "checkpoints" / "last.ckpt"
    checkpoint = torch.load(last, weights_only=True)
    costs = next(c for c in watchers if isinstance(c, Costs)).totals
    return {
        "weights": checkpoint["state_dict"],
        "optimizer": checkpoint["optimizer_states"],
        "counters": [checkpoint["sampo"], checkpoint["RolloutDataModule"]],
        "random_states": checkpoint["sampo_run"]["random_states"],
        "costs": {name: v for name, v in costs.items() if not name.endswith("_s")},
        "callbacks": {
            name: checkpoint["callbacks"][name] for name in ("KLMonitor", "CollapseDetector")
        },
        "diary": diary.pages,
        "best": checkpoint["callbacks"]["Checkpoints"]["best"],
    }


def fork(
    policy: str, folder: Path, boards: list[Board], ckpt_path: str | None = None, port: int = 0
) -> list[int]:
    """Start one process per board on a run; return their ids. They write `end_RANK.pt` at the end.

    The caller must never have trained itself: threads do not survive a fork.
    """
    folder.mkdir(parents=True, exist_ok=True)
    pids = []
    for rank, board in enumerate(boards):
        sys.stdout.flush()
        if pid := os.fork():
            pids.append(pid)
            continue
        code = 1
        try:
            _child(policy, folder, board, ckpt_path, rank, len(boards), port)
            code = 0
        except BaseException as error:  # noqa: BLE001  a forked child must never return
            (folder / f"error_{rank}.txt").write_text(f"{type(error).__name__}: {error}")
        finally:
            os._exit(code)
    return pids


def _child(
    policy: str,
    folder: Path,
    board: Board,
    ckpt_path: str | None,
    rank: int,
    world: int,
    port: int,
) -> None:
    with (folder / f"log_{rank}.txt").open("ab") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    if world > 1:  # what torchrun would set
        os.environ.update(
            MASTER_ADDR="127.0.0.1",
            MASTER_PORT=str(port),
            WORLD_SIZE=str(world),
            NODE_RANK="0",
            LOCAL_RANK=str(rank),
        )
    watch = Watch(board)
    result = train(policy, folder, watch, ckpt_path)
    torch.save({"result": result, "spans": watch.spans}, folder / f"end_{rank}.pt")


def _processes() -> dict[str, Any]:
    world = int(os.environ.get("WORLD_SIZE", "1"))
    return {"devices": 1} if world == 1 else {"devices": world, "strategy": "ddp"}


def _update_of(trainer: SampoTrainer, ckpt_path: str) -> int:
    path = trainer._resolve(ckpt_path)
    assert path is not None
    return load_checkpoint(path)["sampo"]["update_step"]
