"""What would give more than a search that is not complete: calls, and about how long they take.

Each is a call that the user can make as it stands. A few are told, the quickest complete ones
first: fewer players by joining columns that go together; the whole lattice by an engine; fewer
references; more time.
"""

from __future__ import annotations

from dataclasses import replace

from suffice.context.clusters import association, copies_among, join_close
from suffice.context.swap import SwapHybrids
from suffice.decision import Decision
from suffice.factors.lattice import Lattice
from suffice.search.limits import STREAMED_PLAYERS
from suffice.search.plan import PATIENCE, More, Narrowed, Plan

__all__ = ["with_more"]

_CALLS = 2
_LONGEST = 3600.0
"""Seconds: what takes longer is not worth telling."""
_LONGER = 6
"""Times: a longer time limit."""
_FEWEST_REFERENCES = 20
"""With fewer, shares are too coarse to speak of."""
_MOST_COLUMNS = 300
"""Comparing each two of more columns would take its own time."""


def with_more(plan: Plan, decision: Decision, narrowed: Narrowed) -> Plan:
    """The plan with what would give more, and with copies among the features."""
    calls: list[More] = []
    copies: tuple[tuple[str, ...], ...] = ()
    hybrids, data = narrowed.hybrids[0], decision.data
    table = isinstance(hybrids, SwapHybrids) and decision.context.is_swap
    whole = plan.limits.max_size is None
    if table and whole and len(data.names) <= _MOST_COLUMNS:
        close = association(data)
        copies = copies_among(data, close)
        if all(len(columns) == 1 for columns in decision.players.columns):
            groups = join_close(data.names, close).values()
            joined = sum(len(columns) - 1 for columns in groups)
            seconds = _of_players(plan, plan.players - joined)
            if joined and seconds <= PATIENCE:
                calls.append(More({"groups": "auto"}, seconds, complete=True))
    engine, seconds = plan.evaluator != "blackbox", plan.exhaustive_seconds
    if whole and engine and plan.players <= STREAMED_PLAYERS and seconds <= _LONGEST:
        calls.append(More({"search": "exhaustive"}, seconds, complete=True))
    few = int(plan.references * 0.8 * PATIENCE / max(seconds, 1e-9))
    if table and whole and _FEWEST_REFERENCES <= few < plan.references:
        calls.append(More({"n_references": few}, 0.8 * PATIENCE, complete=True))
    largest = plan.limits.max_size
    if largest is not None and not plan.limits.unasked and plan.limits.time_limit is None:
        calls.append(_larger(plan, largest + 1))
    elif plan.limits.budget is None:
        longer = _LONGER * plan.seconds
        calls.append(More({"time_limit": longer}, longer, complete=False))
    else:
        calls.append(More({"budget": _LONGER * plan.limits.budget}, _LONGER * plan.seconds, False))
    calls.sort(key=lambda more: (not more.complete, more.seconds))
    return replace(plan, more=tuple(calls[:_CALLS]), copies=copies)


def _of_players(plan: Plan, players: int) -> float:
    """What counting all sets of fewer players would take."""
    return max(0.1, plan.exhaustive_seconds * 2.0 ** (players - plan.players))


def _larger(plan: Plan, size: int) -> More:
    """Sets of one feature more."""
    lattice = Lattice(plan.players)
    before = sum(lattice.width(k) for k in range(size))
    seconds = plan.seconds * (before + lattice.width(size)) / before
    return More({"max_size": size}, seconds, complete=size >= plan.players)
