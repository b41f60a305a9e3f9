"""Rows for asking a policy what it thinks of them; they need no environment and no engine."""

from __future__ import annotations

from sampo.batch import RolloutBatch
from sampo.data.collate import collate
from sampo.doctor.inputs import DoctorInputs
from sampo.episode import Episode, StopReason, Turn

_ROWS = 6


def probe_batch(inputs: DoctorInputs) -> RolloutBatch:
    """Return rows of very different lengths, every token but the first of each to be scored."""
    renderer, most = inputs.data.renderer, inputs.data.player.context_length
    episodes: list[Episode] = []
    for number in range(_ROWS):
        message = f"Row {number} counts: " + " ".join(map(str, range(7 * number)))
        ids = renderer.opening([{"role": "user", "content": message}])
        ids = (ids + renderer.reply_ids(f"That was {number}."))[:most]
        turn = Turn(
            observation=message,
            reply="",
            action=None,
            reward=0.0,
            prompt_ids=ids[:1],
            action_ids=ids[1:],
            sampling_logprobs=(0.0,) * (len(ids) - 1),
        )
        episodes.append(
            Episode(
                task="probe", seed=0, turns=(turn,), success=False, stop_reason=StopReason.MAX_TURNS
            )
        )
    return collate(episodes, [[0.0]] * _ROWS, pad_id=inputs.data.player.pad_id)
