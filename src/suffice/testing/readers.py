"""`check_reader`: a reader reproduces the model's outcomes exactly or reads nothing."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from suffice.context.hybrids import SwapHybrids
from suffice.context.players import make_players
from suffice.engines import (
    BlackBox,
    CubeEvaluator,
    EngineSelector,
    Evaluator,
    IdlePlayerEvaluator,
    LatticeEvaluator,
    MonotoneEvaluator,
)
from suffice.errors import InputError
from suffice.factors.lattice import masks_of_held
from suffice.models import wrap_model
from suffice.tables.cells import as_scalar
from suffice.tables.conversion import as_table
from suffice.tables.table import Table
from suffice.target import Target, event_for
from suffice.testing.assertions import errors_as_assertions, format_set, require, sample_sets
from suffice.typing import Counts, HeldSets, Outcomes, Reals
from suffice.validation import check_choice, check_integer

_SINGLE = 150
_CUBES = 60
_MOST_PLAYERS = 12
_ENGINES = "additive", "trees"


def check_reader(
    model: Any,
    rows: Any,
    *,
    engine: str,
    outcomes: Sequence[Any] = (None,),
    groups: Mapping[str, Sequence[str]] | None = None,
    seed: int = 0,
) -> int:
    """Check that a fitted model is read, and that each outcome equals the model's.

    Each outcome is tried with the first of the rows as the input and the others as references, and
    again with rows whose scores are within rounding of the decision boundary, which are searched
    for. The engine is compared with the model's predictions for all sets in one sweep, for lists of
    sets, for single hybrids, in bounds over cubes and in its idle players. A subclass that predicts
    differently must not be read. Returns the number of hybrids compared.

    Parameters
    ----------
    model
        A fitted model that a registered reader, or one of the package's own, is to read.
    rows
        An input and its references, up to 12 columns; with some numbers that are no whole ones, so
        that there is a boundary to come near to.
    engine
        "additive" or "trees": what the reader makes of the model.
    outcomes
        As in `Explainer(outcome=…)`; None is the predicted class.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from suffice import datasets
    >>> from suffice.testing import check_reader
    >>> X, y = datasets.loans(40)
    >>> X = X[["age", "income", "debt"]].astype(float)
    >>> check_reader(LogisticRegression().fit(X, y), X, engine="additive") > 300
    True
    """
    check_choice("engine", engine, _ENGINES)
    rng = np.random.default_rng(check_integer("seed", seed, least=0))
    table = as_table(rows, argument="rows")
    if not 1 < len(table.names) <= _MOST_PLAYERS or len(table) < 3:
        got = f"{len(table)} rows of {len(table.names)} columns"
        allowed = f"three rows or more of 2 to {_MOST_PLAYERS} columns"
        raise InputError("rows", got, allowed)
    if not list(outcomes):
        raise InputError("outcomes", outcomes, "one outcome or more")
    attributes = set(getattr(model, "__dict__", ()))
    compared = 0
    for outcome in outcomes:
        wrapped, answers = wrap_model(model, table)
        target = Target(wrapped, event_for(outcome, wrapped, answers[0]))
        near = rows_at_boundary(target, table, rng)
        for pool in (table,) if near is None else (table, near):
            case = _ReaderCheck(model, target, pool, groups, engine, rng)
            compared += case.check()
    planted = sorted(set(getattr(model, "__dict__", ())) - attributes)
    require(not planted, f"reading left {', '.join(planted)} on the user's model")
    _check_subclass(model, case)
    return compared


class _ReaderCheck:
    """Checks of one decision: outcomes by the engine compared with the model's predictions."""

    def __init__(
        self,
        model: Any,
        target: Target,
        pool: Table,
        groups: Mapping[str, Sequence[str]] | None,
        engine: str,
        rng: np.random.Generator,
    ) -> None:
        self.target = target
        self.hybrids = SwapHybrids(pool, make_players(pool, groups))
        self.y = bool(target(pool.take(np.array([0])))[0])
        self.rng = rng
        self.held = sample_sets(self.hybrids.d, rng)
        box = BlackBox(target, self.hybrids, self.y, distinct=False)
        self.truth = box.outcomes(self.held)
        self.name = engine
        self.what = f"{engine}, outcome {target.event.text!r}"
        self.engine = self.chosen(model)

    def chosen(self, model: Any) -> Evaluator:
        """Return the engine of a model; require that there is one."""
        selector = EngineSelector(self.name, model, self.hybrids.pool.names)
        try:
            return selector.make_evaluator(self.target, self.hybrids, self.y)
        except InputError as error:
            raise AssertionError(f"{self.what}: not read, {error}") from error

    def check(self) -> int:
        """Check every method of the engine; return the number of hybrids compared."""
        with errors_as_assertions(self.what):
            self._check_lists()
            if isinstance(self.engine, LatticeEvaluator):
                self._check_sweep(self.engine)
            if isinstance(self.engine, IdlePlayerEvaluator):
                self._check_idle(self.engine)
            if isinstance(self.engine, CubeEvaluator):
                self._check_cubes(self.engine)
            if isinstance(self.engine, MonotoneEvaluator):
                self._check_one_way(self.engine)
        note = self.engine.note
        require(note is None, f"{self.what}: the reading was given up: {note}")
        return int(self.truth.size)

    def _check_lists(self) -> None:
        engine, shares = self.engine, list[float]()
        n = self.hybrids.n
        require(engine.n == n, f"{self.what}: n is {engine.n}, with {n} references")
        self._compare(engine.outcomes(self.held, shares.append), "a list of sets")
        told = abs(sum(shares) - 1) < 1e-6
        require(told, f"{self.what}: the shares of the work told add up to {sum(shares):g}, not 1")
        subset, reference = (self.rng.integers(s, size=_SINGLE) for s in self.truth.shape)
        found = engine.outcomes_of_hybrids(self.held[subset], reference)
        for i in np.flatnonzero(found != self.truth[subset, reference]).tolist():
            self._wrong(int(subset[i]), int(reference[i]), bool(found[i]), "single hybrids")
        # Searches ask for no sets when a size has none left: an engine must not fail there.
        empty = engine.outcomes(self.held[:0])
        require(empty.shape == (0, n), f"{self.what}: of no sets, outcomes has shape {empty.shape}")

    def _check_sweep(self, engine: LatticeEvaluator) -> None:
        d, at, parts = self.hybrids.d, 0, []
        counted = np.concatenate([hits for _, hits in engine.sweep_counts()])
        for first, hits, bits in engine.sweep():
            require(first == at, f"{self.what}: a block begins at mask {first}, not {at}")
            part = np.unpackbits(bits, axis=1, count=engine.n).astype(bool)
            alike = np.array_equal(part.sum(axis=1), hits)
            alike &= np.array_equal(counted[at : at + len(hits)], hits)
            require(alike, f"{self.what}: counts, hits and outcomes of a sweep differ")
            at += len(hits)
            parts.append(part)
        require(at == 1 << d, f"{self.what}: a sweep gives {at} of {1 << d} sets")
        swept = np.concatenate(parts)
        self._compare(swept[masks_of_held(self.held)], "a sweep")

    def _check_idle(self, engine: IdlePlayerEvaluator) -> None:
        for player in engine.idle_players():
            without, other = self._toggled(player)
            moved = self.truth[without] != self.truth[other]
            name = self.hybrids.players.names[player]
            require(not moved.any(), f"{self.what}: {name!r} is called idle, and moves an outcome")

    def _check_one_way(self, engine: MonotoneEvaluator) -> None:
        for player in np.flatnonzero(engine.never_helps()).tolist():
            without, other = self._toggled(player)
            helped = self.truth[other] & ~self.truth[without]
            name = self.hybrids.players.names[player]
            require(not helped.any(), f"{self.what}: {name!r} never helps, it says, and does")

    def _toggled(self, player: int) -> tuple[Counts, Counts]:
        """Return the positions of the tried sets without a player, and of the same sets with it."""
        # Of many players only a sample of sets is tried: pairs are found by their masks.
        masks = masks_of_held(self.held)
        place = {mask: i for i, mask in enumerate(masks.tolist())}
        pairs = [
            (place[mask], place[mask | 1 << player])
            for mask in place
            if not mask >> player & 1 and mask | 1 << player in place
        ]
        without, other = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        return without, other

    def _check_cubes(self, engine: CubeEvaluator) -> None:
        d = self.hybrids.d
        role = self.rng.integers(3, size=(_CUBES, d))
        role[:5] = role[:5] % 2  # cubes that are one set
        held, freed = role == 0, role == 1
        surely, may = engine.bound_cubes(held, freed)
        # A cube is all sets that hold some players and replace others. Bounds may be loose, but
        # never wrong: what surely holds must hold for every tried set inside it.
        for cube in range(_CUBES):
            inside = (self.held >= held[cube]).all(axis=1) & ~(self.held & freed[cube]).any(axis=1)
            if not inside.any():
                continue
            every, some = self.truth[inside].all(axis=0), self.truth[inside].any(axis=0)
            told = f"{self.what}: of the sets that hold {self._named(held[cube])} and replace "
            told += self._named(freed[cube])
            require(not (surely[cube] & ~every).any(), f"{told}, not all surely have the outcome")
            require(not (some & ~may[cube]).any(), f"{told}, some have the outcome that none may")
        reach = engine.leverage()
        shape = self.hybrids.n, d
        require(reach.shape == shape, f"{self.what}: leverage has shape {reach.shape}, not {shape}")

    def _compare(self, found: Outcomes, way: str) -> None:
        for s, r in np.argwhere(found != self.truth).tolist():
            self._wrong(s, r, bool(found[s, r]), way)

    def _wrong(self, subset: int, reference: int, found: bool, way: str) -> None:
        """Raise unless the model's predictions of this row differ from batch to batch."""
        # A matrix product may round a row otherwise in another batch; then no outcome is wrong.
        row = self.hybrids.rows(self.held[subset][None], np.array([reference]))
        alone = bool(self.target(row)[0]) == self.y
        if alone != bool(self.truth[subset, reference]):
            return
        raise AssertionError(
            f"{self.what}: asked for {way}, holding {self._named(self.held[subset])} with "
            f"reference {reference} is read to {'have' if found else 'lack'} the input's outcome; "
            f"the model says otherwise of {dict(zip(row.names, _row_values(row), strict=True))}"
        )

    def _named(self, held: HeldSets) -> str:
        return format_set(held, self.hybrids.players.names)


def _row_values(row: Table) -> list[Any]:
    return [as_scalar(row.cell(0, j)) for j in range(len(row.names))]


def _check_subclass(model: Any, case: _ReaderCheck) -> None:
    """Require that a subclass is not read as if it were the class itself."""
    kind = type(model)
    try:
        other = copy.copy(model)
        other.__class__ = type(kind.__name__, (kind,), {"__module__": __name__})
    except TypeError:
        return  # a class that cannot be inherited from
    try:
        case.chosen(other)
    except AssertionError:
        return
    raise AssertionError(
        f"{case.what}: a subclass of {kind.__name__} is read, though it may predict as it likes"
    )


# Rows within a rounding of where a model decides otherwise, found by asking it alone.


_PAIRS = 12
_HALVINGS = 80
"""From numbers a few thousand apart to neighbours in float64."""


def rows_at_boundary(target: Target, rows: Table, rng: np.random.Generator) -> Table | None:
    """Return an input at the decision boundary, others on both sides, then the rows; or None."""
    floats = [j for j in range(len(rows.names)) if rows.column(j).dtype.kind == "f"]
    if not floats:
        return None
    whole = np.isfinite(np.stack([rows.column(j) for j in floats], axis=1)).all(axis=1)
    outcome = target(rows)
    having, lacking = np.flatnonzero(outcome & whole), np.flatnonzero(~outcome & whole)
    if not (len(having) and len(lacking)):
        return None
    starts, ends = (rng.choice(side, size=_PAIRS) for side in (having, lacking))
    ways = (_find_turn(target, rows, *pair, rng) for pair in zip(starts, ends, strict=True))
    turns = [(sides, column) for sides, column in ways if column in floats]
    if not turns:
        return None
    columns = np.array([column for _, column in turns])
    with_it, without = (rows.gather(np.stack([s[i] for s, _ in turns])) for i in (0, 1))
    has, lacks = _cells_at(with_it, columns), _cells_at(without, columns)
    # Bisect all pairs at once, until no number of the column's dtype lies between the two sides.
    for _ in range(_HALVINGS):
        tried = _with_values(with_it, columns, has / 2 + lacks / 2)
        middle = _cells_at(tried, columns)  # as the column rounds it
        open_ = (middle != has) & (middle != lacks)
        if not open_.any():
            break
        there = target(tried)
        has = np.where(there & open_, middle, has)
        lacks = np.where(~there & open_, middle, lacks)
    return _with_values(with_it, columns, has).stack(_with_values(with_it, columns, lacks), rows)


def _find_turn(
    target: Target, rows: Table, start: int, end: int, rng: np.random.Generator
) -> tuple[Counts, int]:
    """Find where the outcome turns between two rows: rows on both sides, and the column."""
    # Walk from the first row to the second, one column at a time in random order. The outcome
    # differs at the ends, so some single step changes it.
    d = len(rows.names)
    order = rng.permutation(d)
    steps = np.full((d + 1, d), start)
    for step, column in enumerate(order.tolist()):
        steps[step + 1 :, column] = end
    turn = int(np.argmin(target(rows.gather(steps))))  # the first without; the last one lacks it
    return steps[turn - 1 : turn + 1], int(order[turn - 1])


def _with_values(rows: Table, columns: Counts, values: Reals) -> Table:
    """Return the rows, each with a new value in one column."""
    made = {}
    for column in np.unique(columns).tolist():
        cells = rows.column(column).copy()
        here = columns == column
        cells[here] = values[here]
        made[column] = cells
    return rows.with_columns(made, "rows")


def _cells_at(rows: Table, columns: Counts) -> Reals:
    cells = (rows.column(int(column))[i] for i, column in enumerate(columns))
    return np.array([float(cell) for cell in cells])
