"""What a text is contrasted with: rows of cells, chosen once the model has answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.checks import number
from suffice.errors import InputError
from suffice.explanation.record import MaskRecord
from suffice.randomness import Stream, generator
from suffice.tables.labels import as_labels, not_a_class, of_a_kind
from suffice.text.asking import TextDecision, decide
from suffice.text.join import Join
from suffice.text.masks import (
    CANDIDATES,
    DRAWN,
    Corpus,
    as_cells,
    check_tokens,
    deal_words,
    describe_tokens,
    known_to,
)
from suffice.text.parts import Parts
from suffice.typing import BoolVector, Values

__all__ = ["Contrast", "TokenMask", "contrast_with", "describe_mask", "read_mask"]


_HELD = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95)
"""Of the words: in the versions of a text that tell which token is the mildest."""


@dataclass(frozen=True)
class TokenMask:
    """Tokens: each a reference; or candidates, of which the mildest that contrasts is the one."""

    tokens: tuple[str, ...]
    first: bool = False


@dataclass(frozen=True, eq=False)
class Contrast:
    """The decision on a text, the rows of cells it is contrasted with, and how that is said."""

    decision: TextDecision
    cells: Values
    says: str
    mask: MaskRecord | None = None
    """How a token was found, where none was given."""


def read_mask(mask: object, candidates: Sequence[str]) -> TokenMask | Corpus:
    """A mask as the user gives it."""
    auto = isinstance(mask, str) and mask == "auto"
    given: object = candidates
    if not isinstance(given, list | tuple):
        raise InputError("candidates", given, "a list of tokens")
    if not auto and tuple(candidates) != CANDIDATES:
        hint = "They are tried in turn where the mask is to be found."
        raise InputError("candidates", candidates, "none unless mask='auto'", hint)
    if isinstance(mask, Corpus):
        return mask
    if auto:
        return TokenMask(check_tokens(candidates, "candidates"), first=True)
    deletes = isinstance(mask, str) and mask == "delete"
    return TokenMask(check_tokens("" if deletes else mask, "mask"))


def describe_mask(mask: TokenMask | Corpus) -> str:
    """What stands in for words, in a few of them."""
    if isinstance(mask, Corpus):
        return f"words of {len(mask.texts):,} other texts"
    return (
        "the mildest of some tokens that contrast" if mask.first else describe_tokens(mask.tokens)
    )


def contrast_with(
    mask: TokenMask | Corpus,
    model: Any,
    parts: Parts,
    join: Join,
    outcome: Any,
    n: int | None,
    seed: int,
) -> Contrast:
    """Ask about the text and what may replace its words, and choose."""
    if isinstance(mask, Corpus):
        return _with_corpus(mask, model, parts, join, outcome, n or DRAWN, seed)
    tokens = mask.tokens
    cells = as_cells([[token] * len(parts.atoms) for token in tokens])
    decision = decide(model, parts.text, join(cells.tolist()), outcome)
    found = None
    if mask.first:
        contrasts = np.flatnonzero(decision.others != decision.y)
        if not len(contrasts):
            raise _no_contrast(
                f"'auto', and every text of one of these alone {_same(decision)}: "
                + ", ".join(f"“{t}”" if t else "deletion" for t in tokens)
            )
        best = int(contrasts[_mildest(cells[contrasts], decision, parts, join, seed)])
        found = MaskRecord(
            tokens[best],
            decision.event.describe(not decision.y),
            tuple(
                t for t, other in zip(tokens, decision.others, strict=True) if other == decision.y
            ),
            known_to(decision.model.original, tokens[best]),
        )
        tokens, cells = tokens[best : best + 1], cells[[best]]
    each = parts.noun if parts.noun == "span" else "word"
    return Contrast(decision, cells, f"each {each} {describe_tokens(tokens)}", found)


def _mildest(masks: Values, decision: TextDecision, parts: Parts, join: Join, seed: int) -> int:
    """Which row of cells leaves most to the words that are held: of equals, the first.

    A token that the model reads as a word of its own counts as often as it stands there, and then
    the answer is about that word. So a few versions of the text are tried, the same with each.
    """
    if len(masks) == 1:
        return 0
    words = as_cells([[parts.text[a:b] for a, b in parts.atoms]])
    drawn = generator(seed, Stream.MASKS).random((len(_HELD), words.shape[1]))
    held = drawn < np.array(_HELD)[:, None]
    rows = [row for mask in masks for row in np.where(held, words, mask).tolist()]
    kept = decision.outcomes(join(rows)) == decision.y
    return int(kept.reshape(len(masks), -1).sum(axis=1).argmax())


def _with_corpus(
    corpus: Corpus, model: Any, parts: Parts, join: Join, outcome: Any, n: int, seed: int
) -> Contrast:
    asked = corpus.texts if corpus.labels is None else ()
    decision = decide(model, parts.text, asked, outcome)
    truth = decision.others if corpus.labels is None else _read(corpus.labels, decision)
    # Words in another's place may not keep their texts' outcome: draw more than are needed.
    cells = deal_words(corpus, truth != decision.y, len(parts.atoms), 2 * n, seed)
    contrasts = np.flatnonzero(decision.outcomes(join(cells.tolist())) != decision.y)[:n]
    if not len(contrasts):
        raise _no_contrast(
            f"a corpus, and each of {len(cells)} texts made of its words {_same(decision)}"
        )
    return Contrast(
        decision, cells[contrasts], "words replaced by those of texts that come out otherwise"
    )


def _read(labels: Sequence[Any], decision: TextDecision) -> BoolVector:
    """A corpus' labels, read as if the model had given them."""
    if decision.event.needs_scores:
        raise InputError("mask", "a corpus with labels", "Corpus(texts) without labels for versus")
    classes = decision.model.classes
    for label in labels:
        if classes is None:
            number("labels", label, "numbers, as the model returns")
        elif not of_a_kind(label, classes):
            raise not_a_class("labels", label, classes)
    return np.asarray(decision.event.holds(as_labels(labels)), dtype=bool)


def _same(decision: TextDecision) -> str:
    return f"comes out as “{decision.event.describe(decision.y)}”, as the input does"


def _no_contrast(got: str) -> InputError:
    hint = "Give a token of your own, other candidates, or Corpus(texts) with other texts."
    return InputError("mask", got, "a mask that makes a contrast", hint)
