"""Text pipelines, also nested ones: a vectoriser that counts words, then a linear or Bayes model.

    counts  c_t of each term t, sums over the cells of a text
    values  v_t = scale_t · g(c_t): g is the count itself, 1 + its logarithm, or whether it is > 0
    score   Σ_t w_t v_t / ‖v‖ + b, the norm being 1 where the vectoriser has none

Counts are sums over cells only if no word can span two of them. So the vectoriser must read single
words made of letters, digits and underscores, and between any two cells there must be another
character: an ASCII space or sign, which neither lowercasing nor stripping accents makes a letter.

Without a norm, and with g the count, scores are sums over the cells: `scores` returns them for the
additive engine. Other pipelines are for `TextEngine`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from suffice.context.hybrids import SwapHybrids
from suffice.engines.additive_margins import AdditiveScores
from suffice.engines.additive_model import (
    InputCheckSchedule,
    LinearWeights,
    TextCellModel,
    coarsest_eps,
    read_weights,
)
from suffice.engines.pipeline_columns import describe_model, pipeline_steps, sklearn_class_name
from suffice.engines.select_engine import Unreadable, unreadable_on_error
from suffice.typing import BoolVector, Reals

TermWeighting = Literal["count", "log", "presence"]
Norm = Literal["l1", "l2"]
ColumnCounts = Iterable[tuple[int, float]]

_VECTORISERS = ("CountVectorizer", "TfidfVectorizer", "HashingVectorizer")
_SELECTORS = ("SelectKBest", "SelectPercentile", "VarianceThreshold", "SelectFromModel")

_WORDS_ONLY = re.compile(r"(\(\?u\))?(\\b|(\\w|\\d|\[(\w-\w|\w|\\w|\\d)+\])([+*]|\{[\d,]+\})?)+")
"""Token patterns that match only letters, digits, underscores and edges of words."""


class TermCounts(NamedTuple):
    """Counts of terms for each player, in the input and in one reference."""

    columns: list[int]
    """The vectoriser's columns that occur: T of them."""
    held: Reals
    """(d, T): what a player adds to the counts where it is held."""
    replaced: Reals
    """(d, T): what it adds where it is replaced."""
    rest: Reals
    """(T,): counts of the cells that belong to no player."""


@dataclass(frozen=True, eq=False)
class TextPipelineModel:
    """A fitted text pipeline as it was read."""

    name: str
    gaps: Sequence[str]
    seen: Sequence[int]
    lowercase: bool
    columns_of: Callable[[str], ColumnCounts]
    """The vectoriser's columns for a cell, and what the cell adds to the count of each."""
    tally: TermWeighting
    scale: Reals
    """(columns,): factors of the counts, none negative."""
    norm: Norm | None
    linear: LinearWeights
    eps: float
    score_method: str | None
    """Name of the method whose scores a comparison of two classes compares."""
    checks: InputCheckSchedule = field(default_factory=InputCheckSchedule)
    has_separate_probabilities = False

    def unchecked(self) -> TextPipelineModel:
        """Return the same reading, with no check made yet."""
        return replace(self, checks=InputCheckSchedule())

    @property
    def is_additive(self) -> bool:
        """True if scores are sums over the cells."""
        return self.norm is None and self.tally == "count"

    def counted(self, hybrids: SwapHybrids) -> list[TermCounts]:
        """Return the counts of the input and each reference; `Unreadable` where words may touch."""
        cells = hybrids.pool.native
        # Words that touch would become one token, which is in neither cell.
        if len(self.gaps) != cells.shape[1] + 1 or not all(map(_separates_words, self.gaps[1:-1])):
            raise Unreadable("words stand side by side with nothing in between")
        if any(re.search(r"\w", gap) for gap in self.gaps):
            raise Unreadable("spans cut words apart")
        known: dict[str, CountByColumn] = {}
        # Each distinct cell is tokenised once, however often it occurs.
        for cell in sorted(set(cells.ravel().tolist())):
            if self.lowercase and "Σ" in cell:
                raise Unreadable("the lower case of a capital sigma depends on what follows it")
            known[cell] = _sum_by_column(self.columns_of(cell))
        hidden = sorted(set(range(cells.shape[1])) - set(self.seen))
        whose = [[self.seen[j] for j in own] for own in hybrids.players.columns] + [hidden]
        rows = [
            [_sum_by_column(item for j in own for item in known[row[j]].items()) for own in whose]
            for row in cells
        ]
        return [_term_counts(rows[0], row) for row in rows[1:]]

    def values(self, counts: Reals, columns: Sequence[int]) -> Reals:
        """Return (…, T): the values of counts of these columns, before a norm."""
        scale = self.scale[columns]
        if self.tally == "log":
            return np.where(counts > 0, 1.0 + np.log(np.maximum(counts, 1.0)), 0.0) * scale
        return np.asarray(((counts > 0) if self.tally == "presence" else counts) * scale)

    def scores(self, hybrids: SwapHybrids) -> AdditiveScores:
        """Return the terms by player of a model whose scores are sums."""
        counted = self.counted(hybrids)
        first = counted[0]
        terms = [self._terms(first.held, first.columns)]
        terms += [self._terms(one.replaced, one.columns) for one in counted]
        rest, size = self._terms(first.rest[None], first.columns)
        return AdditiveScores(
            np.stack([values for values, _ in terms], axis=1),
            np.stack([sizes for _, sizes in terms], axis=1)
            + (np.abs(self.linear.base) + size)[:, None],
            self.linear.base + rest[:, 0],
            self.linear.decision,
            score_operations(max(len(one.columns) for one in counted)),
            self.eps,
        )

    def _terms(self, counts: Reals, columns: Sequence[int]) -> tuple[Reals, Reals]:
        """Return (K, d): what each player adds to each score; (K,): the size of all terms."""
        weights = self.linear.weights[:, columns] * self.scale[columns]
        return weights @ counts.T, np.abs(weights) @ np.abs(counts).sum(axis=0)


def score_operations(terms: int) -> int:
    """Return the most operations from counts to a score: scaling, norm, products and sum."""
    return 4 * terms + 32


def _separates_words(gap: str) -> bool:
    return any(
        character.isascii() and not (character.isalnum() or character == "_") for character in gap
    )


CountByColumn = Mapping[int, float]
"""How often each column is counted."""


def _sum_by_column(columns: ColumnCounts) -> CountByColumn:
    sums: dict[int, float] = {}
    for column, more in columns:
        sums[column] = sums.get(column, 0.0) + more
    return sums


def _term_counts(held: Sequence[CountByColumn], replaced: Sequence[CountByColumn]) -> TermCounts:
    """Return counts by player as arrays; the last entry of each list belongs to no player."""
    # Only columns that occur: vocabularies have a hundred thousand.
    columns = sorted({column for counts in (*held, *replaced) for column in counts})
    place = {column: i for i, column in enumerate(columns)}
    out = np.zeros((2, len(held), len(columns)))
    for side, players in zip(out, (held, replaced), strict=True):
        for player, counts in enumerate(players):
            for column, times in counts.items():
                side[player, place[column]] = times
    return TermCounts(columns, out[0, :-1], out[1, :-1], out[1, -1])


def read_text_pipeline(model: TextCellModel) -> TextPipelineModel:
    """Take a text pipeline apart; `Unreadable` names the step that is not known."""
    steps, final = pipeline_steps(model.of_texts)
    steps = [inner for step in steps for inner in _flatten_steps(step)]
    if not steps or sklearn_class_name(steps[0]) not in _VECTORISERS:
        what = describe_model(steps[0] if steps else final)
        raise Unreadable(f"{what} is not known to count words")
    what = f"{describe_model(steps[0])} or {describe_model(final)}"
    with unreadable_on_error(f"{what} keeps its parameters in a form that suffice does not know"):
        return _read_steps(model, steps[0], steps[1:], final)


def _flatten_steps(step: Any) -> list[Any]:
    """Return a step as a list; the steps of a pipeline in its place."""
    if sklearn_class_name(step) != "Pipeline":
        return [step]
    inner, last = pipeline_steps(step)
    return [one for part in (*inner, last) for one in _flatten_steps(part)]


def _read_steps(
    model: TextCellModel, vectoriser: Any, steps: Sequence[Any], final: Any
) -> TextPipelineModel:
    _check_words(vectoriser)
    shape = _CountTransform(
        _count_columns(vectoriser), "presence" if vectoriser.binary else "count"
    )
    dtypes: list[Any] = [vectoriser.dtype]
    if sklearn_class_name(vectoriser) == "TfidfVectorizer":
        # A TfidfVectorizer counts, and then applies a TfidfTransformer of its own.
        steps = [vectoriser._tfidf, *steps]
    elif sklearn_class_name(vectoriser) == "HashingVectorizer":
        shape.normalise(vectoriser.norm)
    for step in steps:
        dtypes += _apply_step(step, shape)
    linear = read_weights(final, len(shape.kept))
    if sklearn_class_name(final) == "BernoulliNB":
        shape.above(final.binarize)
    # Counts of colliding words may cancel, so that presence does not follow from single cells.
    signed = sklearn_class_name(vectoriser) == "HashingVectorizer" and vectoriser.alternate_sign
    if signed and shape.tally != "count":
        raise Unreadable("HashingVectorizer with alternate_sign=True also counts down")
    asked = (m for m in ("predict_proba", "decision_function") if hasattr(model.of_texts, m))
    return TextPipelineModel(
        describe_model(final),
        model.gaps,
        model.seen,
        bool(vectoriser.lowercase),
        _cell_counter(vectoriser),
        shape.tally,
        shape.scale,
        shape.norm,
        linear._replace(weights=shape.weights(linear.weights)),
        coarsest_eps(*dtypes, *linear.dtypes),
        next(asked, None),
    )


def _check_words(vectoriser: Any) -> None:
    """Raise `Unreadable` unless a vectoriser counts single words of letters and digits."""
    name = sklearn_class_name(vectoriser)
    own = [a for a in ("preprocessor", "tokenizer") if getattr(vectoriser, a) is not None]
    own += [a for a in ("analyzer", "strip_accents") if callable(getattr(vectoriser, a))]
    if own:
        raise Unreadable(f"{name} has a function of its own ({own[0]})")
    if vectoriser.analyzer != "word":
        raise Unreadable(f"{name} with analyzer={vectoriser.analyzer!r} counts letters, not words")
    if tuple(vectoriser.ngram_range) != (1, 1):
        raise Unreadable(
            f"{name} with ngram_range={tuple(vectoriser.ngram_range)} counts words that stand "
            "together, so what one adds depends on its neighbours"
        )
    if vectoriser.input != "content":
        raise Unreadable(f"{name} reads files")
    if not _WORDS_ONLY.fullmatch(vectoriser.token_pattern):
        raise Unreadable(f"{name} has a token_pattern that may reach across words")


def _count_columns(vectoriser: Any) -> int:
    hashed = sklearn_class_name(vectoriser) == "HashingVectorizer"
    return int(vectoriser.n_features) if hashed else len(vectoriser.vocabulary_)


def _cell_counter(vectoriser: Any) -> Callable[[str], ColumnCounts]:
    analyse = vectoriser.build_analyzer()
    if sklearn_class_name(vectoriser) != "HashingVectorizer":
        known: Mapping[str, int] = vectoriser.vocabulary_
        return lambda cell: [(int(known[word]), 1.0) for word in analyse(cell) if word in known]
    from sklearn.feature_extraction import FeatureHasher

    # One word at a time: collisions are added up by column, as the vectoriser does.
    hasher = FeatureHasher(
        vectoriser.n_features, input_type="string", alternate_sign=vectoriser.alternate_sign
    )

    def hashed(cell: str) -> ColumnCounts:
        for word in analyse(cell):
            row = hasher.transform([[word]])
            yield int(row.indices[0]), float(row.data[0])

    return hashed


class _CountTransform:
    """Steps between the counts and the final estimator, in the only order that is read: weighting,
    scaling, norm, scaling."""

    def __init__(self, width: int, tally: TermWeighting) -> None:
        self.tally = tally
        self.scale = np.ones(width)
        self.norm: Norm | None = None
        self.after: Reals = np.ones(width)
        self.kept = np.arange(width)
        """The vectoriser's columns that no step has dropped."""

    def times(self, factors: Reals) -> None:
        """Multiply the columns left: before a norm, or after it."""
        # A norm, and the test for presence, need values that are not negative.
        if (factors < 0).any() or not np.isfinite(factors).all():
            raise Unreadable("a step before the model changes the sign of a word's count")
        every = np.zeros_like(self.scale)
        every[self.kept] = factors
        if self.norm is None:
            self.scale = self.scale * every
        else:
            self.after = self.after * every

    def select(self, chosen: BoolVector) -> None:
        """Drop all columns but the chosen ones."""
        self.times(chosen.astype(np.float64))
        self.kept = self.kept[chosen]

    def weights(self, weights: Reals) -> Reals:
        """Return (K, columns): weights by the vectoriser's columns, 0 for those dropped."""
        every = np.zeros((len(weights), len(self.scale)))
        every[:, self.kept] = weights
        return every * self.after

    def logarithm(self) -> None:
        """Take 1 + log of counts."""
        if self.norm is not None or (self.scale != 1).any():
            raise Unreadable("TfidfTransformer takes the logarithm of values that are no counts")
        self.tally = "presence" if self.tally == "presence" else "log"

    def normalise(self, norm: str | None) -> None:
        """Divide by a norm; an earlier norm was one factor of all values, so it cancels."""
        if norm is None:
            return
        if norm not in ("l1", "l2"):
            raise Unreadable(f"a norm {norm!r} is not read")
        # Factors after the first norm come before the second.
        self.scale, self.after = self.scale * self.after, np.ones_like(self.after)
        self.norm = "l1" if norm == "l1" else "l2"

    def above(self, threshold: float | None) -> None:
        """Set the steps to test whether a value is above a threshold."""
        if threshold is None:
            return
        if threshold != 0:
            raise Unreadable(f"BernoulliNB with binarize={threshold} tests for more than presence")
        # A norm changes no sign, and neither does a factor that is not 0.
        self.scale = (self.scale * self.after > 0).astype(np.float64)
        self.tally, self.norm, self.after = "presence", None, np.ones_like(self.scale)


def _apply_step(step: Any, shape: _CountTransform) -> list[Any]:
    """Add a step to a transform; return the dtypes of its factors."""
    name = sklearn_class_name(step)
    if name == "TfidfTransformer":
        if step.sublinear_tf:
            shape.logarithm()
        if step.use_idf:
            shape.times(np.asarray(step.idf_, dtype=np.float64))
        shape.normalise(step.norm)
        return [step.idf_.dtype] if step.use_idf else []
    if name == "Normalizer":
        shape.normalise(step.norm)
        return []
    if name == "MaxAbsScaler" or (name == "StandardScaler" and not step.with_mean):
        if step.scale_ is None:
            return []
        shape.times(1.0 / np.asarray(step.scale_, dtype=np.float64))
        return [step.scale_.dtype]
    if name in _SELECTORS:
        shape.select(np.asarray(step.get_support()))
        return []
    raise Unreadable(f"the step {describe_model(step)} may mix words")
