"""Every method through the real scorer and module: one law of normalisation, everything wired."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from sampo.advantages import GAE, BatchAdvantage, EntropyModulation, KLReward, Whiten
from sampo.batch import RolloutBatch
from sampo.errors import ConfigError
from sampo.losses import (
    AdaptiveKL,
    Aggregation,
    Clip,
    DetachedClip,
    EntropyBalanced,
    GeometricMean,
    OffPolicyCorrection,
    PolicyLoss,
    Ratio,
    SequenceMask,
    SoftGate,
    ValueLoss,
)
from sampo.models.policy import Policy
from sampo.models.reference import Reference
from sampo.module import SampoModule
from sampo.scoring import Scorer
from sampo.update_log import UpdateLog
from test_module import rollout, train
from tiny import save_tiny_policy

TOKEN = Ratio(level="token")
TOKENS = Aggregation(kind="token_mean")
METHODS: dict[str, tuple[PolicyLoss, BatchAdvantage | None]] = {
    "sampo": (PolicyLoss(), None),
    "grpo": (PolicyLoss(ratio=TOKEN, surrogate=Clip(dual_clip=3.0), aggregation=TOKENS), None),
    "drgrpo": (PolicyLoss(aggregation=Aggregation(kind="sum_over_max_length", max_length=3)), None),
    "sapo_sm": (
        PolicyLoss(
            ratio=TOKEN,
            surrogate=SoftGate(),
            aggregation=TOKENS,
            masking=SequenceMask(threshold=0.003),
        ),
        None,
    ),
    "cispo": (PolicyLoss(ratio=TOKEN, surrogate=DetachedClip(), aggregation=TOKENS), None),
    "gmpo": (PolicyLoss(surrogate=GeometricMean()), None),
    "aepo": (PolicyLoss(ratio=TOKEN, surrogate=EntropyBalanced(), aggregation=TOKENS), None),
    "empg": (PolicyLoss(ratio=TOKEN, surrogate=Clip(), entropy_coef=0.01), EntropyModulation()),
    "reinforce_pp": (PolicyLoss(ratio=TOKEN, surrogate=Clip()), Whiten(kl_coef=0.1)),
    "kl_reward": (PolicyLoss(), KLReward(kl_coef=0.1)),
    "truncated": (PolicyLoss(correction=OffPolicyCorrection(level="token", upper=1.1)), None),
    "masked": (
        PolicyLoss(correction=OffPolicyCorrection(kind="mask", level="turn", lower=0.8)),
        KLReward(kl_coef=0.1),
    ),
    "episodes": (PolicyLoss(correction=OffPolicyCorrection()), None),
    "ppo": (PolicyLoss(ratio=TOKEN, surrogate=Clip(), value=ValueLoss()), GAE()),
}
every_method = pytest.mark.parametrize("method", METHODS)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> str:
    return save_tiny_policy(tmp_path_factory.mktemp("policy"))


def double(batch: RolloutBatch) -> RolloutBatch:
    """Return the batch with double-precision numbers, and log-probs that are not the policy's."""
    return replace(
        batch,
        advantages=batch.advantages.double(),
        sampling_logprobs=batch.sampling_logprobs.double(),
    )


def rearranged(batch: RolloutBatch, order: list[int], extra: int) -> RolloutBatch:
    """Return the rows in another order and with more padding."""
    rows = batch.select(torch.tensor(order))

    def wide(values: torch.Tensor, fill: float) -> torch.Tensor:
        return torch.nn.functional.pad(values, (0, extra), value=fill)

    return replace(
        rows,
        token_ids=wide(rows.token_ids, 3),
        action_mask=wide(rows.action_mask, False),
        turn_ids=wide(rows.turn_ids, -1),
        episode_ids=wide(rows.episode_ids, -1),
        advantages=wide(rows.advantages, 0.0),
        sampling_logprobs=wide(rows.sampling_logprobs, 0.0),
    )


def gradient(method: str, source: str, batch: RolloutBatch, budget: int) -> torch.Tensor:
    """Return the gradient of one optimiser step that is off-policy and away from the reference."""
    loss, stage = METHODS[method]
    torch.manual_seed(0)
    policy = Policy.load(source).double()
    reference = Reference.copy_of(policy)
    if loss.value is not None:
        policy.add_value_head()
        policy.double()
    scorer = Scorer(
        policy=policy,
        reference=reference,
        loss=loss,
        stage=stage,
        temperature=1.0,
        micro_batch_tokens=budget,
    )
    scored = scorer.score(batch, unchanged=False)
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter += 0.02 * torch.randn_like(parameter)
    scored = scorer.plan(scored)
    for rows in scorer.passes(batch):
        loss(scorer.loss_inputs(scored.select(rows))).loss.backward()
    return torch.cat([p.grad.flatten() for p in policy.parameters() if p.grad is not None])


@every_method
def test_split_order_and_padding_change_no_gradient(method: str, source: str) -> None:
    batch = double(rollout())
    whole = gradient(method, source, batch, budget=10_000)
    assert whole.abs().max() > 1e-6
    split = gradient(method, source, batch, budget=1)
    assert torch.allclose(split, whole, rtol=1e-6, atol=1e-9)
    mixed = rearranged(batch, [3, 0, 5, 1, 4, 2], extra=7)
    assert torch.allclose(gradient(method, source, mixed, budget=40), whole, rtol=1e-6, atol=1e-9)


@every_method
def test_every_method_trains_and_reports(method: str, source: str, tmp_path: Path) -> None:
    loss, stage = METHODS[method]
    module = SampoModule(source, loss, stage, learning_rate=1e-3, num_mini_batches=2, epochs=2)
    train(module, [rollout(0), rollout(1)], tmp_path)
    assert module.last_update is not None
    values = module.last_update.values
    assert values["optimizer_steps"] == 4.0 and values["skipped_steps"] == 0.0
    assert values["grad_norm"] > 0.0 and values["ref_kl"] > 0.0
    assert all(value == value for value in values.values()), "a NaN among the metrics"
    tokens = module.last_update.last_pass()
    assert sorted(tokens.turn.tolist()) == [0, 1, 1, 2, 2, 2, 3, 4, 4, 5, 5, 5]


def test_the_second_stage_changes_what_is_learned(source: str, tmp_path: Path) -> None:
    weights = []
    for stage in (None, EntropyModulation(), KLReward(kl_coef=5.0)):
        loss = PolicyLoss(ratio=TOKEN, surrogate=Clip())
        module = SampoModule(source, loss, stage, learning_rate=1e-3)
        train(module, [rollout(0), rollout(1)], tmp_path)
        assert module.policy is not None
        weights.append(torch.cat([p.detach().flatten() for p in module.policy.parameters()]))
    assert not torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_values_learn_the_return(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All turns earn 2: the head's error falls from 4 towards 0."""
    loss = PolicyLoss(ratio=TOKEN, surrogate=Clip(), value=ValueLoss(clip=None))
    stage = GAE(chain="turn", whiten=False)
    module = SampoModule(source, loss, stage, learning_rate=1e-4, value_learning_rate=0.05)
    errors = []
    batches = [rollout(version) for version in range(12)]
    batches = [replace(b, advantages=2.0 * b.action_mask.float()) for b in batches]
    original = UpdateLog.report

    def remember(log: UpdateLog, *others, **more) -> None:
        errors.append(log.values["value_error"])
        original(log, *others, **more)

    monkeypatch.setattr(UpdateLog, "report", remember)
    train(module, batches, tmp_path)
    assert errors[0] == pytest.approx(4.0)
    assert errors[-1] < 0.5


def test_adaptive_coefficient_is_used_and_kept(source: str, tmp_path: Path) -> None:
    steer = AdaptiveKL(target=1e-6, horizon=1)
    module = SampoModule(
        source, PolicyLoss(kl_coef=0.01), adaptive_kl=steer, learning_rate=1e-2, num_mini_batches=3
    )
    train(module, [rollout(0), rollout(1)], tmp_path)
    assert module.scorer.loss.kl_coef == pytest.approx(0.012)
    assert module.controls.kl_coef == pytest.approx(0.0144)
    checkpoint: dict = {"state_dict": {}, "hyper_parameters": dict(module.hparams)}
    module.on_save_checkpoint(checkpoint)
    other = SampoModule(source, PolicyLoss(), adaptive_kl=steer)
    other.on_load_checkpoint(checkpoint)
    assert other.controls.kl_coef == module.controls.kl_coef


def test_a_value_head_is_left_out_where_it_has_no_use(source: str) -> None:
    module = SampoModule(source, PolicyLoss())
    weights = {"policy.model.x": torch.zeros(1), "policy.value_head.weight": torch.zeros(1)}
    checkpoint: dict = {"state_dict": weights, "hyper_parameters": dict(module.hparams)}
    module.on_save_checkpoint(checkpoint)
    module.on_load_checkpoint(checkpoint)
    assert list(weights) == ["policy.model.x"]


def test_fixed_length_sums_take_the_reply_limit(source: str) -> None:
    loss = PolicyLoss(aggregation=Aggregation(kind="sum_over_max_length"))
    module = SampoModule(source, loss, max_new_tokens=8)
    assert module.loss.aggregation.max_length == 8
    with pytest.raises(ConfigError, match="whole episodes"):
        PolicyLoss(aggregation=Aggregation(kind="sum_over_max_length", level="episode"))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("learning_rate", float("nan")),
        ("max_grad_norm", -1.0),
        ("max_grad_norm", 0.0),
        ("micro_batch_tokens", 0),
        ("value_learning_rate", 0.0),
        ("warmup_updates", -3),
        ("weight_decay", -1.0),
        ("betas", (1.5, 2.0)),
    ],
)
def test_numbers_that_cannot_work_are_refused(source: str, name: str, value: float) -> None:
    with pytest.raises(ConfigError, match=rf"model\.{name} must"):
        SampoModule(source, PolicyLoss(), **{name: value})


def test_the_reference_takes_the_precision_of_the_policy(source: str) -> None:
    policy = Policy.load(source)
    reference = Reference.copy_of(policy)
    policy.to(torch.bfloat16)
    assert reference.policy.head_weight.dtype == torch.float32
    reference.follow(policy)
    assert reference.policy.head_weight.dtype == torch.bfloat16
