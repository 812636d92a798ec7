"""What the data says about a node: its values, whether they are labels, whether whole numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from suffice.errors import InputError, did_you_mean
from suffice.tables.distinct import distinct_rows
from suffice.tables.table import Table, column_codes
from suffice.typing import BoolVector, Counts, Values

__all__ = [
    "Column",
    "Labels",
    "as_values",
    "differs",
    "distinct_values",
    "is_missing",
    "per_distinct",
    "read_columns",
]


class Labels:
    """The categories of a node, sorted; values are compared with them as plain labels."""

    def __init__(self, values: Values) -> None:
        self.values = as_values(values)

    @cached_property
    def _index(self) -> Any:
        import pandas as pd

        return pd.Index(list(self.values), dtype=object)

    def __len__(self) -> int:
        return len(self.values)

    def codes(self, values: Values, node: str, argument: str) -> Counts:
        """Number each value by its label; an error for one that was never seen."""
        import pandas as pd

        codes = np.asarray(self._index.get_indexer(pd.Index(values, dtype=object)), dtype=np.int64)
        if (codes < 0).any():
            stranger = values[np.argmax(codes < 0)]
            listed = ", ".join(repr(v) for v in self.values.tolist()[:12])
            hint = did_you_mean(stranger, self.values) if isinstance(stranger, str) else ""
            raise InputError(argument, f"{node} = {stranger!r}", f"a category seen: {listed}", hint)
        return codes


@dataclass(frozen=True, eq=False)
class Column:
    """A node's column of the data."""

    name: str
    values: Values
    labels: Labels | None
    """The categories of a categorical column, else None."""

    @property
    def whole(self) -> bool:
        """Does it hold whole numbers only, by its dtype?"""
        return self.labels is None and self.values.dtype.kind in "iu"

    def complete(self) -> Column:
        """This column, or an error if it has missing values."""
        missing = int(is_missing(self.values).sum())
        if missing:
            raise InputError(
                "data",
                f"{missing} missing value(s) in {self.name!r}",
                "complete columns, to fit mechanisms on",
                "Drop these rows or impute them first.",
            )
        return self


def read_columns(
    table: Table, nodes: Iterable[str], categorical: Sequence[str]
) -> dict[str, Column]:
    """The columns of those nodes that the table has.

    Categorical are all that are not numbers, Booleans, and those named in `categorical`.
    """
    out = {}
    for node in nodes:
        if node not in table.names:
            continue
        values = as_values(table.column(table.names.index(node)))
        is_category = node in categorical or values.dtype.kind not in "iuf"
        seen = distinct_values(values[~is_missing(values)]) if is_category else None
        out[node] = Column(node, values, None if seen is None else Labels(seen))
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


def is_missing(values: Values) -> BoolVector:
    """Where values are None or not a number."""
    import pandas as pd

    return np.asarray(pd.isna(values), dtype=bool)


def differs(one: Values, other: Values) -> BoolVector:
    """Where two columns do not hold the same value."""
    return np.asarray(one != other, dtype=bool)


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
