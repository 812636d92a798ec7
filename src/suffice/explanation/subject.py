"""What was explained, where its features are places in a text or in a picture.

Stored with the explanation, so that factors can be shown in place wherever it is read again.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from itertools import pairwise

import msgspec
import numpy as np
from numpy.typing import NDArray

__all__ = ["ImageSubject", "Subject", "TextSubject"]


class TextSubject(msgspec.Struct, frozen=True, tag_field="kind", tag="text"):
    """A text; player i is the characters from spans[i][0] up to spans[i][1]."""

    text: str
    spans: tuple[tuple[int, int], ...]

    def pieces(self, players: frozenset[int]) -> tuple[tuple[str, bool], ...]:
        """The text in order, cut where a mark begins or ends: (characters, marked?).

        >>> TextSubject("not good", ((0, 3), (4, 8))).pieces(frozenset({1}))
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

    @classmethod
    def of(cls, png: bytes, labels: NDArray[np.integer]) -> ImageSubject:
        """Store a picture and its map of labels.

        >>> subject = ImageSubject.of(b"", np.array([[0, 0], [1, 1]]))
        >>> subject.runs, subject.labels.tolist()
        (((0, 2), (1, 2)), [[0, 0], [1, 1]])
        """
        flat = labels.ravel()
        starts = np.concatenate([[0], np.flatnonzero(np.diff(flat)) + 1])
        lengths = np.diff(np.append(starts, flat.size))
        runs = tuple(zip(flat[starts].tolist(), lengths.tolist(), strict=True))
        height, width = labels.shape
        return cls(b64encode(png).decode(), height, width, runs)

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
