"""A structural causal model: a DAG, and for each node how it comes about from its causes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np

from suffice.context.causal.assign import make_mechanisms
from suffice.context.causal.columns import as_values, differs, read_columns
from suffice.context.causal.domains import find_domains, truths_like
from suffice.context.causal.equations import Equations
from suffice.context.causal.graph import read_graph
from suffice.errors import InputError, did_you_mean
from suffice.tables.frames import as_table
from suffice.tables.table import Table
from suffice.typing import Values

__all__ = ["CausalModel", "Noise", "read_noise"]

Noise = Literal["kept", "sampled"]
"""Where an effect's noise comes from: found from the row that is changed, or drawn afresh."""


class CausalModel(Equations):
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
        class probabilities. A node whose column holds integers gets whole numbers, rounded.
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
        graph = read_graph(dag)
        if isinstance(categorical, str):
            raise InputError("categorical", repr(categorical), "a list of columns")
        graph.require(categorical, "categorical")
        if mechanisms is not None and not isinstance(mechanisms, Mapping):
            raise InputError("mechanisms", mechanisms, "{node: mechanism}")
        table = None if data is None else as_table(data)
        columns = read_columns(table, graph.nodes, categorical) if table else {}
        names = table.names if table else ()
        made = make_mechanisms(graph, columns, mechanisms or {}, random_state, names)
        super().__init__(graph, made, find_domains(made, columns))

    @staticmethod
    def from_dowhy(model: Any) -> CausalModel:
        """Read a fitted model of `dowhy.gcm`."""
        from suffice.context.causal.dowhy import from_dowhy

        return from_dowhy(model)

    def __repr__(self) -> str:
        edges = sum(map(len, self._graph.parents.values()))
        return f"CausalModel({len(self.nodes)} nodes, {edges} edges: {', '.join(self.nodes)})"

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

    def sample(self, n: int, do: Mapping[str, Any] | None = None, random_state: int = 0) -> Any:
        """Draw n rows as a pandas frame, under an intervention."""
        import pandas as pd

        if n < 1:
            raise InputError("n", n, "a number of rows >= 1")
        return pd.DataFrame(self.solve(self.draw(n, np.random.default_rng(random_state)), do))

    def counterfactual(
        self, rows: Any, do: Mapping[str, Any], noise: Noise = "kept", random_state: int = 0
    ) -> Any:
        """What these rows would have been under an intervention, in a frame of the same kind.

        With noise "kept", each row's noise is found from the row (abduction), the nodes in `do` are
        set (action), and their effects are computed with that noise (prediction). With "sampled",
        effects get fresh noise, as in the paper's experiment. Nothing but the nodes in `do` and
        their descendants ever changes.

        A category's noise is not determined by a row: it is drawn from what fits, and which labels
        go together in two worlds is an assumption (`capabilities` says "posterior").

        >>> from suffice.context.causal import additive
        >>> scm = CausalModel([("dose", "pulse")], mechanisms={
        ...     "dose": {0: 0.5, 1: 0.5},
        ...     "pulse": additive(lambda dose: 70 - 10 * dose, std=5),
        ... })
        >>> scm.counterfactual({"dose": 0, "pulse": 74.0}, do={"dose": 1})
           dose  pulse
        0     1   64.0
        """
        read_noise(noise)
        if isinstance(rows, Mapping):
            import pandas as pd

            rows = pd.DataFrame([rows])
        self._graph.require(do, "do")
        table = as_table(rows, argument="rows")
        before, rng = self.read(table, "rows"), np.random.default_rng(random_state)
        values = dict(before)
        for node, value in do.items():
            given = self._domains[node].spread(value, len(table))
            values[node] = truths_like(given, partial(before.__getitem__, node))
        effects = frozenset[str]().union(*(self.descendants(node) for node in do)) - set(do)
        if noise == "kept":
            found, rows_before = self.abduct(before, rng, effects), before
        else:
            found, rows_before = self.draw(len(table), rng), None
        fixed = {node: np.ones(len(table), dtype=bool) for node in do}
        after = self.respond(values, fixed, found, rows_before)
        changed = {table.names.index(n): after[n] for n in self.nodes if n in effects or n in do}
        return _written(table, changed, do)

    def read(self, table: Table, argument: str) -> dict[str, Values]:
        """Every node's column of a table, checked."""
        out = {}
        for node in self.nodes:
            if node not in table.names:
                hint = did_you_mean(node, table.names)
                raise InputError(argument, f"no column {node!r}", "a column for every node", hint)
            values = as_values(table.column(table.names.index(node)))
            out[node] = self._domains[node].checked(values, argument)
        return out


def read_noise(noise: object) -> None:
    """Raise for anything but the two ways."""
    if noise not in ("kept", "sampled"):
        raise InputError("noise", repr(noise), "'kept' or 'sampled'")


def _written(table: Table, columns: Mapping[int, Values], do: Mapping[str, Any]) -> Any:
    """The table with these columns; a value set by the user must not be rounded away."""
    out = table.with_columns(columns)
    for node in do:
        j = table.names.index(node)
        lost = differs(out.column(j), columns[j])
        if lost.any() and not out.column(j).dtype.kind == "f":
            raise table.misfit(j, columns[j][np.argmax(lost)], "do")
    return out.native
