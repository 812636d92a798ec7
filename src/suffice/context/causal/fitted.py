"""Mechanisms learned from data: a regression with noise, or class probabilities.

A class is drawn by inverse CDF from one uniform number u per row: the labels, sorted, share the
interval [0, 1) by their probabilities, and the label that u falls on is the value. The same u then
gives comparable worlds. That coupling is an assumption: data determine each probability, not which
of two worlds' labels go together. Counterfactuals with noise kept rest on it.

The default mechanisms answer alike, bit for bit, in whatever batches they are asked. Estimators
that multiply matrices (a neural network, say) may differ in the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from suffice.context.causal.columns import Column, Labels, per_distinct
from suffice.context.causal.functions import Additive
from suffice.context.causal.mechanisms import Mechanism, Parents, Recoverable
from suffice.errors import InputError, shorten
from suffice.tables.table import plain
from suffice.typing import Reals, Values

__all__ = ["Categorical", "fit_classifier", "fit_regressor"]

_LINEAR = {"LinearRegression", "Ridge", "Lasso", "ElasticNet"}


class Encoder:
    """The parents as a matrix: numbers as they are, a column of zeros and ones per category."""

    def __init__(self, parents: Mapping[str, Column]) -> None:
        self._labels = {name: column.labels for name, column in parents.items()}

    def __call__(self, parents: Parents) -> Reals:
        """One row of the matrix per row of the parents."""
        blocks = []
        for name, labels in self._labels.items():
            if labels is None:
                blocks.append(np.asarray(parents[name], dtype=np.float64)[:, None])
            else:
                blocks.append(np.eye(len(labels))[labels.codes(parents[name], name, "values")])
        return np.concatenate(blocks, axis=1)


class Regression:
    """What a fitted regressor expects, given the parents."""

    def __init__(self, model: Any, encode: Encoder) -> None:
        self._model, self._encode = model, encode
        self._linear = type(model).__name__ in _LINEAR and np.ndim(model.coef_) == 1

    def __call__(self, parents: Parents) -> Values:
        """One number per row."""
        if not self._linear:
            return per_distinct(
                parents, lambda few: np.ravel(self._model.predict(self._encode(few)))
            )
        # Column by column: a BLAS product rounds differently for other numbers of rows.
        matrix = self._encode(parents)
        out = np.full(len(matrix), float(self._model.intercept_))
        for column, slope in zip(matrix.T, self._model.coef_, strict=True):
            out += slope * column
        return out


class Remembered:
    """A classifier's probabilities, each row asked for once.

    A search asks for the same few rows in many small batches, and a forest takes as long for one
    row as for a thousand.
    """

    def __init__(self, model: Any, encode: Encoder, limit: int = 100_000) -> None:
        self._model, self._encode, self._limit = model, encode, limit
        self._known: dict[bytes, Reals] = {}

    def __call__(self, parents: Parents) -> Reals:
        """(rows, labels); the rows are distinct."""
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


class Categorical(Mechanism):
    """Labels drawn by the probabilities that the parents give them."""

    recoverable: Recoverable = "posterior"

    def __init__(
        self, node: str, labels: Labels, probabilities: Callable[[Parents], Reals]
    ) -> None:
        self.node, self.labels, self._ask = node, labels, probabilities

    def probabilities(self, parents: Parents) -> Reals:
        """(rows, labels)."""
        return np.asarray(per_distinct(parents, self._ask))

    def draw(self, n: int, rng: np.random.Generator) -> Values:
        """One uniform number per row."""
        return rng.random(n)

    def value(self, parents: Parents, noise: Values) -> Values:
        """The label whose stretch of [0, 1) the noise falls on."""
        ends = self._ends(parents)[:, 1:-1]
        return np.asarray(self.labels.values[(noise[:, None] >= ends).sum(axis=1)])

    def abduct(self, parents: Parents, values: Values, rng: np.random.Generator) -> Values:
        """A uniform draw from the stretch of the observed label."""
        codes = self.labels.codes(values, self.node, "values")
        ends, rows = self._ends(parents), np.arange(len(values))
        low, high = ends[rows, codes], ends[rows, codes + 1]
        if (low >= high).any():
            row = int(np.argmax(low >= high))
            raise InputError(
                "values",
                f"{self.node} = {plain(values[row])!r} in row {row}, to which the mechanism fitted "
                f"for {self.node!r} gives probability 0",
                "rows that the model can produce",
                "Its noise cannot be recovered: use noise='sampled', or give this node a "
                "classifier that is less sure of itself.",
            )
        drawn = low + (high - low) * rng.random(len(values))
        return np.asarray(np.minimum(drawn, np.nextafter(high, low)))

    def _ends(self, parents: Parents) -> Reals:
        """(rows, labels + 1): where each label's stretch begins and ends, from 0 to exactly 1."""
        total = np.cumsum(self.probabilities(parents), axis=1)
        return np.pad(total / total[:, -1:], ((0, 0), (1, 0)))


def fit_regressor(
    node: str, estimator: Any, parents: Mapping[str, Column], column: Column, std: float | None
) -> Additive:
    """A regression on the parents; noise is Gaussian, its variance the residual mean square."""
    encode = Encoder(parents)
    matrix = encode({name: parent.values for name, parent in parents.items()})
    model = _fitted(node, estimator, matrix, column.values.astype(np.float64))
    mean = Regression(model, encode)
    if std is None:
        residuals = column.values - mean({name: p.values for name, p in parents.items()})
        std = float(np.sqrt(np.mean(residuals**2)))
    return Additive(mean, std)


def fit_classifier(
    node: str, estimator: Any, parents: Mapping[str, Column], column: Column
) -> Categorical:
    """Class probabilities given the parents."""
    assert column.labels is not None
    if not hasattr(estimator, "predict_proba"):
        raise InputError(
            "mechanisms",
            f"{shorten(estimator)} for {node!r}, without predict_proba",
            "a classifier that gives probabilities",
            "CalibratedClassifierCV adds them to any classifier.",
        )
    encode = Encoder(parents)
    matrix = encode({name: parent.values for name, parent in parents.items()})
    # Fitted on the labels' numbers: scikit-learn refuses labels such as 0.7.
    codes = column.labels.codes(column.values, node, "data")
    model = _fitted(node, estimator, matrix, codes)
    return Categorical(node, column.labels, Remembered(model, encode))


def _fitted(node: str, estimator: Any, matrix: Reals, target: Values) -> Any:
    try:
        return estimator.fit(matrix, target)
    except ValueError as error:
        raise InputError(
            "mechanisms",
            f"{shorten(estimator)}, which could not be fitted for {node!r}",
            "an estimator that fits this data",
            str(error).splitlines()[0],
        ) from error
