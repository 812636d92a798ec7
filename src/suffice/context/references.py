"""References, the rows that an input is contrasted with: selection, sampling, cache and pool.

A pool is a table with the input in row 0 and its references below. Many inputs share a set of
references, so whatever depends on the references alone is computed once and cached with them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from threading import RLock
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from suffice.context.players import Players
from suffice.errors import InputError
from suffice.forks import hold_across_forks
from suffice.formatting import join_first, join_words
from suffice.tables import Table, column_codes, is_frame
from suffice.tables.cells import as_scalar, joint_codes
from suffice.tables.conversion import as_table
from suffice.typing import BoolVector, Counts, Scalar, Values
from suffice.validation import call_user_function, check_choice

ReferenceSpec = Any
"""'opposite', 'all', a mask over the rows of data, a frame, or a callable (data, x) -> any."""

_OTHER_SPECS = "a mask over the rows of data, a frame of rows, or a callable"


def choose_references(
    spec: ReferenceSpec,
    data: Table,
    row: Table,
    is_opposite: Callable[[], BoolVector],
    n: int | None,
    seed: int,
    like_data: Callable[[Table], Table] = lambda table: table,
) -> Table:
    """Return the references of one input, in an order that does not depend on that of the data.

    Where there are more than `n`, a sample without replacement is drawn with the seed. `like_data`
    converts a table that the user passed as the data was converted.
    """
    if callable(spec):
        spec = call_user_function(
            "references", spec, "a function (data, x) -> rows", data.native, row.native
        )
    rows = _select_references(spec, data, is_opposite, like_data)
    order = canonical_order(rows)
    if n is not None and n < len(rows):
        # From the canonical order: the same rows however the data was sorted. `default_rng(seed)`
        # and no `Stream` of its own: another generator would change every stored answer.
        drawn = np.random.default_rng(seed).choice(len(rows), size=n, replace=False)
        order = order[np.sort(drawn)]
    return rows.take(order)


def canonical_order(table: Table) -> Counts:
    """Return positions that sort rows by their values, whatever the order of rows and columns."""
    by_name = np.argsort(np.array(table.names)).tolist()
    columns = (column_codes(table.column(j)) for j in by_name)
    return np.argsort(joint_codes(columns, len(table), ordered=True), kind="stable")


def _select_references(
    spec: ReferenceSpec,
    data: Table,
    is_opposite: Callable[[], BoolVector],
    like_data: Callable[[Table], Table],
) -> Table:
    if isinstance(spec, str):
        if check_choice("references", spec, ("opposite", "all"), also=_OTHER_SPECS) == "all":
            return data
        hint = (
            "Pass data that holds such rows, other references ('all', a frame, a mask), or an "
            "outcome that the model does not give to every row."
        )
        return _take_masked(data, is_opposite(), "predicted otherwise than the input", hint)
    mask = as_mask(spec)
    if mask is not None:
        if len(mask) != len(data):
            raise InputError(
                "references",
                f"a mask of {len(mask)} values",
                f"one for each of the {len(data)} rows of data",
            )
        return _take_masked(data, mask, "chosen by the mask", "It is False for every row.")
    if not is_frame(spec) and _dimensions(spec) != 2:
        raise InputError("references", spec, f"'opposite', 'all' or {_OTHER_SPECS}")
    rows = as_table(spec, names=data.names, argument="references")
    return select_columns_like(data, like_data(rows), "references")


def as_mask(spec: ReferenceSpec) -> BoolVector | None:
    """Return Booleans given as a list, a series or an array; None for anything else."""
    if is_frame(spec) or _dimensions(spec) != 1:
        return None
    values = np.asarray(spec)
    if values.dtype == bool or set(map(type, values.tolist())) == {bool}:
        return values.astype(bool)
    return None


def _dimensions(spec: ReferenceSpec) -> int:
    try:
        return np.ndim(spec)
    except ValueError:  # ragged lists, for which `as_table` raises the right error
        return 2


def _take_masked(data: Table, mask: BoolVector, wording: str, hint: str) -> Table:
    if not mask.any():
        got = f"none: no row of data is {wording}"
        raise InputError("references", got, "at least one reference", hint)
    return data.take(np.flatnonzero(mask))


def select_columns_like(data: Table, given: Table, argument: str) -> Table:
    """Return the columns of `data` from another table, which must have the same library and dtypes.

    Unlike `conform`, nothing is cast: references and samples must be values as the data has them.
    """
    lacking = [name for name in data.names if name not in given.names]
    if lacking:
        got = f"no column {join_words(map(repr, lacking[:12]), 'or')}"
        raise InputError(argument, got, f"every column of data: {join_first(data.names)}")
    if not data.same_library(given):
        raise InputError(
            argument, given.library_name, f"the same kind as data, {data.library_name}"
        )
    chosen = given.select([given.names.index(name) for name in data.names]).with_labels_of(data)
    for j, name in enumerate(data.names):
        if not data.same_dtype(j, chosen):
            raise InputError(
                argument,
                f"column {name!r} of dtype {chosen.dtype(j)}",
                f"the dtype it has in data, {data.dtype(j)}",
            )
    return chosen


T = TypeVar("T")

RowFunction = Callable[[Table], NDArray[Any]]
"""Returns an array with one row per row of a table, each computed from that row alone."""

_MAX_CACHED_CELLS = 1 << 22
_MAX_CACHED_SETS = 64
"""Limits of a `ReferenceCache`: cells of all sets, and sets of references."""

_NO_RANK = -1
"""Rank of a value in a column without a fixed order of values."""


class CachedRows(Sequence[Table]):
    """A sequence of one-row tables, and a cache of results computed from all of them."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self._cache: dict[Hashable, Any] = {}

    def __len__(self) -> int:
        return len(self.table)

    @overload
    def __getitem__(self, which: int) -> Table: ...
    @overload
    def __getitem__(self, which: slice) -> CachedRows: ...
    def __getitem__(self, which: int | slice) -> Table | CachedRows:
        if isinstance(which, slice):
            return CachedRows(self.table.take(np.arange(len(self))[which]))
        if not -len(self) <= which < len(self):
            raise IndexError(which)
        return self.row(which % len(self))

    @classmethod
    def from_rows(cls, rows: Sequence[Table]) -> CachedRows:
        """Return one-row tables of the same library and dtypes as one sequence."""
        if isinstance(rows, CachedRows):
            return rows
        first, *others = rows
        return cls(first.stack(*others) if others else first)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without the cached results."""
        return type(self), (self.table,)

    def cached(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return the result of `compute`, cached under a key for as long as the rows exist."""
        if key not in self._cache:
            self._cache[key] = compute()
        found: T = self._cache[key]
        return found

    def row(self, index: int) -> Table:
        """Return one row as a table."""
        return self.table if len(self.table) == 1 else self.table.take(np.array([index]))

    def row_values(self, index: int) -> list[Scalar]:
        """Return the values of one row as they are shown."""
        columns = self.cached("columns", self._columns)
        alone = None
        out = []
        for j, column in enumerate(columns):
            if column is None:
                alone = self.row(index) if alone is None else alone
                out.append(as_scalar(alone.column(j)[0]))
            else:
                out.append(as_scalar(column[index]))
        return out

    def _columns(self) -> list[Values | None]:
        """Return columns, None for integers that a missing value of another row made floats."""
        table = self.table
        columns = [table.column(j) for j in range(len(table.names))]
        return [
            None if values.dtype.kind in "fO" and table.is_integer(j) else values
            for j, values in enumerate(columns)
        ]


class References(CachedRows):
    """The rows that inputs are contrasted with, and the codes of their values."""

    @cached_property
    def codes(self) -> Counts:
        """Codes (n, columns): integers, equal and ordered as each column's values are."""
        return self.table.codes()

    def distinct_keys(self, position: int) -> Values:
        """Return the sorted distinct values of a numeric column, as `_order_keys` has them."""
        key = "distinct keys", position
        return self.cached(key, lambda: np.unique(_order_keys(self.table.column(position))))

    def player_codes(self, players: Players) -> Counts:
        """Return (n, d): integers, equal where two rows agree on all columns of a player."""
        key = "player codes", players.columns
        return self.cached(key, lambda: players.codes(self.codes))


_CACHE_LOCK = RLock()
"""Held while a cache of references is read or changed."""
hold_across_forks(_CACHE_LOCK)


class ReferenceCache:
    """The sets of references used last, limited in number and in cells (LRU).

    A copied or unpickled cache is empty.
    """

    def __init__(self) -> None:
        self._sets: dict[Hashable, References] = {}

    def get_or_choose(self, key: Hashable, choose: Callable[[], Table]) -> References:
        """Return the set with this key; `choose` selects it if it is not in the cache."""
        with _CACHE_LOCK:
            found = self._sets.pop(key, None)
        if found is None:
            found = References(choose())
        with _CACHE_LOCK:
            self._sets[key] = found  # last in the dictionary: the next to be dropped is first
            sizes = [len(kept) * len(kept.table.names) for kept in self._sets.values()]
            while len(sizes) > 1 and (
                sum(sizes) > _MAX_CACHED_CELLS or len(sizes) > _MAX_CACHED_SETS
            ):
                del self._sets[next(iter(self._sets))], sizes[0]
        return found

    def __len__(self) -> int:
        return len(self._sets)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ()


def _call_stacked(name: str) -> Any:
    """Return a method of `Pool` that calls the method of this name of its stacked rows."""

    def method(pool: Pool, *arguments: Any) -> Any:
        return getattr(pool._stacked, name)(*arguments)

    return method


class Pool(Table):
    """A table with an input in row 0 and its references below.

    Many inputs share their references. Columns and codes are therefore computed from the parts,
    whose results are cached; other operations stack the parts first.
    """

    def __init__(self, inputs: CachedRows, index: int, references: References) -> None:
        self.inputs = inputs
        self.index = index
        self.references = references
        self.names = references.table.names

    def __len__(self) -> int:
        return 1 + len(self.references)

    def apply_by_row(self, function: RowFunction) -> NDArray[Any]:
        """Return the function's array for the pool, computed once for all inputs and references.

        Where it fails for all inputs together it is called for each, so that only the input at
        fault gets the error.
        """
        below = self.references.cached(function, lambda: function(self.references.table))
        every = self.inputs.cached(function, lambda: _apply_or_none(function, self.inputs.table))
        if every is None:
            above = function(self.inputs.row(self.index))
        else:
            above = every[self.index : self.index + 1]
        return np.concatenate([above, below])

    def column(self, position: int) -> Values:
        """Return one column, joined from the parts where their dtypes agree."""
        above = self.inputs.table.column(position)
        below = self.references.table.column(position)
        if above.dtype != below.dtype:  # a missing value in one part changes the dtype of both
            return self._stacked.column(position)
        return np.concatenate([above[self.index : self.index + 1], below])

    def codes(self) -> Counts:
        """Return the codes of the whole pool, from those of the references.

        Where the input's value is new, the codes of larger values move up by one.

        >>> from suffice.tables.conversion import as_table
        >>> references = References(as_table([[3.0], [7.0], [3.0]]))
        >>> Pool(CachedRows(as_table([[5.0]])), 0, references).codes().ravel().tolist()
        [1, 0, 2, 0]
        """
        rank, known = self._input_ranks
        below = self.references.codes
        out = np.concatenate([rank[None], below + (~known & (below >= rank))])
        for j in np.flatnonzero(rank < 0):  # no fixed order: all values are coded together
            out[:, j] = column_codes(self.column(int(j)))
        return out

    def player_codes(self, players: Players) -> Counts:
        """Return `players.codes(self.codes())`, from the codes of the references where possible."""
        below = self.references.player_codes(players)
        rank, known = self._input_ranks
        if (rank < 0).any():
            return players.codes(self.codes())
        equal = known & (self.references.codes == rank)
        d = len(players.names)
        if d == len(self.names):
            alike = equal[:, [columns[0] for columns in players.columns]]
        else:
            alike = np.stack([equal[:, list(c)].all(axis=1) for c in players.columns], axis=1)
        # Renumber so that the input, which is row 0, has code 0: codes below its former code move
        # up by one, or all codes where no reference agrees with the input.
        own = np.where(alike.any(axis=0), below[alike.argmax(axis=0), np.arange(d)], -1)
        above = np.where(own < 0, below.max(axis=0) + 1, own)
        out = np.zeros((len(self), d), dtype=np.int64)
        out[1:] = np.where(alike, 0, below + (below < above))
        return out

    @property
    def _input_ranks(self) -> tuple[Counts, NDArray[np.bool_]]:
        """Ranks (columns,) of the input's values among the references', and if they occur there."""
        key = ("ranks", self.references)
        ranks, known = self.inputs.cached(key, lambda: _rank_inputs(self.inputs, self.references))
        return ranks[self.index], known[self.index]

    @cached_property
    def _stacked(self) -> Table:
        return self.inputs.row(self.index).stack(self.references.table)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as a plain table, without the other inputs and the caches."""
        return _restore_table, (self._stacked,)

    @property
    def native(self) -> Any:
        """The frame or array of the library that the table came from."""
        return self._stacked.native

    # All other methods of a table are those of the stacked rows.
    take: Any = _call_stacked("take")
    select: Any = _call_stacked("select")
    splice: Any = _call_stacked("splice")
    gather: Any = _call_stacked("gather")
    with_columns: Any = _call_stacked("with_columns")
    stack: Any = _call_stacked("stack")
    dtype: Any = _call_stacked("dtype")
    same_dtype: Any = _call_stacked("same_dtype")
    same_library: Any = _call_stacked("same_library")
    is_datetime: Any = _call_stacked("is_datetime")
    is_integer: Any = _call_stacked("is_integer")
    categories: Any = _call_stacked("categories")
    cells: Any = _call_stacked("cells")
    _native_column: Any = _call_stacked("_native_column")
    _cast_cells: Any = _call_stacked("_cast_cells")
    _from_columns: Any = _call_stacked("_from_columns")


def _restore_table(table: Table) -> Table:
    return table


def _apply_or_none(function: RowFunction, table: Table) -> NDArray[Any] | None:
    try:
        return function(table)
    except Exception:  # any error: called for single rows, it is raised for the row at fault
        return None


def _rank_inputs(inputs: CachedRows, references: References) -> tuple[Counts, NDArray[np.bool_]]:
    """Return two (inputs, columns): ranks among the references' values, and which values occur.

    A value that no reference has gets the rank at which it would be inserted. Columns whose values
    have no fixed order get _NO_RANK.
    """
    shape = len(inputs), len(references.table.names)
    ranks = np.full(shape, _NO_RANK, dtype=np.int64)
    known = np.zeros(shape, dtype=bool)
    for j in range(shape[1]):
        above, below = inputs.table.column(j), references.table.column(j)
        if above.dtype != below.dtype:
            continue
        if above.dtype.kind in "biuf" and above.dtype.itemsize <= 8:
            order, values = references.distinct_keys(j), _order_keys(above)
        elif _has_fixed_order(above, below):
            codes = column_codes(np.concatenate([above, below]))
            order, values = np.unique(codes[len(above) :]), codes[: len(above)]
        else:
            continue
        ranks[:, j] = np.searchsorted(order, values)
        known[:, j] = order[np.minimum(ranks[:, j], len(order) - 1)] == values
    return ranks, known


_LARGEST_KEY = np.iinfo(np.int64).max
_SIGN_BIT = np.iinfo(np.int64).min


def _order_keys(values: Values) -> Values:
    """Return integers that are equal and ordered as `column_codes` has numbers or Booleans.

    >>> order = np.argsort(_order_keys(np.array([np.nan, np.inf, 0.0, -0.0, -1.0])))
    >>> order.tolist()
    [4, 3, 2, 1, 0]
    """
    if values.dtype.kind == "b":
        return values.view(np.uint8)
    if values.dtype.kind != "f":
        return values
    # The bits of a float, read as an integer, grow with it; those of a negative one shrink.
    bits = values.astype(np.float64).view(np.int64)
    keys = np.where(bits < 0, ~bits | _SIGN_BIT, bits)
    return np.where(np.isnan(values), _LARGEST_KEY, keys)


def _has_fixed_order(above: Values, below: Values) -> bool:
    """Return whether the order of two values never depends on others; it may for mixed types."""
    if above.dtype.kind in "biufmM":
        return above.dtype.itemsize <= 8
    return {*map(type, above.tolist()), *map(type, below.tolist())} <= {str, type(None)}
