"""sampo: reinforcement learning of LLM agents over many turns, kept stable.

Importing the package imports no heavy dependency, so that environment workers start at once.
"""

__version__ = "0.1.0"
