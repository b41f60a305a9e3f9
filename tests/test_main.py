"""The command before anything of sampo is imported."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def test_a_torchvision_that_does_not_fit_is_told_with_the_command(tmp_path: Path):
    """torchmetrics imports it, if it is there, when Lightning is imported."""
    package, facts = tmp_path / "torchvision", tmp_path / "torchvision-0.28.0.dist-info"
    package.mkdir()
    facts.mkdir()
    error = 'raise RuntimeError("operator torchvision::nms does not exist")\n'
    (package / "__init__.py").write_text(error)
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: torchvision\nVersion: 0.28.0\n")
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-m", "sampo", "fit", "--help"],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.strip().startswith("sampo: error: torchvision does not fit torch (operator")
    assert "pip uninstall -y torchvision torchaudio" in done.stderr
    assert "Traceback" not in done.stderr
