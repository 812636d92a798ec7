"""Choosing the evaluator: the fastest that knows the model's shape, else the black box."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.checks import choice
from suffice.context.hybrids import Hybrids
from suffice.context.swap import SwapHybrids
from suffice.errors import InputError
from suffice.evaluate.blackbox import BlackBox
from suffice.evaluate.protocol import Evaluator, Unreadable
from suffice.tables.table import Table
from suffice.target import Target
from suffice.typing import Values
from suffice.wording import listed

if TYPE_CHECKING:
    from suffice.evaluate.trees import TreeEngine, TreeModel

__all__ = ["ENGINES", "Choice", "asking_seconds"]

ENGINES = ("auto", "blackbox", "additive", "trees")

_TRIED = {"auto": ("additive", "trees"), "blackbox": ()}
"""The engines tried, the cheapest to try first; a name by itself means that one."""

_LEAST_BUDGET = 1024
"""An engine checks itself against the model on a few rows; below this they would be the budget."""

_WORTH_IT = 0.005
"""Seconds that asking the model must save, by which any guess may be off."""

_SECONDS_PER_HYBRID = 5e-8
"""What finding the distinct ones costs the black box."""

_QUICK = 0.2
"""Seconds of asking below which a call's own start is looked at."""

_LEAST_SHARE = 0.05
"""Of a call, its rows take at least this part."""

_MOST_SWEPT = 30
"""With more players no search is a sweep."""


class Choice:
    """Evaluators for one model and the columns of its table: what is read of it is read once.

    `engine` "auto" takes the first that serves, unless all hybrids are wanted and asking the model
    about them is faster; a name takes that engine or raises saying why it cannot.
    """

    def __init__(self, engine: str, model: Any, columns: tuple[str, ...]) -> None:
        self.engine = choice("engine", engine, ENGINES)
        self.model = model
        self._columns = columns
        self._read: dict[str, Any] = {}
        self._not_read: dict[str, str] = {}
        self._pays: dict[tuple[Any, ...], bool] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Sent without what was read of the model, which is read again."""
        return self.__dict__ | {"_read": {}, "_not_read": {}, "_pays": {}}

    @property
    def works_row_by_row(self) -> bool:
        """Does a row get the same numbers, to the last bit, whatever rows are asked about with it?

        Known of trees, whose leaves are added up for each row by itself, in one order.
        """
        if "trees" not in _TRIED.get(self.engine, (self.engine,)):
            return False
        try:
            return self._trees() is not None
        except Unreadable:
            return False

    def evaluator(
        self,
        target: Target,
        hybrids: Hybrids,
        y: bool,
        budget: int | None = None,
        exhaustive: bool = True,
        patience: float | None = None,
    ) -> Evaluator:
        """The fastest evaluator that serves; its note says why no faster one does."""
        reasons: dict[str, list[str]] = {}
        for name in _TRIED.get(self.engine, (self.engine,)):
            try:
                swapped = self._suited(hybrids, budget)
                return self._make(name, target, swapped, y, exhaustive)
            except Unreadable as reason:
                reasons.setdefault(str(reason), []).append(name)
        note = "; ".join(f"{listed(names)}: {reason}" for reason, names in reasons.items())
        if self.engine not in _TRIED:
            hint = "Use engine='auto' or 'blackbox'."
            got = f"{self.engine!r} ({next(iter(reasons))})"
            raise InputError("engine", got, "a model and a context that it knows", hint)
        # A bounded search comes back to rows that it asked for, and a budget is in rows: each is
        # then asked for once whatever finding it costs.
        distinct = None if budget is None and exhaustive else True
        return BlackBox(target, hybrids, y, distinct, note=note or None, patience=patience)

    def shares(self, rows: Table) -> Values | None:
        """(rows, classes): a forest's own class shares without a call of it; None: ask the model.

        They are told once its trees were read and its additions found to be repeated to the bit.
        """
        trees: TreeModel | None = self._read.get("trees")
        return None if trees is None else trees.shares(rows)

    def _suited(self, hybrids: Hybrids, budget: int | None) -> SwapHybrids:
        """The hybrids, if this is a question for engines at all."""
        if self.engine == "auto" and budget is not None and budget < _LEAST_BUDGET:
            raise Unreadable(f"a budget below {_LEAST_BUDGET:,} rows is left to the black box")
        if not isinstance(hybrids, SwapHybrids):
            raise Unreadable("only hybrids whose values are swapped are known, not this context's")
        return hybrids

    def _make(
        self, name: str, target: Target, hybrids: SwapHybrids, y: bool, exhaustive: bool
    ) -> Evaluator:
        """An engine for one question; `Unreadable` where it does not serve."""
        if name == "additive":
            from suffice.evaluate.additive import additive_engine, read_additive

            return additive_engine(self._shape(name, read_additive), target, hybrids, y)
        from suffice.evaluate.trees import TreeEngine

        engine = TreeEngine(self._trees(), target, hybrids, y)
        if self.engine == "auto" and exhaustive and hybrids.d <= _MOST_SWEPT:
            self._check_pace(engine, target, hybrids)
        return engine

    def _trees(self) -> TreeModel:
        from suffice.evaluate.trees import TreeModel, read_trees

        found = self._shape("trees", lambda *given: TreeModel(read_trees(*given)))
        assert isinstance(found, TreeModel)
        return found

    def _check_pace(self, engine: TreeEngine, target: Target, hybrids: SwapHybrids) -> None:
        """Raise `Unreadable` where a sweep takes longer than asking the model about every row."""
        from suffice.evaluate.trees.blocks import find_numba, numba_is_loaded

        case = (hybrids.d, hybrids.n, target.event.kind)
        pays = self._pays.get(case)
        if pays is None:
            pays = engine.sweeps_within(asking_seconds(target, hybrids) + _WORTH_IT)
            # Numba is loaded once enough time was spent without: until then nothing is final.
            if pays or numba_is_loaded() or not find_numba():
                self._pays[case] = pays
        if not pays:
            raise Unreadable("asking the model about every row is faster here")

    def _shape(self, name: str, read: Callable[[Any, tuple[str, ...]], Any]) -> Any:
        """What an engine reads of the model, or again why it cannot."""
        if name in self._not_read:
            raise Unreadable(self._not_read[name])
        if name not in self._read:
            try:
                self._read[name] = read(self.model, self._columns)
            except Unreadable as reason:
                self._not_read[name] = str(reason)
                raise
        return self._read[name]


def asking_seconds(target: Target, hybrids: SwapHybrids) -> float:
    """About what the black box would take for all hybrids.

    How fast a model is was told by its answers on the data, a call's own start included. That may
    be most of it for a model as quick as one tree, so there a call for one row tells the start.
    """
    model = target.model
    per_row = model.seconds_per_row
    if per_row is None:
        return inf
    apart = (hybrids.codes[1:] != hybrids.codes[0]).sum(axis=1)
    rows = float(np.exp2(apart).sum())
    values = float(np.prod(hybrids.codes.max(axis=0) + 1.0))
    rows = min(rows, values)
    if rows * per_row < _QUICK:
        started = perf_counter()
        target(hybrids.pool.take(np.array([0])))
        start = perf_counter() - started
        per_row = max(per_row - start / model.rows_timed, _LEAST_SHARE * per_row)
    return rows * per_row + hybrids.n * 2.0**hybrids.d * _SECONDS_PER_HYBRID
