"""Porter's stemmer as Lucene has it: the published algorithm, `bli` and `logi` added.

Words of at most two letters stay as they are. Everything that is not a vowel counts as a consonant,
digits included. (The stemmer called "porter" in Snowball differs in the last two points.)

References:
    M. F. Porter, *An algorithm for suffix stripping*, Program 14 (1980),
    https://tartarus.org/martin/PorterStemmer/
"""

from __future__ import annotations

from functools import lru_cache

STEP_2 = {
    "ational": "ate",
    "tional": "tion",
    "enci": "ence",
    "anci": "ance",
    "izer": "ize",
    "bli": "ble",
    "alli": "al",
    "entli": "ent",
    "eli": "e",
    "ousli": "ous",
    "ization": "ize",
    "ation": "ate",
    "ator": "ate",
    "alism": "al",
    "iveness": "ive",
    "fulness": "ful",
    "ousness": "ous",
    "aliti": "al",
    "iviti": "ive",
    "biliti": "ble",
    "logi": "log",
}
STEP_3 = {
    "icate": "ic",
    "ative": "",
    "alize": "al",
    "iciti": "ic",
    "ical": "ic",
    "ful": "",
    "ness": "",
}
STEP_4 = (
    *("al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent"),
    *("ion", "ou", "ism", "ate", "iti", "ous", "ive", "ize"),
)


@lru_cache(maxsize=2**16)
def stem(word: str) -> str:
    """Return the stem of a word in lower case.

    Example:
        >>> [stem(word) for word in ("technologies", "hopping", "relational", "us")]
        ['technolog', 'hop', 'relat', 'us']
    """
    if len(word) <= 2:
        return word
    word = _past_and_participle(_plural(word))
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    word = _replace(_replace(word, STEP_2), STEP_3)
    return _final(_drop_suffix(word))


def _consonants(word: str) -> list[bool]:
    """Return for each letter whether it is a consonant; y is one at the start or after a vowel."""
    kinds: list[bool] = []
    for letter in word:
        after_consonant = bool(kinds) and kinds[-1]
        kinds.append(not after_consonant if letter == "y" else letter not in "aeiou")
    return kinds


def _measure(stem_: str) -> int:
    """Return how often a consonant follows a vowel."""
    kinds = _consonants(stem_)
    return sum(kinds[i] and not kinds[i - 1] for i in range(1, len(kinds)))


def _has_vowel(stem_: str) -> bool:
    return not all(_consonants(stem_))


def _double_consonant(word: str) -> bool:
    return len(word) > 1 and word[-1] == word[-2] and _consonants(word)[-1]


def _short_end(word: str) -> bool:
    """Return whether the end is consonant, vowel, consonant other than w, x and y."""
    return _consonants(word)[-3:] == [True, False, True] and word[-1] not in "wxy"


def _plural(word: str) -> str:
    """Step 1a."""
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past_and_participle(word: str) -> str:
    """Step 1b."""
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        if word.endswith(suffix) and _has_vowel(word[: -len(suffix)]):
            word = word[: -len(suffix)]
            break
    else:
        return word
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    if _double_consonant(word):
        return word if word[-1] in "lsz" else word[:-1]
    return word + "e" if _measure(word) == 1 and _short_end(word) else word


def _replace(word: str, suffixes: dict[str, str]) -> str:
    """Steps 2 and 3: the longest suffix is replaced if a measure is left before it."""
    found = max((suffix for suffix in suffixes if word.endswith(suffix)), key=len, default="")
    if found and _measure(word[: -len(found)]) > 0:
        return word[: -len(found)] + suffixes[found]
    return word


def _drop_suffix(word: str) -> str:
    """Step 4."""
    found = max((suffix for suffix in STEP_4 if word.endswith(suffix)), key=len, default="")
    left = word[: len(word) - len(found)]
    if not found or (found == "ion" and not left.endswith(("s", "t"))):
        return word
    return left if _measure(left) > 1 else word


def _final(word: str) -> str:
    """Step 5."""
    measure = _measure(word)
    if word.endswith("e") and (measure > 1 or (measure == 1 and not _short_end(word[:-1]))):
        word = word[:-1]
    return word[:-1] if word.endswith("ll") and measure > 1 else word
