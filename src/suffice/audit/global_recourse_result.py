"""`GlobalRecourse`, the result of `audit.global_recourse`: changes, rows, groups and gaps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from suffice.audit.set_cover import rows_needed
from suffice.context.cost import MAX_COST
from suffice.errors import InputError
from suffice.formatting import (
    format_cost,
    format_name,
    format_value,
    join_first,
    percent,
    plural,
    with_sign,
)
from suffice.inference import Gap, GroupGap, Share, adjustment_note, compare_groups
from suffice.results import Field, Panel, Result, Sheet, make_frame, make_panel
from suffice.typing import NaturalNumber, NonNegative, Proportion, Scalar


@dataclass(frozen=True)
class Move:
    """Requirement on one column; a row that meets it already does not change there."""

    column: str
    how: Literal["to", "at least", "at most"]
    value: Scalar

    @property
    def text(self) -> str:
        """The requirement as text."""
        how = "to" if self.how == "to" else f"to {self.how}"
        return f"{format_name(self.column)} {how} {format_value(self.value)}"


@dataclass(frozen=True)
class GlobalChange:
    """One change for many rows: requirements on some features."""

    features: tuple[str, ...]
    moves: tuple[Move, ...]

    @property
    def text(self) -> str:
        """The change as text, on one line."""
        return ", ".join(move.text for move in self.moves)


@dataclass(frozen=True)
class RowRecourse:
    """Costs of the changes for one refused row."""

    number: NaturalNumber
    """Position among the rows given, counted from 0."""
    name: str
    group: str | None
    costs: tuple[float | None, ...]
    """Cost of each change; None if it is not allowed for this row or does not work."""
    own: float | None
    """Cost of the cheapest of all changes tried; None if none works."""

    def __post_init__(self) -> None:
        for cost in (*self.costs, self.own):
            if cost is not None and not 0 <= cost <= MAX_COST:
                raise InputError("cost", cost, f"a number from 0 to {MAX_COST:g}")

    @property
    def change(self) -> int | None:
        """Number of its cheapest change, counted from 0; None if none works."""
        known = [(cost, j) for j, cost in enumerate(self.costs) if cost is not None]
        return min(known)[1] if known else None

    @property
    def cost(self) -> float | None:
        """Cost of its cheapest change."""
        return None if self.change is None else self.costs[self.change]


@dataclass(frozen=True)
class ChangeEffect:
    """Effect of one change: rows it works for, new rows it adds, and its costs."""

    works: Share
    new: int
    taken: int
    """Number of rows whose cheapest change it is."""
    mean_cost: float | None
    """Mean cost over the rows for which it works."""
    median_cost: float | None


@dataclass(frozen=True)
class GroupRecourse:
    """Share of one group of refused rows that a change works for, and their costs."""

    group: str | None
    """Label of the group; None for all rows."""
    covered: Share
    mean_cost: float | None
    """Mean cost of each row's cheapest change, over the covered rows."""
    median_cost: float | None
    own_cost: float | None
    """Mean cost of the cheapest of all changes tried, over the same rows."""
    hopeless: int
    """Number of rows for which no change that was tried works."""


@dataclass(frozen=True, kw_only=True)
class RecourseGap(GroupGap):
    """Differences between two groups of refused rows, the first minus the second."""

    cost: NonNegative | None
    """Difference of the mean costs over covered rows; None if one group has none."""
    cost_interval: tuple[float, float] | None
    """Welch's 95% interval; None with fewer than two covered rows in a group, or equal costs."""

    @property
    def covered(self) -> Gap:
        """Difference in the share of rows that a change works for."""
        return self.gap


def change_effects(rows: Sequence[RowRecourse], changes: int) -> tuple[ChangeEffect, ...]:
    """Return the effect of each change, in order."""
    known: set[int] = set()
    out = []
    for j in range(changes):
        costs = {row.number: cost for row in rows if (cost := row.costs[j]) is not None}
        taken = sum(row.change == j for row in rows)
        works, new = Share(len(costs), len(rows)), len(costs.keys() - known)
        out.append(ChangeEffect(works, new, taken, *_mean_and_median(costs.values())))
        known |= costs.keys()
    return tuple(out)


def group_recourse(label: str | None, rows: Sequence[RowRecourse]) -> GroupRecourse:
    """Return the recourse of one group of rows; of all rows if the label is None."""
    rows = [row for row in rows if label in (None, row.group)]
    covered = [row for row in rows if row.cost is not None]
    # Over the same rows as the cost paid, so that the two means can be compared.
    own, _ = _mean_and_median(row.own for row in covered)
    mean, median = _mean_and_median(row.cost for row in covered)
    hopeless = sum(row.own is None for row in rows)
    return GroupRecourse(label, Share(len(covered), len(rows)), mean, median, own, hopeless)


def recourse_gaps(
    groups: Sequence[GroupRecourse], rows: Sequence[RowRecourse]
) -> tuple[RecourseGap, ...]:
    """Compare every two groups; the smallest adjusted p-value first."""
    costs = {str(g.group): [r.cost for r in rows if r.group == g.group] for g in groups}
    found = []
    # One family: all pairs of groups are adjusted for together.
    for _, pair in compare_groups([(None, [(str(g.group), g.covered) for g in groups])]):
        cost, interval = _cost_difference(*(costs[g] for g in pair.groups))
        found.append(RecourseGap(cost=cost, cost_interval=interval, **vars(pair)))
    return tuple(sorted(found, key=lambda found: (found.p_adjusted, found.groups)))


def _cost_difference(
    one: Iterable[float | None], other: Iterable[float | None]
) -> tuple[float | None, tuple[float, float] | None]:
    """Return the difference of the mean costs, with Welch's interval if there is one.

    >>> more, (low, high) = _cost_difference([1.0, 2.0, 3.0, 4.0], [1.0, 1.0, 2.0])
    >>> round(more, 3), round(low, 3), round(high, 3)
    (1.167, -0.788, 3.121)
    """
    a, b = (np.array([cost for cost in costs if cost is not None]) for costs in (one, other))
    if not len(a) or not len(b):
        return None, None
    more = float(a.mean() - b.mean())
    if min(len(a), len(b)) < 2:
        return more, None
    scale = max(a.max(), b.max()) or 1.0  # squares of large costs would overflow
    parts = np.array([(costs / scale).var(ddof=1) / len(costs) for costs in (a, b)])
    total = float(parts.sum())
    if not total:
        return more, None
    from scipy.special import stdtrit

    # Welch–Satterthwaite degrees of freedom, for groups of unequal variance.
    freedom = 1 / float(((parts / total) ** 2 / (np.array([len(a), len(b)]) - 1)).sum())
    room = float(stdtrit(freedom, 0.975) * total**0.5 * scale)
    return more, (more - room, more + room)


def _mean_and_median(costs: Iterable[float | None]) -> tuple[float | None, float | None]:
    known = [cost for cost in costs if cost is not None]
    return (float(np.mean(known)), float(np.median(known))) if known else (None, None)


_LEFT_SHOWN = 20
_GAPS_SHOWN = 6


@dataclass(frozen=True, repr=False)
class GlobalRecourse(Result):
    """The fewest changes that work for a share of the refused rows, with costs by row and group.

    >>> import pandas as pd
    >>> from suffice import Explainer, audit
    >>> people = pd.DataFrame({"pay": [30, 60, 45, 60, 20, 40], "debt": [20, 20, 0, 40, 10, 5]})
    >>> explainer = Explainer(lambda rows: rows["pay"] - rows["debt"] >= 40, people)
    >>> found = audit.global_recourse(explainer, people, cover=0.7, desired=True)
    >>> [change.text for change in found.changes], found.share, found.left
    (['pay to at least 60'], Share(hits=3, n=4), ('3',))
    >>> found.to_frame()[["row", "cost", "left_out"]].round(2)
      row  cost  left_out
    0   0  2.00     False
    1   3   NaN      True
    2   4  2.67     False
    3   5  1.33     False
    """

    plots = ("global_recourse", "measures")

    desired: str
    outcome: str
    """Present outcome of the refused rows, as text."""
    wanted: Proportion
    """Share of the refused rows to be covered."""
    changes: tuple[GlobalChange, ...]
    """Changes, those that add most rows first."""
    rows: tuple[RowRecourse, ...]
    """Refused rows, in the order given."""
    already: NaturalNumber
    """Number of rows that have the desired outcome already, and were left out."""
    fewest: NaturalNumber
    """Number of changes needed; more are chosen if `n_changes` allows and they cost less."""
    could_be: NaturalNumber
    """Lower bound on the number of changes; equal to `fewest` if that is proved."""
    prices: tuple[NonNegative, ...]
    """Mean cost over the wanted share of rows (those of the lowest costs) with the fewest changes,
    one more, two more, …, as long as more changes were found to cost less."""
    cheapest: bool
    """Whether it is proved that no other choice of this size costs less."""
    tried: NaturalNumber
    """Number of changes that were tried on every row."""
    possible: NaturalNumber
    """Number of candidates before sampling."""
    searched: NaturalNumber
    """Number of refused rows whose recourse options gave the candidates."""
    cut_short: NaturalNumber
    """Number of those searches that a limit ended."""
    asked: NaturalNumber
    """Number of rows that the model predicted to try the changes."""
    max_size: NaturalNumber | None
    max_cost: float | None

    def __post_init__(self) -> None:
        if not self.rows:
            raise InputError("rows", "none", "at least one refused row")
        if any(len(row.costs) != len(self.changes) for row in self.rows):
            raise InputError(
                "costs", "another number of costs", f"{len(self.changes)} for each row"
            )

    @property
    def n(self) -> int:
        """Number of refused rows."""
        return len(self.rows)

    @property
    def share(self) -> Share:
        """Share of the refused rows that a change works for."""
        return Share(sum(row.change is not None for row in self.rows), self.n)

    @property
    def reached(self) -> bool:
        """True if the wanted share is covered."""
        return self.share.hits >= rows_needed(self.wanted, self.n)

    @property
    def proved(self) -> bool:
        """True if it is proved that no fewer of the changes tried cover the share."""
        return self.could_be == self.fewest

    @property
    def left(self) -> tuple[str, ...]:
        """Names of the rows that none of the changes works for."""
        return tuple(row.name for row in self.rows if row.change is None)

    @property
    def worths(self) -> tuple[ChangeEffect, ...]:
        """Effect of each change, in order."""
        return change_effects(self.rows, len(self.changes))

    @property
    def groups(self) -> tuple[GroupRecourse, ...]:
        """Recourse of all rows, followed by each group."""
        labels = sorted({row.group for row in self.rows if row.group is not None})
        return tuple(group_recourse(label, self.rows) for label in (None, *labels))

    @property
    def gaps(self) -> tuple[RecourseGap, ...]:
        """Comparisons of every two groups, the smallest adjusted p-value first."""
        return recourse_gaps(self.groups[1:], self.rows)

    @property
    def sheet(self) -> Sheet:
        """Summary: the changes, the rows left out, and differences between groups."""
        found = f"{plural(len(self.changes), 'change')} for {percent(self.share.share)}"
        return Sheet(
            f"From {self.outcome} to {self.desired}: "
            f"{found if self.changes else 'no change for any'} of {plural(self.n, 'row')}",
            lead=tuple(self._lead()),
            panels=tuple(self._panels()),
            notes=tuple(self._notes()),
        )

    def _lead(self) -> Iterator[str]:
        every = self.groups[0]
        if not self.changes:
            yield f"No change that was tried works for any of {plural(self.n, 'refused row')}."
            return
        works = "works" if len(self.changes) == 1 else "work"
        yield (
            f"{plural(len(self.changes), 'change')} {works} for {self.share.hits:,} of "
            f"{plural(self.n, 'refused row')} ({percent(self.share.share)}; {self.share.within}). "
            f"{self._proof()}"
        )
        if every.mean_cost is not None and every.own_cost is not None:
            yield (
                f"A row's cheapest change that works costs {format_cost(every.mean_cost)} on "
                f"average; of all {plural(self.tried, 'change')} tried, the cheapest costs "
                f"{format_cost(every.own_cost)}."
            )
        if self.left:
            yield _left_sentence(len(self.left), every.hopeless)
        gaps = self.gaps
        for found in gaps[:_GAPS_SHOWN]:
            yield _gap_sentence(found)
        more = len(gaps) - _GAPS_SHOWN
        if more > 0:
            yield f"And {plural(more, 'more pair')} of groups: .gaps."

    def _proof(self) -> str:
        if not self.reached:
            return (
                f"{percent(self.wanted)} cannot be reached: none of the changes tried works for "
                "the rest."
            )
        if not self.proved:
            return f"Fewer of those tried might do, but not fewer than {self.could_be}."
        fewer = "No fewer of those tried would do"
        if len(self.changes) > self.fewest:
            fewer = f"{plural(self.fewest, 'change')} would do, at a higher cost"
        number = "few" if len(self.changes) == self.fewest else "many"
        least = f", and no other choice of as {number} would cost less" if self.cheapest else ""
        return f"{fewer}{least}."

    def _panels(self) -> Iterator[Panel]:
        if self.changes:
            effects = zip(self.changes, self.worths, strict=True)
            yield make_panel(_CHANGE_FIELDS, effects, "What to change")
        if len(self.groups) > 1:
            yield make_panel(_GROUP_FIELDS, self.groups, "Who is helped, and at what cost")
        if len(self.prices) > 1:
            heading = f"More changes cost less, for {percent(self.wanted)} of them"
            yield make_panel(_PRICE_FIELDS, enumerate(self.prices, self.fewest), heading)

    def _notes(self) -> Iterator[str]:
        of = f" of {plural(self.possible, 'possible one')}" if self.possible > self.tried else ""
        yield (
            f"Tried: {plural(self.tried, 'change')}{of}, each on every refused row by the "
            f"model ({plural(self.asked, 'row')} predicted). They came from the recourse options "
            f"of {self.searched:,} of {plural(self.n, 'refused row')}, with references' values."
        )
        if self.cut_short:
            were = "was" if self.cut_short == 1 else "were"
            yield f"Of these searches {self.cut_short:,} {were} ended by a limit."
        bounds = [f"at most {plural(self.max_size, 'feature')}"] if self.max_size else []
        bounds += [f"a cost of at most {format_cost(self.max_cost)}"] if self.max_cost else []
        yield (
            "A row that already meets a requirement of a change keeps its value, and pays nothing "
            "for it." + (f" A change has {' and '.join(bounds)}." if bounds else "")
        )
        if self.already:
            has = "has" if self.already == 1 else "have"
            yield f"Not counted: {plural(self.already, 'row')} that {has} the outcome already."
        if self.left:
            yield f"Left out: {join_first(map(format_name, self.left), _LEFT_SHOWN)}."
        if self.gaps:
            yield "Shares have exact 95% intervals; differences of mean costs Welch's, unadjusted."
            yield adjustment_note(len(self.gaps))

    def to_frame(self) -> Any:
        """Return a pandas frame with a row for each refused row: its change and cost."""
        named = [change.text for change in self.changes]
        fields = (
            Field("row", value=lambda row: row.name),
            Field("group"),
            Field("change", value=lambda row: None if row.change is None else named[row.change]),
            Field("cost"),
            Field("own_cost", value=lambda row: row.own),
            Field("works", value=lambda row: sum(cost is not None for cost in row.costs)),
            Field("left_out", value=lambda row: row.change is None),
        )
        return make_frame(fields, self.rows)


_CHANGE_FIELDS = (
    Field("", "works for", "share", value=lambda row: row[1].works),
    Field("", "rows it adds", "number", value=lambda row: row[1].new),
    Field("", "mean cost", "number", value=lambda row: row[1].mean_cost),
    Field("", "median cost", "number", value=lambda row: row[1].median_cost),
    Field("", "change", value=lambda row: row[0].text),
)
_GROUP_FIELDS = (
    Field("group", "group", show=lambda group: "all" if group is None else format_name(group)),
    Field("", "refused", "number", value=lambda g: g.covered.n),
    Field("covered", "a change works for", "share"),
    Field("mean_cost", "mean cost", "number"),
    Field("own_cost", "best of all tried", "number"),
    Field("hopeless", "none works", "number"),
)
_PRICE_FIELDS = (
    Field("", "how many", value=lambda row: plural(row[0], "change")),
    Field("", "mean cost", "number", value=lambda row: row[1]),
)


def _left_sentence(left: int, hopeless: int) -> str:
    start = f"{plural(left, 'row')} {'is' if left == 1 else 'are'} left out: "
    if not hopeless:
        return f"{start}for {'it' if left == 1 else 'them'} other changes would work."
    some = f"for {hopeless:,} of them " if hopeless < left else ""
    return f"{start}{some}none of the changes that were tried works."


def _gap_sentence(found: RecourseGap) -> str:
    shares = (
        f"“{format_name(found.groups[0])}” against “{format_name(found.groups[1])}”: a change "
        f"works for {' and '.join(percent(s.share) for s in found.shares)} (a difference in points "
        f"of {found.adjusted}, adjusted p = {found.p_adjusted:.2g})"
    )
    if found.cost is None:
        return f"{shares}."
    within = found.cost_interval
    sure = "" if within is None else f" ({_signed_cost(within[0])} to {_signed_cost(within[1])})"
    return f"{shares}; for them the mean cost differs by {_signed_cost(found.cost)}{sure}."


def _signed_cost(cost: float) -> str:
    return with_sign(cost, format_cost)
