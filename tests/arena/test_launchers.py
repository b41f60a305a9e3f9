"""Launchers keep one contract: this machine, a real local Ray, and Slurm with stand-in programs."""

import os
import shutil
import sys
import threading
import time
from pathlib import Path

import pytest

from sampo.arena.launchers import (
    LocalLauncher,
    RayLauncher,
    SlurmLauncher,
    make_launcher,
    visible_gpus,
)
from sampo.arena.runner import Runner
from sampo.errors import ConfigError, MissingDependencyError

FAKE = Path(__file__).with_name("fake_slurm.py")


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    """Return the folder of the stand-in programs, which holds what was submitted."""
    folder = tmp_path / "slurm_programs"
    folder.mkdir()
    for name in ("sbatch", "srun", "sacct", "scancel"):
        (folder / name).write_text(f"#!{sys.executable}\n{FAKE.read_text()}")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


@pytest.fixture(scope="module")
def ray():
    """Start a Ray of our own with two CPUs."""
    ray = pytest.importorskip("ray", reason="Ray is not installed")
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield ray
    ray.shutdown()


@pytest.fixture(
    params=["local", pytest.param("ray", marks=pytest.mark.slow), "slurm"],
)
def launcher(request, tmp_path):
    """Return each launcher in turn."""
    if request.param == "local":
        return LocalLauncher()
    request.getfixturevalue(request.param)
    resources = {"timeout_min": 9} if request.param == "slurm" else {}
    return make_launcher(request.param, resources, tmp_path)


def alive(pid):
    """Return whether a process runs; one that nobody has waited for yet does not."""
    try:
        status = Path("/proc", pid, "status").read_text()
    except FileNotFoundError:
        return False
    return "State:\tZ" not in status


def python(code):
    return [sys.executable, "-c", code]


def test_a_command_runs_where_the_arena_does_and_its_code_comes_back(launcher, tmp_path):
    code = "import os, sys; print(os.getcwd()); sys.exit(3)"
    assert launcher.execute(python(code), tmp_path, "log") == 3
    assert (tmp_path / "log").read_text() == f"{Path.cwd()}\n"


def test_stopping_ends_what_runs(launcher, tmp_path):
    code = (
        "import os, pathlib, time; "
        f"pathlib.Path({str(tmp_path)!r}, 'pid').write_text(str(os.getpid())); time.sleep(120)"
    )
    codes = []
    caller = threading.Thread(
        target=lambda: codes.append(launcher.execute(python(code), tmp_path, "log"))
    )
    started = time.monotonic()
    caller.start()
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        assert time.monotonic() - started < 60
        time.sleep(0.02)
    launcher.stop()
    caller.join()
    assert codes
    assert codes[0] != 0
    assert time.monotonic() - started < 100
    while alive((tmp_path / "pid").read_text()):
        assert time.monotonic() - started < 100
        time.sleep(0.05)


def test_a_grid_has_the_same_rules_under_each(launcher, write, tmp_path, monkeypatch):
    """One run of four fails, is told, and is all that the second time makes."""

    def command(grid, run, folder):
        note = f"open({str(folder / 'count')!r}, 'a').write('x')"
        bad = run.name == "sokoban/grpo/seed_1" and not (folder / "count").exists()
        fail = "; raise SystemExit('sampo: error: no luck.')" if bad else ""
        return python(f"{note}{fail}")

    monkeypatch.setattr("sampo.arena.runner.fit_command", command)
    grid, folder = write(test=False), tmp_path / "arena"
    first = Runner(grid=grid, folder=folder, jobs=2, launcher=launcher).run()
    assert first.errors == {"sokoban/grpo/seed_1": "sampo: error: no luck."}
    second = Runner(grid=grid, folder=folder, jobs=2, launcher=launcher).run()
    assert set(second.states.values()) == {"done"}
    counts = {
        str(file.parent.relative_to(folder)): file.stat().st_size for file in folder.rglob("count")
    }
    assert counts == {run.name: 1 + (run.name == "sokoban/grpo/seed_1") for run in grid.runs()}


@pytest.mark.parametrize(
    ("jobs", "seen"), [(2, ["0", "MIG-1"]), (1, ["0,MIG-1", "0,MIG-1"])], ids=["two", "one"]
)
def test_each_of_several_runs_has_a_gpu_of_its_own(jobs, seen, tmp_path, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,MIG-1")
    launcher = LocalLauncher(jobs)
    code = (
        "import os, pathlib, sys, time; print(os.environ['CUDA_VISIBLE_DEVICES']);\n"
        f"here = pathlib.Path({str(tmp_path)!r}); (here / sys.argv[1] / 'here').touch()\n"
        "while len(list(here.glob('*/here'))) < 2: time.sleep(0.02)"
    )
    callers = []
    for name in "ab":
        (tmp_path / name).mkdir()
        arguments = ([*python(code), name], tmp_path / name, "log")
        callers.append(threading.Thread(target=launcher.execute, args=arguments))
        callers[-1].start()
    for caller in callers:
        caller.join()
    assert sorted((tmp_path / name / "log").read_text().strip() for name in "ab") == seen
    assert all(load == 0 for load in launcher._load.values())


def test_gpus_that_cuda_would_see(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert visible_gpus() == []
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,5")
    assert visible_gpus() == ["3", "5"]


@pytest.mark.slow
def test_ray_gives_a_run_what_it_asks_for(ray, tmp_path):
    """Of two CPUs, a run that takes both leaves none: two runs come one after the other."""
    launcher = RayLauncher({"num_cpus": 2})
    code = "import time; start = time.time(); time.sleep(0.5); print(start, time.time())"
    callers = [
        threading.Thread(target=launcher.execute, args=(python(code), tmp_path / name, "log"))
        for name in "ab"
    ]
    for name, caller in zip("ab", callers, strict=True):
        (tmp_path / name).mkdir()
        caller.start()
    for caller in callers:
        caller.join()
    spans = sorted(
        [float(part) for part in (tmp_path / name / "log").read_text().split()] for name in "ab"
    )
    assert spans[0][1] <= spans[1][0]


@pytest.mark.slow
def test_a_ray_with_gpus_must_be_told_whether_a_run_has_one(ray, monkeypatch):
    monkeypatch.setattr(ray, "cluster_resources", lambda: {"GPU": 8.0})
    with pytest.raises(ConfigError, match="This Ray has GPUs"):
        RayLauncher({})
    RayLauncher({"num_gpus": 0})


def test_what_slurm_is_asked_for(slurm, tmp_path):
    resources = {"slurm_partition": "gpu", "gpus_per_node": 1, "timeout_min": 90}
    launcher = make_launcher("slurm", resources, tmp_path / "arena")
    assert launcher.execute(python("print('ran')"), tmp_path, "log") == 0
    assert (tmp_path / "log").read_text() == "ran\n"
    lines = (slurm / "1.sh").read_text().splitlines()
    assert lines[0] == "#!/bin/bash"
    for option in ("partition=gpu", "gpus-per-node=1", "time=90", "job-name=sampo-arena"):
        assert f"#SBATCH --{option}" in lines


def test_a_job_that_slurm_lost_has_failed_and_says_why(slurm, tmp_path):
    (slurm / "sbatch").write_text("#!/bin/sh\necho 'no such partition' >&2\nexit 1\n")
    launcher = SlurmLauncher({"timeout_min": 9}, tmp_path / "slurm")
    assert launcher.execute(python(""), tmp_path, "log") == 1
    said = (tmp_path / "log").read_text()
    assert said.startswith("\nsampo: error: Slurm: ")
    assert "no such partition" in said


def test_what_is_not_there_is_said(tmp_path, monkeypatch):
    if shutil.which("srun") is None:
        with pytest.raises(ConfigError, match="--launcher slurm: Could not detect"):
            SlurmLauncher({"timeout_min": 9}, tmp_path)
    for name, maker in (("submitit", SlurmLauncher), ("ray", lambda r, _: RayLauncher(r))):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(MissingDependencyError, match=r"pip install 'sampo\[(slurm|ray)\]'"):
            maker({}, tmp_path)


def test_resources_are_never_ignored(slurm, tmp_path):
    with pytest.raises(ConfigError, match="--resources goes with --launcher ray or slurm"):
        make_launcher("local", {"num_gpus": 1}, tmp_path)
    with pytest.raises(ConfigError, match="Unknown executor 'graphics'"):
        make_launcher("slurm", {"timeout_min": 9, "graphics_cards": 1}, tmp_path)
    with pytest.raises(ConfigError, match="how long a run may take"):
        make_launcher("slurm", {"gpus_per_node": 1}, tmp_path)
    with pytest.raises(ConfigError, match='"timeout_min" expected type'):
        make_launcher("slurm", {"timeout_min": "long"}, tmp_path)
