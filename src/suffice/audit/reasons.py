"""Reason codes: why an adverse decision was made, as a letter to the applicant may say it.

A feature is a reason if changing it helps: it is replaced in more of the ways to another outcome
than chance would have it. Reasons are ranked by how many of these ways have them replaced (flip
necessity). That is a count over all sets and references, so the same model, data and question give
the same codes every time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any, Literal

import numpy as np

from suffice.audit.all_features import ways
from suffice.audit.catalogue import Catalogue, Direction, read_catalogue
from suffice.audit.known import Known, read_decisions
from suffice.checks import choice, names, text, whole
from suffice.errors import InputError, did_you_mean
from suffice.results import Column, Panel, Result, Sheet, write_text
from suffice.tables.csv import as_csv
from suffice.typing import Scalar
from suffice.wording import count, listed, named, percent, show

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
    """Where the cheapest helpful change goes; None where no change was priced."""
    necessity: float
    """Of the ways to the other outcome, the share that has this feature changed."""


@dataclass(frozen=True)
class DecisionReasons:
    """The reasons of one decision."""

    name: str
    outcome: str
    reasons: tuple[Reason, ...]
    covered: float | None
    """Of the ways to the other outcome, the share that changes at least one of these."""
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
            return _sheet_of_one(self.decisions[0])
        given: dict[tuple[str, str, str], int] = {}
        for decision in self.decisions:
            for r in decision.reasons:
                given[r.code, r.text, r.feature] = given.get((r.code, r.text, r.feature), 0) + 1
        rows = tuple(
            (code, said, named(feature), n, n / len(self.decisions))
            for (code, said, feature), n in sorted(
                given.items(), key=lambda item: (-item[1], item[0])
            )
        )
        columns = (
            Column("code"),
            Column("reason"),
            Column("feature"),
            Column("decisions", "number"),
            Column("share", "share"),
        )
        lead = [self.asked]
        if rows:
            often = (f"{said} ({code}, {n:,})" for code, said, _, n, _ in rows[:_OFTEN])
            lead.append(f"Given most often: {'; '.join(often)}.")
        lead += [self.withheld] if self.withheld else []
        return Sheet("Principal reasons", tuple(lead), (Panel(columns, rows),))

    def to_frame(self) -> Any:
        """A row for each reason given; a decision that is held has its problems in each."""
        import pandas as pd

        rows = [
            {
                "decision": d.name,
                "outcome": d.outcome,
                "rank": r.rank,
                "code": r.code,
                "text": r.text,
                "feature": r.feature,
                "value": r.value,
                "direction": r.direction,
                "necessity": r.necessity,
                "covered": d.covered,
                "hold": "; ".join(d.problems),
            }
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
            rows.append(row | {"covered": d.covered, "hold": "; ".join(d.problems)})
        write_text(path, as_csv(pd.DataFrame(rows)))


_NO_REASON = Reason(0, "", "", "", None, None, 0.0)


def reasons(
    explanations: Any,
    catalogue: Any,
    *,
    k: int = 4,
    protected: str | Iterable[str] = (),
    problems: Literal["raise", "hold"] = "raise",
    ids: Sequence[Any] | None = None,
    progress: bool | None = None,
) -> Reasons:
    """The principal reasons for each decision, by a catalogue of codes and texts.

    Explain the adverse decisions, and only those. At most `k` reasons are given. A reason without
    an entry in the catalogue, one whose entry has no text, or one of the `protected` features among
    the reasons is an error that names the decision; with problems="hold" such a decision is held
    for review instead. `ids` names the decisions (else they are called as they were stored, or by
    their numbers).

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
    found: list[DecisionReasons] = []
    for known in read_decisions(explanations, tau=None, ids=ids, progress=progress):
        if not found:
            told.check((*known.features, *known.idle))
            _check_protected(forbidden, (*known.features, *known.idle))
        one = _reasons_of(known, told, most, forbidden)
        if one.problems and not hold:
            hint = "Complete the catalogue, or hold such decisions for review: problems='hold'."
            got = f"decision {known.name}: {one.problems[0]}"
            raise InputError("catalogue", got, "no problem", hint)
        found.append(one)
    return Reasons(most, tuple(found))


def _check_protected(names: Iterable[str], features: tuple[str, ...]) -> None:
    for name in names:
        if name not in features:
            hint = did_you_mean(name, features)
            raise InputError("protected", repr(name), "features of the explanations", hint)


def _reasons_of(
    known: Known, catalogue: Catalogue, k: int, protected: frozenset[str]
) -> DecisionReasons:
    out = ways(known, "flip")
    if out is None:
        problem = "not every set was counted, so reasons cannot be ranked (search='exhaustive')"
        return DecisionReasons(known.name, known.outcome, (), None, (), (), (problem,))
    if not out.total:
        problem = "nothing gives another outcome: no change of these features is a reason"
        return DecisionReasons(known.name, known.outcome, (), None, (), (), (problem,))
    necessity = out.necessities
    helps = necessity > out.expected + _AS_MUCH
    share = {i: _rounded(necessity[i]) for i in np.flatnonzero(helps).tolist()}
    order = sorted(share, key=lambda i: (-share[i], i))
    given, rest = order[:k], order[k:]
    told, problems = [], []
    for i in given:
        feature = known.features[i]
        direction = _direction(known, i)
        entry = catalogue.entry(feature, direction)
        way = "" if direction is None else f" ({direction})"
        if feature in protected:
            problems.append(f"{feature!r}, a protected feature, is among the reasons")
        if entry is None:
            problems.append(f"{feature!r}{way} is a reason, and has no entry in the catalogue")
            continue
        if entry.lacks:
            problems.append(f"{feature!r}{way} is a reason, and its entry has no {entry.lacks}")
        rank = 1 + sum(share[j] > share[i] for j in given)
        value = _value(known.values(i))
        told.append(
            Reason(rank, entry.code, entry.text, feature, value, direction, float(necessity[i]))
        )
    covered = out.share_with(given) if given else 0.0
    last = share[given[-1]] if given else 0.0
    return DecisionReasons(
        name=known.name,
        outcome=known.outcome,
        reasons=tuple(told),
        covered=covered,
        left_out=tuple(known.features[i] for i in rest),
        equal=tuple(known.features[i] for i in rest if share[i] == last),
        problems=tuple(problems),
    )


def _rounded(share: float) -> float:
    return round(float(share) / _AS_MUCH) * _AS_MUCH


def _direction(known: Known, i: int) -> Direction | None:
    """Where the cheapest change goes that has this feature in it."""
    priced = known.priced
    cheapest = priced.cheapest((priced.masks >> i & 1).astype(bool))
    if cheapest is None:
        return None
    values = known.values(i)
    if len(values) != 1:
        return "other"
    ((column, old),) = values.items()
    new = known.change(cheapest).values[column]
    if not (_is_number(old) and _is_number(new)):
        return "other"
    return "higher" if new > old else "lower"  # type: ignore[operator]


def _is_number(value: Scalar) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _value(values: Mapping[str, Scalar]) -> Scalar:
    if len(values) == 1:
        return next(iter(values.values()))
    return ", ".join(f"{column} = {show(value)}" for column, value in values.items())


def _sheet_of_one(d: DecisionReasons) -> Sheet:
    columns = (
        Column("", "number"),
        Column("code"),
        Column("reason"),
        Column("feature"),
        Column("in ways out", "share"),
    )
    rows = tuple((r.rank, r.code, r.text, named(r.feature), r.necessity) for r in d.reasons)
    lead = []
    if d.covered is not None and d.reasons:
        lead.append(
            f"Of the ways to another outcome, {percent(d.covered)} change at least one of these."
        )
    notes = [f"Hold for review: {problem}." for problem in d.problems]
    if d.left_out:
        notes.append(f"Changing these helps, too: {listed(map(named, d.left_out))}.")
    if d.equal:
        notes.append(f"Just as much as the last one given: {listed(map(named, d.equal))}.")
    return Sheet(f"Why “{named(d.outcome)}”", tuple(lead), (Panel(columns, rows),), tuple(notes))
