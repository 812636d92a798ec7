"""A short text with some words masked: every way of it, asked of the model once; and Anchors' own.

Which masks contrast, how brittle a text is, and how often a set of words keeps the label if each
other word is masked with probability one half: the precision that Anchors estimates by sampling.
"""

import warnings
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from suffice.cli.peer_tools import seeded_and_quiet

__all__ = ["MASKS", "Masked", "anchors", "brittleness", "contrasting_mask"]

MASKS = ("UNK", "PLATE")
"""The paper's two, in its order."""

Model = Callable[[list[str]], np.ndarray]


def contrasting_mask(model: Model, words: Sequence[str], masks: Sequence[str]) -> str | None:
    """The first mask for which a text of nothing else gets the other label."""
    able = [mask for mask in masks if mask.lower() not in words]
    label, *others = model([" ".join(words), *(" ".join([mask] * len(words)) for mask in able)])
    return next((m for m, other in zip(able, others, strict=True) if other != label), None)


def brittleness(model: Model, words: Sequence[str], mask: str) -> float:
    """The share of words each of which flips the label if it alone is masked."""
    changed = [[*words[:i], mask, *words[i + 1 :]] for i in range(len(words))]
    label, *others = model([" ".join(words), *map(" ".join, changed)])
    return float(np.mean([other != label for other in others]))


class Masked:
    """All 2^d texts. A set of words is a set of positions."""

    def __init__(self, model: Model, words: Sequence[str], mask: str) -> None:
        self.words, self.mask = tuple(words), mask
        d = len(words)
        self._all = 2**d - 1
        texts = [
            " ".join(word if held >> i & 1 else mask for i, word in enumerate(words))
            for held in range(2**d)
        ]
        labels = model(texts)
        self._keeps = labels == labels[-1]
        # A word that is itself the mask makes texts equal; so are their labels.
        self._label = dict(zip(texts, labels, strict=True))

    def __call__(self, texts: Iterable[str]) -> np.ndarray:
        """The model's labels, known already."""
        return np.array([self._label[str(text)] for text in texts], dtype=object)

    def keeps(self, held: Iterable[int]) -> bool:
        """Does the label stay if only these words do?"""
        return bool(self._keeps[_bits(held)])

    def flips(self, replaced: Iterable[int]) -> bool:
        """Does the label change if these words are masked?"""
        return not self._keeps[self._all & ~_bits(replaced)]

    def precision(self, held: Iterable[int]) -> float:
        """How often the label stays if each other word is masked with probability one half."""
        bits = _bits(held)
        every = np.arange(len(self._keeps))
        return float(self._keeps[(every & bits) == bits].mean())

    def smaller(self, held: Sequence[int], enough: Callable[[tuple[int, ...]], bool]) -> list[int]:
        """A smallest strict subset that is enough, or the set itself where there is none."""
        for size in range(len(held)):
            for subset in combinations(sorted(held), size):
                if enough(subset):
                    return list(subset)
        return sorted(held)


def anchors(masked: Masked, seed: int) -> dict[str, Any]:
    """anchor-exp's rule for a text as released, with its default settings.

    Its spaCy object only cuts the text, so a blank one that cuts at blanks, as the model does,
    needs no download. Its other mode, words drawn from DistilBERT, does.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import spacy
        from anchor.anchor_text import AnchorText
        from spacy.tokenizer import Tokenizer

        nlp = spacy.blank("en")
        nlp.tokenizer = Tokenizer(nlp.vocab)
        explainer = AnchorText(nlp, ["negative", "positive"], True, mask_string=masked.mask)
        with seeded_and_quiet(seed):
            found = explainer.explain_instance(" ".join(masked.words), masked)
    return {
        "mask": masked.mask,
        "held": sorted(int(i) for i in found.features()),
        "precision reported": float(found.precision()),
    }


def _bits(places: Iterable[int]) -> int:
    return sum(1 << int(i) for i in places)
