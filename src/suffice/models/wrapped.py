"""The user's model, called as it wants to be called, and its answers read.

Nothing is planted on the model and nothing is assumed of it beyond `predict` or being callable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Sized
from typing import Any, Protocol, runtime_checkable

import numpy as np

from suffice.errors import InputError, ModelError, SufficeError, one_line, shorten
from suffice.models.outputs import named
from suffice.models.pipelines import best_labels, is_labelled
from suffice.tables.labels import as_labels, distinct, find, own
from suffice.tables.table import Table
from suffice.target import OwnScore
from suffice.typing import Values

__all__ = ["WrappedModel", "as_answers", "ask"]


@runtime_checkable
class GivesBoth(Protocol):
    """A model of ours around a user's: it knows whether one call gives labels and scores."""

    def predict_scored(self, rows: Any) -> tuple[Values, Values | None]:
        """Labels or values and, where the same call gives them, scores."""
        ...


class WrappedModel:
    """A model seen through the questions that a target asks."""

    def __init__(
        self,
        name: str,
        predict: Callable[[Any], Any],
        scores: Callable[[Any], Any] | None,
        original: Any = None,
    ) -> None:
        self.name = name
        self.classes: tuple[Any, ...] | None = None
        """The labels it can give, its own objects; None for a model that returns numbers."""
        self.original = original
        """The user's own object, for those who can read its shape. Never changed."""
        self._predict = predict
        self._scores = scores
        self._answers_to_none: Values = np.empty(0)
        self.seconds_per_row: float | None = None
        """At most this much, as told by the answers on the data; None until then."""
        self.rows_timed = 1
        """How many rows told it, in one call."""
        self.prepare: Callable[[Table], Table] | None = None
        """Turns rows of the user's kind into what the model was fitted on, where that is needed."""

    def predict(self, rows: Table) -> Values:
        """One label or value per row."""
        if not len(rows):  # which many models refuse
            return self._answers_to_none
        return self._labels(ask(self.name, self._predict, self._prepared(rows)))

    def predict_scored(
        self, rows: Table, shares: Values | None = None
    ) -> tuple[Values, Values | None]:
        """`predict`, with the scores where the same call gives both; None where it does not.

        A forest of scikit-learn predicts the class of the highest mean probability, the first of
        several (`ForestClassifier.predict`), so its probabilities tell its labels. A call costs it
        some ten milliseconds however few the rows: one is half of two, and none is needed where
        its `shares` are known.
        """
        if self._predict is self._scores:
            answers = ask(self.name, self._predict, self._prepared(rows))
            return self._labels(answers), answers if answers.ndim == 2 else None
        if isinstance(self.original, GivesBoth):
            return self.original.predict_scored(self._prepared(rows).native)
        if not _votes_by_mean(self.original):
            return self.predict(rows), None
        scores = self.scores(rows) if shares is None else shares
        return named(self.classes, scores.argmax(axis=1)), scores

    def _prepared(self, rows: Table) -> Table:
        return rows if self.prepare is None else self.prepare(rows)

    def scores(self, rows: Table) -> Values:
        """One score per row and class, in the order of `classes`."""
        wanted = len(self.classes or ())
        if not len(rows):
            return np.empty((0, wanted))
        out = ask(self.name, self._scores, self._prepared(rows)) if self._scores else None
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

    def own_scores(
        self, rows: Table, predictions: Sequence[Any], scores: Values | None = None
    ) -> list[OwnScore | None]:
        """What stands beside each prediction: `model.own_scores(row, [prediction])[0]` for one row.

        Of a number the value itself, without a call. Of a class its probability or its score, by
        one call for all the rows unless `scores` are known; None where the model has none for it.
        """
        if self.classes is None:
            return [OwnScore(float(value), "value") for value in predictions]
        try:
            # The model gets a copy to write into.
            scores = self.scores(rows.take(np.arange(len(rows)))) if scores is None else scores
        except SufficeError:  # the prediction stands without it
            return [None] * len(rows)
        return [self._own_score(row, label) for row, label in zip(scores, predictions, strict=True)]

    def _own_score(self, scores: Values, label: Any) -> OwnScore | None:
        number = find(self.classes or (), own(label))
        if number is None or not np.isfinite(scores[number]):
            return None
        share = np.all((scores >= 0) & (scores <= 1)) and abs(scores.sum() - 1) < 1e-3
        return OwnScore(float(scores[number]), "probability" if share else "score")

    def learn(self, answers: Values, listed: tuple[Any, ...] | None) -> Values:
        """The labels or values of the first answers, which tell what the model can give.

        `listed` are the classes that it names itself.
        """
        self.classes = _classes_seen(answers) if listed is None else listed
        labels = self._labels(answers)
        self._answers_to_none = labels[:0]
        if self._predict is self._scores and answers.ndim == 1:
            self._scores = None  # labels or values are all that it gives
        return labels

    def _labels(self, answers: Values) -> Values:
        """Columns of scores mean the class that scores highest; only a callable may give them."""
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
        return named(known, answers.argmax(axis=1))

    def __repr__(self) -> str:
        return self.name


def _votes_by_mean(model: Any) -> bool:
    """Is it one of the forests whose `predict` is known to be the highest of `predict_proba`?"""
    kind = type(model)  # a subclass may predict otherwise
    known = kind.__module__ == "sklearn.ensemble._forest"
    return known and kind.__name__ in ("RandomForestClassifier", "ExtraTreesClassifier")


def _classes_seen(answers: Values) -> tuple[Any, ...] | None:
    """Columns of scores are classes 0, 1, …; floats are values; anything else is labels."""
    if answers.ndim == 2:
        return tuple(range(answers.shape[1]))
    if answers.dtype.kind == "f":
        return None
    return distinct(answers if answers.dtype.kind in "mM" else answers.tolist())


def ask(name: str, function: Callable[[Any], Any], rows: Table) -> Values:
    """The model's answers for the rows: one label, value or row of scores each."""
    try:
        answers = function(rows.native)
    except SufficeError:  # an adapter has said what is wrong
        raise
    except (Exception, SystemExit) as error:  # told in the words of the user's own model
        why = one_line(error)
        raise ModelError(
            f"{name} raised {type(error).__name__} on {len(rows)} row(s)" + f": {why}" * bool(why)
        ) from error
    out = as_answers(name, answers)
    if out.ndim == 2 and out.shape[1] == 1:
        out = out[:, 0]
    if out.ndim not in (1, 2) or len(out) != len(rows) or not out.size:
        got = f"shape {out.shape}" if out.ndim else f"{type(answers).__name__}"
        raise ModelError(
            f"{name} returned {got} for {len(rows)} row(s): "
            "it must return one label, one value, or one score per class, for each row"
        )
    return _checked(name, out)


def as_answers(name: str, answers: Any) -> Values:
    """An array that keeps labels of several kinds apart: NumPy would turn 0 beside "a" into "0"."""
    try:
        if isinstance(answers, list | tuple):
            if is_labelled(answers):
                return best_labels(answers)
            answers = [own(answer) for answer in answers]
            kinds = {type(answer) for answer in answers}
            nested = any(issubclass(k, list | tuple) or hasattr(k, "__array__") for k in kinds)
            if not nested and not all(issubclass(k, int | float) for k in kinds):
                return as_labels(answers)
        return np.asarray(answers.toarray() if hasattr(answers, "toarray") else answers)
    except Exception as error:  # of a kind of array that will not become NumPy's, or a ragged list
        rows = answers if isinstance(answers, list) else []
        lengths = {len(row) for row in rows if isinstance(row, Sized)}
        if len(lengths) > 1:
            raise ModelError(
                f"{name} returned rows of different lengths, {min(lengths)} and {max(lengths)} "
                "among them: it must return as many scores for each row"
            ) from error
        raise ModelError(
            f"{name} returned {type(answers).__name__} that cannot be read: {one_line(error)}"
        ) from error


def _checked(name: str, out: Values) -> Values:
    """Labels that can be told apart, or numbers, none of them missing."""
    missing = _missing(out)
    if missing.any():
        count = int(missing.reshape(len(out), -1).any(axis=1).sum())
        raise ModelError(f"{name} returned NaN for {count} of {len(out)} rows")
    if out.dtype.kind in "biuf" or (out.ndim == 1 and out.dtype.kind in "USmM"):
        return out
    if out.dtype.kind == "O":
        kinds = set(map(type, out.ravel().tolist()))
        if all(issubclass(k, float | np.floating) for k in kinds):
            return out.astype(np.float64)
        if out.ndim == 2 and all(issubclass(k, int | float | np.number) for k in kinds):
            return out.astype(np.float64)
        if out.ndim == 1:
            for value in out if not kinds <= _USUAL else ():
                _require_hash(name, value)
            return out
    what = f"{shorten(own(out.flat[0]))} among {out.dtype} of shape {out.shape}"
    hint = "; a label that is a tuple goes into an array of objects" if out.ndim == 2 else ""
    raise ModelError(
        f"{name} returned {what}: it must return one label, one value, or one number per class, "
        f"for each row{hint}"
    )


_USUAL = {str, int, float, bool, bytes, type(None)}


def _require_hash(name: str, label: Any) -> None:
    try:
        hash(label)
    except TypeError as error:
        raise ModelError(
            f"{name} returned a label that cannot be hashed: {shorten(label)}"
        ) from error


def _missing(out: Values) -> Values:
    try:
        return np.asarray(out != out, dtype=bool)
    except Exception:  # pd.NA will not say, and a signalling NaN raises
        return np.array([find((v,), v) is None for v in out.flat]).reshape(out.shape)
