"""What was explained, where its features are places in a text or in a picture.

Stored with the explanation, so that factors can be shown in place wherever it is read again.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

__all__ = ["Closer", "ImageSubject", "Subject", "TextSubject", "Unit"]


Unit = Literal["word", "sentence", "passage", "span"]
"""What a feature of a text is: a span is the user's own."""


class Closer(msgspec.Struct, frozen=True):
    """How a long text was looked at: its passages first, then the words of some of them."""

    words: int
    """In the whole text."""
    passages: int
    complete: bool
    """Was every set of passages searched?"""
    within: int
    """Passages that were looked into: those of each view's best set; 0: none could be."""
    found: bool
    """Did that find words for each view that had passages? If not, passages are the answer."""


class TextSubject(msgspec.Struct, frozen=True, tag_field="kind", tag="text"):
    """A text; player i is the characters from spans[i][0] up to spans[i][1]."""

    text: str
    spans: tuple[tuple[int, int], ...]
    unit: Unit
    closer: Closer | None = None
    """Of a long text that was looked at twice."""

    def pieces(self, players: frozenset[int]) -> tuple[tuple[str, bool], ...]:
        """The text in order, cut where a mark begins or ends: (characters, marked?).

        >>> TextSubject("not good", ((0, 3), (4, 8)), "word").pieces(frozenset({1}))
        (('not ', False), ('good', True))
        """
        marked = np.zeros(len(self.text), dtype=bool)
        for player in players:
            start, stop = self.spans[player]
            marked[start:stop] = True
        cuts = [0, *(np.flatnonzero(marked[1:] != marked[:-1]) + 1).tolist(), len(self.text)]
        return tuple((self.text[a:b], bool(marked[a])) for a, b in pairwise(cuts) if a < b)


class ImageSubject(msgspec.Struct, frozen=True, tag_field="kind", tag="image"):
    """A picture (PNG, base64); player i is the pixels whose label is i."""

    png: str
    height: int
    width: int
    runs: tuple[tuple[int, int], ...]
    """The label of each pixel, row by row: (label, how many pixels in a row have it)."""
    marks: tuple[str, ...]
    """What is written on each player's region in a drawing; "" where nothing need be."""

    @classmethod
    def of(cls, png: bytes, labels: NDArray[np.integer], marks: Sequence[str]) -> ImageSubject:
        """Store a picture, its map of labels, and what to write on the regions.

        >>> subject = ImageSubject.of(b"", np.array([[0, 0], [1, 1]]), ["sky", "sea"])
        >>> subject.runs, subject.labels.tolist()
        (((0, 2), (1, 2)), [[0, 0], [1, 1]])
        """
        flat = labels.ravel()
        starts = np.concatenate([[0], np.flatnonzero(np.diff(flat)) + 1])
        lengths = np.diff(np.append(starts, flat.size))
        runs = tuple(zip(flat[starts].tolist(), lengths.tolist(), strict=True))
        height, width = labels.shape
        return cls(b64encode(png).decode(), height, width, runs, tuple(marks))

    @property
    def labels(self) -> NDArray[np.int64]:
        """The label of each pixel."""
        label, length = np.array(self.runs, dtype=np.int64).reshape(-1, 2).T
        return np.repeat(label, length).reshape(self.height, self.width)

    @property
    def picture(self) -> bytes:
        """The PNG itself."""
        return b64decode(self.png)


Subject = TextSubject | ImageSubject
