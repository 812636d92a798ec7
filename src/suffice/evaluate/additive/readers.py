"""Readers of fitted estimators: from the rows they see to additive scores.

Each reader repeats, term by term, what its estimator's `predict` sums up, and leaves the sum out.
An estimator is known by its exact class, since a subclass may predict as it likes.

`interpret`'s explainable boosting machines bin each feature and look its score up, so that their
`eval_terms` on the pool is all that is needed. With interaction terms they are not additive in the
features, and say so here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from suffice.context.pool import Pool
from suffice.context.swap import SwapHybrids
from suffice.evaluate.additive.scores import AdditiveScores, Decision
from suffice.evaluate.columns import PerColumn, kind_of, sklearn_name, split_pipeline
from suffice.evaluate.protocol import Unreadable
from suffice.evaluate.registry import find_reader
from suffice.tables.table import Table
from suffice.typing import Counts, Reals, Values

if TYPE_CHECKING:
    from suffice.evaluate.additive.vectorised import VectorisedModel

__all__ = [
    "AdditiveModel",
    "AdditiveReading",
    "AdditiveShape",
    "AnswersForCells",
    "Checks",
    "Weights",
    "coarsest",
    "read_additive",
    "read_weights",
]

_LARGEST = 1 << 27
"""Cells of the transformed pool: 1 GB of terms, past which the black box is the better bargain."""

_GAMS = ("ExplainableBoostingClassifier", "ExplainableBoostingRegressor")


class Checks:
    """When to put hybrids to a model that was read: at first, and then ever more seldom.

    Of each kind of outcome the first, second, fourth, eighth … input is checked: a model that does
    as its parameters say for so many does so for the next. Once it has not, all are.
    """

    def __init__(self) -> None:
        self._inputs: dict[str, int] = {}
        self._denied = False

    def due(self, kind: str) -> bool:
        """Is this input to be checked?"""
        count = self._inputs[kind] = self._inputs.get(kind, 0) + 1
        return self._denied or count.bit_count() == 1

    def deny(self) -> None:
        """A check failed."""
        self._denied = True


@dataclass(frozen=True, eq=False)
class AdditiveModel:
    """A fitted model that is known to be additive, perhaps after steps that keep columns apart."""

    parts: PerColumn
    scores_are: str | None
    """The method that a comparison of two classes asks for their scores."""
    checks: Checks = field(default_factory=Checks)

    @property
    def name(self) -> str:
        """The class of the estimator at the end."""
        return kind_of(self.parts.final)

    @property
    def probabilities_apart(self) -> bool:
        """Are its probabilities a fit of their own, as those of support vectors are?"""
        return getattr(self.parts.final, "probability", False) is True

    def scores(self, hybrids: SwapHybrids) -> AdditiveScores:
        """The terms of the pool's rows, by player."""
        final = self.parts.final
        player = hybrids.players.of_column[self.parts.owner]
        try:
            with np.errstate(all="ignore"):
                pool = hybrids.pool
                if _is_gam(final):
                    return _read_gam(final, self.parts.seen(pool).native, player, hybrids.d)
                seen = pool.by_row(self._matrix) if isinstance(pool, Pool) else self._matrix(pool)
                return _read_terms(final, seen, player, hybrids.d)
        except Unreadable:
            raise
        except Exception as error:  # private attributes, which another version may not have
            raise Unreadable(
                f"{self.name} keeps its parameters in a form that suffice does not know"
            ) from error

    def _matrix(self, rows: Table) -> Values:
        """Rows as the estimator at the end sees them, in numbers as precise as they are."""
        values = np.asarray(self.parts.seen(rows).native)
        return values if values.dtype.kind in "fiub" else values.astype(np.float64)


class AdditiveShape(Protocol):
    """What the additive engine wants to know of a model."""

    @property
    def name(self) -> str:
        """What to call it in a reason."""
        ...

    @property
    def scores_are(self) -> str | None:
        """The method that a comparison of two classes asks for their scores."""
        ...

    @property
    def probabilities_apart(self) -> bool:
        """Are its probabilities a fit of their own, as those of support vectors are?"""
        ...

    @property
    def checks(self) -> Checks:
        """When to see whether it does as its parameters say."""
        ...

    def scores(self, hybrids: SwapHybrids) -> AdditiveScores:
        """The terms of the pool's rows, by player."""
        ...


@runtime_checkable
class AnswersForCells(Protocol):
    """A model of texts that is asked about rows of cells, which are joined to a text first."""

    @property
    def of_texts(self) -> Any:
        """The user's own model."""
        ...

    @property
    def gaps(self) -> Sequence[str]:
        """What stands before the first cell, between two, and after the last."""
        ...

    @property
    def seen(self) -> Sequence[int]:
        """The cells that are columns of the table; the others are alike in all its rows."""
        ...


def read_additive(model: Any, columns: tuple[str, ...]) -> AdditiveModel | VectorisedModel:
    """What is additive in a fitted model; `Unreadable` says why it is not known to be.

    `columns` names the table that the model is given, for pipelines.
    """
    if isinstance(model, AnswersForCells):
        from suffice.evaluate.additive.vectorised import read_vectorised

        return read_vectorised(model)
    parts = split_pipeline(model, columns)
    if not (_is_gam(parts.final) or _reader_of(parts.final)):
        raise Unreadable(f"{kind_of(parts.final)} is not known to be additive")
    asked = (m for m in ("predict_proba", "decision_function") if hasattr(model, m))
    return AdditiveModel(parts, next(asked, None))


class Weights(NamedTuple):
    """Scores that are sums of columns, each times a weight: of linear models and naive Bayes."""

    weights: Reals
    """(K, columns)"""
    base: Reals
    decision: Decision
    dtypes: tuple[Any, ...]


_WEIGHTED = ("MultinomialNB", "ComplementNB", "BernoulliNB")


def read_weights(final: Any, columns: int) -> Weights:
    """The weights of an estimator; `Unreadable` where its scores are not sums of them."""
    name = sklearn_name(final)
    linear = name in _CLASSIFIERS.split() or name in _REGRESSORS.split()
    if not (linear or name in _WEIGHTED):
        raise Unreadable(f"{kind_of(final)} is not known to be additive")
    reading = _READERS[name](final, np.ones((1, columns)))  # a term is a weight where x is 1
    weights = np.stack([terms[0] for terms, _ in reading.terms])
    base = np.asarray(reading.base, dtype=np.float64)
    return Weights(weights, base, reading.decision, reading.dtypes)


def _reader_of(final: Any) -> _Reader | None:
    return _READERS.get(sklearn_name(final)) or find_reader("additive", final)


def _is_gam(model: Any) -> bool:
    kind = type(model)
    return kind.__module__.startswith("interpret.") and kind.__name__ in _GAMS


class AdditiveReading(NamedTuple):
    """What a model adds up, one score at a time: so the terms of many classes are never in memory
    together."""

    terms: Iterator[tuple[Reals, Reals | None]]
    """(rows, columns) of terms; and of their sizes, where the model adds up more than the terms."""
    base: Reals
    """(K,): what is added to the terms of each score."""
    decision: Decision
    """How `predict` reads the scores: see `AdditiveScores`."""
    dtypes: tuple[Any, ...] = ()
    """Of the fitted parameters: the precision that the model works in; none: float64."""
    extra: int = 0
    """Operations besides one product and one sum per column."""
    base_size: Reals | None = None
    """Of the numbers that make up the base, where they cancel: else its own."""


def _read_terms(final: Any, seen: Values, player: Counts, d: int) -> AdditiveScores:
    """Scores of the rows that an estimator sees; `player` tells whose each column is."""
    name, read = kind_of(final), _reader_of(final)
    assert read is not None
    rows, columns = seen.shape
    if rows * columns > _LARGEST:
        raise Unreadable(
            f"{rows:,} rows of {columns:,} columns, as {name} sees them, are too many to keep"
        )
    reading = read(final, seen.astype(np.float64))
    base = np.asarray(reading.base, dtype=np.float64)
    base_size = np.abs(base) if reading.base_size is None else reading.base_size
    belongs = (player[:, None] == np.arange(d)).astype(np.float64)
    terms, mass = [], []
    for values, sizes in reading.terms:
        size = np.abs(values if sizes is None else sizes).sum(axis=1)
        if not np.isfinite(size).all():
            raise Unreadable(f"the terms of {name} are not all finite on these rows")
        terms.append(values @ belongs)
        mass.append(size)
    return AdditiveScores(
        np.stack(terms),
        np.stack(mass) + base_size[:, None],
        base,
        reading.decision,
        2 * columns + reading.extra,
        coarsest(seen.dtype, *reading.dtypes),
    )


def _read_gam(model: Any, rows: Any, player: Counts, d: int) -> AdditiveScores:
    """Scores of rows in the model's own kind; `player` tells whose each of its columns is."""
    if any(len(features) > 1 for features in model.term_features_):
        raise Unreadable(f"{type(model).__name__} has interactions: fit it with interactions=0")
    if model.link_ not in ("logit", "mlogit", "identity"):
        raise Unreadable(f"{type(model).__name__} has the link {model.link_!r}, which is not read")
    scores = np.asarray(model.eval_terms(rows), dtype=np.float64)
    scores = scores[..., None] if scores.ndim == 2 else scores  # (rows, terms, K)
    of_term = player[[features[0] for features in model.term_features_]]
    belongs = (of_term[:, None] == np.arange(d)).astype(np.float64)
    base = np.broadcast_to(np.ravel(model.intercept_), scores.shape[2]).astype(np.float64)
    decision: Decision = "value"
    if hasattr(model, "classes_"):
        decision = "sign" if len(base) == 1 else "argmax"
    return AdditiveScores(
        np.einsum("rtk,td->krd", scores, belongs),
        np.abs(scores).sum(axis=1).T + np.abs(base)[:, None],
        base,
        decision,
        2 * scores.shape[1],
        float(np.finfo(np.float64).eps),
    )


def coarsest(*dtypes: Any) -> float:
    """The machine epsilon of the least precise."""
    floats = [np.dtype(t) for t in dtypes if np.dtype(t).kind == "f"]
    return max(float(np.finfo(t).eps) for t in (*floats, np.dtype(np.float64)))


def _weighted(weights: Reals, X: Reals) -> Iterator[tuple[Reals, Reals | None]]:
    return ((X * row, None) for row in weights)


def _linear(model: Any) -> tuple[Reals, Reals, tuple[Any, ...]]:
    weights = np.asarray(model.coef_)
    base = np.asarray(model.intercept_)
    dtypes = (weights.dtype, base.dtype)
    weights = np.atleast_2d(weights).astype(np.float64)
    return weights, np.broadcast_to(base.ravel(), len(weights)).astype(np.float64), dtypes


def _linear_classifier(model: Any, X: Reals) -> AdditiveReading:
    weights, base, dtypes = _linear(model)
    decision: Decision = "sign" if len(weights) == 1 else "argmax"
    return AdditiveReading(_weighted(weights, X), base, decision, dtypes)


def _linear_regressor(model: Any, X: Reals) -> AdditiveReading:
    weights, base, dtypes = _linear(model)
    if len(weights) > 1:
        raise Unreadable(f"{type(model).__name__} predicts several values")
    return AdditiveReading(_weighted(weights, X), base, "value", dtypes)


def _support_vectors(model: Any, X: Reals) -> AdditiveReading:
    """A linear kernel: the model itself sums over support vectors, so more is rounded."""
    regression = type(model).__name__ in ("SVR", "NuSVR")
    if model.kernel != "linear":
        raise Unreadable(f"{type(model).__name__} with kernel={model.kernel!r} is not additive")
    if not regression and len(model.classes_) > 2:
        raise Unreadable(f"{type(model).__name__} lets pairs of its classes vote")
    if hasattr(model.dual_coef_, "toarray"):
        raise Unreadable(f"{type(model).__name__} was fitted on a sparse matrix")
    weights = model.dual_coef_ @ model.support_vectors_
    sizes = np.abs(model.dual_coef_) @ np.abs(model.support_vectors_)
    terms = iter([(X * weights[0], np.abs(X) * sizes[0])])
    decision: Decision = "value" if regression else "sign"
    base = np.asarray(model.intercept_, dtype=np.float64)
    return AdditiveReading(terms, base, decision, (), 2 * len(model.support_vectors_))


def _gaussian_nb(model: Any, X: Reals) -> AdditiveReading:
    def terms() -> Iterator[tuple[Reals, Reals | None]]:
        for mean, variance in zip(model.theta_, model.var_, strict=True):
            yield -0.5 * (X - mean) ** 2 / variance, None

    prior = np.log(model.class_prior_)
    spread = np.array([-0.5 * np.sum(np.log(2.0 * np.pi * row)) for row in model.var_])
    dtypes = (model.theta_.dtype, model.var_.dtype, model.class_prior_.dtype)
    size = np.abs(prior) + np.abs(spread)
    return AdditiveReading(terms(), prior + spread, "argmax", dtypes, 2 * X.shape[1] + 8, size)


def _bernoulli_nb(model: Any, X: Reals) -> AdditiveReading:
    if model.binarize is not None:
        X = np.greater(X, model.binarize).astype(np.float64)
    absent = np.log(1 - np.exp(model.feature_log_prob_))
    base = model.class_log_prior_ + absent.sum(axis=1)
    weights = model.feature_log_prob_ - absent
    return AdditiveReading(_weighted(weights, X), base, "argmax", (weights.dtype, base.dtype))


def _multinomial_nb(model: Any, X: Reals) -> AdditiveReading:
    weights = model.feature_log_prob_
    # Complement naive Bayes leaves the prior out, except for a single class.
    prior = type(model).__name__ == "MultinomialNB" or len(weights) == 1
    base = model.class_log_prior_ if prior else np.zeros(len(weights))
    return AdditiveReading(_weighted(weights, X), base, "argmax", (weights.dtype, base.dtype))


def _categorical_nb(model: Any, X: Reals) -> AdditiveReading:
    def terms() -> Iterator[tuple[Reals, Reals | None]]:
        cells = X.astype(np.int64)
        for k in range(len(model.classes_)):
            tables = [table[k] for table in model.feature_log_prob_]
            yield np.stack([t[cells[:, j]] for j, t in enumerate(tables)], axis=1), None

    return AdditiveReading(terms(), model.class_log_prior_, "argmax", ())


_Reader = Callable[[Any, Reals], AdditiveReading]

_CLASSIFIERS = (
    "LogisticRegression LogisticRegressionCV LinearSVC SGDClassifier RidgeClassifier "
    "RidgeClassifierCV Perceptron PassiveAggressiveClassifier LinearDiscriminantAnalysis"
)
_REGRESSORS = (
    "LinearRegression Ridge RidgeCV Lasso LassoCV ElasticNet ElasticNetCV Lars LarsCV LassoLars "
    "LassoLarsCV LassoLarsIC OrthogonalMatchingPursuit OrthogonalMatchingPursuitCV BayesianRidge "
    "ARDRegression HuberRegressor TheilSenRegressor QuantileRegressor LinearSVR SGDRegressor "
    "PassiveAggressiveRegressor"
)
_READERS: dict[str, _Reader] = {
    **dict.fromkeys(_CLASSIFIERS.split(), _linear_classifier),
    **dict.fromkeys(_REGRESSORS.split(), _linear_regressor),
    **dict.fromkeys(("SVC", "NuSVC", "SVR", "NuSVR"), _support_vectors),
    "GaussianNB": _gaussian_nb,
    "BernoulliNB": _bernoulli_nb,
    "MultinomialNB": _multinomial_nb,
    "ComplementNB": _multinomial_nb,
    "CategoricalNB": _categorical_nb,
}
