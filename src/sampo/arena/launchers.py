"""Where runs are made: on this machine, or through an engine that knows more of them.

A launcher makes one command at a time per caller and waits for it; who runs what, what is done
already and what failed is the runner's business and the same under each of them.
"""

from __future__ import annotations

import logging
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any, Literal, Protocol, get_args

from sampo.arena.process import run_process
from sampo.errors import ConfigError, MissingDependencyError

LauncherName = Literal["local", "ray", "slurm"]
LAUNCHERS: tuple[str, ...] = get_args(LauncherName)


class Launcher(Protocol):
    """Makes runs; called by several threads."""

    def execute(self, command: Sequence[str], folder: Path, log: str) -> int:
        """Run a command to its end, wherever it is; return its exit code.

        Args:
            command: the program and its arguments.
            folder: the run's own, which every machine sees.
            log: name of the file in it for what the command says.
        """
        ...

    def stop(self) -> None:
        """End what is running; callers of `execute` get an exit code that is not 0."""
        ...


def make_launcher(name: str, resources: Mapping[str, Any], folder: Path, jobs: int = 1) -> Launcher:
    """Return a launcher by its name.

    Args:
        name: one of `LAUNCHERS`.
        resources: what a run asks of the engine, in the engine's own words.
        folder: the arena's.
        jobs: runs at a time.

    Raises:
        ConfigError: resources are given and nobody takes them.
    """
    if name == "ray":
        return RayLauncher(resources)
    if name == "slurm":
        return SlurmLauncher(resources, folder / "slurm")
    if resources:
        raise ConfigError(
            "--resources goes with --launcher ray or slurm; this machine has no use for it."
        )
    return LocalLauncher(jobs)


class LocalLauncher:
    """Processes of this machine; with several of its GPUs in sight, each run has one of them.

    Args:
        jobs: runs at a time; a single one keeps all GPUs.
    """

    def __init__(self, jobs: int = 1) -> None:
        self._lock = Lock()
        gpus = visible_gpus() if jobs > 1 else []
        self._load = dict.fromkeys(gpus, 0) if len(gpus) > 1 else {}
        self._running: list[subprocess.Popen[bytes]] = []
        self._stopped = False

    def execute(self, command: Sequence[str], folder: Path, log: str) -> int:
        """Run a process, on the GPU that has the least to do."""
        with self._lock:
            gpu = min(self._load, key=lambda name: self._load[name], default=None)
            if gpu is not None:
                self._load[gpu] += 1
        try:
            env = {} if gpu is None else {"CUDA_VISIBLE_DEVICES": gpu}
            place = (str(folder.resolve()), log, str(Path.cwd()))
            return run_process(command, *place, env=env, started=self._started)
        finally:
            if gpu is not None:
                with self._lock:
                    self._load[gpu] -= 1

    def stop(self) -> None:
        """Terminate what is running; it can go on from its last checkpoint, which is whole."""
        with self._lock:
            self._stopped = True
            for process in self._running:
                process.terminate()

    def _started(self, process: subprocess.Popen[bytes]) -> None:
        with self._lock:
            self._running = [known for known in self._running if known.returncode is None]
            self._running.append(process)
            if self._stopped:
                process.terminate()


def visible_gpus() -> list[str]:
    """Return the names of the GPUs that CUDA would see, without starting CUDA."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    if named is not None:
        return [name for name in named.split(",") if name]
    return [str(number) for number in range(len(list(Path("/dev").glob("nvidia[0-9]*"))))]


class RayLauncher:
    """Tasks of Ray: of the cluster that `RAY_ADDRESS` names or this machine is in, or a local one.

    Args:
        resources: options of a Ray task, e.g. `{num_cpus: 4, num_gpus: 1}`.

    Raises:
        MissingDependencyError: Ray is not installed.
        ConfigError: it has GPUs, and it was not said whether a run takes one.
    """

    def __init__(self, resources: Mapping[str, Any]) -> None:
        try:
            import ray
            import ray.exceptions
        except ImportError as error:
            raise MissingDependencyError(
                "--launcher ray needs Ray, which is not installed: pip install 'sampo[ray]'."
            ) from error
        self._ray, self._failure = ray, ray.exceptions.RayError
        ray.init(ignore_reinit_error=True, log_to_driver=False, logging_level=logging.ERROR)
        if ray.cluster_resources().get("GPU") and "num_gpus" not in resources:
            raise ConfigError(
                "This Ray has GPUs, and hides them from a task that asks for none: say "
                "--resources 'num_gpus: 1', or 0."
            )
        # A run that was lost is told and gone on with by the next command, not begun anew by Ray.
        options = {"num_cpus": 1, "max_retries": 0, **resources}
        self._task = ray.remote(run_process).options(**options)
        self._lock = Lock()
        self._running: list[Any] = []
        self._stopped = False

    def execute(self, command: Sequence[str], folder: Path, log: str) -> int:
        """Run a task, when Ray has a place for it."""
        with self._lock:
            if self._stopped:
                return 1
            task = self._task.remote(command, str(folder.resolve()), log, str(Path.cwd()))
            self._running.append(task)
        try:
            return self._ray.get(task)
        except self._failure as error:
            return _lost(folder / log, f"Ray: {error}")

    def stop(self) -> None:
        """Interrupt the tasks, which terminate their processes."""
        with self._lock:
            self._stopped = True
            for task in self._running:  # of one that has ended it is no error
                self._ray.cancel(task)


class SlurmLauncher:
    """Jobs of Slurm, submitted by submitit.

    Args:
        resources: parameters of submitit, e.g. `{slurm_partition: gpu, gpus_per_node: 1,
            timeout_min: 600}`.
        folder: for the batch scripts and what they print; every machine sees it.

    Raises:
        MissingDependencyError: submitit is not installed.
        ConfigError: there is no Slurm here, it has no such parameter, or it was not said how long a
            run may take.
    """

    def __init__(self, resources: Mapping[str, Any], folder: Path) -> None:
        try:
            import submitit
            from submitit.core.utils import FailedSubmissionError, UncompletedJobError
        except ImportError as error:
            raise MissingDependencyError(
                "--launcher slurm needs submitit, which is not installed: "
                "pip install 'sampo[slurm]'."
            ) from error
        if not {"timeout_min", "slurm_time"} & set(resources):
            raise ConfigError(
                "--launcher slurm must know how long a run may take, in minutes: --resources "
                "'timeout_min: 600'. What is cut off goes on with the next command."
            )
        self._failures = (FailedSubmissionError, UncompletedJobError)
        try:
            self._executor = submitit.AutoExecutor(folder=folder.resolve(), cluster="slurm")
            self._executor.update_parameters(name="sampo-arena", **resources)
        except (RuntimeError, NameError, AssertionError) as error:
            raise ConfigError(f"--launcher slurm: {error}") from error
        self._lock = Lock()
        self._running: list[Any] = []
        self._stopped = False

    def execute(self, command: Sequence[str], folder: Path, log: str) -> int:
        """Submit a job and wait for it."""
        arguments = (list(command), str(folder.resolve()), log, str(Path.cwd()))
        try:
            with self._lock:
                if self._stopped:
                    return 1
                job = self._executor.submit(run_process, *arguments)
                self._running.append(job)
            while not job.done(force_check=self._stopped):  # asks Slurm rarely unless it is forced
                time.sleep(1)
            return 1 if self._stopped else job.result()
        except self._failures as error:
            return _lost(folder / log, f"Slurm: {error}")

    def stop(self) -> None:
        """Cancel the jobs."""
        with self._lock:
            self._stopped = True
            for job in self._running:
                if not job.done():
                    job.cancel(check=False)


def _lost(log: Path, why: str) -> int:
    """Note why an engine lost a run, and return that it failed."""
    words = " ".join(why.split())
    with log.open("a", encoding="utf-8") as file:
        file.write(f"\nsampo: error: {words}\n")
    return 1
