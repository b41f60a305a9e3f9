"""Reference cases as the public objects of sampo; read by `conformance.py` in this folder.

Each `check_*` yields, for one case of a file (its format is in the file's README), the name of a
result, our value of it and the reference's. In the files rows are turns.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from sampo import advantages as adv
from sampo import losses as ls
from sampo.episode import Episode, EpisodeGroup, StopReason, Turn

Case = dict[str, Any]
Checks = Iterator[tuple[str, Tensor, Any]]

AGGREGATIONS: dict[str, Any] = {
    "token-mean": "token_mean",
    "seq-mean-token-sum": "sequence_mean_token_sum",
    "seq-mean-token-mean": "sequence_mean_token_mean",
}
SURROGATES: dict[str, Callable[[dict[str, Any], Case], ls.Surrogate]] = {
    "vanilla": lambda clip, c: ls.Clip(dual_clip=c["clip_ratio_c"], **clip),
    "gspo": lambda clip, c: ls.Clip(**clip),
    "sapo": lambda clip, c: ls.SoftGate(
        tau_positive=c["tau_pos"], tau_negative=c["tau_neg"], **clip
    ),
    "cispo": lambda clip, c: ls.DetachedClip(**clip),
    "geo_mean": lambda clip, c: ls.GeometricMean(**clip),
    "aepo": lambda clip, c: ls.EntropyBalanced(dual_clip=c["clip_ratio_c"], **clip),
}
OVER: dict[Any, Any] = {("grpo", "episodes"): "episodes", ("rloo", "episodes"): "first_turns"}
NORMALISE: dict[str, Any] = {"mean_norm": "mean", "mean_std_norm": "mean_std"}
GIGPO_KEYS = ("gamma", "step_weight", "similarity")
ROW_KEYS = ("group", "episode", "step_reward", "valid", "anchor")


def tensor(values: Any) -> Tensor:
    """Return nested numbers in double precision."""
    return torch.tensor(values, dtype=torch.float64)


def row_numbers(mask: Tensor, numbers: Sequence[int]) -> Tensor:
    """Return `[B, L]`: the number of each row on its action tokens, -1 elsewhere."""
    return torch.where(mask, torch.tensor(numbers)[:, None].expand(mask.shape), -1)


def policy_loss(case: Case) -> ls.PolicyLoss:
    """Return the objective that a loss case stands for."""
    name, config = case["loss_name"], case["config"]
    clip = {
        f"clip_{side}": config["clip_ratio"] if bound is None else bound
        for side in ("low", "high")
        for bound in [config[f"clip_ratio_{side}"]]
    }
    by_turn = name in ("gspo", "geo_mean")
    masking = ls.SequenceMask(threshold=config["seq_mask_delta"])
    kind = "sequence_mean_token_mean" if by_turn else AGGREGATIONS[case["agg"]]
    free = name in ("geo_mean", "aepo")  # the reference does not bound them; 80 keeps fp32 finite
    bounds: dict[str, Any] = {"log_min": -80.0, "log_max": 80.0} if free else {}
    return ls.PolicyLoss(
        ratio=ls.Ratio(level="turn" if by_turn else "token", **bounds),
        surrogate=SURROGATES[name](clip, config),
        aggregation=ls.Aggregation(kind=kind),
        masking=masking if config["use_seq_mask"] and "num_masked_seqs" in case else None,
        kl_coef=0.0,
    )


def check_loss(case: Case) -> Checks:
    """Yield the name, our value and the reference of what one loss case holds."""
    loss, mask = policy_loss(case), tensor(case["mask"]).bool()
    logprobs, old = tensor(case["log_prob"]).requires_grad_(), tensor(case["old_log_prob"])
    rows = row_numbers(mask, list(range(len(mask))))
    entropy = tensor(case.get("entropy", case["log_prob"]))
    inputs = ls.LossInputs(
        logprobs=logprobs,
        old_logprobs=old,
        advantages=tensor(case["advantages"]),
        action_mask=mask,
        turn_ids=rows,
        episode_ids=rows,
        weights=torch.zeros(mask.shape),
        entropy_zscores=ls.EntropyMoments.of(entropy, mask).zscores(entropy, mask),
    )
    plan = loss.plan(inputs, log_ratio=(logprobs - old).detach(), advantages=inputs.advantages)
    # The reference's means over rows count empty and rejected ones, save seq-mean-token-mean's.
    every_row = case["loss_name"] == "geo_mean" or case["agg"] == "seq-mean-token-sum"
    count = tensor(len(mask)) if every_row and case["loss_name"] != "gspo" else None
    output = loss(replace(inputs, weights=plan.surrogate.normalised(count), keep=plan.keep))
    yield "loss", output.loss, case["loss"]
    yield "grad_log_prob", torch.autograd.grad(output.loss, logprobs)[0], case["grad_log_prob"]
    for name in ("clip_fraction", "clip_fraction_lower"):
        yield name, tensor(output.metrics[name].value), case[name]
    yield "approx_kl", tensor(output.metrics["approx_kl_kept"].value), case["approx_kl"]
    if "num_masked_seqs" in case:
        rejected = (mask & ~plan.keep).any(dim=1).sum()
        yield "num_masked_seqs", rejected.double(), case["num_masked_seqs"]


def groups_of(case: Case) -> Iterator[EpisodeGroup]:
    """Return the groups of an advantage case; its rows are by group, episode and turn."""
    turns: dict[str, dict[str, list[Turn]]] = defaultdict(lambda: defaultdict(list))
    columns = zip(*(case[key] for key in ROW_KEYS), strict=True)
    for group, episode, reward, valid, anchor in columns:
        penalty = 0.0 if valid else case["format_penalty"]
        turn = Turn(observation="", reply="", action=None, reward=reward, penalty=penalty)
        turns[group][episode].append(replace(turn, state_key=anchor))
    ended: dict[str, Any] = {"seed": 0, "success": False, "stop_reason": StopReason.TERMINATED}
    for task, rows in turns.items():
        episodes = tuple(Episode(task=task, turns=tuple(row), **ended) for row in rows.values())
        yield EpisodeGroup(task=task, seed=0, episodes=episodes)


def estimator_of(case: Case) -> adv.AdvantageEstimator:
    """Return the estimator that an advantage case stands for (its first stage)."""
    name = case["estimator"]
    over: dict[str, Any] = {"baseline_over": OVER.get((name, case.get("baseline_over")), "turns")}
    if name == "grpo":
        return adv.GRPO(divide_by_std=case["divide_by_std"], singleton="score", **over)
    if name == "rloo":
        return adv.RLOO(singleton="score", **over)
    if name != "gigpo":
        return adv.TurnScore()
    fields: dict[str, Any] = {key: case.get(key) for key in GIGPO_KEYS}
    return adv.GiGPO(normalise=NORMALISE[case["normalise"]], singleton="score", **fields)


def check_advantage(case: Case) -> Checks:
    """Yield the same of an advantage case."""
    estimator = estimator_of(case)
    turns = tensor([a for group in groups_of(case) for row in estimator(group) for a in row])
    if "advantage" in case:
        yield "advantage", turns, case["advantage"]
        return
    mask = tensor(case["mask"]).bool()
    inputs = adv.BatchAdvantageInputs(
        advantages=tensor(case.get("input_token_advantage", turns[:, None].tolist())) * mask,
        action_mask=mask,
        turn_ids=row_numbers(mask, list(range(len(mask)))),
        episode_ids=row_numbers(mask, list(map(case["episode"].index, case["episode"]))),
        entropy=tensor(case["entropy"]) if "entropy" in case else None,
    )
    stage: adv.BatchAdvantage = adv.Whiten(gamma=case["gamma"])
    if case["estimator"] == "empg":
        stage = adv.EntropyModulation(k=case["k"], k_future=case["k_f"], zeta=case["zeta"])
    yield "token_advantage", stage(inputs).advantages, case["token_advantage"]
