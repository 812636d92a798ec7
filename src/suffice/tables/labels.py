"""A model's labels as they are: told apart by what they equal, never by how they look.

A label may be any value that can be hashed: a date, a Decimal, a member of an enum, a tuple. What
is shown and stored of it is text (`plain`); what is compared is the label itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime
from difflib import get_close_matches
from typing import Any

import numpy as np

from suffice.errors import InputError, shorten
from suffice.tables.cells import plain, storable
from suffice.typing import BoolVector, Values
from suffice.wording import and_more, show

__all__ = [
    "are",
    "as_labels",
    "distinct",
    "find",
    "is_label",
    "lookalike",
    "not_a_class",
    "of_a_kind",
    "own",
    "say",
]


def own(label: Any) -> Any:
    """A label without NumPy's wrapping; its dates stay, since nanoseconds would become a number.

    >>> own(np.str_("own")), own(np.int64(3)), own((1, 2))
    ('own', 3, (1, 2))
    """
    if isinstance(label, np.generic) and not isinstance(label, np.datetime64 | np.timedelta64):
        return label.item()
    return label


def say(label: Any) -> str:
    """A label in words.

    >>> say("granted"), say(True), say(date(2020, 1, 1)), say(np.datetime64("2020-01-01", "ns"))
    ('granted', 'True', '2020-01-01', '2020-01-01')
    """
    if isinstance(label, date | np.datetime64):
        return show(plain(label))
    return storable(label)


def are(answers: Values, label: Any) -> BoolVector:
    """Which answers are this label?

    >>> pairs = as_labels([(1, 2), (3, 4), (1, 2)])
    >>> are(pairs, (1, 2)).tolist()
    [True, False, True]
    """
    if answers.dtype == object:
        alone = np.empty((), dtype=object)  # else NumPy would take a tuple apart
        alone[()] = label
        try:
            return np.asarray(np.equal(answers, alone), dtype=bool)
        except Exception:  # a label among them whose own == raises, or will not say
            return np.array([_same(answer, label) for answer in answers], dtype=bool)
    if answers.dtype.kind == "M":
        label = _moment(label)
    return np.asarray(answers == label, dtype=bool)


def find(classes: Sequence[Any], label: Any) -> int | None:
    """The position of a label among classes; None if it is none of them.

    >>> find(["1", 2], 2), find(["1", 2], "2"), find([date(2020, 1, 1)], "2020-01-01")
    (1, None, None)
    """
    return next((i for i, known in enumerate(classes) if _same(known, label)), None)


def distinct(answers: Iterable[Any]) -> tuple[Any, ...]:
    """The labels among answers, in order; those that have none among themselves by their names."""
    found = {own(label) for label in answers}
    try:
        return tuple(sorted(found, key=lambda c: (str(type(c)), c)))
    except TypeError:
        return tuple(sorted(found, key=lambda c: (str(type(c)), repr(c))))


def as_labels(classes: Sequence[Any]) -> Values:
    """Labels as an array to pick from, in which 0 beside "a" stays a number."""
    kinds = {type(label) for label in classes}
    if len(kinds) == 1 and kinds <= {str, int, float, bool, np.datetime64}:
        return np.asarray(list(classes))
    out = np.empty(len(classes), dtype=object)
    for i, label in enumerate(classes):  # one by one: NumPy would take tuples apart
        out[i] = label
    return out


def is_label(value: object) -> bool:
    """Can it tell one class from others: does it equal itself, and can it be hashed?

    >>> is_label("yes"), is_label((1, 2)), is_label(float("nan")), is_label(["yes"])
    (True, True, False, False)
    """
    try:
        hash(value)
    except Exception:
        return False
    return find((value,), value) is not None


def of_a_kind(label: object, classes: Sequence[Any]) -> bool:
    """Could a model that gives these labels give this one as well?

    >>> of_a_kind("dog", ["cat"]), of_a_kind(7, [1, 2]), of_a_kind("7", [1, 2])
    (True, True, False)
    """
    return is_label(label) and _kind(own(label)) in map(_kind, classes)


def lookalike(label: object, classes: Sequence[Any]) -> list[Any]:
    """The classes that look like this label, which is none of them.

    >>> lookalike("2020-01-01", [date(2020, 1, 1), date(2021, 1, 1)])
    [datetime.date(2020, 1, 1)]
    """
    if find(classes, label) is not None:
        return []
    shown = storable(own(label))
    return [known for known in classes if shown in (str(known), say(known))]


def not_a_class(argument: str, label: object, classes: Sequence[Any]) -> InputError:
    """The error for a label that the model does not have: what it has, and what may be meant."""
    known = and_more([shorten(c) for c in classes])
    meant = lookalike(label, classes)
    texts = [c for c in classes if isinstance(c, str)]
    close = get_close_matches(label, texts, n=1) if isinstance(label, str) else []
    hint = ""
    if meant:
        hint = f"{shorten(label)} only looks like the model's own label: pass {shorten(meant[0])}."
    elif close:
        hint = f"Did you mean {shorten(close[0])}?"
    allowed = f"one of the model's classes: {known}"
    return InputError(argument, f"unknown class {shorten(label)}", allowed, hint)


def _kind(label: Any) -> type:
    """Whole numbers and floats are of a kind; a truth value is no number here."""
    return float if isinstance(label, int | float) and not isinstance(label, bool) else type(label)


def _same(known: Any, label: Any) -> bool:
    if isinstance(known, np.datetime64):
        label = _moment(label)
    try:
        equal = known == label
        return isinstance(equal, bool | np.bool_) and bool(equal)  # not an array of one
    except Exception:  # pd.NA, an array, a signalling NaN, a label whose == raises
        return False


def _moment(label: Any) -> Any:
    """A date of Python's as NumPy compares it; anything else as it is."""
    zone = label.tzinfo if isinstance(label, datetime) else None
    return np.datetime64(label) if isinstance(label, date) and zone is None else label
