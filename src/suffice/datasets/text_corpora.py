"""Text data sets: SpamAssassin mails, IMDB reviews, GloVe vectors and stop words."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np

from suffice.datasets.data_files import DataFile, locate
from suffice.typing import Values

_SPAM = DataFile(
    "spam/spam_clean_str.csv",
    "e4b1b0b3ad83701fe8b353332053cdc62144d429f0a00e1f35f81827b53670d0",
    "Get spam_clean_str.csv from the authors' repository, github.com/limorigu/LENS",
)
_SPAM_RAW = DataFile(
    "spam/spamassassin_raw.jsonl.gz",
    "af31125238b3d694e743ecb26615e87ecbca33fd032ae279b70129a9610c0090",
    "Get the mails from spamassassin.apache.org/old/publiccorpus and write one JSON object"
    ' {"text", "label"} per line (label 1: spam)',
)
_SPAM_COLUMNS = (
    "From",
    "To",
    "Subject",
    "save_urls",
    "save_emailsadd",
    "first_sent",
    "second_sent",
    "penult_sent",
    "last_sent",
)


def spam(data_home: str | Path | None = None, *, verify: bool = True) -> tuple[Any, Any]:
    """Return 4,439 mails as a frame of nine cleaned segments, and labels: spam 1, other 0.

    The paper's authors made these fields; see "E-mails and other structured documents" for how
    they differ from those of `mail_segments`. A sentence that a mail does not have is empty.
    `data_home` (or SUFFICE_DATA) is the folder that holds `spam/spam_clean_str.csv`;
    `verify=False` takes another version of the file.

    >>> from suffice import datasets
    >>> segments, labels = datasets.spam()
    >>> segments.shape, int(sum(labels))
    ((4439, 9), 1889)
    """
    import pandas as pd

    path = locate(_SPAM, data_home, verify)
    frame = pd.read_csv(path, index_col=0, keep_default_na=False, encoding="utf-8")
    texts = frame[list(_SPAM_COLUMNS)].set_axis(list(SEGMENTS), axis="columns")
    # The file has runs of blanks where words were taken out, and "none" for a missing sentence.
    texts = texts.apply(lambda column: column.str.split().str.join(" "))
    texts = texts.replace({name: {"none": ""} for name in SEGMENTS[5:]})
    return texts, frame["outcome"].to_numpy()


def spam_raw(data_home: str | Path | None = None, *, verify: bool = True) -> list[tuple[str, int]]:
    """Return 6,046 raw mails, each with its label: spam 1, other 0.

    `data_home` (or SUFFICE_DATA) is the folder that holds `spam/spamassassin_raw.jsonl.gz`;
    `verify=False` takes another version of the file.

    >>> from suffice import datasets
    >>> mails = datasets.spam_raw()
    >>> len(mails), sum(label for _, label in mails)
    (6046, 1896)
    """
    path = locate(_SPAM_RAW, data_home, verify)
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        mails = [json.loads(line) for line in lines]
    return [(str(mail["text"]), int(mail["label"])) for mail in mails]


# Film reviews and what people thought of the film: whole reviews, and single sentences.


_IMDB = DataFile(
    "imdb/imdb_50k.csv.gz",
    "f8bdfb035b7ca17727af8b67a775a6e07fe5659bdfe6d32e9f59029dd95df38e",
    "Get aclImdb_v1 from ai.stanford.edu/~amaas/data/sentiment and write its 50,000 labelled"
    " reviews as one table with the columns split, sentiment, id, rating, review",
)
_IMDB_SENTENCES = DataFile(
    "imdb/imdb_labelled.txt",
    "a5851cfed830b68d4b18fa11f7e9fa85debee7566be0933c9a679ce747c86d67",
    "Get 'Sentiment Labelled Sentences' from archive.ics.uci.edu, file imdb_labelled.txt",
)


def imdb(data_home: str | Path | None = None, *, verify: bool = True) -> Any:
    """Return the 50,000 IMDB reviews of the paper: split, sentiment, id, rating, review.

    The sentiment is "positive" or "negative", 25,000 of each. Reviews are as they were written,
    with their HTML tags.
    `data_home` (or SUFFICE_DATA) is the folder that holds `imdb/imdb_50k.csv.gz`;
    `verify=False` takes another version of the file.

    >>> from suffice import datasets
    >>> datasets.imdb().groupby("sentiment").size().to_dict()
    {'negative': 25000, 'positive': 25000}
    """
    import pandas as pd

    return pd.read_csv(locate(_IMDB, data_home, verify), keep_default_na=False)


def imdb_sentences(
    data_home: str | Path | None = None, *, verify: bool = True
) -> list[tuple[str, str]]:
    """Return 1,000 sentences from IMDB reviews, each with its label: "positive" or "negative".

    `data_home` (or SUFFICE_DATA) is the folder that holds `imdb/imdb_labelled.txt`;
    `verify=False` takes another version of the file: a sentence, a tab, and 1 or 0 per line.

    >>> from suffice import datasets
    >>> sentences = datasets.imdb_sentences()
    >>> len(sentences)
    1000
    """
    text = locate(_IMDB_SENTENCES, data_home, verify).read_text(encoding="utf-8")
    # Not splitlines: a sentence may hold U+0085, which is a line break to Python.
    pairs = [line.rsplit("\t", 1) for line in text.split("\n") if line.strip()]
    return [(sentence.strip(), _IMDB_LABELS[label.strip()]) for sentence, label in pairs]


_IMDB_LABELS = {"1": "positive", "0": "negative"}


# What text is read with: word vectors, and a list of stop words.


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
    """Return GloVe vectors of 100 numbers for 29,796 words: {word: vector}.

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
    """Return the English stop words of nltk.

    `data_home` (or SUFFICE_DATA) is the folder that holds `stopwords/nltk_english.txt`;
    `verify=False` takes another list, a word per line.

    >>> from suffice import datasets
    >>> "the" in datasets.stopwords()
    True
    """
    text = locate(_STOPWORDS, data_home, verify).read_text(encoding="utf-8")
    return frozenset(text.split())


SEGMENTS = (
    "From",
    "To",
    "Subject",
    "Urls",
    "Emails",
    "First Sentence",
    "Second Sentence",
    "Penult Sentence",
    "Last Sentence",
)
"""The names of the segments, in their order."""
