"""What changed, in words and tables: outcomes, minimal sets, reason codes, ways out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from suffice.audit.decisions import set_words
from suffice.audit.gaps import Share
from suffice.results import Column, Panel, Rest, Sheet
from suffice.wording import and_more, count, listed, named, percent, three_digits

if TYPE_CHECKING:
    from suffice.audit.drift.result import Drift

__all__ = ["drift_sheet"]

_SHOWN = 10
_FATES = ("lost", "gained", "kept")


def drift_sheet(drift: Drift) -> Sheet:
    """What changed: outcomes, minimal sets, how far apart, reason codes, ways out."""
    one = len(drift.decisions) == 1
    what = "this decision" if one else count(len(drift), "decision")
    return Sheet(
        f"What changed in {what}",
        lead=tuple(_lead(drift)),
        panels=tuple(_panels_of_one(drift) if one else _panels(drift)),
        notes=tuple(_notes(drift)),
    )


def _lead(drift: Drift) -> Iterator[str]:
    n = len(drift.decisions)
    if drift.nothing:
        what = "" if n == 1 else f" in {count(n, 'decision')}"
        yield f"Nothing changed{what}: same outcome, same minimal sets, just as sufficient."
        return
    yield from _lead_of_one(drift) if n == 1 else _lead_of_many(drift)
    if drift.other_codes.hits and n > 1:
        yield f"Reason codes changed in {_of(drift.other_codes, 'decision')}."
    if drift.fallen.n and not drift.fallen.hits:
        n_ways = drift.fallen.n
        ways = "The way out still works" if n_ways == 1 else f"All {n_ways:,} ways out still work"
        yield f"{ways}."
    elif drift.fallen.n:
        left = [d.name for d in drift.stranded]
        stranded = f"; none is left for {and_more(left, 5)}" if left and n > 1 else ""
        yield f"Ways out that no longer work: {_of(drift.fallen, 'option')}{stranded}."


def _lead_of_one(drift: Drift) -> Iterator[str]:
    (d,) = drift.decisions
    if d.changed:
        yield f"The outcome was “{named(d.outcomes[0])}”, and is “{named(d.outcomes[1])}”."
        return
    lost, gained = len(d.having("lost")), len(d.having("gained"))
    kept = len(d.having("kept")) + d.unmoved
    sets = f"{count(lost, 'minimal set')} lost, {gained} gained, {kept} kept"
    if not (lost or gained):
        sets = f"the same {count(kept, 'minimal set')}"
    yield f"Still “{named(d.outcomes[0])}”: {sets} ({d.unmoved} just as sufficient)."
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


def _lead_of_many(drift: Drift) -> Iterator[str]:
    if drift.changed.hits:
        ways = Counter(d.outcomes for d in drift.decisions if d.changed).most_common(3)
        told = ", ".join(f"{named(a)} → {named(b)} {n:,}" for (a, b), n in ways)
        yield f"Another outcome: {_of(drift.changed, 'decision')}; {told}."
    else:
        yield f"All {len(drift):,} decisions have the same outcome as before."
    same = drift.other_sets
    if same.hits:
        yield f"Other minimal sets with the same outcome: {_of(same, 'decision')}."
    elif same.n:
        moved = sum(len(d.factors) for d in drift.same_outcome)
        yield (
            "Where the outcome is the same, so are all minimal sets"
            + (f"; the sufficiency of {moved:,} moved." if moved else ".")
        )
    if drift.mean_distance:
        far = drift.farthest[0]
        yield (
            f"Barcodes are {three_digits(drift.mean_distance)} apart on average (0: the same at "
            f"every threshold, 1: nothing in common); farthest, decision {far.name}: "
            f"{three_digits(far.distance)}."
        )
    most_moved = next((f for f in drift.by_feature if f.difference), None)
    if most_moved is not None:
        f = most_moved
        yield (
            f"What counts moved most for {named(f.feature)}: in {percent(f.before)} of the "
            f"minimal sets before, in {percent(f.after)} now."
        )
    if drift.sets:
        lost = max(drift.sets, key=lambda s: s.lost)
        gained = max(drift.sets, key=lambda s: s.gained)
        for fate, s, n in (("lost", lost, lost.lost), ("gained", gained, gained.gained)):
            if n:
                yield (
                    f"Most often {fate}, to {s.view} “{named(s.outcome)}”: "
                    f"{listed(map(named, s.features)) or 'nothing at all'} "
                    f"({n:,} of {count(s.decisions, 'decision')})."
                )


def _panels_of_one(drift: Drift) -> Iterator[Panel]:
    (d,) = drift.decisions
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
        yield Panel(columns, rows, more=Rest(len(order) - len(rows), ".to_factor_frame()"))
    yield from _ways(drift)


def _panels(drift: Drift) -> Iterator[Panel]:
    if drift.sets:
        yield _featured(drift)
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
            for s in drift.sets[:_SHOWN]
        )
        more = Rest(len(drift.sets) - len(rows), ".sets")
        yield Panel(columns, rows, "Sets that are minimal no longer, or newly", more)
    far = drift.farthest
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
        more = Rest(len(far) - len(cells), ".farthest")
        yield Panel(heads, cells, "Where most changed", more)
    yield from _coded(drift)
    yield from _ways(drift)


def _featured(drift: Drift) -> Panel:
    columns = (
        Column("feature"),
        Column("before", "share"),
        Column("after", "share"),
        Column("less in", "number"),
        Column("more in", "number"),
    )
    found = drift.by_feature
    rows = tuple((named(f.feature), f.before, f.after, f.fell, f.rose) for f in found[:_SHOWN])
    more = Rest(len(found) - len(rows), ".by_feature")
    of = count(found[0].decisions if found else 0, "decision")
    return Panel(columns, rows, f"Share of the minimal sets that have a feature ({of})", more)


def _coded(drift: Drift) -> Iterator[Panel]:
    moved = Counter(d.codes for d in drift.decisions if d.codes is not None and d.other_codes)
    if not moved:
        return
    columns = Column("before"), Column("after"), Column("decisions", "number")
    rows = tuple(
        (", ".join(before) or "none", ", ".join(after) or "none", n)
        for (before, after), n in sorted(moved.items(), key=lambda item: (-item[1], item[0]))
    )
    more = Rest(len(rows) - _SHOWN, ".to_frame()")
    yield Panel(columns, rows[:_SHOWN], "Reason codes that changed", more)


def _ways(drift: Drift) -> Iterator[Panel]:
    fallen = [(d, o) for d in drift.decisions for o in d.fallen]
    if not fallen:
        return
    columns = Column("decision"), Column("cost", "number"), Column("change")
    rows = tuple((d.name, o.cost, o.says) for d, o in fallen[:_SHOWN])
    more = Rest(len(fallen) - len(rows), ".decisions")
    yield Panel(columns, rows, "Ways out that no longer work", more)


def _notes(drift: Drift) -> Iterator[str]:
    at = "each decision's own τ" if drift.tau is None else f"τ = {drift.tau:g}"
    before, after = drift.models
    models = f"Before: {before}; after: {after}. " if before != after else ""
    yield (
        f"{models}Minimal sets at {at}. Shares of decisions have exact 95% intervals; a set's "
        "sufficiency moved by so many points, with Newcombe's interval, reading references "
        "as two samples."
    )
    if drift.changed.hits:
        yield (
            "Where the outcome is another, sets suffice for something else: they are not compared."
        )
    if drift.contexts[0] != drift.contexts[1]:
        before, after = drift.contexts
        yield f"Hybrids were made in two ways. Before: {before}; after: {after}."
    for side, only in zip(("before", "after"), drift.unpaired, strict=True):
        if only:
            yield f"{count(only, 'decision')} only {side}, not compared."
    for side, columns in zip(("before", "after"), drift.features, strict=True):
        if columns:
            yield f"Known {side} only: {listed(map(named, columns))}."
    unknown = [d for d in drift.decisions if d.codes_unknown]
    if unknown:
        first = unknown[0]
        yield (
            f"Reason codes of {count(len(unknown), 'decision')} are not compared, since one side's "
            f"are not known. Decision {first.name}: {first.codes_unknown[0]}."
        )
    partial = sum(not d.complete for d in drift.decisions)
    if partial:
        yield (
            f"Of {count(partial, 'decision')} not all minimal sets are known: one that is lost "
            "or gained may not have been looked at."
        )


def _of(share: Share, noun: str) -> str:
    return (
        f"{share.hits:,} of {count(share.n, noun)} ({percent(share.share)}; 95% interval "
        f"{share.within})"
    )
