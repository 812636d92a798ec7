"""Causal graphs: a DAG in any form, its nodes in order, and the values that each can take."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np

from suffice.errors import InputError, did_you_mean, short_repr
from suffice.formatting import join_first, plural
from suffice.tables import Table, column_codes
from suffice.tables.cells import distinct_rows, missing_mask, object_array
from suffice.typing import BoolVector, Counts, Values

_DAG_FORMS = "a networkx.DiGraph, a list of (cause, effect) pairs, or {node: [its causes]}"


@dataclass(frozen=True)
class Graph:
    """A DAG: nodes in topological order, ties by first mention, and the parents of each."""

    nodes: tuple[str, ...]
    parents: Mapping[str, tuple[str, ...]]

    @cached_property
    def children(self) -> dict[str, tuple[str, ...]]:
        """Children of each node."""
        return {n: tuple(c for c in self.nodes if n in self.parents[c]) for n in self.nodes}

    @cached_property
    def ancestors(self) -> dict[str, frozenset[str]]:
        """Direct and indirect causes of each node."""
        out: dict[str, frozenset[str]] = {}
        for node in self.nodes:
            parents = self.parents[node]
            out[node] = frozenset(parents).union(*(out[parent] for parent in parents))
        return out

    @cached_property
    def descendants(self) -> dict[str, frozenset[str]]:
        """Direct and indirect effects of each node."""
        return {n: frozenset(m for m in self.nodes if n in self.ancestors[m]) for n in self.nodes}

    def require(self, names: Iterable[object], argument: str) -> None:
        """Raise for a name that is no node."""
        for name in names:
            if not isinstance(name, str) or name not in self.parents:
                hint = did_you_mean(name, self.nodes) if isinstance(name, str) else ""
                raise InputError(
                    argument, f"unknown node {short_repr(name)}", "nodes of the DAG", hint
                )


def read_graph(dag: Any) -> Graph:
    """Read a DAG from edges, a mapping, a networkx graph or text.

    >>> read_graph([("sex", "job"), ("age", "job"), ("job", "savings")]).nodes
    ('sex', 'age', 'job', 'savings')
    """
    parents: dict[str, dict[str, None]] = {}  # dicts, as sets that remember first mention
    for node, cause in _mentions(dag):
        parents.setdefault(node, {})
        if cause is not None:
            if cause == node:
                raise InputError("dag", f"{node!r} as a cause of itself", "a graph without cycles")
            parents.setdefault(cause, {})
            parents[node][cause] = None
    if not parents:
        raise InputError("dag", "no nodes", _DAG_FORMS)
    order = _topological_order(parents)
    return Graph(order, {node: tuple(parents[node]) for node in order})


def _mentions(dag: Any) -> Iterator[tuple[str, str | None]]:
    """Yield (node, None) for each named node and (effect, cause) for each edge, in order."""
    if isinstance(dag, Mapping):
        for node, causes in dag.items():
            name = _node_name(node)
            yield name, None
            for cause in _check_iterable(causes, f"{name!r}: {short_repr(causes)}"):
                yield name, _node_name(cause)
        return
    edges: Any = dag
    # A networkx graph, or an object with its attributes; a class with them is no graph.
    if hasattr(dag, "nodes") and hasattr(dag, "edges") and not isinstance(dag, type):
        if not getattr(dag, "is_directed", lambda: True)():
            raise InputError("dag", "an undirected graph", _DAG_FORMS)
        for node in _check_iterable(dag.nodes, f"nodes {short_repr(dag.nodes)}"):
            yield _node_name(node), None
        # Edges of a multigraph have a key as a third element.
        edges = [
            tuple(edge)[:2] for edge in _check_iterable(dag.edges, f"edges {short_repr(dag.edges)}")
        ]
    if isinstance(edges, np.ndarray) and edges.dtype.kind not in "OUT":
        hint = "A matrix says nothing about names: list its edges."
        raise InputError("dag", f"an array of {edges.dtype}", _DAG_FORMS, hint)
    for edge in _check_iterable(edges, short_repr(dag)):
        ends = list(edge) if isinstance(edge, list | tuple | np.ndarray) else []
        if len(ends) == 3 and isinstance(ends[2], Mapping):
            ends.pop()  # attributes, as networkx lists them
        if len(ends) != 2:
            raise InputError("dag", f"{short_repr(edge)} as an edge", _DAG_FORMS)
        cause, effect = map(_node_name, ends)
        yield cause, None
        yield effect, cause


def _check_iterable(given: Any, got: str) -> Iterable[Any]:
    """Return an iterable in a fixed order, sets sorted; raise for text and for a single value."""
    single = isinstance(given, str | bytes | type) or not isinstance(given, Iterable)
    if single or (isinstance(given, np.ndarray) and not given.ndim):
        raise InputError("dag", got, _DAG_FORMS)
    if isinstance(given, set | frozenset):  # their order differs from process to process
        return sorted(given, key=str)
    found: Iterable[Any] = given
    return found


def _node_name(given: object) -> str:
    if isinstance(given, str | int | np.integer) and not isinstance(given, bool):
        return str(given)
    raise InputError(
        "dag", f"{short_repr(given)} as a node", "names of nodes: text, or whole numbers"
    )


def _topological_order(parents: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
    mention = {node: i for i, node in enumerate(parents)}
    sorter = TopologicalSorter(parents)
    try:
        sorter.prepare()
    except CycleError as error:
        cycle = " → ".join(map(repr, error.args[1]))
        raise InputError("dag", f"a cycle, {cycle}", "a graph without cycles") from error
    ready = [(mention[node], node) for node in sorter.get_ready()]
    heapify(ready)
    order = []
    while ready:
        _, node = heappop(ready)
        order.append(node)
        sorter.done(node)
        for freed in sorter.get_ready():
            heappush(ready, (mention[freed], freed))
    return tuple(order)


# Domains: the values that a node can take, read from data, and checks of given values.


MAX_MAGNITUDE = 1e150
"""Largest number that mechanisms are fitted to: squares of larger ones overflow."""


class NodeCategories:
    """The categories of a node, sorted; values are compared with them as plain labels."""

    def __init__(self, values: Values) -> None:
        self.values = value_array(values)
        if self.values.dtype == object:  # 1 and True are different cells, but one label
            with suppress(TypeError):  # lists and the like, which `codes` refuses
                self.values = object_array(list(dict.fromkeys(self.values)))

    @cached_property
    def _index(self) -> Any:
        import pandas as pd

        return pd.Index(list(self.values), dtype=object)

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return f"NodeCategories({short_repr(self.values.tolist())})"

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
            unseen = values[np.argmax(codes < 0)]
            listed = join_first(map(short_value, self.values))
            hint = did_you_mean(unseen, self.values) if isinstance(unseen, str) else ""
            got = f"{node} = {short_value(unseen)}"
            raise InputError(argument, got, f"a category seen: {listed}", hint)
        return codes


@dataclass(frozen=True, eq=False)
class NodeDomain:
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

    domain: NodeDomain
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

    Columns that hold no numbers, columns of Booleans and those named in `categorical` are
    categorical.
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
            out[node] = NodeData(NodeDomain(node, seen), values)
        else:
            whole = values.dtype.kind in "iu"
            out[node] = NodeData(NodeDomain(node, numeric=True, integer=whole), values)
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
    except Exception:  # the == of a user's class may raise anything
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
