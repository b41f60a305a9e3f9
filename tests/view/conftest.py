"""A run as `sampo fit` leaves it behind, made of numbers that the tests know."""

import json
from pathlib import Path

import pytest
import torch
from torch.utils.tensorboard import SummaryWriter

from sampo.data.episode_log import EpisodeRecord, TurnPieces, write_episodes
from sampo.data.token_file import token_path, write_tokens
from sampo.episode import Episode, StopReason, Turn
from sampo.losses import TokenLog

GROUPS, MEMBERS, TURNS = 3, 4, 3
ALARM = {
    "step": 2,
    "rule": "ref_kl_above",
    "signal": "train/ref_kl",
    "value": 0.31,
    "threshold": 0.1,
    "stage": "warning",
    "message": "The policy is far from its reference.",
    "episodes": "episodes/update_000001.jsonl",
    "action": "none",
}
CONFIG = """
model:
  policy: nano
  loss: {surrogate: {class_path: sampo.losses.Clip, init_args: {clip_low: 0.1}}}
data: {groups_per_update: 2, group_size: 4}
"""


def turn(group: int, member: int, place: int, version: int) -> Turn:
    """Return a turn; members of a group begin in the same state, odd members go right."""
    action = "right" if member % 2 else "left"
    return Turn(
        observation=f"room {group}.{place} <img src=x onerror=boom()>",
        reply=f"<act>{action}</act>",
        action=None if (member, place) == (3, 1) else action,
        reward=1.0 if place == TURNS - 1 and member % 2 else -0.1,
        penalty=0.1 if (member, place) == (3, 1) else 0.0,
        format_valid=(member, place) != (3, 1),
        action_valid=(member, place) != (3, 1),
        state_key=(group, 0) if place == 0 else (group, member, place),
        prompt_ids=(1, 2, 3),
        action_ids=(4, 5, 6),
        sampling_logprobs=(-0.5, -0.25, -0.125),
        policy_version=version,
    )


def record(update: int, group: int, member: int) -> EpisodeRecord:
    """Return an episode of groups 0 and 1, which were trained on, or 2, which was dropped."""
    action = "right" if member % 2 else "left"
    pieces = TurnPieces(prompt=("<user>", "room", "\n"), action=("<act>", action, "</act>"))
    kept = group < GROUPS - 1
    return EpisodeRecord(
        episode=Episode(
            task=f"train/{group}",
            seed=2**62 + group,
            turns=tuple(turn(group, member, place, update) for place in range(TURNS)),
            success=bool(member % 2) and kept,
            stop_reason=StopReason.TERMINATED if member % 2 else StopReason.MAX_TURNS,
            task_type="even" if group % 2 == 0 else "odd",
        ),
        update=update,
        group=group,
        kept=kept,
        drop_reason=None if kept else "all_failed",
        advantages=(1.5, -0.5, 0.0) if kept else None,
        pieces=(pieces,) * TURNS,
    )


def token_log(num_turns: int) -> TokenLog:
    """Return three tokens per turn; the second is clipped, the third rejected."""
    turns = torch.arange(num_turns).repeat_interleave(3)
    ones = torch.ones(len(turns))
    second = torch.arange(len(turns)) % 3 == 1
    return TokenLog(
        turn=turns,
        advantages=1.5 * ones,
        old_logprobs=-0.5 * ones,
        log_ratio=0.1 * ones,
        log_weight=0.05 * ones,
        in_range=0.05 * ones,
        clipped=second,
        clipped_lower=torch.zeros_like(second),
        kept=torch.arange(len(turns)) % 3 != 2,
        entropy=0.25 * ones,
        ref_log_ratio=0.1 * ones,
    )


def make_run(folder: Path, updates: int) -> Path:
    """Write curves, episodes, tokens, an alarm and a config of that many updates."""
    records = [(group, member) for group in range(GROUPS) for member in range(MEMBERS)]
    for update in range(updates):
        path = folder / "episodes" / f"update_{update:06d}.jsonl"
        write_episodes(path, (record(update, *which) for which in records))
        write_tokens(token_path(path), token_log(2 * MEMBERS * TURNS), num_turns=10**6)
    evaluated = record(0, 0, 1).episode
    write_episodes(folder / "episodes" / f"validation_{updates:06d}.jsonl", [evaluated])
    (folder / "config.yaml").write_text(CONFIG)
    (folder / "alarms.jsonl").write_text(json.dumps(ALARM) + "\n")
    with SummaryWriter(str(folder)) as curves:
        for step in range(1, updates + 1):
            curves.add_scalar("rollout/success_rate", step / updates, step)
            curves.add_scalar("rollout/episodes", 12, step)
            curves.add_scalar("train/ref_kl", 0.001 * step, step)
            curves.add_scalar("train/grad_norm", 1.0, step)
            curves.add_scalar("time/rollout_s", 3.0, step)
            curves.add_scalar("time/update_s", 1.0, step)
            if step % 2 == 0:
                curves.add_scalar("rollout/dropped_all_failed", 1, step)
        curves.add_scalar("eval/success_rate", 0.75, updates)
    return folder


@pytest.fixture(scope="session")
def small_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three updates; not to be changed."""
    return make_run(tmp_path_factory.mktemp("runs") / "small" / "version_0", updates=3)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Two updates, to be broken."""
    return make_run(tmp_path / "own" / "version_0", updates=2)
