#!/bin/sh
# Install the build of torch that fits this machine. Called by the Makefile with PIP and TORCH set.
#
# On Linux the torch on PyPI brings CUDA, several gigabytes that a machine without an NVIDIA GPU
# cannot use. There the CPU build is taken: first from wherever pip is set up to look (a mirror or
# a folder of wheels may have it; where there is none, "no" comes within seconds), then from PyTorch's
# own index. Everywhere else PyPI's build is the right one.
set -eu

cpu_index=https://download.pytorch.org/whl/cpu
here=$(dirname "$0")
pinned=$(grep '^torch==' "$here/cpu.txt")

if [ -n "$TORCH" ]; then
    echo "Installing $TORCH, as TORCH= says."
    exec $PIP install "$TORCH"
fi
if nvidia-smi >/dev/null 2>&1; then
    echo "Found an NVIDIA GPU: installing torch with CUDA."
    exec $PIP install 'torch>=2.8'
fi
if [ "$(uname -s)" != Linux ]; then
    exec $PIP install "$pinned"
fi

echo "Found no NVIDIA GPU: installing the CPU build, $pinned+cpu."
if $PIP install "$pinned+cpu" 2>/dev/null; then
    exit 0
fi
echo "Not where pip looks by default; asking $cpu_index."
if $PIP install --retries 1 --timeout 15 --extra-index-url "$cpu_index" "$pinned+cpu"; then
    exit 0
fi
echo "PyTorch's CPU index has no such build for this Python, or cannot be reached." >&2
echo "Taking $pinned from PyPI instead: it works, but brings CUDA (about 3 GB to download)." >&2
exec $PIP install "$pinned"
