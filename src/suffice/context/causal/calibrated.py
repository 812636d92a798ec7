"""Class probabilities that can be trusted as probabilities: the default for a categorical node.

A forest grown until its leaves are pure remembers labels. Its shares are votes of the nearest rows,
not probabilities: far too sure of themselves near the data, and 0 for labels that do occur. So a
few ways are tried here on rows that they were not fitted on, and the one with the smallest log loss
is fitted on all rows:

- class frequencies, which ignore the causes;
- a multinomial logistic regression, on standardised causes;
- two forests whose leaves hold at least 5% and 2% of the rows.

Whatever is chosen, one more case is added that has each label as often as the data have it. So no
label seen ever gets probability 0, and noise can be found for every row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from suffice.randomness import Stream, generator
from suffice.typing import Counts, Reals
from suffice.wording import listed

__all__ = ["Calibrated", "fit_way", "softmax"]

FOLDS = 5
MOST_TRIED = 5_000
"""Rows on which the ways are compared: more would not change the choice, only take longer."""
TREES, TREES_TRIED = 100, 25
"""Of the forest that is chosen, and of those that are compared: building them takes the time."""
FARTHEST = 1e30
"""Standard deviations: a forest reads numbers in single precision, which ends at 3e38."""

FREQUENCIES, LOGISTIC = "class frequencies", "logistic regression"
FORESTS = {"forest with leaves of 5%": 0.05, "forest with leaves of 2%": 0.02}
"""By name: the smallest share of the rows in a leaf."""


class Calibrated:
    """A classifier that is chosen by cross-validated log loss.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(800, 1))
    >>> label = (rng.random(800) < 1 / (1 + np.exp(-x[:, 0]))).astype(int)
    >>> model = Calibrated(random_state=0).fit(x, label)
    >>> model.chosen
    'logistic regression'
    >>> model.predict_proba(np.array([[1.0]]))[0, 1].round(2)  # 1 / (1 + exp(-1)) = 0.73
    np.float64(0.71)
    """

    def __init__(self, random_state: int) -> None:
        self._seed = random_state

    def fit(self, matrix: Reals, codes: Counts) -> Calibrated:
        """Choose and fit; labels are numbered 0, 1, …, each of them there."""
        self._centre, self._scale = matrix.mean(axis=0), matrix.std(axis=0)
        self._scale[self._scale == 0] = 1.0
        scaled, labels = self._scaled(matrix), int(codes.max()) + 1
        self.losses = self._compared(scaled, codes, labels)
        self.chosen = min(self.losses, key=self.losses.__getitem__)
        self._model = fit_way(self.chosen, scaled, codes, labels, self._seed, TREES)
        return self

    def predict_proba(self, matrix: Reals) -> Reals:
        """(rows, labels), none of them 0."""
        return self._model(self._scaled(matrix))

    def __repr__(self) -> str:
        others = [f"{name} {loss:.3f}" for name, loss in self.losses.items() if name != self.chosen]
        if not others:
            return self.chosen
        return f"{self.chosen}, log loss {self.losses[self.chosen]:.3f} ({listed(others)})"

    def _scaled(self, matrix: Reals) -> Reals:
        with np.errstate(over="ignore"):
            scaled = (matrix - self._centre) / self._scale
        return np.asarray(np.clip(scaled, -FARTHEST, FARTHEST))

    def _compared(self, matrix: Reals, codes: Counts, labels: int) -> Mapping[str, float]:
        """Mean log loss of each way on rows held out; the simplest first, so that it wins ties."""
        from sklearn.model_selection import KFold

        # Fewer than two rows for a label, on average, teach nothing about its causes.
        if labels == 1 or len(codes) < max(2 * FOLDS, 2 * labels):
            return {FREQUENCIES: 0.0}
        rows = generator(self._seed, Stream.FOLDS).permutation(len(codes))[:MOST_TRIED]
        matrix, codes = matrix[rows], codes[rows]
        total = dict.fromkeys((FREQUENCIES, LOGISTIC, *FORESTS), 0.0)
        for train, test in KFold(FOLDS).split(matrix):
            for way in total:
                model = fit_way(way, matrix[train], codes[train], labels, self._seed, TREES_TRIED)
                given = model(matrix[test])[np.arange(len(test)), codes[test]]
                total[way] -= float(np.log(given).sum())
        return {way: loss / len(codes) for way, loss in total.items()}


def fit_way(
    way: str, matrix: Reals, codes: Counts, labels: int, seed: int, trees: int
) -> _Smoothed:
    """One way, fitted on some rows, in which labels may be absent."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression

    n, counts = len(codes), np.bincount(codes, minlength=labels)
    frequencies, present = (counts + 1) / (n + labels), np.flatnonzero(counts)
    if way == FREQUENCIES or len(present) == 1:
        return _Smoothed(None, present, frequencies, n)
    if way == LOGISTIC:
        linear = LogisticRegression(max_iter=1000, tol=1e-3).fit(matrix, codes)
        return _Smoothed(partial(softmax, linear), present, frequencies, n)
    leaf = max(5, round(FORESTS[way] * n))
    forest = RandomForestClassifier(trees, min_samples_leaf=leaf, random_state=seed)
    return _Smoothed(forest.fit(matrix, codes).predict_proba, present, frequencies, n)


@dataclass(frozen=True)
class _Smoothed:
    """A fitted model's probabilities, after one more case that has labels as often as the data."""

    ask: Callable[[Reals], Reals] | None
    """None: the frequencies alone."""
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


def softmax(model: Any, matrix: Reals) -> Reals:
    """A logistic regression's probabilities, column by column.

    A BLAS product rounds differently for other numbers of rows, and a row must be answered alike in
    whatever batch it is asked.
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
