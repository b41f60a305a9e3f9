"""The search engine: Lucene's BM25, ranking equal to the original's.

Score of a document: the sum over query terms of `w - w / (1 + tf / (k1 (1 - b + b l / mean l)))` in
32-bit floats, with `w = qtf ln(1 + (N - df + 1/2) / (df + 1/2))`, `tf` and `qtf` the counts of the
term in document and query, `df` the documents that hold it, and `l` the document's length as
Lucene keeps it, in one byte. Equal scores are ordered by document id. An index lives on disk
(`build_index`) and is shared between processes.

References:
    Anserini's defaults (k1 0.9, b 0.4), https://github.com/castorini/anserini; Lucene's
    `BM25Similarity` and `SmallFloat.intToByte4`.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sampo_envs.webshop.analyzer import terms
from sampo_envs.webshop.tables import Texts, open_numbers, write_numbers, write_texts

K1 = np.float32(0.9)
B = np.float32(0.4)
EXACT_LENGTHS = 24
"""Lucene keeps lengths below this exactly, and longer ones with four significant bits above it."""


class SearchIndex:
    """An index on disk, opened for searching.

    Args:
        folder: What `build_index` wrote.
    """

    def __init__(self, folder: Path) -> None:
        self._number = lru_cache(maxsize=2**16)(Texts(folder / "terms").find)
        self._starts = open_numbers(folder / "starts")
        self._documents = open_numbers(folder / "postings")
        self._saturations = open_numbers(folder / "saturations")
        self._tie_ranks = open_numbers(folder / "tie_ranks")

    def search(self, query: str, most: int) -> list[int]:
        """Return the numbers of the best documents, best first.

        Args:
            query: Free text; terms that no document holds are ignored.
            most: Most documents to return; fewer where fewer hold any term.
        """
        count = len(self._tie_ranks)
        scores = np.zeros(count)
        for term, times in Counter(terms(query)).items():
            number = self._number(term)
            if number is None:
                continue
            start, end = int(self._starts[number]), int(self._starts[number + 1])
            rarity = math.log(1 + (count - (end - start) + 0.5) / (end - start + 0.5))
            weight = np.float32(times) * np.float32(rarity)
            gains = weight - weight / self._saturations[start:end]
            scores[self._documents[start:end]] += gains
        return self._best(scores.astype(np.float32), most)

    def _best(self, scores: NDArray[np.float32], most: int) -> list[int]:
        found = np.flatnonzero(scores)
        if len(found) > most:
            # Ties at the border must all be ordered before some of them are left out.
            border = np.partition(scores[found], len(found) - most)[len(found) - most]
            found = found[scores[found] >= border]
        order = np.lexsort((self._tie_ranks[found], -scores[found]))
        return found[order[:most]].tolist()


def build_index(folder: Path, texts: Iterable[str], ids: list[str]) -> None:
    """Index documents into a folder.

    Args:
        folder: An empty folder.
        texts: The text of each document.
        ids: The id of each document, which orders equal scores.
    """
    numbers: dict[str, int] = {}
    of_term, of_document, counts = array("i"), array("i"), array("i")
    lengths = []
    for document, text in enumerate(texts):
        counted = Counter(terms(text))
        lengths.append(counted.total())
        for term, times in counted.items():
            of_term.append(numbers.setdefault(term, len(numbers)))
            of_document.append(document)
            counts.append(times)
    ordered = sorted(numbers)
    ranks = np.empty(len(ordered), dtype=np.int64)
    ranks[[numbers[term] for term in ordered]] = np.arange(len(ordered))
    posting_terms = ranks[np.frombuffer(of_term, dtype=np.int32)] if of_term else ranks[:0]
    order = np.argsort(posting_terms, kind="stable")
    documents = np.array(of_document, dtype=np.int32)[order]
    mean = np.float32(sum(lengths) / len(lengths))
    kept = np.array([_kept_length(length) for length in lengths], dtype=np.float32)
    inverses = np.float32(1) / (K1 * ((np.float32(1) - B) + B * kept / mean))
    times = np.array(counts, dtype=np.float32)[order]
    write_texts(folder / "terms", ordered)
    starts = np.searchsorted(posting_terms[order], np.arange(len(ordered) + 1))
    write_numbers(folder / "starts", starts.astype(np.int64))
    write_numbers(folder / "postings", documents)
    write_numbers(folder / "saturations", np.float32(1) + times * inverses[documents])
    write_numbers(folder / "tie_ranks", np.argsort(np.argsort(np.array(ids))).astype(np.int32))


def _kept_length(length: int) -> int:
    """Return a length as it comes back out of Lucene's one byte.

    Example:
        >>> [_kept_length(length) for length in (23, 40, 41, 1000)]
        [23, 40, 40, 984]
    """
    if length < EXACT_LENGTHS:
        return length
    above = length - EXACT_LENGTHS
    dropped_bits = max(0, above.bit_length() - 4)
    return EXACT_LENGTHS + (above >> dropped_bits << dropped_bits)
