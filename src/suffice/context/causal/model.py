"""A structural causal model: a DAG, and for each node how it comes about from its causes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Literal, get_args

import numpy as np

from suffice.checks import choice, names, whole
from suffice.context.causal.assign import make_mechanisms
from suffice.context.causal.domains import Domain, as_values, differs, read_columns, truths_like
from suffice.context.causal.equations import MOST_ROWS, Equations
from suffice.context.causal.graph import read_graph
from suffice.context.causal.learned import Fit, Fitter
from suffice.errors import InputError, did_you_mean
from suffice.randomness import Stream, generator
from suffice.tables.frames import as_table
from suffice.tables.table import Table
from suffice.typing import Values
from suffice.wording import count

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
        A frame with a column per node, from which the mechanisms not given are fitted.
    mechanisms
        For each node: a function of its causes by keyword, vectorised over arrays; `additive(...)`
        or `noisy(...)`; a scikit-learn estimator to fit. For a node without causes: a distribution
        {value: probability}, a probability (of True), values to resample, a sampler of (n, rng).
    fit
        How mechanisms that are not given are fitted. Nodes without causes: the observed values,
        drawn again. Numbers: a linear regression with Gaussian noise whose variance is the residual
        mean square; a node whose column holds integers gets whole numbers, rounded. Categories,
        "calibrated": class frequencies, a logistic regression or a forest with large leaves,
        whichever has the smallest cross-validated log loss; no label seen ever gets probability 0.
        Categories, "paper": a fully grown random forest's class probabilities, as in the paper's
        appendix; these are far too sure of themselves.
    categorical
        Columns of numbers that are labels. Columns of text and Booleans are so anyway.
    random_state
        Seeds the estimators that are fitted here.
    """

    def __init__(
        self,
        dag: Any,
        data: Any = None,
        *,
        mechanisms: Mapping[str, Any] | None = None,
        fit: Fit = "calibrated",
        categorical: str | Iterable[str] = (),
        random_state: int = 0,
    ) -> None:
        graph = read_graph(dag)
        labelled = names("categorical", categorical)
        graph.require(labelled, "categorical")
        if mechanisms is not None and not isinstance(mechanisms, Mapping):
            raise InputError("mechanisms", mechanisms, "{node: mechanism}")
        seed = whole("random_state", random_state, least=0, most=2**32 - 1)
        fitter = Fitter(choice("fit", fit, get_args(Fit)), seed)
        table = None if data is None else as_table(data)
        columns = read_columns(table, graph.nodes, labelled) if table is not None else {}
        in_data = table.names if table is not None else ()
        for name in labelled:
            if name not in in_data:
                raise InputError("categorical", repr(name), "columns of data")
        made = make_mechanisms(graph, columns, mechanisms or {}, fitter, in_data)
        domains = {
            node: columns[node].domain if node in columns else Domain(node, mechanism.labels())
            for node, mechanism in made.items()
        }
        super().__init__(graph, made, domains)

    @staticmethod
    def from_dowhy(model: Any) -> CausalModel:
        """Read a fitted model of `dowhy.gcm`."""
        from suffice.context.causal.dowhy import from_dowhy

        return from_dowhy(model)

    def __repr__(self) -> str:
        shown = [
            f"{node} ← {', '.join(parents)}" if parents else node
            for node, parents in self._graph.parents.items()
        ]
        more = [f"and {len(shown) - 12:,} more"] if len(shown) > 12 else []
        sizes = len(shown), sum(map(len, self._graph.parents.values()))
        nodes, edges = (count(*pair) for pair in zip(sizes, ("node", "edge"), strict=True))
        return f"CausalModel({nodes}, {edges}: {'; '.join(shown[:12] + more)})"

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

    def sample(self, n: int, *, do: Mapping[str, Any] | None = None, random_state: int = 0) -> Any:
        """Draw n rows as a pandas frame, under an intervention."""
        import pandas as pd

        rows = whole("n", n, most=MOST_ROWS)
        rng = generator(whole("random_state", random_state, least=0), Stream.ROWS)
        return pd.DataFrame(self.solve(self.draw(rows, rng), do))

    def counterfactual(
        self, rows: Any, do: Mapping[str, Any], *, noise: Noise = "kept", random_state: int = 0
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
        kept = read_noise(noise) == "kept"
        rng = generator(whole("random_state", random_state, least=0), Stream.NOISE)
        if isinstance(rows, Mapping):
            import pandas as pd

            rows = pd.DataFrame([rows])
        given = self._read_do(do)
        table = as_table(rows, argument="rows")
        before = self.read(table, "rows")
        values = dict(before)
        for node, value in given.items():
            set_to = self._domains[node].spread(value, len(table))
            values[node] = truths_like(set_to, partial(before.__getitem__, node))
        effects = frozenset[str]().union(*map(self.descendants, given)) - set(given)
        if kept:
            found, rows_before = self.abduct(before, rng, effects), before
        else:
            found, rows_before = self.draw(len(table), rng), None
        fixed = {node: np.ones(len(table), dtype=bool) for node in given}
        after = self.respond(values, fixed, found, rows_before)
        changed = {table.names.index(n): after[n] for n in self.nodes if n in effects or n in given}
        return _written(table, changed, given)

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


def read_noise(noise: object) -> Noise:
    """One of the two ways."""
    return choice("noise", noise, get_args(Noise))


def _written(table: Table, columns: Mapping[int, Values], do: Iterable[str]) -> Any:
    """The table with these columns; a value set by the user must not be rounded away."""
    out = table.with_columns(columns, "rows")
    for node in do:
        j = table.names.index(node)
        lost = differs(out.column(j), columns[j])
        if lost.any() and not out.column(j).dtype.kind == "f":
            raise table.misfit(j, columns[j][np.argmax(lost)], "do")
    return out.native
