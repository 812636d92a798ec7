"""`Drift`, the result of `audit.compare`: totals over decisions, sentences, tables, frames."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from suffice.audit.decision_drift import (
    DecisionDrift,
    FeatureDrift,
    SetDrift,
    feature_drifts,
    set_drifts,
)
from suffice.audit.decisions import DecisionSequence
from suffice.formatting import (
    format_features,
    format_name,
    join_first,
    join_words,
    percent,
    plural,
    three_digits,
)
from suffice.inference import Share
from suffice.results import Field, OmittedRows, Panel, Result, Sheet, make_frame, make_panel
from suffice.typing import NaturalNumber, Proportion


def _rounded(distance: float | None) -> float | None:
    return None if distance is None else round(distance, 3)


def _part(share: Share | None, name: str) -> Any:
    return None if share is None else getattr(share, name)


@dataclass(frozen=True, repr=False)
class Drift(DecisionSequence[DecisionDrift], Result):
    """Differences between two explanations of the same decisions: see `suffice.audit.compare`.

    >>> import pandas as pd
    >>> from suffice import Explainer, audit
    >>> people = pd.DataFrame({"pay": [30, 60, 45, 60], "debt": [20, 20, 0, 40]})
    >>> old = Explainer(lambda rows: rows["pay"] >= 40, people).explain_many(people)
    >>> new = Explainer(lambda rows: rows["pay"] - rows["debt"] >= 40, people).explain_many(people)
    >>> found = audit.compare(old, new, ids=["Ann", "Bo", "Cy", "Di"])
    >>> [d.name for d in found if d.changed], found.other_sets
    (['Di'], Share(hits=3, n=3))
    >>> [(f.feature, round(f.before, 2), round(f.after, 2)) for f in found.by_feature]
    [('debt', 0.0, 0.83), ('pay', 1.0, 0.83)]
    """

    plots = ("drift", "measures")

    models: tuple[str, str]
    contexts: tuple[str, str]
    """Texts of the contexts before and after: how hybrids were made."""
    tau: Proportion | None
    """Threshold τ; None if the decisions have different ones."""
    decisions: tuple[DecisionDrift, ...]
    unpaired: tuple[NaturalNumber, NaturalNumber]
    """Numbers of decisions that only `before` has, and only `after`."""
    features: tuple[tuple[str, ...], tuple[str, ...]]
    """Columns that only `before` has, and only `after`."""

    @property
    def nothing(self) -> bool:
        """True if nothing changed in any decision."""
        return all(d.nothing for d in self.decisions)

    @property
    def changed(self) -> Share:
        """Share of decisions whose outcome changed."""
        return Share.of(d.changed for d in self.decisions)

    @property
    def same_outcome(self) -> tuple[DecisionDrift, ...]:
        """Decisions with the same outcome on both sides, whose sets are compared."""
        return tuple(d for d in self.decisions if not d.changed)

    @property
    def other_sets(self) -> Share:
        """Share of decisions with a minimal set gained or lost, of those with the same outcome."""
        return Share.of(d.other_sets for d in self.same_outcome)

    @property
    def other_codes(self) -> Share:
        """Share of decisions whose reason codes changed, among those with known codes."""
        return Share.of(d.other_codes for d in self.decisions if d.codes is not None)

    @property
    def fallen(self) -> Share:
        """Share of recourse options that no longer work."""
        return Share.of(not o.works for d in self.decisions for o in d.options)

    @property
    def stranded(self) -> tuple[DecisionDrift, ...]:
        """Decisions with the same outcome of whose recourse options none works any more."""
        # A decision with another outcome needs no option any more.
        return tuple(d for d in self.same_outcome if d.options and d.fallen == d.options)

    @property
    def mean_distance(self) -> float | None:
        """Mean barcode distance of both views, over the decisions where it is known."""
        known = [
            apart
            for d in self.decisions
            for apart in (d.keep_distance, d.flip_distance)
            if apart is not None
        ]
        return sum(known) / len(known) if known else None

    @property
    def farthest(self) -> tuple[DecisionDrift, ...]:
        """Decisions with a barcode distance above 0, the largest first."""
        apart = [d for d in self.decisions if d.distance]
        return tuple(sorted(apart, key=lambda d: -(d.distance or 0.0)))

    @property
    def sets(self) -> tuple[SetDrift, ...]:
        """Sets gained or lost in some decision, those of most decisions first."""
        return set_drifts(self.same_outcome)

    @property
    def by_feature(self) -> tuple[FeatureDrift, ...]:
        """Share of the minimal sets that have each feature, the largest change first."""
        return feature_drifts(self.same_outcome)

    @property
    def sheet(self) -> Sheet:
        """Summary: outcomes, minimal sets, distances, reason codes and recourse options."""
        return drift_sheet(self)

    def to_frame(self) -> Any:
        """Return a pandas frame with a row for each decision."""
        return make_frame(_DECISION_FIELDS, self.decisions)

    def to_factor_frame(self) -> Any:
        """Return a pandas frame with a row for each minimal set lost, gained or moved."""
        return make_frame(_FACTOR_FIELDS, [(d, f) for d in self.decisions for f in d.factors])


_DECISION_FIELDS = (
    Field("decision", "decision", value=lambda d: d.name),
    Field("before", "outcome", value=lambda d: d.outcomes[0], show=format_name),
    Field("after", value=lambda d: d.outcomes[1]),
    Field("changed"),
    Field("score_before", value=lambda d: d.scores[0]),
    Field("score_after", value=lambda d: d.scores[1]),
    Field("lost", value=lambda d: len(d.having("lost"))),
    Field("gained", value=lambda d: len(d.having("gained"))),
    Field("kept", value=lambda d: len(d.having("kept")) + d.unmoved),
    Field("keep_distance", "keep distance", "number", show=_rounded),
    Field("flip_distance", "flip distance", "number", show=_rounded),
    Field("codes_before", value=lambda d: None if d.codes is None else d.codes[0]),
    Field("codes_after", value=lambda d: None if d.codes is None else d.codes[1]),
    Field("options", value=lambda d: len(d.options)),
    Field("options_fallen", value=lambda d: len(d.fallen)),
    Field("complete"),
    Field("", "lost", "number", value=lambda d: len(d.having("lost"))),
    Field("", "gained", "number", value=lambda d: len(d.having("gained"))),
)
_FACTOR_FIELDS = (
    Field("decision", value=lambda row: row[0].name),
    Field("view", value=lambda row: row[1].view),
    Field("outcome", value=lambda row: row[0].outcomes[0]),
    Field("features", "set", value=lambda row: row[1].features, show=format_features),
    Field("", "suffices", value=lambda row: f"to {row[1].view}"),
    Field("fate", value=lambda row: row[1].fate),
    Field("before", "before", "share", value=lambda row: _part(row[1].before, "share")),
    Field("after", "after", "share", value=lambda row: _part(row[1].after, "share")),
    Field(
        ("difference", "low", "high"),
        "moved, in points (95%)",
        "difference",
        value=lambda row: row[1].shift,
    ),
    Field("n_before", value=lambda row: _part(row[1].before, "n")),
    Field("n_after", value=lambda row: _part(row[1].after, "n")),
    Field("", "", value=lambda row: row[1].text),
)
_SET_FIELDS = (
    Field("features", "set", show=format_features),
    Field("", "suffices", value=lambda s: f"to {s.view} {format_name(s.outcome)}"),
    Field("decisions", "decisions", "number"),
    Field("", "lost in", "share", value=lambda s: s.lost / s.decisions),
    Field("", "gained in", "share", value=lambda s: s.gained / s.decisions),
)
_FEATURE_FIELDS = (
    Field("feature", "feature", show=format_name),
    Field("before", "before", "share"),
    Field("after", "after", "share"),
    Field("fell", "less in", "number"),
    Field("rose", "more in", "number"),
)
_CODE_FIELDS = (
    Field("", "before", value=lambda row: ", ".join(row[0][0]) or "none"),
    Field("", "after", value=lambda row: ", ".join(row[0][1]) or "none"),
    Field("", "decisions", "number", value=lambda row: row[1]),
)
_OPTION_FIELDS = (
    Field("", "decision", value=lambda row: row[0].name),
    Field("", "cost", "number", value=lambda row: row[1].cost),
    Field("", "change", value=lambda row: row[1].text),
)

_SHOWN = 10
_FATE_ORDER = ("lost", "gained", "kept")


def drift_sheet(drift: Drift) -> Sheet:
    """Return the sentences and tables of a drift."""
    one = len(drift.decisions) == 1
    what = "this decision" if one else plural(len(drift), "decision")
    return Sheet(
        f"What changed in {what}",
        lead=tuple(_lead(drift)),
        panels=tuple(_panels_of_one(drift) if one else _panels(drift)),
        notes=tuple(_notes(drift)),
    )


def _lead(drift: Drift) -> Iterator[str]:
    n = len(drift.decisions)
    if drift.nothing:
        what = "" if n == 1 else f" in {plural(n, 'decision')}"
        yield f"Nothing changed{what}: same outcome, same minimal sets, just as sufficient."
        return
    yield from _lead_of_one(drift) if n == 1 else _lead_of_many(drift)
    if drift.other_codes.hits and n > 1:
        yield f"Reason codes changed in {_share_text(drift.other_codes, 'decision')}."
    if drift.fallen.n and not drift.fallen.hits:
        options, one = drift.fallen.n, "The recourse option still works."
        yield one if options == 1 else f"All {options:,} recourse options still work."
    elif drift.fallen.n:
        left = [d.name for d in drift.stranded]
        stranded = f"; none is left for {join_first(left, 5)}" if left and n > 1 else ""
        fallen = _share_text(drift.fallen, "option")
        yield f"Recourse options that no longer work: {fallen}{stranded}."


def _lead_of_one(drift: Drift) -> Iterator[str]:
    (d,) = drift.decisions
    if d.changed:
        yield (
            f"The outcome was “{format_name(d.outcomes[0])}”, and is "
            f"“{format_name(d.outcomes[1])}”."
        )
        return
    lost, gained = len(d.having("lost")), len(d.having("gained"))
    kept = len(d.having("kept")) + d.unmoved
    sets = f"{plural(lost, 'minimal set')} lost, {gained} gained, {kept} kept"
    if not (lost or gained):
        sets = f"the same {plural(kept, 'minimal set')}"
    yield f"Still “{format_name(d.outcomes[0])}”: {sets} ({d.unmoved} just as sufficient)."
    if d.distance is not None:
        apart = join_words(
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
        moves = Counter(d.outcomes for d in drift.decisions if d.changed).most_common(3)
        text = ", ".join(f"{format_name(a)} → {format_name(b)} {n:,}" for (a, b), n in moves)
        yield f"Another outcome: {_share_text(drift.changed, 'decision')}; {text}."
    else:
        yield f"All {len(drift):,} decisions have the same outcome as before."
    same = drift.other_sets
    if same.hits:
        yield f"Other minimal sets with the same outcome: {_share_text(same, 'decision')}."
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
    # Sorted by change: the first that moved is the one that moved most.
    most_moved = next((f for f in drift.by_feature if f.difference), None)
    if most_moved is not None:
        f = most_moved
        yield (
            f"What counts moved most for {format_name(f.feature)}: in {percent(f.before)} of the "
            f"minimal sets before, in {percent(f.after)} now."
        )
    if drift.sets:
        lost = max(drift.sets, key=lambda s: s.lost)
        gained = max(drift.sets, key=lambda s: s.gained)
        for fate, s, n in (("lost", lost, lost.lost), ("gained", gained, gained.gained)):
            if n:
                yield (
                    f"Most often {fate}, to {s.view} “{format_name(s.outcome)}”: "
                    f"{join_words(map(format_name, s.features)) or 'nothing at all'} "
                    f"({n:,} of {plural(s.decisions, 'decision')})."
                )


def _panels_of_one(drift: Drift) -> Iterator[Panel]:
    (d,) = drift.decisions
    if d.factors:
        # A stable sort keeps the order of sets within each fate.
        order = sorted(d.factors, key=lambda f: _FATE_ORDER.index(f.fate))
        more = OmittedRows(len(order) - _SHOWN, ".to_factor_frame()")
        yield make_panel(_FACTOR_FIELDS, [(d, f) for f in order[:_SHOWN]], more=more)
    yield from _option_panels(drift)


def _panels(drift: Drift) -> Iterator[Panel]:
    if drift.sets:
        features = drift.by_feature
        of = plural(features[0].decisions if features else 0, "decision")
        heading = f"Share of the minimal sets that have a feature ({of})"
        more = OmittedRows(len(features) - _SHOWN, ".by_feature")
        yield make_panel(_FEATURE_FIELDS, features[:_SHOWN], heading, more)
        more = OmittedRows(len(drift.sets) - _SHOWN, ".sets")
        heading = "Sets that are minimal no longer, or newly"
        yield make_panel(_SET_FIELDS, drift.sets[:_SHOWN], heading, more)
    if drift.farthest:
        more = OmittedRows(len(drift.farthest) - _SHOWN, ".farthest")
        heading = "Where most changed"
        yield make_panel(_DECISION_FIELDS, drift.farthest[:_SHOWN], heading, more)
    moved = Counter(d.codes for d in drift.decisions if d.codes is not None and d.other_codes)
    if moved:
        # Ties by code, so that the same drift gives the same page.
        often = sorted(moved.items(), key=lambda item: (-item[1], item[0]))
        more = OmittedRows(len(often) - _SHOWN, ".to_frame()")
        yield make_panel(_CODE_FIELDS, often[:_SHOWN], "Reason codes that changed", more)
    yield from _option_panels(drift)


def _option_panels(drift: Drift) -> Iterator[Panel]:
    fallen = [(d, o) for d in drift.decisions for o in d.fallen]
    if fallen:
        more = OmittedRows(len(fallen) - _SHOWN, ".decisions")
        heading = "Recourse options that no longer work"
        yield make_panel(_OPTION_FIELDS, fallen[:_SHOWN], heading, more)


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
            yield f"{plural(only, 'decision')} only {side}, not compared."
    for side, columns in zip(("before", "after"), drift.features, strict=True):
        if columns:
            yield f"Known {side} only: {join_words(map(format_name, columns))}."
    unknown = [d for d in drift.decisions if d.codes_unknown]
    if unknown:
        first = unknown[0]
        yield (
            f"Reason codes of {plural(len(unknown), 'decision')} are not compared, since one "
            "side's "
            f"are not known. Decision {first.name}: {first.codes_unknown[0]}."
        )
    partial = sum(not d.complete for d in drift.decisions)
    if partial:
        yield (
            f"Of {plural(partial, 'decision')} not all minimal sets are known: one that is lost "
            "or gained may not have been searched."
        )


def _share_text(share: Share, noun: str) -> str:
    return (
        f"{share.hits:,} of {plural(share.n, noun)} ({percent(share.share)}; 95% interval "
        f"{share.within})"
    )
