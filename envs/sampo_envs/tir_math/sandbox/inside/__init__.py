"""The part of the sandbox that runs inside of it: the standard library and nothing else.

Started as a program by `sampo_envs.tir_math.sandbox.local`; see `server.py`.
"""
