"""Data to try things on: one made-up table inside the package, and loaders for real ones."""

from suffice.datasets.adult import adult, adult_mlp
from suffice.datasets.german import german_credit
from suffice.datasets.loans import loans
from suffice.datasets.mails import spam, spam_raw
from suffice.datasets.reviews import imdb, imdb_sentences
from suffice.datasets.words import glove, stopwords

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
