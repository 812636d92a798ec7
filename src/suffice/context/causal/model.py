"""`CausalModel`: draws, interventions and counterfactuals, with arrays of one value per row."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import partial
from math import prod
from types import MappingProxyType
from typing import Any, Literal, get_args

import numpy as np

from suffice.context.causal.fitting import FitMethod, MechanismFitter, make_mechanisms
from suffice.context.causal.graph import (
    NodeDomain,
    booleans_like,
    read_graph,
    read_node_columns,
    short_value,
    unequal_mask,
    value_array,
)
from suffice.context.causal.mechanisms import Mechanism, Support
from suffice.errors import InputError, did_you_mean
from suffice.formatting import plural
from suffice.randomness import Stream, generator
from suffice.tables.cells import missing_mask
from suffice.tables.conversion import as_table
from suffice.tables.table import Table
from suffice.typing import BoolVector, Reals, Values
from suffice.validation import call_user_function, check_choice, check_integer, check_name_list

MAX_DRAWN_ROWS = 10**8
"""Most rows or worlds drawn at once: more exhaust the memory."""
_MAX_WORLDS = 2**22


NoiseSource = Literal["kept", "sampled"]
"""Noise of effects: "kept", found from the row that is changed; "sampled", drawn afresh."""


class CausalModel:
    """Structural causal model, given or fitted to data: draws, interventions, counterfactuals.

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
        or `noisy(...)`; or a scikit-learn estimator to fit. For a node without causes: a
        distribution {value: probability}, a probability (of True), values to resample, a sampler of
        (n, rng). An instance of `suffice.context.causal.Mechanism` is taken as it is, but is not
        supported: that class may change in any release.
    fit
        How mechanisms that are not given are fitted. Nodes without causes: the observed values,
        drawn again. Numbers: a linear regression with Gaussian noise whose variance is the residual
        mean square; a node whose column holds integers gets whole numbers, rounded. Categories,
        "calibrated": class frequencies, a logistic regression or a forest with large leaves,
        whichever has the smallest cross-validated log loss; no label seen ever gets probability 0.
        Categories, "paper": a fully grown random forest's class probabilities, as in the paper's
        appendix; these are overconfident.
    categorical
        Columns of numbers that are labels. Columns of text and Booleans always are.
    random_state
        Seeds the estimators that are fitted here.
    """

    def __init__(
        self,
        dag: Any,
        data: Any = None,
        *,
        mechanisms: Mapping[str, Any] | None = None,
        fit: FitMethod = "calibrated",
        categorical: str | Iterable[str] = (),
        random_state: int = 0,
    ) -> None:
        graph = read_graph(dag)
        labelled = check_name_list("categorical", categorical)
        graph.require(labelled, "categorical")
        if mechanisms is not None and not isinstance(mechanisms, Mapping):
            raise InputError("mechanisms", mechanisms, "{node: mechanism}")
        seed = check_integer("random_state", random_state, least=0, most=2**32 - 1)
        fitter = MechanismFitter(check_choice("fit", fit, get_args(FitMethod)), seed)
        table = None if data is None else as_table(data)
        columns = read_node_columns(table, graph.nodes, labelled) if table is not None else {}
        in_data = table.names if table is not None else ()
        for name in labelled:
            if name not in in_data:
                raise InputError("categorical", repr(name), "columns of data")
        made = make_mechanisms(graph, columns, mechanisms or {}, fitter, in_data)
        domains = {
            node: columns[node].domain if node in columns else NodeDomain(node, mechanism.labels())
            for node, mechanism in made.items()
        }
        self._graph, self._mechanisms, self._domains = graph, made, domains

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
        nodes, edges = (plural(*pair) for pair in zip(sizes, ("node", "edge"), strict=True))
        return f"CausalModel({nodes}, {edges}: {'; '.join(shown[:12] + more)})"

    @property
    def nodes(self) -> tuple[str, ...]:
        """Names of all nodes, causes first; ties in the order of first mention."""
        return self._graph.nodes

    @property
    def mechanisms(self) -> Mapping[str, Mechanism]:
        """Mechanism of each node."""
        return MappingProxyType(self._mechanisms)

    def draw(self, n: int, rng: np.random.Generator) -> dict[str, Values]:
        """Draw the noise of every node for n rows."""
        rows = check_integer("n", n, most=MAX_DRAWN_ROWS)
        if not isinstance(rng, np.random.Generator):
            raise InputError("rng", rng, "a numpy.random.Generator")
        noise = {}
        for node, mechanism in self._mechanisms.items():
            argument = f"mechanisms[{node!r}]"
            drawn = np.asarray(
                call_user_function(argument, mechanism.draw, "a sampler of (n, rng)", rows, rng)
            )
            if drawn.shape[:1] != (rows,):
                got = f"a sampler that returned shape {drawn.shape}"
                raise InputError(argument, got, f"{rows} values for n={rows}")
            noise[node] = drawn
        return noise

    @property
    def enumerable(self) -> bool:
        """True if the noise has few enough states for `worlds` to list all of them."""
        supports = self._supports()
        states = [0 if s is None else len(s[0]) for s in supports.values()]
        return 0 not in states and prod(states) <= _MAX_WORLDS

    @property
    def has_random_effects(self) -> bool:
        """True if the noise of some node with causes has more than one state."""
        supports = self._supports()
        effects = [supports[node] for node in self.nodes if self._graph.parents[node]]
        return any(support is None or len(support[0]) > 1 for support in effects)

    def worlds(self) -> tuple[dict[str, Values], Reals]:
        """Return all states of the noise and their probabilities, where they are finitely many."""
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
        if prod(shape) > _MAX_WORLDS:
            raise InputError(
                "scm", f"{prod(shape):,} joint states of noise", f"at most {_MAX_WORLDS:,}"
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
        n = self._check_lengths(noise, "noise", self.nodes)
        given = self._read_do(do)
        values: dict[str, Values] = {}
        for node in self.nodes:
            if node in given:
                set_to = self._domains[node].broadcast(given[node], n)
                values[node] = booleans_like(
                    set_to, partial(self._first_value, node, values, noise[node])
                )
            else:
                values[node] = self._compute(node, values, noise[node])
        return values

    def abduct(
        self,
        values: Mapping[str, Values],
        rng: np.random.Generator,
        nodes: Collection[str] | None = None,
    ) -> dict[str, Values]:
        """Find noise that gives these rows, for all nodes or for some."""
        self._check_lengths(values, "values", self.nodes)
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
            noise[node] = np.asarray(
                call_user_function(argument, mechanism.abduct, allowed, parents, own, rng)
            )
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
        """Recompute the effects of an intervention in rows that already contain it.

        `fixed` marks, by node, the rows in which it was intervened on. Every other node with such
        an ancestor is computed again from its causes and its noise; the rest is returned unchanged.
        With `before`, the rows before the intervention, a node keeps its value where none of its
        causes really changed: noise that was found from those rows would give the same value, but
        for rounding.
        """
        # In topological order: whether a node moves depends on its parents, which come before it.
        out = dict(values)
        moved: dict[str, BoolVector] = {}
        for node in self.nodes:
            rows = np.zeros(len(out[node]), dtype=bool)
            for parent in self._graph.parents[node]:
                rows |= moved[parent]
            held = fixed.get(node, np.zeros(len(rows), dtype=bool))
            rows &= ~held
            if rows.any():
                out[node] = self._recompute(node, out, noise, rows)
            if before is None:
                moved[node] = rows | held
            else:
                moved[node] = (rows | held) & unequal_mask(out[node], before[node])
        return out

    def parents(self, node: str) -> tuple[str, ...]:
        """Return the direct causes of a node."""
        self._graph.require([node], "node")
        return self._graph.parents[node]

    def children(self, node: str) -> tuple[str, ...]:
        """Return the direct effects of a node."""
        self._graph.require([node], "node")
        return self._graph.children[node]

    def ancestors(self, node: str) -> frozenset[str]:
        """Return all direct and indirect causes of a node."""
        self._graph.require([node], "node")
        return self._graph.ancestors[node]

    def descendants(self, node: str) -> frozenset[str]:
        """Return all direct and indirect effects of a node."""
        self._graph.require([node], "node")
        return self._graph.descendants[node]

    @property
    def capabilities(self) -> dict[str, str]:
        """Describe for each node whether its noise can be recovered from a row.

        "exact": yes; "posterior": up to a draw from the noise that fits; "none": no.
        """
        return {node: str(m.recoverable) for node, m in self._mechanisms.items()}

    def sample(self, n: int, *, do: Mapping[str, Any] | None = None, random_state: int = 0) -> Any:
        """Draw n rows as a pandas frame, under an intervention."""
        import pandas as pd

        rows = check_integer("n", n, most=MAX_DRAWN_ROWS)
        rng = generator(check_integer("random_state", random_state, least=0), Stream.ROWS)
        return pd.DataFrame(self.solve(self.draw(rows, rng), do))

    def counterfactual(
        self,
        rows: Any,
        do: Mapping[str, Any],
        *,
        noise: NoiseSource = "kept",
        random_state: int = 0,
    ) -> Any:
        """Return the rows as they would have been under an intervention, in the same kind of frame.

        With noise "kept", each row's noise is found from the row (abduction), the nodes in `do` are
        set (action), and their effects are computed with that noise (prediction). With "sampled",
        effects get fresh noise, as in the paper's experiment. Nothing but the nodes in `do` and
        their descendants ever changes.

        A row does not determine the noise of a category: it is drawn from the noise that fits the
        row, and which labels go together before and after an intervention is an assumption. The
        `capabilities` of such a node are "posterior".

        >>> from suffice.context.causal import additive
        >>> scm = CausalModel([("dose", "pulse")], mechanisms={
        ...     "dose": {0: 0.5, 1: 0.5},
        ...     "pulse": additive(lambda dose: 70 - 10 * dose, std=5),
        ... })
        >>> scm.counterfactual({"dose": 0, "pulse": 74.0}, do={"dose": 1})
           dose  pulse
        0     1   64.0
        """
        kept = check_noise_source(noise) == "kept"
        rng = generator(check_integer("random_state", random_state, least=0), Stream.NOISE)
        if isinstance(rows, Mapping):
            import pandas as pd

            rows = pd.DataFrame([rows])
        given = self._read_do(do)
        table = as_table(rows, argument="rows")
        before = self.read(table, "rows")
        values = dict(before)
        for node, value in given.items():
            set_to = self._domains[node].broadcast(value, len(table))
            values[node] = booleans_like(set_to, partial(before.__getitem__, node))
        effects = frozenset[str]().union(*map(self.descendants, given)) - set(given)
        if kept:
            found, rows_before = self.abduct(before, rng, effects), before
        else:
            found, rows_before = self.draw(len(table), rng), None
        fixed = {node: np.ones(len(table), dtype=bool) for node in given}
        after = self.respond(values, fixed, found, rows_before)
        changed = {table.names.index(n): after[n] for n in self.nodes if n in effects or n in given}
        return _write_columns(table, changed, given)

    def read(self, table: Table, argument: str) -> dict[str, Values]:
        """Return the column of every node in a table, checked."""
        out = {}
        for node in self.nodes:
            if node not in table.names:
                hint = did_you_mean(node, table.names)
                raise InputError(argument, f"no column {node!r}", "a column for every node", hint)
            values = value_array(table.column(table.names.index(node)))
            out[node] = self._domains[node].check(values, argument)
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
            node: call_user_function(f"mechanisms[{node!r}]", mechanism.support, allowed)
            for node, mechanism in self._mechanisms.items()
        }

    @staticmethod
    def _check_lengths(given: object, argument: str, nodes: Collection[str]) -> int:
        """Return the number of rows; raise unless it is the same for each node."""
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

    def _first_value(self, node: str, values: Mapping[str, Values], noise: Values) -> Values:
        """Compute a node in the first row without intervention, to find its dtype."""
        first = {parent: values[parent][:1] for parent in self._graph.parents[node]}
        return self._call_mechanism(node, first, noise[:1])

    def _recompute(
        self, node: str, values: Mapping[str, Values], noise: Mapping[str, Values], rows: BoolVector
    ) -> Values:
        parents = {parent: values[parent][rows] for parent in self._graph.parents[node]}
        new = self._compute(node, parents, noise[node][rows])
        old = values[node]
        # Rows that are not recomputed keep their values exactly, so dtypes are only ever widened.
        kind = np.result_type(old, new) if old.dtype != object and new.dtype != object else object
        out = old.astype(kind)
        out[rows] = new
        return out

    def _compute(self, node: str, values: Mapping[str, Values], noise: Values) -> Values:
        """Compute a node by its mechanism; raise unless all values are finite."""
        out = self._call_mechanism(node, values, noise)
        wrong = missing_mask(out)
        if out.dtype.kind == "f":
            wrong |= np.abs(out) >= (2.0**63 if self._domains[node].integer else np.inf)
        if wrong.any():
            got = (
                f"a mechanism that gave {short_value(out[np.argmax(wrong)])} in row "
                f"{np.argmax(wrong)}"
            )
            raise InputError(f"mechanisms[{node!r}]", got, "a value, or a finite number")
        if self._domains[node].integer and out.dtype.kind == "f":
            out = np.rint(out).astype(np.int64)
        return out

    def _call_mechanism(self, node: str, values: Mapping[str, Values], noise: Values) -> Values:
        """Call a mechanism and check that it returns one value per row."""
        argument = f"mechanisms[{node!r}]"
        allowed = "a function of whole arrays: &, |, ~ and np.where, not and, or, not and if"
        parents = {parent: values[parent] for parent in self._graph.parents[node]}
        with np.errstate(all="ignore"):  # its result is checked below
            out = call_user_function(
                argument, self._mechanisms[node].value, allowed, parents, noise
            )
        answer = value_array(out)
        if answer.shape != noise.shape[:1]:
            got = f"a mechanism that returned shape {answer.shape}"
            raise InputError(argument, got, f"one value for each of the {len(noise)} rows")
        return answer

    def _verify(self, node: str, values: Mapping[str, Values], noise: Values) -> None:
        """Raise unless abducted noise gives back the values, rounding aside."""
        again = self._compute(node, values, noise)
        if again.dtype == object or values[node].dtype == object:
            wrong = unequal_mask(again, values[node])
        else:
            wrong = ~np.isclose(again.astype(float), values[node].astype(float))
        if wrong.any():
            row = int(np.argmax(wrong))
            raise InputError(
                "values",
                f"{node} = {short_value(values[node][row])} in row {row}, where its mechanism "
                "gives "
                f"{short_value(again[row])}",
                "rows that the model can produce",
                f"No noise of {node!r} explains this row.",
            )


def check_noise_source(noise: object) -> NoiseSource:
    """Return a checked value of the argument `noise`."""
    return check_choice("noise", noise, get_args(NoiseSource))


def _write_columns(table: Table, columns: Mapping[int, Values], do: Iterable[str]) -> Any:
    """Return the table with new columns; raise where a value set by the user would be rounded."""
    out = table.with_columns(columns, "rows")
    for node in do:
        j = table.names.index(node)
        lost = unequal_mask(out.column(j), columns[j])
        if lost.any() and not out.column(j).dtype.kind == "f":
            raise table.cast_error(j, columns[j][np.argmax(lost)], "do")
    return out.native
