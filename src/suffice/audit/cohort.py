"""A cohort's own lattice: counts of decisions with the same outcome, added up set by set.

A sum of counts is a count, over all references of all decisions. So a cohort has a barcode, a curve
and minimal sets as one decision has; and beside each set, in how many decisions it suffices.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from suffice.audit.decisions import (
    By,
    ViewName,
    as_decisions,
    group_of,
    label_of,
    masks_at,
    same_features,
    set_words,
    views,
)
from suffice.audit.gaps import Gap, Share, adjusted, gap
from suffice.checks import threshold, whole
from suffice.errors import InputError
from suffice.explanation import Explanation
from suffice.factors.lattice import members_of
from suffice.results import Column, Panel, Result, Sheet
from suffice.search.profile import Profile
from suffice.search.tally import Tally
from suffice.typing import Counts
from suffice.wording import count, listed, named, percent

__all__ = ["Brittle", "Cohort", "CohortSet", "Difference", "Part", "cohort"]

_LISTED = 40
"""Sets of a part that are told, the most frequent first."""
_BRITTLE = 20
_SHOWN = 10
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
    steps: tuple[tuple[float, float], ...]
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
    barcode: tuple[tuple[tuple[str, ...], float, float], ...]
    """Of the summed counts: sets that are minimal at some τ, and for which (low, high]."""
    curve: tuple[tuple[float, float], ...]
    """Of the summed counts: (τ, cumulative necessity)."""


@dataclass(frozen=True)
class Brittle:
    """A decision that little would flip."""

    number: int
    outcome: str
    group: str | None
    features: tuple[str, ...]
    """The smallest set that suffices to flip it."""
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

    n: int
    tau: float | None
    features: tuple[str, ...]
    parts: tuple[Part, ...]
    brittle: tuple[Brittle, ...]
    differences: tuple[Difference, ...]
    """All comparisons made, the surest first."""

    def part(self, view: ViewName, outcome: str | None = None, group: Any = None) -> Part:
        """One part, by its view, outcome and group; the first that fits."""
        for part in self.parts:
            wanted = group is None or part.group == label_of(group)
            if part.view == view and outcome in (None, part.outcome) and wanted:
                return part
        known = sorted({f"{p.view} {p.outcome} {p.group or ''}".strip() for p in self.parts})
        raise InputError("part", f"{view} {outcome} {group}", "; ".join(known))

    @property
    def sheet(self) -> Sheet:
        """What mostly keeps and flips them, who is brittle, who differs."""
        note = "Shares of decisions have exact 95% intervals (Clopper–Pearson)"
        if self.differences:
            note += (
                "; differences Newcombe's, and Fisher's exact test with Holm's adjustment over all "
                f"of {count(len(self.differences), 'comparison')}"
            )
        return Sheet(
            f"What suffices for {count(self.n, 'decision')}",
            lead=tuple(self._lead()),
            panels=tuple(self._panels()),
            notes=(f"{note}.",),
        )

    def _lead(self) -> Iterator[str]:
        for part in self.parts:
            if not part.sets:
                continue
            # All features together suffice for every decision, which says nothing.
            best = part.sets[0]
            does = "keep" if part.view == "keep" else "flip"
            who = f"{part.outcome}, {part.group}" if part.group is not None else part.outcome
            what = listed(map(named, best.features)) or "nothing at all"
            yield (
                f"“{named(who)}” ({count(part.decisions, 'decision')}): {what} "
                f"suffice{'s' * (len(best.features) == 1)} to {does} "
                f"{percent(best.share.share)} of them; no set is minimal more often."
            )
        found = [d for d in self.differences if d.found]
        if self.differences:
            yield (
                f"{count(len(found), 'difference')} between groups "
                f"{'is' if len(found) == 1 else 'are'} more than chance gives."
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
            who = part.outcome if part.group is None else f"{part.outcome}, {part.group}"
            does = "keep" if part.view == "keep" else "flip"
            left = len(part.sets) - len(rows) + part.more
            rest = f"and {left:,} more: .to_frame()" if left else ""
            yield Panel(columns, rows, f"To {does} “{named(who)}”", rest)
        if self.brittle:
            cells = tuple(
                (b.number, len(b.features) if b.sufficiency else None, b.change, b.cost)
                for b in self.brittle[:_SHOWN]
            )
            heads = (
                Column("decision", "number"),
                Column("features to flip", "number"),
                Column("cheapest change"),
                Column("cost", "number"),
            )
            yield Panel(heads, cells, "Decisions that little would flip")
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
                f"{_points(d.gap.difference)} ({_points(d.gap.low)} to {_points(d.gap.high)})",
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


def cohort(
    explanations: Any, by: By = None, *, tau: float | None = None, most: int = _LISTED
) -> Cohort:
    """What suffices for many decisions: counts added up by outcome, and by group where given.

    `by` is a column of the inputs, a function of an explanation, or a label for each decision;
    `tau` None takes each decision's own; `most` sets are told of each part.

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
    decisions = as_decisions(explanations)
    asked = None if tau is None else threshold(tau)
    shown = whole("most", most)
    sums: dict[tuple[str, str | None, ViewName], _Sum] = {}
    brittle: list[Brittle] = []
    names: tuple[str, ...] = ()
    for number, (e, label) in enumerate(zip(decisions, group_of(by, decisions), strict=True)):
        names = names or tuple(player.name for player in e.players)
        same_features(names, e)
        group = label_of(label)
        at = e.tau if asked is None else asked
        for view in views(e):
            _require_counts(number, e)
            key = e.outcome, group, view.name
            sums.setdefault(key, _Sum(len(names))).add(view.tally, masks_at(view, at), at)
        brittle.append(_brittle(number, e, group, at))
    wanted = {key: found.listed(shown) for key, found in sums.items()}
    parts = tuple(
        found.part(key, names, wanted[key])
        for key, found in sorted(
            sums.items(), key=lambda item: (item[0][0], item[0][1] or "", item[0][2] == "flip")
        )
    )
    return Cohort(
        n=len(decisions),
        tau=asked,
        features=names,
        parts=parts,
        brittle=tuple(sorted(brittle, key=_how_brittle)[:_BRITTLE]),
        differences=tuple(_differences(sums, wanted, names)),
    )


def _sides(d: Difference) -> str:
    return " / ".join(f"{g} {percent(s.share)}" for g, s in zip(d.groups, d.shares, strict=True))


def _points(share: float) -> str:
    return f"{100 * share:+.0f}"


def _require_counts(number: int, e: Explanation) -> None:
    if not (e.keep_profile.tally.complete and e.flip_profile.tally.complete):
        raise InputError(
            "explanations",
            f"decision {number}, of which not every set was counted",
            "decisions with all their counts",
            "Ask with search='exhaustive' and fewer features (groups), or store counts.",
        )


def _brittle(number: int, e: Explanation, group: str | None, tau: float) -> Brittle:
    smallest = next(iter(e.flip.profile.minimal_at(tau)), None)
    members = () if smallest is None else smallest.members
    change = e.cheapest
    return Brittle(
        number,
        e.outcome,
        group,
        tuple(e.players[i].name for i in members),
        0.0 if smallest is None else smallest.hits / e.flip.tally.n,
        None if change is None else str(change),
        None if change is None else change.cost,
    )


def _how_brittle(b: Brittle) -> tuple[float, float, int]:
    size = len(b.features) if b.sufficiency else 10**9
    return size, float("inf") if b.cost is None else b.cost, b.number


class _Sum:
    """Counts of one part, added up decision by decision."""

    def __init__(self, d: int) -> None:
        self._hits: Counts = np.zeros(1 << d, dtype=np.int64)
        self._suffices: Counts = np.zeros(1 << d, dtype=np.int64)
        self._minimal: Counter[int] = Counter()
        self._shares: list[Any] = []
        self.decisions = self._references = 0

    def add(self, tally: Tally, minimal: Counts, tau: float) -> None:
        dense = tally.dense
        self._hits += dense
        # As the views compare: shares as floating-point quotients.
        share = dense / tally.n
        self._suffices += share >= tau
        self._shares.append(share.astype(np.float32) if tally.d > 12 else share)
        self._minimal.update(minimal.tolist())
        self.decisions += 1
        self._references += tally.n

    def listed(self, most: int) -> list[int]:
        """The sets that are minimal most often; the smaller first among equals."""
        minimal = self._minimal
        return sorted(minimal, key=lambda mask: (-minimal[mask], mask.bit_count(), mask))[:most]

    def share(self, mask: int) -> Share:
        return Share(int(self._suffices[mask]), self.decisions)

    def part(
        self, key: tuple[str, str | None, ViewName], names: tuple[str, ...], masks: list[int]
    ) -> Part:
        outcome, group, view = key
        shares = np.array([part[masks] for part in self._shares]).reshape(self.decisions, -1)
        profile = Profile(Tally.of_dense(self._hits, self._references))
        barcode = tuple(
            (tuple(names[i] for i in m.members), m.low, m.high)
            for m in profile.minimal_somewhere(_LISTED)
        )
        sets = tuple(
            CohortSet(
                features=tuple(names[i] for i in members_of(mask)),
                suffices=int(self._suffices[mask]),
                minimal=self._minimal[mask],
                decisions=self.decisions,
                hits=int(self._hits[mask]),
                references=self._references,
                steps=_steps(shares[:, j]),
            )
            for j, mask in enumerate(masks)
        )
        more = len(self._minimal) - sum(mask in self._minimal for mask in masks)
        curve = _curve(profile)
        return Part(
            outcome, group, view, self.decisions, self._references, sets, more, barcode, curve
        )


def _steps(shares: Any) -> tuple[tuple[float, float], ...]:
    taus, times = np.unique(shares, return_counts=True)
    left = times[::-1].cumsum()[::-1] / len(shares)
    return tuple((float(t), float(s)) for t, s in zip(taus, left, strict=True) if t > 0)


def _curve(profile: Profile) -> tuple[tuple[float, float], ...]:
    from suffice.explanation.counting import necessity_curve

    return necessity_curve(profile)


def _differences(
    sums: dict[tuple[str, str | None, ViewName], _Sum],
    wanted: dict[Any, list[int]],
    names: tuple[str, ...],
) -> list[Difference]:
    """Every pair of groups of one outcome, for every set that either of them lists."""
    found: list[tuple[Any, ...]] = []
    for (outcome, one, view), (outcome2, other, view2) in combinations(sorted(sums, key=str), 2):
        if (outcome, view) != (outcome2, view2) or one is None or other is None:
            continue
        keys = (outcome, one, view), (outcome, other, view)
        for mask in dict.fromkeys(m for key in keys for m in wanted[key]):
            shares = sums[keys[0]].share(mask), sums[keys[1]].share(mask)
            found.append((outcome, view, mask, (one, other), shares, gap(*shares)))
    p_values = adjusted([g for *_, g in found])
    out = [
        Difference(outcome, view, tuple(names[i] for i in members_of(mask)), groups, shares, g, p)
        for (outcome, view, mask, groups, shares, g), p in zip(found, p_values, strict=True)
    ]
    return sorted(out, key=lambda d: (d.p_adjusted, -abs(d.gap.difference)))
