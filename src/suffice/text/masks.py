"""Masks that replace words of a text: tokens not in a vocabulary, deletion, words of other texts.

A single token makes one reference, so a set either suffices or does not; each further token, and
each text drawn from a corpus, makes one more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np

from suffice.engines.pipeline_columns import pipeline_steps
from suffice.errors import InputError, short_repr
from suffice.explanation.schema import MaskRecord
from suffice.randomness import Stream, generator
from suffice.tables.cells import is_label, is_plausible_label, label_array, unknown_class_error
from suffice.text.segmentation import TextParts, words
from suffice.text.text_model import CellJoiner, TextDecision, decide_text
from suffice.typing import BoolVector, Values
from suffice.validation import check_number

MASK_CANDIDATES = ("UNK", "[MASK]", "plate", "the", "…", "thing", "it")
"""Words that mean little. "" is not among them: some models fail on an empty text."""

CORPUS_SAMPLE = 50
"""Number of texts drawn from a corpus unless `n_references` is given."""


@dataclass(frozen=True)
class Corpus:
    """Texts whose words replace words of the input: those predicted otherwise than the input.

    Parameters
    ----------
    texts
        Texts, all of which the model predicts in one call.
    labels
        Labels of the texts. Where they are given, they decide which texts differ from the input,
        not the model's predictions.

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
            raise InputError("texts", given, "a list of texts")
        texts = tuple(given)
        wrong = [text for text in texts if not isinstance(text, str)]
        if wrong or not texts:
            raise InputError("texts", wrong[0] if wrong else "no texts", "a list of texts")
        object.__setattr__(self, "texts", texts)
        if self.labels is not None:
            given_labels: object = self.labels
            if isinstance(given_labels, str) or not isinstance(given_labels, Iterable):
                raise InputError("labels", given_labels, "a label for each text")
            labels = tuple(given_labels)
            if len(labels) != len(texts):
                got = f"{len(labels)} labels for {len(texts)} texts"
                raise InputError("labels", got, "a label for each text")
            for number, label in enumerate(labels):
                if label is None or not is_label(label):
                    got = f"{short_repr(label)} for text {number}"
                    raise InputError("labels", got, "a label for each text")
            object.__setattr__(self, "labels", labels)


def check_tokens(given: object, argument: str) -> tuple[str, ...]:
    """Return one or several tokens as a tuple without repetitions; raise unless all are strings."""
    tokens = (given,) if isinstance(given, str) else given
    allowed = "a token, a list of tokens, 'delete', 'auto' or Corpus(texts)"
    if not isinstance(tokens, list | tuple) or not all(isinstance(t, str) for t in tokens):
        raise InputError(argument, given, allowed)
    if not tokens:
        raise InputError(argument, "no token", allowed)
    return tuple(dict.fromkeys(tokens))


def describe_tokens(tokens: Sequence[str]) -> str:
    """Describe what a mask does to a word.

    >>> describe_tokens(["UNK", "plate"]), describe_tokens([""])
    ('replaced by “UNK” or “plate”', 'deleted')
    """
    named = " or ".join(f"“{token}”" for token in tokens if token)
    parts = [f"replaced by {named}"] * bool(named) + ["deleted"] * ("" in tokens)
    return " or ".join(parts)


@runtime_checkable
class FittedVectorizer(Protocol):
    """Protocol of a fitted vectorizer of scikit-learn, which has a vocabulary."""

    vocabulary_: Mapping[str, int]

    def build_analyzer(self) -> Callable[[str], Iterable[str]]:
        """Return the function that cuts a text into the words that are counted."""
        ...


def in_vocabulary(model: Any, token: str) -> bool | None:
    """Return whether the model's vocabulary has a word of this token; None if that is unknown.

    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> model = make_pipeline(CountVectorizer().fit(["a plate"]), None)
    >>> in_vocabulary(model, "plate"), in_vocabulary(model, "UNK"), in_vocabulary(len, "UNK")
    (True, False, None)
    """
    steps, _ = pipeline_steps(model)
    if not (steps and isinstance(steps[0], FittedVectorizer)):
        return None
    try:
        return any(word in steps[0].vocabulary_ for word in steps[0].build_analyzer()(token))
    except Exception:  # a custom analyzer may raise anything on a single token
        return None


def draw_words(corpus: Corpus, differs: BoolVector, width: int, n: int, seed: int) -> Values:
    """Draw runs of consecutive words from the texts marked in `differs`.

    Returns at most n distinct rows of `width` words. A text with fewer words starts over.
    """
    bags = []
    for text, usable in zip(corpus.texts, differs.tolist(), strict=True):
        if usable and (spans := words(text)):
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
    return string_array(list(rows))


def string_array(rows: Sequence[Sequence[str]]) -> Values:
    """Return rows of strings as an array of objects.

    An array of dtype `str` would pad every cell to the longest one and drop trailing NULs.
    """
    out = np.empty((len(rows), len(rows[0])), dtype=object)
    for i, row in enumerate(rows):
        out[i] = row
    return out


# The contrast of a text: rows of cells that replace its words, chosen by predictions of the model.


_SHARES_HELD = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95)
"""Shares of words held in the variants of a text that decide which token is the mildest."""


@dataclass(frozen=True)
class TokenMask:
    """Tokens that replace words; each makes a reference.

    With `choose_mildest` only one token does: of those that change the prediction of the whole
    text, the one that changes it least often when it replaces a few words.
    """

    tokens: tuple[str, ...]
    choose_mildest: bool = False


@dataclass(frozen=True, eq=False)
class TextContrast:
    """Decision on a text, and the rows of cells that replace its words."""

    decision: TextDecision
    cells: Values
    description: str
    mask: MaskRecord | None = None
    """Record of how mask="auto" chose the token; None for a mask given by the user."""


def read_mask(mask: object, candidates: Sequence[str]) -> TokenMask | Corpus:
    """Validate the arguments `mask` and `candidates` of `TextExplainer`."""
    auto = isinstance(mask, str) and mask == "auto"
    given: object = candidates
    if not isinstance(given, list | tuple):
        raise InputError("candidates", given, "a list of tokens")
    if not auto and tuple(candidates) != MASK_CANDIDATES:
        hint = "mask='auto' chooses one of the candidates; any other mask ignores them."
        raise InputError("candidates", candidates, "none unless mask='auto'", hint)
    if isinstance(mask, Corpus):
        return mask
    if auto:
        return TokenMask(check_tokens(candidates, "candidates"), choose_mildest=True)
    deletes = isinstance(mask, str) and mask == "delete"
    return TokenMask(check_tokens("" if deletes else mask, "mask"))


def describe_mask(mask: TokenMask | Corpus) -> str:
    """Describe a mask briefly, for the repr of `TextExplainer`."""
    if isinstance(mask, Corpus):
        return f"words of {len(mask.texts):,} other texts"
    if mask.choose_mildest:
        return "the mildest of some tokens that contrast"
    return describe_tokens(mask.tokens)


def choose_contrast(
    mask: TokenMask | Corpus,
    model: Any,
    parts: TextParts,
    join: CellJoiner,
    outcome: Any,
    n: int | None,
    seed: int,
) -> TextContrast:
    """Predict the text and its possible replacements, and choose the references.

    Finding the mildest of k contrasting tokens predicts 7 k texts more; see `_mildest_mask`.
    """
    if isinstance(mask, Corpus):
        return _corpus_contrast(mask, model, parts, join, outcome, n or CORPUS_SAMPLE, seed)
    tokens = mask.tokens
    cells = string_array([[token] * len(parts.atoms) for token in tokens])
    decision = decide_text(model, parts.text, join(cells.tolist()), outcome)
    found = None
    if mask.choose_mildest:
        contrasts = np.flatnonzero(decision.others_have_outcome != decision.has_outcome)
        if not len(contrasts):
            raise _no_contrast(
                f"'auto', and every text of one of these alone {_same_outcome_phrase(decision)}: "
                + ", ".join(f"“{t}”" if t else "deletion" for t in tokens)
            )
        known = [in_vocabulary(decision.model.original, tokens[i]) for i in contrasts]
        # A token outside the vocabulary is preferred: one inside has a weight of its own, and the
        # explanation would be about that weight.
        contrasts = contrasts[[k is not True for k in known] if not all(known) else slice(None)]
        best = int(contrasts[_mildest_mask(cells[contrasts], decision, parts, join, seed)])
        found = MaskRecord(
            tokens[best],
            decision.event.describe(not decision.has_outcome),
            tuple(
                token
                for token, has_outcome in zip(tokens, decision.others_have_outcome, strict=True)
                if has_outcome == decision.has_outcome
            ),
            in_vocabulary(decision.model.original, tokens[best]),
        )
        tokens, cells = tokens[best : best + 1], cells[[best]]
    each = "span" if parts.unit == "span" else "word"
    return TextContrast(decision, cells, f"each {each} {describe_tokens(tokens)}", found)


def _mildest_mask(
    masks: Values, decision: TextDecision, parts: TextParts, join: CellJoiner, seed: int
) -> int:
    """Return the index of the mask that changes predictions least; the first of equally mild ones.

    A token that the model reads as a word counts as often as it occurs, and then the explanation
    is about that word. So a few variants of the text, each with some words held, are predicted
    with every mask: the mildest mask keeps the outcome most often.
    """
    if len(masks) == 1:
        return 0
    words = string_array([[parts.text[a:b] for a, b in parts.atoms]])
    drawn = generator(seed, Stream.MASKS).random((len(_SHARES_HELD), words.shape[1]))
    held = drawn < np.array(_SHARES_HELD)[:, None]
    rows = [row for mask in masks for row in np.where(held, words, mask).tolist()]
    kept = decision.outcomes(join(rows)) == decision.has_outcome
    return int(kept.reshape(len(masks), -1).sum(axis=1).argmax())


def _corpus_contrast(
    corpus: Corpus, model: Any, parts: TextParts, join: CellJoiner, outcome: Any, n: int, seed: int
) -> TextContrast:
    others = corpus.texts if corpus.labels is None else ()
    decision = decide_text(model, parts.text, others, outcome)
    if corpus.labels is None:
        have_outcome = decision.others_have_outcome
    else:
        have_outcome = _label_outcomes(corpus.labels, decision)
    # Words of a text, in the places of the input's words, may come out otherwise than that text:
    # draw twice as many as needed and keep those that differ from the input.
    wanted = decision.has_outcome
    cells = draw_words(corpus, have_outcome != wanted, len(parts.atoms), 2 * n, seed)
    contrasts = np.flatnonzero(decision.outcomes(join(cells.tolist())) != wanted)[:n]
    if not len(contrasts):
        raise _no_contrast(
            f"a corpus, and each of {len(cells)} texts made of its words "
            f"{_same_outcome_phrase(decision)}"
        )
    return TextContrast(
        decision, cells[contrasts], "words replaced by those of texts that come out otherwise"
    )


def _label_outcomes(labels: Sequence[Any], decision: TextDecision) -> BoolVector:
    """Return which labels of a corpus are the outcome, as if the model had predicted them."""
    if decision.event.needs_scores:
        raise InputError("mask", "a corpus with labels", "Corpus(texts) without labels for versus")
    classes = decision.model.classes
    for label in labels:
        if classes is None:
            check_number("labels", label, "numbers, as the model returns")
        elif not is_plausible_label(label, classes):
            raise unknown_class_error("labels", label, classes)
    return np.asarray(decision.event.holds(label_array(labels)), dtype=bool)


def _same_outcome_phrase(decision: TextDecision) -> str:
    return f"comes out as “{decision.event.describe(decision.has_outcome)}”, as the input does"


def _no_contrast(got: str) -> InputError:
    hint = "Give a token of your own, other candidates, or Corpus(texts) with other texts."
    return InputError("mask", got, "a mask that makes a contrast", hint)
