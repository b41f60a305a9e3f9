"""Which weights a model of vLLM's shape does not compute with, on a stand-in for one."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from sampo.rollout.vllm_worker import WeightReceiver
from sampo.rollout.weight_proof import checksum


class PackedLinear(nn.Module):
    """Multiplies by a packed copy; the parameter itself is gone, as in vLLM's CPU build."""

    def __init__(self, *parts: Tensor) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(0), requires_grad=False)
        self.packed = torch.cat(parts)
        self.quant_method = self

    def apply(self, layer: PackedLinear, x: Tensor, bias: None) -> Tensor:
        return x @ layer.packed.t()


class VocabParallelEmbedding(nn.Module):
    """Rows padded to a multiple of 8; it looks up and does not multiply."""

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        padding = torch.zeros(-len(weight) % 8, weight.shape[1])
        self.weight = nn.Parameter(torch.cat([weight, padding]), requires_grad=False)
        self.quant_method = self


class Norm(nn.Module):
    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight.clone(), requires_grad=False)


class FusedModel(nn.Module):
    """One attention projection of three parts, a norm, an embedding and its tied head."""

    packed_modules_mapping = {"qkv_proj": ["q_proj", "k_proj", "v_proj"]}  # noqa: RUF012

    def __init__(self, sent: dict[str, Tensor]) -> None:
        super().__init__()
        self.attn = nn.Module()
        parts = [sent[f"attn.{part}_proj.weight"] for part in "qkv"]
        self.attn.qkv_proj = PackedLinear(*parts)
        self.norm = Norm(sent["norm.weight"])
        self.embed_tokens = VocabParallelEmbedding(sent["embed_tokens.weight"])
        self.lm_head = PackedLinear(sent["embed_tokens.weight"])


@pytest.fixture
def sent() -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(0)
    shapes = {"attn.q_proj": (6, 4), "attn.k_proj": (2, 4), "attn.v_proj": (2, 4)}
    shapes |= {"norm": (4,), "embed_tokens": (11, 4)}
    return {f"{k}.weight": torch.randn(shape, generator=generator) for k, shape in shapes.items()}


@pytest.fixture
def worker(sent: dict[str, Tensor]) -> WeightReceiver:
    made = WeightReceiver()
    model = FusedModel(sent)
    made.device = torch.device("cpu")
    made.parallel_config = SimpleNamespace(tensor_parallel_size=1)
    made.model_runner = SimpleNamespace(
        get_model=lambda: model, reload_weights=lambda weights_iterator: list(weights_iterator)
    )
    return made


def test_a_model_that_has_everything(worker, sent, tmp_path: Path):
    save_file(sent, tmp_path / "model.safetensors")
    assert worker.sampo_differing(str(tmp_path)) == []
    assert worker.sampo_load(str(tmp_path)) == {n: checksum(w) for n, w in sent.items()}


@pytest.mark.parametrize(
    "name", ["attn.q_proj.weight", "attn.k_proj.weight", "attn.v_proj.weight", "norm.weight"]
)
def test_one_number_that_is_another_names_its_weight(worker, sent, tmp_path: Path, name: str):
    """Parts of a fused layer are told apart: of q, k and v, one after the other in its output."""
    changed = {**sent, name: sent[name].clone()}
    changed[name].view(-1)[1] += 0.5
    save_file(changed, tmp_path / "model.safetensors")
    assert worker.sampo_differing(str(tmp_path)) == [name]


def test_a_stale_tied_head_is_named_by_what_it_is_tied_to(worker, sent, tmp_path: Path):
    save_file(sent, tmp_path / "model.safetensors")
    worker.model_runner.get_model().lm_head.packed = sent["embed_tokens.weight"] * 1.01
    assert worker.sampo_differing(str(tmp_path)) == ["embed_tokens.weight"]


def test_half_precision_rounds(worker, sent, tmp_path: Path):
    """bfloat16 keeps 8 bits: differences of its rounding are no fault, of a fifth are."""
    model = worker.model_runner.get_model()
    model.attn.qkv_proj.packed = model.attn.qkv_proj.packed.bfloat16().float()
    model.norm.weight.data = sent["norm.weight"].bfloat16()
    save_file(sent, tmp_path / "model.safetensors")
    assert "norm.weight" not in worker.sampo_differing(str(tmp_path))
    model.norm.weight.data = (sent["norm.weight"] * 1.2).bfloat16()
    assert "norm.weight" in worker.sampo_differing(str(tmp_path))


def test_shards_are_not_compared(worker, sent, tmp_path: Path):
    """Under tensor parallelism a worker holds a part of each weight only."""
    save_file({"norm.weight": sent["norm.weight"] + 1}, tmp_path / "model.safetensors")
    worker.parallel_config.tensor_parallel_size = 2
    assert worker.sampo_differing(str(tmp_path)) == []
