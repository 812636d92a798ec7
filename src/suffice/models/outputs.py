"""Calls a user's model, checks its answers, reads them as labels, class numbers, values or scores.

Nothing is guessed. One number per row stays a number: whether it is a probability or a logit, and
so which threshold separates two classes, only the user knows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from suffice.errors import InputError, ModelError, SufficeError, one_line, short_repr
from suffice.formatting import plural
from suffice.tables.cells import label_array, label_index, labels_at, unwrap_label
from suffice.tables.table import Table
from suffice.typing import Values


class OutputReader:
    """Reads a model's raw outputs as labels and scores; learns their width from the first ones."""

    def __init__(
        self,
        name: str,
        classes: tuple[Any, ...] | None = None,
        threshold: float | None = None,
        width: int | None = None,
        probability: bool = False,
    ) -> None:
        if threshold is not None and (classes is None or len(classes) != 2):
            raise InputError(
                "threshold",
                threshold,
                "a threshold between two classes",
                "Name them: classes=(below or equal, above).",
            )
        self.name = name
        self.threshold = threshold
        self.width = width
        """Outputs per row; None until the first prediction."""
        self._classes = classes
        self._probability = probability

    @property
    def classes(self) -> tuple[Any, ...] | None:
        """Labels in the order of the scores; None for numbers, and while they are unknown."""
        if self._classes is not None or self.width is None or self.width == 1:
            return self._classes
        return tuple(range(self.width))

    def labels(self, raw: Any, rows: int) -> Values:
        """Return one label per row, or one number where there are no classes."""
        out = self._check(raw, rows)
        if out.ndim == 2:
            return labels_at(self.classes, out.argmax(axis=1))
        if self._classes is None:
            return out
        # Floats that are all class numbers mean classes: with two classes the usual thresholds, 0
        # and 0.5, would give the same labels.
        numbers = out.dtype.kind in "iub" or len(self._classes) > 2
        if numbers or self._are_class_numbers(out):
            return labels_at(self._classes, self._numbers_of_classes(out))
        return labels_at(self._classes, (out > self._require_threshold()).astype(int))

    def scores(self, raw: Any, rows: int) -> Values:
        """Return (rows, classes): scores; for one number, its distance below and above."""
        out = self._check(raw, rows)
        if out.ndim == 2:
            return out
        if self._classes is None or out.dtype.kind in "iub" or len(self._classes) != 2:
            raise no_scores_error(self.name)
        threshold = self._require_threshold()
        if self._probability and threshold == 0.5:
            return np.stack([1 - out, out], axis=1)
        above = out - threshold
        return np.stack([-above, above], axis=1)

    def _check(self, raw: Any, rows: int) -> Values:
        out = np.asarray(raw)
        shape = out.shape
        if out.ndim == 2 and out.shape[1] == 1:
            out = out[:, 0]
        wide = out.shape[1] if out.ndim == 2 else 1
        widths = self._widths(out.dtype.kind in "iub" or self._are_class_numbers(out))
        fits = out.ndim in (1, 2) and len(out) == rows and wide > 0
        if not fits or (widths and wide not in widths):
            raise ModelError(
                f"{self.name} returned shape {shape} for {plural(rows, 'row')}; "
                f"expected {_expected_shape(rows, widths)}"
            )
        if wide > 1 and self.threshold is not None:
            raise InputError(
                "threshold",
                self.threshold,
                f"None for {self.name}, which gives {wide} scores per row",
                "The class that scores highest is the label.",
            )
        if out.dtype.kind == "f" and np.isnan(out).any():
            bad = int(np.isnan(out).reshape(rows, -1).any(axis=1).sum())
            raise ModelError(f"{self.name} returned NaN for {bad} of {rows} rows")
        self.width = wide
        return out

    def _widths(self, whole: bool) -> tuple[int, ...]:
        """Return the allowed numbers of outputs per row; none: any number."""
        if self.width is not None:
            return (self.width,)
        if self._classes is None:
            return ()
        count = len(self._classes)
        return (1, count) if count == 2 or whole else (count,)

    def _are_class_numbers(self, out: Values) -> bool:
        """Return whether floats are all class numbers, and no threshold was given."""
        if self._classes is None or self.threshold is not None:
            return False
        if out.ndim != 1 or out.dtype.kind != "f":
            return False
        return bool(np.isin(out, np.arange(len(self._classes))).all())

    def _numbers_of_classes(self, out: Values) -> Values:
        count = len(self._classes or ())
        bad = out[~np.isin(out, np.arange(count))]
        if bad.size:
            raise ModelError(f"{self.name} returned class number {bad[0]}, but there are {count}")
        return out.astype(np.int64)

    def _require_threshold(self) -> float:
        if self.threshold is None:
            raise InputError(
                "threshold",
                None,
                f"a number, since {self.name} gives one number per row for two classes",
                "Give 0.0 if it is a logit, 0.5 if it is a probability.",
            )
        return self.threshold


def _expected_shape(rows: int, widths: tuple[int, ...]) -> str:
    if not widths:
        return f"({rows},) or ({rows}, 1), a number each, or ({rows}, k), a score for each class"
    texts = [
        f"({rows},) or ({rows}, 1)" if k == 1 else f"({rows}, {k}), a score for each of {k} classes"
        for k in widths
    ]
    return ", or ".join(texts)


def no_scores_error(name: str) -> SufficeError:
    """Return the error for a model without scores where scores are needed."""
    return InputError(
        "model",
        f"{name}, which gives no score per class",
        "a model that does",
        "A number is read with outcome=at_least(t), or as two classes with "
        "suffice.adapt(model, classes=(no, yes), threshold=t).",
    )


def is_label_scores(answers: Any) -> bool:
    """Return whether answers are {"label": …, "score": …} per row, or lists of them."""
    if not isinstance(answers, list) or not answers:
        return False
    first = answers[0]
    if isinstance(first, list) and first:
        first = first[0]
    return isinstance(first, Mapping) and {"label", "score"} <= first.keys()


def best_labels(answers: Any, classes: Sequence[Any] | None = None, name: str = "") -> Values:
    """Return the label with the highest score for each row; the first of equal ones."""
    best = [max(_as_list(row), key=lambda pair: pair["score"])["label"] for row in answers]
    check_known_labels(best, classes, name)
    return label_array(best)


def check_known_labels(labels: Sequence[Any], classes: Sequence[Any] | None, name: str) -> None:
    """Raise for a label that is not among the classes that the user named."""
    unknown = [] if classes is None else [label for label in labels if label not in classes]
    if unknown:
        raise _unknown_label_error(unknown[0], classes, name)


def score_table(answers: Any, classes: Sequence[Any] | None, name: str = "") -> Values:
    """Return (rows, classes): scores from answers that list every label."""
    tables = [{pair["label"]: pair["score"] for pair in _as_list(row)} for row in answers]
    order = sorted(tables[0]) if classes is None else list(classes)
    for table in tables:
        unknown = [label for label in table if label not in order]
        if unknown:
            raise _unknown_label_error(unknown[0], order, name)
        if len(table) != len(order) or len(order) < 2:
            raise InputError(
                "model",
                f"{name}, which scores {len(table)} of {max(len(order), 2)} labels",
                "a score for every label",
                "Pipelines of transformers give them with top_k=None.",
            )
    return np.array([[table[label] for label in order] for table in tables], dtype=np.float64)


def _as_list(row: Any) -> list[Any]:
    return row if isinstance(row, list) else [row]


def _unknown_label_error(label: object, classes: Any, name: str) -> ModelError:
    return ModelError(
        f"{name} returned label {short_repr(unwrap_label(label))}, not one of {list(classes)}"
    )


class RowCounter:
    """Counts the rows that users' models are asked about within `counting` blocks.

    Searches count their own rows. This is for what an explainer asks before a search.
    """

    def __init__(self) -> None:
        self._rows = 0

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Count the rows of every call in this block, made by this thread."""
        with _use_counter(self):
            yield

    def add(self, rows: int) -> None:
        """Count so many rows."""
        self._rows += rows

    def take(self) -> int:
        """Return the rows counted since the last call of this, so that none is reported twice."""
        rows, self._rows = self._rows, 0
        return rows


_row_counter: ContextVar[RowCounter | None] = ContextVar("row_counter", default=None)


@contextmanager
def _use_counter(counter: RowCounter | None) -> Iterator[None]:
    token = _row_counter.set(counter)
    try:
        yield
    finally:
        _row_counter.reset(token)


def call_user_model(
    name: str, function: Callable[[Any], Any], batch: Any, about: str = "", hint: str = ""
) -> Any:
    """Return the model's answers for a batch; an exception of the model becomes a `ModelError`.

    `about` names the batch in the message; by default its number of rows does. Errors of this
    package pass unchanged: an adapter raised them with a message of its own.
    """
    counter = _row_counter.get()
    if counter is not None:
        counter.add(len(batch))
    try:
        # The model may be one of ours around the user's own: each row counts once.
        with _use_counter(None):
            return function(batch)
    except SufficeError:
        raise
    except (Exception, SystemExit) as error:
        why, about = one_line(error), about or plural(len(batch), "row")
        raise ModelError(
            f"{name} raised {type(error).__name__} on {about}" + f": {why}" * bool(why) + hint
        ) from error


def call_model(name: str, function: Callable[[Any], Any], rows: Table) -> Values:
    """Return the model's checked answers: a label, a value or scores per class for each row."""
    answers = call_user_model(name, function, rows.native)
    if _is_reordered(answers, rows.native):
        raise ModelError(
            f"{name} returned its answers in another order than the rows, as their index shows: "
            "it must return them in the order of the rows"
        )
    out = answer_array(name, answers)
    if out.ndim == 2 and out.shape[1] == 1:
        out = out[:, 0]
    if out.ndim not in (1, 2) or len(out) != len(rows) or not out.size:
        got = f"shape {out.shape}" if out.ndim else f"{type(answers).__name__}"
        raise ModelError(
            f"{name} returned {got} for {plural(len(rows), 'row')}: "
            "it must return one label, one value, or one score per class, for each row"
        )
    return _check_answers(name, out)


def _is_reordered(answers: Any, rows: Any) -> bool:
    """Return whether answers have the rows' index in another order; a default index counts rows."""
    index: Any = getattr(answers, "index", None)
    given: Any = getattr(rows, "index", None)
    if not (hasattr(index, "equals") and hasattr(given, "equals")) or len(index) != len(given):
        return False
    if index.equals(given) or list(index) == list(range(len(index))):
        return False
    return set(index) == set(given)


def answer_array(name: str, answers: Any) -> Values:
    """Return answers as an array, mixed labels as objects: NumPy would turn 0 beside "a" to "0"."""
    try:
        if isinstance(answers, list | tuple):
            if is_label_scores(answers):
                return best_labels(answers)
            answers = [unwrap_label(answer) for answer in answers]
            kinds = {type(answer) for answer in answers}
            nested = any(issubclass(k, list | tuple) or hasattr(k, "__array__") for k in kinds)
            if not nested and not all(issubclass(k, int | float) for k in kinds):
                return label_array(answers)
        return np.asarray(answers.toarray() if hasattr(answers, "toarray") else answers)
    except Exception as error:  # an array type that NumPy cannot read, or a ragged list
        rows = answers if isinstance(answers, list) else []
        lengths = {len(row) for row in rows if isinstance(row, Sized)}
        if len(lengths) > 1:
            raise ModelError(
                f"{name} returned rows of different lengths, from {min(lengths)} to "
                f"{max(lengths)}: it must return as many scores for each row"
            ) from error
        raise ModelError(
            f"{name} returned {type(answers).__name__} that cannot be read: {one_line(error)}"
        ) from error


def _check_answers(name: str, out: Values) -> Values:
    """Return answers that are numbers or hashable labels; an error for others and for NaN."""
    missing = _missing_answers(out)
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
            for value in out if not kinds <= _BUILTIN_LABEL_TYPES else ():
                _require_hash(name, value)
            return out
    what = f"{short_repr(unwrap_label(out.flat[0]))} among {out.dtype} of shape {out.shape}"
    hint = "; a label that is a tuple goes into an array of objects" if out.ndim == 2 else ""
    raise ModelError(
        f"{name} returned {what}: it must return one label, one value, or one number per class, "
        f"for each row{hint}"
    )


_BUILTIN_LABEL_TYPES = {str, int, float, bool, bytes, type(None)}


def _require_hash(name: str, label: Any) -> None:
    try:
        hash(label)
    except TypeError as error:
        raise ModelError(
            f"{name} returned a label that cannot be hashed: {short_repr(label)}"
        ) from error


def _missing_answers(out: Values) -> Values:
    try:
        return np.asarray(out != out, dtype=bool)
    except Exception:  # the comparison of pd.NA or of a signalling NaN raises
        return np.array([label_index((v,), v) is None for v in out.flat]).reshape(out.shape)
