"""Passages: a long text in a few parts, so that every set of them can be tried.

Sentences, where there are few enough and they are short; else neighbours are joined or long ones
halved.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from suffice.text.spans import Span, sentences

__all__ = ["passages", "words_within"]

MOST_PASSAGES = 12
_ENOUGH_WORDS = 10
"""A passage of so few words is not cut further."""

_CLAUSE = ",;:—–()\n"


def passages(text: str, words: Sequence[Span], most: int = MOST_PASSAGES) -> list[Span]:
    """At most `most` spans that hold all words, cut at sentences or clauses where possible."""
    parts = [part for span in sentences(text) if (part := words_within(words, [span]))]
    while len(parts) > most:
        # The two neighbours that are shortest together.
        lengths = [len(a) + len(b) for a, b in pairwise(parts)]
        at = lengths.index(min(lengths))
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    while len(parts) < most:
        at = max(range(len(parts)), key=lambda i: len(parts[i]))
        if len(parts[at]) <= _ENOUGH_WORDS:
            break
        cut = _middle(text, parts[at])
        parts[at : at + 1] = [parts[at][:cut], parts[at][cut:]]
    edges = [(part[0][0], part[-1][1]) for part in parts]
    return [
        (start, _with_punctuation(text, stop, after))
        for (start, stop), after in zip(edges, [a for a, _ in edges[1:]] + [len(text)], strict=True)
    ]


def words_within(words: Sequence[Span], spans: Sequence[Span]) -> list[Span]:
    """The words that lie in one of the spans."""
    return [(a, b) for a, b in words if any(start <= a and b <= stop for start, stop in spans)]


def _middle(text: str, part: Sequence[Span]) -> int:
    """Where to cut in two: at the clause nearest to the middle, if one is in its middle half."""
    n = len(part)

    def cost(cut: int) -> tuple[bool, int]:
        gap = text[part[cut - 1][1] : part[cut][0]]
        clause = any(sign in gap for sign in _CLAUSE)
        return not (clause and n <= 4 * cut <= 3 * n), abs(2 * cut - n)

    return min(range(1, n), key=cost)


def _with_punctuation(text: str, stop: int, before: int) -> int:
    """Take in the marks that close a passage, up to the first space."""
    while stop < before and not text[stop].isspace():
        stop += 1
    return stop
