"""Data sets: a generated table of loans, and loaders of the paper's data."""

from suffice.datasets.tabular import adult, adult_mlp, german_credit, loans
from suffice.datasets.text_corpora import glove, imdb, imdb_sentences, spam, spam_raw, stopwords

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
