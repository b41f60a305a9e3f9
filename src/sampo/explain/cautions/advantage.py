"""Cautions about dial 3: advantages, and their second stage."""

from __future__ import annotations

from sampo.advantages import GAE, GRPO, RLOO, GiGPO, PassAtK, TurnReward, TurnScore, Whiten
from sampo.explain.cautions.caution import Caution, Rule
from sampo.explain.run import Run


def nothing_to_compare(run: Run) -> Caution | None:
    """Find groups of one before an estimator that compares."""
    part = run.data.advantage
    if run.data.plan.group_size > 1 or not part.compares_episodes:
        return None
    return Caution(
        says=f"group_size 1: {_name(part)} has no other episode to compare with.",
        why="Nothing says whether the episode went well; what is left are differences between its "
        "own turns.",
        fix="--data.group_size 8, or --data.advantage ReMax (one greedy episode more per task).",
    )


def lone_score(run: Run) -> Caution | None:
    """Find an uncentred advantage for what stands alone."""
    part = run.data.advantage
    if not isinstance(part, GRPO | GiGPO | RLOO) or part.singleton != "score":
        return None
    return Caution(
        says="singleton score: where only one turn is left to compare, its advantage is the raw "
        "score.",
        why="A group may lose its other episodes to failures or filters. A raw score has no "
        "baseline and another scale. The paper's code does so.",
        fix="--data.advantage.singleton zero.",
    )


def normalised_twice(run: Run) -> Caution | None:
    """Find a whitening of what was divided by its deviation before."""
    part, stage = run.data.advantage, run.stage
    divided = (isinstance(part, GRPO) and part.divide_by_std) or (
        isinstance(part, GiGPO) and part.normalise == "mean_std"
    )
    if not isinstance(stage, Whiten) or not divided:
        return None
    return Caution(
        says=f"Whiten after {_name(part)} standardises twice.",
        why="Each group has unit deviation already, so that the rollout has no scale of its own "
        "left; REINFORCE++ takes bare scores, its baseline variant centred ones.",
        fix="--data.advantage TurnScore, or GRPO with divide_by_std false.",
    )


def gae_wants_rewards(run: Run) -> Caution | None:
    """Find GAE on numbers that are no rewards."""
    part, stage = run.data.advantage, run.stage
    if not isinstance(stage, GAE) or not isinstance(part, GRPO | GiGPO | RLOO | PassAtK):
        return None
    first = "TurnReward" if stage.chain == "episode" else "TurnScore"
    return Caution(
        says=f"GAE takes what {_name(part)} gives for rewards, but these are advantages already.",
        why="Its value head then learns how episodes compare within a group, which no state shows, "
        "and a second baseline is subtracted.",
        fix=f"--data.advantage {first}, or --model.batch_advantage null.",
    )


def return_on_every_turn(run: Run) -> Caution | None:
    """Find GAE over episodes on numbers that hold the whole return."""
    part, stage = run.data.advantage, run.stage
    if not isinstance(stage, GAE) or stage.chain != "episode" or not isinstance(part, TurnScore):
        return None
    return Caution(
        says="GAE over episodes after TurnScore pays the return of an episode once per turn.",
        why="TurnScore puts the whole return on every turn, and GAE sums over the turns: an "
        "episode of 10 turns counts its return 10 times.",
        fix="--data.advantage TurnReward, or --model.batch_advantage.chain turn.",
    )


def blind_to_the_rest(run: Run) -> Caution | None:
    """Find turns that learn nothing of what comes after them."""
    part, stage = run.data.advantage, run.stage
    over_episode = isinstance(stage, GAE) and stage.chain == "episode"
    if not isinstance(part, TurnReward) or over_episode:
        return None
    return Caution(
        says="TurnReward gives a turn its own reward and nothing of what follows.",
        why="Only GAE over episodes carries later rewards back; without it a turn that opens the "
        "way to a later reward earns nothing.",
        fix="--data.advantage TurnScore, or --model.batch_advantage GAE with "
        "--model.batch_advantage.chain episode --model.loss.value.coef 0.5.",
    )


def no_baseline(run: Run) -> Caution | None:
    """Find bare scores as advantages."""
    part = run.data.advantage
    if not isinstance(part, TurnScore) or not run.advantage_per_turn:
        return None
    return Caution(
        says="TurnScore without a baseline: every turn of an episode with a positive score is "
        "pushed up.",
        why="A score that all episodes share carries no information but much variance.",
        fix="--model.batch_advantage Whiten (REINFORCE++), or --data.advantage RLOO.",
    )


def _name(part: object) -> str:
    return type(part).__name__


ADVANTAGE_RULES: tuple[Rule, ...] = (
    nothing_to_compare,
    lone_score,
    normalised_twice,
    gae_wants_rewards,
    return_on_every_turn,
    blind_to_the_rest,
    no_baseline,
)
