#!/usr/bin/env bash
# Does sampo run on this GPU, and how fast? One command, under 8 minutes, a table, and a non-zero
# exit status if a part fails. Without a GPU it runs the same parts with tiny models and says so.
#
#   tools/gpu_check.sh                       # PYTHON=... for another interpreter than .venv's
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-.venv/bin/python}
command -v "$python" >/dev/null || python=python3
if command -v nvidia-smi >/dev/null; then
    nvidia-smi --query-gpu=name,memory.total,driver_version --format=csv,noheader || true
fi
exec "$python" tools/gpu_check.py "$@"
