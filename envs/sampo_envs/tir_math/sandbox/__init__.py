"""A sandbox for Python programs that a model wrote; usable without the environment.

    from sampo_envs.tir_math.sandbox import LocalSandbox
    result = LocalSandbox()("print(2 ** 10)")

`LocalSandbox` runs them on this machine, `RemoteSandbox` on a Sandbox-Fusion server.
"""

from sampo_envs.tir_math.sandbox.local import LocalSandbox
from sampo_envs.tir_math.sandbox.remote import RemoteSandbox
from sampo_envs.tir_math.sandbox.run import Limits, ProgramResult, Sandbox

__all__ = ["Limits", "LocalSandbox", "ProgramResult", "RemoteSandbox", "Sandbox"]
