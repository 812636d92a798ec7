"""What is told of global recourse: a change, a row, a group of rows, two groups side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from suffice.audit.gaps import Gap, Share, adjusted, gap
from suffice.context.cost import LARGEST
from suffice.errors import InputError
from suffice.typing import Scalar
from suffice.wording import named, show

__all__ = [
    "GlobalChange",
    "GroupGap",
    "GroupRecourse",
    "Move",
    "RowRecourse",
    "Worth",
    "gaps_between",
    "group_of_rows",
    "worths_of",
]


@dataclass(frozen=True)
class Move:
    """What is asked of one column; whoever has it already changes nothing there."""

    column: str
    how: Literal["to", "at least", "at most"]
    value: Scalar

    @property
    def says(self) -> str:
        """In words."""
        how = "to" if self.how == "to" else f"to {self.how}"
        return f"{named(self.column)} {how} {show(self.value)}"


@dataclass(frozen=True)
class GlobalChange:
    """One change for many rows."""

    features: tuple[str, ...]
    moves: tuple[Move, ...]

    @property
    def says(self) -> str:
        """In words, on one line."""
        return ", ".join(move.says for move in self.moves)


@dataclass(frozen=True)
class RowRecourse:
    """One refused row: what each change costs it."""

    number: int
    """Among the rows given, counted from 0."""
    name: str
    group: str | None
    costs: tuple[float | None, ...]
    """By change; None where it is not allowed for this row or does not work."""
    own: float | None
    """The cheapest of all changes that were tried; None: none works for it."""

    def __post_init__(self) -> None:
        for cost in (*self.costs, self.own):
            if cost is not None and not 0 <= cost <= LARGEST:
                raise InputError("cost", cost, f"a number from 0 to {LARGEST:g}")

    @property
    def change(self) -> int | None:
        """Which change is its cheapest, counted from 0; None: none works for it."""
        known = [(cost, j) for j, cost in enumerate(self.costs) if cost is not None]
        return min(known)[1] if known else None

    @property
    def cost(self) -> float | None:
        """What its cheapest costs it."""
        return None if self.change is None else self.costs[self.change]


@dataclass(frozen=True)
class Worth:
    """What one change does: for how many, for how many that none before it helps, at what cost."""

    works: Share
    new: int
    taken: int
    """Rows whose cheapest it is."""
    mean_cost: float | None
    """Over the rows for which it works."""
    median_cost: float | None


@dataclass(frozen=True)
class GroupRecourse:
    """How one group of refused rows fares: how many can be helped, and what it costs them."""

    group: str | None
    """None: all."""
    covered: Share
    mean_cost: float | None
    """Of each row's cheapest among the changes, over the rows that are covered."""
    median_cost: float | None
    own_cost: float | None
    """Of the same rows, the mean of the cheapest among all changes tried."""
    hopeless: int
    """Rows for which no change that was tried works."""


@dataclass(frozen=True)
class GroupGap:
    """Two groups beside each other: the first less the second."""

    groups: tuple[str, str]
    covered: Gap
    p_adjusted: float
    cost: float | None
    """By how much more the first pays on average, among those covered; None: not both have any."""
    cost_interval: tuple[float, float] | None
    """Welch's 95% interval; None where a group has fewer than two covered, or costs do not vary."""


def worths_of(rows: Sequence[RowRecourse], changes: int) -> tuple[Worth, ...]:
    """What each of so many changes does, in their order."""
    known: set[int] = set()
    out = []
    for j in range(changes):
        costs = {row.number: cost for row in rows if (cost := row.costs[j]) is not None}
        taken = sum(row.change == j for row in rows)
        works, new = Share(len(costs), len(rows)), len(costs.keys() - known)
        out.append(Worth(works, new, taken, *_mean_and_median(costs.values())))
        known |= costs.keys()
    return tuple(out)


def group_of_rows(label: str | None, rows: Sequence[RowRecourse]) -> GroupRecourse:
    """How the rows of one group fare; of all where the label is None."""
    rows = [row for row in rows if label in (None, row.group)]
    covered = [row for row in rows if row.cost is not None]
    own, _ = _mean_and_median(row.own for row in covered)
    mean, median = _mean_and_median(row.cost for row in covered)
    hopeless = sum(row.own is None for row in rows)
    return GroupRecourse(label, Share(len(covered), len(rows)), mean, median, own, hopeless)


def gaps_between(
    groups: Sequence[GroupRecourse], rows: Sequence[RowRecourse]
) -> tuple[GroupGap, ...]:
    """Every two groups, the surest difference in who is covered first."""
    pairs = list(combinations(groups, 2))
    shares = [gap(one.covered, other.covered) for one, other in pairs]
    costs = {g.group: [r.cost for r in rows if r.group == g.group] for g in groups}
    found = [
        GroupGap((str(a.group), str(b.group)), g, p, *_burden(costs[a.group], costs[b.group]))
        for (a, b), g, p in zip(pairs, shares, adjusted(shares), strict=True)
    ]
    return tuple(sorted(found, key=lambda found: (found.p_adjusted, found.groups)))


def _burden(
    one: Iterable[float | None], other: Iterable[float | None]
) -> tuple[float | None, tuple[float, float] | None]:
    """By how much more the first pay on average, with Welch's interval where there is one.

    >>> more, (low, high) = _burden([1.0, 2.0, 3.0, 4.0], [1.0, 1.0, 2.0])
    >>> round(more, 3), round(low, 3), round(high, 3)
    (1.167, -0.788, 3.121)
    """
    a, b = (np.array([cost for cost in costs if cost is not None]) for costs in (one, other))
    if not len(a) or not len(b):
        return None, None
    more = float(a.mean() - b.mean())
    if min(len(a), len(b)) < 2:
        return more, None
    scale = max(a.max(), b.max()) or 1.0  # squares of large costs would be no numbers
    parts = np.array([(costs / scale).var(ddof=1) / len(costs) for costs in (a, b)])
    total = float(parts.sum())
    if not total:
        return more, None
    from scipy.special import stdtrit

    freedom = 1 / float(((parts / total) ** 2 / (np.array([len(a), len(b)]) - 1)).sum())
    room = float(stdtrit(freedom, 0.975) * total**0.5 * scale)
    return more, (more - room, more + room)


def _mean_and_median(costs: Iterable[float | None]) -> tuple[float | None, float | None]:
    known = [cost for cost in costs if cost is not None]
    return (float(np.mean(known)), float(np.median(known))) if known else (None, None)
