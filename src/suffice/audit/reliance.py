"""Does a decision rest on protected features? What the counts say, decision by decision.

The paper's test for reliance on sensitive attributes, in four questions: would changing them alone
flip it; is one of them in some minimal set, or in every one; does it stand when they are freed and
all else is held. In a causal context a change has its consequences, so that a protected cause which
acts through its effects shows here, and not where values are only swapped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np

from suffice.audit.decisions import VIEWS, as_decisions
from suffice.audit.gaps import LEVEL, Gap, Share, adjusted, differing, gap, points
from suffice.audit.groups import By, grouping
from suffice.audit.known import Known, read_decisions
from suffice.checks import names
from suffice.errors import InputError, did_you_mean
from suffice.explanation import Explanation
from suffice.inference import certainty
from suffice.results import Column, Panel, Result, Sheet
from suffice.typing import Counts
from suffice.wording import count, listed, named, or_none, percent

__all__ = ["Between", "GroupReliance", "Reliance", "Relied", "reliance"]

_WORST = 10
_GAPS = 3
"""Between groups that are told in words; `gaps` has all."""


@dataclass(frozen=True)
class Relied:
    """How far one decision rests on one set of protected features."""

    number: int
    name: str
    """The decision's name: its id where it has one, else its number."""
    protected: str
    """Which set of protected features."""
    outcome: str
    group: str | None
    flips_alone: float | None
    """Of the references, the share whose protected values, all taken over, flip it; None where that
    set was not counted."""
    interval: tuple[float, float] | None
    """95% Clopper–Pearson interval of that share."""
    flips_most: float | None
    """The same of those of them that flip it most often: one may undo what another does. Where not
    every set was counted, that of all of them together."""
    in_some: bool
    """Is one of them in some minimal set, of either view?"""
    in_every: bool
    """Is one of them in every minimal set, of either view?"""
    stands_freed: bool | None
    """Holding all else, does it keep its outcome for a share τ of the references?"""
    change: str | None
    """The cheapest change known of protected features alone that flips it, in words."""
    cost: float | None
    complete: bool
    """Were all its minimal sets known?"""

    @property
    def rests(self) -> bool:
        """Can protected features alone flip it for some reference, or does it not stand freed?"""
        return bool(self.flips_most) or self.stands_freed is False


@dataclass(frozen=True)
class GroupReliance:
    """One set of protected features over one group of decisions."""

    protected: str
    group: str | None
    decisions: int
    flipped: Share
    """Decisions that protected features alone flip, for some reference."""
    in_some: Share
    in_every: Share
    falls: Share
    """Decisions that do not stand with them freed and all else held."""


@dataclass(frozen=True)
class Between:
    """Two groups beside each other: the share of decisions that protected features alone flip."""

    protected: str
    groups: tuple[str, str]
    gap: Gap
    p_adjusted: float
    """Its p-value by Holm's method, for all pairs of groups and sets that were compared."""

    @property
    def found(self) -> bool:
        """Is it more than chance gives, over all comparisons made?"""
        return self.p_adjusted <= LEVEL


@dataclass(frozen=True, repr=False)
class Reliance(Result):
    """How far decisions rest on protected features: what was measured, and nothing of any law."""

    plots = ("reliance",)

    protected: tuple[tuple[str, tuple[str, ...]], ...]
    """Each set of protected features, by its name."""
    rows: tuple[Relied, ...]
    groups: tuple[GroupReliance, ...]
    gaps: tuple[Between, ...]
    """Every two groups, the surest difference first."""
    context: str
    """How hybrids were made: whether changes had consequences."""

    @property
    def worst(self) -> tuple[Relied, ...]:
        """The decisions that protected features alone flip most often, first."""
        flipped = [row for row in self.rows if row.flips_most]
        return tuple(sorted(flipped, key=lambda r: (-(r.flips_most or 0.0), r.number))[:_WORST])

    @property
    def differing(self) -> str:
        """How many gaps between groups are more than chance gives, in words; "" without groups."""
        if not self.gaps:
            return ""
        return differing(sum(between.found for between in self.gaps))

    @property
    def sheet(self) -> Sheet:
        """Each set of protected features: how many decisions, and which."""
        return Sheet(
            f"Do decisions rest on {listed((named(name) for name, _ in self.protected), 'or')}?",
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
                f"test, adjusted by Holm's method for {count(len(self.gaps), 'comparison')}."
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
                "Decisions that could be asked are no random sample of all. Of the others "
                f"{_UNCOUNTED}."
            )

    @property
    def told(self) -> tuple[str, ...]:
        """What was found of each set of protected features over all decisions, a sentence each."""
        features = dict(self.protected)
        return tuple(
            f"{named(g.protected)}: {_found_words(g, len(features.get(g.protected, ())) == 1)}."
            for g in self.groups
            if g.group is None
        )

    def _lead(self) -> Iterator[str]:
        yield from self.told
        if self.gaps:
            hidden = len(self.gaps) - _GAPS
            rest = f"; {hidden:,} of {len(self.gaps):,} pairs not shown: .gap_frame()"
            yield f"{self.differing}{rest * (hidden > 0)}."
        for between in self.gaps[:_GAPS]:
            g, p = between.gap, between.p_adjusted
            yield (
                f"{named(between.protected)}: {between.groups[0]} less {between.groups[1]}: "
                f"{points(g.difference)} points of decisions that are flipped so "
                f"({points(g.low)} to {points(g.high)}; adjusted p = {p:.2g})."
            )

    def _panels(self) -> Iterator[Panel]:
        columns = (
            Column("protected"),
            Column("group"),
            Column("decisions", "number"),
            Column("it alone flips"),
            Column("in some set"),
            Column("in every set"),
            Column("falls if freed"),
        )
        rows = tuple(
            (
                named(g.protected),
                "all" if g.group is None else g.group,
                g.decisions,
                *(_share_words(s, g) for s in (g.flipped, g.in_some, g.in_every, g.falls)),
            )
            for g in self.groups
        )
        yield Panel(columns, rows, "Share of decisions (95% interval)")
        if self.worst:
            cells = tuple(
                (r.name, named(r.protected), r.outcome, r.group, r.flips_most, r.change, r.cost)
                for r in self.worst
            )
            heads = (
                Column("decision"),
                Column("protected"),
                Column("outcome"),
                Column("group"),
                Column("references that flip it", "share"),
                Column("cheapest change known"),
                Column("cost", "number"),
            )
            yield Panel(heads, cells, "Where it matters most")

    def to_frame(self) -> Any:
        """A row for each decision and set of protected features."""
        import pandas as pd

        rows = [
            {
                "decision": r.name,
                "protected": r.protected,
                "outcome": r.outcome,
                "group": r.group,
                "flips_alone": r.flips_alone,
                "low": None if r.interval is None else r.interval[0],
                "high": None if r.interval is None else r.interval[1],
                "flips_most": r.flips_most,
                "in_some": r.in_some,
                "in_every": r.in_every,
                "stands_freed": r.stands_freed,
                "change": r.change,
                "cost": r.cost,
                "complete": r.complete,
            }
            for r in self.rows
        ]
        return pd.DataFrame(rows)

    def gap_frame(self) -> Any:
        """A row for each two groups that were compared, the surest difference first."""
        import pandas as pd

        names = "protected group other difference low high p_value p_adjusted"
        rows = [
            (b.protected, *b.groups, g.difference, g.low, g.high, g.p_value, b.p_adjusted)
            for b, g in ((b, b.gap) for b in self.gaps)
        ]
        return pd.DataFrame(rows, columns=names.split())


_UNCOUNTED = (
    "that set was not counted; explain with search='exhaustive', and where decisions are stored, "
    "write them with counts=True"
)


def _found_words(found: GroupReliance, one: bool) -> str:
    """What was found over all decisions, of one protected feature or of several."""
    it = "it" if one else "them"
    is_in = "it is" if one else "one of them is"
    freed = f"with all else held and {it} left open"
    flips, falls = found.flipped, found.falls
    unasked = found.decisions - flips.n
    left = f"; {unasked:,} more could not be asked" if unasked else ""
    if not flips.n:
        alone = (
            f"whether changing {it} alone flips any of {count(found.decisions, 'decision')} could "
            f"not be asked ({_UNCOUNTED})"
        )
    elif not (flips.hits or found.in_some.hits or falls.hits):
        return (
            f"no decision of {flips.n:,} was found to rest on {it} (if these are a sample, at "
            f"most {percent(flips.interval[1])} of all do{left})"
        )
    else:
        alone = (
            f"changing {it} alone flips {or_none(flips.hits)} of {count(flips.n, 'decision')}"
            f"{' for some reference' * bool(flips.hits)} (95% interval {flips.within}{left})"
        )
    every = falls.n == found.decisions
    if not falls.n:
        stand = f"whether they stand {freed} could not be asked either"
    elif falls.hits:
        asked = "" if every else f" of {falls.n:,} that could be asked"
        stand = f"{freed}, {falls.hits:,}{asked} do{'es' * (falls.hits == 1)} not stand"
    else:
        asked = "all" if every else f"all {falls.n:,} that could be asked"
        stand = f"{freed}, {asked} stand{'s' * (found.decisions == 1)}"
    return (
        f"{alone}; {stand}; {is_in} in some minimal set of {or_none(found.in_some.hits)} of the "
        f"decisions, and in every minimal set of {or_none(found.in_every.hits)}"
    )


def _share_words(share: Share, found: GroupReliance) -> str | None:
    """A share of a group's decisions with its interval; of how many, where not all were asked."""
    if not share.n:
        return None
    of = "" if share.n == found.decisions else f" of {share.n:,}"
    return f"{percent(share.share)}{of} ({share.within})"


def reliance(
    explanations: Any,
    protected: Any,
    *,
    by: By = None,
    tau: float | None = None,
    ids: Sequence[Any] | None = None,
    progress: bool | None = None,
) -> Reliance:
    """How far decisions rest on protected features, decision by decision and by group.

    `protected` is a feature, a list of them taken together, or {"name": [features]} for several
    questions at once (a proxy with what it stands for, say). `by` makes groups, as in `cohort`;
    `ids` names the decisions (else they are called as they were stored, or by their numbers); `tau`
    None takes each decision's own.

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
    found = as_decisions(explanations)
    group_of = grouping(by, len(found))
    sets: dict[str, tuple[str, ...]] = {}
    rows: list[Relied] = []
    context = ""
    for known in read_decisions(found, tau=tau, ids=ids, progress=progress):
        if not sets:
            sets = _protected(protected, known.explanation)
            context = known.explanation.provenance.context.words
        group = group_of(known)
        minimal = [mask for view in VIEWS for mask in known.minimal(view)]
        rows += [_relied(known, name, features, group, minimal) for name, features in sets.items()]
    labels = sorted({row.group for row in rows if row.group is not None})
    groups = list(_groups(rows, sets, labels))
    pairs = [
        (one, other)
        for one, other in combinations(groups, 2)
        if one.protected == other.protected and None not in (one.group, other.group)
        if one.flipped.n and other.flipped.n
    ]
    found_gaps = [gap(one.flipped, other.flipped) for one, other in pairs]
    gaps = [
        Between(one.protected, (str(one.group), str(other.group)), g, p)
        for (one, other), g, p in zip(pairs, found_gaps, adjusted(found_gaps), strict=True)
    ]
    gaps.sort(key=lambda between: (between.gap.p_value, -abs(between.gap.difference)))
    return Reliance(tuple(sets.items()), tuple(rows), tuple(groups), tuple(gaps), context)


def _protected(given: Any, e: Explanation) -> dict[str, tuple[str, ...]]:
    if isinstance(given, Mapping):
        if not given:
            raise InputError("protected", "no names", "at least one feature")
        return {str(name): _features(features, e) for name, features in given.items()}
    features = _features(given, e)
    return {listed(features): features}


def _features(given: Any, e: Explanation) -> tuple[str, ...]:
    found = names("protected", given, "features, a list of them, or {name: features}")
    if not found:
        raise InputError("protected", "no names", "at least one feature")
    twice = next((name for name in found if found.count(name) > 1), None)
    if twice is not None:
        raise InputError("protected", f"{twice!r} twice", "each feature once")
    players = (*e.players, *(left.player for left in e.left_out))
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


def _relied(
    known: Known, which: str, features: tuple[str, ...], group: str | None, minimal: list[int]
) -> Relied:
    own = known.mask(features)
    flipped = known.count("flip", own)
    kept = known.count("keep", (1 << len(known.features)) - 1 & ~own)
    cheapest = known.priced.cheapest(_inside(known.priced.masks, own))
    change = None if cheapest is None else known.change(cheapest)
    return Relied(
        number=known.number,
        name=known.name,
        protected=which,
        outcome=known.outcome,
        group=group,
        flips_alone=None if flipped is None else flipped / known.n,
        interval=None if flipped is None else certainty(flipped, known.n, known.tau)[0],
        flips_most=_most(known, own),
        in_some=any(mask & own for mask in minimal),
        in_every=bool(minimal) and all(mask & own for mask in minimal),
        stands_freed=None if kept is None else kept / known.n >= known.tau,
        change=None if change is None else str(change),
        cost=None if change is None else change.cost,
        complete=known.complete,
    )


def _inside(masks: Any, own: int) -> Any:
    """Which sets have some of these features, and no others."""
    return (masks != 0) & (masks & ~own == 0) if len(masks) else np.zeros(0, dtype=bool)


def _most(known: Known, own: int) -> float | None:
    """The largest share of references that flip by any of these features alone."""
    hits = known.hits("flip")
    if hits is not None:
        return int(hits[_submasks(own)].max(initial=0)) / known.n
    flipped = known.count("flip", own)
    return None if flipped is None else flipped / known.n


@lru_cache(maxsize=64)
def _submasks(mask: int) -> Counts:
    """The sets inside a set, itself included, without the empty one."""
    found = np.zeros(1, dtype=np.int64)
    for i in range(mask.bit_length()):
        if mask >> i & 1:
            found = np.concatenate([found, found | 1 << i])
    return found[1:]


def _groups(rows: list[Relied], sets: Iterable[str], labels: list[str]) -> Iterator[GroupReliance]:
    by_set: dict[tuple[str, str | None], list[Relied]] = {}
    for row in rows:
        for label in {None, row.group}:
            by_set.setdefault((row.protected, label), []).append(row)
    for name in sets:
        for label in (None, *labels):
            yield _group(name, label, by_set[name, label])


def _group(name: str, label: str | None, rows: list[Relied]) -> GroupReliance:
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
