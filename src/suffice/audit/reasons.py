"""Reason codes: why an adverse decision was made, as a letter to the applicant may say it.

A feature is a reason if changing it helps: it is replaced in more of the ways to another outcome
than chance would have it. Reasons are ranked by how many of these ways have them replaced (flip
necessity). That is a count over all sets and references, so the same model, data and question give
the same codes every time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any, Literal, NamedTuple, TypeGuard

import numpy as np

from suffice.audit.all_features import ways
from suffice.audit.catalogue import Catalogue, Direction, Entry, read_catalogue
from suffice.audit.decisions import set_words
from suffice.audit.known import Known, read_decisions
from suffice.checks import choice, names, text, whole
from suffice.errors import InputError, did_you_mean, shorten
from suffice.results import Column, Panel, Result, Sheet, write_text
from suffice.tables.csv import as_csv
from suffice.tables.labels import own, say
from suffice.typing import Scalar, SmallCounts
from suffice.wording import and_more, count, listed, named, percent, show

__all__ = ["DecisionReasons", "Reason", "Reasons", "reasons"]

_TEMPLATE = """The decision on your application was: $outcome.

The principal reasons are:
$reasons
"""

_OFTEN = 3
"""Reasons that are told as the most frequent."""

_AS_MUCH = 1e-12
"""Weights that differ by less are the same: they are sums of the same counts in another order."""


@dataclass(frozen=True)
class Reason:
    """One principal reason."""

    rank: int
    """Equal reasons have the same."""
    code: str
    text: str
    feature: str
    value: Scalar
    """The input's; of a group its columns' values in words."""
    direction: Direction | None
    """Where a number goes in the cheapest change that cannot do without it; None where no change
    shows it. All that is no number goes to "other"."""
    necessity: float
    """Of the ways to the other outcome, the share that has this feature changed."""
    also: tuple[str, ...] = ()
    """Further features that help, at most as much, and of which the same is said."""

    @property
    def features(self) -> tuple[str, ...]:
        """All of which this is said, the one that helps most first."""
        return (self.feature, *self.also)


@dataclass(frozen=True)
class DecisionReasons:
    """The reasons of one decision."""

    name: str
    outcome: str
    reasons: tuple[Reason, ...]
    covered: float | None
    """Of the ways to the other outcome, the share that changes at least one feature of these
    reasons; None where there are none."""
    left_out: tuple[str, ...]
    """Features whose change helps, too, but which are not among the first k."""
    equal: tuple[str, ...]
    """Of those, the ones that help just as much as the last reason given."""
    problems: tuple[str, ...]
    """Why someone should look at it before a letter is sent; () where nothing is wrong."""

    @property
    def hold(self) -> bool:
        """Is it to be held for review?"""
        return bool(self.problems)

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes, in order."""
        return tuple(reason.code for reason in self.reasons)


@dataclass(frozen=True, repr=False)
class Reasons(Result):
    """Reason codes of one decision or many."""

    plots = ("reasons", "measures")

    k: int
    decisions: tuple[DecisionReasons, ...]
    others: int = 0
    """Decisions with another outcome, which were left out."""

    def __len__(self) -> int:
        return len(self.decisions)

    def __getitem__(self, at: int) -> DecisionReasons:
        return self.decisions[at]

    def __iter__(self) -> Iterator[DecisionReasons]:
        return iter(self.decisions)

    @property
    def held(self) -> tuple[DecisionReasons, ...]:
        """Those to be looked at before a letter is sent."""
        return tuple(d for d in self.decisions if d.hold)

    @property
    def asked(self) -> str:
        """How many reasons were asked for, in a sentence."""
        return f"Up to {count(self.k, 'reason')} for each of {count(len(self), 'decision')}."

    @property
    def withheld(self) -> str:
        """How many decisions are held, in a sentence; "" where none is."""
        held = len(self.held)
        verb = "is" if held == 1 else "are"
        return f"{count(held, 'decision')} {verb} held for review: no letter goes out." * bool(held)

    def letter(self, at: int = 0, template: str = _TEMPLATE) -> str:
        """The text of a letter: $outcome, $reasons, $codes and $name of `template` filled in."""
        n = len(self.decisions)
        chosen = self.decisions[whole("at", at, -n, n - 1)]
        if chosen.hold:
            got = f"decision {chosen.name}, which is held for review ({chosen.problems[0]})"
            raise InputError("letter", got, "a decision without problems")
        lines = "\n".join(f"{i}. {r.text} ({r.code})" for i, r in enumerate(chosen.reasons, 1))
        try:
            return Template(text("template", template)).substitute(
                outcome=chosen.outcome,
                reasons=lines,
                codes=", ".join(chosen.codes),
                name=chosen.name,
            )
        except (KeyError, ValueError) as error:
            allowed = "a text with $outcome, $reasons, $codes or $name ($$ for a dollar sign)"
            raise InputError("template", str(error), allowed) from error

    @property
    def sheet(self) -> Sheet:
        """One decision's reasons; of many, how often each code is given."""
        if len(self.decisions) == 1:
            return _sheet_of_one(self.decisions[0], self._others_in_words)
        given: dict[tuple[str, str], int] = {}
        features: dict[tuple[str, str], dict[str, None]] = {}
        for decision in self.decisions:
            for said in dict.fromkeys((r.code, r.text) for r in decision.reasons):
                given[said] = given.get(said, 0) + 1
            for r in decision.reasons:
                features.setdefault((r.code, r.text), {}).update(dict.fromkeys(r.features))
        rows = tuple(
            (code, said, set_words(tuple(features[code, said])), n, n / len(self.decisions))
            for (code, said), n in sorted(given.items(), key=lambda item: (-item[1], item[0]))
        )
        columns = (
            Column("code"),
            Column("reason"),
            Column("feature"),
            Column("decisions", "number"),
            Column("share", "share"),
        )
        lead = [self.asked, *self._others_in_words]
        if rows:
            often = (f"{said} ({code}, {n:,})" for code, said, _, n, _ in rows[:_OFTEN])
            lead.append(f"Given most often: {'; '.join(often)}.")
        tied = sum(bool(d.equal) for d in self.decisions)
        if tied:
            lead.append(
                f"In {count(tied, 'decision')} a reason left out helps just as much as the last "
                "one given."
            )
        lead += [self.withheld] if self.withheld else []
        return Sheet("Principal reasons", tuple(lead), (Panel(columns, rows),))

    @property
    def _others_in_words(self) -> tuple[str, ...]:
        if not self.others:
            return ()
        verb = "is" if self.others == 1 else "are"
        return (f"{count(self.others, 'decision')} with another outcome {verb} left out.",)

    def to_frame(self) -> Any:
        """A row for each reason given; what is known of its decision stands in each."""
        import pandas as pd

        rows = [
            {
                "decision": d.name,
                "outcome": d.outcome,
                "rank": r.rank,
                "code": r.code,
                "text": r.text,
                "feature": r.feature,
                "also": ", ".join(r.also),
                "value": r.value,
                "direction": r.direction,
                "necessity": r.necessity,
            }
            | _known_of(d)
            for d in self.decisions
            for r in d.reasons or (_NO_REASON,)
        ]
        return pd.DataFrame(rows)

    def to_csv(self, path: str | Path) -> None:
        """A line for each decision: its codes and texts, side by side.

        No cell is one that a spreadsheet would take for a formula.
        """
        import pandas as pd

        rows = []
        for d in self.decisions:
            row: dict[str, Any] = {"decision": d.name, "outcome": d.outcome}
            for i in range(self.k):
                known = d.reasons[i] if i < len(d.reasons) else None
                row[f"code {i + 1}"] = None if known is None else known.code
                row[f"reason {i + 1}"] = None if known is None else known.text
            rows.append(row | _known_of(d))
        write_text(path, as_csv(pd.DataFrame(rows)))


def _known_of(d: DecisionReasons) -> dict[str, Any]:
    """What a table says of a decision beside its reasons."""
    return {
        "covered": d.covered,
        "left out": ", ".join(d.left_out),
        "equal": ", ".join(d.equal),
        "hold": "; ".join(d.problems),
    }


_NO_REASON = Reason(0, "", "", "", None, None, 0.0)


def reasons(
    explanations: Any,
    catalogue: Any,
    *,
    k: int = 4,
    adverse: Any = None,
    protected: str | Iterable[str] = (),
    problems: Literal["raise", "hold"] = "raise",
    ids: Sequence[Any] | None = None,
    progress: bool | None = None,
) -> Reasons:
    """The principal reasons for each decision, by a catalogue of codes and texts.

    Reasons are given for decisions with the `adverse` outcome; others are left out, and counted.
    None: all have the same. At most `k` reasons are given; features of which the catalogue says the
    same are one reason. No reason at all, a reason without an entry in the catalogue, one whose
    entry has no text, or one of the `protected` features among the reasons is an error that names
    the decision; with problems="hold" such a decision is held for review instead. `ids` names the
    decisions (else they are called as they were stored, or by their numbers).

    >>> import pandas as pd
    >>> from suffice import Explainer, audit
    >>> people = pd.DataFrame({"pay": [30, 60, 45, 60], "debt": [20, 20, 0, 40]})
    >>> explainer = Explainer(lambda rows: rows["pay"] - rows["debt"] >= 40, people)
    >>> found = audit.reasons(
    ...     explainer.explain(people.iloc[0]),
    ...     {"pay": ("P1", "Income too low"), "debt": ("D1", "Debt too high")},
    ... )
    >>> [(r.code, round(r.necessity, 2)) for r in found[0].reasons]
    [('P1', 1.0), ('D1', 0.67)]
    >>> print(found.letter())
    The decision on your application was: False.
    <BLANKLINE>
    The principal reasons are:
    1. Income too low (P1)
    2. Debt too high (D1)
    <BLANKLINE>
    """
    most = whole("k", k)
    hold = choice("problems", problems, ("raise", "hold")) == "hold"
    told = read_catalogue(catalogue, blanks=hold)
    forbidden = frozenset(names("protected", protected))
    wanted = None if adverse is None else say(own(adverse))
    found: list[DecisionReasons] = []
    others: Counter[str] = Counter()
    for known in read_decisions(explanations, tau=None, ids=ids, progress=progress):
        if wanted is not None and known.outcome != wanted:
            others[known.outcome] += 1
            continue
        if found and known.outcome != found[0].outcome:
            raise _which_is_adverse(found[0].outcome, known.outcome)
        if not found:
            told.check((*known.features, *known.idle))
            _check_protected(forbidden, (*known.features, *known.idle))
        one = _reasons_of(known, told, most, forbidden)
        if one.problems and not hold:
            hint = "Complete the catalogue, or hold such decisions for review: problems='hold'."
            got = f"decision {known.name}: {one.problems[0]}"
            raise InputError("catalogue", got, "no problem", hint)
        found.append(one)
    if not found:
        hint = did_you_mean(wanted, others, or_list=False)
        allowed = f"an outcome of the decisions: {and_more(map(repr, others))}"
        raise InputError("adverse", shorten(adverse), allowed, hint)
    return Reasons(most, tuple(found), others.total())


def _which_is_adverse(*outcomes: str) -> InputError:
    got = f"None, for decisions with the outcomes {listed(map(repr, outcomes))}"
    either = listed((f"adverse={outcome!r}" for outcome in outcomes), "or")
    hint = f"Say for which of them reasons are given: {either}."
    return InputError("adverse", got, "None where all have the same outcome", hint)


def _check_protected(names: Iterable[str], features: tuple[str, ...]) -> None:
    for name in names:
        if name not in features:
            hint = did_you_mean(name, features)
            raise InputError("protected", repr(name), "features of the explanations", hint)


def _reasons_of(
    known: Known, catalogue: Catalogue, k: int, protected: frozenset[str]
) -> DecisionReasons:
    def none(problem: str) -> DecisionReasons:
        return DecisionReasons(known.name, known.outcome, (), None, (), (), (problem,))

    hits, out = known.hits("flip"), ways(known, "flip")
    if hits is None or out is None:
        return none("not every set was counted, so reasons cannot be ranked (search='exhaustive')")
    if not out.total:
        return none("nothing gives another outcome: no change of these features is a reason")
    necessity = out.necessities
    helps = necessity > out.expected + _AS_MUCH
    share = {i: _rounded(necessity[i]) for i in np.flatnonzero(helps).tolist()}
    if not share:
        problem = "no single feature's change helps more than chance would have it"
        return none(f"{problem}, though there are ways to another outcome")
    order = sorted(share, key=lambda i: (-share[i], i))
    groups = _same_said(known, catalogue, order, hits)
    given, rest = groups[:k], [i for group in groups[k:] for i in group.members]
    told: list[Reason] = []
    problems: list[str] = []
    covering: list[int] = []
    for group in given:
        problems += _problems_of(known, group, protected)
        if group.entry is None:
            continue
        first, *more = group.members
        covering += group.members
        told.append(
            Reason(
                rank=1 + sum(share[other.members[0]] > share[first] for other in given),
                code=group.entry.code,
                text=group.entry.text,
                feature=known.features[first],
                value=_value(known.values(first)),
                direction=group.direction,
                necessity=float(necessity[first]),
                also=tuple(known.features[i] for i in more),
            )
        )
    last = share[given[-1].members[0]]
    return DecisionReasons(
        name=known.name,
        outcome=known.outcome,
        reasons=tuple(told),
        covered=out.share_with(covering) if told else None,
        left_out=tuple(known.features[i] for i in rest),
        equal=tuple(known.features[i] for i in rest if share[i] == last),
        problems=tuple(problems),
    )


def _rounded(share: float) -> float:
    return round(float(share) / _AS_MUCH) * _AS_MUCH


class _Said(NamedTuple):
    """Features of which the same is said, the one that helps most first; and its direction."""

    members: list[int]
    entry: Entry | None
    direction: Direction | None


def _same_said(
    known: Known, catalogue: Catalogue, order: Iterable[int], hits: SmallCounts
) -> list[_Said]:
    """These features, joined where a letter would say the same of them, in their order."""
    found: dict[Any, _Said] = {}
    for i in order:
        direction = _direction(known, i, hits)
        entry = catalogue.entry(known.features[i], direction)
        # Nothing is not the same as nothing.
        key = i if entry is None or entry.lacks else (entry.code, entry.text)
        found.setdefault(key, _Said([], entry, direction)).members.append(i)
    return list(found.values())


def _problems_of(known: Known, group: _Said, protected: frozenset[str]) -> Iterator[str]:
    features = [known.features[i] for i in group.members]
    for feature in features:
        if feature in protected:
            yield f"{feature!r}, a protected feature, is among the reasons"
    way = "" if group.direction is None else f" ({group.direction})"
    if group.entry is None and group.direction is None:
        yield (
            f"{features[0]!r} is a reason, no change shows which way it should go, and it has no "
            "entry in the catalogue for any direction"
        )
    elif group.entry is None:
        yield f"{features[0]!r}{way} is a reason, and has no entry in the catalogue"
    elif group.entry.lacks:
        yield f"{features[0]!r}{way} is a reason, and its entry has no {group.entry.lacks}"


def _direction(known: Known, i: int, hits: SmallCounts) -> Direction | None:
    """Where the cheapest change goes that surely needs this feature.

    A change of a set may work without one of its features, and then says nothing of it. It does not
    where what is left of the set flips for no reference. Of what is no number there is nothing to
    find out: any change is to something else.
    """
    values = known.values(i)
    if len(values) != 1:
        return "other"
    ((column, old),) = values.items()
    if not _is_number(old):
        return "other"
    masks, costs = known.priced.masks.astype(np.int64), known.priced.costs
    needed = np.flatnonzero((masks >> i & 1).astype(bool) & (hits[masks & ~(1 << i)] == 0))
    for at in needed[np.argsort(costs[needed], kind="stable")]:
        new = known.change(int(masks[at])).values[column]
        if not _is_number(new):
            return "other"
        if new != old:  # where effects follow at random, luck may flip what did not move
            return "higher" if new > old else "lower"
    return None


def _is_number(value: Scalar) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _value(values: Mapping[str, Scalar]) -> Scalar:
    if len(values) == 1:
        return next(iter(values.values()))
    return ", ".join(f"{column} = {show(value)}" for column, value in values.items())


def _sheet_of_one(d: DecisionReasons, others: tuple[str, ...]) -> Sheet:
    columns = (
        Column("", "number"),
        Column("code"),
        Column("reason"),
        Column("feature"),
        Column("in ways out", "share"),
    )
    rows = tuple((r.rank, r.code, r.text, set_words(r.features), r.necessity) for r in d.reasons)
    lead = list(others)
    if d.covered is not None:
        lead.append(
            f"Of the ways to another outcome, {percent(d.covered)} change at least one of these."
        )
    notes = [f"Hold for review: {problem}." for problem in d.problems]
    if d.left_out:
        notes.append(f"Changing these helps, too: {listed(map(named, d.left_out))}.")
    if d.equal:
        notes.append(f"Just as much as the last one given: {listed(map(named, d.equal))}.")
    return Sheet(f"Why “{named(d.outcome)}”", tuple(lead), (Panel(columns, rows),), tuple(notes))
