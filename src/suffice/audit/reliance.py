"""Reliance of decisions on protected (sensitive) features, by decision and by group.

The paper's test for reliance on sensitive attributes asks four questions of a decision: does
changing the protected features alone flip it; is one of them in some minimal set; is one in every
minimal set; does the decision stand when they are freed and all else is held. In a causal context a
change has its consequences, so that a protected cause that acts through its effects is found there,
and is not found where values are only swapped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.audit.decision_counts import DecisionCounts, read_decision_counts, submasks
from suffice.audit.decisions import GroupBy, all_players, as_explanations, group_function
from suffice.audit.shares import (
    SIGNIFICANCE_LEVEL,
    Gap,
    Share,
    compare_groups,
    group_differences_sentence,
)
from suffice.errors import InputError, did_you_mean
from suffice.explanation import Explanation
from suffice.formatting import format_name, join_words, number_or_none, percent, plural
from suffice.inference import interval_and_p_value
from suffice.results import Estimate, Field, Panel, Result, Sheet, make_frame, make_panel
from suffice.typing import VIEWS
from suffice.validation import check_name_list

_WORST_SHOWN = 10
_GAPS_SHOWN = 3
"""Gaps between groups in the text; `Reliance.gaps` has all."""


@dataclass(frozen=True)
class DecisionReliance:
    """Reliance of one decision on one set of protected features."""

    number: int
    name: str
    """Name of the decision: its id if it has one, else its number."""
    protected: str
    """Name of the set of protected features."""
    outcome: str
    group: str | None
    flips_alone: float | None
    """Share of references whose protected values, all taken over, flip the decision; None if that
    set was not counted."""
    interval: tuple[float, float] | None
    """95% Clopper–Pearson interval of `flips_alone`."""
    flips_most: float | None
    """Largest such share over the subsets of the protected features: one feature may undo what
    another does. If not every set was counted, the share of all of them together."""
    in_some: bool
    """Whether a protected feature is in some minimal set of either view."""
    in_every: bool
    """Whether every minimal set of both views has a protected feature."""
    stands_freed: bool | None
    """Whether all other features together suffice at τ to keep the outcome: by their share of
    references or, for explanations with alpha, by the test. None if that set was not counted."""
    change: str | None
    """Cheapest known change of protected features alone that flips the decision, as text."""
    cost: float | None
    complete: bool
    """Whether all minimal sets of the decision are known."""

    @property
    def rests(self) -> bool:
        """Whether protected features alone flip it for a reference, or it does not stand freed."""
        return bool(self.flips_most) or self.stands_freed is False


@dataclass(frozen=True)
class GroupReliance:
    """Reliance of one group of decisions on one set of protected features."""

    protected: str
    group: str | None
    decisions: int
    flipped: Share
    """Decisions that protected features alone flip for some reference."""
    in_some: Share
    in_every: Share
    falls: Share
    """Decisions that do not stand with the protected features freed and all else held."""


@dataclass(frozen=True)
class RelianceGap:
    """Gap between two groups in the share of decisions that protected features alone flip."""

    protected: str
    groups: tuple[str, str]
    gap: Gap
    p_adjusted: float
    """p-value by Holm's method, over all pairs of groups and sets that were compared."""

    @property
    def found(self) -> bool:
        """Whether the difference is significant after Holm's adjustment."""
        return self.p_adjusted <= SIGNIFICANCE_LEVEL


@dataclass(frozen=True, repr=False)
class Reliance(Result):
    """Measured reliance of decisions on protected features; it makes no legal statement."""

    plots = ("reliance",)

    protected: tuple[tuple[str, tuple[str, ...]], ...]
    """Sets of protected features by name."""
    rows: tuple[DecisionReliance, ...]
    groups: tuple[GroupReliance, ...]
    gaps: tuple[RelianceGap, ...]
    """Comparisons of every two groups, the smallest p-value first."""
    context: str
    """Text of the context: how hybrids were made."""

    @property
    def worst(self) -> tuple[DecisionReliance, ...]:
        """The decisions that protected features alone flip most often."""
        flipped = [row for row in self.rows if row.flips_most]
        return tuple(
            sorted(flipped, key=lambda r: (-(r.flips_most or 0.0), r.number))[:_WORST_SHOWN]
        )

    @property
    def differing(self) -> str:
        """Sentence on the number of significant gaps between groups; "" without groups."""
        if not self.gaps:
            return ""
        return group_differences_sentence(sum(between.found for between in self.gaps))

    @property
    def sheet(self) -> Sheet:
        """Summary: decisions that rest on each set of protected features, by group."""
        return Sheet(
            "Do decisions rest on "
            f"{join_words((format_name(name) for name, _ in self.protected), 'or')}?",
            lead=tuple(self._lead()),
            panels=tuple(self._panels()),
            notes=tuple(self._notes()),
        )

    def _notes(self) -> Iterator[str]:
        yield (
            f"Measured, with hybrids made so: {self.context}. Shares of decisions have exact "
            "95% intervals. This is what the model does with these features on these "
            "decisions; whether it may is not for a count to say."
        )
        if self.gaps:
            yield (
                "A gap has Newcombe's 95% interval, of its two groups alone; p by Fisher's exact "
                f"test, adjusted by Holm's method for {plural(len(self.gaps), 'comparison')}."
            )
        if any(len(features) > 1 for _, features in self.protected) and self.worst:
            yield (
                "Changes are priced of sets that are minimal at some threshold: another set of "
                "protected features may flip a decision for less."
            )
        unknown = len({row.number for row in self.rows if not row.complete})
        if unknown:
            which = "Of one decision" if unknown == 1 else f"Of {unknown:,} decisions"
            yield f"{which} not every minimal set is known: roles are those in the sets found."
        if any(0 < s.n < g.decisions for g in self.groups for s in (g.flipped, g.falls)):
            yield (
                "The decisions whose sets were counted are no random sample of all. For the others "
                f"{_UNCOUNTED_NOTE}."
            )

    @property
    def told(self) -> tuple[str, ...]:
        """A sentence for each set of protected features, over all decisions."""
        features = dict(self.protected)
        return tuple(
            f"{format_name(g.protected)}: "
            f"{_findings_sentence(g, len(features.get(g.protected, ())) == 1)}."
            for g in self.groups
            if g.group is None
        )

    def _lead(self) -> Iterator[str]:
        yield from self.told
        if self.gaps:
            hidden = len(self.gaps) - _GAPS_SHOWN
            rest = f"; {hidden:,} of {len(self.gaps):,} pairs not shown: .gap_frame()"
            yield f"{self.differing}{rest * (hidden > 0)}."
        for between in self.gaps[:_GAPS_SHOWN]:
            yield (
                f"{format_name(between.protected)}: {between.groups[0]} less {between.groups[1]}: "
                f"{between.gap} points of decisions that are flipped so (adjusted p = "
                f"{between.p_adjusted:.2g})."
            )

    def _panels(self) -> Iterator[Panel]:
        heading = "Share of decisions (95% interval)"
        partly = any(s.n < g.decisions for g in self.groups for s in (g.flipped, g.falls))
        fields = (*_GROUP_FIELDS, *(_COUNTED_FIELDS if partly else ()))
        yield make_panel(fields, self.groups, heading)
        if self.worst:
            yield make_panel(_DECISION_FIELDS, self.worst, "Where it matters most")

    def to_frame(self) -> Any:
        """Return a pandas frame with a row for each decision and set of protected features."""
        return make_frame(_DECISION_FIELDS, self.rows)

    def gap_frame(self) -> Any:
        """Return a pandas frame with a row for each two groups, the smallest p-value first."""
        return make_frame(_GAP_FIELDS, self.gaps)


_GROUP_FIELDS = (
    Field("protected", "protected", show=format_name),
    Field("group", "group", show=lambda group: "all" if group is None else group),
    Field("decisions", "decisions", "number"),
    Field("flipped", "it alone flips", "share"),
    Field("in_some", "in some set", "share"),
    Field("in_every", "in every set", "share"),
    Field("falls", "falls if freed", "share"),
)
_COUNTED_FIELDS = (
    Field("", "flips counted", "number", value=lambda g: g.flipped.n),
    Field("", "freed counted", "number", value=lambda g: g.falls.n),
)
_DECISION_FIELDS = (
    Field("decision", "decision", value=lambda r: r.name),
    Field("protected", "protected", show=format_name),
    Field("outcome", "outcome"),
    Field("group", "group"),
    Field(
        ("flips_alone", "low", "high"),
        value=lambda r: None if r.interval is None else Estimate(r.flips_alone, *r.interval),
    ),
    Field("flips_most", "references that flip it", "share"),
    Field("in_some"),
    Field("in_every"),
    Field("stands_freed"),
    Field("change", "cheapest change known"),
    Field("cost", "cost", "number"),
    Field("complete"),
)
_GAP_FIELDS = (
    Field("protected"),
    Field("group", value=lambda gap: gap.groups[0]),
    Field("other", value=lambda gap: gap.groups[1]),
    Field(("difference", "low", "high"), value=lambda gap: gap.gap),
    Field("p_value", value=lambda gap: gap.gap.p_value),
    Field("p_adjusted"),
)


_UNCOUNTED_NOTE = (
    "that set was not counted; explain with search='exhaustive', and where decisions are stored, "
    "write them with counts=True"
)


def _findings_sentence(found: GroupReliance, one: bool) -> str:
    """Return the sentence on one protected feature (`one`) or several, over all decisions."""
    it = "it" if one else "them"
    is_in = "it is" if one else "one of them is"
    freed = f"with all else held and {it} left open"
    flips, falls = found.flipped, found.falls
    uncounted = found.decisions - flips.n
    left = f"; {uncounted:,} more were not counted" if uncounted else ""
    if not flips.n:
        alone = (
            f"whether changing {it} alone flips any of {plural(found.decisions, 'decision')} is "
            f"not known ({_UNCOUNTED_NOTE})"
        )
    elif not (flips.hits or found.in_some.hits or falls.hits):
        return (
            f"no decision of {flips.n:,} was found to rest on {it} (if these are a sample, at "
            f"most {percent(flips.interval[1])} of all do{left})"
        )
    else:
        alone = (
            f"changing {it} alone flips {number_or_none(flips.hits)} of "
            f"{plural(flips.n, 'decision')}"
            f"{' for some reference' * bool(flips.hits)} (95% interval {flips.within}{left})"
        )
    every = falls.n == found.decisions
    if not falls.n:
        stand = f"whether they stand {freed} is not known either"
    elif falls.hits:
        counted = "" if every else f" of {falls.n:,} that were counted"
        stand = f"{freed}, {falls.hits:,}{counted} do{'es' * (falls.hits == 1)} not stand"
    else:
        counted = "all" if every else f"all {falls.n:,} that were counted"
        stand = f"{freed}, {counted} stand{'s' * (found.decisions == 1)}"
    return (
        f"{alone}; {stand}; {is_in} in some minimal set of {number_or_none(found.in_some.hits)} of "
        "the "
        f"decisions, and in every minimal set of {number_or_none(found.in_every.hits)}"
    )


def reliance(
    explanations: Any,
    protected: Any,
    *,
    by: GroupBy = None,
    tau: float | None = None,
    ids: Sequence[Any] | None = None,
    progress: bool | None = None,
) -> Reliance:
    """Measure how far decisions rest on protected features, decision by decision and by group.

    `protected` is a feature, a list of features taken together, or {"name": [features]} for several
    questions at once (for example a proxy with the feature that it stands for). `by` makes groups,
    as in `cohort` (at most 50). `ids` names the decisions; without it they have their stored ids or
    numbers. With `tau` None each decision is read at its own τ.

    >>> import pandas as pd
    >>> from suffice import Explainer, audit
    >>> people = pd.DataFrame({"pay": [1, 2, 5, 6] * 2, "sex": ["f", "m"] * 4})
    >>> def granted(rows):
    ...     return (rows["pay"] > 3) & ((rows["sex"] == "m") | (rows["pay"] > 5))
    >>> decisions = Explainer(granted, people).explain_many(people)
    >>> found = audit.reliance(decisions, "sex")
    >>> found.to_frame()["stands_freed"].tolist()[:4]
    [True, True, False, True]
    >>> [row.name for row in found.rows if row.flips_alone]
    ['2', '6']
    """
    found = as_explanations(explanations)
    group_of = group_function(by, len(found))
    sets: dict[str, tuple[str, ...]] = {}
    rows: list[DecisionReliance] = []
    context = ""
    for decision in read_decision_counts(found, tau=tau, ids=ids, progress=progress):
        if not sets:
            sets = _protected_sets(protected, decision.explanation)
            context = decision.explanation.provenance.context.words
        group = group_of(decision)
        minimal = [mask for view in VIEWS for mask in decision.minimal_masks(view)]
        rows += [
            _decision_reliance(decision, name, features, group, minimal)
            for name, features in sets.items()
        ]
    labels = sorted({row.group for row in rows if row.group is not None})
    groups = tuple(_group_reliances(rows, sets, labels))
    compared = compare_groups(
        (
            name,
            [(g.group, g.flipped) for g in groups if g.protected == name and g.group is not None],
        )
        for name in sets
    )
    gaps = sorted(
        (RelianceGap(pair.key, pair.groups, pair.gap, pair.p_adjusted) for pair in compared),
        key=lambda between: (between.gap.p_value, -abs(between.gap.difference)),
    )
    return Reliance(tuple(sets.items()), tuple(rows), groups, tuple(gaps), context)


def _protected_sets(given: Any, e: Explanation) -> dict[str, tuple[str, ...]]:
    if isinstance(given, Mapping):
        if not given:
            raise InputError("protected", "no names", "at least one feature")
        return {str(name): _features(features, e) for name, features in given.items()}
    features = _features(given, e)
    return {join_words(features): features}


def _features(given: Any, e: Explanation) -> tuple[str, ...]:
    found = check_name_list("protected", given, "features, a list of them, or {name: features}")
    if not found:
        raise InputError("protected", "no names", "at least one feature")
    twice = next((name for name in found if found.count(name) > 1), None)
    if twice is not None:
        raise InputError("protected", f"{twice!r} twice", "each feature once")
    players = all_players(e)
    known = [player.name for player in players]
    for name in found:
        if name in known:
            continue
        inside = [p.name for p in players if name in p.values]
        if inside:
            got = f"{name!r}, a column of the group {inside[0]!r}"
            hint = f"Name {inside[0]!r}, or explain without that group."
            raise InputError("protected", got, "features that are held or replaced alone", hint)
        hint = did_you_mean(name, known)
        raise InputError("protected", repr(name), "features of the explanations", hint)
    return tuple(found)


def _decision_reliance(
    decision: DecisionCounts,
    name: str,
    features: tuple[str, ...],
    group: str | None,
    minimal: list[int],
) -> DecisionReliance:
    """Return the reliance of one decision; `minimal` are the minimal masks of both views."""
    n, own = decision.n_references, decision.mask_of(features)
    flipped, _ = decision.count_set("flip", own)
    _, stands = decision.count_set("keep", (1 << len(decision.features)) - 1 & ~own)
    hits = decision.hits("flip")
    most = flipped if hits is None else int(hits[submasks(own)[1:]].max(initial=0))
    costs = decision.flip_costs
    cheapest = costs.cheapest(_nonempty_submasks(costs.masks, own))
    change = None if cheapest is None else decision.change(cheapest)
    return DecisionReliance(
        number=decision.number,
        name=decision.name,
        protected=name,
        outcome=decision.outcome,
        group=group,
        flips_alone=None if flipped is None else flipped / n,
        interval=None if flipped is None else interval_and_p_value(flipped, n, decision.tau)[0],
        flips_most=None if most is None else most / n,
        in_some=any(mask & own for mask in minimal),
        in_every=bool(minimal) and all(mask & own for mask in minimal),
        stands_freed=stands,
        change=None if change is None else str(change),
        cost=None if change is None else change.cost,
        complete=decision.complete,
    )


def _nonempty_submasks(masks: Any, own: int) -> Any:
    """Return which masks are nonempty and within `own`."""
    return (masks != 0) & (masks & ~own == 0) if len(masks) else np.zeros(0, dtype=bool)


def _group_reliances(
    rows: list[DecisionReliance], sets: Iterable[str], labels: list[str]
) -> Iterator[GroupReliance]:
    by_set: dict[tuple[str, str | None], list[DecisionReliance]] = {}
    for row in rows:
        for label in {None, row.group}:
            by_set.setdefault((row.protected, label), []).append(row)
    for name in sets:
        for label in (None, *labels):
            yield _group_reliance(name, label, by_set[name, label])


def _group_reliance(name: str, label: str | None, rows: list[DecisionReliance]) -> GroupReliance:
    known = [r for r in rows if r.flips_most is not None]
    freed = [r for r in rows if r.stands_freed is not None]
    return GroupReliance(
        protected=name,
        group=label,
        decisions=len(rows),
        flipped=Share(sum(bool(r.flips_most) for r in known), len(known)),
        in_some=Share(sum(r.in_some for r in rows), len(rows)),
        in_every=Share(sum(r.in_every for r in rows), len(rows)),
        falls=Share(sum(r.stands_freed is False for r in freed), len(freed)),
    )
