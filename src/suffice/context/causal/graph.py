"""Causal graphs: reads a DAG in any form and orders its nodes, causes first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np

from suffice.errors import InputError, did_you_mean, short_repr

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
        """All direct and indirect causes of each node."""
        out: dict[str, frozenset[str]] = {}
        for node in self.nodes:
            parents = self.parents[node]
            out[node] = frozenset(parents).union(*(out[parent] for parent in parents))
        return out

    @cached_property
    def descendants(self) -> dict[str, frozenset[str]]:
        """All direct and indirect effects of each node."""
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
    # A networkx graph, or another that has its attributes; a class has them without being one.
    if hasattr(dag, "nodes") and hasattr(dag, "edges") and not isinstance(dag, type):
        if not getattr(dag, "is_directed", lambda: True)():
            raise InputError("dag", "an undirected graph", _DAG_FORMS)
        for node in _check_iterable(dag.nodes, f"nodes {short_repr(dag.nodes)}"):
            yield _node_name(node), None
        # The edges of a multigraph carry a key besides.
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
    """Return an iterable with a fixed order; raise for sets and for text."""
    single = isinstance(given, str | bytes | type) or not isinstance(given, Iterable)
    if single or (isinstance(given, np.ndarray) and not given.ndim):
        raise InputError("dag", got, _DAG_FORMS)
    if isinstance(given, set | frozenset):  # whose order is another in every process
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
