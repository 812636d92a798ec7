"""Cells and class labels: how they are shown, stored and compared; missing and unknown ones.

Cells get numbers that are equal exactly where no model can distinguish two of them. So 0.0 is not
-0.0, 1 is not True, and 1.0 is not 1 where a column holds both. All missing values are equal.
Larger values have larger numbers, missing ones the largest.

Rows of such numbers get one number each. Equal rows are found by a hash table, since a sort takes
six times as long.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from difflib import get_close_matches
from math import isfinite
from typing import Any

import numpy as np

from suffice.errors import InputError, short_repr
from suffice.formatting import format_value, join_first
from suffice.typing import BoolVector, Counts, Scalar, Values

_EXACT_EQUALITY_TYPES = frozenset({str, np.str_, int, bool, bytes, date})
"""Types whose equal values are the same value. Not floats (0.0 equals -0.0), Decimals (1.0 equals
1.00) or points in time (one instant in two time zones)."""
MAX_EXACT_INTEGER = 2**53
"""Integers up to this are exact as float64, where a missing value can be NaN."""

_ORDERED_TYPES = (int, float, np.floating, Decimal), (datetime,), (time,), (timedelta,)
"""Values of these types have an order among themselves."""


def as_scalar(value: Any) -> Scalar:
    r"""Return a cell as it is shown and stored: a plain Python value, missing as None.

    >>> (as_scalar(np.float64(2.0)), as_scalar(float("nan")),
    ...  as_scalar(np.str_("own")), as_scalar([1, 2]))
    (2.0, None, 'own', '[1, 2]')
    """
    if isinstance(value, np.datetime64 | np.timedelta64 | date | timedelta):
        return _datetime_text(value)
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, str):
        return utf8_text(value)
    if isinstance(value, bool | int):
        return value
    if is_missing(value):
        return None
    if isinstance(value, float):
        return value if isfinite(value) else str(value)
    return utf8_text(value.tolist() if isinstance(value, np.ndarray) else value)


def matches_text(cell: object, written: str) -> bool:
    """Return whether a cell equals a value that a user wrote, as a text, number or Boolean.

    >>> (matches_text(3.0, "3"), matches_text("north", "north"),
    ...  matches_text(True, "true"), matches_text(None, ""))
    (True, True, True, True)
    """
    value = as_scalar(cell)
    if value is None:
        return written == ""
    if isinstance(value, bool):
        return str(value).lower() == written.lower()
    if isinstance(value, int | float):
        try:
            return float(written) == value
        except ValueError:
            return False
    return value == written


def utf8_text(given: object) -> str:
    r"""Return text with lone surrogates, which UTF-8 cannot hold, written as escapes.

    >>> utf8_text("a\ud800b"), utf8_text(1)
    ('a\\ud800b', '1')
    """
    try:
        text = str(given)
    except Exception:  # an object whose repr raises
        text = object.__repr__(given)
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def is_missing(value: Any) -> bool:
    """Return whether a cell is None, NaN, NaT, pandas' NA or a Decimal NaN.

    >>> is_missing(None), is_missing(Decimal("sNaN")), is_missing(""), is_missing([None])
    (True, True, False, False)
    """
    if value is None:
        return True
    if isinstance(value, str | bytes | bool | int):
        return False
    if isinstance(value, Decimal):  # a signalling one raises when it is compared
        return value.is_nan()
    if isinstance(value, float):
        return value != value
    import pandas as pd

    found = pd.isna(value)
    return isinstance(found, bool | np.bool_) and bool(found)


def missing_mask(values: Values) -> BoolVector:
    """Return which cells of an array are None, NaN or another missing value."""
    import pandas as pd

    return np.asarray(pd.isna(values), dtype=bool)


def object_array(cells: Sequence[Any]) -> Values:
    """Return cells as an array of objects, without taking lists apart as NumPy would."""
    return np.fromiter(cells, dtype=object, count=len(cells))


def _datetime_text(value: Any) -> str | None:
    """Return a date in ISO format or a duration as text; None for anything else."""
    import pandas as pd

    try:
        if isinstance(value, np.datetime64):
            value = pd.Timestamp(value)
        elif isinstance(value, np.timedelta64 | timedelta):
            value = pd.Timedelta(value)
    except (ValueError, OverflowError):  # a year beyond what pandas can count
        return str(value)
    if value is pd.NaT:
        return None
    return str(value.isoformat() if isinstance(value, date) else value)


def column_codes(values: Values) -> Counts:
    """Number the distinct values so that order is kept; missing values are equal to each other.

    >>> column_codes(np.array(["b", "a", "b"])).tolist()
    [1, 0, 1]
    >>> column_codes(np.array([0.0, -0.0, np.nan, 7.0, np.nan])).tolist()
    [1, 0, 3, 2, 3]
    """
    array = np.asarray(values)
    if array.dtype.kind not in "biufmM" or array.dtype.itemsize > 8:
        return _object_codes(array.tolist())
    import pandas as pd

    # A hash table, and a sort of what is distinct: sorting all takes six times as long.
    codes, distinct = pd.factorize(array, use_na_sentinel=False)
    order = np.argsort(distinct, kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    found = np.asarray(rank[codes])
    return _split_signed_zeros(array, found) if array.dtype.kind == "f" else found


def _split_signed_zeros(values: Values, codes: Counts) -> Counts:
    """Give 0.0 and -0.0, which are equal, different codes where both occur."""
    if np.count_nonzero(values) == len(values):
        return codes
    zero = values == 0
    negative = zero & np.signbit(values)
    if not negative.any() or (negative == zero).all():
        return codes
    return np.asarray(codes + ((codes >= codes[zero.argmax()]) & ~negative))


def _object_codes(cells: list[Any]) -> Counts:
    """Number objects by a dictionary: strings cache their hash, and few are distinct."""
    kinds = set(map(type, cells))
    if not (len(kinds) == 1 and kinds <= _EXACT_EQUALITY_TYPES):
        cells = [None if is_missing(cell) else cell for cell in cells]
        kinds = set(map(type, cells)) - {type(None)}
        if kinds and kinds <= {float, np.float64}:
            return column_codes(np.array(cells, dtype=float))
        if not (len(kinds) == 1 and kinds <= _EXACT_EQUALITY_TYPES):
            return _mixed_codes(cells)
    distinct = set(cells)
    ordered = [*sorted(distinct - {None}), None] if None in distinct else sorted(distinct)
    number = dict(zip(ordered, range(len(ordered)), strict=True))
    return np.fromiter(map(number.__getitem__, cells), np.int64, len(cells))


def _mixed_codes(cells: list[Any]) -> Counts:
    """Number cells of mixed types, or of types whose equal values may look different."""
    keys = [None if cell is None else (_cell_identity(cell), _hash_key(cell)) for cell in cells]
    distinct = {key: cell for key, cell in zip(keys, cells, strict=True) if key is not None}
    order = sorted(distinct, key=lambda key: key[0])
    if any(all(isinstance(c, kind) for c in distinct.values()) for kind in _ORDERED_TYPES):
        with suppress(TypeError):  # times with a zone and times without have no order
            order = sorted(order, key=distinct.__getitem__)
    number: dict[Hashable, int] = {key: i for i, key in enumerate(order)} | {None: len(order)}
    return np.fromiter(map(number.__getitem__, keys), np.int64, len(keys))


def _cell_identity(cell: Any) -> str:
    """Return a text that identifies a cell; containers by all they hold, uncut."""
    if isinstance(cell, np.generic) and cell.dtype.kind in "biufU":
        cell = cell.item()
    kind = type(cell).__name__
    if isinstance(cell, dict):
        return f"{kind} {[(_cell_identity(k), _cell_identity(v)) for k, v in cell.items()]}"
    if isinstance(cell, set | frozenset):
        return f"{kind} {sorted(map(_cell_identity, cell))}"
    if isinstance(cell, np.ndarray):
        return f"{kind} {cell.dtype} {cell.shape} {_cell_identity(cell.tolist())}"
    if isinstance(cell, list | tuple):
        return f"{kind} {[_cell_identity(c) for c in cell]}"
    try:
        return f"{kind} {cell!r}"
    except Exception:  # a repr of the user's own that raises
        return f"{kind} {object.__repr__(cell)}"


def _hash_key(cell: Any) -> Hashable:
    """Return a cell and its identity as a dictionary key; None if it cannot be hashed."""
    try:
        hash(cell)
    except TypeError:
        return None
    return None if isinstance(cell, tuple | frozenset) else cell  # (1,) equals (True,)


def distinct_keys(keys: Counts) -> tuple[Counts, Counts]:
    """Number the distinct keys in order of appearance; also where each appears first.

    >>> [array.tolist() for array in distinct_keys(np.array([7, 5, 7, 5, 9]))]
    [[0, 1, 0, 1, 2], [0, 1, 4]]
    """
    import pandas as pd

    identity, distinct = pd.factorize(keys)
    first = np.empty(len(distinct), dtype=np.int64)
    first[identity[::-1]] = np.arange(len(keys) - 1, -1, -1)
    return identity, first


def distinct_rows(codes: Counts) -> tuple[Counts, Counts]:
    """Number the distinct rows of integers >= 0 in order of appearance."""
    return distinct_keys(joint_codes(codes.T, len(codes)))


def joint_codes(columns: Iterable[Counts], rows: int, *, ordered: bool = False) -> Counts:
    """Return one integer per row, equal exactly where rows of integers are equal.

    With `ordered`, larger rows have larger integers, compared by the first column first.

    Columns are the digits of a mixed-radix number. Before it would exceed int64 it is replaced by
    the number of its value among all rows' (at most `rows`). Where all rows differ by then, the
    other columns are not read: of hundreds, the first few often suffice.
    """
    import pandas as pd

    key, room = np.zeros(rows, dtype=np.int64), 1
    for column in columns:
        digits = column - column.min(initial=0)
        size = int(digits.max(initial=0)) + 1
        if room * size >= 2**62:
            renumber = column_codes if ordered else lambda part: pd.factorize(part)[0]
            key, digits = (np.asarray(renumber(part), dtype=np.int64) for part in (key, digits))
            size, room = (int(part.max(initial=0)) + 1 for part in (digits, key))
            if room == rows:
                break
        key, room = key * size + digits, room * size
    return key


# Class labels: comparing, finding and showing labels of any hashable type.
#
# A label may be any value that can be hashed: a date, a Decimal, a member of an enum, a tuple. What
# is shown and stored of it is text (`as_scalar`); what is compared is the label itself.


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
        except Exception:  # the == of some label raises, or returns no Boolean
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


def labels_at(classes: Any, numbers: Any) -> Values:
    """Return the labels with these positions among the classes."""
    return np.asarray(label_array(classes)[numbers])
