"""Class labels: comparing, finding and showing labels of any hashable type.

A label may be any value that can be hashed: a date, a Decimal, a member of an enum, a tuple. What
is shown and stored of it is text (`as_scalar`); what is compared is the label itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime
from difflib import get_close_matches
from typing import Any

import numpy as np

from suffice.errors import InputError, short_repr
from suffice.formatting import format_value, join_first
from suffice.tables.cells import as_scalar, object_array, utf8_text
from suffice.typing import BoolVector, Values


def unwrap_label(label: Any) -> Any:
    """Return a label as a Python object; dates stay NumPy's, whose nanoseconds would be lost.

    >>> unwrap_label(np.str_("own")), unwrap_label(np.int64(3)), unwrap_label((1, 2))
    ('own', 3, (1, 2))
    """
    if isinstance(label, np.generic) and not isinstance(label, np.datetime64 | np.timedelta64):
        return label.item()
    return label


def label_text(label: Any) -> str:
    """Return a label as text.

    >>> (label_text("granted"), label_text(True), label_text(date(2020, 1, 1)),
    ...  label_text(np.datetime64("2020-01-01", "ns")))
    ('granted', 'True', '2020-01-01', '2020-01-01')
    """
    if isinstance(label, date | np.datetime64):
        return format_value(as_scalar(label))
    return utf8_text(label)


def equals_label(answers: Values, label: Any) -> BoolVector:
    """Return a mask of the predictions that equal a label.

    >>> pairs = label_array([(1, 2), (3, 4), (1, 2)])
    >>> equals_label(pairs, (1, 2)).tolist()
    [True, False, True]
    """
    if answers.dtype == object:
        alone = np.empty((), dtype=object)  # else NumPy would take a tuple apart
        alone[()] = label
        try:
            return np.asarray(np.equal(answers, alone), dtype=bool)
        except Exception:  # a label among them whose own == raises, or will not say
            return np.array([_label_equals(answer, label) for answer in answers], dtype=bool)
    if answers.dtype.kind == "M":
        label = _to_datetime64(label)
    return np.asarray(answers == label, dtype=bool)


def label_index(classes: Sequence[Any], label: Any) -> int | None:
    """Return the position of a label among classes; None if it is none of them.

    >>> (label_index(["1", 2], 2), label_index(["1", 2], "2"),
    ...  label_index([date(2020, 1, 1)], "2020-01-01"))
    (1, None, None)
    """
    return next((i for i, known in enumerate(classes) if _label_equals(known, label)), None)


def distinct_labels(answers: Iterable[Any]) -> tuple[Any, ...]:
    """Return the distinct labels, sorted by type, then by value or, failing that, by repr."""
    found = {unwrap_label(label) for label in answers}
    try:
        return tuple(sorted(found, key=lambda c: (str(type(c)), c)))
    except TypeError:
        return tuple(sorted(found, key=lambda c: (str(type(c)), repr(c))))


def label_array(classes: Sequence[Any]) -> Values:
    """Return labels as an array, of objects if types are mixed: 0 beside "a" stays a number."""
    kinds = {type(label) for label in classes}
    if len(kinds) == 1 and kinds <= {str, int, float, bool, np.datetime64}:
        return np.asarray(list(classes))
    return object_array(classes)


def is_label(value: object) -> bool:
    """Return whether a value can be a class label: hashable and equal to itself.

    >>> is_label("yes"), is_label((1, 2)), is_label(float("nan")), is_label(["yes"])
    (True, True, False, False)
    """
    try:
        hash(value)
    except Exception:
        return False
    return label_index((value,), value) is not None


def is_plausible_label(label: object, classes: Sequence[Any]) -> bool:
    """Return whether a label has the type of one of the model's labels.

    >>> (is_plausible_label("dog", ["cat"]),
    ...  is_plausible_label(7, [1, 2]), is_plausible_label("7", [1, 2]))
    (True, True, False)
    """
    return is_label(label) and _label_type(unwrap_label(label)) in map(_label_type, classes)


def lookalike_labels(label: object, classes: Sequence[Any]) -> list[Any]:
    """Return the classes that have the same text as a label that is none of them.

    >>> lookalike_labels("2020-01-01", [date(2020, 1, 1), date(2021, 1, 1)])
    [datetime.date(2020, 1, 1)]
    """
    if label_index(classes, label) is not None:
        return []
    shown = utf8_text(unwrap_label(label))
    return [known for known in classes if shown in (str(known), label_text(known))]


def unknown_class_error(argument: str, label: object, classes: Sequence[Any]) -> InputError:
    """Return the error for an unknown label, with the model's classes and a suggestion."""
    known = join_first([short_repr(c) for c in classes])
    meant = lookalike_labels(label, classes)
    texts = [c for c in classes if isinstance(c, str)]
    close = get_close_matches(label, texts, n=1) if isinstance(label, str) else []
    hint = ""
    if meant:
        hint = (
            f"{short_repr(label)} only looks like the model's own label: pass "
            f"{short_repr(meant[0])}."
        )
    elif close:
        hint = f"Did you mean {short_repr(close[0])}?"
    allowed = f"one of the model's classes: {known}"
    return InputError(argument, f"unknown class {short_repr(label)}", allowed, hint)


def _label_type(label: Any) -> type:
    """Return a label's type; integers count as floats, Booleans do not."""
    return float if isinstance(label, int | float) and not isinstance(label, bool) else type(label)


def _label_equals(known: Any, label: Any) -> bool:
    if isinstance(known, np.datetime64):
        label = _to_datetime64(label)
    try:
        equal = known == label
        return isinstance(equal, bool | np.bool_) and bool(equal)  # not an array of one
    except Exception:  # pd.NA, an array, a signalling NaN, a label whose == raises
        return False


def _to_datetime64(label: Any) -> Any:
    """Return a Python date as datetime64, for comparisons; anything else unchanged."""
    zone = label.tzinfo if isinstance(label, datetime) else None
    return np.datetime64(label) if isinstance(label, date) and zone is None else label
