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
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from suffice.checks import ran
from suffice.context.causal.calibrated import Calibrated
from suffice.context.causal.domains import Labels, NodeData, per_distinct, shown
from suffice.context.causal.mechanisms import Additive, Mechanism, Parents, Recoverable
from suffice.errors import InputError, shorten
from suffice.typing import Reals, Values

__all__ = ["Categorical", "Fit", "Fitter"]

Fit = Literal["calibrated", "paper"]
"""How mechanisms that are not given are fitted; they differ for categories only."""

_LINEAR = {"LinearRegression", "Ridge", "Lasso", "ElasticNet"}


class Encoder:
    """The parents as a matrix: numbers as they are, a column of zeros and ones per category."""

    def __init__(self, parents: Mapping[str, NodeData]) -> None:
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

    def __repr__(self) -> str:
        return shorten(self._model)

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

    def __repr__(self) -> str:
        return shorten(self._model, 200)

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
        self.node, self._labels, self._ask = node, labels, probabilities

    def __repr__(self) -> str:
        return f"Categorical({len(self._labels)} labels by {self._ask!r})"

    def labels(self) -> Labels:
        """All that were seen."""
        return self._labels

    def probabilities(self, parents: Parents) -> Reals:
        """(rows, labels)."""
        found = np.asarray(per_distinct(parents, self._ask))
        fits = found.shape[1:] == (len(self._labels),) and np.isfinite(found).all()
        if not fits or (found < 0).any() or (found.sum(axis=1) <= 0).any():
            raise InputError(
                f"mechanisms[{self.node!r}]",
                f"a classifier that gave {shorten(found[:1].tolist())}",
                f"a probability for each of its {len(self._labels)} labels",
            )
        return found

    def draw(self, n: int, rng: np.random.Generator) -> Values:
        """One uniform number per row."""
        return rng.random(n)

    def value(self, parents: Parents, noise: Values) -> Values:
        """The label whose stretch of [0, 1) the noise falls on."""
        ends = self._ends(parents)[:, 1:-1]
        return np.asarray(self._labels.values[(noise[:, None] >= ends).sum(axis=1)])

    def abduct(self, parents: Parents, values: Values, rng: np.random.Generator) -> Values:
        """A uniform draw from the stretch of the observed label."""
        codes = self._labels.codes(values, self.node, "values")
        ends, rows = self._ends(parents), np.arange(len(values))
        low, high = ends[rows, codes], ends[rows, codes + 1]
        if (low >= high).any():
            row = int(np.argmax(low >= high))
            raise InputError(
                "values",
                f"{self.node} = {shown(values[row])} in row {row}, to which the mechanism fitted "
                f"for {self.node!r} gives probability 0",
                "rows that the model can produce",
                "Its noise cannot be recovered: use noise='sampled', or leave this node to the "
                "default mechanism, which gives no label seen probability 0.",
            )
        drawn = low + (high - low) * rng.random(len(values))
        return np.asarray(np.minimum(drawn, np.nextafter(high, low)))

    def _ends(self, parents: Parents) -> Reals:
        """(rows, labels + 1): where each label's stretch begins and ends, from 0 to exactly 1."""
        total = np.cumsum(self.probabilities(parents), axis=1)
        return np.pad(total / total[:, -1:], ((0, 0), (1, 0)))


@dataclass(frozen=True)
class Fitter:
    """Fits the mechanism of a node to its column and its parents'."""

    way: Fit
    random_state: int

    def __call__(
        self, column: NodeData, parents: Mapping[str, NodeData], estimator: Any, std: float | None
    ) -> Mechanism:
        """With an estimator of the user's, or with None the default one."""
        node = column.domain.node
        if estimator is None:
            estimator = self._default(column)
        else:
            from sklearn.base import clone

            _require_kind(estimator, column)
            estimator = clone(estimator)
            if estimator.get_params().get("random_state", 0) is None:
                estimator.set_params(random_state=self.random_state)
        encode, given = Encoder(parents), {name: p.values for name, p in parents.items()}
        if column.labels is None:
            target: Values = column.values.astype(np.float64)
        else:  # the labels' numbers: scikit-learn refuses labels such as 0.7
            target = column.labels.codes(column.values, node, "data")
        allowed = f"an estimator that can be fitted for {node!r} on this data"
        ran(f"mechanisms[{node!r}]", estimator.fit, allowed, encode(given), target)
        if column.labels is not None:
            return Categorical(node, column.labels, Remembered(estimator, encode))
        mean = Regression(estimator, encode)
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
        return Calibrated(self.random_state)


def _require_kind(estimator: Any, column: NodeData) -> None:
    from sklearn.base import is_classifier, is_regressor

    node = column.domain.node
    got = f"{shorten(estimator)} for {node!r}"
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
