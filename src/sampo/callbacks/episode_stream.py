"""Episodes of a rollout or evaluation that is not over: a line the moment each one ends."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from sampo.data.episode_log import NOT_JUDGED, EpisodeRecord, episode_line
from sampo.data.token_pieces import TokenPieces
from sampo.episode import Episode


class EpisodeStream:
    """A file that grows episode by episode, so that what breaks a rollout loses none of them.

    Groups are numbered as their first episode ends. No verdict and no advantage is known yet.

    Args:
        path: the file; what was there is replaced.
        update: the update that is rolled out for.
        most: most episodes that are written; None: all.
        pieces: cuts tokens into text; None: tokens are left out.
        token_groups: number of first groups whose tokens are written; None: of all.
    """

    def __init__(
        self,
        path: Path,
        *,
        update: int,
        most: int | None,
        pieces: TokenPieces | None,
        token_groups: int | None,
    ) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")
        self.path = path
        self._update = update
        self._most = most
        self._pieces = pieces
        self._token_groups = token_groups
        self._groups: dict[tuple[str, int], int] = {}
        self._written = 0

    def add(self, episode: Episode) -> None:
        """Write an episode; it is with the operating system when this returns."""
        if self._written == self._most:
            return
        group = self._groups.setdefault((episode.task, episode.seed), len(self._groups))
        record = EpisodeRecord(
            episode=episode,
            update=self._update,
            group=-1 if episode.failed else group,
            kept=False,
            drop_reason="failed" if episode.failed else NOT_JUDGED,
        )
        if self._pieces is not None and (self._token_groups is None or group < self._token_groups):
            record = replace(record, pieces=self._pieces.turns(episode))
        with self.path.open("a", encoding="utf-8") as lines:  # left open by no exception
            lines.write(episode_line(record))
        self._written += 1

    def discard(self) -> None:
        """Delete the file: the complete one has taken its place."""
        self.path.unlink(missing_ok=True)
