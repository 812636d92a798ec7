"""Reason codes: why an adverse decision was made, as a letter to the applicant may say it.

A feature is a reason if changing it helps: it is replaced in more of the ways to another outcome
than chance would have it. Reasons are ranked by how many of these ways have them replaced (flip
necessity). That is a count over all sets and references, so the same model, data and question give
the same codes every time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any, Literal

import numpy as np

from suffice.audit.catalogue import Catalogue, Direction, read_catalogue
from suffice.audit.decisions import as_decisions, membership, names_of
from suffice.checks import choice, names, text, whole
from suffice.errors import InputError
from suffice.explanation import Explanation
from suffice.results import Column, Panel, Result, Sheet, write_text
from suffice.typing import Reals, Scalar
from suffice.wording import count, listed, named, percent, show

__all__ = ["DecisionReasons", "Reason", "Reasons", "reasons"]

_TEMPLATE = """The decision on your application was: $outcome.

The principal reasons are:
$reasons
"""

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

    def letter(self, at: int = 0, template: str = _TEMPLATE) -> str:
        """The text of a letter: $outcome, $reasons, $codes and $name of `template` filled in."""
        chosen = self.decisions[at]
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
        held = len(self.held)
        lead = f"Up to {self.k} reasons for each of {count(len(self.decisions), 'decision')}"
        notes = (f"{count(held, 'decision')} held for review: .held",) if held else ()
        return Sheet("Principal reasons", (f"{lead}.",), (Panel(columns, rows),), notes)

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
        """A line for each decision: its codes and texts, side by side."""
        import pandas as pd

        rows = []
        for d in self.decisions:
            row: dict[str, Any] = {"decision": d.name, "outcome": d.outcome}
            for i in range(self.k):
                known = d.reasons[i] if i < len(d.reasons) else None
                row[f"code {i + 1}"] = None if known is None else known.code
                row[f"reason {i + 1}"] = None if known is None else known.text
            rows.append(row | {"covered": d.covered, "hold": "; ".join(d.problems)})
        write_text(path, pd.DataFrame(rows).to_csv(index=False))


_NO_REASON = Reason(0, "", "", "", None, None, 0.0)


def reasons(
    explanations: Any,
    catalogue: Any,
    *,
    k: int = 4,
    protected: str | Iterable[str] = (),
    problems: Literal["raise", "hold"] = "raise",
    ids: Sequence[Any] | None = None,
) -> Reasons:
    """The principal reasons for each decision, by a catalogue of codes and texts.

    Explain the adverse decisions, and only those. At most `k` reasons are given. A reason without
    an entry in the catalogue, or one of the `protected` features among the reasons, is an error
    that names the decision; with problems="hold" such a decision is held for review instead.

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
    decisions = as_decisions(explanations)
    known = read_catalogue(catalogue)
    most = whole("k", k)
    hold = choice("problems", problems, ("raise", "hold")) == "hold"
    forbidden = frozenset(names("protected", protected))
    called = names_of(decisions, ids)
    found: list[DecisionReasons] = []
    for name, e in zip(called, decisions, strict=True):
        if not found:
            players = (*e.players, *(left.player for left in e.left_out))
            known.check(player.name for player in players)
        one = _reasons_of(name, e, known, most, forbidden)
        if one.problems and not hold:
            hint = "Complete the catalogue, or hold such decisions for review: problems='hold'."
            raise InputError("catalogue", f"decision {name}: {one.problems[0]}", "no problem", hint)
        found.append(one)
    return Reasons(most, tuple(found))


def _reasons_of(
    name: str, e: Explanation, catalogue: Catalogue, k: int, protected: frozenset[str]
) -> DecisionReasons:
    flip = e.flip
    if not flip.tally.complete:
        hint = "Ask with search='exhaustive' and fewer features (groups)."
        got = f"decision {name}, of which not every set was counted"
        raise InputError("explanations", got, "decisions with all their counts", hint)
    weight = flip.tally.dense * flip.profile.weights[membership(len(e.players)).sum(axis=1)]
    total = float(weight.sum())
    if not total:
        problem = "nothing gives another outcome: no change of these features is a reason"
        return DecisionReasons(name, e.outcome, (), None, (), (), (problem,))
    inside = membership(len(e.players))
    necessity = (weight @ inside) / total
    helps = necessity > _by_chance(flip.profile.weights, inside) + _AS_MUCH
    order = sorted(np.flatnonzero(helps).tolist(), key=lambda i: (-_rounded(necessity[i]), i))
    given, rest = order[:k], order[k:]
    told, problems = [], []
    for i in given:
        feature = e.players[i].name
        direction = _direction(e, i)
        entry = catalogue.entry(feature, direction)
        if feature in protected:
            problems.append(f"{feature!r}, a protected feature, is among the reasons")
        if entry is None:
            way = "" if direction is None else f" ({direction})"
            problems.append(f"{feature!r}{way} is a reason, and has no entry in the catalogue")
            continue
        rank = 1 + sum(_rounded(necessity[j]) > _rounded(necessity[i]) for j in given)
        value = _value(e, i)
        told.append(
            Reason(rank, entry.code, entry.text, feature, value, direction, float(necessity[i]))
        )
    covered = float(weight[inside[:, given].any(axis=1)].sum()) / total if given else 0.0
    last = _rounded(necessity[given[-1]]) if given else 0.0
    equal = tuple(e.players[i].name for i in rest if _rounded(necessity[i]) == last)
    left_out = tuple(e.players[i].name for i in rest)
    return DecisionReasons(name, e.outcome, tuple(told), covered, left_out, equal, tuple(problems))


def _rounded(share: float) -> float:
    return round(float(share) / _AS_MUCH) * _AS_MUCH


def _by_chance(weights: Reals, inside: Any) -> Reals:
    """How likely D is to replace each feature, whatever comes of it."""
    each = weights[inside.sum(axis=1)]
    return np.asarray((each @ inside) / each.sum())


def _direction(e: Explanation, i: int) -> Direction | None:
    """Where the cheapest change goes that has this feature in it."""
    mine = [change for mask, change in e.changes.items() if mask >> i & 1]
    if not mine:
        return None
    cheapest = min(mine, key=lambda change: change.cost)
    player = e.players[i]
    if len(player.values) != 1:
        return "other"
    ((column, old),) = player.values.items()
    new = cheapest.values[column]
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in (old, new))
    if not numbers:
        return "other"
    return "higher" if new > old else "lower"  # type: ignore[operator]


def _value(e: Explanation, i: int) -> Scalar:
    player = e.players[i]
    if len(player.values) == 1:
        return next(iter(player.values.values()))
    return ", ".join(f"{column} = {show(value)}" for column, value in player.values.items())


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
