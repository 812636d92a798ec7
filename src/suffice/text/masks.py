"""What words are replaced by: a token, nothing, or the words of other texts.

A single token makes one reference, so a set either suffices or does not; each further token, or
each text drawn from a corpus, makes another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np

from suffice.errors import InputError, shorten
from suffice.evaluate.columns import steps_of
from suffice.randomness import Stream, generator
from suffice.tables.labels import is_label
from suffice.text.spans import words
from suffice.typing import BoolVector, Values

__all__ = [
    "CANDIDATES",
    "Corpus",
    "as_cells",
    "check_tokens",
    "deal_words",
    "describe_tokens",
    "known_to",
]

CANDIDATES = ("UNK", "[MASK]", "plate", "the", "…", "thing", "it")
"""Words that mean little, tried in this order. Not "": some models fail on an empty text."""

DRAWN = 50
"""Texts drawn from a corpus where no number is given."""


@dataclass(frozen=True)
class Corpus:
    """Texts whose words stand in for the input's: those predicted otherwise than the input.

    Parameters
    ----------
    texts
        The texts, as many as the model can be asked about at once.
    labels
        Their labels, where these rather than the model's answers shall tell which texts are
        otherwise.

    Examples
    --------
    >>> from suffice import Corpus, TextExplainer
    >>> def model(texts):
    ...     return ["good" if "fine" in text else "bad" for text in texts]
    >>> explainer = TextExplainer(model, mask=Corpus(["a dull film", "a slow one"]))
    >>> [f.features for f in explainer("a fine film").keep]
    [('fine',)]
    """

    texts: Sequence[str] = field(repr=False)
    labels: Sequence[Any] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        given: object = self.texts
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise InputError("Corpus", given, "a list of texts")
        texts = tuple(given)
        wrong = [text for text in texts if not isinstance(text, str)]
        if wrong or not texts:
            raise InputError("Corpus", wrong[0] if wrong else "no texts", "a list of texts")
        object.__setattr__(self, "texts", texts)
        if self.labels is not None:
            given_labels: object = self.labels
            if isinstance(given_labels, str) or not isinstance(given_labels, Iterable):
                raise InputError("labels", given_labels, "a label for each text")
            labels = tuple(given_labels)
            if len(labels) != len(texts):
                got = f"{len(labels)} labels for {len(texts)} texts"
                raise InputError("Corpus", got, "a label for each text")
            for number, label in enumerate(labels):
                if label is None or not is_label(label):
                    got = f"{shorten(label)} for text {number}"
                    raise InputError("labels", got, "a label for each text")
            object.__setattr__(self, "labels", labels)


def check_tokens(given: object, argument: str) -> tuple[str, ...]:
    """One token or several, each a string."""
    tokens = (given,) if isinstance(given, str) else given
    allowed = "a token, a list of tokens, 'delete', 'auto' or Corpus(texts)"
    if not isinstance(tokens, list | tuple) or not all(isinstance(t, str) for t in tokens):
        raise InputError(argument, given, allowed)
    if not tokens:
        raise InputError(argument, "no token", allowed)
    return tuple(dict.fromkeys(tokens))


def describe_tokens(tokens: Sequence[str]) -> str:
    """What happens to a word.

    >>> describe_tokens(["UNK", "plate"]), describe_tokens([""])
    ('replaced by “UNK” or “plate”', 'deleted')
    """
    named = " or ".join(f"“{token}”" for token in tokens if token)
    parts = [f"replaced by {named}"] * bool(named) + ["deleted"] * ("" in tokens)
    return " or ".join(parts)


@runtime_checkable
class CountsWords(Protocol):
    """A vectoriser with a list of the words it knows, as scikit-learn's are once fitted."""

    vocabulary_: Mapping[str, int]

    def build_analyzer(self) -> Callable[[str], Iterable[str]]:
        """What cuts a text into the words that are counted."""
        ...


def known_to(model: Any, token: str) -> bool | None:
    """Does the model know a word of this token? None where it cannot be asked.

    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> model = make_pipeline(CountVectorizer().fit(["a plate"]), None)
    >>> known_to(model, "plate"), known_to(model, "UNK"), known_to(len, "UNK")
    (True, False, None)
    """
    steps, _ = steps_of(model)
    if not (steps and isinstance(steps[0], CountsWords)):
        return None
    try:
        return any(word in steps[0].vocabulary_ for word in steps[0].build_analyzer()(token))
    except Exception:  # an analyser of the user's own may not take a single token
        return None


def deal_words(corpus: Corpus, otherwise: BoolVector, width: int, n: int, seed: int) -> Values:
    """(rows, width): stretches of the words of the texts that are otherwise, each row distinct.

    A text too short for the width is read again from its start.
    """
    bags = []
    for text, other in zip(corpus.texts, otherwise.tolist(), strict=True):
        if other and (spans := words(text)):
            bags.append([text[a:b] for a, b in spans])
    if not bags:
        raise InputError(
            "mask",
            f"a corpus of {len(corpus.texts)} texts, none of them predicted otherwise than the "
            "input and with words in it",
            "a corpus that holds texts of another label",
            "Give other texts, or a token as the mask.",
        )
    rng = generator(seed, Stream.MASKS)
    order = rng.permutation(len(bags))
    rows: dict[tuple[str, ...], None] = {}
    for turn in range(n):
        bag = bags[order[turn % len(bags)]]
        start = int(rng.integers(max(1, len(bag) - width + 1) if len(bag) > width else len(bag)))
        rows[tuple(bag[(start + i) % len(bag)] for i in range(width))] = None
    return as_cells(list(rows))


def as_cells(rows: Sequence[Sequence[str]]) -> Values:
    """Rows of strings as an array that keeps them as they are."""
    out = np.empty((len(rows), len(rows[0])), dtype=object)
    for i, row in enumerate(rows):
        out[i] = row
    return out
