"""Choosing the evaluator: the fastest that knows the model's shape, else the black box."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from suffice.checks import choice
from suffice.context.hybrids import Hybrids
from suffice.context.swap import SwapHybrids
from suffice.errors import InputError
from suffice.evaluate.blackbox import BlackBox
from suffice.evaluate.protocol import Evaluator, Unreadable
from suffice.target import Target
from suffice.wording import listed

__all__ = ["ENGINES", "Choice"]

ENGINES = ("auto", "blackbox", "additive", "trees")

_TRIED = {"auto": ("additive", "trees"), "blackbox": ()}
"""The engines tried, the cheapest to try first; a name by itself means that one."""

_LEAST_BUDGET = 1024
"""An engine checks itself against the model on a few rows; below this they would be the budget."""


class Choice:
    """Evaluators for one model and the columns of its table: what is read of it is read once.

    `engine` "auto" takes the first that serves; a name takes that engine or raises saying why it
    cannot.
    """

    def __init__(self, engine: str, model: Any, columns: tuple[str, ...]) -> None:
        self._engine = choice("engine", engine, ENGINES)
        self._model = model
        self._columns = columns
        self._read: dict[str, Any] = {}
        self._not_read: dict[str, str] = {}

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
        for name in _TRIED.get(self._engine, (self._engine,)):
            try:
                swapped = self._suited(hybrids, budget)
                return self._make(name, target, swapped, y)
            except Unreadable as reason:
                reasons.setdefault(str(reason), []).append(name)
        note = "; ".join(f"{listed(names)}: {reason}" for reason, names in reasons.items())
        if self._engine not in _TRIED:
            hint = "Use engine='auto' or 'blackbox'."
            got = f"{self._engine!r} ({next(iter(reasons))})"
            raise InputError("engine", got, "a model and a context that it knows", hint)
        # A bounded search comes back to rows that it asked for, and a budget is in rows: each is
        # then asked for once whatever finding it costs.
        distinct = None if budget is None and exhaustive else True
        return BlackBox(target, hybrids, y, distinct, note=note or None, patience=patience)

    def _suited(self, hybrids: Hybrids, budget: int | None) -> SwapHybrids:
        """The hybrids, if this is a question for engines at all."""
        if self._engine == "auto" and budget is not None and budget < _LEAST_BUDGET:
            raise Unreadable(f"a budget below {_LEAST_BUDGET:,} rows is left to the black box")
        if not isinstance(hybrids, SwapHybrids):
            raise Unreadable("only hybrids whose values are swapped are known, not this context's")
        return hybrids

    def _make(self, name: str, target: Target, hybrids: SwapHybrids, y: bool) -> Evaluator:
        """An engine for one question; `Unreadable` where it does not serve."""
        if name == "additive":
            from suffice.evaluate.additive import additive_engine, read_additive

            return additive_engine(self._shape(name, read_additive), target, hybrids, y)
        from suffice.evaluate.trees import TreeEngine, TreeModel, read_trees

        trees = self._shape(name, lambda *given: TreeModel(read_trees(*given)))
        return TreeEngine(trees, target, hybrids, y)

    def _shape(self, name: str, read: Callable[[Any, tuple[str, ...]], Any]) -> Any:
        """What an engine reads of the model, or again why it cannot."""
        if name in self._not_read:
            raise Unreadable(self._not_read[name])
        if name not in self._read:
            try:
                self._read[name] = read(self._model, self._columns)
            except Unreadable as reason:
                self._not_read[name] = str(reason)
                raise
        return self._read[name]
