"""Methods compared over seeds on equal terms: a grid of ordinary runs, and what they say.

Imports no torch: the runs are processes of their own, each of which anybody can repeat alone.
"""
