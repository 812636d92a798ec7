"""A text around its marks: what is far from any mark is left out, and "…" says so."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["Pieces", "bracketed", "excerpt"]

Pieces = Sequence[tuple[str, bool]]
"""Characters in order, and whether they are marked."""

_NEAR = 24
"""At least so many characters are left beside a mark."""


def excerpt(pieces: Pieces, room: int) -> list[tuple[str, bool]]:
    """The same pieces with runs of white space as one space, in about `room` characters.

    >>> excerpt([("a " * 50, False), ("b", True), (" c" * 50, False)], 60)
    [('… a a a a a a a a a a a ', False), ('b', True), (' c c c c c c c c c c c …', False)]
    """
    flat = [(re.sub(r"\s+", " ", text), marked) for text, marked in pieces]
    if sum(len(text) for text, _ in flat) <= room:
        return flat
    if len(flat) == 1 and not flat[0][1]:  # no mark to be near to: its beginning tells most
        return [(_middle(flat[0][0], room, start=True, end=False), False)]
    near = max(_NEAR, room // (2 * len(flat)))
    last = len(flat) - 1
    return [
        (_middle(text, 3 * near if marked else near, marked or i > 0, marked or i < last), marked)
        for i, (text, marked) in enumerate(flat)
    ]


def bracketed(pieces: Pieces) -> str:
    """Plain text with the marks in square brackets.

    >>> bracketed([("not ", False), ("good", True)])
    'not [good]'
    """
    return "".join(f"[{text}]" if marked else text for text, marked in pieces)


def _middle(text: str, near: int, start: bool, end: bool) -> str:
    """Leave `near` characters at the start and at the end, where that end counts."""
    if len(text) <= near * (start + end) + 3:
        return text
    head = re.sub(r"\S*$", "", text[:near]).rstrip() or text[:near] if start else ""
    tail = re.sub(r"^\S*", "", text[-near:]).lstrip() or text[-near:] if end else ""
    return f"{head} … {tail}" if start and end else f"{head} …" if start else f"… {tail}"
