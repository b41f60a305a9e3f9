"""The last words of a run."""

import pytest

from sampo.callbacks.episode_writer import EpisodeWriter
from sampo.callbacks.run_summary import RunSummary, describe_folder

from .conftest import Bystander


class Improving(Bystander):
    """Reports a given success rate per evaluation."""

    def __init__(self, rates, **kwargs):
        super().__init__(**kwargs)
        self.rates = iter(rates)

    def on_validation_epoch_end(self):
        success = next(self.rates)
        if self.trainer.sanity_checking:
            self.trainer.callback_metrics["eval/success_rate"] = success
        else:
            self.log("eval/success_rate", success)


def test_finished_run(fit, run_path, capsys):
    fit([EpisodeWriter(), RunSummary()], module=Improving([0.25, 0.75, 0.5]))
    lines = capsys.readouterr().out.splitlines()
    start = lines.index("Finished after 4 updates.")
    assert lines[start + 1] == (
        "Success on held-out tasks: 0.250 (update 0) -> 0.500 (4), best 0.750 (2)."
    )
    assert lines[start + 2].split() == ["episodes", str(run_path / "episodes")]
    assert lines[start + 3 :] == ["Next:", f"  sampo view {run_path}"]


def test_no_best_where_the_last_is_the_best(fit, capsys):
    fit([RunSummary()], module=Improving([0.25, 0.5, 0.5]))
    assert "0.250 (update 0) -> 0.500 (4).\n" in capsys.readouterr().out


def test_stopped_run(fit, capsys):
    with pytest.raises(SystemExit):
        fit([RunSummary()], module=Improving([0.25, 0.5], fail_at=3))
    assert "Stopped after 3 updates." in capsys.readouterr().out


def test_a_failed_run_ends_with_its_error_alone(fit, capsys):
    class Failing(Bystander):
        def training_step(self, batch, batch_idx):
            raise ArithmeticError

    with pytest.raises(ArithmeticError):
        fit([RunSummary()], module=Failing())
    assert "updates" not in capsys.readouterr().out


def test_commands_name_what_is_there(tmp_path):
    folder = tmp_path / "sampo" / "version_3"
    (folder / "checkpoints").mkdir(parents=True)
    for name in ("checkpoints/last.ckpt", "config.yaml", "events.out.tfevents.1"):
        (folder / name).touch()
    lines = describe_folder(folder, folder.parent)
    assert [line.split()[0] for line in lines[:4]] == ["checkpoint", "config", "curves", "Next:"]
    use = f"--config {folder}/config.yaml --ckpt_path {folder}/checkpoints/last.ckpt"
    assert lines[4:] == [
        f"  sampo view {folder}",
        f"  tensorboard --logdir {folder.parent}",
        f"  sampo evaluate {use}",
        f"  sampo export {use} --output {folder}/exported",
    ]


def test_a_clone_is_where_reinforcement_learning_starts(tmp_path):
    (tmp_path / "hf").mkdir()
    lines = describe_folder(tmp_path, tmp_path.parent)
    assert lines[0].split() == ["policy", f"{tmp_path}/hf"]
    assert lines[1:] == ["Next:", f"  sampo fit --config CONFIG --model.policy {tmp_path}/hf"]


def test_an_empty_folder_promises_nothing(tmp_path):
    assert describe_folder(tmp_path, tmp_path) == []
