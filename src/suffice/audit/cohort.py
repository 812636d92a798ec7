"""A cohort's own lattice: counts of decisions with the same outcome, added up set by set.

A sum of counts is a count, over all references of all decisions. So a cohort has a barcode, a curve
and minimal sets as one decision has; and beside each set, in how many decisions it suffices.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import inf
from typing import Any

import numpy as np

from suffice.audit.decisions import VIEWS, ViewName, as_decisions, set_words
from suffice.audit.gaps import Gap, Share, adjusted, gap, points
from suffice.audit.groups import By, grouping, label_of
from suffice.audit.known import MOST_FEATURES, AllFeatures, Known, Levels, read_decisions
from suffice.checks import choice, threshold, whole
from suffice.errors import InputError, did_you_mean, shorten
from suffice.explanation.counting import necessity_curve
from suffice.factors.lattice import members_of
from suffice.results import Column, Panel, Result, Sheet
from suffice.search.profile import Profile
from suffice.search.tally import Tally, smallest_type
from suffice.typing import Counts, Reals, SmallCounts
from suffice.wording import and_more, count, listed, named, percent

__all__ = ["Brittle", "Cohort", "CohortSet", "Difference", "Part", "cohort"]

_LISTED = 40
"""Sets of a part that are told, the most frequent first."""
_BRITTLE = 20
_SHOWN = 10
_Barcode = tuple[tuple[tuple[str, ...], float, float], ...]
_Curve = tuple[tuple[float, float], ...]
_LEVEL = 0.05
"""Groups are said to differ below this, over all comparisons."""


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
    steps: _Curve
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
    barcode: _Barcode | None
    """Of the summed counts: sets that are minimal at some τ, and for which (low, high]; None where
    there are too many features to list all their sets."""
    curve: _Curve | None
    """Of the summed counts: (τ, cumulative necessity); None also where D is not the same for all of
    them."""

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
        return self.p_adjusted <= _LEVEL


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
        found = [d for d in self.differences if d.found]
        if self.differences:
            some = count(len(found), "difference") if found else "No difference"
            yield (
                f"{some} between groups {'is' if len(found) < 2 else 'are'} more than chance gives."
            )

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
            left = len(part.sets) - len(rows) + part.more
            rest = f"and {left:,} more: .to_frame()" if left else ""
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
        left = len(self.differences) - len(rows)
        rest = f"and {left:,} more: .differences" if left else ""
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


def cohort(
    explanations: Any,
    by: By = None,
    *,
    tau: float | None = None,
    most: int = _LISTED,
    ids: Sequence[Any] | None = None,
    progress: bool | None = None,
) -> Cohort:
    """What suffices for many decisions: counts added up by outcome, and by group where given.

    `by` is a column of the inputs, a function of an explanation, or a label for each decision;
    `tau` None takes each decision's own; `most` sets are told of each part; `ids` names the
    decisions (else they are called as they were stored, or by their numbers).

    >>> from sklearn.linear_model import LogisticRegression
    >>> from suffice import Explainer, audit, datasets
    >>> X, y = datasets.loans()
    >>> X = X[["age", "income", "debt", "late payments"]]
    >>> explainer = Explainer(LogisticRegression(max_iter=1000).fit(X, y), X, n_references=50)
    >>> found = audit.cohort(explainer.explain_many(X.iloc[:40]))
    >>> part = found.part("keep", "refused")
    >>> part.decisions
    18
    >>> best = part.sets[0]
    >>> best.features, best.minimal, best.suffices
    (('income', 'debt'), 7, 9)
    """
    found = as_decisions(explanations)
    group_of, shown = grouping(by, len(found)), whole("most", most)
    everything, sums = AllFeatures(), dict[_Key, _Sum]()
    smallest, cheapest = _Least(_how_small), _Least(_how_cheap)
    for known in read_decisions(found, tau=tau, ids=ids, progress=progress):
        known.require_counts()
        everything.take(known)
        group = group_of(known)
        for view in VIEWS:
            key = known.outcome, group, view
            sums.setdefault(key, _Sum(everything)).add(known, view)
        for least in (smallest, cheapest):
            least.offer(known, group)
    wanted = {key: part.listed(shown) for key, part in sums.items()}
    parts = tuple(
        part.part(key, wanted[key])
        for key, part in sorted(
            sums.items(), key=lambda item: (item[0][0], item[0][1] or "", item[0][2] == "flip")
        )
    )
    return Cohort(
        n=len(found),
        tau=None if tau is None else threshold(tau),
        features=everything.names,
        parts=parts,
        brittle=smallest.found,
        cheapest=cheapest.found,
        differences=tuple(_differences(sums, wanted, everything)),
    )


def _sides(d: Difference) -> str:
    return " / ".join(f"{g} {percent(s.share)}" for g, s in zip(d.groups, d.shares, strict=True))


_Key = tuple[str, str | None, ViewName]
"""Outcome, group and view."""


class _Least:
    """The decisions that come first in some order, of as many as are offered."""

    def __init__(self, order: Callable[[Brittle], tuple[float, float, int]]) -> None:
        self._order = order
        self.found: tuple[Brittle, ...] = ()

    def offer(self, known: Known, group: str | None) -> None:
        """Keep it, if it is among the first so far: only then is its change put into words."""
        minimal, cost = known.minimal("flip"), known.cheapest_cost
        smallest = minimal[0] if minimal else None
        hits = known.hits("flip")
        one = Brittle(
            known.number,
            known.name,
            known.outcome,
            group,
            tuple(known.features[i] for i in members_of(smallest or 0)),
            0.0 if smallest is None or hits is None else int(hits[smallest]) / known.n,
            None,
            cost,
        )
        if len(self.found) == _BRITTLE and self._order(one) > self._order(self.found[-1]):
            return
        one = replace(one, change=None if cost is None else str(known.cheapest))
        self.found = tuple(sorted((*self.found, one), key=self._order)[:_BRITTLE])


def _how_small(b: Brittle) -> tuple[float, float, int]:
    return (len(b.features) if b.sufficiency else inf), _cost(b), b.number


def _how_cheap(b: Brittle) -> tuple[float, float, int]:
    return _cost(b), (len(b.features) if b.sufficiency else inf), b.number


def _cost(b: Brittle) -> float:
    return inf if b.cost is None else b.cost


class _Sum:
    """Counts of one part, added up decision by decision."""

    def __init__(self, everything: AllFeatures) -> None:
        self._of = everything
        d = len(everything.names)
        self._hits: Counts | None = np.zeros(1 << d, np.int64) if d <= MOST_FEATURES else None
        self._minimal: Counter[int] = Counter()
        self._rows: list[tuple[tuple[str, ...], SmallCounts, Levels, float]] = []
        """Of each decision: its features, its counts, up to which τ sets suffice, and its τ."""
        self._likely: set[tuple[float, ...] | None] = set()
        self.references = 0

    @property
    def decisions(self) -> int:
        return len(self._rows)

    def add(self, known: Known, view: ViewName) -> None:
        hits = known.hits(view)
        assert hits is not None
        if self._hits is not None:
            self._hits += self._of.spread(known.features, hits)
        self._minimal.update(self._of.outwards(known.features, known.minimal(view)))
        small = smallest_type(known.n)
        which, taus = known.levels(view)
        levels = Levels(which.astype(small, copy=False), taus)
        self._rows.append((known.features, hits.astype(small, copy=False), levels, known.tau))
        self._likely.add(known.size_weights(view))
        self.references += known.n

    def listed(self, most: int) -> list[int]:
        """The sets that are minimal most often; the smaller first among equals."""
        minimal = self._minimal
        return sorted(minimal, key=lambda mask: (-minimal[mask], mask.bit_count(), mask))[:most]

    def of(self, masks: list[int]) -> tuple[Counts, Counts, Reals]:
        """By set: all hits, in how many decisions it suffices; and (decisions, sets) up to which
        τ it does."""
        own: dict[tuple[str, ...], list[int]] = {}
        hits, suffices = np.zeros(len(masks), np.int64), np.zeros(len(masks), np.int64)
        levels = np.empty((self.decisions, len(masks)))
        for i, (features, counts, known, tau) in enumerate(self._rows):
            if features not in own:
                own[features] = self._of.inwards(features, masks)
            at = own[features]
            hits += counts[at]
            levels[i] = known.taus[known.which[at]]
            suffices += levels[i] >= tau
        return hits, suffices, levels

    def part(self, key: _Key, masks: list[int]) -> Part:
        outcome, group, view = key
        hits, suffices, levels = self.of(masks)
        sets = tuple(
            CohortSet(
                features=self._of.named(mask),
                suffices=int(suffices[j]),
                minimal=self._minimal[mask],
                decisions=self.decisions,
                hits=int(hits[j]),
                references=self.references,
                steps=_steps(levels[:, j]),
            )
            for j, mask in enumerate(masks)
        )
        more = len(self._minimal) - len(masks)
        barcode, curve = self._every_tau()
        return Part(
            outcome, group, view, self.decisions, self.references, sets, more, barcode, curve
        )

    def _every_tau(self) -> tuple[_Barcode | None, _Curve | None]:
        if self._hits is None:
            return None, None
        # Where D is not the same for all, no curve is that of their sum.
        same = next(iter(self._likely)) if len(self._likely) == 1 else None
        profile = Profile(Tally.of_dense(self._hits, self.references), size_weights=same)
        names = self._of.names
        barcode = tuple(
            (tuple(names[i] for i in m.members), m.low, m.high)
            for m in profile.minimal_somewhere(_LISTED)
        )
        return barcode, necessity_curve(profile) if len(self._likely) == 1 else None


def _steps(shares: Reals) -> _Curve:
    taus, times = np.unique(shares, return_counts=True)
    left = times[::-1].cumsum()[::-1] / len(shares)
    return tuple((float(t), float(s)) for t, s in zip(taus, left, strict=True) if t > 0)


def _differences(
    sums: Mapping[_Key, _Sum], wanted: Mapping[_Key, list[int]], everything: AllFeatures
) -> list[Difference]:
    """Every pair of groups of one outcome, for every set that either of them lists."""
    found: list[tuple[Any, ...]] = []
    for one, other in combinations(sorted(sums, key=str), 2):
        (outcome, group, view), (outcome2, group2, view2) = one, other
        if (outcome, view) != (outcome2, view2) or group is None or group2 is None:
            continue
        masks = list(dict.fromkeys((*wanted[one], *wanted[other])))
        suffices = [sums[key].of(masks)[1].tolist() for key in (one, other)]
        n = sums[one].decisions, sums[other].decisions
        for mask, a, b in zip(masks, *suffices, strict=True):
            shares = Share(a, n[0]), Share(b, n[1])
            found.append((outcome, view, mask, (group, group2), shares, gap(*shares)))
    p_values = adjusted([g for *_, g in found])
    out = [
        Difference(outcome, view, everything.named(mask), groups, shares, g, p)
        for (outcome, view, mask, groups, shares, g), p in zip(found, p_values, strict=True)
    ]
    return sorted(out, key=lambda d: (d.p_adjusted, -abs(d.gap.difference)))
