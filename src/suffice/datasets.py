"""Data sets: a generated table of loans; loaders of the paper's data, with their checksums."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from suffice.errors import InputError
from suffice.typing import Values
from suffice.validation import check_bool, check_integer

__all__ = [
    "adult",
    "adult_mlp",
    "german_credit",
    "glove",
    "imdb",
    "imdb_sentences",
    "loans",
    "spam",
    "spam_raw",
    "stopwords",
]
"""The data sets; the rest is how their files are found and read."""


class DataFile(NamedTuple):
    """A data file: path below the data folder, SHA-256, and where to get it."""

    path: str
    sha256: str
    source: str


def locate(file: DataFile, data_home: str | Path | None = None, verify: bool = True) -> Path:
    """Return a file's path below `data_home`, SUFFICE_DATA or `data`; raise if it differs."""
    given: object = data_home
    if not (given is None or isinstance(given, str | Path)):
        raise InputError("data_home", given, "None, or the path of a folder")
    verify = check_bool("verify", verify)
    path = Path(data_home or os.environ.get("SUFFICE_DATA", "data")) / file.path
    try:
        found = path.is_file()
    except OSError:  # a name that no file can have
        found = False
    if not found:
        raise InputError(
            "data_home",
            f"a folder without {path}",
            f"a folder with {file.path}",
            f"{file.source}, or set SUFFICE_DATA.",
        )
    if verify:
        with path.open("rb") as opened:
            checksum = hashlib.file_digest(opened, "sha256").hexdigest()
        if checksum != file.sha256:
            raise InputError(
                "data_home",
                f"{path} with the SHA-256 checksum {checksum[:12]}…",
                f"the file whose checksum is {file.sha256[:12]}…",
                f"It is damaged or another version. {file.source}, or pass verify=False.",
            )
    return path


# Tabular data sets: loans (generated), German credit, Adult and its network.


def loans(n: int = 600, random_state: int = 7) -> tuple[Any, Any]:
    """Return made-up loan applications: a pandas frame of seven features, and the decisions.

    The decisions follow a rule with noise: debts weigh against income, late payments weigh
    heavily, a guarantor helps those who own little.

    >>> X, y = loans()
    >>> X.shape, sorted(set(y.tolist()))
    ((600, 7), ['granted', 'refused'])
    """
    import pandas as pd

    n = check_integer("n", n)
    rng = np.random.default_rng(check_integer("random_state", random_state, least=0))
    age = rng.integers(20, 70, n)
    income = (18 + rng.gamma(4.0, 7.0, n) + 0.25 * (age - 20)).round(0).astype(int)
    home = rng.choice(["rents", "owns", "with family"], n, p=[0.45, 0.4, 0.15])
    job = rng.choice(["permanent", "temporary", "self-employed"], n, p=[0.6, 0.25, 0.15])
    debt = (rng.gamma(1.6, 9.0, n)).round(0).astype(int)
    late = np.minimum(rng.poisson(0.7, n), 5)
    guarantor = rng.random(n) < 0.2
    score = (
        0.07 * (income - 45)
        - 0.10 * (debt - 14)
        - 0.9 * late
        + 0.6 * (home == "owns")
        - 0.5 * (job == "temporary")
        + 1.2 * (guarantor & (home != "owns"))
        + rng.logistic(0.0, 0.35, n)
    )
    frame = pd.DataFrame(
        {
            "age": age,
            "income": income,
            "home": home,
            "job": job,
            "debt": debt,
            "late payments": late,
            "guarantor": guarantor,
        }
    )
    return frame, np.where(score > 0.2, "granted", "refused")


# German credit, the paper's first table.


_GERMAN = DataFile(
    "german/german_credit_data.csv",
    "42be3b82a2e5073bd5ca23bce1d1c31426b78f72d20cd892f3aacaa2ba30a075",
    "Get 'german-credit-data-with-risk' from Kaggle",
)


def german_credit(data_home: str | Path | None = None, *, verify: bool = True) -> tuple[Any, Any]:
    """Return German credit as in the paper's appendix: nine features, risk 1 (good) or 0 (bad).

    Categories become numbers, missing savings and checking accounts their column's mean.
    `data_home` (or the environment variable SUFFICE_DATA) is the folder that holds
    `german/german_credit_data.csv`, the Kaggle variant of the UCI table.
    `verify=False` takes another version of the file.

    >>> from suffice import datasets
    >>> X, y = datasets.german_credit()
    >>> X.shape, int(y.sum())
    ((1000, 9), 700)
    """
    import pandas as pd

    path = locate(_GERMAN, data_home, verify)
    frame = pd.read_csv(path, index_col=0, keep_default_na=False, na_values=["NA"])
    frame = frame.rename(
        columns={
            "Saving accounts": "Savings",
            "Checking account": "Checking",
            "Credit amount": "Credit",
        }
    )
    for column, categories in (GERMAN_CATEGORIES | {"Risk": ("bad", "good")}).items():
        if column == "Job":  # numbers in the file already
            continue
        numbers = frame[column].map({name: i for i, name in enumerate(categories)})
        frame[column] = numbers.fillna(numbers.mean())
    return frame.drop(columns="Risk"), frame["Risk"].to_numpy()


GERMAN_CATEGORIES = {
    "Sex": ("male", "female"),
    "Job": ("unskilled, not resident", "unskilled", "skilled", "highly skilled"),
    "Housing": ("own", "free", "rent"),
    "Savings": ("little", "moderate", "quite rich", "rich"),
    "Checking": ("little", "moderate", "rich"),
    "Purpose": (
        "radio/TV",
        "education",
        "furniture/equipment",
        "car",
        "business",
        "domestic appliances",
        "repairs",
        "vacation/others",
    ),
}
"""What the numbers of each column of categories stand for: its first is 0."""


# Adult income, the paper's table for recourse, and the network DiCE's authors trained on it.


_ADULT = DataFile(
    "adult/adult_clean.csv",
    "817216df6163240751004efd41b2689e03f5e9b05e2dcb88c5c690afc36861ac",
    "Get adult_clean.csv from the authors' repository, github.com/limorigu/LENS",
)
_ADULT_MLP = DataFile(
    "adult/adult_mlp_weights.npz",
    "474fb167066b78f2855975ab5dc4fe70ec8b1a9bec20692fe5317b0833f160b4",
    "Get adult.h5 from github.com/interpretml/DiCE and store its layers as W1, b1, W2, b2 with"
    " numpy.savez",
)
_ADULT_RANGES = {"age": (17, 90), "hours_per_week": (1, 99)}
_ADULT_COLUMNS = (
    "age",
    "workclass",
    "education",
    "marital_status",
    "occupation",
    "race",
    "gender",
    "hours_per_week",
)


def adult(data_home: str | Path | None = None, *, verify: bool = True) -> tuple[Any, Any]:
    """Return Adult: 32,561 people, eight features, and DiCE's predictions (1: over 50K).

    The file holds numbers scaled to [0, 1] and a column per category; here are years, hours a week
    and categories by name. `data_home` (or SUFFICE_DATA) is the folder that holds
    `adult/adult_clean.csv`; `verify=False` takes another version of the file.

    >>> from suffice import datasets
    >>> X, y = datasets.adult()
    >>> X.shape, int(y.sum())
    ((32561, 8), 9720)
    """
    import pandas as pd

    stored = pd.read_csv(locate(_ADULT, data_home, verify), index_col=0)
    columns = {}
    for name in _ADULT_COLUMNS:
        if name in _ADULT_RANGES:
            low, high = _ADULT_RANGES[name]
            columns[name] = (stored[name] * (high - low) + low).round().astype(np.int64)
        else:
            block = [c for c in stored.columns if c.startswith(f"{name}_")]
            categories = [c.removeprefix(f"{name}_") for c in block]
            which = stored[block].to_numpy().argmax(axis=1)
            codes = pd.Categorical.from_codes(which, pd.Index(categories))
            columns[name] = pd.Series(codes, index=stored.index)
    return pd.DataFrame(columns), stored["modelPred"].to_numpy().astype(np.int64)


def adult_mlp(data_home: str | Path | None = None, *, verify: bool = True) -> dict[str, Values]:
    """Return the weights of DiCE's network: W1 (29, 20), b1, a ReLU, W2 (20, 1), b2, a sigmoid.

    Its 29 inputs are age and hours, scaled from their ranges to [0, 1], then a column for each
    category, feature by feature in the order of the frame's. `data_home` (or SUFFICE_DATA) is the
    folder that holds `adult/adult_mlp_weights.npz`; `verify=False` takes other weights.

    >>> from suffice import datasets
    >>> {name: weights.shape for name, weights in datasets.adult_mlp().items()}
    {'W1': (29, 20), 'b1': (20,), 'W2': (20, 1), 'b2': (1,)}
    """
    with np.load(locate(_ADULT_MLP, data_home, verify), allow_pickle=False) as stored:
        return {name: stored[name] for name in ("W1", "b1", "W2", "b2")}


# Text data sets: SpamAssassin mails, IMDB reviews, GloVe vectors and stop words.


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
