import subprocess
import sys

import sampo.envs


def test_importing_the_environment_api_is_light():
    """In a fresh interpreter: no torch, no Lightning, no transformers; also of what workers run."""
    code = (
        "import sys, sampo.envs, sampo.envs.worker, sampo.rollout.workers;"
        "print(sorted({'torch', 'lightning', 'transformers'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:] = {sys.path!r}; {code}"],
        capture_output=True,
        text=True,
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_every_public_name_is_there():
    for name in sampo.envs.__all__:
        assert name in vars(sampo.envs)
