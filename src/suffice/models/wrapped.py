"""The user's model, called as it wants to be called: with its own columns, dtypes and order.

Nothing is planted on the model and nothing is assumed of it beyond `predict` or being callable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from suffice.errors import InputError, ModelError, SufficeError, shorten
from suffice.models.adapter import Adapter
from suffice.models.columns import fitted_columns
from suffice.models.detect import adapted
from suffice.models.pipelines import best_labels, is_labelled
from suffice.tables.frames import as_table
from suffice.tables.table import Table, plain
from suffice.target import OwnScore, Target, event_for
from suffice.typing import Values

__all__ = ["WrappedModel", "as_model", "make_target"]


class WrappedModel:
    """A model seen through the two questions that a target asks."""

    def __init__(
        self,
        name: str,
        predict: Callable[[Any], Any],
        scores: Callable[[Any], Any] | None,
        classes: tuple[Any, ...] | None,
        original: Any = None,
    ) -> None:
        self.name = name
        self.classes = classes
        self.original = original
        """The user's own object, for those who can read its shape. Never changed."""
        self._predict = predict
        self._scores = scores
        self.seconds_per_row: float | None = None
        """At most this much, as told by the answers on the data; None until then."""
        self.prepare: Callable[[Table], Table] | None = None
        """Turns rows of the user's kind into what the model was fitted on, where that is needed."""

    def predict(self, rows: Table) -> Values:
        """One label or value per row."""
        rows = rows if self.prepare is None else self.prepare(rows)
        return _labels(_ask(self.name, self._predict, rows), self)

    def scores(self, rows: Table) -> Values:
        """One score per row and class, in the order of `classes`."""
        rows = rows if self.prepare is None else self.prepare(rows)
        wanted = len(self.classes or ())
        out = _ask(self.name, self._scores, rows) if self._scores else None
        if out is not None and out.ndim == 1 and out.dtype.kind == "f" and wanted == 2:
            out = np.stack([-out, out], axis=1)  # a binary decision function
        if out is None or out.ndim != 2 or out.shape[1] != wanted:
            raise InputError(
                "outcome",
                f"versus(…) for {self.name}, which gives no score per class",
                "a class",
                "versus needs predict_proba, decision_function or a callable returning them.",
            )
        return out

    def own_scores(self, rows: Table, predictions: Sequence[Any]) -> list[OwnScore | None]:
        """What stands beside each prediction: `model.own_scores(row, [prediction])[0]` for one row.

        Of a number the value itself, without a call. Of a class its probability or its score, by
        one call for all the rows; None where the model has none for it.
        """
        if self.classes is None:
            return [OwnScore(float(value), "value") for value in predictions]
        try:
            scores = self.scores(rows.take(np.arange(len(rows))))  # a copy to write into
        except SufficeError:  # the prediction stands without it
            return [None] * len(rows)
        return [self._own_score(row, label) for row, label in zip(scores, predictions, strict=True)]

    def _own_score(self, scores: Values, label: Any) -> OwnScore | None:
        if self.classes is None or plain(label) not in self.classes:
            return None
        share = np.all((scores >= 0) & (scores <= 1)) and abs(scores.sum() - 1) < 1e-3
        own = float(scores[self.classes.index(plain(label))])
        return OwnScore(own, "probability" if share else "score") if np.isfinite(own) else None

    def __repr__(self) -> str:
        return self.name


def as_model(model: Any, data: Table) -> tuple[WrappedModel, Values]:
    """Wrap a fitted estimator or a callable; also give its answers on `data`, asked for once.

    Models of the libraries that `adapt` knows are adapted first, with no options.
    """
    asked = adapted(model)
    predict = getattr(asked, "predict", None)
    if predict is None and not callable(asked):
        raise InputError(
            "model",
            type(model).__name__,
            "a fitted estimator with predict, or a callable from rows to labels or scores",
        )
    name = _name(asked)
    scores = getattr(asked, "predict_proba", None) or getattr(asked, "decision_function", None)
    original = asked.original if isinstance(asked, Adapter) else model
    wrapped = WrappedModel(name, predict or asked, scores if predict else asked, None, original)
    started = perf_counter()
    # A copy, since some models write into the frame that they are given.
    answers = _ask(name, predict or asked, data.take(np.arange(len(data))))
    wrapped.seconds_per_row = (perf_counter() - started) / len(data)
    labels = _labels(answers, wrapped)
    if predict is None and answers.ndim == 1:
        wrapped._scores = None  # labels or values are all that it gives
    # Only now, since an adapter may learn from the first answer how many classes there are.
    known = getattr(asked, "classes_", None)
    if known is None:
        wrapped.classes = _classes_seen(answers)
    else:
        wrapped.classes = tuple(plain(c) for c in np.asarray(known).ravel())
    return wrapped, labels


def make_target(model: Any, data: Any, outcome: Any) -> Target:
    """A target f for a basis: any model that `Explainer` takes, and an outcome.

    `data` is a table like the one that the model will be asked about; `outcome` a class,
    `versus(…)`, `at_least(t)`, `at_most(t)` or `satisfies(…)`.
    """
    if outcome is None:
        raise InputError("outcome", None, "a class or an event: there is no input to take it from")
    model = adapted(model)  # once, not for each table
    wrapped, answers = as_model(model, fitted_columns(model, as_table(data)))
    wrapped.prepare = partial(fitted_columns, model)
    return Target(wrapped, event_for(outcome, wrapped, answers[0]))


def _labels(answers: Values, model: WrappedModel) -> Values:
    """Columns of scores mean the class that scores highest; only a callable may give them."""
    if answers.ndim == 1:
        return answers
    if hasattr(model.original, "predict"):
        raise ModelError(
            f"{model.name} predicts {answers.shape[1]} outputs per row, and one is explained at a "
            "time: pass a callable that returns the one you mean"
        )
    return np.asarray(answers.argmax(axis=1))


def _name(model: Any) -> str:
    """What to call the model; a pipeline is called by its last step."""
    steps = getattr(model, "steps", None)
    if isinstance(steps, list) and steps:
        return f"{type(model).__name__} with {_name(steps[-1][-1])}"
    return str(getattr(model, "__name__", type(model).__name__))


def _ask(name: str, function: Callable[[Any], Any], rows: Table) -> Values:
    try:
        out = _as_array(function(rows.native))
    except SufficeError:  # an adapter has said what is wrong
        raise
    except Exception as error:  # whatever the user's model raises is told in its own words
        raise ModelError(
            f"{name} raised {type(error).__name__} on {len(rows)} row(s): {error}"
        ) from error
    if out.ndim == 2 and out.shape[1] == 1:
        out = out[:, 0]
    if out.ndim not in (1, 2) or len(out) != len(rows):
        raise ModelError(
            f"{name} returned shape {out.shape} for {len(rows)} row(s): "
            "it must return one label, one value, or one score per class, for each row"
        )
    missing = out != out
    if np.any(missing):
        raise ModelError(f"{name} returned NaN for {int(np.sum(missing))} of {len(rows)} rows")
    if out.dtype == object:
        bad = next((v for v in out.ravel() if type(v).__hash__ is None), None)
        if bad is not None:
            raise ModelError(f"{name} returned a label that cannot be hashed: {shorten(bad)}")
    return out


def _as_array(answers: Any) -> Values:
    """An array that keeps labels of several kinds apart: numpy would turn 0 beside "a" into "0"."""
    if is_labelled(answers):
        return best_labels(answers)
    if isinstance(answers, list | tuple) and len({isinstance(a, str) for a in answers}) == 2:
        out = np.empty(len(answers), dtype=object)
        out[:] = answers
        return out
    return np.asarray(answers)


def _classes_seen(answers: Values) -> tuple[Any, ...] | None:
    """Columns of scores are classes 0, 1, …; floats are values; anything else is labels."""
    if answers.ndim == 2:
        return tuple(range(answers.shape[1]))
    if answers.dtype.kind == "f":
        return None
    return tuple(sorted({plain(a) for a in answers.tolist()}, key=lambda c: (str(type(c)), c)))
