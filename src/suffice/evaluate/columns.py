"""Pipelines that treat each column by itself: which input column does each output come from?

A scaler, an encoder, a binning or an imputer looks at one column at a time, so after any number of
them every number that the final estimator sees comes from one column of the user's table. Then
its players are groups of the transformed columns, and whatever holds of the estimator (that it is
additive, that it is a forest) can be used. Nothing is reimplemented: the fitted steps transform
the pool once, and only the *bookkeeping* of columns is done here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.evaluate.owners import owners_after, sklearn_name
from suffice.evaluate.protocol import Unreadable
from suffice.tables.table import Table
from suffice.typing import Counts, Values

__all__ = ["PerColumn", "split_pipeline", "unwrap"]

_SEARCHES = frozenset(
    {"GridSearchCV", "RandomizedSearchCV", "HalvingGridSearchCV", "HalvingRandomSearchCV"}
)


@dataclass(frozen=True, eq=False)
class PerColumn:
    """A model as steps that keep columns apart, and the estimator at the end of them."""

    steps: tuple[Any, ...]
    owner: Counts
    """For each column that the final estimator sees: the input column it comes from."""
    final: Any

    def transform(self, rows: Table) -> Any:
        """What the final estimator sees of these rows (a frame, an array or a sparse matrix)."""
        out = rows.native
        for step in self.steps:
            out = step.transform(out)
        return out

    def matrix(self, rows: Table) -> Values:
        """The same as a dense array of numbers."""
        out = self.transform(rows)
        out = np.asarray(out.toarray() if hasattr(out, "toarray") else out)
        if out.shape != (len(rows), len(self.owner)):
            raise Unreadable(f"its steps gave {out.shape[1:]} columns, not {len(self.owner)}")
        return out.astype(np.float64) if out.dtype.kind not in "fiub" else out


def split_pipeline(model: Any, columns: tuple[str, ...]) -> PerColumn | str:
    """Take a fitted model apart, or say which of its steps does not keep columns apart.

    `columns` are the names of the table that it will be given. A model that is no pipeline has no
    steps and is its own final estimator.

    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> model = make_pipeline(StandardScaler(), LogisticRegression())
    >>> model = model.fit([[0.0, 1.0], [1.0, 0.0]], [0, 1])
    >>> split_pipeline(model, ("a", "b")).owner.tolist()
    [0, 1]
    """
    try:
        model = unwrap(model)
        steps: list[Any] = []
        while sklearn_name(model) == "Pipeline":
            steps += [s for _, s in model.steps[:-1] if s is not None and s != "passthrough"]
            model = unwrap(model.steps[-1][1])
        owner = np.arange(len(columns))
        for step in steps:
            owner = owners_after(step, owner, columns if step is steps[0] else None)
    except Unreadable as reason:
        return str(reason)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        # Not fitted, or of a version whose attributes are others.
        return f"{type(model).__name__} could not be read ({type(error).__name__}: {error})"
    return PerColumn(tuple(steps), owner, model)


def unwrap(model: Any) -> Any:
    """The estimator that a search or a freeze only passes rows on to."""
    while True:
        name = sklearn_name(model)
        if name in _SEARCHES and hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        elif name == "FrozenEstimator":
            model = model.estimator
        else:
            return model
