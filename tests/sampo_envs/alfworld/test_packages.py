"""What importing the environment needs, and what it must not load."""

import subprocess
import sys

import pytest


def run(code: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)


@pytest.mark.parametrize("package", ["alfworld", "textworld"])
def test_a_missing_package_is_named_with_its_extra(package: str) -> None:
    done = run(
        f"import sys; sys.modules[{package!r}] = None\n"
        "from sampo_envs.alfworld import AlfworldEnv\nAlfworldEnv().reset()"
    )
    last = done.stderr.splitlines()[-1]
    assert "MissingDependencyError" in last
    assert f"the package {package} is not installed" in last
    assert "pip install sampo[alfworld]" in last


def test_nothing_heavy_is_imported() -> None:
    heavy = "{'torch', 'transformers', 'textworld', 'spacy'}"
    done = run(f"import sys, sampo_envs.alfworld; print({heavy} & sys.modules.keys())")
    assert done.stdout.strip() == "set()", done.stderr
    playing = "from sampo_envs.alfworld import AlfworldEnv; AlfworldEnv().reset()"
    done = run(f"import sys; {playing}; print({{'torch', 'transformers'}} & sys.modules.keys())")
    assert done.stdout.strip() == "set()", done.stderr
