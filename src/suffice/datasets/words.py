"""What text is read with: word vectors, and a list of stop words."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from suffice.datasets.files import DataFile, locate
from suffice.typing import Values

__all__ = ["glove", "stopwords"]

_GLOVE = DataFile(
    "glove/glove.6B.100d.subset.npz",
    "75509648e6aeca3289e7b747343502ccf042ff2daf3fa6d7cc3de58b3e8bf3a4",
    "Get glove.6B from nlp.stanford.edu/projects/glove and store its arrays `words` and `vectors`"
    " with numpy.savez",
)
_STOPWORDS = DataFile(
    "stopwords/nltk_english.txt",
    "019f104ba2ed07436d05f9cdd3383034ad66014edc27fc651f837e1a038b6451",
    "Get it with nltk.download('stopwords'), file corpora/stopwords/english",
)


def glove(data_home: str | Path | None = None, *, verify: bool = True) -> dict[str, Values]:
    """GloVe vectors of 100 numbers for 29,796 words: {word: vector}.

    `data_home` (or SUFFICE_DATA) is the folder that holds `glove/glove.6B.100d.subset.npz`;
    `verify=False` takes another version of the file: other words, or vectors of another length.

    >>> from suffice import datasets
    >>> vectors = datasets.glove()
    >>> len(vectors), vectors["film"].shape
    (29796, (100,))
    """
    with np.load(locate(_GLOVE, data_home, verify), allow_pickle=False) as stored:
        return dict(zip(stored["words"].tolist(), stored["vectors"], strict=True))


def stopwords(data_home: str | Path | None = None, *, verify: bool = True) -> frozenset[str]:
    """The English stop words of nltk.

    `data_home` (or SUFFICE_DATA) is the folder that holds `stopwords/nltk_english.txt`;
    `verify=False` takes another list, a word per line.

    >>> from suffice import datasets
    >>> "the" in datasets.stopwords()
    True
    """
    text = locate(_STOPWORDS, data_home, verify).read_text(encoding="utf-8")
    return frozenset(text.split())
