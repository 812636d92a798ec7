"""The values of a node: what the data say they are, and what they may be set to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from suffice.errors import InputError, did_you_mean, shorten
from suffice.tables import Table, column_codes
from suffice.tables.cells import distinct_rows
from suffice.typing import BoolVector, Counts, Values
from suffice.wording import and_more

__all__ = [
    "Domain",
    "Labels",
    "NodeData",
    "as_values",
    "boxed",
    "differs",
    "distinct_values",
    "is_missing",
    "per_distinct",
    "read_columns",
    "shown",
    "truths_like",
]

LARGEST = 1e150
"""Squares of larger numbers overflow, and least squares with them."""


class Labels:
    """The categories of a node, sorted; values are compared with them as plain labels."""

    def __init__(self, values: Values) -> None:
        self.values = as_values(values)
        if self.values.dtype == object:  # 1 and True are told apart by their cells, not as labels
            with suppress(TypeError):  # lists and the like, which `codes` refuses
                self.values = boxed(list(dict.fromkeys(self.values)))

    @cached_property
    def _index(self) -> Any:
        import pandas as pd

        return pd.Index(list(self.values), dtype=object)

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return f"Labels({shorten(self.values.tolist())})"

    def codes(self, values: Values, node: str, argument: str) -> Counts:
        """Number each value by its label; an error for one that was never seen."""
        import pandas as pd

        try:
            found = self._index.get_indexer(pd.Index(values, dtype=object))
        except Exception as error:  # lists and the like, whose comparison may raise anything
            got = f"{node} = {shorten(values[0])}"
            raise InputError(argument, got, "text, numbers, dates or truth values") from error
        codes = np.asarray(found, dtype=np.int64)
        if (codes < 0).any():
            stranger = values[np.argmax(codes < 0)]
            listed = and_more(map(shown, self.values))
            hint = did_you_mean(stranger, self.values) if isinstance(stranger, str) else ""
            got = f"{node} = {shown(stranger)}"
            raise InputError(argument, got, f"a category seen: {listed}", hint)
        return codes


@dataclass(frozen=True, eq=False)
class Domain:
    """The values of one node, as far as they are known."""

    node: str
    labels: Labels | None = None
    """The categories of a categorical node."""
    numbers: bool = False
    whole: bool = False

    def checked(self, values: Values, argument: str) -> Values:
        """The values, labels as they were first seen; an error for what the node cannot be."""
        if is_missing(values).any():
            allowed = "complete values"
            raise InputError(argument, f"a missing value for {self.node!r}", allowed)
        if values.dtype.kind == "c" or not _comparable(values):
            got = f"{self.node} = {shorten(values[0])}"
            raise InputError(argument, got, "text, numbers, dates or truth values")
        if self.labels is not None:
            return np.asarray(self.labels.values[self.labels.codes(values, self.node, argument)])
        if self.numbers and values.dtype.kind not in "biuf":
            raise InputError(argument, f"{self.node} = {shown(values[0])}", "a number")
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            got = values[np.argmax(~np.isfinite(values))]
            raise InputError(argument, f"{self.node} = {got}", "a finite number")
        if self.whole and (values != np.rint(values)).any():
            got = values[np.argmax(values != np.rint(values))]
            allowed = f"whole numbers, as {self.node!r} holds by its dtype"
            raise InputError(argument, f"{self.node} = {got}", allowed)
        return values

    def spread(self, value: Any, n: int, argument: str = "do") -> Values:
        """A value, or one per row, that the node is set to, as n values."""
        allowed = f"one value, or one for each of {n} rows"
        try:
            given = as_values(value)
        except ValueError as error:  # lists of different lengths
            got = f"{shorten(value)} for {self.node!r}"
            raise InputError(argument, got, allowed) from error
        if given.ndim > 1 or (given.ndim == 1 and len(given) != n):
            raise InputError(argument, f"shape {given.shape} for {self.node!r}", allowed)
        return self.checked(np.repeat(given, n) if given.ndim == 0 else given, argument)


@dataclass(frozen=True, eq=False)
class NodeData:
    """A node's column of the data."""

    domain: Domain
    values: Values

    @property
    def labels(self) -> Labels | None:
        """The categories of a categorical column, else None."""
        return self.domain.labels

    def complete(self) -> NodeData:
        """This column, or an error if mechanisms cannot be fitted on it."""
        missing = int(is_missing(self.values).sum())
        if missing:
            raise InputError(
                "data",
                f"{missing} missing value(s) in {self.domain.node!r}",
                "complete columns, to fit mechanisms on",
                "Drop these rows or impute them first.",
            )
        if self.domain.numbers and (np.abs(self.values.astype(np.float64)) > LARGEST).any():
            far = self.values[np.argmax(np.abs(self.values.astype(np.float64)) > LARGEST)]
            raise InputError(
                "data",
                f"{self.domain.node} = {far}",
                f"finite numbers within ±{LARGEST:g}, to fit mechanisms on",
            )
        return self


def read_columns(
    table: Table, nodes: Iterable[str], categorical: Iterable[str]
) -> dict[str, NodeData]:
    """The columns of those nodes that the table has.

    Categorical are all that are not numbers, Booleans, and those named in `categorical`.
    """
    if not len(table):
        raise InputError("data", "no rows", "a row or more, to fit mechanisms on")
    out, named = {}, frozenset(categorical)
    for node in nodes:
        if node not in table.names:
            continue
        values = as_values(table.column(table.names.index(node)))
        if node in named or values.dtype.kind not in "iuf":
            seen = Labels(distinct_values(values[~is_missing(values)]))
            seen.codes(seen.values, node, "data")  # raises for what cannot be a label
            out[node] = NodeData(Domain(node, seen), values)
        else:
            whole = values.dtype.kind in "iu"
            out[node] = NodeData(Domain(node, numbers=True, whole=whole), values)
    return out


def distinct_values(values: Values) -> Values:
    """Each value once, sorted where it can be."""
    if not len(values):
        return values
    ranks = column_codes(values)
    _, first = distinct_rows(ranks[:, None])
    return np.asarray(values[first[np.argsort(ranks[first])]])


def as_values(values: Any) -> Values:
    """An array of one dimension, text as objects: fixed-width text would cut longer labels."""
    array = np.asarray(values)
    return array.astype(object) if array.dtype.kind in "US" else array


def boxed(values: Sequence[Any]) -> Values:
    """Values just as they are, whatever they are."""
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def shown(value: Any) -> str:
    """A value as messages have it: its own repr, without NumPy's name for its type."""
    return shorten(value.item() if isinstance(value, np.generic) else value)


def is_missing(values: Values) -> BoolVector:
    """Where values are None or not a number."""
    import pandas as pd

    return np.asarray(pd.isna(values), dtype=bool)


def _comparable(values: Values) -> bool:
    try:
        return bool(np.all(values == values))
    except Exception:  # an == of the user's own may raise anything
        return False


def differs(one: Values, other: Values) -> BoolVector:
    """Where two columns do not hold the same value."""
    return np.asarray(one != other, dtype=bool)


def truths_like(values: Values, natural: Callable[[], Values]) -> Values:
    """0 and 1 as truth values, where the node's own values are: `~1` is not what is meant."""
    if values.dtype.kind in "iuf" and np.isin(values, [0, 1]).all() and natural().dtype == bool:
        return values.astype(bool)
    return values


def per_distinct(
    parents: Mapping[str, Values], answer: Callable[[Mapping[str, Values]], Values]
) -> Values:
    """Ask a costly question once for each distinct combination of the parents' values."""
    codes = np.stack([column_codes(values) for values in parents.values()], axis=1)
    identity, first = distinct_rows(codes)
    if len(first) == len(identity):
        return answer(parents)
    few = answer({name: values[first] for name, values in parents.items()})
    return np.asarray(few[identity])
