"""Names, ties and whole weights under FSDP's first version; training is in tests/distributed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch import nn

from sampo.errors import ConfigError
from sampo.flat_shards import (
    clean,
    flat_roots,
    is_flat,
    put_whole,
    shard_flat,
    units_of,
    whole_bytes,
    whole_shapes,
    whole_state,
)
from sampo.models.policy import Policy
from sampo.models.sharding import Sharding, _shard_flat, plain
from tiny import tiny_model

pytestmark = pytest.mark.filterwarnings("ignore:FSDP is switching to use `NO_SHARD`")
CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def alone(tmp_path: Path) -> Iterator[None]:
    """A process group of one."""
    store = f"file://{tmp_path / 'store'}"
    dist.init_process_group("gloo", init_method=store, rank=0, world_size=1)
    yield
    dist.destroy_process_group()


class Tied(nn.Module):
    """A layer, a buffer, and an output that is the input's; checkpoints leave the layer out."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(5, 3)
        self.layers = nn.ModuleList([nn.Linear(3, 3)])
        self.head = nn.Linear(3, 5, bias=False)
        self.head.weight = self.embed.weight
        self.norm = nn.BatchNorm1d(3, affine=False)
        self.register_state_dict_post_hook(self._leave_out)

    @staticmethod
    def _leave_out(module: nn.Module, state: dict, prefix: str, metadata: dict) -> None:
        del state[f"{prefix}layers.0.bias"]

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.head(self.layers[0](self.embed(ids)))


def sharded(module: nn.Module, **options: object) -> nn.Module:
    settings = {"keep_gathered": False, "mixed": lambda unit: False, **options}
    units = list(module.layers)  # pyright: ignore[reportArgumentType]
    return shard_flat(module, units, device=CPU, **settings)  # pyright: ignore[reportArgumentType]


def test_weights_keep_their_names_and_values() -> None:
    module = Tied()
    before = {name: p.detach().clone() for name, p in module.named_parameters()}
    size = 4 * sum(p.numel() for p in module.parameters())
    root = sharded(module)
    assert is_flat(root)
    assert not is_flat(module)
    units = [{n: p.detach().clone() for n, p in unit.items()} for unit in units_of(root)]
    assert [set(unit) for unit in units] == [{"embed.weight"}, {"layers.0.weight", "layers.0.bias"}]
    for unit in units:
        for name, weight in unit.items():
            assert torch.equal(weight, before[name])
    assert whole_bytes(root) == size


def test_a_state_has_ties_and_buffers_and_what_is_saved_is_the_modules_choice() -> None:
    module = Tied()
    expected = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    bias = module.layers[0].bias.detach().clone()  # pyright: ignore
    root = sharded(module)
    saved = {key: tensor.clone() for key, tensor in whole_state(root, saved=True)}
    assert saved.keys() == expected.keys()
    assert "head.weight" in saved
    for key, tensor in saved.items():
        assert torch.equal(tensor, expected[key]), key
    everything = dict(whole_state(root))
    assert everything.keys() - saved.keys() == {"layers.0.bias"}
    assert torch.equal(everything["layers.0.bias"], bias)
    assert whole_shapes(root)["embed.weight"] == (5, 3)
    assert "layers.0.bias" not in whole_shapes(root)


def test_whole_weights_come_back_and_what_is_not_given_stays() -> None:
    root, other = sharded(Tied()), Tied()
    bias = dict(whole_state(root))["layers.0.bias"].clone()
    other.norm.running_mean.fill_(3.0)  # pyright: ignore
    put_whole(root, other.state_dict())
    now = {key: tensor.clone() for key, tensor in whole_state(root)}
    for key, tensor in other.state_dict().items():
        assert torch.equal(now[key], tensor), key
    assert torch.equal(now["layers.0.bias"], bias)
    ids = torch.tensor([1, 2])
    other.layers[0].bias.data.copy_(bias)  # pyright: ignore
    assert torch.equal(root(ids), other(ids))


def test_roots_are_found_in_what_holds_them() -> None:
    holder = nn.Module()
    holder.policy = sharded(Tied())
    assert list(flat_roots(holder)) == ["policy"]
    names = {clean(name) for name, _ in holder.named_parameters()}
    assert names == {"policy.embed.weight", "policy.layers.0.weight", "policy.layers.0.bias"}


def test_weights_of_several_types_are_refused() -> None:
    module = Tied()
    module.layers[0].weight.data = module.layers[0].weight.data.bfloat16()  # pyright: ignore
    with pytest.raises(ConfigError, match=r"Linear.*torch\.bfloat16, torch\.float32.*fsdp2"):
        sharded(module)


def test_a_policy_is_wrapped_and_its_plain_structure_kept() -> None:
    policy = Policy(tiny_model())
    names = set(policy.state_dict())
    root = _shard_flat(policy, CPU, Sharding(), "32-true")
    assert root is not policy
    assert set(plain(root).state_dict()) == names
    assert {key for key, _ in whole_state(root)} == names


def test_offloading_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"works under trainer\.strategy fsdp2"):
        _shard_flat(Policy(tiny_model()), CPU, Sharding(cpu_offload=True), "32-true")
