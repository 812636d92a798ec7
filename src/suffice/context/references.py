"""Choosing the references: the rows whose values the input is contrasted with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from suffice.checks import choice, ran
from suffice.errors import InputError
from suffice.tables import Table, column_codes, is_frame
from suffice.tables.frames import as_table
from suffice.typing import BoolVector, Counts
from suffice.wording import and_more, listed

__all__ = ["canonical_order", "choose_references", "with_columns_of"]

ReferenceSpec = Any
"""'opposite', 'all', a mask over the rows of data, a frame, or a callable (data, x) -> those."""

_OTHERS = "a mask over the rows of data, a frame of rows, or a callable"


def choose_references(
    spec: ReferenceSpec,
    data: Table,
    row: Table,
    is_opposite: Callable[[], BoolVector],
    n: int | None,
    seed: int,
    like_data: Callable[[Table], Table] = lambda table: table,
) -> Table:
    """Pick the references for one input, in an order that does not depend on the data's.

    `n` is the most that are used: a seeded sample without replacement where there are more.
    `like_data` turns a table of the user's kind into what the data was turned into.
    """
    if callable(spec):
        spec = ran("references", spec, "a function (data, x) -> rows", data.native, row.native)
    rows = _chosen(spec, data, is_opposite, like_data)
    order = canonical_order(rows)
    if n is not None and n < len(rows):
        # Sampled from the canonical order: the same rows however the data was sorted.
        drawn = np.random.default_rng(seed).choice(len(rows), size=n, replace=False)
        order = order[np.sort(drawn)]
    return rows.take(order)


def canonical_order(table: Table) -> Counts:
    """Positions that sort the rows by their values, whatever the order of rows and columns.

    As many columns as fit are one number, made small again as in `joint_codes`. Of hundreds of
    columns a few tell all rows apart, and the others need not be looked at.
    """
    key, room = np.zeros(len(table), dtype=np.int64), 1
    for j in np.argsort(np.array(table.names)).tolist():
        codes = column_codes(table.column(j))
        size = int(codes.max()) + 1
        if room * size >= 2**62:
            key = column_codes(key)
            room = int(key.max()) + 1
            if room == len(table):
                break
        key, room = key * size + codes, room * size
    return np.argsort(key, kind="stable")


def _chosen(
    spec: ReferenceSpec,
    data: Table,
    is_opposite: Callable[[], BoolVector],
    like_data: Callable[[Table], Table],
) -> Table:
    if isinstance(spec, str):
        if choice("references", spec, ("opposite", "all"), also=_OTHERS) == "all":
            return data
        hint = (
            "Pass data that holds such rows, other references ('all', a frame, a mask), or an "
            "outcome that the model does not give to every row."
        )
        return _masked(data, is_opposite(), "predicted otherwise than the input", hint)
    mask = _as_mask(spec)
    if mask is not None:
        if len(mask) != len(data):
            raise InputError(
                "references",
                f"a mask of {len(mask)} truth values",
                f"one for each of the {len(data)} rows of data",
            )
        return _masked(data, mask, "chosen by the mask", "It is False for every row.")
    if not is_frame(spec) and _dimensions(spec) != 2:
        raise InputError("references", spec, f"'opposite', 'all' or {_OTHERS}")
    rows = as_table(spec, names=data.names, argument="references")
    return with_columns_of(data, like_data(rows), "references")


def _as_mask(spec: ReferenceSpec) -> BoolVector | None:
    """Truth values in a list, a series or an array; None for anything else."""
    if is_frame(spec) or _dimensions(spec) != 1:
        return None
    values = np.asarray(spec)
    if values.dtype == bool or set(map(type, values.tolist())) == {bool}:
        return values.astype(bool)
    return None


def _dimensions(spec: ReferenceSpec) -> int:
    try:
        return np.ndim(spec)
    except ValueError:  # ragged lists, of which `as_table` tells what is wrong
        return 2


def _masked(data: Table, mask: BoolVector, wording: str, hint: str) -> Table:
    if not mask.any():
        got = f"none: no row of data is {wording}"
        raise InputError("references", got, "at least one reference", hint)
    return data.take(np.flatnonzero(mask))


def with_columns_of(data: Table, given: Table, argument: str) -> Table:
    """The columns of `data` from another table, which must be of its kind and dtypes."""
    lacking = [name for name in data.names if name not in given.names]
    if lacking:
        got = f"no column {listed(map(repr, lacking[:12]), 'or')}"
        raise InputError(argument, got, f"every column of data: {and_more(data.names)}")
    if not data.same_kind(given):
        raise InputError(argument, _kind(given), f"the same kind as data, {_kind(data)}")
    chosen = given.select([given.names.index(name) for name in data.names]).labelled_like(data)
    for j, name in enumerate(data.names):
        if not data.same_dtype(j, chosen):
            raise InputError(
                argument,
                f"column {name!r} of dtype {chosen.dtype(j)}",
                f"the dtype it has in data, {data.dtype(j)}",
            )
    return chosen


def _kind(table: Table) -> str:
    kind = type(table.native)
    return f"a {kind.__module__.partition('.')[0]} {kind.__name__}"
