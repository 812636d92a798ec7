"""The rows of a chunk, explained together: what comes out for each is an answer or its error.

Inputs are predicted in one call, and what follows from a set of references (its codes, prices, and
places among a model's thresholds) is worked out once for all rows that share it: see `Decider` and
`Pool`. Each answer is what `explain` gives for the row alone. What may differ is how it came about:
the seconds, the rows predicted, the time of its making.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from suffice.context.pool import Rows
from suffice.decision import Decision
from suffice.errors import SufficeError
from suffice.explanation import Explanation
from suffice.explanation.explain import Asking
from suffice.tables import Table

__all__ = ["Explains", "explain_rows"]


class Explains(Protocol):
    """What an explainer is to those who explain many rows."""

    @property
    def asking(self) -> Callable[..., Asking]:
        """Checks what is asked of every row."""
        ...

    def decide_many(self, rows: Rows) -> list[Decision | SufficeError]:
        """The model's decision for each row."""
        ...

    def answer(self, decision: Decision, asking: Asking) -> Explanation:
        """Explain one of them."""
        ...


def explain_rows(
    explainer: Explains, rows: Sequence[Table], question: dict[str, Any]
) -> list[Explanation | SufficeError]:
    """One for each row, in order; the fault of one row is no other's."""
    if not len(rows):
        return []
    try:
        asking = explainer.asking(**question)
    except SufficeError as error:  # asked of all rows alike
        return [error] * len(rows)
    found: list[Explanation | SufficeError] = []
    for decision in explainer.decide_many(Rows.together(rows)):
        try:
            if isinstance(decision, SufficeError):
                raise decision
            found.append(explainer.answer(decision, asking))
        except SufficeError as error:
            found.append(error)
    return found
