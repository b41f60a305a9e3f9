"""Concrete benchmarks for `sampo`: one folder per environment, each importable without torch.

They see the environment contract (`sampo.envs`) and the errors (`sampo.errors`), and nothing else
of sampo; sampo never imports them. A configuration names them by their dotted path.
"""
