"""The vectorised core: noise to values and back, over columns of arrays, one value per row."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from math import prod
from typing import Any

import numpy as np

from suffice.context.causal.columns import as_values, differs
from suffice.context.causal.domains import Domain, truths_like
from suffice.context.causal.graph import Graph
from suffice.context.causal.mechanisms import Mechanism
from suffice.errors import InputError, SufficeError
from suffice.tables.table import plain
from suffice.typing import BoolVector, Reals, Values

__all__ = ["Equations"]

_MOST_WORLDS = 2**22


class Equations:
    """A mechanism and a domain for each node of a graph."""

    def __init__(
        self,
        graph: Graph,
        mechanisms: Mapping[str, Mechanism],
        domains: Mapping[str, Domain],
    ) -> None:
        self._graph, self._mechanisms, self._domains = graph, mechanisms, domains

    @property
    def nodes(self) -> tuple[str, ...]:
        """All nodes, causes first; ties in the order of first mention."""
        return self._graph.nodes

    def draw(self, n: int, rng: np.random.Generator) -> dict[str, Values]:
        """Draw the noise of every node for n rows."""
        return {node: m.draw(n, rng) for node, m in self._mechanisms.items()}

    def worlds(self) -> tuple[dict[str, Values], Reals]:
        """All states of the noise and their probabilities, where they are finitely many."""
        supports = {}
        for node, mechanism in self._mechanisms.items():
            support = mechanism.support()
            if support is None:
                raise InputError(
                    "scm",
                    f"{node!r}, whose noise has no finite number of states",
                    "a model in which every noise is a finite distribution",
                    "Use functions, noisy(..., noise={value: probability}), or a sample.",
                )
            supports[node] = support
        shape = tuple(len(values) for values, _ in supports.values())
        if prod(shape) > _MOST_WORLDS:
            raise InputError(
                "scm", f"{prod(shape):,} joint states of noise", f"at most {_MOST_WORLDS:,}"
            )
        places = np.unravel_index(np.arange(prod(shape)), shape)
        probability = np.ones(prod(shape))
        noise = {}
        for place, (node, (values, odds)) in zip(places, supports.items(), strict=True):
            noise[node] = np.asarray(values[place])
            probability *= odds[place]
        return noise, probability

    def solve(
        self, noise: Mapping[str, Values], do: Mapping[str, Any] | None = None
    ) -> dict[str, Values]:
        """Compute every node from the noise, under an intervention."""
        self._graph.require(do or {}, "do")
        n = len(noise[self.nodes[0]])
        values: dict[str, Values] = {}
        for node in self.nodes:
            if do is not None and node in do:
                given = self._domains[node].spread(do[node], n)
                values[node] = truths_like(given, partial(self._one, node, values, noise[node]))
            else:
                values[node] = self._computed(node, values, noise[node])
        return values

    def abduct(
        self,
        values: Mapping[str, Values],
        rng: np.random.Generator,
        nodes: Collection[str] | None = None,
    ) -> dict[str, Values]:
        """Find noise that gives these rows, for all nodes or for some."""
        noise = {}
        for node in self.nodes if nodes is None else [n for n in self.nodes if n in nodes]:
            mechanism = self._mechanisms[node]
            if mechanism.recoverable == "none":
                raise InputError(
                    "values",
                    f"{node!r}, whose noise cannot be recovered from a row",
                    "nodes whose mechanism can be inverted",
                    f"Give noisy(...) an inverse for {node!r}, or use noise='sampled'.",
                )
            parents = {parent: values[parent] for parent in self._graph.parents[node]}
            noise[node] = mechanism.abduct(parents, values[node], rng)
            if mechanism.verify:
                self._verify(node, values, noise[node])
        return noise

    def respond(
        self,
        values: Mapping[str, Values],
        fixed: Mapping[str, BoolVector],
        noise: Mapping[str, Values],
        before: Mapping[str, Values] | None = None,
    ) -> dict[str, Values]:
        """Let the effects of an intervention follow, in rows that it was already written into.

        `fixed` says per row which nodes were intervened on. Every other node with such an ancestor
        is computed anew from its causes and its noise; all the rest is returned untouched. With
        `before`, the rows as they were, a node none of whose causes really changed keeps its value:
        for noise that was found from those rows, it would be the same but for rounding.
        """
        out = dict(values)
        moved: dict[str, BoolVector] = {}
        for node in self.nodes:
            rows = np.zeros(len(out[node]), dtype=bool)
            for parent in self._graph.parents[node]:
                rows |= moved[parent]
            held = fixed.get(node, np.zeros(len(rows), dtype=bool))
            rows &= ~held
            if rows.any():
                out[node] = self._renewed(node, out, noise, rows)
            if before is None:
                moved[node] = rows | held
            else:
                moved[node] = (rows | held) & differs(out[node], before[node])
        return out

    def _one(self, node: str, values: Mapping[str, Values], noise: Values) -> Values:
        """What a node would be in the first row, if left alone: for its dtype."""
        first = {parent: values[parent][:1] for parent in self._graph.parents[node]}
        with np.errstate(all="ignore"):
            return self._computed(node, first, noise[:1])

    def _renewed(
        self, node: str, values: Mapping[str, Values], noise: Mapping[str, Values], rows: BoolVector
    ) -> Values:
        parents = {parent: values[parent][rows] for parent in self._graph.parents[node]}
        new = self._computed(node, parents, noise[node][rows])
        old = values[node]
        kind = np.result_type(old, new) if old.dtype != object and new.dtype != object else object
        out = old.astype(kind)
        out[rows] = new
        return out

    def _computed(self, node: str, values: Mapping[str, Values], noise: Values) -> Values:
        """A mechanism's answer, one value per row; whole where the data's numbers are."""
        parents = {parent: values[parent] for parent in self._graph.parents[node]}
        try:
            out = as_values(self._mechanisms[node].value(parents, noise))
        except SufficeError:
            raise
        except Exception as error:
            raise InputError(
                "mechanisms",
                f"a mechanism of {node!r} that raised {type(error).__name__}: {error}",
                "functions of whole arrays",
                "Use &, |, ~ and np.where rather than and, or, not and if.",
            ) from error
        if out.shape != noise.shape[:1]:
            raise InputError(
                "mechanisms",
                f"a mechanism of {node!r} that returned shape {out.shape}",
                f"one value for each of the {len(noise)} rows",
            )
        if self._domains[node].whole and out.dtype.kind == "f":
            out = np.rint(out).astype(np.int64)
        return out

    def _verify(self, node: str, values: Mapping[str, Values], noise: Values) -> None:
        """Does the noise found give the values it was found from, but for rounding?"""
        again = self._computed(node, values, noise)
        if again.dtype == object or values[node].dtype == object:
            wrong = differs(again, values[node])
        else:
            wrong = ~np.isclose(again.astype(float), values[node].astype(float))
        if wrong.any():
            row = int(np.argmax(wrong))
            raise InputError(
                "values",
                f"{node} = {plain(values[node][row])!r} in row {row}, where its mechanism gives "
                f"{plain(again[row])!r}",
                "rows that the model can produce",
                f"No noise of {node!r} explains this row.",
            )
