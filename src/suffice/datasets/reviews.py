"""Film reviews and what people thought of the film: whole reviews, and single sentences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from suffice.datasets.files import DataFile, locate

__all__ = ["imdb", "imdb_sentences"]

_REVIEWS = DataFile(
    "imdb/imdb_50k.csv.gz",
    "f8bdfb035b7ca17727af8b67a775a6e07fe5659bdfe6d32e9f59029dd95df38e",
    "Get aclImdb_v1 from ai.stanford.edu/~amaas/data/sentiment and write its 50,000 labelled"
    " reviews as one table with the columns split, sentiment, id, rating, review",
)
_SENTENCES = DataFile(
    "imdb/imdb_labelled.txt",
    "a5851cfed830b68d4b18fa11f7e9fa85debee7566be0933c9a679ce747c86d67",
    "Get 'Sentiment Labelled Sentences' from archive.ics.uci.edu, file imdb_labelled.txt",
)


def imdb(data_home: str | Path | None = None, *, verify: bool = True) -> Any:
    """The 50,000 IMDB reviews of the paper as a frame: split, sentiment, id, rating, review.

    The sentiment is "positive" or "negative", 25,000 of each. Reviews are as they were written,
    with their HTML tags.
    `data_home` (or SUFFICE_DATA) is the folder that holds `imdb/imdb_50k.csv.gz`;
    `verify=False` takes another version of the file.

    >>> from suffice import datasets
    >>> datasets.imdb().groupby("sentiment").size().to_dict()
    {'negative': 25000, 'positive': 25000}
    """
    import pandas as pd

    return pd.read_csv(locate(_REVIEWS, data_home, verify), keep_default_na=False)


def imdb_sentences(
    data_home: str | Path | None = None, *, verify: bool = True
) -> list[tuple[str, str]]:
    """1,000 sentences from IMDB reviews, each with its label: "positive" or "negative".

    `data_home` (or SUFFICE_DATA) is the folder that holds `imdb/imdb_labelled.txt`;
    `verify=False` takes another version of the file: a sentence, a tab, and 1 or 0 per line.

    >>> from suffice import datasets
    >>> sentences = datasets.imdb_sentences()
    >>> len(sentences)
    1000
    """
    text = locate(_SENTENCES, data_home, verify).read_text(encoding="utf-8")
    # Not splitlines: a sentence may hold U+0085, which is a line break to Python.
    pairs = [line.rsplit("\t", 1) for line in text.split("\n") if line.strip()]
    return [(sentence.strip(), _LABELS[label.strip()]) for sentence, label in pairs]


_LABELS = {"1": "positive", "0": "negative"}
