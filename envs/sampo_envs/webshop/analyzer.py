"""Text into search terms, as Lucene's English analyzer does it in Anserini.

Words by the rules of Unicode annex 29 (with emoji as words of their own), possessive 's taken off,
lower case, 33 stop words left out, stems. Chinese characters and Hiragana are words one by one.
"""

from __future__ import annotations

from sampo.errors import MissingDependencyError
from sampo_envs.webshop.stemmer import stem

try:
    import regex
except ImportError as error:
    raise MissingDependencyError(
        "WebShop: the package regex is not installed. Install it with `pip install sampo[webshop]`."
    ) from error

_STOP_WORDS = (
    "a an and are as at be but by for if in into is it no not of on or such that the their then "
    "there these they this to was will with"
)
STOP_WORDS = frozenset(_STOP_WORDS.split())

_TONE = r"\U0001F3FB-\U0001F3FF"
_EMOJI = (
    rf"(?:\p{{Extended_Pictographic}}(?<![0-9#*])[\uFE0F{_TONE}]*"
    rf"(?:\u200D\p{{Extended_Pictographic}}[\uFE0F{_TONE}]*)*|[\U0001F1E6-\U0001F1FF]{{2}})"
)
_SYMBOL = (
    r"[\u2605\u2607-\u2612\u2614-\u2685\u2690-\u2705\u2708-\u2712\u2763-\u2767]\uFE0F?"  # dingbats
)
_IDEOGRAPH = r"[\p{Han}\p{Hiragana}]"
_CHARACTER = rf"(?:(?!{_IDEOGRAPH})[\p{{L}}\p{{Nl}}\p{{Nd}}_][\p{{M}}\p{{Cf}}{_TONE}]*)"
_WITHIN_LETTERS = (
    rf"(?<=[\p{{L}}\p{{Nl}}][\p{{M}}]*)[:·.'’‘․﹒＇．：︓﹕‧](?!{_IDEOGRAPH})(?=[\p{{L}}\p{{Nl}}])"
)
_WITHIN_DIGITS = r"(?<=\p{Nd})[.,;'’‘․⁄٬﹐﹔﹒＇，．；](?=\p{Nd})"
_WORD = rf"{_CHARACTER}(?:{_CHARACTER}|{_WITHIN_LETTERS}|{_WITHIN_DIGITS})*"
_TOKEN = regex.compile(rf"{_IDEOGRAPH}|{_SYMBOL}|{_EMOJI}|{_WORD}")
_MEANINGFUL = regex.compile(
    r"[\p{L}\p{N}\p{Extended_Pictographic}\U0001F1E6-\U0001F1FF\u2600-\u27BF]"
)
_POSSESSIVE = ("'s", "’s", "＇s", "'S", "’S", "＇S")


def terms(text: str) -> list[str]:
    """Return the search terms of a text, in its order and with repeats.

    Example:
        >>> terms("The women's running shoes, size 7.5")
        ['women', 'run', 'shoe', 'size', '7.5']
    """
    found = []
    for match in _TOKEN.finditer(text):
        word = match.group()
        if not _MEANINGFUL.search(word):
            continue
        if word.endswith(_POSSESSIVE):
            word = word[:-2]
        word = word.lower()
        if word not in STOP_WORDS:
            found.append(stem(word))
    return found
