"""The user's DAG: who causes whom, in an order in which causes come first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np

from suffice.errors import InputError, did_you_mean, shorten

__all__ = ["Graph", "read_graph"]

_ALLOWED = "a networkx.DiGraph, a list of (cause, effect) pairs, or {node: [its causes]}"


@dataclass(frozen=True)
class Graph:
    """Nodes in topological order, ties by first mention, and the parents of each."""

    nodes: tuple[str, ...]
    parents: Mapping[str, tuple[str, ...]]

    @cached_property
    def children(self) -> dict[str, tuple[str, ...]]:
        """The nodes that each node is a parent of."""
        return {n: tuple(c for c in self.nodes if n in self.parents[c]) for n in self.nodes}

    @cached_property
    def ancestors(self) -> dict[str, frozenset[str]]:
        """All causes of each node, near and far."""
        out: dict[str, frozenset[str]] = {}
        for node in self.nodes:
            parents = self.parents[node]
            out[node] = frozenset(parents).union(*(out[parent] for parent in parents))
        return out

    @cached_property
    def descendants(self) -> dict[str, frozenset[str]]:
        """All effects of each node, near and far."""
        return {n: frozenset(m for m in self.nodes if n in self.ancestors[m]) for n in self.nodes}

    def require(self, names: Iterable[object], argument: str) -> None:
        """Raise for a name that no node has."""
        for name in names:
            if not isinstance(name, str) or name not in self.parents:
                hint = did_you_mean(name, self.nodes) if isinstance(name, str) else ""
                raise InputError(
                    argument, f"unknown node {shorten(name)}", "nodes of the DAG", hint
                )


def read_graph(dag: Any) -> Graph:
    """Read a DAG in any of the forms that users have it in.

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
        raise InputError("dag", "no nodes", _ALLOWED)
    order = _ordered(parents)
    return Graph(order, {node: tuple(parents[node]) for node in order})


def _mentions(dag: Any) -> Iterator[tuple[str, str | None]]:
    """(node, None) for a node that is named, (effect, cause) for an edge; in order of mention."""
    if isinstance(dag, Mapping):
        for node, causes in dag.items():
            name = _name(node)
            yield name, None
            for cause in _several(causes, f"{name!r}: {shorten(causes)}"):
                yield name, _name(cause)
        return
    edges: Any = dag
    # A networkx graph, or another that has its attributes; a class has them without being one.
    if hasattr(dag, "nodes") and hasattr(dag, "edges") and not isinstance(dag, type):
        if not getattr(dag, "is_directed", lambda: True)():
            raise InputError("dag", "an undirected graph", _ALLOWED)
        for node in _several(dag.nodes, f"nodes {shorten(dag.nodes)}"):
            yield _name(node), None
        # The edges of a multigraph carry a key besides.
        edges = [tuple(edge)[:2] for edge in _several(dag.edges, f"edges {shorten(dag.edges)}")]
    if isinstance(edges, np.ndarray) and edges.dtype.kind not in "OUT":
        hint = "A matrix says nothing about names: list its edges."
        raise InputError("dag", f"an array of {edges.dtype}", _ALLOWED, hint)
    for edge in _several(edges, shorten(dag)):
        ends = list(edge) if isinstance(edge, list | tuple | np.ndarray) else []
        if len(ends) == 3 and isinstance(ends[2], Mapping):
            ends.pop()  # attributes, as networkx lists them
        if len(ends) != 2:
            raise InputError("dag", f"{shorten(edge)} as an edge", _ALLOWED)
        cause, effect = map(_name, ends)
        yield cause, None
        yield effect, cause


def _several(given: Any, got: str) -> Iterable[Any]:
    """Something to go through, always in the same order; text is one thing, not its letters."""
    single = isinstance(given, str | bytes | type) or not isinstance(given, Iterable)
    if single or (isinstance(given, np.ndarray) and not given.ndim):
        raise InputError("dag", got, _ALLOWED)
    if isinstance(given, set | frozenset):  # whose order is another in every process
        return sorted(given, key=str)
    found: Iterable[Any] = given
    return found


def _name(given: object) -> str:
    if isinstance(given, str | int | np.integer) and not isinstance(given, bool):
        return str(given)
    raise InputError("dag", f"{shorten(given)} as a node", "names of nodes: text, or whole numbers")


def _ordered(parents: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
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
