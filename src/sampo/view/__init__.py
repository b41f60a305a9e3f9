"""`sampo view RUN`: everything a run left behind, as one page that needs no server and no network.

Reads files and nothing else: no model, no tokenizer, no torch, so that a page can be made anywhere
the run folder was copied to, while the run goes on or after it crashed.
"""

from sampo.view.page import write_page

__all__ = ["write_page"]
