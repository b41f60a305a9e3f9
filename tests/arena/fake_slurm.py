"""Stands in for Slurm's programs: `sbatch` starts its script on this machine, and keeps it.

Under the name of each program it is put on the PATH; it answers as the real ones do.
"""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

NAME, HERE = Path(sys.argv[0]).name, Path(sys.argv[0]).parent


def sbatch(script):
    number = str(len(list(HERE.glob("*.sh"))) + 1)
    text = Path(script).read_text()
    (HERE / f"{number}.sh").write_text(text)
    env = {
        **os.environ,
        "SLURM_JOB_ID": number,
        "SLURM_NTASKS": "1",
        "SLURM_JOB_NUM_NODES": "1",
        "SLURM_PROCID": "0",
        "SLURM_LOCALID": "0",
        "SLURM_NODEID": "0",
        "SLURM_JOB_NODELIST": "here",
        "SLURM_NODELIST": "here",
    }
    nothing = subprocess.DEVNULL
    job = subprocess.Popen(["bash", script], env=env, stdout=nothing, stderr=nothing)
    (HERE / f"{number}.pid").write_text(str(job.pid))
    sys.stdout.write(f"Submitted batch job {number}\n")


def srun(*args):
    """Run the command, its output where the options say."""
    command = list(args[args.index("--error") + 2 :])
    file = (
        args[args.index("--output") + 1]
        .replace("%j", os.environ["SLURM_JOB_ID"])
        .replace("%t", "0")
    )
    with Path(file).open("w") as stream:
        sys.exit(subprocess.call(command, stdout=stream, stderr=stream))


def sacct(*args):
    sys.stdout.write("JobID|State|NodeList\n")
    for number in re.findall(r"\d+", " ".join(args[args.index("-j") :])):
        alive = Path(f"/proc/{(HERE / f'{number}.pid').read_text()}").exists()
        cancelled = (HERE / f"{number}.cancelled").exists()
        state = "CANCELLED" if cancelled else "RUNNING" if alive else "COMPLETED"
        sys.stdout.write(f"{number}|{state}|here\n")


def scancel(number):
    """End all processes of a job, whatever their session, as the control group does."""
    (HERE / f"{number}.cancelled").touch()
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            environ = (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if f"SLURM_JOB_ID={number}".encode() in environ and int(entry.name) != os.getpid():
            os.kill(int(entry.name), signal.SIGKILL)


if __name__ == "__main__":
    globals()[NAME](*sys.argv[1:])
