"""Helpers of the tests of texts: models that look for words."""

import re
from io import StringIO

from rich.console import Console
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline


def yes_or_no(rule):
    """A model that calls a text "yes" where the rule holds for it."""
    return lambda texts: ["yes" if rule(text) else "no" for text in texts]


def contains_words(*wanted):
    return lambda text: set(wanted) <= set(re.findall(r"\w+", text))


def timed(model, clock, seconds=5e-4):
    """The model, taking so many seconds of a fake clock's time for every text."""

    def timed_model(texts):
        clock.now += seconds * len(texts)
        return model(texts)

    return timed_model


def factor_sets(view):
    return {frozenset(f.features) for f in view.factors}


def word_sets(*groups):
    return {frozenset(group.split()) for group in groups}


AND = yes_or_no(contains_words("fine", "friends"))


OR = yes_or_no(lambda t: contains_words("good")(t) or contains_words("fine", "friends")(t))


FILM = "A good film, a fine evening with friends."


LONG = (
    "The film began late. In the long break the popcorn was good. We sat in the last row. "
    "Then we left early, because of the rain and the long way home. Nobody minded. "
    "A fine evening with friends."
)


TRAIN = [
    ("a good film with great actors", "good"),
    ("great fun and a good plot", "good"),
    ("good popcorn, great seats", "good"),
    ("a bad film with awful actors", "bad"),
    ("awful plot and no fun", "bad"),
    ("bad popcorn, awful seats", "bad"),
    ("awful", "bad"),
]


def pipeline():
    texts, y = zip(*TRAIN, strict=True)
    return make_pipeline(CountVectorizer(), LogisticRegression()).fit(texts, y)


def terminal_text(explanation, width=100):
    console = Console(width=width, file=StringIO())
    console.print(explanation)
    return console.file.getvalue()
