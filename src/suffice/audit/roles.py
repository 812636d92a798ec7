"""Roles of features: who is in every minimal set, in some, in none; and how much each weighs.

Two power indices of voting theory, over the minimal sets as minimal winning coalitions: Deegan and
Packel's gives each set one vote, shared equally among its members; Holler's counts in how many sets
a feature is. A feature is *pivotal* in a set that contains a minimal one, but no longer does when
the feature is taken out. Beside them stand necessity, and the Shapley value (Proposition 1), which
weigh all sets by what they suffice for, minimal or not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from suffice.audit.all_features import AllFeatures, in_closure, ways
from suffice.audit.decisions import VIEWS, ViewName
from suffice.audit.known import Known, read_decisions
from suffice.checks import choice, threshold
from suffice.encodings.shapley import shapley_of_counts
from suffice.errors import InputError, did_you_mean, shorten
from suffice.results import Column, Panel, Result, Sheet
from suffice.typing import BoolVector
from suffice.wording import and_more, count, listed, named

__all__ = ["Role", "Roles", "roles"]


@dataclass(frozen=True)
class Role:
    """What one feature is to the minimal sets of one view, over one decision or several."""

    view: ViewName
    feature: str
    decisions: int
    """Decisions that have minimal sets in this view, and know this feature."""
    indispensable: int
    """Decisions in which it is in every minimal set."""
    relevant: int
    """Decisions in which it is in some."""
    deegan_packel: float | None
    """The mean over those decisions; None where there is none."""
    holler: float | None
    pivotal: float | None
    """Of the sets that contain a minimal one, the share that does so because of this feature; None
    where not all sets can be listed."""
    necessity: float | None
    """PN of "at least this feature": the share of the outcome's hybrids that have it."""
    shapley: float | None
    """What the feature adds to sufficiency, over all orders of adding them: the mean over all
    decisions, at whatever τ; None where not every set was counted."""

    @property
    def irrelevant(self) -> int:
        """Decisions in which it is in none."""
        return self.decisions - self.relevant

    @property
    def kind(self) -> Literal["indispensable", "relevant", "irrelevant", "mixed"]:
        """The role, where it is the same in all decisions."""
        if self.decisions and self.indispensable == self.decisions:
            return "indispensable"
        if self.relevant == 0:
            return "irrelevant"
        one_kind = self.indispensable == 0 and self.relevant == self.decisions
        return "relevant" if one_kind else "mixed"


@dataclass(frozen=True, repr=False)
class Roles(Result):
    """The roles of all features in both views."""

    plots = ("roles", "measures")

    n: int
    """How many decisions."""
    tau: float | None
    """The threshold; None: each decision's own."""
    rows: tuple[Role, ...]
    complete: bool
    """Were all minimal sets of all decisions known?"""

    def of(self, feature: str, view: ViewName = "keep") -> Role:
        """One feature's role in one view."""
        side = choice("view", view, VIEWS)
        own = {role.feature: role for role in self.rows if role.view == side}
        if not isinstance(feature, str) or feature not in own:
            hint = did_you_mean(feature, own, or_list=False)
            allowed = f"one of the features: {and_more(map(repr, own))}"
            raise InputError("feature", shorten(feature), allowed, hint)
        return own[feature]

    @property
    def caveats(self) -> tuple[str, ...]:
        """What is not known, in sentences; () where all is."""
        if self.complete:
            return ()
        return ("Not every minimal set is known: roles are those in the sets found.",)

    @property
    def sheet(self) -> Sheet:
        """Who can be done without, and who cannot."""
        about = "one decision" if self.n == 1 else count(self.n, "decision")
        every = "In every, in some minimal set: shares of decisions. " if self.n > 1 else ""
        note = (
            f"{every}Pivotal: the share of sufficient combinations that are so because of the "
            "feature. "
            "Holler, Deegan–Packel: power indices over the minimal sets; each adds up to 1. "
            "Shapley value: what the feature adds to sufficiency on average."
        )
        return Sheet(
            f"What each feature is to {about}",
            lead=tuple(self._lead()),
            panels=tuple(self._panels()),
            notes=(note, *self.caveats),
        )

    def _lead(self) -> Iterator[str]:
        for view, does in (("keep", "keep"), ("flip", "flip")):
            own = [role for role in self.rows if role.view == view]
            if not any(role.decisions for role in own):
                none = "No set suffices" if self.complete else "No set was found that suffices"
                yield f"{none} to {does} at this threshold."
                continue
            always = [named(r.feature) for r in own if r.kind == "indispensable"]
            never = [named(r.feature) for r in own if r.kind == "irrelevant"]
            nothing = "Nothing" if self.complete else "No set found"
            without = (
                f"{nothing} suffices to {does} without {listed(always)}"
                if always
                else f"No single feature is in every set that suffices to {does}"
            )
            is_in = "is" if len(never) == 1 else "are"
            none = "no minimal set at this threshold" if self.complete else "none of the sets found"
            yield without + (f"; {listed(never)} {is_in} in {none}." if never else ".")

    def _panels(self) -> Iterator[Panel]:
        # Of one decision the role is one word; of several it is two shares of them.
        one, several = (Column("role"),), (Column("in every", "share"), Column("in some", "share"))
        columns = (
            Column("feature"),
            *(one if self.n == 1 else several),
            Column("pivotal", "share"),
            Column("Holler", "share"),
            Column("Deegan–Packel", "share"),
            Column("necessity", "share"),
            Column("Shapley", "number"),
        )
        for view, heading in (("keep", "To keep the outcome"), ("flip", "To flip it")):
            own = [role for role in self.rows if role.view == view and role.decisions]
            ranked = sorted(own, key=lambda r: (-r.relevant, -(r.holler or 0.0)))
            cells = tuple(
                (
                    named(r.feature),
                    *(
                        (r.kind,)
                        if self.n == 1
                        else (r.indispensable / r.decisions, r.relevant / r.decisions)
                    ),
                    r.pivotal,
                    r.holler,
                    r.deegan_packel,
                    r.necessity,
                    None if r.shapley is None else round(r.shapley, 3),
                )
                for r in ranked
            )
            if cells:
                yield Panel(columns, cells, heading)

    def to_frame(self) -> Any:
        """A row for each feature and view."""
        import pandas as pd

        rows = [
            {
                "view": r.view,
                "feature": r.feature,
                "role": r.kind,
                "decisions": r.decisions,
                "indispensable": r.indispensable,
                "relevant": r.relevant,
                "irrelevant": r.irrelevant,
                "pivotal": r.pivotal,
                "holler": r.holler,
                "deegan_packel": r.deegan_packel,
                "necessity": r.necessity,
                "shapley": r.shapley,
            }
            for r in self.rows
        ]
        return pd.DataFrame(rows)


def roles(explanations: Any, *, tau: float | None = None, progress: bool | None = None) -> Roles:
    """What each feature is to the minimal sets: indispensable, relevant or irrelevant.

    `tau` None takes each decision's own. Of several decisions, indices are means.

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
    sums: dict[tuple[ViewName, str], _Sum] = {}
    complete, n, everything = True, 0, AllFeatures()
    for known in read_decisions(explanations, tau=tau, ids=None, progress=progress):
        everything.take(known)
        complete &= known.complete
        n += 1
        for view in VIEWS:
            _add(sums, view, known)
    rows = (sums[view, name].role(view, name) for view in VIEWS for name in everything.names)
    return Roles(n, None if tau is None else threshold(tau), tuple(rows), complete)


_SHARES = ("deegan_packel", "holler", "pivotal", "necessity", "shapley")


class _Sum:
    """One feature's role in one view, added up over decisions."""

    def __init__(self) -> None:
        self.decisions = self.indispensable = self.relevant = 0
        self.shares: dict[str, list[float]] = {name: [] for name in _SHARES}

    def role(self, view: ViewName, feature: str) -> Role:
        means = {name: float(np.mean(all_)) if all_ else None for name, all_ in self.shares.items()}
        return Role(view, feature, self.decisions, self.indispensable, self.relevant, **means)


def _add(sums: dict[tuple[ViewName, str], _Sum], view: ViewName, known: Known) -> None:
    d, masks = len(known.features), known.minimal(view)
    inside = np.array([[m >> i & 1 for i in range(d)] for m in masks], dtype=bool)
    inside = inside.reshape(len(masks), d)
    sizes = inside.sum(axis=1)
    closure = in_closure(masks, d)
    every = ways(known, view)
    necessity = every.necessities if every is not None and every.total else None
    hits = known.hits(view)
    values = None if hits is None else shapley_of_counts(hits, known.n)
    for i, name in enumerate((*known.features, *known.idle)):
        found = sums.setdefault((view, name), _Sum())
        idle = i >= d  # in no minimal set, pivotal nowhere, and in half of whatever there is
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
            found.shares["pivotal"].append(0.0 if idle else _pivotal(closure, i))
        if necessity is not None:
            found.shares["necessity"].append(0.5 if idle else float(necessity[i]))


def _pivotal(closure: BoolVector, i: int) -> float:
    masks = np.flatnonzero(closure)
    with_it = masks[(masks >> i) & 1 == 1]
    return float((~closure[with_it ^ (1 << i)]).sum() / len(masks)) if len(masks) else 0.0
