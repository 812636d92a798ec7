"""Domains: the distinct values that a causal node can take, from data; checks of given values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from suffice.errors import InputError, did_you_mean, short_repr
from suffice.formatting import join_first, plural
from suffice.tables import Table, column_codes
from suffice.tables.cells import distinct_rows, missing_mask, object_array
from suffice.typing import BoolVector, Counts, Values

MAX_MAGNITUDE = 1e150
"""Squares of larger numbers overflow, and least squares with them."""


class NodeCategories:
    """The categories of a node, sorted; values are compared with them as plain labels."""

    def __init__(self, values: Values) -> None:
        self.values = value_array(values)
        if self.values.dtype == object:  # 1 and True are told apart by their cells, not as labels
            with suppress(TypeError):  # lists and the like, which `codes` refuses
                self.values = object_array(list(dict.fromkeys(self.values)))

    @cached_property
    def _index(self) -> Any:
        import pandas as pd

        return pd.Index(list(self.values), dtype=object)

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return f"Labels({short_repr(self.values.tolist())})"

    def codes(self, values: Values, node: str, argument: str) -> Counts:
        """Return the index of each value's category; raise for a value that was never seen."""
        import pandas as pd

        try:
            found = self._index.get_indexer(pd.Index(values, dtype=object))
        except Exception as error:  # lists and the like, whose comparison may raise anything
            got = f"{node} = {short_repr(values[0])}"
            raise InputError(argument, got, "text, numbers, dates or Booleans") from error
        codes = np.asarray(found, dtype=np.int64)
        if (codes < 0).any():
            stranger = values[np.argmax(codes < 0)]
            listed = join_first(map(short_value, self.values))
            hint = did_you_mean(stranger, self.values) if isinstance(stranger, str) else ""
            got = f"{node} = {short_value(stranger)}"
            raise InputError(argument, got, f"a category seen: {listed}", hint)
        return codes


@dataclass(frozen=True, eq=False)
class Domain:
    """The known values of a node: its type, categories, and whether numbers are integers."""

    node: str
    labels: NodeCategories | None = None
    """The categories of a categorical node."""
    numeric: bool = False
    integer: bool = False

    def check(self, values: Values, argument: str) -> Values:
        """Return the values, categories as first seen; raise for one that the node cannot take."""
        if missing_mask(values).any():
            allowed = "complete values"
            raise InputError(argument, f"a missing value for {self.node!r}", allowed)
        if values.dtype.kind == "c" or not _equal_themselves(values):
            got = f"{self.node} = {short_repr(values[0])}"
            raise InputError(argument, got, "text, numbers, dates or Booleans")
        if self.labels is not None:
            return np.asarray(self.labels.values[self.labels.codes(values, self.node, argument)])
        if self.numeric and values.dtype.kind not in "biuf":
            raise InputError(argument, f"{self.node} = {short_value(values[0])}", "a number")
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            got = values[np.argmax(~np.isfinite(values))]
            raise InputError(argument, f"{self.node} = {got}", "a finite number")
        if self.integer and (values != np.rint(values)).any():
            got = values[np.argmax(values != np.rint(values))]
            allowed = f"whole numbers, as {self.node!r} holds by its dtype"
            raise InputError(argument, f"{self.node} = {got}", allowed)
        return values

    def broadcast(self, value: Any, n: int, argument: str = "do") -> Values:
        """Return n values from one value, or from one per row."""
        allowed = f"one value, or one for each of {n} rows"
        try:
            given = value_array(value)
        except ValueError as error:  # lists of different lengths
            got = f"{short_repr(value)} for {self.node!r}"
            raise InputError(argument, got, allowed) from error
        if given.ndim > 1 or (given.ndim == 1 and len(given) != n):
            raise InputError(argument, f"shape {given.shape} for {self.node!r}", allowed)
        return self.check(np.repeat(given, n) if given.ndim == 0 else given, argument)


@dataclass(frozen=True, eq=False)
class NodeData:
    """A node's column of the data."""

    domain: Domain
    values: Values

    @property
    def labels(self) -> NodeCategories | None:
        """Categories of a categorical column, else None."""
        return self.domain.labels

    def require_complete(self) -> NodeData:
        """Return the column; raise if no mechanism can be fitted on it."""
        missing = int(missing_mask(self.values).sum())
        if missing:
            raise InputError(
                "data",
                f"{plural(missing, 'missing value')} in {self.domain.node!r}",
                "complete columns, to fit mechanisms on",
                "Drop these rows or impute them first.",
            )
        if self.domain.numeric and (np.abs(self.values.astype(np.float64)) > MAX_MAGNITUDE).any():
            far = self.values[np.argmax(np.abs(self.values.astype(np.float64)) > MAX_MAGNITUDE)]
            raise InputError(
                "data",
                f"{self.domain.node} = {far}",
                f"finite numbers within ±{MAX_MAGNITUDE:g}, to fit mechanisms on",
            )
        return self


def read_node_columns(
    table: Table, nodes: Iterable[str], categorical: Iterable[str]
) -> dict[str, NodeData]:
    """Return the columns of the nodes that the table has.

    Categorical are all that are not numbers, Booleans, and those named in `categorical`.
    """
    if not len(table):
        raise InputError("data", "no rows", "a row or more, to fit mechanisms on")
    out, named = {}, frozenset(categorical)
    for node in nodes:
        if node not in table.names:
            continue
        values = value_array(table.column(table.names.index(node)))
        if node in named or values.dtype.kind not in "iuf":
            seen = NodeCategories(distinct_values(values[~missing_mask(values)]))
            seen.codes(seen.values, node, "data")  # raises for what cannot be a label
            out[node] = NodeData(Domain(node, seen), values)
        else:
            whole = values.dtype.kind in "iu"
            out[node] = NodeData(Domain(node, numeric=True, integer=whole), values)
    return out


def distinct_values(values: Values) -> Values:
    """Return the distinct values, sorted where they can be compared."""
    if not len(values):
        return values
    ranks = column_codes(values)
    _, first = distinct_rows(ranks[:, None])
    return np.asarray(values[first[np.argsort(ranks[first])]])


def value_array(values: Any) -> Values:
    """Return values as a one-dimensional array; texts as objects, so that none is cut."""
    array = np.asarray(values)
    return array.astype(object) if array.dtype.kind in "US" else array


def short_value(value: Any) -> str:
    """Return the repr of a value for messages, without NumPy's name for its type."""
    return short_repr(value.item() if isinstance(value, np.generic) else value)


def _equal_themselves(values: Values) -> bool:
    try:
        return bool(np.all(values == values))
    except Exception:  # an == of the user's own may raise anything
        return False


def unequal_mask(one: Values, other: Values) -> BoolVector:
    """Return a mask of the rows in which two columns differ."""
    return np.asarray(one != other, dtype=bool)


def booleans_like(values: Values, natural: Callable[[], Values]) -> Values:
    """Return 0 and 1 as Booleans where the node is Boolean, since `~1` would be -2."""
    if values.dtype.kind in "iuf" and np.isin(values, [0, 1]).all() and natural().dtype == bool:
        return values.astype(bool)
    return values


def map_distinct(
    parents: Mapping[str, Values], answer: Callable[[Mapping[str, Values]], Values]
) -> Values:
    """Call a slow function once per distinct combination of the parents' values."""
    codes = np.stack([column_codes(values) for values in parents.values()], axis=1)
    identity, first = distinct_rows(codes)
    if len(first) == len(identity):
        return answer(parents)
    few = answer({name: values[first] for name, values in parents.items()})
    return np.asarray(few[identity])
