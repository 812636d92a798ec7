"""A structural causal model: a DAG, and for each node how it comes about from its causes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from suffice.context.causal.assign import make_mechanisms
from suffice.context.causal.columns import as_values, differs, is_missing, read_columns
from suffice.context.causal.graph import read_graph
from suffice.context.causal.mechanisms import Discrete
from suffice.context.frames import as_table
from suffice.errors import InputError, SufficeError
from suffice.typing import BoolVector, Reals, Values

__all__ = ["CausalModel"]

_MOST_WORLDS = 2**22


class CausalModel:
    """Causes and effects among variables, written down or fitted: draws, interventions, what-ifs.

    >>> scm = CausalModel(
    ...     [("rain", "wet"), ("sprinkler", "wet")],
    ...     mechanisms={
    ...         "rain": 0.3,
    ...         "sprinkler": 0.5,
    ...         "wet": lambda rain, sprinkler: rain | sprinkler,
    ...     },
    ... )
    >>> scm.nodes
    ('rain', 'sprinkler', 'wet')
    >>> noise, probability = scm.worlds()
    >>> print(round(probability @ scm.solve(noise)["wet"], 9))
    0.65
    >>> print(round(probability @ scm.solve(noise, do={"sprinkler": False})["wet"], 9))
    0.3

    Parameters
    ----------
    dag
        A networkx.DiGraph, a list of (cause, effect) pairs, or {node: [its causes]}.
    data
        A frame with a column per node, from which the mechanisms not given are fitted: for nodes
        without causes the observed values, drawn again; for numbers a linear regression with
        Gaussian noise whose variance is the residual mean square; for categories a random forest's
        class probabilities.
    mechanisms
        For each node: a function of its causes by keyword, vectorised over arrays; `additive(...)`
        or `noisy(...)`; a scikit-learn estimator to fit. For a node without causes: a distribution
        {value: probability}, a probability (of True), values to resample, a sampler of (n, rng).
    categorical
        Columns of numbers that are labels. Columns of text and Booleans are so anyway.
    random_state
        Seeds the estimators that are fitted here.
    """

    def __init__(
        self,
        dag: Any,
        data: Any = None,
        mechanisms: Mapping[str, Any] | None = None,
        random_state: int = 0,
        categorical: Sequence[str] = (),
    ) -> None:
        self._graph = read_graph(dag)
        if isinstance(categorical, str):
            raise InputError("categorical", repr(categorical), "a list of columns")
        self._graph.require(categorical, "categorical")
        if mechanisms is not None and not isinstance(mechanisms, Mapping):
            raise InputError("mechanisms", mechanisms, "{node: mechanism}")
        self._columns = {}
        if data is not None:
            self._columns = read_columns(as_table(data), self.nodes, categorical)
        self._mechanisms = make_mechanisms(
            self._graph, self._columns, mechanisms or {}, random_state
        )

    def __repr__(self) -> str:
        edges = sum(map(len, self._graph.parents.values()))
        return f"CausalModel({len(self.nodes)} nodes, {edges} edges: {', '.join(self.nodes)})"

    @property
    def nodes(self) -> tuple[str, ...]:
        """All nodes, causes first; ties in the order of first mention."""
        return self._graph.nodes

    def parents(self, node: str) -> tuple[str, ...]:
        """Its direct causes."""
        self._graph.require([node], "node")
        return self._graph.parents[node]

    def children(self, node: str) -> tuple[str, ...]:
        """Its direct effects."""
        self._graph.require([node], "node")
        return self._graph.children[node]

    def ancestors(self, node: str) -> frozenset[str]:
        """Its causes, near and far."""
        self._graph.require([node], "node")
        return self._graph.ancestors[node]

    def descendants(self, node: str) -> frozenset[str]:
        """Its effects, near and far."""
        self._graph.require([node], "node")
        return self._graph.descendants[node]

    @property
    def capabilities(self) -> dict[str, str]:
        """Can each node's noise be recovered from a row?

        "exact": yes; "posterior": up to a draw from the noise that fits; "none": no.
        """
        return {node: str(m.recoverable) for node, m in self._mechanisms.items()}

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
                values[node] = self._set(node, do[node], n)
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

    def sample(self, n: int, do: Mapping[str, Any] | None = None, random_state: int = 0) -> Any:
        """Draw n rows as a pandas frame, under an intervention."""
        import pandas as pd

        return pd.DataFrame(self.solve(self.draw(n, np.random.default_rng(random_state)), do))

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
        if node in self._columns and self._columns[node].whole and out.dtype.kind == "f":
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
                f"{node} = {values[node][row]!r} in row {row}, where its mechanism gives "
                f"{again[row]!r}",
                "rows that the model can produce",
                f"No noise of {node!r} explains this row.",
            )

    def _set(self, node: str, value: Any, n: int, argument: str = "do") -> Values:
        """A value, or one per row, that a node is set to."""
        given = as_values(value)
        if given.ndim > 1 or (given.ndim == 1 and len(given) != n):
            raise InputError(argument, f"{node}: shape {given.shape}", f"one value, or {n}")
        out = np.repeat(given, n) if given.ndim == 0 else given
        if is_missing(out).any():
            raise InputError(argument, f"a missing value for {node!r}", "complete values")
        self._require_known(node, out, argument)
        return out

    def _require_known(self, node: str, values: Values, argument: str) -> None:
        """Raise for a label that was never seen, or for text where there are numbers."""
        column = self._columns.get(node)
        if column is None:
            mechanism = self._mechanisms[node]
            known = mechanism.support()[0] if isinstance(mechanism, Discrete) else None
            if known is not None and known.dtype == object:
                from suffice.context.causal.columns import Labels

                Labels(known).codes(values, node, argument)
        elif column.labels is not None:
            column.labels.codes(values, node, argument)
        elif values.dtype.kind not in "biuf":
            raise InputError(argument, f"{node} = {values[0]!r}", f"numbers, as {node!r} holds")
        elif column.whole and (values != np.rint(values)).any():
            raise InputError(
                argument,
                f"{node} = {values[np.argmax(values != np.rint(values))]!r}",
                f"whole numbers, as {node!r} holds by its dtype",
            )
