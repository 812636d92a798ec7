"""`WrappedModel`, a user's model as the rest of the package calls it, and `make_target`.

A model needs `predict` or be callable, nothing else, and no attribute is set on it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from inspect import ismethod
from time import perf_counter
from typing import Any, Protocol, runtime_checkable

import numpy as np

from suffice.errors import InputError, ModelError, SufficeError, short_repr
from suffice.formatting import join_first
from suffice.models.adapter import Adapter, adapt_if_known, require_model
from suffice.models.input_columns import fitted_columns
from suffice.models.outputs import call_model
from suffice.tables.cells import (
    distinct_labels,
    equals_label,
    is_plausible_label,
    label_index,
    label_text,
    labels_at,
    unwrap_label,
)
from suffice.tables.conversion import as_table
from suffice.tables.table import Table
from suffice.target import PredictionScore, Target, event_for, needs_input
from suffice.typing import Values


@runtime_checkable
class ComposedModel(Protocol):
    """A model of this package that builds the inputs of a user's model, such as texts."""

    seconds_per_row: float | None
    """Seconds that a row took in a call with many rows; None if that was not measured."""
    has_scores: bool
    """Whether the user's model gives scores."""

    def predict_with_scores(self, rows: Any) -> tuple[Values, Values | None]:
        """Return labels or values and, where the same call gives them, scores."""
        ...


class WrappedModel:
    """A user's model that predicts the rows of a `Table`, with its classes and its speed."""

    def __init__(
        self,
        name: str,
        predict: Callable[[Any], Any],
        scores: Callable[[Any], Any] | None,
        original: Any = None,
    ) -> None:
        self.name = name
        self.classes: tuple[Any, ...] | None = None
        """The labels, as the model's own objects; None for a model that returns numbers."""
        self.original = original
        """The user's own object, for engines that read its structure; never changed."""
        self._predict = predict
        self._scores = scores
        self._no_answers: Values = np.empty(0)
        self.seconds_per_row: float | None = None
        """Seconds per row, measured on the data at most; None until measured."""
        self.contradiction = ""
        """Which rows the model predicted otherwise when it was called again; "" for none."""
        self.unseen_labels: tuple[str, ...] = ()
        """Labels predicted that no row of data had and the model does not list: the first few."""
        self.select_columns: Callable[[Table], Table] | None = None
        """Selects the columns that the model was fitted on; None where rows have just those."""

    def predict(self, rows: Table) -> Values:
        """Return one label or value per row."""
        if not len(rows):  # many models refuse an empty table
            return self._no_answers
        labels = self._labels(call_model(self.name, self._predict, self._selected(rows)))
        self._note_unseen_labels(labels)
        return labels

    def _note_unseen_labels(self, labels: Values) -> None:
        """Note labels that are none of the classes; raise for one of another type.

        A label of another type, such as "1" beside 1, would silently count as another outcome.
        """
        if self.classes is None:
            return
        others = labels
        for label in self.classes:
            others = others[~equals_label(others, label)]
            if not len(others):
                return
        for label in map(unwrap_label, others[: 2 * _MOST_UNSEEN].tolist()):
            if not is_plausible_label(label, self.classes):
                known = join_first([short_repr(c) for c in self.classes], 4)
                raise ModelError(
                    f"{self.name} predicted {short_repr(label)}, a {type(label).__name__}, where "
                    f"its labels for the data are {known}: labels must be of one type"
                )
            text = label_text(label)
            if text not in self.unseen_labels and len(self.unseen_labels) < _MOST_UNSEEN:
                self.unseen_labels = (*self.unseen_labels, text)

    def predict_with_scores(
        self, rows: Table, shares: Values | None = None
    ) -> tuple[Values, Values | None]:
        """Return predictions and, where the same call gives them, scores; else None.

        A scikit-learn forest predicts the class of the highest mean probability, the first of
        several (`ForestClassifier.predict`), so its labels follow from its probabilities. Each call
        costs some ten milliseconds even for one row: one call halves that, and known `shares` (the
        probabilities) avoid it. The model gets a copy of the rows to write into.
        """
        by_mean = self._predict is not self._scores and _predicts_highest_mean(self.original)
        if by_mean and shares is not None:
            return labels_at(self.classes, shares.argmax(axis=1)), shares
        rows = rows.take(np.arange(len(rows)))
        if self._predict is self._scores:
            answers = call_model(self.name, self._predict, self._selected(rows))
            return self._labels(answers), answers if answers.ndim == 2 else None
        if isinstance(self.original, ComposedModel):
            return self.original.predict_with_scores(self._selected(rows).native)
        if not by_mean:
            return self.predict(rows), None
        scores = self.scores(rows)
        return labels_at(self.classes, scores.argmax(axis=1)), scores

    def _selected(self, rows: Table) -> Table:
        return rows if self.select_columns is None else self.select_columns(rows)

    def scores(self, rows: Table) -> Values:
        """Return (rows, classes): scores in the order of `classes`."""
        wanted = len(self.classes or ())
        if not len(rows):
            return np.empty((0, wanted))
        out = call_model(self.name, self._scores, self._selected(rows)) if self._scores else None
        if out is not None and out.ndim == 1 and out.dtype.kind == "f" and wanted == 2:
            out = np.stack([-out, out], axis=1)  # a binary decision function
        elif out is not None and out.ndim == 1 and wanted == 1:
            out = out[:, None]  # the share of the only class: one column was read as a list
        if out is None or out.ndim != 2 or out.shape[1] != wanted:
            raise InputError(
                "outcome",
                f"versus(…) for {self.name}, which gives no score per class",
                "a class",
                "versus needs predict_proba, decision_function or a callable returning them.",
            )
        return out

    @property
    def has_scores(self) -> bool:
        """True if the model has a function that returns scores."""
        if isinstance(self.original, ComposedModel):
            return self.original.has_scores
        return self._scores is not None

    def prediction_scores(
        self, rows: Table, predictions: Sequence[Any], scores: Values | None = None
    ) -> list[PredictionScore | None]:
        """Return the score of each prediction: `prediction_scores(row, [prediction])[0]` for one.

        For a number, the number itself. For a class, its probability or score, by one call for all
        rows unless `scores` are given; None where the model has no scores.
        """
        if self.classes is None:
            return [PredictionScore(float(value), "value") for value in predictions]
        try:
            # A copy, since some models write into their input.
            scores = self.scores(rows.take(np.arange(len(rows)))) if scores is None else scores
        except SufficeError:  # the prediction stands without it
            return [None] * len(rows)
        return [
            self._prediction_score(row, label)
            for row, label in zip(scores, predictions, strict=True)
        ]

    def _prediction_score(self, scores: Values, label: Any) -> PredictionScore | None:
        number = label_index(self.classes or (), unwrap_label(label))
        if number is None or not np.isfinite(scores[number]):
            return None
        share = np.all((scores >= 0) & (scores <= 1)) and abs(scores.sum() - 1) < 1e-3
        return PredictionScore(float(scores[number]), "probability" if share else "score")

    def learn_classes(self, answers: Values, listed: tuple[Any, ...] | None) -> Values:
        """Set `classes` from the first answers, and return these as labels or values.

        `listed` are the classes that the model names itself.
        """
        self.classes = _infer_classes(answers) if listed is None else listed
        labels = self._labels(answers)
        self._no_answers = labels[:0]
        if self._predict is self._scores and answers.ndim == 1:
            self._scores = None  # a callable that returns labels or values has no scores
        return labels

    def _labels(self, answers: Values) -> Values:
        """Return answers as labels: columns of scores, allowed of callables only, by argmax."""
        if answers.ndim == 1:
            return answers
        count = answers.shape[1]
        if self._predict is not self._scores:
            raise ModelError(
                f"{self.name} predicts {count} outputs per row, and one is explained at a "
                "time: pass a callable that returns the one you mean"
            )
        known = self.classes or ()
        if count != len(known):
            raise ModelError(
                f"{self.name} returned {count} scores per row for {len(known)} classes"
            )
        return labels_at(known, answers.argmax(axis=1))

    def __repr__(self) -> str:
        return self.name


_MOST_UNSEEN = 5
"""Labels beyond the classes that are kept to be reported."""


def _predicts_highest_mean(model: Any) -> bool:
    """Return whether a forest's `predict` is known to be the argmax of its `predict_proba`."""
    kind = type(model)  # a subclass may predict otherwise
    known = kind.__module__ == "sklearn.ensemble._forest" and "predict" not in vars(model)
    return known and kind.__name__ in ("RandomForestClassifier", "ExtraTreesClassifier")


def _infer_classes(answers: Values) -> tuple[Any, ...] | None:
    """Return classes 0, 1, … for columns of scores, None for floats, else the labels."""
    if answers.ndim == 2:
        return tuple(range(answers.shape[1]))
    if answers.dtype.kind == "f":
        return None
    return distinct_labels(answers if answers.dtype.kind in "mM" else answers.tolist())


def wrap_model(model: Any, data: Table, predict_again: bool = True) -> tuple[WrappedModel, Values]:
    """Return a wrapped estimator or callable, and its answers on `data`.

    Models of the libraries that `adapt` knows are adapted first, without options. A few rows and
    hybrids of rows are predicted twice, to find models that answer at random, unless
    `predict_again` is False.
    """
    adapted = require_model(model)
    predict = getattr(adapted, "predict", None)
    scores = getattr(adapted, "predict_proba", None) or getattr(adapted, "decision_function", None)
    original = adapted.original if isinstance(adapted, Adapter) else model
    name = _model_name(adapted)
    if predict is None:
        wrapped = WrappedModel(name, adapted, adapted, original)
    else:
        wrapped = WrappedModel(name, predict, scores, original)
    started = perf_counter()
    # A copy, since some models write into their input.
    answers = call_model(name, predict or adapted, data.take(np.arange(len(data))))
    known = adapted.seconds_per_row if isinstance(adapted, ComposedModel) else None
    wrapped.seconds_per_row = known or (perf_counter() - started) / len(data)
    if predict_again and not isinstance(adapted, ComposedModel):
        wrapped.contradiction = _find_contradiction(name, predict or adapted, data)
    # After the first answers, from which an adapter may learn how many classes there are.
    return wrapped, wrapped.learn_classes(answers, _read_classes(adapted, answers))


_ROWS_PREDICTED_TWICE = 16
"""Rows of data, and hybrids of them, to see that a model does not answer at random."""


def _find_contradiction(name: str, predict: Any, data: Table) -> str:
    """Return which rows get another prediction in the second of two equal calls; "" for none.

    Equal calls, since a matrix product may round a row otherwise in another batch. Hybrids are
    among the rows because a service that remembers what it has answered repeats the data's rows.
    """
    rows = np.arange(min(len(data), _ROWS_PREDICTED_TWICE))
    every_other = np.arange(len(data.names)) % 2 == 1
    # Each mixed with the first row; rows of a single column have no hybrids.
    others = rows[1:] if every_other.any() else rows[:0]
    asked = data.take(rows)
    if len(others):
        asked = asked.stack(data.splice(np.tile(every_other, (len(others), 1)), others))
    # Each call gets its own copy, since some models write into their input.
    first, second = (call_model(name, predict, asked.take(np.arange(len(asked)))) for _ in range(2))
    if count := _differing_rows(first[rows], second[rows]):
        return f"{count} of the first rows of data"
    if not len(others):
        return ""
    count = _differing_rows(first[len(rows) :], second[len(rows) :])
    return f"{count} of {len(others)} hybrids of rows of data" if count else ""


def _differing_rows(first: Values, second: Values) -> int:
    if first.shape != second.shape:
        return len(first)
    if first.dtype.kind == "f" and second.dtype.kind == "f":
        same = np.isclose(first, second, rtol=1e-6, atol=1e-9, equal_nan=True)
        return int((~same).reshape(len(first), -1).any(axis=1).sum())
    return sum(one != other for one, other in zip(first.tolist(), second.tolist(), strict=True))


def make_target(model: Any, data: Any, outcome: Any) -> Target:
    """Return a target f for a basis: any model that `Explainer` takes, with an outcome.

    `data` is a table like those that the model will predict; `outcome` is a class, `versus(…)`,
    `at_least(t)`, `at_most(t)` or `satisfies(…)`.

    >>> import pandas as pd
    >>> from suffice import at_least, make_target
    >>> data = pd.DataFrame({"income": [20, 60, 80]})
    >>> make_target(lambda rows: rows["income"] / 10, data, at_least(5)).event.text
    'prediction ≥ 5'
    """
    if needs_input(outcome):
        allowed = "a class or an event: there is no input to take it from"
        raise InputError("outcome", outcome, allowed)
    model = adapt_if_known(model)  # once, not for each table
    wrapped, answers = wrap_model(model, fitted_columns(model, as_table(data)))
    wrapped.select_columns = partial(fitted_columns, model)
    return Target(wrapped, event_for(outcome, wrapped, answers[0]))


def _read_classes(adapted: Any, answers: Values) -> tuple[Any, ...] | None:
    """Return `classes_` of a model, or of the owner of a method such as `model.predict_proba`."""
    owner = adapted.__self__ if ismethod(adapted) else adapted
    known = getattr(owner, "classes_", None)
    if known is None:
        return None
    if isinstance(known, str | bytes) or not isinstance(known, Collection | np.ndarray):
        raise ModelError(
            f"{_model_name(owner)} has classes_ that are not labels: {short_repr(known)}"
        )
    if not len(known):  # as regressors of catboost have
        return None
    if (
        owner is not adapted
        and adapted.__name__ != "predict"
        and answers.shape[1:] != (len(known),)
    ):
        return None  # the method returns something else than classes
    # As an array first: a matrix stays two-dimensional when it is ravelled.
    flat = np.asarray(known).ravel() if hasattr(known, "ravel") else known
    return tuple(map(unwrap_label, flat))


def _model_name(model: Any) -> str:
    """Return a model's name for messages; of a pipeline with the last step's."""
    steps = getattr(model, "steps", None)
    if isinstance(steps, list) and steps:
        return f"{type(model).__name__} with {_model_name(steps[-1][-1])}"
    return str(getattr(model, "__name__", type(model).__name__))
