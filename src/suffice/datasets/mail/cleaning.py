"""The paper's cleaning of text: lower case, words and digits alone, no stop words."""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet

from suffice.errors import InputError

__all__ = ["clean"]

_NEITHER_WORD_NOR_DASH = re.compile(r"[^\w-]+")


def clean(text: str, stopwords: AbstractSet[str]) -> str:
    """Lower-case, keep words, digits, `-` and `_` (within a word), and leave out stop words.

    Stop words are left out last, so "don't" goes as "don" and "t", which nltk's list has.

    >>> clean("Don't miss the e-mail -- 50% OFF!", {"don", "t", "the"})
    'miss e-mail 50 off'
    """
    given: object = text
    if not isinstance(given, str):
        raise InputError("text", text, "a string")
    if not isinstance(stopwords, AbstractSet):
        raise InputError(
            "stopwords", stopwords, "a set of words", "datasets.stopwords() reads nltk's."
        )
    words = (w.strip("-_") for w in _NEITHER_WORD_NOR_DASH.sub(" ", text.lower()).split())
    return " ".join(w for w in words if w and w not in stopwords)
