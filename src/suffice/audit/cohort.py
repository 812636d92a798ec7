"""Summed counts of many decisions by outcome and group: sufficient sets, brittle decisions, gaps.

`cohort` adds up the counts of decisions with the same outcome, set by set, lists the sets that are
minimal most often, ranks the decisions that little would flip, and compares groups.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import inf
from typing import Any

import numpy as np

from suffice.audit.decision_counts import (
    MAX_LISTED_FEATURES,
    DecisionCounts,
    FeatureIndex,
    SufficiencyLevels,
    read_decision_counts,
)
from suffice.audit.decisions import GroupBy, as_explanations, as_label, group_function
from suffice.errors import InputError, did_you_mean, short_repr
from suffice.explanation.view import necessity_curve
from suffice.factors.lattice import members_of
from suffice.formatting import format_features, format_name, join_first, join_words, percent, plural
from suffice.inference import (
    GroupGap,
    Share,
    adjustment_note,
    compare_groups,
    group_differences_sentence,
)
from suffice.results import Field, OmittedRows, Panel, Result, Sheet, make_frame, make_panel
from suffice.search.exhaustive import Tally, smallest_count_dtype
from suffice.search.profile import Profile
from suffice.typing import (
    VIEWS,
    Counts,
    NaturalNumber,
    NonNegative,
    Proportion,
    Reals,
    RoundedShare,
    SmallCounts,
    ViewName,
)
from suffice.validation import check_choice, check_integer, check_tau

_SHOWN = 10
Barcode = tuple[tuple[tuple[str, ...], Proportion, Proportion], ...]
StepCurve = tuple[tuple[Proportion, RoundedShare], ...]


@dataclass(frozen=True)
class CohortSet:
    """A feature set in one part of a cohort."""

    features: tuple[str, ...]
    suffices: NaturalNumber
    """Decisions in which the set suffices at their τ."""
    minimal: NaturalNumber
    """Decisions in which the set is minimal."""
    decisions: NaturalNumber
    hits: NaturalNumber
    """Hits over all references of all decisions."""
    references: NaturalNumber
    steps: StepCurve
    """(τ, share of decisions) steps: the set suffices up to and including τ for that share."""

    def __post_init__(self) -> None:
        for hits, n in ((self.suffices, self.decisions), (self.hits, self.references)):
            if not (0 <= hits <= n and n):
                raise InputError("hits", hits, f"0 to {n}")

    @property
    def share(self) -> Share:
        """Share of decisions in which the set suffices, with its interval."""
        return Share(self.suffices, self.decisions)

    @property
    def sufficiency(self) -> float:
        """Share of hits over all references of all decisions."""
        return self.hits / self.references

    def at(self, tau: float) -> float:
        """Return the share of decisions in which the set suffices at τ."""
        wanted = check_tau(tau)
        return next((share for step, share in self.steps if wanted <= step), 0.0)


@dataclass(frozen=True)
class CohortPart:
    """The decisions of one outcome and group, in one view."""

    outcome: str
    group: str | None
    view: ViewName
    decisions: NaturalNumber
    references: NaturalNumber
    sets: tuple[CohortSet, ...]
    """Feature sets, those that are minimal in most decisions first."""
    more: NaturalNumber
    """Number of sets that are minimal in some decision, but not listed."""
    barcode: Barcode | None
    """From the summed counts: sets that are minimal at some τ, with their (low, high] interval: the
    longest bars, and those of `sets`. None if there are too many features to list all sets."""
    curve: StepCurve | None
    """From the summed counts: (τ, cumulative necessity) steps. None also if the decisions weight
    sizes of sets differently."""
    more_bars: NaturalNumber = 0
    """Number of further sets that are minimal at some τ, but not in the barcode."""

    @property
    def who(self) -> str:
        """The outcome, followed by the group if there are groups."""
        return self.outcome if self.group is None else f"{self.outcome}, {self.group}"


@dataclass(frozen=True)
class BrittleDecision:
    """A decision that a small or cheap change flips."""

    number: NaturalNumber
    name: str
    """Name of the decision: its id if it has one, else its number."""
    outcome: str
    group: str | None
    features: tuple[str, ...]
    """Smallest set that suffices to flip the decision; () if none does."""
    sufficiency: Proportion
    change: str | None
    """Cheapest change of any set, as text."""
    cost: NonNegative | None


@dataclass(frozen=True, kw_only=True)
class CohortGap(GroupGap):
    """Difference between two groups in the share of decisions that a set suffices for."""

    outcome: str
    view: ViewName
    features: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class Cohort(Result):
    """Sufficient sets of many decisions, brittle decisions, and differences between groups."""

    version = 2
    plots = ("cohort", "measures")

    n: NaturalNumber
    tau: float | None
    features: tuple[str, ...]
    parts: tuple[CohortPart, ...]
    brittle: tuple[BrittleDecision, ...]
    """The decisions that the fewest features flip, the cheapest first among equals."""
    cheapest: tuple[BrittleDecision, ...]
    """The decisions that the cheapest change flips."""
    differences: tuple[CohortGap, ...]
    """All comparisons of groups, the smallest adjusted p-value first."""

    def part(self, view: ViewName, outcome: str | None = None, group: Any = None) -> CohortPart:
        """Return the first part with this view, and this outcome and group where given."""
        side = check_choice("view", view, VIEWS)
        fit = {(part.outcome, part.group): part for part in self.parts if part.view == side}
        if outcome is not None:
            _require_known("outcome", outcome, [of for of, _ in fit])
            fit = {key: part for key, part in fit.items() if key[0] == outcome}
        if group is not None:
            label = as_label(group)
            _require_known("group", label, [group for _, group in fit if group is not None])
            fit = {key: part for key, part in fit.items() if key[1] == label}
        return next(iter(fit.values()))

    @property
    def found(self) -> tuple[CohortGap, ...]:
        """The differences that are significant after Holm's adjustment."""
        return tuple(difference for difference in self.differences if difference.found)

    @property
    def differing(self) -> str:
        """Sentence on the number of significant differences; "" without groups."""
        if not self.differences:
            return ""
        return group_differences_sentence(len(self.found), self.n)

    @property
    def sheet(self) -> Sheet:
        """Summary: sets that keep and flip most decisions, brittle decisions, group differences."""
        note = "Shares of decisions have exact 95% intervals (Clopper–Pearson)."
        adjusted = (adjustment_note(len(self.differences)),) if self.differences else ()
        return Sheet(
            f"What suffices for {plural(self.n, 'decision')}",
            lead=tuple(self._lead()),
            panels=tuple(self._panels()),
            notes=(note, *adjusted, *self._unlisted()),
        )

    def _unlisted(self) -> Iterator[str]:
        if any(part.barcode is None for part in self.parts):
            yield (
                "There are too many features for a barcode of all their sets: each set listed is "
                "counted on its own."
            )
        hidden = sum(part.more_bars for part in self.parts)
        if hidden:
            bars = plural(hidden, "shorter bar")
            yield f"Barcodes leave out {bars}: .parts list the number of each."

    def _lead(self) -> Iterator[str]:
        for part in self.parts:
            if not part.sets:
                continue
            # The set that is minimal most often: all features together always suffice, which would
            # make the set that suffices most often a useless headline.
            best = part.sets[0]
            what = join_words(map(format_name, best.features)) or "nothing at all"
            whom = "it" if part.decisions == 1 else f"{percent(best.share.share)} of them"
            yield (
                f"“{format_name(part.who)}” ({plural(part.decisions, 'decision')}): {what} "
                f"suffice{'s' * (len(best.features) < 2)} to {part.view} {whom}; no set is minimal "
                "more often."
            )
        if self.differences:
            yield f"{self.differing}."

    def _panels(self) -> Iterator[Panel]:
        for part in self.parts:
            shown = [(part, s) for s in part.sets[:_SHOWN]]
            rest = OmittedRows(len(part.sets) - len(shown) + part.more, ".to_frame()")
            heading = f"To {part.view} “{format_name(part.who)}”"
            yield make_panel(_SET_FIELDS, shown, heading, rest)
        fewest = "Decisions that the fewest features flip"
        yield make_panel(_BRITTLE_FIELDS, self.brittle[:_SHOWN], fewest)
        cheapest = "Decisions that the cheapest change flips"
        yield make_panel(_BRITTLE_FIELDS, self.cheapest[:_SHOWN], cheapest)
        if self.differences:
            rest = OmittedRows(len(self.differences) - _SHOWN, ".differences")
            heading = "Where groups differ, in points"
            yield make_panel(_GAP_FIELDS, self.differences[:_SHOWN], heading, rest)

    def to_frame(self) -> Any:
        """Return a pandas frame with a row for each listed set, by outcome, group and view."""
        return make_frame(_SET_FIELDS, [(part, s) for part in self.parts for s in part.sets])


_SET_FIELDS = (
    Field("outcome", value=lambda row: row[0].outcome),
    Field("group", value=lambda row: row[0].group),
    Field("view", value=lambda row: row[0].view),
    Field("features", "set", value=lambda row: row[1].features, show=format_features),
    Field("size", value=lambda row: len(row[1].features)),
    Field("suffices", value=lambda row: row[1].suffices),
    Field("", "suffices for", "share", value=lambda row: row[1].share),
    Field("minimal", "minimal in", "number", value=lambda row: row[1].minimal),
    Field("decisions", value=lambda row: row[1].decisions),
    Field(("share", "low", "high"), value=lambda row: row[1].share),
    Field("sufficiency", "sufficiency", "share", value=lambda row: row[1].sufficiency),
)
_BRITTLE_FIELDS = (
    Field("", "decision", value=lambda b: b.name),
    Field(
        "",
        "features to flip",
        "number",
        value=lambda b: len(b.features) if b.sufficiency else None,
    ),
    Field("", "cheapest change", value=lambda b: b.change),
    Field("", "cost", "number", value=lambda b: b.cost),
)
_GAP_FIELDS = (
    Field("", "set", value=lambda d: format_features(d.features)),
    Field("", "suffices to", value=lambda d: f"{d.view} {_group_shares(d)}"),
    Field("", "gap (adjusted)", "difference", value=lambda d: d.adjusted),
    Field("", "adjusted p", "number", value=lambda d: float(f"{d.p_adjusted:.2g}")),
)


def _require_known(argument: str, given: Any, known: list[str]) -> None:
    if given not in known:
        names = join_first(map(repr, dict.fromkeys(known)))
        allowed = f"None, or one of {names}" if known else "None: there are no groups"
        hint = did_you_mean(given, known, or_list=False) if known else "Pass by=… to make groups."
        raise InputError(argument, short_repr(given), allowed, hint)


def _group_shares(d: CohortGap) -> str:
    return " / ".join(f"{g} {percent(s.share)}" for g, s in zip(d.groups, d.shares, strict=True))


DEFAULT_SETS = 40
"""Default number of sets that are listed for a part, the most frequent first."""

PartKey = tuple[str, str | None, ViewName]
"""Outcome, group and view."""


class CohortCounts:
    """Counts of the decisions of one part, summed set by set over a shared feature index."""

    def __init__(self, index: FeatureIndex) -> None:
        self._index = index
        d = len(index.names)
        self._hits: Counts | None = np.zeros(1 << d, np.int64) if d <= MAX_LISTED_FEATURES else None
        self._minimal: Counter[int] = Counter()
        self._rows: list[tuple[tuple[str, ...], SmallCounts, SufficiencyLevels, float]] = []
        """Features, hits by bit mask, sufficiency levels and τ of each decision."""
        self._size_weights: set[tuple[float, ...] | None] = set()
        self.references = 0

    @property
    def decisions(self) -> int:
        """Number of decisions added."""
        return len(self._rows)

    def add(self, decision: DecisionCounts, view: ViewName) -> None:
        """Add the counts of one decision in one view."""
        hits, features = decision.hits(view), decision.features
        assert hits is not None  # `require_counts` was called
        if self._hits is not None:
            self._hits += self._index.expand(features, hits)
        self._minimal.update(self._index.to_shared_masks(features, decision.minimal_masks(view)))
        small = smallest_count_dtype(decision.n_references)
        index, taus = decision.levels(view)
        levels = SufficiencyLevels(index.astype(small, copy=False), taus)
        self._rows.append((features, hits.astype(small, copy=False), levels, decision.tau))
        self._size_weights.add(decision.size_weights(view))
        self.references += decision.n_references

    def most_frequent(self, most: int) -> list[int]:
        """Return the masks that are minimal most often, the smaller first among equals."""
        minimal = self._minimal
        return sorted(minimal, key=lambda mask: (-minimal[mask], mask.bit_count(), mask))[:most]

    def shares(self, masks: list[int]) -> dict[int, Share]:
        """Return, for each mask, the share of decisions in which the set suffices."""
        suffices = np.zeros(len(masks), np.int64)
        for _, levels, tau in self._each_decision(masks):
            suffices += levels >= tau
        return {
            mask: Share(n, self.decisions) for mask, n in zip(masks, suffices.tolist(), strict=True)
        }

    def _each_decision(self, masks: list[int]) -> Iterator[tuple[SmallCounts, Reals, float]]:
        """Yield, for each decision, hits and largest passing τ of these masks, and its τ."""
        own: dict[tuple[str, ...], list[int]] = {}
        for features, hits, levels, tau in self._rows:
            if features not in own:
                own[features] = self._index.to_own_masks(features, masks)
            at = own[features]
            yield hits[at], levels.taus[levels.level_of[at]], tau

    def to_part(self, key: PartKey, masks: list[int]) -> CohortPart:
        """Return the part of the result that lists the sets with these masks."""
        outcome, group, view = key
        hits, suffices = np.zeros(len(masks), np.int64), np.zeros(len(masks), np.int64)
        levels = np.empty((self.decisions, len(masks)))
        for i, (counts, passes, tau) in enumerate(self._each_decision(masks)):
            hits += counts
            levels[i] = passes
            suffices += passes >= tau
        sets = tuple(
            CohortSet(
                features=self._index.names_of_mask(mask),
                suffices=int(suffices[j]),
                minimal=self._minimal[mask],
                decisions=self.decisions,
                hits=int(hits[j]),
                references=self.references,
                steps=_step_curve(levels[:, j]),
            )
            for j, mask in enumerate(masks)
        )
        barcode, more_bars, curve = self._barcode_and_curve(masks)
        return CohortPart(
            outcome=outcome,
            group=group,
            view=view,
            decisions=self.decisions,
            references=self.references,
            sets=sets,
            more=len(self._minimal) - len(masks),
            barcode=barcode,
            more_bars=more_bars,
            curve=curve,
        )

    def _barcode_and_curve(self, masks: list[int]) -> tuple[Barcode | None, int, StepCurve | None]:
        """Return the longest bars with those of these masks, the number of others, the curve."""
        if self._hits is None:
            return None, 0, None
        # Summed counts have a necessity curve only if all decisions share one D.
        one_context = len(self._size_weights) == 1
        same = next(iter(self._size_weights)) if one_context else None
        profile = Profile(Tally.of_dense(self._hits, self.references), size_weights=same)
        bars = {m.members: (m.low, m.high) for m in profile.minimal_at_any_tau(DEFAULT_SETS)}
        for mask in masks:
            members = members_of(mask)
            low, high = profile.interval(members)
            if low < high:
                bars[members] = low, high
        order = sorted(bars, key=lambda m: (-bars[m][1], bars[m][0], len(m), m[::-1]))
        barcode = tuple((tuple(self._index.names[i] for i in m), *bars[m]) for m in order)
        more = profile.n_minimal_at_any_tau - len(bars)
        return barcode, more, necessity_curve(profile) if one_context else None


def _step_curve(shares: Reals) -> StepCurve:
    """Return (τ, share of decisions whose level is at least τ) at every level above 0."""
    taus, times = np.unique(shares, return_counts=True)
    # The share of decisions with a level of at least τ, counted from the highest level down.
    left = times[::-1].cumsum()[::-1] / len(shares)
    return tuple((float(t), float(s)) for t, s in zip(taus, left, strict=True) if t > 0)


_MAX_BRITTLE = 20


class BrittleRanking:
    """The first decisions in some order, kept up to a limit while decisions are added."""

    def __init__(self, order: Callable[[BrittleDecision], tuple[float, float, int]]) -> None:
        self._order = order
        self.found: tuple[BrittleDecision, ...] = ()

    def add(self, decision: DecisionCounts, group: str | None) -> None:
        """Keep the decision if it is among the first so far; only then is its change formatted."""
        minimal, cost = decision.minimal_masks("flip"), decision.cheapest_cost
        smallest = minimal[0] if minimal else None
        hits = decision.hits("flip")
        one = BrittleDecision(
            decision.number,
            decision.name,
            decision.outcome,
            group,
            tuple(decision.features[i] for i in members_of(smallest or 0)),
            0.0
            if smallest is None or hits is None
            else int(hits[smallest]) / decision.n_references,
            None,
            cost,
        )
        if len(self.found) == _MAX_BRITTLE and self._order(one) > self._order(self.found[-1]):
            return
        # Formatting a change reads its values from storage, so it is done for those that stay only.
        one = replace(one, change=None if cost is None else str(decision.cheapest))
        self.found = tuple(sorted((*self.found, one), key=self._order)[:_MAX_BRITTLE])


def by_size(b: BrittleDecision) -> tuple[float, float, int]:
    """Sort key: the fewest features first, then the cheapest."""
    return (len(b.features) if b.sufficiency else inf), _cost_or_inf(b), b.number


def by_cost(b: BrittleDecision) -> tuple[float, float, int]:
    """Sort key: the cheapest first, then the fewest features."""
    return _cost_or_inf(b), (len(b.features) if b.sufficiency else inf), b.number


def _cost_or_inf(b: BrittleDecision) -> float:
    return inf if b.cost is None else b.cost


def cohort(
    explanations: Any,
    by: GroupBy = None,
    *,
    tau: float | None = None,
    most: int = DEFAULT_SETS,
    ids: Sequence[Any] | None = None,
    progress: bool | None = None,
) -> Cohort:
    """Add up the counts of many decisions by outcome, and by group where `by` is given.

    `by` is a column of the inputs, a function of an explanation, or a label for each decision; at
    most 50 groups. With `tau` None each decision is read at its own τ. `most` sets are listed for
    each part. `ids` names the decisions; without it they have their stored ids or numbers.

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
    found = as_explanations(explanations)
    group_of, shown = group_function(by, len(found)), check_integer("most", most)
    index, sums = FeatureIndex(), dict[PartKey, CohortCounts]()
    smallest, cheapest = BrittleRanking(by_size), BrittleRanking(by_cost)
    for decision in read_decision_counts(found, tau=tau, ids=ids, progress=progress):
        decision.require_counts()
        index.add(decision)
        group = group_of(decision)
        for view in VIEWS:
            key = decision.outcome, group, view
            sums.setdefault(key, CohortCounts(index)).add(decision, view)
        for ranking in (smallest, cheapest):
            ranking.add(decision, group)
    listed = {key: part.most_frequent(shown) for key, part in sums.items()}
    parts = tuple(
        part.to_part(key, listed[key])
        for key, part in sorted(
            sums.items(), key=lambda item: (item[0][0], item[0][1] or "", item[0][2] == "flip")
        )
    )
    return Cohort(
        n=len(found),
        tau=None if tau is None else check_tau(tau),
        features=index.names,
        parts=parts,
        brittle=smallest.found,
        cheapest=cheapest.found,
        differences=tuple(_cohort_gaps(sums, listed, index)),
    )


def _cohort_gaps(
    sums: Mapping[PartKey, CohortCounts], listed: Mapping[PartKey, list[int]], index: FeatureIndex
) -> list[CohortGap]:
    """Compare every two groups of one outcome on every set that either of them lists."""
    grouped = [key for key in sorted(sums, key=str) if key[1] is not None]
    # Each group's counts are read once, for the sets that any group of its outcome and view lists.
    masks: dict[tuple[str, ViewName], dict[int, None]] = {}
    for outcome, group, view in grouped:
        masks.setdefault((outcome, view), {}).update(dict.fromkeys(listed[outcome, group, view]))
    shares = {key: sums[key].shares(list(masks[key[0], key[2]])) for key in grouped}
    # Sets that only one of two groups lists are compared, too: that is where they differ.
    pairs = [
        ((outcome, view, mask), [(str(key[1]), shares[key][mask]) for key in (one, other)])
        for one, other in combinations(grouped, 2)
        for (outcome, _, view) in [one]
        if (outcome, view) == (other[0], other[2])
        for mask in dict.fromkeys((*listed[one], *listed[other]))
    ]
    found = [
        CohortGap(outcome=outcome, view=view, features=index.names_of_mask(mask), **vars(pair))
        for (outcome, view, mask), pair in compare_groups(pairs)
    ]
    return sorted(found, key=lambda d: (d.p_adjusted, -abs(d.gap.difference)))
