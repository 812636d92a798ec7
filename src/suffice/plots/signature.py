"""What the signature picture shows, as facts: which sets, of which features, for which τ.

Each view is a matrix with a row for each minimal set and a column for each feature. Both views have
the same columns, the most necessary feature first, so that one can be read under the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import floor, nextafter
from typing import Literal

import numpy as np

from suffice.errors import InputError
from suffice.explanation import Explanation, Player, SufficientFactor, View
from suffice.explanation.subject import ImageSubject, TextSubject
from suffice.summary import Summary, ViewSummary, summarise
from suffice.summary.picture import by_necessity
from suffice.wording import columns, count, harmless, percent, show

__all__ = [
    "Feature",
    "SetRow",
    "Signature",
    "ViewRows",
    "as_views",
    "feature_of",
    "signature_of",
    "starts_at",
]

_ALL_FEATURES = 12
"""Up to so many features all have a column, also those that are in no set shown."""
_OTHERS = 4
"""So many sets that are minimal at other thresholds are shown beneath those at τ."""
_LOOKED_AT = 200
"""They are chosen among so many, those of the longest intervals."""


@dataclass(frozen=True)
class Feature:
    """A column of the matrix."""

    name: str
    """In full, however long."""
    value: str
    """The input's; "" for a word or a region, which has none."""
    several: bool = False
    """Is it a group, whose value tells of several columns?"""


@dataclass(frozen=True)
class SetRow:
    """A set of features: a row of the matrix, a share with its interval, a bar of the barcode."""

    members: tuple[int, ...]
    """The places of its columns, ascending."""
    elsewhere: int
    """How many of its features have no column, for want of room."""
    sufficiency: float
    interval: tuple[float, float] | None
    """None where there is one reference, which makes no sample."""
    minimal_for: tuple[float, float]
    at_tau: bool
    """Is it minimal at the τ asked for, or only at others?"""
    from_tau: bool
    """Is nothing known below τ, so that its bar begins there?"""


@dataclass(frozen=True)
class ViewRows:
    """One view: its rows, and what is to be said beside them."""

    view: Literal["keep", "flip"]
    title: str
    lead: str
    share_words: str
    """What the shares are of: "keeps it for"."""
    rows: tuple[SetRow, ...]
    nothing: str
    """Why there is no row at τ, and what to do; "" where there is one."""
    more: tuple[str, ...]
    """Sets that are not shown: how many, and for which τ."""
    necessity: float | None
    necessity_words: str
    curve: tuple[tuple[float, float], ...]
    """Steps (τ): each holds for thresholds up to and including its τ."""
    no_curve: str
    """Why there is no curve; "" where there is one."""


@dataclass(frozen=True)
class Signature:
    """The whole picture."""

    question: str
    predicted: str
    tau: float
    features: tuple[Feature, ...]
    """The columns, the most necessary first."""
    views: tuple[ViewRows, ...]
    shares_from: float
    """Where the axis of shares begins."""
    bars_from: float
    """Where the axis of thresholds begins."""
    notes: tuple[str, ...]


def as_views(result: object, argument: str = "result") -> tuple[View, ...]:
    """Both views of an explanation, or the one that was given."""
    if isinstance(result, Explanation):
        return result.keep, result.flip
    if isinstance(result, View):
        return (result,)
    raise InputError(argument, result, "an explanation, or one of its views (e.keep, e.flip)")


def signature_of(result: Explanation | View, most: int = 12, widest: int = 40) -> Signature:
    """The facts of the picture: at most so many sets of each view, and so many columns."""
    views = as_views(result)
    summary = summarise(result, most=most)
    chosen = [_chosen(view, most) for view in views]
    e = views[0].explanation
    order, names = by_necessity(e), [player.name for player in e.players]
    shown = Counter(name for sets in chosen for factor in sets for name in factor.features)
    if len(names) > _ALL_FEATURES:
        order = [i for i in order if shown[names[i]]]
    used = sum(shown[name] > 0 for name in names)
    if len(order) > widest:
        kept = sorted(order, key=lambda i: -shown[names[i]])[:widest]
        order = [i for i in order if i in set(kept)]
    places = {names[i]: place for place, i in enumerate(order)}
    features = tuple(feature_of(e, e.players[i]) for i in order)
    rows = [[_row(v, f, places) for f in sets] for v, sets in zip(views, chosen, strict=True)]
    told = zip(views, summary.views, rows, strict=True)
    every = [row for sets in rows for row in sets]
    tau = views[0].tau
    return Signature(
        question=summary.question,
        predicted=summary.predicted,
        tau=tau,
        features=features,
        views=tuple(_view_rows(view, words, tuple(sets)) for view, words, sets in told),
        shares_from=starts_at(
            [tau, *(low for row in every for low in (row.interval or (row.sufficiency,))[:1])]
        ),
        bars_from=starts_at([tau, *(row.minimal_for[0] for row in every)]),
        notes=tuple(_notes(e, summary, len(features), used)),
    )


def _least(row: SetRow) -> float:
    return row.sufficiency if row.interval is None else row.interval[0]


def starts_at(shares: Iterable[float]) -> float:
    """Where an axis begins that has all these shares: at 0, or nearer where all are near 1.

    >>> starts_at([0.93, 0.97]), starts_at([0.62, 1.0]), starts_at([0.2, 0.9])
    (0.9, 0.6, 0.0)
    >>> starts_at([0.995, 1.0])
    0.98
    """
    least = min(shares)
    if least < 0.4:
        return 0.0
    step = 0.1 if least < 0.9 else 0.05 if least < 0.97 else 0.02
    # A share that stands on the border is drawn over it.
    return round(max(0.0, floor((least - step / 10) / step + 1e-9) * step), 6)


def _chosen(view: View, most: int) -> list[SufficientFactor]:
    """The first sets at τ, and where there is room a few that are minimal at other thresholds."""
    at_tau = list(view[:most])
    room = min(_OTHERS, most - len(at_tau))
    if room <= 0 or view.tally.n == 1:
        return at_tau
    found = view.profile.minimal_somewhere(_LOOKED_AT)
    others = [m for m in found if not m.low < view.tau <= m.high]
    # What would be the answer at a τ not far from the one asked for, the nearest first.
    others.sort(key=lambda m: max(m.low - view.tau, view.tau - m.high))
    others = sorted(others[:room], key=lambda m: -m.high)
    names = [player.name for player in view.players]
    return at_tau + [view.factor([names[i] for i in minimal.members]) for minimal in others]


def _row(view: View, factor: SufficientFactor, places: dict[str, int]) -> SetRow:
    low, high = factor.minimal_for
    return SetRow(
        members=tuple(sorted(places[name] for name in factor.features if name in places)),
        elsewhere=sum(name not in places for name in factor.features),
        sufficiency=factor.sufficiency,
        interval=factor.interval if factor.n > 1 else None,
        minimal_for=factor.minimal_for,
        at_tau=low < view.tau <= high,
        from_tau=view.profile.findings is not None and low == nextafter(view.tau, 0.0),
    )


def feature_of(e: Explanation, player: Player) -> Feature:
    """A feature by its whole name, with the input's value in words."""
    name, values = harmless(player.name), player.values
    if isinstance(e.subject, TextSubject):
        return Feature(f"“{name}”", "")
    if isinstance(e.subject, ImageSubject) or not values:
        return Feature(name, "")
    if len(values) == 1:
        return Feature(name, show(next(iter(values.values()))))
    if player.name == " + ".join(values):
        return Feature(name, " + ".join(map(show, values.values())))
    return Feature(name, columns(values), several=True)


def _view_rows(view: View, words: ViewSummary, rows: tuple[SetRow, ...]) -> ViewRows:
    one = view.tally.n == 1
    return ViewRows(
        view=view.name,
        title=words.title,
        lead=words.lead,
        share_words="keeps it for" if view.name == "keep" else "flips it for",
        rows=rows,
        nothing=words.none_reached,
        more=tuple(_more(view, rows)),
        necessity=words.necessity,
        necessity_words=words.necessity_text,
        curve=words.curve,
        no_curve="" if words.curve else _no_curve(view, one),
    )


def _more(view: View, rows: Sequence[SetRow]) -> Iterable[str]:
    """Sets that are not shown: how many, for which τ, and where they are."""
    at_tau = sum(row.at_tau for row in rows)
    if hidden := len(view) - at_tau:
        sets = count(hidden, "more set")
        yield f"and {sets} at τ = {view.tau:g}: .{view.name}.factors"
    low, high = view.profile.bars.low, view.profile.bars.high
    others = ~((low < view.tau) & (view.tau <= high))
    if view.tally.n > 1 and (hidden := int(np.count_nonzero(others)) - (len(rows) - at_tau)):
        between = (
            f"between {percent(float(low[others].min()))} and {percent(float(high[others].max()))}"
        )
        sets = count(hidden, "more set")
        yield f"and {sets} for other τ, {between}: .{view.name}.barcode"


def _no_curve(view: View, one: bool) -> str:
    if one:
        return "There is one reference, so every τ is alike."
    if view.profile.findings is not None:
        return f"This search decided sets at τ = {view.tau:g}: necessity at others is not known."
    if view.necessity is None and view.tally.complete:
        return ""
    return "Necessity was not estimated."


def _notes(e: Explanation, summary: Summary, columns: int, used: int) -> Iterable[str]:
    yield f"{summary.status}: {summary.completeness}"
    feature = summary.feature
    if used > columns:
        yield f"{count(used - columns, feature)} found no room: in its row, a + counts them."
    if others := len(e.players) - max(used, columns):
        are = "is" if others == 1 else "are"
        yield f"{count(others, f'other {feature}')} {are} in none of the sets shown."
    if any(p.findings is not None for p in (e.keep_profile, e.flip_profile)):
        yield "A bar that begins in dots at τ: for lower thresholds nothing is known of its set."
    if e.keep_profile.alpha is not None:
        yield (
            f"Sets are tested (α = {e.keep_profile.alpha:g}), so a bar ends at the highest τ that "
            "its set passes, below its share."
        )
    if e.keep_profile.tally.n > 1:
        yield "Whiskers: 95% interval, reading the references as a sample."
    yield "Columns: the most necessary first."
