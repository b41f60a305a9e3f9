"""Tool-integrated reasoning in mathematics, with a sandbox for the programs.

`TirMathEnv` is the environment. The rest stands on its own: `sandbox` runs programs, `MathGrader`
compares answers, `GeneratedProblems` and `FileProblems` are where problems come from.
"""

from sampo_envs.tir_math.env import PythonResult, TirMathEnv
from sampo_envs.tir_math.files import Columns
from sampo_envs.tir_math.generate import generate
from sampo_envs.tir_math.grading import MathGrader
from sampo_envs.tir_math.problems import FileProblems, GeneratedProblems, Problems
from sampo_envs.tir_math.python_tool import PythonTool
from sampo_envs.tir_math.sandbox import Limits, LocalSandbox, RemoteSandbox, Sandbox

__all__ = [
    "Columns",
    "FileProblems",
    "GeneratedProblems",
    "Limits",
    "LocalSandbox",
    "MathGrader",
    "Problems",
    "PythonResult",
    "PythonTool",
    "RemoteSandbox",
    "Sandbox",
    "TirMathEnv",
    "generate",
]
