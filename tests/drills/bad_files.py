"""The files that the drill of bad inputs names: made on the spot, each broken in one way."""

from __future__ import annotations

import os
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import torch

from tiny import save_tiny_policy
from training import make_data, make_module, make_trainer

_YAML = {
    "list": "[1, 2]",
    "scalar": "fast",
    "broken": "model: {policy: [nano",
    "tabs": "model:\n\tpolicy: nano-sokoban\n",
    "modle": "modle: {learning_rate: 1}",
    "sise": "data: {group_sise: 4}",
    "env_sise": "data: {env: {class_path: sampo.envs.Corridor, init_args: {lenght: 4}}}",
    "class": "data: {env: {class_path: sampo.envs.Corridr}}",
    "kind": "model: {loss: {surrogate: {class_path: sampo.advantages.GRPO}}}",
    "null": "model: {loss: null}",
    "linked": "data: {tokenizer: nano-sokoban}",
    "text": "data: {group_size: many}",
    "every_n": "trainer: {callbacks: [{class_path: sampo.callbacks.Checkpoints, init_args: "
    "{every_n_updates: 0}}]}",
    "monitor": "trainer: {callbacks: [{class_path: sampo.callbacks.WeightSync}, {class_path: "
    "sampo.callbacks.Checkpoints, init_args: {monitor: eval/succes}}]}",
}
_MODULES = {
    "needs_more": "import a_package_that_is_not_there\n",
    "broken_init": "from sampo.envs import Corridor\nclass Env(Corridor):\n"
    "    def __init__(self):\n        raise KeyError('level')\n",
    "no_tasks": "from sampo.envs import Corridor\nclass Env(Corridor):\n"
    "    def tasks(self, split):\n        return []\n",
    "fails": "from sampo.envs import Corridor\nclass Env(Corridor):\n"
    "    def reset(self, *, seed=None, options=None):\n"
    "        raise RuntimeError('no simulator here')\n",
    "mute": "from sampo.envs import TextEnv\nclass Env(TextEnv):\n    max_turns = 3\n",
}


def make_files(root: Path) -> dict[str, str]:
    """Make every file; return the path of each by its name in the cases."""
    text = root / "notes.txt"
    text.write_text("nothing of the kind\n")
    empty = root / "empty_folder"
    empty.mkdir()
    for name, source in _MODULES.items():
        (root / f"{name}.py").write_text(source)
    paths = {"text": text, "empty_folder": empty, "save": root / "runs", "fresh": root / "fresh"}
    paths["save"].mkdir()
    paths |= _configs(root) | _policies(root) | _tables(root)
    paths |= _checkpoints(root, str(paths["policy"]))
    return {name: str(path) for name, path in paths.items()}


def _configs(root: Path) -> dict[str, Path]:
    for name, content in _YAML.items():
        (root / f"{name}.yaml").write_text(content)
    (root / "binary.yaml").write_bytes(b"\xff\xfe\x00model")
    grid = root / "grid.yaml"
    grid.write_text("sedes: [1, 2]\n")
    return {f"{name}_yaml": root / f"{name}.yaml" for name in [*_YAML, "binary"]} | {
        "bad_grid": grid
    }


def _policies(root: Path) -> dict[str, Path]:
    good = root / "policy"
    save_tiny_policy(good)
    names = ("damaged", "broken", "mute", "plain", "pickled", "alien")
    folders = {name: root / f"{name}_policy" for name in names}
    for folder in folders.values():
        shutil.copytree(good, folder)
    (folders["damaged"] / "model.safetensors").write_bytes(b"\x00" * 100)
    (folders["broken"] / "config.json").write_text("{")
    for file in folders["mute"].glob("*token*"):
        file.unlink()
    (folders["plain"] / "chat_template.jinja").unlink()
    (folders["pickled"] / "model.safetensors").unlink()
    torch.save({}, folders["pickled"] / "pytorch_model.bin")
    config = folders["alien"] / "config.json"
    config.write_text(config.read_text().replace('"qwen3"', '"alien"'))
    return {"policy": good} | {f"{name}_policy": folder for name, folder in folders.items()}


def _tables(root: Path) -> dict[str, Path]:
    other, cut = root / "other.parquet", root / "cut.parquet"
    pq.write_table(pa.table({"prompt": ["a"], "answer": ["b"]}), other)
    cut.write_bytes(other.read_bytes()[:-20])
    return {"other_parquet": other, "cut_parquet": cut}


class _Bomb:
    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.system, ("touch exploded",)


def _checkpoints(root: Path, policy: str) -> dict[str, Path]:
    """Make a checkpoint by a short run, and damage copies of it."""
    make_trainer(root / "good", epochs=1).fit(make_module(policy), datamodule=make_data(policy))
    good = root / "good" / "version_0" / "checkpoints" / "last.ckpt"
    content = good.read_bytes()
    middle = len(content) // 2
    raw = {
        "empty": b"",
        "cut": content[:middle],
        "flipped": content[:middle] + bytes(b ^ 255 for b in content[middle:][:4096])
        + content[middle + 4096 :],
    }  # fmt: skip
    for name, data in raw.items():
        (root / f"{name}.ckpt").write_bytes(data)
    with zipfile.ZipFile(root / "zip.ckpt", "w") as archive:
        archive.writestr("notes.txt", "nothing of the kind")
    loaded = torch.load(good, weights_only=True)
    weights = loaded["state_dict"]
    first = next(iter(weights))
    changed = {
        "bomb": {**loaded, "sampo": _Bomb()},
        "other": {"state_dict": weights},
        "list": [1, 2],
        "no_counters": {**loaded, "sampo": {}},
        "no_optimizer": {k: v for k, v in loaded.items() if k != "optimizer_states"},
        "no_cursor": {k: v for k, v in loaded.items() if k != "RolloutDataModule"},
        "no_weight": {**loaded, "state_dict": {k: v for k, v in weights.items() if k != first}},
        "wide": {**loaded, "state_dict": {k: torch.cat([v, v], -1) for k, v in weights.items()}},
        "weights": weights,
    }
    for name, checkpoint in changed.items():
        torch.save(checkpoint, root / f"{name}.ckpt")
    return {f"{name}_ckpt": root / f"{name}.ckpt" for name in [*raw, "zip", *changed]} | {
        "good_ckpt": good
    }
