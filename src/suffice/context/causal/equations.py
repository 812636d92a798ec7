"""The vectorised core: noise to values and back, over columns of arrays, one value per row."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from math import prod
from types import MappingProxyType
from typing import Any

import numpy as np

from suffice.checks import ran, whole
from suffice.context.causal.domains import (
    Domain,
    as_values,
    differs,
    is_missing,
    shown,
    truths_like,
)
from suffice.context.causal.graph import Graph
from suffice.context.causal.mechanisms import Mechanism, Support
from suffice.errors import InputError
from suffice.typing import BoolVector, Reals, Values

__all__ = ["MOST_ROWS", "Equations"]

MOST_ROWS = 10**8
"""Rows or worlds that are drawn at once: more take the memory, and then the process."""
_MOST_WORLDS = 2**22


class Equations:
    """A mechanism and a domain for each node of a graph."""

    def __init__(
        self,
        graph: Graph,
        mechanisms: Mapping[str, Mechanism],
        domains: Mapping[str, Domain],
    ) -> None:
        self._graph, self._mechanisms, self._domains = graph, dict(mechanisms), domains

    @property
    def nodes(self) -> tuple[str, ...]:
        """All nodes, causes first; ties in the order of first mention."""
        return self._graph.nodes

    @property
    def mechanisms(self) -> Mapping[str, Mechanism]:
        """How each node comes about."""
        return MappingProxyType(self._mechanisms)

    def draw(self, n: int, rng: np.random.Generator) -> dict[str, Values]:
        """Draw the noise of every node for n rows."""
        rows = whole("n", n, most=MOST_ROWS)
        if not isinstance(rng, np.random.Generator):
            raise InputError("rng", rng, "a numpy.random.Generator")
        noise = {}
        for node, mechanism in self._mechanisms.items():
            argument = f"mechanisms[{node!r}]"
            drawn = np.asarray(ran(argument, mechanism.draw, "a sampler of (n, rng)", rows, rng))
            if drawn.shape[:1] != (rows,):
                got = f"a sampler that returned shape {drawn.shape}"
                raise InputError(argument, got, f"{rows} values for n={rows}")
            noise[node] = drawn
        return noise

    @property
    def enumerable(self) -> bool:
        """Are all states of the noise few enough to be listed by `worlds`?"""
        supports = self._supports()
        states = [0 if s is None else len(s[0]) for s in supports.values()]
        return 0 not in states and prod(states) <= _MOST_WORLDS

    def worlds(self) -> tuple[dict[str, Values], Reals]:
        """All states of the noise and their probabilities, where they are finitely many."""
        supports = {}
        for node, support in self._supports().items():
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
        n = self._length(noise, "noise", self.nodes)
        given = self._read_do(do)
        values: dict[str, Values] = {}
        for node in self.nodes:
            if node in given:
                set_to = self._domains[node].spread(given[node], n)
                values[node] = truths_like(set_to, partial(self._one, node, values, noise[node]))
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
        self._length(values, "values", self.nodes)
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
            allowed = "an inverse that takes whole arrays"
            argument, own = f"mechanisms[{node!r}]", values[node]
            noise[node] = np.asarray(ran(argument, mechanism.abduct, allowed, parents, own, rng))
            if noise[node].shape[:1] != own.shape:
                got = f"an inverse that returned shape {noise[node].shape}"
                raise InputError(argument, got, f"one noise for each of the {len(own)} rows")
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

    def _read_do(self, do: object) -> Mapping[str, Any]:
        given = {} if do is None else do
        if not isinstance(given, Mapping):
            raise InputError("do", do, "{node: value}")
        self._graph.require(given, "do")
        return given

    def _supports(self) -> dict[str, Support | None]:
        allowed = "a mechanism whose support() is None or (values, probabilities)"
        return {
            node: ran(f"mechanisms[{node!r}]", mechanism.support, allowed)
            for node, mechanism in self._mechanisms.items()
        }

    @staticmethod
    def _length(given: object, argument: str, nodes: Collection[str]) -> int:
        """How many rows there are, the same for each node; an error for anything else."""
        allowed = "{node: an array with a value per row}, for every node"
        if not isinstance(given, Mapping):
            raise InputError(argument, given, allowed)
        lengths = set()
        for node in nodes:
            if node not in given or np.ndim(given[node]) == 0:
                raise InputError(argument, f"no array for {node!r}", allowed)
            lengths.add(len(given[node]))
        if len(lengths) != 1:
            raise InputError(argument, f"arrays of lengths {sorted(lengths)}", allowed)
        return int(lengths.pop())

    def _one(self, node: str, values: Mapping[str, Values], noise: Values) -> Values:
        """What a node would be in the first row, if left alone: for its dtype."""
        first = {parent: values[parent][:1] for parent in self._graph.parents[node]}
        return self._answer(node, first, noise[:1])

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
        """A mechanism's answer, complete and finite; whole where the data's numbers are."""
        out = self._answer(node, values, noise)
        wrong = is_missing(out)
        if out.dtype.kind == "f":
            wrong |= np.abs(out) >= (2.0**63 if self._domains[node].whole else np.inf)
        if wrong.any():
            got = f"a mechanism that gave {shown(out[np.argmax(wrong)])} in row {np.argmax(wrong)}"
            raise InputError(f"mechanisms[{node!r}]", got, "a value, or a finite number")
        if self._domains[node].whole and out.dtype.kind == "f":
            out = np.rint(out).astype(np.int64)
        return out

    def _answer(self, node: str, values: Mapping[str, Values], noise: Values) -> Values:
        """What a mechanism says, one value per row."""
        argument = f"mechanisms[{node!r}]"
        allowed = "a function of whole arrays: &, |, ~ and np.where, not and, or, not and if"
        parents = {parent: values[parent] for parent in self._graph.parents[node]}
        with np.errstate(all="ignore"):  # what comes of it is checked
            out = ran(argument, self._mechanisms[node].value, allowed, parents, noise)
        answer = as_values(out)
        if answer.shape != noise.shape[:1]:
            got = f"a mechanism that returned shape {answer.shape}"
            raise InputError(argument, got, f"one value for each of the {len(noise)} rows")
        return answer

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
                f"{node} = {shown(values[node][row])} in row {row}, where its mechanism gives "
                f"{shown(again[row])}",
                "rows that the model can produce",
                f"No noise of {node!r} explains this row.",
            )
