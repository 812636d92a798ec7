"""Roles of features in the minimal sets, power indices and Shapley values (`audit.roles`).

At one threshold a feature is indispensable (in every minimal set), relevant (in some) or irrelevant
(in none, though it may be in one at another threshold). Two power indices of voting theory read the
minimal sets as minimal winning coalitions: Deegan and Packel's gives each set one vote, shared
equally among its members; Holler's counts the sets that contain the feature. A feature is *pivotal*
in a set that contains a minimal set, but no longer does without the feature. Necessity and the
Shapley value (Proposition 1) weigh all sets by their sufficiency, minimal or not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from suffice.attribution import shapley_from_counts
from suffice.audit.decision_counts import (
    DecisionCounts,
    FeatureIndex,
    contains_minimal,
    read_decision_counts,
    weighted_hybrids,
)
from suffice.errors import InputError, did_you_mean, short_repr
from suffice.formatting import format_lift, format_name, join_first, join_words, plural
from suffice.measures import ratio
from suffice.results import Field, Panel, Result, Sheet, make_frame, make_panel
from suffice.typing import VIEWS, BoolVector, NaturalNumber, RoundedShare, SignedShare, ViewName
from suffice.validation import check_choice, check_tau


@dataclass(frozen=True)
class Role:
    """Role of one feature in the minimal sets of one view, over one decision or several."""

    view: ViewName
    feature: str
    decisions: NaturalNumber
    """Decisions that have minimal sets in this view, and this feature."""
    indispensable: NaturalNumber
    """Decisions with the feature in every minimal set."""
    relevant: NaturalNumber
    """Decisions with the feature in some minimal set."""
    deegan_packel: RoundedShare | None
    """Mean over those decisions; None without any."""
    holler: RoundedShare | None
    pivotal: RoundedShare | None
    """Share of the sets containing a minimal set in which this feature is pivotal; None if
    there are too many sets to list."""
    necessity: RoundedShare | None
    """PN of "at least this feature": share of the outcome's hybrids that hold it (flip: replace
    it)."""
    shapley: SignedShare | None
    """Shapley value of the feature for sufficiency: mean over all decisions, whatever τ is; None if
    not every set was counted."""
    necessity_baseline: RoundedShare | None = None
    """Share of all hybrids that hold it (flip: replace it), whatever their outcome: the necessity
    expected by chance. Also None where a result of an older version was read."""

    @property
    def necessity_lift(self) -> float | None:
        """The necessity divided by its baseline; 1 where feature and outcome are unrelated."""
        return ratio(self.necessity, self.necessity_baseline)

    @property
    def irrelevant(self) -> int:
        """Decisions with the feature in no minimal set."""
        return self.decisions - self.relevant

    @property
    def kind(self) -> Literal["indispensable", "relevant", "irrelevant", "mixed"]:
        """The role in all decisions, or "mixed" if it differs between decisions."""
        if self.decisions and self.indispensable == self.decisions:
            return "indispensable"
        if self.relevant == 0:
            return "irrelevant"
        one_kind = self.indispensable == 0 and self.relevant == self.decisions
        return "relevant" if one_kind else "mixed"

    def membership(self, complete: bool) -> str:
        """Return the role as reports show it, since a feature in no minimal set may still matter.

        Unless all minimal sets are known, the text speaks of the sets found.
        """
        sets = "minimal set" if complete else "set found"
        return {
            "indispensable": f"in every {sets}",
            "relevant": f"in some {sets}",
            "irrelevant": f"in no {sets}",
            "mixed": "mixed",
        }[self.kind]


@dataclass(frozen=True, repr=False)
class Roles(Result):
    """Roles of all features in both views."""

    plots = ("roles", "measures")

    n: NaturalNumber
    """Number of decisions."""
    tau: float | None
    """Threshold τ; None: each decision's own."""
    rows: tuple[Role, ...]
    complete: bool
    """Whether all minimal sets of all decisions are known."""

    def of(self, feature: str, view: ViewName = "keep") -> Role:
        """Return the role of one feature in one view."""
        side = check_choice("view", view, VIEWS)
        own = {role.feature: role for role in self.rows if role.view == side}
        if not isinstance(feature, str) or feature not in own:
            hint = did_you_mean(feature, own, or_list=False)
            allowed = f"one of the features: {join_first(map(repr, own))}"
            raise InputError("feature", short_repr(feature), allowed, hint)
        return own[feature]

    @property
    def caveats(self) -> tuple[str, ...]:
        """Sentences about unknown minimal sets; () if all are known."""
        if self.complete:
            return ()
        return ("Not every minimal set is known: roles are those in the sets found.",)

    @property
    def sheet(self) -> Sheet:
        """Summary: the indispensable and the irrelevant features, and a table of roles by view."""
        about = "one decision" if self.n == 1 else plural(self.n, "decision")
        sets = "minimal sets" if self.complete else "sets found"
        every = f"In every, in some of the {sets}: shares of decisions. " if self.n > 1 else ""
        note = (
            f"{every}Pivotal: the share of sufficient combinations that are so because of the "
            "feature. "
            f"Holler, Deegan–Packel: power indices over the {sets}; each adds up to 1. "
            "Set necessity: of the hybrids with the outcome, the share that have the feature; by "
            "chance: of all hybrids; a lift of 1 is no more than chance. "
            "Shapley value: what the feature adds to sufficiency on average."
        )
        return Sheet(
            f"What each feature is to {about}",
            lead=tuple(self._lead()),
            panels=tuple(self._panels()),
            notes=(note, *self.caveats),
        )

    def _lead(self) -> Iterator[str]:
        several = f" any of {self.n:,} decisions" if self.n > 1 else ""
        sets = "minimal set" if self.complete else "set found"
        for view, does in (("keep", "keep"), ("flip", "flip")):
            own = [role for role in self.rows if role.view == view]
            if not any(role.decisions for role in own):
                none = "No set suffices" if self.complete else "No set was found that suffices"
                yield f"{none} to {does} at this threshold."
                continue
            always = [format_name(r.feature) for r in own if r.kind == "indispensable"]
            never = [format_name(r.feature) for r in own if r.kind == "irrelevant"]
            nothing = "Nothing" if self.complete else "No set found"
            without = f"No single feature is in every set that suffices to {does}"
            if always:
                without = f"{nothing} suffices to {does}{several} without {join_words(always)}"
            elif several:
                without = f"To {does}, no single feature is in every {sets} of every decision"
            is_in = "is" if len(never) == 1 else "are"
            none = "no minimal set at this threshold" if self.complete else "none of the sets found"
            yield without + (f"; {join_words(never)} {is_in} in {none}." if never else ".")

    def _panels(self) -> Iterator[Panel]:
        # The role in one decision is one word; in several it is two shares of them.
        role = Field("", "role", value=lambda r: r.membership(self.complete))
        fields = (_FEATURE, *((role,) if self.n == 1 else _ROLE_SHARES), *_INDEX_FIELDS)
        for view, heading in (("keep", "To keep the outcome"), ("flip", "To flip it")):
            own = [role for role in self.rows if role.view == view and role.decisions]
            ranked = sorted(own, key=lambda r: (-r.relevant, -(r.holler or 0.0)))
            if ranked:
                yield make_panel(fields, ranked, heading)

    def to_frame(self) -> Any:
        """Return a pandas frame with a row for each feature and view."""
        return make_frame((Field("view"), _FEATURE, _ROLE, *_COUNTS, *_INDEX_FIELDS), self.rows)


def _lift_text(lift: float | None) -> str | None:
    return None if lift is None else format_lift(lift)


_FEATURE = Field("feature", "feature", show=format_name)
_ROLE = Field("role", value=lambda r: r.kind)
_ROLE_SHARES = (
    Field("", "in every", "share", value=lambda r: r.indispensable / r.decisions),
    Field("", "in some", "share", value=lambda r: r.relevant / r.decisions),
)
_COUNTS = tuple(map(Field, ("decisions", "indispensable", "relevant", "irrelevant")))
_INDEX_FIELDS = (
    Field("pivotal", "pivotal", "share"),
    Field("holler", "Holler", "share"),
    Field("deegan_packel", "Deegan–Packel", "share"),
    Field("necessity", "set necessity", "share"),
    Field("necessity_baseline", "by chance", "share"),
    Field("necessity_lift", "lift", "number", show=_lift_text),
    Field("shapley", "Shapley", "number", show=lambda a: None if a is None else round(a, 3)),
)


def roles(explanations: Any, *, tau: float | None = None, progress: bool | None = None) -> Roles:
    """Return the role of each feature in the minimal sets: indispensable, relevant or irrelevant.

    With `tau` None each decision is read at its own τ. Indices are means over the decisions.

    >>> import pandas as pd
    >>> from suffice import Explainer, audit
    >>> people = pd.DataFrame({"pay": [1, 2, 5, 6], "debt": [4, 0, 4, 0], "age": [20, 30, 40, 50]})
    >>> def granted(rows):
    ...     return (rows["pay"] > 3) & (rows["debt"] < 3)
    >>> e = Explainer(granted, people).explain([6, 0, 50], tau=0.6)
    >>> found = audit.roles(e)
    >>> found.of("pay").kind, found.of("debt").kind, found.of("age").kind
    ('indispensable', 'indispensable', 'irrelevant')
    >>> found.of("pay", "flip").kind
    'relevant'
    >>> round(found.of("pay").shapley, 3), found.of("age").shapley
    (0.5, 0.0)
    """
    totals: dict[tuple[ViewName, str], _RoleTotals] = {}
    complete, n, index = True, 0, FeatureIndex()
    for decision in read_decision_counts(explanations, tau=tau, ids=None, progress=progress):
        index.add(decision)
        complete &= decision.complete
        n += 1
        for view in VIEWS:
            _add_decision(totals, view, decision)
    rows = (totals[view, name].role(view, name) for view in VIEWS for name in index.names)
    return Roles(n, None if tau is None else check_tau(tau), tuple(rows), complete)


_INDICES = ("deegan_packel", "holler", "pivotal", "necessity", "shapley", "necessity_baseline")


class _RoleTotals:
    """Sums over decisions for one feature in one view."""

    def __init__(self) -> None:
        self.decisions = self.indispensable = self.relevant = 0
        self.shares: dict[str, list[float]] = {name: [] for name in _INDICES}

    def role(self, view: ViewName, feature: str) -> Role:
        means = {name: float(np.mean(all_)) if all_ else None for name, all_ in self.shares.items()}
        return Role(view, feature, self.decisions, self.indispensable, self.relevant, **means)


def _add_decision(
    totals: dict[tuple[ViewName, str], _RoleTotals], view: ViewName, decision: DecisionCounts
) -> None:
    """Add one decision to the totals of every feature, the irrelevant ones too."""
    d, masks = len(decision.features), decision.minimal_masks(view)
    inside = np.array([[m >> i & 1 for i in range(d)] for m in masks], dtype=bool)
    inside = inside.reshape(len(masks), d)
    sizes = inside.sum(axis=1)
    closure = contains_minimal(masks, d)
    hybrids = weighted_hybrids(decision, view)
    necessity, expected = None, None
    if hybrids is not None and hybrids.total:
        necessity, expected = hybrids.necessity, hybrids.expected
    hits = decision.hits(view)
    # Shapley values weigh all sets, so they exist also where no set reaches τ.
    values = None if hits is None else shapley_from_counts(hits, decision.n_references)
    for i, name in enumerate(decision.all_features):
        found = totals.setdefault((view, name), _RoleTotals())
        # A feature left out as irrelevant is in no minimal set and pivotal nowhere, and half of
        # the subsets hold it, whatever their outcome.
        idle = i >= d
        if values is not None:
            found.shares["shapley"].append(0.0 if idle else values[i])
        if not len(masks):
            continue
        mine = np.zeros(len(masks), dtype=bool) if idle else inside[:, i]
        found.decisions += 1
        found.indispensable += bool(mine.all())
        found.relevant += bool(mine.any())
        if sizes.any():
            found.shares["holler"].append(float(mine.sum() / sizes.sum()))
        voting = sizes > 0  # the empty set, where it suffices, has no members to share its vote
        if voting.any():
            votes = mine[voting] / sizes[voting]
            found.shares["deegan_packel"].append(float(votes.sum() / len(votes)))
        if closure is not None:
            found.shares["pivotal"].append(0.0 if idle else _pivotal_share(closure, i))
        if necessity is not None and expected is not None:
            found.shares["necessity"].append(0.5 if idle else float(necessity[i]))
            found.shares["necessity_baseline"].append(0.5 if idle else float(expected[i]))


def _pivotal_share(closure: BoolVector, i: int) -> float:
    """Return the share of the closure's sets that leave it when feature i is taken out."""
    masks = np.flatnonzero(closure)
    with_it = masks[(masks >> i) & 1 == 1]
    # Flipping the bit of feature i takes it out of every set that has it.
    return float((~closure[with_it ^ (1 << i)]).sum() / len(masks)) if len(masks) else 0.0
