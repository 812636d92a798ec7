"""Choosing the evaluator: the fastest that knows the model's shape, else the black box."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from suffice.context.hybrids import Hybrids
from suffice.context.swap import SwapHybrids
from suffice.errors import InputError
from suffice.evaluate.blackbox import BlackBox
from suffice.evaluate.protocol import Evaluator
from suffice.target import Target

__all__ = ["ENGINES", "Choice"]

ENGINES = ("auto", "blackbox", "additive", "trees")

_LEAST_BUDGET = 1024
"""An engine checks itself against the model on a few rows; below this they would be the budget."""

Maker = Callable[[Target, SwapHybrids, bool], Evaluator | str]


class Choice:
    """Evaluators for one model: what is read of it is read once.

    `engine` "auto" takes the first that serves; a name takes that engine or raises saying why it
    cannot.
    """

    def __init__(self, engine: str, model: Any) -> None:
        if engine not in ENGINES:
            raise InputError("engine", repr(engine), "one of " + ", ".join(ENGINES))
        self._engine = engine
        self._model = model
        self._trees: Any = None

    def evaluator(
        self,
        target: Target,
        hybrids: Hybrids,
        y: bool,
        budget: int | None = None,
        exhaustive: bool = True,
    ) -> Evaluator:
        """The fastest evaluator that serves; its note says why no faster one does."""
        reasons: list[str] = []
        if self._engine == "auto" and budget is not None and budget < _LEAST_BUDGET:
            reasons.append(f"a budget below {_LEAST_BUDGET} rows is left to the black box")
        elif self._engine != "blackbox" and not isinstance(hybrids, SwapHybrids):
            reasons.append("engines know hybrids whose values are swapped, not this context's")
            self._refuse(reasons)
        elif self._engine != "blackbox":
            assert isinstance(hybrids, SwapHybrids)
            for name, make in self._makers():
                if name == "trees" and not exhaustive:
                    reasons.append("trees: they are swept as a whole, and this search is bounded")
                    continue
                found = make(target, hybrids, y)
                if not isinstance(found, str):
                    return found
                reasons.append(f"{name}: {found}")
            self._refuse(reasons)
        # A budget is in rows, so each is asked for once whatever finding them costs.
        distinct = None if budget is None else True
        return BlackBox(target, hybrids, y, distinct, note="; ".join(reasons) or None)

    def _refuse(self, reasons: list[str]) -> None:
        """An engine that was asked for by name serves, or says why it cannot."""
        if self._engine != "auto":
            hint = "Use engine='auto' or 'blackbox'."
            got = f"{self._engine!r} ({reasons[-1]})"
            raise InputError("engine", got, "a model and a context that it knows", hint)

    def _makers(self) -> list[tuple[str, Maker]]:
        """Names and makers, the cheapest to try first."""
        makers: list[tuple[str, Maker]] = [("additive", self._additive), ("trees", self._of_trees)]
        return [(name, make) for name, make in makers if self._engine in ("auto", name)]

    def _additive(self, target: Target, hybrids: SwapHybrids, y: bool) -> Evaluator | str:
        from suffice.evaluate.additive import additive_engine

        return additive_engine(self._model, target, hybrids, y)

    def _of_trees(self, target: Target, hybrids: SwapHybrids, y: bool) -> Evaluator | str:
        from suffice.evaluate.trees import read_trees, tree_engine

        if self._trees is None:
            self._trees = read_trees(self._model, hybrids.pool.names)
        return tree_engine(self._trees, target, hybrids, y)
