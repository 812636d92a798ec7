"""Segments of text as numbers: each becomes the mean of its words' vectors.

Nine segments and vectors of 100 numbers make a table of 900 columns in nine groups: what the
model sees are columns, what an explanation speaks of are segments.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from suffice.datasets.mail.segments import SEGMENTS
from suffice.errors import InputError, did_you_mean
from suffice.tables import is_frame
from suffice.typing import Reals

__all__ = ["mean_vectors", "vector_columns", "vector_groups"]

Document = Mapping[str, str]


def mean_vectors(
    fields: Document | Iterable[Document],
    vectors: Mapping[str, Any],
    segments: Sequence[str] = SEGMENTS,
) -> Reals:
    """(documents, segments × numbers): the mean vector of each segment's known words.

    Parameters
    ----------
    fields
        One document as {segment: text}, a list of them, or a frame with a column per segment.
        Words are what white space separates: `clean` the text first.
    vectors
        {word: vector}, all of one length. Words it does not have are left out; a segment without a
        known word is all zeros.
    segments
        Which segments, in the order of their columns.

    Examples
    --------
    >>> vectors = {"free": [1.0, 0.0], "money": [0.0, 1.0]}
    >>> mean_vectors({"Subject": "free money now", "To": ""}, vectors, ["Subject", "To"]).tolist()
    [[0.5, 0.5, 0.0, 0.0]]
    """
    size = _size_of(vectors)
    texts = [[text.split() for text in row] for row in _texts(fields, segments)]
    # Only the words that occur are looked up: a vocabulary has many more.
    used = {word for row in texts for words in row for word in words if word in vectors}
    number = {word: i for i, word in enumerate(sorted(used))}
    try:
        known = np.array([vectors[word] for word in number], dtype=float).reshape(-1, size)
    except (TypeError, ValueError) as error:
        allowed = "{word: vector}, all vectors of one length"
        raise InputError("vectors", "vectors of several lengths", allowed) from error
    out = np.zeros((len(texts), len(segments), size))
    for i, row in enumerate(texts):
        for j, words in enumerate(row):
            if found := [number[word] for word in words if word in number]:
                out[i, j] = known[found].mean(axis=0)
    return out.reshape(len(texts), len(segments) * size)


def vector_groups(size: int, segments: Sequence[str] = SEGMENTS) -> dict[str, list[str]]:
    """Each segment's columns, as `Explainer` takes them for `groups`.

    >>> vector_groups(2, ["From", "To"])
    {'From': ['From 0', 'From 1'], 'To': ['To 0', 'To 1']}
    """
    if not isinstance(size, int | np.integer) or size < 1:
        raise InputError("size", size, "the length of a word vector, a whole number >= 1")
    return {segment: [f"{segment} {i}" for i in range(size)] for segment in segments}


def vector_columns(size: int, segments: Sequence[str] = SEGMENTS) -> list[str]:
    """The columns' names in the order of `mean_vectors`.

    >>> vector_columns(2, ["From", "To"])
    ['From 0', 'From 1', 'To 0', 'To 1']
    """
    return [name for names in vector_groups(size, segments).values() for name in names]


def _size_of(vectors: Mapping[str, Any]) -> int:
    if not isinstance(vectors, Mapping) or not vectors:
        raise InputError("vectors", vectors, "{word: vector}, at least one")
    size = np.size(next(iter(vectors.values())))
    if not size:
        raise InputError("vectors", "vectors of no numbers", "{word: vector}")
    return size


def _texts(fields: Any, segments: Sequence[str]) -> list[list[str]]:
    """(documents, segments) of text, whatever form it came in."""
    if isinstance(fields, str) or not isinstance(fields, Iterable):
        raise InputError("fields", fields, "{segment: text}, a list of them, or a frame")
    documents: Iterable[Any] = [fields] if isinstance(fields, Mapping) else fields
    if is_frame(fields):
        import narwhals as nw

        documents = nw.from_native(cast(Any, fields), eager_only=True).iter_rows(named=True)
    rows = []
    for document in documents:
        if not isinstance(document, Mapping):
            raise InputError("fields", document, "documents as {segment: text}")
        rows.append([_text(document, segment) for segment in segments])
    return rows


def _text(document: Document, segment: str) -> str:
    if segment not in document:
        hint = did_you_mean(segment, document)
        raise InputError("fields", f"no segment {segment!r}", "a text for every segment", hint)
    text: object = document[segment]
    if not isinstance(text, str):
        raise InputError("fields", f"{text!r} for {segment!r}", "a text for every segment")
    return text
