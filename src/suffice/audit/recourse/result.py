"""What global recourse answers, and how it is said."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from suffice.audit.covering import rows_needed
from suffice.audit.gaps import Share, points
from suffice.audit.recourse.facts import (
    GlobalChange,
    GroupGap,
    GroupRecourse,
    RowRecourse,
    Worth,
    gaps_between,
    group_of_rows,
    worths_of,
)
from suffice.errors import InputError
from suffice.results import Column, Panel, Result, Sheet
from suffice.wording import and_more, count, named, percent, price, with_sign

__all__ = ["GlobalRecourse"]

_LEFT_NAMED = 20
_GAPS_SHOWN = 6


@dataclass(frozen=True, repr=False)
class GlobalRecourse(Result):
    """The fewest changes that work for a share of the refused, and who pays what.

    >>> import pandas as pd
    >>> from suffice import Explainer, audit
    >>> people = pd.DataFrame({"pay": [30, 60, 45, 60, 20, 40], "debt": [20, 20, 0, 40, 10, 5]})
    >>> explainer = Explainer(lambda rows: rows["pay"] - rows["debt"] >= 40, people)
    >>> found = audit.global_recourse(explainer, people, cover=0.7, desired=True)
    >>> [change.says for change in found.changes], found.share, found.left
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
    """What the refused have now, in words."""
    wanted: float
    """The share to be covered."""
    changes: tuple[GlobalChange, ...]
    """Those that add most first."""
    rows: tuple[RowRecourse, ...]
    """The refused, in the order given."""
    already: int
    """Rows that have the desired outcome, and were left out."""
    fewest: int
    """How many changes it takes; there are more where that was asked for, and cheaper."""
    could_be: int
    """No fewer of the changes tried can do it: as many as it takes where that is proved."""
    prices: tuple[float, ...]
    """With the fewest, one more, two more, …: what the share asked for pays on average, if that is
    made of those who pay least. As far as more of them were found to cost less."""
    cheapest: bool
    """Is it proved that no others, as many, of those tried cost less?"""
    tried: int
    """Changes that were tried on every row."""
    possible: int
    """How many there were to try."""
    searched: int
    """Refused rows whose own recourse told what to try."""
    cut_short: int
    """How many of those searches were ended by a limit."""
    asked: int
    """Rows that the model was asked about to try them."""
    max_size: int | None
    max_cost: float | None

    def __post_init__(self) -> None:
        if not self.rows:
            raise InputError("rows", "none", "at least one refused row")
        if any(len(row.costs) != len(self.changes) for row in self.rows):
            raise InputError("costs", "other numbers of them", f"{len(self.changes)} for each row")

    @property
    def n(self) -> int:
        """How many are refused."""
        return len(self.rows)

    @property
    def share(self) -> Share:
        """Of the refused, those for whom a change works."""
        return Share(sum(row.change is not None for row in self.rows), self.n)

    @property
    def reached(self) -> bool:
        """Is the share wanted covered?"""
        return self.share.hits >= rows_needed(self.wanted, self.n)

    @property
    def proved(self) -> bool:
        """Is it proved that no fewer of the changes tried would do?"""
        return self.could_be == self.fewest

    @property
    def left(self) -> tuple[str, ...]:
        """The names of those for whom none of the changes works."""
        return tuple(row.name for row in self.rows if row.change is None)

    @property
    def worths(self) -> tuple[Worth, ...]:
        """What each change does, in their order."""
        return worths_of(self.rows, len(self.changes))

    @property
    def groups(self) -> tuple[GroupRecourse, ...]:
        """All together, and then group by group where there are any."""
        labels = sorted({row.group for row in self.rows if row.group is not None})
        return tuple(group_of_rows(label, self.rows) for label in (None, *labels))

    @property
    def gaps(self) -> tuple[GroupGap, ...]:
        """Every two groups, the surest difference in who is covered first."""
        return gaps_between(self.groups[1:], self.rows)

    # -- in words -------------------------------------------------------------------------

    @property
    def sheet(self) -> Sheet:
        """The changes, who is left out, and how groups fare."""
        found = f"{count(len(self.changes), 'change')} for {percent(self.share.share)}"
        return Sheet(
            f"From {self.outcome} to {self.desired}: "
            f"{found if self.changes else 'no change for any'} of {count(self.n, 'row')}",
            lead=tuple(self._lead()),
            panels=tuple(self._panels()),
            notes=tuple(self._notes()),
        )

    def _lead(self) -> Iterator[str]:
        every = self.groups[0]
        if not self.changes:
            yield f"No change that was tried works for any of {count(self.n, 'refused row')}."
            return
        works = "works" if len(self.changes) == 1 else "work"
        yield (
            f"{count(len(self.changes), 'change')} {works} for {self.share.hits:,} of "
            f"{count(self.n, 'refused row')} ({percent(self.share.share)}; {self.share.within}). "
            f"{self._proof()}"
        )
        if every.mean_cost is not None and every.own_cost is not None:
            yield (
                f"Whoever takes the cheapest that works pays {price(every.mean_cost)} on average; "
                f"with the best of all {count(self.tried, 'change')} tried it would be "
                f"{price(every.own_cost)}."
            )
        if self.left:
            yield _left_words(len(self.left), every.hopeless)
        gaps, by_name = self.gaps, {g.group: g for g in self.groups}
        for found in gaps[:_GAPS_SHOWN]:
            yield _gap_words(found, *(by_name[name] for name in found.groups))
        more = len(gaps) - _GAPS_SHOWN
        if more > 0:
            yield f"And {count(more, 'more pair')} of groups: .gaps."

    def _proof(self) -> str:
        if not self.reached:
            return (
                f"{percent(self.wanted)} cannot be reached: none of the changes tried works for "
                "the rest."
            )
        if not self.proved:
            return f"Fewer of those tried might do, but not fewer than {self.could_be}."
        least = "no others, as few," if len(self.changes) == self.fewest else "no others, as many,"
        fewer = "No fewer of those tried would do"
        if len(self.changes) > self.fewest:
            fewer = f"{count(self.fewest, 'change')} would do, at a higher cost"
        return f"{fewer}, and {least} would cost less." if self.cheapest else f"{fewer}."

    def _panels(self) -> Iterator[Panel]:
        heads: tuple[Column, ...] = (
            Column("works for", "share"),
            Column("from", "share"),
            Column("to", "share"),
            Column("rows it adds", "number"),
            Column("mean cost", "number"),
            Column("median cost", "number"),
            Column("change"),
        )
        rows = tuple(
            (w.works.share, *w.works.interval, w.new, w.mean_cost, w.median_cost, c.says)
            for c, w in zip(self.changes, self.worths, strict=True)
        )
        if rows:
            yield Panel(heads, rows, "What to change")
        if len(self.groups) > 1:
            heads = (
                Column("group"),
                Column("refused", "number"),
                Column("a change works for", "share"),
                Column("from", "share"),
                Column("to", "share"),
                Column("mean cost", "number"),
                Column("best of all tried", "number"),
                Column("none works", "number"),
            )
            cells = tuple(
                (
                    "all" if g.group is None else named(g.group),
                    g.covered.n,
                    g.covered.share,
                    *g.covered.interval,
                    g.mean_cost,
                    g.own_cost,
                    g.hopeless,
                )
                for g in self.groups
            )
            yield Panel(heads, cells, "Who is helped, and at what cost")
        if len(self.prices) > 1:
            heads = Column("how many"), Column("mean cost", "number")
            told = tuple(
                (count(self.fewest + i, "change"), paid) for i, paid in enumerate(self.prices)
            )
            yield Panel(heads, told, f"More changes cost less, for {percent(self.wanted)} of them")

    def _notes(self) -> Iterator[str]:
        of = f" of {count(self.possible, 'possible one')}" if self.possible > self.tried else ""
        yield (
            f"Tried: {count(self.tried, 'change')}{of}, each on every refused row by asking the "
            f"model ({count(self.asked, 'row')}). What to try came from the own recourse of "
            f"{self.searched:,} of {count(self.n, 'refused row')}, with the values of references."
        )
        if self.cut_short:
            were = "was" if self.cut_short == 1 else "were"
            yield f"Of these searches {self.cut_short:,} {were} ended by a limit."
        bounds = [f"at most {count(self.max_size, 'feature')}"] if self.max_size else []
        bounds += [f"a cost of at most {price(self.max_cost)}"] if self.max_cost else []
        yield (
            "A row that has what a change asks for already keeps it, and pays nothing for it."
            + (f" A change has {' and '.join(bounds)}." if bounds else "")
        )
        if self.already:
            has = "has" if self.already == 1 else "have"
            yield f"Not counted: {count(self.already, 'row')} that {has} the outcome already."
        if self.left:
            yield f"Left out: {and_more(map(named, self.left), _LEFT_NAMED)}."
        if self.gaps:
            yield (
                "Shares have exact 95% intervals, gaps Newcombe's, costs Welch's; p by Fisher's "
                f"exact test, adjusted by Holm's method for {count(len(self.gaps), 'comparison')}."
            )

    def to_frame(self) -> Any:
        """A row for each refused row: its change, what it costs, whether it is left out."""
        import pandas as pd

        rows = [
            {
                "row": row.name,
                "group": row.group,
                "change": None if row.change is None else self.changes[row.change].says,
                "cost": row.cost,
                "own_cost": row.own,
                "works": sum(cost is not None for cost in row.costs),
                "left_out": row.change is None,
            }
            for row in self.rows
        ]
        return pd.DataFrame(rows)


def _left_words(left: int, hopeless: int) -> str:
    said = f"{count(left, 'row')} {'is' if left == 1 else 'are'} left out: "
    if not hopeless:
        return f"{said}for {'it' if left == 1 else 'them'} other changes would work."
    some = f"for {hopeless:,} of them " if hopeless < left else ""
    return f"{said}{some}none of the changes that were tried works."


def _gap_words(found: GroupGap, one: GroupRecourse, other: GroupRecourse) -> str:
    g, shares = found.covered, (one.covered.share, other.covered.share)
    said = (
        f"“{named(found.groups[0])}” against “{named(found.groups[1])}”: a change works for "
        f"{' and '.join(map(percent, shares))} ({points(g.difference)} points; "
        f"{points(g.low)} to {points(g.high)}, p = {found.p_adjusted:.2g})"
    )
    if found.cost is None:
        return f"{said}."
    within = found.cost_interval
    sure = "" if within is None else f" ({_dearer(within[0])} to {_dearer(within[1])})"
    return f"{said}; for them the mean cost differs by {_dearer(found.cost)}{sure}."


def _dearer(cost: float) -> str:
    return with_sign(cost, price)
