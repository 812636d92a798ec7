"""Reliance of decisions on protected (sensitive) features, by decision and by group.

The paper's test for reliance on sensitive attributes asks four questions of a decision: does
changing the protected features alone flip it; is one of them in some minimal set; is one in every
minimal set; does the decision stand when they are freed and all else is held. In a causal context
changes have effects, so a protected feature that acts through its effects is found; where values
are only swapped, it is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import Any, Literal

from suffice.audit.decision_counts import DecisionCounts, read_decision_counts
from suffice.audit.decisions import (
    GroupBy,
    as_explanations,
    check_explainer,
    group_function,
)
from suffice.audit.protected_flips import FlipCounter, SameNoiseFlips
from suffice.errors import InputError, did_you_mean
from suffice.explainer import Explainer
from suffice.explanation import Explanation, all_players
from suffice.formatting import format_name, join_words, number_or_none, percent, plural
from suffice.inference import (
    GroupGap,
    Share,
    adjustment_note,
    compare_groups,
    group_differences_sentence,
    interval_and_p_value,
)
from suffice.results import Estimate, Field, Panel, Result, Sheet, make_frame, make_panel
from suffice.typing import NaturalNumber, NonNegative, Proportion
from suffice.validation import check_name_list

_WORST_SHOWN = 10
_GAPS_SHOWN = 3
"""Gaps between groups in the text; `Reliance.gaps` has all."""


NoiseHandling = Literal["none", "compared", "open"]
"""How random effects of a change were dealt with: "none", no effect is random; "compared", the
model predicted what each draw gives with and without the change; "open", they were not compared."""


@dataclass(frozen=True)
class DecisionReliance:
    """Reliance of one decision on one set of protected features."""

    number: NaturalNumber
    name: str
    """Name of the decision: its id if it has one, else its number."""
    protected: str
    """Name of the set of protected features."""
    outcome: str
    group: str | None
    references: NaturalNumber
    """Number of references."""
    flips_alone: Proportion | None
    """Share of references whose protected values, all taken over, flip the decision; None if that
    is not known."""
    interval: tuple[Proportion, Proportion] | None
    """95% Clopper–Pearson interval of `flips_alone`."""
    flips_most: Proportion | None
    """Largest such share over the subsets of the protected features: one feature may undo what
    another does. If not every set was counted, the share of all of them together."""
    in_some: bool | None
    """Whether a protected feature is in some minimal set of either view; None if effects are
    random, which puts features into sets that change nothing but the draw."""
    in_every: bool | None
    """Whether every minimal set of both views has a protected feature; None as for `in_some`."""
    stands_freed: bool | None
    """Whether all other features together suffice at τ to keep the outcome: by their share of
    references or, for explanations with alpha, by the test. None if that set was not counted."""
    change: str | None
    """Cheapest known change of protected features alone that flips the decision, as text."""
    cost: NonNegative | None
    complete: bool
    """Whether all minimal sets of the decision are known."""

    @property
    def rests(self) -> bool:
        """True if protected features alone flip it for a reference, or it does not stand freed."""
        return bool(self.flips_most) or self.stands_freed is False


@dataclass(frozen=True)
class GroupReliance:
    """Reliance of one group of decisions on one set of protected features."""

    protected: str
    group: str | None
    decisions: NaturalNumber
    flipped: Share
    """Decisions that protected features alone flip for some reference."""
    in_some: Share
    in_every: Share
    falls: Share
    """Decisions that do not stand with the protected features freed and all else held."""


@dataclass(frozen=True, kw_only=True)
class RelianceGap(GroupGap):
    """Gap between two groups in the share of decisions that protected features alone flip."""

    protected: str


@dataclass(frozen=True, repr=False)
class Reliance(Result):
    """Measured reliance of decisions on protected features; it makes no legal statement."""

    version = 2
    plots = ("reliance",)

    protected: tuple[tuple[str, tuple[str, ...]], ...]
    """Sets of protected features by name."""
    rows: tuple[DecisionReliance, ...]
    groups: tuple[GroupReliance, ...]
    gaps: tuple[RelianceGap, ...]
    """Comparisons of every two groups, the smallest p-value first."""
    context: str
    """Text of the context: how hybrids were made."""
    noise: NoiseHandling = "none"

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
        decisions = max(g.decisions for g in self.groups)
        return group_differences_sentence(sum(gap.found for gap in self.gaps), decisions)

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
            f"Measured, with hybrids made so: {self.context}. A decision falls if holding all "
            "other features does not suffice at its τ. Shares of decisions have exact 95% "
            "intervals, for these references. This is what the model does with these features on "
            "these decisions; whether it may is not for a count to say."
        )
        if self.noise == "compared":
            yield (
                "Effects of a change are random. A reference counts as flipping a decision only if "
                "the decision stands with its own protected values and falls with the reference's, "
                "both with the same noise. An effect that was fitted on data is rarely 0, and some "
                "draw shows it: read how often references flip a decision, not whether one does."
            )
        if self.gaps:
            yield adjustment_note(len(self.gaps))
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
    def findings(self) -> tuple[str, ...]:
        """A sentence for each set of protected features, over all decisions."""
        features = dict(self.protected)
        why = _RANDOM_NOTE if self.noise == "open" else _UNCOUNTED_NOTE
        most = max((row.references for row in self.rows), default=0)
        sets = "minimal set" if all(row.complete for row in self.rows) else "set found"
        sentence = partial(_findings_sentence, references=most, why=why, sets=sets)
        often: dict[str, float] = {}
        if self.noise == "compared":
            for name, _ in self.protected:
                shares = [row.flips_alone for row in self.rows if row.protected == name]
                often[name] = fmean(share for share in shares if share is not None)
        return tuple(
            f"{format_name(g.protected)}: "
            f"{sentence(g, len(features.get(g.protected, ())) == 1, often=often.get(g.protected))}."
            for g in self.groups
            if g.group is None
        )

    def _lead(self) -> Iterator[str]:
        yield from self.findings
        if self.gaps:
            # Sorted by p-value, so the pairs that are shown are the surest.
            hidden = len(self.gaps) - _GAPS_SHOWN
            rest = f"; {hidden:,} of {len(self.gaps):,} pairs not shown: .gap_frame()"
            yield f"{self.differing}{rest * (hidden > 0)}."
        for gap in self.gaps[:_GAPS_SHOWN]:
            yield (
                f"{format_name(gap.protected)}: {gap.groups[0]} less {gap.groups[1]}: "
                f"{gap.adjusted} points of decisions that are flipped so (adjusted p = "
                f"{gap.p_adjusted:.2g})."
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
    Field("falls", "falls if freed", "share"),
    Field("flipped", "flipped by some reference", "share"),
    Field("in_some", "in some set", "share"),
    Field("in_every", "in every set", "share"),
)
_COUNTED_FIELDS = (
    Field("", "freed counted", "number", value=lambda g: g.falls.n),
    Field("", "flips counted", "number", value=lambda g: g.flipped.n),
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
    Field("low_adjusted", value=lambda gap: gap.adjusted.low),
    Field("high_adjusted", value=lambda gap: gap.adjusted.high),
    Field("p_adjusted"),
)


_UNCOUNTED_NOTE = (
    "that set was not counted; explain with search='exhaustive', and where decisions are stored, "
    "write them with counts=True"
)


_RANDOM_NOTE = (
    "effects are drawn anew, which flips decisions by chance; pass explainer=…, so that values are "
    "compared on the same noise, or explain with CausalContext(…, noise='kept')"
)


def _findings_sentence(
    found: GroupReliance,
    one: bool,
    *,
    references: int,
    why: str,
    sets: str,
    often: float | None,
) -> str:
    """Return the sentence on one protected feature (`one`) or several, over all decisions.

    `references` is the largest number of references of a decision; `why` says why flips are not
    known where they are not; `sets` is "minimal set", or "set found" where others may exist;
    `often` is the mean share of references that flip a decision, for random effects.
    """
    it, its = ("it", "its values") if one else ("them", "their values")
    n, flips, falls = plural(found.decisions, "decision"), found.flipped, found.falls
    freed = f"with all else held and {it} left open"
    up_to = f"up to {plural(references, 'reference')}"
    uncounted = found.decisions - flips.n
    left = f"; {uncounted:,} more were not counted" if uncounted else ""
    if flips.n and not (flips.hits or found.in_some.hits or falls.hits):
        return (
            f"no decision of {flips.n:,} was found to rest on {it}, with {up_to} each (95% "
            f"interval of the share {flips.within}{left})"
        )
    if falls.n:
        of = n if falls.n == found.decisions else f"{falls.n:,} decisions that were counted"
        parts = [
            f"{freed}, {number_or_none(falls.hits)} of {of} fall{'s' * (falls.hits == 1)} "
            f"({percent(falls.share)}; 95% interval {falls.within})"
        ]
    else:
        parts = [f"whether any of {n} falls {freed} is not known ({_UNCOUNTED_NOTE})"]
    if flips.hits:
        mean = "" if often is None else f", {percent(often)} of them on average"
        parts.append(
            f"changing {it} alone flips {flips.hits:,} of {flips.n:,} for some reference "
            f"({up_to}{mean}; the count grows with their number{left})"
        )
    elif flips.n:
        parts.append(
            f"changing {it} alone flips none of {flips.n:,} for any reference ({up_to}{left})"
        )
    else:
        reason = f" ({why})" if falls.n else ""
        parts.append(f"whether {its} alone flip any decision is not known{reason}")
    subject = "it is" if one else "one of them is"
    if found.in_some.hits:
        parts.append(
            f"{subject} in some {sets} of {found.in_some.hits:,} of the decisions, and in "
            f"every {sets} of {number_or_none(found.in_every.hits)}"
        )
    elif found.in_some.n:
        parts.append(f"{subject if one else 'none of them is'} in {'no' if one else 'any'} {sets}")
    return "; ".join(parts)


def reliance(
    explanations: Any,
    protected: Any,
    *,
    by: GroupBy = None,
    tau: float | None = None,
    explainer: Explainer | None = None,
    ids: Sequence[Any] | None = None,
    progress: bool | None = None,
) -> Reliance:
    """Measure how far decisions rest on protected features, decision by decision and by group.

    `protected` is a feature, a list of features taken together, or {"name": [features]} for several
    questions at once (for example a proxy with the feature that it stands for). `by` makes groups,
    as in `cohort` (at most 50). `ids` names the decisions; without it they have their stored ids or
    numbers. With `tau` None each decision is read at its own τ.

    `explainer` is needed only where a causal context draws effects at random. There noise flips
    some decisions whatever the protected value is, so that counts alone would blame a feature
    without effect. The explainer's model then predicts each draw with the decision's own protected
    values and with the reference's. Without it such flips are not known.

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
    if explainer is not None:
        check_explainer(explainer)
    group_of = group_function(by, len(found))
    sets: dict[str, tuple[str, ...]] = {}
    rows: list[DecisionReliance] = []
    context = ""
    noise: NoiseHandling = "none"
    for decision in read_decision_counts(found, tau=tau, ids=ids, progress=progress):
        given = decision.context
        if not sets:
            sets = _protected_sets(protected, decision.explanation)
            context = given.words
        group = group_of(decision)
        # Counts show flips only where effects are fixed: where they are drawn anew, a set of
        # features may flip by the draw alone, whatever the protected values are.
        counter: FlipCounter | None = FlipCounter(decision)
        if given.draws_effects:
            counter = None if explainer is None else SameNoiseFlips(decision, explainer)
            noise = "open" if explainer is None else "compared"
        rows += [
            _decision_reliance(decision, name, features, group, counter)
            for name, features in sets.items()
        ]
    labels = sorted({row.group for row in rows if row.group is not None})
    groups = tuple(_group_reliances(rows, sets, labels))
    # All sets of protected features are one family of comparisons.
    compared = compare_groups(
        (
            name,
            [(g.group, g.flipped) for g in groups if g.protected == name and g.group is not None],
        )
        for name in sets
    )
    gaps = sorted(
        (RelianceGap(protected=name, **vars(pair)) for name, pair in compared),
        key=lambda found: (found.gap.p_value, -abs(found.gap.difference)),
    )
    return Reliance(tuple(sets.items()), tuple(rows), groups, tuple(gaps), context, noise)


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
        # A column of a group cannot be freed alone, so its role could only be that of the whole
        # group.
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
    counter: FlipCounter | None,
) -> DecisionReliance:
    """Return the reliance of one decision; without a counter flips are not known."""
    n, own = decision.n_references, decision.mask_of(features)
    flipped, most = (None, None) if counter is None else counter.flips(own)
    change = None if counter is None else counter.change(own)
    minimal = None if counter is None else counter.minimal
    # Freeing the protected features is holding all others: a set of the keep view.
    _, stands = decision.count_set("keep", (1 << len(decision.features)) - 1 & ~own)
    return DecisionReliance(
        number=decision.number,
        name=decision.name,
        protected=name,
        outcome=decision.outcome,
        group=group,
        references=n,
        flips_alone=None if flipped is None else flipped / n,
        interval=None if flipped is None else interval_and_p_value(flipped, n, decision.tau)[0],
        flips_most=None if most is None else most / n,
        in_some=None if minimal is None else any(mask & own for mask in minimal),
        # Without any minimal set "in every one" would be true of nothing, so it counts as false.
        in_every=None if minimal is None else bool(minimal) and all(m & own for m in minimal),
        stands_freed=stands,
        change=None if change is None else str(change),
        cost=None if change is None else change.cost,
        complete=decision.complete,
    )


def _group_reliances(
    rows: list[DecisionReliance], sets: Iterable[str], labels: list[str]
) -> Iterator[GroupReliance]:
    by_set: dict[tuple[str, str | None], list[DecisionReliance]] = {}
    for row in rows:
        # Without groups the label is None itself: the set keeps such a row from counting twice.
        for label in {None, row.group}:
            by_set.setdefault((row.protected, label), []).append(row)
    for name in sets:
        for label in (None, *labels):
            yield _group_reliance(name, label, by_set[name, label])


def _group_reliance(name: str, label: str | None, rows: list[DecisionReliance]) -> GroupReliance:
    return GroupReliance(
        protected=name,
        group=label,
        decisions=len(rows),
        # Decisions of which a set was not counted are in no share: they are neither accused nor
        # cleared.
        flipped=Share.of(None if r.flips_most is None else r.flips_most > 0 for r in rows),
        in_some=Share.of(r.in_some for r in rows),
        in_every=Share.of(r.in_every for r in rows),
        falls=Share.of(None if r.stands_freed is None else not r.stands_freed for r in rows),
    )
