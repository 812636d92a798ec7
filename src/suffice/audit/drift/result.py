"""What changed between two models, two dates or two batches, on the same rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from suffice.audit.decisions import ViewName, set_words
from suffice.audit.drift.decision import DecisionDrift
from suffice.audit.gaps import Share
from suffice.results import Column, Panel, Result, Sheet
from suffice.wording import and_more, count, listed, named, percent, three_digits

__all__ = ["Drift", "FeatureDrift", "SetDrift"]

_SHOWN = 10
_FATES = ("lost", "gained", "kept")


@dataclass(frozen=True)
class SetDrift:
    """One set of features over all decisions of one outcome."""

    view: ViewName
    outcome: str
    features: tuple[str, ...]
    lost: int
    gained: int
    decisions: int
    """With this outcome on both sides."""


@dataclass(frozen=True)
class FeatureDrift:
    """One feature over all decisions with the same outcome on both sides."""

    feature: str
    before: float
    """Of the minimal sets, those that have it: the mean share over the decisions."""
    after: float
    fell: int
    """Decisions in which that share fell."""
    rose: int
    decisions: int
    """With minimal sets on both sides."""

    @property
    def difference(self) -> float:
        """After less before."""
        return self.after - self.before


@dataclass(frozen=True, repr=False)
class Drift(Result):
    """What changed between two explanations of the same decisions: see `suffice.audit.compare`."""

    plots = ("drift", "measures")

    models: tuple[str, str]
    contexts: tuple[str, str]
    """How hybrids were made, before and after."""
    tau: float | None
    """None: each decision's own, which differ."""
    decisions: tuple[DecisionDrift, ...]
    unpaired: tuple[int, int]
    """Decisions that only the one side has: before, after."""
    features: tuple[tuple[str, ...], tuple[str, ...]]
    """Columns that only the one side has: before, after."""

    # -- over all decisions -------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.decisions)

    def __getitem__(self, at: int) -> DecisionDrift:
        return self.decisions[at]

    def __iter__(self) -> Iterator[DecisionDrift]:
        return iter(self.decisions)

    @property
    def nothing(self) -> bool:
        """Did nothing change at all?"""
        return all(d.nothing for d in self.decisions)

    @property
    def changed(self) -> Share:
        """Decisions whose outcome is another."""
        return Share.of(d.changed for d in self.decisions)

    @property
    def same_outcome(self) -> tuple[DecisionDrift, ...]:
        """Decisions with the same outcome on both sides: their sets can be compared."""
        return tuple(d for d in self.decisions if not d.changed)

    @property
    def other_sets(self) -> Share:
        """Of the decisions with the same outcome, those with a minimal set gained or lost."""
        return Share.of(d.other_sets for d in self.same_outcome)

    @property
    def other_codes(self) -> Share:
        """Of the decisions whose codes are known on both sides, those with others."""
        return Share.of(d.other_codes for d in self.decisions if d.codes is not None)

    @property
    def fallen(self) -> Share:
        """Of the options of recourse, those that no longer work."""
        return Share.of(not o.works for d in self.decisions for o in d.options)

    @property
    def stranded(self) -> tuple[DecisionDrift, ...]:
        """Decisions with the same outcome that had an option, and have none that works."""
        return tuple(d for d in self.same_outcome if d.options and d.fallen == d.options)

    @property
    def mean_distance(self) -> float | None:
        """Between barcodes of both views, over the decisions where it is known."""
        known = [
            apart
            for d in self.decisions
            for apart in (d.keep_distance, d.flip_distance)
            if apart is not None
        ]
        return sum(known) / len(known) if known else None

    @property
    def farthest(self) -> tuple[DecisionDrift, ...]:
        """Decisions by how far their barcodes are apart, the farthest first; not those at 0."""
        apart = [d for d in self.decisions if d.distance]
        return tuple(sorted(apart, key=lambda d: -(d.distance or 0.0)))

    @property
    def sets(self) -> tuple[SetDrift, ...]:
        """Sets gained or lost in some decision, those of most decisions first."""
        lost: Counter[tuple[ViewName, str, tuple[str, ...]]] = Counter()
        gained: Counter[tuple[ViewName, str, tuple[str, ...]]] = Counter()
        for d in self.same_outcome:
            for f in d.factors:
                if f.fate != "kept":
                    counted = lost if f.fate == "lost" else gained
                    counted[f.view, d.outcomes[0], f.features] += 1
        of = Counter(d.outcomes[0] for d in self.same_outcome)
        found = [SetDrift(*key, lost[key], gained[key], of[key[1]]) for key in {**lost, **gained}]
        order = {"keep": 0, "flip": 1}
        return tuple(
            sorted(
                found,
                key=lambda s: (
                    -max(s.lost, s.gained), order[s.view], s.outcome, len(s.features), s.features,
                ),
            )
        )  # fmt: skip

    @property
    def by_feature(self) -> tuple[FeatureDrift, ...]:
        """How much of the minimal sets each feature is part of, what moved most first."""
        shares: dict[str, list[tuple[float, float]]] = {}
        known = [d for d in self.same_outcome if all(d.minimal)]
        for d in known:
            before, after = d.minimal
            for name, old, new in d.members:
                shares.setdefault(name, []).append((old / before, new / after))
        found = [
            FeatureDrift(
                name,
                sum(old for old, _ in pairs) / len(known),
                sum(new for _, new in pairs) / len(known),
                sum(new < old for old, new in pairs),
                sum(new > old for old, new in pairs),
                len(known),
            )
            for name, pairs in shares.items()
        ]
        return tuple(sorted(found, key=lambda f: -abs(f.difference)))

    # -- in words -----------------------------------------------------------------------

    @property
    def sheet(self) -> Sheet:
        """What changed: outcomes, minimal sets, how far apart, reason codes, ways out."""
        one = len(self.decisions) == 1
        what = "this decision" if one else count(len(self), "decision")
        return Sheet(
            f"What changed in {what}",
            lead=tuple(self._lead()),
            panels=tuple(self._panels_of_one() if one else self._panels()),
            notes=tuple(self._notes()),
        )

    def _lead(self) -> Iterator[str]:
        n = len(self.decisions)
        if self.nothing:
            what = "" if n == 1 else f" in {count(n, 'decision')}"
            yield f"Nothing changed{what}: same outcome, same minimal sets, just as sufficient."
            return
        yield from self._lead_of_one() if n == 1 else self._lead_of_many()
        if self.other_codes.hits and n > 1:
            yield f"Reason codes changed in {_of(self.other_codes, 'decision')}."
        if self.fallen.n and not self.fallen.hits:
            n_ways = self.fallen.n
            ways = (
                "The way out still works" if n_ways == 1 else f"All {n_ways:,} ways out still work"
            )
            yield f"{ways}."
        elif self.fallen.n:
            left = [d.name for d in self.stranded]
            stranded = f"; none is left for {and_more(left, 5)}" if left and n > 1 else ""
            yield f"Ways out that no longer work: {_of(self.fallen, 'option')}{stranded}."

    def _lead_of_one(self) -> Iterator[str]:
        (d,) = self.decisions
        if d.changed:
            yield f"The outcome was “{named(d.outcomes[0])}”, and is “{named(d.outcomes[1])}”."
            return
        lost, gained = len(d.having("lost")), len(d.having("gained"))
        kept = len(d.having("kept")) + d.same
        sets = f"{count(lost, 'minimal set')} lost, {gained} gained, {kept} kept"
        if not (lost or gained):
            sets = f"the same {count(kept, 'minimal set')}"
        yield f"Still “{named(d.outcomes[0])}”: {sets} ({d.same} just as sufficient)."
        if d.distance is not None:
            apart = listed(
                f"{three_digits(x)} ({name})"
                for x, name in ((d.keep_distance, "keep"), (d.flip_distance, "flip"))
                if x is not None
            )
            yield f"Its barcodes are {apart} apart."
        if d.codes is not None and d.other_codes:
            before, now = (", ".join(codes) or "none" for codes in d.codes)
            yield f"Reason codes: {before} before; {now} now."

    def _lead_of_many(self) -> Iterator[str]:
        if self.changed.hits:
            ways = Counter(d.outcomes for d in self.decisions if d.changed).most_common(3)
            told = ", ".join(f"{named(a)} → {named(b)} {n:,}" for (a, b), n in ways)
            yield f"Another outcome: {_of(self.changed, 'decision')}; {told}."
        else:
            yield f"All {len(self):,} decisions have the same outcome as before."
        same = self.other_sets
        if same.hits:
            yield f"Other minimal sets with the same outcome: {_of(same, 'decision')}."
        elif same.n:
            moved = sum(len(d.factors) for d in self.same_outcome)
            yield (
                "Where the outcome is the same, so are all minimal sets"
                + (f"; the sufficiency of {moved:,} moved." if moved else ".")
            )
        if self.mean_distance:
            far = self.farthest[0]
            yield (
                f"Barcodes are {three_digits(self.mean_distance)} apart on average (0: the same at "
                f"every threshold, 1: nothing in common); farthest, decision {far.name}: "
                f"{three_digits(far.distance)}."
            )
        most_moved = next((f for f in self.by_feature if f.difference), None)
        if most_moved is not None:
            f = most_moved
            yield (
                f"What counts moved most for {named(f.feature)}: in {percent(f.before)} of the "
                f"minimal sets before, in {percent(f.after)} now."
            )
        for fate in ("lost", "gained"):
            most = max(self.sets, key=lambda s: getattr(s, fate), default=None)
            if most is not None and getattr(most, fate):
                yield (
                    f"Most often {fate}, to {most.view} “{named(most.outcome)}”: "
                    f"{listed(map(named, most.features)) or 'nothing at all'} "
                    f"({getattr(most, fate):,} of {count(most.decisions, 'decision')})."
                )

    def _panels_of_one(self) -> Iterator[Panel]:
        (d,) = self.decisions
        if d.factors:
            columns = (
                Column("set"),
                Column("suffices"),
                Column("before", "share"),
                Column("after", "share"),
                Column("moved, in points (95%)"),
                Column(""),
            )
            order = sorted(d.factors, key=lambda f: _FATES.index(f.fate))
            rows = tuple(
                (
                    set_words(f.features),
                    f"to {f.view}",
                    None if f.before is None else f.before.share,
                    None if f.after is None else f.after.share,
                    None if f.shift is None else str(f.shift),
                    f.says,
                )
                for f in order[:_SHOWN]
            )
            left = len(order) - len(rows)
            yield Panel(columns, rows, more=f"and {left:,} more: .factor_frame()" if left else "")
        yield from self._ways()

    def _panels(self) -> Iterator[Panel]:
        if self.sets:
            yield self._featured()
            columns = (
                Column("set"),
                Column("suffices"),
                Column("decisions", "number"),
                Column("lost in", "share"),
                Column("gained in", "share"),
            )
            rows = tuple(
                (
                    set_words(s.features),
                    f"to {s.view} {named(s.outcome)}",
                    s.decisions,
                    s.lost / s.decisions,
                    s.gained / s.decisions,
                )
                for s in self.sets[:_SHOWN]
            )
            left = len(self.sets) - len(rows)
            more = f"and {left:,} more: .sets" if left else ""
            yield Panel(columns, rows, "Sets that are minimal no longer, or newly", more)
        far = self.farthest
        if far:
            heads = (
                Column("decision"),
                Column("outcome"),
                Column("keep distance", "number"),
                Column("flip distance", "number"),
                Column("lost", "number"),
                Column("gained", "number"),
            )
            cells = tuple(
                (
                    d.name,
                    named(d.outcomes[0]),
                    None if d.keep_distance is None else round(d.keep_distance, 3),
                    None if d.flip_distance is None else round(d.flip_distance, 3),
                    len(d.having("lost")),
                    len(d.having("gained")),
                )
                for d in far[:_SHOWN]
            )
            more = f"and {len(far) - len(cells):,} more: .farthest" if len(far) > _SHOWN else ""
            yield Panel(heads, cells, "Where most changed", more)
        yield from self._coded()
        yield from self._ways()

    def _featured(self) -> Panel:
        columns = (
            Column("feature"),
            Column("before", "share"),
            Column("after", "share"),
            Column("less in", "number"),
            Column("more in", "number"),
        )
        found = self.by_feature
        rows = tuple((named(f.feature), f.before, f.after, f.fell, f.rose) for f in found[:_SHOWN])
        more = f"and {len(found) - _SHOWN:,} more: .by_feature" if len(found) > _SHOWN else ""
        of = count(found[0].decisions if found else 0, "decision")
        return Panel(columns, rows, f"Share of the minimal sets that have a feature ({of})", more)

    def _coded(self) -> Iterator[Panel]:
        moved = Counter(d.codes for d in self.decisions if d.codes is not None and d.other_codes)
        if not moved:
            return
        columns = Column("before"), Column("after"), Column("decisions", "number")
        rows = tuple(
            (", ".join(before) or "none", ", ".join(after) or "none", n)
            for (before, after), n in sorted(moved.items(), key=lambda item: (-item[1], item[0]))
        )
        more = f"and {len(rows) - _SHOWN:,} more: .to_frame()" if len(rows) > _SHOWN else ""
        yield Panel(columns, rows[:_SHOWN], "Reason codes that changed", more)

    def _ways(self) -> Iterator[Panel]:
        fallen = [(d, o) for d in self.decisions for o in d.fallen]
        if not fallen:
            return
        columns = Column("decision"), Column("cost", "number"), Column("change")
        rows = tuple((d.name, o.cost, o.says) for d, o in fallen[:_SHOWN])
        left = len(fallen) - len(rows)
        more = f"and {left:,} more: .decisions" if left else ""
        yield Panel(columns, rows, "Ways out that no longer work", more)

    def _notes(self) -> Iterator[str]:
        at = "each decision's own τ" if self.tau is None else f"τ = {self.tau:g}"
        before, after = self.models
        models = f"Before: {before}; after: {after}. " if before != after else ""
        yield (
            f"{models}Minimal sets at {at}. Shares of decisions have exact 95% intervals; a set's "
            "sufficiency moved by so many points, with Newcombe's interval, reading references "
            "as two samples."
        )
        if self.changed.hits:
            yield (
                "Where the outcome is another, sets suffice for something else: they are not "
                "compared."
            )
        if self.contexts[0] != self.contexts[1]:
            before, after = self.contexts
            yield f"Hybrids were made in two ways. Before: {before}; after: {after}."
        for side, only in zip(("before", "after"), self.unpaired, strict=True):
            if only:
                yield f"{count(only, 'decision')} only {side}, not compared."
        for side, columns in zip(("before", "after"), self.features, strict=True):
            if columns:
                yield f"Known {side} only: {listed(map(named, columns))}."
        partial = sum(not d.complete for d in self.decisions)
        if partial:
            yield (
                f"Of {count(partial, 'decision')} not all minimal sets are known: one that is lost "
                "or gained may not have been looked at."
            )

    # -- as frames ----------------------------------------------------------------------

    def to_frame(self) -> Any:
        """A row for each decision."""
        import pandas as pd

        rows = [
            {
                "decision": d.name,
                "before": d.outcomes[0],
                "after": d.outcomes[1],
                "changed": d.changed,
                "score_before": d.scores[0],
                "score_after": d.scores[1],
                "lost": len(d.having("lost")),
                "gained": len(d.having("gained")),
                "kept": len(d.having("kept")) + d.same,
                "keep_distance": d.keep_distance,
                "flip_distance": d.flip_distance,
                "codes_before": None if d.codes is None else d.codes[0],
                "codes_after": None if d.codes is None else d.codes[1],
                "options": len(d.options),
                "options_fallen": len(d.fallen),
                "complete": d.complete,
            }
            for d in self.decisions
        ]
        return pd.DataFrame(rows)

    def factor_frame(self) -> Any:
        """A row for each minimal set that was lost, gained, or kept with another sufficiency."""
        import pandas as pd

        names = "decision view outcome features fate before after difference low high n_before"
        rows = []
        for d in self.decisions:
            for f in d.factors:
                shift = f.shift
                rows.append(
                    (
                        d.name,
                        f.view,
                        d.outcomes[0],
                        f.features,
                        f.fate,
                        None if f.before is None else f.before.share,
                        None if f.after is None else f.after.share,
                        *((shift.difference, shift.low, shift.high) if shift else (None,) * 3),
                        None if f.before is None else f.before.n,
                        None if f.after is None else f.after.n,
                    )
                )
        return pd.DataFrame(rows, columns=[*names.split(), "n_after"])


def _of(share: Share, noun: str) -> str:
    return (
        f"{share.hits:,} of {count(share.n, noun)} ({percent(share.share)}; 95% interval "
        f"{share.within})"
    )
