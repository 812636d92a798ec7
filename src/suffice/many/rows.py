"""The rows of a chunk, explained together: what comes out for each is an answer or its error.

Inputs are predicted in one call, and what follows from a set of references (its codes, prices, and
places among a model's thresholds) is worked out once for all rows that share it: see `Decider` and
`Pool`. A model that must be asked about every hybrid is asked about those of many rows together.
Each answer is what `explain` gives for the row alone. What may differ is how it came about: the
seconds, the rows predicted, the time of its making.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, Protocol

from suffice.context.pool import Rows
from suffice.decision import Decision
from suffice.errors import InputError, SufficeError
from suffice.evaluate.blackbox import BlackBox, ask_together
from suffice.explanation import Explanation
from suffice.explanation.explain import Asking, Prepared, prepare
from suffice.tables import Table

__all__ = ["Explains", "at_row", "explain_rows"]


class Explains(Protocol):
    """What an explainer is to those who explain many rows."""

    @property
    def asking(self) -> Callable[..., Asking]:
        """Checks what is asked of every row."""
        ...

    def decide_many(self, rows: Rows) -> list[Decision | SufficeError]:
        """The model's decision for each row."""
        ...

    def answer(
        self, decision: Decision, asking: Asking, ready: Prepared | None = None
    ) -> Explanation:
        """Explain one of them, which may be prepared."""
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
    decisions = explainer.decide_many(Rows.together(rows))
    ready = _asked_ahead(decisions, asking)
    for place, decision in enumerate(decisions):
        try:
            if isinstance(decision, SufficeError):
                raise decision
            found.append(explainer.answer(decision, asking, ready.pop(place, None)))
        except SufficeError as error:
            found.append(error)
    return found


def _asked_ahead(
    decisions: Sequence[Decision | SufficeError], asking: Asking
) -> dict[int, Prepared]:
    """Rows that the model itself is asked about, prepared, with the answers they will ask for.

    Only where all sets are counted and nothing limits that: a budget or a time is each row's own.
    And only where it is the model that is asked: what engines prepare takes memory, and they ask
    for next to nothing.
    """
    ready: dict[int, Prepared] = {}
    if not asking.question.limits.none or asking.how not in ("auto", "exhaustive"):
        return ready
    for place, decision in enumerate(decisions):
        if isinstance(decision, SufficeError) or not decision.context.is_swap:
            continue
        try:
            prepared = prepare(decision, asking)
        except SufficeError:  # told when its turn comes
            continue
        if not isinstance(prepared.evaluators[0], BlackBox):
            return ready | {place: prepared}
        ready[place] = prepared
    swept = (one for one in ready.values() if one.plan.way == "exhaustive")
    ask_together([e for one in swept for e in one.evaluators if isinstance(e, BlackBox)])
    return ready


def at_row(error: BaseException, number: int, question: Collection[str]) -> BaseException:
    """The error with its row; what is asked of all rows alike is no fault of one of them."""
    of_all = isinstance(error, InputError) and error.argument in question
    return error.at(f"row {number}") if isinstance(error, SufficeError) and not of_all else error
