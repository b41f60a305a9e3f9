"""A look at what the policy says: two episodes as text, every few updates."""

from __future__ import annotations

from typing import Any

import lightning as L
from lightning.pytorch.loggers import TensorBoardLogger

from sampo.callbacks.latest import latest_rollout
from sampo.episode import Episode
from sampo.errors import ConfigError
from sampo.module import SampoModule

_LONGEST = 600
"""Characters of an observation or reply that are shown."""


class SampleTexts(L.Callback):
    """Writes two episodes of a rollout to TensorBoard's text tab: a success and a failure.

    Other loggers get none; the files of `EpisodeWriter` hold every episode.

    Args:
        every_n_updates: how often.
    """

    def __init__(self, every_n_updates: int = 10) -> None:
        if every_n_updates < 1:
            raise ConfigError(
                f"SampleTexts.every_n_updates must be at least 1, got {every_n_updates}."
            )
        self.every_n_updates = every_n_updates

    def on_train_batch_end(
        self,
        trainer: L.Trainer,
        pl_module: L.LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
    ) -> None:
        """Write the texts."""
        assert isinstance(pl_module, SampoModule)
        update = pl_module.update_step
        if update % self.every_n_updates:
            return
        episodes = [e for group in latest_rollout(trainer).all_groups for e in group.episodes]
        for logger in pl_module.loggers:
            if isinstance(logger, TensorBoardLogger):
                for kind, episode in two_of(episodes).items():
                    logger.experiment.add_text(f"episode/{kind}", as_markdown(episode), update)


def two_of(episodes: list[Episode]) -> dict[str, Episode]:
    """Return the first success and the first failure, whichever there are."""
    chosen: dict[str, Episode] = {}
    for episode in episodes:
        chosen.setdefault("success" if episode.success else "failure", episode)
    return chosen


def as_markdown(episode: Episode) -> str:
    """Return an episode as text that reads well in TensorBoard."""
    lines = [
        f"**{episode.task}**: return {episode.reward:.3g}, {len(episode.turns)} turns, "
        f"{episode.stop_reason.value}"
    ]
    for number, turn in enumerate(episode.turns):
        marks = "" if turn.action_valid else " *(invalid)*"
        lines += [
            f"**turn {number}**, reward {turn.reward:.3g}{marks}",
            _quoted(turn.observation),
            f"> {_quoted(turn.reply)}",
        ]
    return "\n\n".join(lines)


def _quoted(text: str) -> str:
    """Return a text as inline code, cut in the middle if it is long."""
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST // 2]} [...] {text[-_LONGEST // 2 :]}"
    return "`" + text.replace("`", "'").replace("\n", " / ") + "`"
