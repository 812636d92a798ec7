"""What is told of a cohort: its parts and their sets, brittle decisions, and who differs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from suffice.audit.decisions import VIEWS, ViewName, set_words
from suffice.audit.gaps import LEVEL, Gap, Share, differing, points
from suffice.audit.groups import label_of
from suffice.checks import choice, threshold
from suffice.errors import InputError, did_you_mean, shorten
from suffice.results import Column, Panel, Rest, Result, Sheet
from suffice.wording import and_more, count, listed, named, percent

__all__ = ["Barcode", "Brittle", "Cohort", "CohortSet", "Curve", "Difference", "Part"]

_SHOWN = 10
Barcode = tuple[tuple[tuple[str, ...], float, float], ...]
Curve = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class CohortSet:
    """A set of features in one part of a cohort."""

    features: tuple[str, ...]
    suffices: int
    """Decisions in which it suffices at their τ."""
    minimal: int
    """Decisions in which it is minimal, too."""
    decisions: int
    hits: int
    """Over all references of all decisions."""
    references: int
    steps: Curve
    """(τ, share of decisions): up to and including each τ it suffices for this share of them."""

    def __post_init__(self) -> None:
        for hits, n in ((self.suffices, self.decisions), (self.hits, self.references)):
            if not (0 <= hits <= n and n):
                raise InputError("hits", hits, f"0 to {n}")

    @property
    def share(self) -> Share:
        """Of the decisions, with its interval."""
        return Share(self.suffices, self.decisions)

    @property
    def sufficiency(self) -> float:
        """Over all references of all decisions."""
        return self.hits / self.references

    def at(self, tau: float) -> float:
        """The share of decisions in which it suffices at this τ."""
        wanted = threshold(tau)
        return next((share for step, share in self.steps if wanted <= step), 0.0)


@dataclass(frozen=True)
class Part:
    """Decisions of one outcome and group, in one view."""

    outcome: str
    group: str | None
    view: ViewName
    decisions: int
    references: int
    sets: tuple[CohortSet, ...]
    """Those that are minimal in most decisions first."""
    more: int
    """How many sets are minimal in some decision, but not listed."""
    barcode: Barcode | None
    """Of the summed counts: sets that are minimal at some τ, and for which (low, high]: those that
    are so for most τ, and those of `sets`. None where there are too many features to list all
    their sets."""
    curve: Curve | None
    """Of the summed counts: (τ, cumulative necessity); None also where D is not the same for all of
    them."""
    more_bars: int = 0
    """How many sets are minimal at some τ besides, but not in the barcode."""

    @property
    def who(self) -> str:
        """Whose decisions they are: the outcome, and the group where there are groups."""
        return self.outcome if self.group is None else f"{self.outcome}, {self.group}"


@dataclass(frozen=True)
class Brittle:
    """A decision that little would flip."""

    number: int
    name: str
    """The decision's name: its id where it has one, else its number."""
    outcome: str
    group: str | None
    features: tuple[str, ...]
    """The smallest set that suffices to flip it; () where none does."""
    sufficiency: float
    change: str | None
    """The cheapest change of any set, in words."""
    cost: float | None


@dataclass(frozen=True)
class Difference:
    """A set that suffices for other shares of two groups' decisions."""

    outcome: str
    view: ViewName
    features: tuple[str, ...]
    groups: tuple[str, str]
    shares: tuple[Share, Share]
    gap: Gap
    p_adjusted: float

    @property
    def found(self) -> bool:
        """Is it more than chance gives, over all comparisons made?"""
        return self.p_adjusted <= LEVEL


@dataclass(frozen=True, repr=False)
class Cohort(Result):
    """What suffices for many decisions, and where groups differ."""

    plots = ("cohort", "measures")

    n: int
    tau: float | None
    features: tuple[str, ...]
    parts: tuple[Part, ...]
    brittle: tuple[Brittle, ...]
    """The decisions that the fewest features flip, the cheapest first among equals."""
    cheapest: tuple[Brittle, ...]
    """Those that the cheapest change flips."""
    differences: tuple[Difference, ...]
    """All comparisons made, the surest first."""

    def part(self, view: ViewName, outcome: str | None = None, group: Any = None) -> Part:
        """One part, by its view, outcome and group; the first that fits."""
        side = choice("view", view, VIEWS)
        fit = {(part.outcome, part.group): part for part in self.parts if part.view == side}
        if outcome is not None:
            _require("outcome", outcome, [of for of, _ in fit])
            fit = {key: part for key, part in fit.items() if key[0] == outcome}
        if group is not None:
            label = label_of(group)
            _require("group", label, [group for _, group in fit if group is not None])
            fit = {key: part for key, part in fit.items() if key[1] == label}
        return next(iter(fit.values()))

    @property
    def found(self) -> tuple[Difference, ...]:
        """The differences that are more than chance gives, over all comparisons made."""
        return tuple(difference for difference in self.differences if difference.found)

    @property
    def sheet(self) -> Sheet:
        """What mostly keeps and flips them, who is brittle, who differs."""
        note = "Shares of decisions have exact 95% intervals (Clopper–Pearson)"
        if self.differences:
            note += (
                "; differences Newcombe's, and Fisher's exact test, adjusted by Holm's method for "
                f"{count(len(self.differences), 'comparison')}"
            )
        return Sheet(
            f"What suffices for {count(self.n, 'decision')}",
            lead=tuple(self._lead()),
            panels=tuple(self._panels()),
            notes=(f"{note}.", *self._unlisted()),
        )

    def _unlisted(self) -> Iterator[str]:
        if any(part.barcode is None for part in self.parts):
            yield (
                "There are too many features for a barcode of all their sets: each set listed is "
                "counted on its own."
            )
        hidden = sum(part.more_bars for part in self.parts)
        if hidden:
            yield f"Barcodes leave out {count(hidden, 'shorter bar')}: .parts tell how many each."

    def _lead(self) -> Iterator[str]:
        for part in self.parts:
            if not part.sets:
                continue
            # All features together suffice for every decision, which says nothing.
            best = part.sets[0]
            what = listed(map(named, best.features)) or "nothing at all"
            whom = "it" if part.decisions == 1 else f"{percent(best.share.share)} of them"
            yield (
                f"“{named(part.who)}” ({count(part.decisions, 'decision')}): {what} "
                f"suffice{'s' * (len(best.features) < 2)} to {part.view} {whom}; no set is minimal "
                "more often."
            )
        if self.differences:
            yield f"{differing(len(self.found))}."

    def _panels(self) -> Iterator[Panel]:
        columns = (
            Column("set"),
            Column("suffices for", "share"),
            Column("from", "share"),
            Column("to", "share"),
            Column("minimal in", "number"),
            Column("sufficiency", "share"),
        )
        for part in self.parts:
            rows = tuple(
                (
                    set_words(s.features),
                    s.share.share,
                    *s.share.interval,
                    s.minimal,
                    s.sufficiency,
                )
                for s in part.sets[:_SHOWN]
            )
            rest = Rest(len(part.sets) - len(rows) + part.more, ".to_frame()")
            yield Panel(columns, rows, f"To {part.view} “{named(part.who)}”", rest)
        for least, heading in (
            (self.brittle, "Decisions that the fewest features flip"),
            (self.cheapest, "Decisions that the cheapest change flips"),
        ):
            cells = tuple(
                (b.name, len(b.features) if b.sufficiency else None, b.change, b.cost)
                for b in least[:_SHOWN]
            )
            heads = (
                Column("decision"),
                Column("features to flip", "number"),
                Column("cheapest change"),
                Column("cost", "number"),
            )
            yield Panel(heads, cells, heading)
        if self.differences:
            yield self._differing()

    def _differing(self) -> Panel:
        columns = (
            Column("set"),
            Column("suffices to"),
            Column("gap (95% interval)"),
            Column("adjusted p", "number"),
        )
        rows = tuple(
            (
                set_words(d.features),
                f"{d.view} {_sides(d)}",
                f"{points(d.gap.difference)} ({points(d.gap.low)} to {points(d.gap.high)})",
                float(f"{d.p_adjusted:.2g}"),
            )
            for d in self.differences[:_SHOWN]
        )
        rest = Rest(len(self.differences) - len(rows), ".differences")
        return Panel(columns, rows, "Where groups differ, in points", rest)

    def to_frame(self) -> Any:
        """A row for each set listed, by outcome, group and view."""
        import pandas as pd

        rows = [
            {
                "outcome": part.outcome,
                "group": part.group,
                "view": part.view,
                "features": s.features,
                "size": len(s.features),
                "suffices": s.suffices,
                "minimal": s.minimal,
                "decisions": s.decisions,
                "share": s.share.share,
                "low": s.share.interval[0],
                "high": s.share.interval[1],
                "sufficiency": s.sufficiency,
            }
            for part in self.parts
            for s in part.sets
        ]
        columns = "outcome group view features size suffices minimal decisions share low high"
        return pd.DataFrame(rows, columns=[*columns.split(), "sufficiency"])


def _require(argument: str, given: Any, known: list[str]) -> None:
    if given not in known:
        names = and_more(map(repr, dict.fromkeys(known)))
        allowed = f"None, or one of {names}" if known else "None: there are no groups"
        hint = did_you_mean(given, known, or_list=False) if known else "Ask with by=…"
        raise InputError(argument, shorten(given), allowed, hint)


def _sides(d: Difference) -> str:
    return " / ".join(f"{g} {percent(s.share)}" for g, s in zip(d.groups, d.shares, strict=True))
