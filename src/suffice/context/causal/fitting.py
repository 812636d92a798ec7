"""Fit causal mechanisms: the equation of each node, from what the user gave or from data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from inspect import signature
from typing import Any, Literal

import numpy as np

from suffice.context.causal.graph import Graph, NodeData, map_distinct
from suffice.context.causal.mechanisms import (
    Additive,
    AdditiveRecipe,
    Categorical,
    Deterministic,
    Discrete,
    Empirical,
    Mechanism,
    NoiseSampler,
    Noisy,
    Parents,
    RootMechanism,
    Sampled,
    function_name,
)
from suffice.errors import InputError, did_you_mean, short_repr
from suffice.formatting import join_words
from suffice.randomness import Stream, generator
from suffice.tables.cells import missing_mask
from suffice.typing import Counts, Reals, Values
from suffice.validation import call_user_function, check_number

_ROOT_SPECS = (
    "for a node without causes: a distribution {value: probability}, a probability, "
    "values to resample, or a sampler of (n, rng)"
)
_CHILD_SPECS = (
    "for a node with causes: a function of them by keyword, additive(...), noisy(...), "
    "or a scikit-learn estimator to fit"
)


@dataclass(frozen=True)
class _KeywordFunction:
    """Function of the parents as keywords, called with a mapping of them."""

    function: Callable[..., Any]

    def __call__(self, parents: Parents) -> Values:
        return np.asarray(self.function(**parents))

    def __repr__(self) -> str:
        return function_name(self.function)


def make_mechanisms(
    graph: Graph,
    columns: Mapping[str, NodeData],
    given: Mapping[str, Any],
    fit: MechanismFitter,
    in_data: Sequence[str] = (),
) -> dict[str, Mechanism]:
    """Return a mechanism per node in topological order; `in_data` names the data's columns."""
    graph.require(given, "mechanisms")
    maker = _MechanismBuilder(graph, columns, fit, in_data)
    return {
        node: maker.child(node, given.get(node))
        if graph.parents[node]
        else maker.root(node, given.get(node))
        for node in graph.nodes
    }


@dataclass(frozen=True)
class _MechanismBuilder:
    graph: Graph
    columns: Mapping[str, NodeData]
    fit: MechanismFitter
    in_data: Sequence[str]

    def root(self, node: str, given: Any) -> Mechanism:
        if given is None:
            return Empirical(self._column(node, node).require_complete().values)
        if isinstance(given, Mechanism):
            return given
        if isinstance(given, Mapping):
            return Discrete(given, node)
        wrong = InputError("mechanisms", f"{short_repr(given)} for {node!r}", _ROOT_SPECS)
        if isinstance(given, int | float | np.number) and not isinstance(given, bool):
            chance = check_number(f"mechanisms[{node!r}]", given, "a probability", least=0, most=1)
            return Discrete({True: chance, False: 1 - chance}, node)
        if callable(given) and not isinstance(given, type):
            _check_signature(given, node, (), first=2, allowed=_ROOT_SPECS)
            return Sampled(given)
        if isinstance(given, bool | str | AdditiveRecipe) or _is_estimator(given):
            raise wrong
        try:
            values = np.asarray(given)
        except ValueError:  # lists of different lengths
            raise wrong from None
        if values.ndim != 1 or not len(values) or missing_mask(values).any():
            raise wrong
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise wrong
        return Empirical(values)

    def child(self, node: str, given: Any) -> Mechanism:
        parents = self.graph.parents[node]
        if given is None or _is_estimator(given):
            return self._fit(node, given)
        if isinstance(given, AdditiveRecipe):
            return self._additive(node, given)
        if isinstance(given, Noisy):
            _check_signature(given.function, node, parents, first=1, allowed=_CHILD_SPECS)
            return given
        if isinstance(given, Mechanism) and not isinstance(given, RootMechanism):
            return given
        if callable(given) and not isinstance(given, type | RootMechanism):
            _check_signature(given, node, parents, first=0, allowed=_CHILD_SPECS)
            return Deterministic(given)
        raise InputError("mechanisms", f"{short_repr(given)} for {node!r}", _CHILD_SPECS)

    def _additive(self, node: str, recipe: AdditiveRecipe) -> Mechanism:
        if _is_estimator(recipe.mean):
            fitted = self._fit(node, recipe.mean, recipe.std)
            if not isinstance(fitted, Additive):
                allowed = "a regressor or a function of the parents in additive(...)"
                raise InputError("mechanisms", f"{short_repr(recipe.mean)} for {node!r}", allowed)
            return Additive(fitted.mean, recipe.noise) if recipe.noise else fitted
        if not callable(recipe.mean):
            raise InputError(
                "mechanisms", f"additive({short_repr(recipe.mean)}) for {node!r}", _CHILD_SPECS
            )
        parents = self.graph.parents[node]
        _check_signature(recipe.mean, node, parents, first=0, allowed=_CHILD_SPECS)
        mean = _KeywordFunction(recipe.mean)
        noise: float | NoiseSampler | None = recipe.std if recipe.noise is None else recipe.noise
        if noise is None:
            values = {p: self._column(p, node).require_complete().values for p in parents}
            column = self._column(node, node).require_complete()
            if not column.domain.numeric:
                allowed = "numbers, to add noise to"
                raise InputError("data", f"{node!r}, which is categorical", allowed)
            allowed = "a function of the parents as whole arrays"
            expected = call_user_function(f"mechanisms[{node!r}]", mean, allowed, values)
            noise = float(np.sqrt(np.mean((column.values - expected) ** 2)))
        return Additive(mean, noise)

    def _fit(self, node: str, estimator: Any, std: float | None = None) -> Mechanism:
        column = self._column(node, node).require_complete()
        parents = {p: self._column(p, node).require_complete() for p in self.graph.parents[node]}
        return self.fit(column, parents, estimator, std)

    def _column(self, name: str, needed_by: str) -> NodeData:
        if name in self.columns:
            return self.columns[name]
        if self.in_data:
            raise InputError(
                "data",
                f"no column {name!r}",
                "a column for every node that is fitted, and for its causes",
                did_you_mean(name, self.in_data),
            )
        raise InputError(
            "mechanisms",
            f"an unfitted mechanism: nothing for {needed_by!r}, and no data to fit it on",
            "a mechanism for every node, or data",
        )


def _is_estimator(given: Any) -> bool:
    return hasattr(given, "fit") and hasattr(given, "predict") and not isinstance(given, type)


def _check_signature(
    function: Callable[..., Any], node: str, parents: Iterable[str], first: int, allowed: str
) -> None:
    """Raise unless a function takes these arguments, before a call fails with a TypeError."""
    try:
        takes = signature(function)
    except (TypeError, ValueError):  # built-in functions do not say what they take
        return
    try:
        takes.bind(*[None] * first, **dict.fromkeys(parents))
    except TypeError as error:
        raise InputError(
            "mechanisms",
            f"a function{takes} for {node!r}",
            allowed,
            f"Its causes are: {', '.join(parents) or 'none'} ({error}).",
        ) from error


# Mechanisms learned from data: a regression with noise, or class probabilities.


FitMethod = Literal["calibrated", "paper"]
"""How mechanisms that are not given are fitted; they differ for categories only."""

_LINEAR_MODELS = {"LinearRegression", "Ridge", "Lasso", "ElasticNet"}


class ParentEncoder:
    """Encoder of parents as a matrix: numbers as they are, categories one-hot."""

    def __init__(self, parents: Mapping[str, NodeData]) -> None:
        self._labels = {name: column.labels for name, column in parents.items()}

    def __call__(self, parents: Parents) -> Reals:
        """Return a matrix with one row per row of the parents."""
        blocks = []
        for name, labels in self._labels.items():
            if labels is None:
                blocks.append(np.asarray(parents[name], dtype=np.float64)[:, None])
            else:
                blocks.append(np.eye(len(labels))[labels.codes(parents[name], name, "values")])
        return np.concatenate(blocks, axis=1)


class RegressionMean:
    """Mean of a node given its parents, predicted by a fitted regressor."""

    def __init__(self, model: Any, encode: ParentEncoder) -> None:
        self._model, self._encode = model, encode
        self._linear = type(model).__name__ in _LINEAR_MODELS and np.ndim(model.coef_) == 1

    def __repr__(self) -> str:
        return short_repr(self._model)

    def __call__(self, parents: Parents) -> Values:
        """Return the predicted mean of each row."""
        if not self._linear:
            return map_distinct(
                parents, lambda few: np.ravel(self._model.predict(self._encode(few)))
            )
        # Column by column: a BLAS product rounds differently for other numbers of rows.
        matrix = self._encode(parents)
        out = np.full(len(matrix), float(self._model.intercept_))
        for column, slope in zip(matrix.T, self._model.coef_, strict=True):
            out += slope * column
        return out


class CachedProbabilities:
    """Probabilities of a classifier, computed once per distinct row.

    A search needs the same few rows in many small batches, and a forest takes as long for one row
    as for a thousand.
    """

    def __init__(self, model: Any, encode: ParentEncoder, limit: int = 100_000) -> None:
        self._model, self._encode, self._limit = model, encode, limit
        self._known: dict[bytes, Reals] = {}

    def __repr__(self) -> str:
        return short_repr(self._model, 200)

    def __call__(self, parents: Parents) -> Reals:
        """Return probabilities (rows, labels) of distinct rows."""
        matrix = self._encode(parents)
        known = self._known
        keys = [row.tobytes() for row in matrix]
        new = [i for i, key in enumerate(keys) if key not in known]
        if new:
            answers = np.asarray(self._model.predict_proba(matrix[new]), dtype=np.float64)
            found = dict(zip([keys[i] for i in new], answers, strict=True))
        else:
            found = {}
        out = np.stack([found[key] if key in found else known[key] for key in keys])
        if len(known) + len(found) > self._limit:
            self._known = found  # not cleared: another thread may be reading
        else:
            known.update(found)
        return out


@dataclass(frozen=True)
class MechanismFitter:
    """Fits the mechanism of a node to its column and those of its parents."""

    way: FitMethod
    random_state: int

    def __call__(
        self, column: NodeData, parents: Mapping[str, NodeData], estimator: Any, std: float | None
    ) -> Mechanism:
        """Fit a mechanism with the user's estimator, or with the default one for None."""
        node = column.domain.node
        if estimator is None:
            estimator = self._default(column)
        else:
            from sklearn.base import clone

            _check_estimator(estimator, column)
            estimator = clone(estimator)
            if estimator.get_params().get("random_state", 0) is None:
                estimator.set_params(random_state=self.random_state)
        encode, given = ParentEncoder(parents), {name: p.values for name, p in parents.items()}
        if column.labels is None:
            target: Values = column.values.astype(np.float64)
        else:  # the labels' numbers: scikit-learn refuses labels such as 0.7
            target = column.labels.codes(column.values, node, "data")
        allowed = f"an estimator that can be fitted for {node!r} on this data"
        call_user_function(f"mechanisms[{node!r}]", estimator.fit, allowed, encode(given), target)
        if column.labels is not None:
            return Categorical(node, column.labels, CachedProbabilities(estimator, encode))
        mean = RegressionMean(estimator, encode)
        if std is None:  # the variance of the noise is the residual mean square
            std = float(np.sqrt(np.mean((target - mean(given)) ** 2)))
        return Additive(mean, std)

    def _default(self, column: NodeData) -> Any:
        if column.labels is None:
            from sklearn.linear_model import LinearRegression

            return LinearRegression()
        if self.way == "paper":  # appendix, German credit
            from sklearn.ensemble import RandomForestClassifier

            return RandomForestClassifier(random_state=self.random_state)
        return CalibratedClassifier(self.random_state)


def _check_estimator(estimator: Any, column: NodeData) -> None:
    from sklearn.base import is_classifier, is_regressor

    node = column.domain.node
    got = f"{short_repr(estimator)} for {node!r}"
    if column.labels is None and not is_regressor(estimator):
        hint = f"Name {node!r} in categorical=[...] if its numbers are labels."
        raise InputError("mechanisms", got, f"a regressor, since {node!r} holds numbers", hint)
    if column.labels is not None and not is_classifier(estimator):
        raise InputError("mechanisms", got, f"a classifier, since {node!r} is categorical")
    if column.labels is not None and not hasattr(estimator, "predict_proba"):
        raise InputError(
            "mechanisms",
            f"{got}, without predict_proba",
            "a classifier that gives probabilities",
            "CalibratedClassifierCV adds them to any classifier.",
        )


# Class probabilities that can be trusted as probabilities: the default for a categorical node.


FOLDS = 5
MAX_COMPARED_ROWS = 5_000
"""Rows on which candidates are compared: more would not change the choice, only take longer."""
TREES, COMPARED_TREES = 100, 25
"""Trees of the forest that is chosen, and of those that are only compared, which saves time."""
MAX_DEVIATIONS = 1e30
"""Largest standardised value: a forest reads numbers in single precision, which ends at 3e38."""

FREQUENCIES, LOGISTIC = "class frequencies", "logistic regression"
FOREST_LEAF_SHARES = {"forest with leaves of 5%": 0.05, "forest with leaves of 2%": 0.02}
"""By name: the smallest share of the rows in a leaf."""


class CalibratedClassifier:
    """Classifier that cross-validated log loss chooses among a few.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(800, 1))
    >>> label = (rng.random(800) < 1 / (1 + np.exp(-x[:, 0]))).astype(int)
    >>> model = CalibratedClassifier(random_state=0).fit(x, label)
    >>> model.chosen
    'logistic regression'
    >>> model.predict_proba(np.array([[1.0]]))[0, 1].round(2)  # 1 / (1 + exp(-1)) = 0.73
    np.float64(0.71)
    """

    def __init__(self, random_state: int) -> None:
        self._seed = random_state

    def fit(self, matrix: Reals, codes: Counts) -> CalibratedClassifier:
        """Choose and fit a candidate; labels are 0, 1, …, each of which occurs."""
        self._centre, self._scale = matrix.mean(axis=0), matrix.std(axis=0)
        self._scale[self._scale == 0] = 1.0
        scaled, labels = self._scaled(matrix), int(codes.max()) + 1
        self.losses = self._compared(scaled, codes, labels)
        self.chosen = min(self.losses, key=self.losses.__getitem__)
        self._model = fit_candidate(self.chosen, scaled, codes, labels, self._seed, TREES)
        return self

    def predict_proba(self, matrix: Reals) -> Reals:
        """Return probabilities (rows, labels), all of them above 0."""
        return self._model(self._scaled(matrix))

    def __repr__(self) -> str:
        others = [f"{name} {loss:.3f}" for name, loss in self.losses.items() if name != self.chosen]
        if not others:
            return self.chosen
        return f"{self.chosen}, log loss {self.losses[self.chosen]:.3f} ({join_words(others)})"

    def _scaled(self, matrix: Reals) -> Reals:
        with np.errstate(over="ignore"):
            scaled = (matrix - self._centre) / self._scale
        return np.asarray(np.clip(scaled, -MAX_DEVIATIONS, MAX_DEVIATIONS))

    def _compared(self, matrix: Reals, codes: Counts, labels: int) -> Mapping[str, float]:
        """Return the mean log loss of each candidate on held-out rows, simplest first for ties."""
        from sklearn.model_selection import KFold

        # With fewer than two rows for a label on average, its causes cannot be learned.
        if labels == 1 or len(codes) < max(2 * FOLDS, 2 * labels):
            return {FREQUENCIES: 0.0}
        rows = generator(self._seed, Stream.FOLDS).permutation(len(codes))[:MAX_COMPARED_ROWS]
        matrix, codes = matrix[rows], codes[rows]
        total = dict.fromkeys((FREQUENCIES, LOGISTIC, *FOREST_LEAF_SHARES), 0.0)
        for train, test in KFold(FOLDS).split(matrix):
            for way in total:
                model = fit_candidate(
                    way, matrix[train], codes[train], labels, self._seed, COMPARED_TREES
                )
                given = model(matrix[test])[np.arange(len(test)), codes[test]]
                total[way] -= float(np.log(given).sum())
        return {way: loss / len(codes) for way, loss in total.items()}


def fit_candidate(
    way: str, matrix: Reals, codes: Counts, labels: int, seed: int, trees: int
) -> _SmoothedProbabilities:
    """Fit one candidate on some rows, in which labels may be absent."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression

    n, counts = len(codes), np.bincount(codes, minlength=labels)
    frequencies, present = (counts + 1) / (n + labels), np.flatnonzero(counts)
    if way == FREQUENCIES or len(present) == 1:
        return _SmoothedProbabilities(None, present, frequencies, n)
    if way == LOGISTIC:
        linear = LogisticRegression(max_iter=1000, tol=1e-3).fit(matrix, codes)
        return _SmoothedProbabilities(
            partial(logistic_probabilities, linear), present, frequencies, n
        )
    leaf = max(5, round(FOREST_LEAF_SHARES[way] * n))
    forest = RandomForestClassifier(trees, min_samples_leaf=leaf, random_state=seed)
    return _SmoothedProbabilities(forest.fit(matrix, codes).predict_proba, present, frequencies, n)


@dataclass(frozen=True)
class _SmoothedProbabilities:
    """Probabilities of a fitted model, smoothed by one more case with the data's frequencies."""

    ask: Callable[[Reals], Reals] | None
    """Function from rows to the model's probabilities; None: the frequencies alone."""
    present: Counts
    """The labels that the model knows."""
    frequencies: Reals
    n: int

    def __call__(self, matrix: Reals) -> Reals:
        if self.ask is None:
            return np.tile(self.frequencies, (len(matrix), 1))
        out = np.zeros((len(matrix), len(self.frequencies)))
        out[:, self.present] = self.ask(matrix)
        return np.asarray((self.n * out + self.frequencies) / (self.n + 1))


def logistic_probabilities(model: Any, matrix: Reals) -> Reals:
    """Return a logistic regression's probabilities, computed column by column.

    A BLAS product may round differently for another number of rows, but a row must have the same
    probabilities in every batch.
    """
    scores = []
    for intercept, slopes in zip(model.intercept_, model.coef_, strict=True):
        score = np.full(len(matrix), float(intercept))
        for column, slope in zip(matrix.T, slopes, strict=True):
            score += slope * column
        scores.append(score)
    if len(scores) == 1:  # of two labels, the second against the first
        scores.insert(0, np.zeros(len(matrix)))
    highest = np.maximum.reduce(scores)
    odds = [np.exp(score - highest) for score in scores]
    return np.stack([one / sum(odds) for one in odds], axis=1)
