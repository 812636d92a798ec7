"""One decision: the model's answer for one input, and all that is needed to ask about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

from suffice.context.cost import CostSpec, Prices
from suffice.context.hybrids import Context, Hybrids
from suffice.context.players import Players
from suffice.context.swap import SwapContext
from suffice.evaluate import Choice, Evaluator
from suffice.search.limits import Limits
from suffice.tables.table import Table
from suffice.target import OwnScore, Target
from suffice.typing import Values

__all__ = ["Decides", "Decision"]


@dataclass(frozen=True, eq=False)
class Decision:
    """An input with its outcome, the references it is contrasted with, and how they mix."""

    row: Table
    """The input, one row of the data's kind."""
    prediction: Any
    target: Target
    y: bool
    """Does the input have the target's outcome?"""
    data: Table
    answers: Values
    """The model's answer for each row of the data."""
    references: Table
    players: Players
    choice: Choice
    context: Context = field(default_factory=SwapContext)
    cost: CostSpec = None
    seed: int = 0
    scores: Values | None = None
    """(1, classes): the scores that came along with the prediction; None where none did."""
    shared_prices: Prices | None = None
    """What the references' values cost, where many inputs are held against the same references."""

    @cached_property
    def pool(self) -> Table:
        """The input in row 0 and the references below it."""
        return self.row.stack(self.references)

    @cached_property
    def prices(self) -> Prices:
        """What it costs to give the input the references' values."""
        shared = self.shared_prices
        return shared or Prices(self.data, self.references, self.players, self.cost)

    @cached_property
    def hybrids(self) -> tuple[Hybrids, Hybrids]:
        """The hybrids of the keep view and of the flip view: often the same."""
        return self.context.bind(self.pool, self.players, self.seed)

    @cached_property
    def own_score(self) -> OwnScore | None:
        """What stands beside the prediction: probability, score or value. Asked when first read."""
        return self.target.model.own_scores(self.row, [self.prediction], self.scores)[0]

    def evaluator(
        self, hybrids: Hybrids, limits: Limits | None = None, exhaustive: bool = True
    ) -> Evaluator:
        """Outcomes of hybrids; its note says why no faster evaluator serves."""
        limits = limits or Limits()
        return self.choice.evaluator(
            self.target, hybrids, self.y, limits.budget, exhaustive, limits.patience
        )


@runtime_checkable
class Decides(Protocol):
    """What an explainer is to those who only need its decisions."""

    @property
    def data(self) -> Table:
        """Where references come from."""
        ...

    @property
    def outcome(self) -> Any:
        """What counts as the outcome, as it was given; None: the input's own."""
        ...

    def decide(self, x: Any, outcome: Any = None) -> Decision:
        """The decision for one input; `outcome` in place of the explainer's own."""
        ...
