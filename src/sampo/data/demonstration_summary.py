"""What a set of demonstrations holds, in numbers: shown after collecting and before cloning."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from rich.table import Table

from sampo.episode import Episode


@dataclass(frozen=True, kw_only=True)
class DemonstrationSummary:
    """What a set of demonstrations holds."""

    episodes: int
    successes: int
    reward: float
    """Mean return (0 without episodes)."""
    turns: int
    """All turns of all episodes."""
    action_tokens: int
    """Tokens of all replies as they were collected; 0 once read from disk, which holds text."""
    actions: Mapping[str, int]
    """How often each action was taken, most frequent first; `""`: none could be read."""
    policies: Mapping[str, int]
    """Episodes per policy that acted."""

    @property
    def success_rate(self) -> float:
        """Share of successful episodes (0 without episodes)."""
        return self.successes / self.episodes if self.episodes else 0.0

    def table(self, *, most_actions: int = 12) -> Table:
        """Return the summary as a table for the screen, with the most frequent actions."""
        table = Table("what", "value", title="Demonstrations")
        table.columns[1].justify = "right"
        table.add_row("episodes", f"{self.episodes}")
        for policy, number in self.policies.items():
            table.add_row(f"  by {policy}", f"{number}")
        table.add_row("success rate", f"{self.success_rate:.3f}")
        table.add_row("mean return", f"{self.reward:.3f}")
        table.add_row("turns per episode", f"{self.turns / max(self.episodes, 1):.2f}")
        if self.action_tokens:
            table.add_row("tokens per reply", f"{self.action_tokens / max(self.turns, 1):.2f}")
        table.add_row("different actions", f"{len(self.actions)}")
        for action, number in list(self.actions.items())[:most_actions]:
            table.add_row(f"  {action or '(none read)'}", f"{number / self.turns:.1%}")
        return table


@dataclass(kw_only=True)
class DemonstrationTally:
    """A summary in the making."""

    episodes: int = 0
    successes: int = 0
    reward: float = 0.0
    turns: int = 0
    action_tokens: int = 0
    actions: Counter[str] = field(default_factory=Counter)
    policies: Counter[str] = field(default_factory=Counter)

    def add(self, episode: Episode, policy: str) -> None:
        """Count an episode and who acted in it."""
        self.episodes += 1
        self.successes += episode.success
        self.reward += episode.reward
        self.turns += len(episode.turns)
        self.action_tokens += episode.num_action_tokens
        self.actions.update(turn.action or "" for turn in episode.turns)
        self.policies[policy] += 1

    def summary(self) -> DemonstrationSummary:
        """Return what was counted so far."""
        return DemonstrationSummary(
            episodes=self.episodes,
            successes=self.successes,
            reward=self.reward / max(self.episodes, 1),
            turns=self.turns,
            action_tokens=self.action_tokens,
            actions=dict(self.actions.most_common()),
            policies=dict(self.policies.most_common()),
        )
