"""Reason codes of adverse decisions, ranked by flip necessity, and letters to applicants.

A feature is a reason if changing it helps: it is replaced in more of the hybrids with another
outcome than D alone would have it. Reasons are ranked by the share of these hybrids that replace
them (flip necessity). That is a count over all sets and references, so the same model, data and
question give the same codes every time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from string import Template
from typing import Any, Literal, NamedTuple

import numpy as np

from suffice.audit.catalogue import Catalogue, CatalogueEntry, ChangeDirection, read_catalogue
from suffice.audit.decision_counts import DecisionCounts, read_decision_counts, weighted_hybrids
from suffice.audit.decisions import DecisionSequence
from suffice.errors import InputError, did_you_mean, short_repr
from suffice.formatting import (
    format_features,
    format_name,
    format_value,
    join_first,
    join_words,
    percent,
    plural,
)
from suffice.results import (
    Column,
    Field,
    OmittedRows,
    Panel,
    Result,
    Sheet,
    make_frame,
    make_panel,
    write_text,
)
from suffice.tables.cells import is_missing, label_text, unwrap_label
from suffice.tables.conversion import as_csv
from suffice.typing import NaturalNumber, RoundedShare, Scalar
from suffice.validation import check_choice, check_integer, check_name_list, check_string

_TEMPLATE = """The decision on your application was: $outcome.

The principal reasons are:
$reasons
"""

_HELD_SHOWN, _HELD_HEADING = 10, "Held for review"
_MOST_FREQUENT = 3
"""Number of most frequent reasons in the text."""

_TOLERANCE = 1e-12
"""Weights that differ by less are equal: they are sums of the same counts in another order."""


@dataclass(frozen=True)
class Reason:
    """Principal reason of a decision."""

    rank: NaturalNumber
    """Rank from 1; equal reasons share it."""
    code: str
    text: str
    feature: str
    value: Scalar
    """Value of the feature in the input; for a group of columns, their values as text."""
    direction: ChangeDirection | None
    """Direction of the feature in the cheapest change that needs it; None if no change shows it, or
    the value is missing. Of a true/false feature, true is higher; other categories have "other"."""
    necessity: RoundedShare
    """Share of the hybrids with another outcome that have this feature replaced."""
    also: tuple[str, ...] = ()
    """Further features with the same catalogue entry, which help at most as much."""
    necessity_baseline: RoundedShare | None = None
    """Share of all hybrids that have it replaced: the necessity expected by chance. None in
    results of older versions."""

    @property
    def features(self) -> tuple[str, ...]:
        """All features of this reason, the one that helps most first."""
        return (self.feature, *self.also)


@dataclass(frozen=True)
class DecisionReasons:
    """Reasons of one decision."""

    name: str
    outcome: str
    reasons: tuple[Reason, ...]
    covered: RoundedShare | None
    """Share of the hybrids with another outcome that replace at least one feature of these reasons;
    None without reasons."""
    left_out: tuple[str, ...]
    """Further features whose change helps, but which are not among the first k reasons."""
    equal: tuple[str, ...]
    """Features of `left_out` that help just as much as the last reason given."""
    problems: tuple[str, ...]
    """Problems to review before a letter is sent; () if there are none."""
    covered_baseline: RoundedShare | None = None
    """The same share of all hybrids: `covered` by chance. None in results of older versions."""

    @property
    def hold(self) -> bool:
        """True if the decision is held for review."""
        return bool(self.problems)

    @property
    def codes(self) -> tuple[str, ...]:
        """Codes of the reasons, in order."""
        return tuple(reason.code for reason in self.reasons)


@dataclass(frozen=True, repr=False)
class Reasons(DecisionSequence[DecisionReasons], Result):
    """Reason codes of one decision or many."""

    plots = ("reasons", "measures")

    k: NaturalNumber
    decisions: tuple[DecisionReasons, ...]
    others: NaturalNumber = 0
    """Number of decisions with another outcome, which were left out."""

    @property
    def held(self) -> tuple[DecisionReasons, ...]:
        """Decisions that are held for review."""
        return tuple(d for d in self.decisions if d.hold)

    @property
    def asked(self) -> str:
        """Sentence on the number of reasons and decisions."""
        return f"Up to {plural(self.k, 'reason')} for each of {plural(len(self), 'decision')}."

    @property
    def withheld(self) -> str:
        """Sentence on the decisions held for review; "" if none is held."""
        held = len(self.held)
        verb = "is" if held == 1 else "are"
        return f"{plural(held, 'decision')} {verb} held for review: no letter goes out." * bool(
            held
        )

    def letter(self, at: int = 0, template: str = _TEMPLATE) -> str:
        """Return the text of a letter: `template` with $outcome, $reasons, $codes and $name."""
        n = len(self.decisions)
        chosen = self.decisions[check_integer("at", at, -n, n - 1)]
        if chosen.hold:
            got = f"decision {chosen.name}, which is held for review ({chosen.problems[0]})"
            raise InputError("letter", got, "a decision without problems")
        lines = "\n".join(f"{i}. {r.text} ({r.code})" for i, r in enumerate(chosen.reasons, 1))
        try:
            return Template(check_string("template", template)).substitute(
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
        """Summary: the reasons of one decision; for several, how often each code is given."""
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
            (code, said, format_features(tuple(features[code, said])), n, n / len(self.decisions))
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
            often = (f"{said} ({code}, {n:,})" for code, said, _, n, _ in rows[:_MOST_FREQUENT])
            lead.append(f"Given most often: {'; '.join(often)}.")
        tied = sum(bool(d.equal) for d in self.decisions)
        if tied:
            lead.append(
                f"In {plural(tied, 'decision')} a reason left out helps just as much as the last "
                "one given."
            )
        lead += [self.withheld] if self.withheld else []
        panels = [Panel(columns, rows)]
        if self.held:
            more = OmittedRows(len(self.held) - _HELD_SHOWN, ".held")
            panels.append(make_panel(_HELD_FIELDS, self.held[:_HELD_SHOWN], _HELD_HEADING, more))
        return Sheet("Principal reasons", tuple(lead), tuple(panels))

    @property
    def _others_in_words(self) -> tuple[str, ...]:
        if not self.others:
            return ()
        verb = "is" if self.others == 1 else "are"
        return (f"{plural(self.others, 'decision')} with another outcome {verb} left out.",)

    def to_frame(self) -> Any:
        """Return a pandas frame with a row for each reason, with the columns of its decision."""
        every = [(d, r) for d in self.decisions for r in d.reasons or (_NO_REASON,)]
        return make_frame(_REASON_FIELDS, every)

    def to_csv(self, path: str | Path) -> None:
        """Write a CSV file with a line for each decision: its codes and texts side by side.

        Cells that a spreadsheet would take for a formula are escaped.
        """
        codes = [
            Field(f"{name} {i + 1}", value=partial(_nth, i, of))
            for i in range(self.k)
            for name, of in (("code", "code"), ("reason", "text"))
        ]
        fields = (*_REASON_FIELDS[:2], *codes, *_REVIEW_FIELDS)
        write_text(path, as_csv(make_frame(fields, [(d,) for d in self.decisions])))


def _nth(i: int, name: str, row: tuple[DecisionReasons]) -> Any:
    """Return an attribute of a decision's reason at a position; None if it has fewer."""
    return getattr(row[0].reasons[i], name) if i < len(row[0].reasons) else None


_HELD_FIELDS = (
    Field("name", "decision"),
    Field("problems", "why", show="; ".join),
)
_REVIEW_FIELDS = (
    Field("covered", value=lambda row: row[0].covered),
    Field("left out", value=lambda row: ", ".join(row[0].left_out)),
    Field("equal", value=lambda row: ", ".join(row[0].equal)),
    Field("hold", value=lambda row: "; ".join(row[0].problems)),
)
_REASON_FIELDS = (
    Field("decision", value=lambda row: row[0].name),
    Field("outcome", value=lambda row: row[0].outcome),
    Field("rank", "", "number", value=lambda row: row[1].rank),
    Field("code", "code", value=lambda row: row[1].code),
    Field("text", "reason", value=lambda row: row[1].text),
    Field("feature", value=lambda row: row[1].feature),
    Field("also", value=lambda row: ", ".join(row[1].also)),
    Field("", "feature", value=lambda row: format_features(row[1].features)),
    Field("value", value=lambda row: row[1].value),
    Field("direction", value=lambda row: row[1].direction),
    Field("necessity", "set necessity", "share", value=lambda row: row[1].necessity),
    Field("necessity_baseline", "by chance", "share", value=lambda row: row[1].necessity_baseline),
    *_REVIEW_FIELDS,
)
_NO_REASON = Reason(0, "", "", "", None, None, 0.0)


def reasons(
    explanations: Any,
    catalogue: Any,
    *,
    k: int = 4,
    adverse: Any = None,
    protected: str | Iterable[str] = (),
    problems: Literal["raise", "hold"] = "hold",
    ids: Sequence[Any] | None = None,
    progress: bool | None = None,
) -> Reasons:
    """Return the principal reasons for each decision, by a catalogue of codes and texts.

    Reasons are given for decisions with the `adverse` outcome; others are left out, and counted.
    With `adverse` None all decisions must have the same outcome. At most `k` reasons are given;
    features with the same code and text in the catalogue are one reason. `ids` names the decisions;
    without it they have their stored ids or numbers.

    A decision is held for review, and gets no letter, if it has no reason; if a reason has no entry
    or its entry no text; if the entry of a reason that is a number, true/false or missing has no
    direction, or none for the direction that helps here; or if one of the `protected` features is
    among the reasons. With problems="raise" the first such decision is an error.

    >>> import pandas as pd
    >>> from suffice import Explainer, audit
    >>> people = pd.DataFrame({"pay": [30, 60, 45, 60], "debt": [20, 20, 0, 40]})
    >>> explainer = Explainer(lambda rows: rows["pay"] - rows["debt"] >= 40, people)
    >>> found = audit.reasons(
    ...     explainer.explain(people.iloc[0]),
    ...     {
    ...         "pay": {"higher": ("P1", "Income too low")},
    ...         "debt": {"any": ("D1", "Debt in relation to income")},
    ...     },
    ... )
    >>> [(r.code, round(r.necessity, 2)) for r in found[0].reasons]
    [('P1', 1.0), ('D1', 0.67)]
    >>> print(found.letter())
    The decision on your application was: False.
    <BLANKLINE>
    The principal reasons are:
    1. Income too low (P1)
    2. Debt in relation to income (D1)
    <BLANKLINE>
    """
    most = check_integer("k", k)
    hold = check_choice("problems", problems, ("raise", "hold")) == "hold"
    entries = read_catalogue(catalogue, blanks=hold)
    forbidden = frozenset(check_name_list("protected", protected))
    wanted = None if adverse is None else label_text(unwrap_label(adverse))
    found: list[DecisionReasons] = []
    others: Counter[str] = Counter()
    for decision in read_decision_counts(explanations, tau=None, ids=ids, progress=progress):
        if wanted is not None and decision.outcome != wanted:
            others[decision.outcome] += 1
            continue
        # Reasons for a grant in a letter of refusal would be the opposite of the truth.
        if found and decision.outcome != found[0].outcome:
            raise _ambiguous_adverse(found[0].outcome, decision.outcome)
        if not found:
            entries.check(decision.all_features)
            _check_protected(forbidden, decision.all_features)
        one = decision_reasons(decision, entries, most, forbidden)
        if one.problems and not hold:
            hint = "Complete the catalogue, or hold such decisions for review: problems='hold'."
            got = f"decision {decision.name}: {one.problems[0]}"
            raise InputError("catalogue", got, "no problem", hint)
        found.append(one)
    if not found:
        hint = did_you_mean(wanted, others, or_list=False)
        allowed = f"an outcome of the decisions: {join_first(map(repr, others))}"
        raise InputError("adverse", short_repr(adverse), allowed, hint)
    return Reasons(most, tuple(found), others.total())


def _ambiguous_adverse(*outcomes: str) -> InputError:
    got = f"None, for decisions with the outcomes {join_words(map(repr, outcomes))}"
    either = join_words((f"adverse={outcome!r}" for outcome in outcomes), "or")
    hint = f"Say for which of them reasons are given: {either}."
    return InputError("adverse", got, "None where all have the same outcome", hint)


def _check_protected(names: Iterable[str], features: tuple[str, ...]) -> None:
    for name in names:
        if name not in features:
            hint = did_you_mean(name, features)
            raise InputError("protected", repr(name), "features of the explanations", hint)


def decision_reasons(
    known: DecisionCounts, catalogue: Catalogue, k: int, protected: frozenset[str] = frozenset()
) -> DecisionReasons:
    """Return the k principal reasons of one decision, with the problems that hold it."""

    def none(problem: str) -> DecisionReasons:
        return DecisionReasons(known.name, known.outcome, (), None, (), (), (problem,))

    out = weighted_hybrids(known, "flip")
    if out is None:
        return none("not every set was counted, so reasons cannot be ranked (search='exhaustive')")
    if not out.total:
        return none("nothing gives another outcome: no change of these features is a reason")
    necessity, expected = out.necessity, out.expected
    # Half of all hybrids replace any one feature, so only more than chance counts as helping.
    helps = necessity > expected + _TOLERANCE
    # Rounded, so that ties do not depend on the order in which floats were summed.
    share = {i: _rounded(necessity[i]) for i in np.flatnonzero(helps).tolist()}
    if not share:
        problem = "no single feature's change helps more than chance would have it"
        return none(f"{problem}, though there are ways to another outcome")
    order = sorted(share, key=lambda i: (-share[i], i))
    groups = _group_by_entry(known, catalogue, order)
    given, rest = groups[:k], [i for group in groups[k:] for i in group.members]
    told: list[Reason] = []
    problems: list[str] = []
    covering: list[int] = []
    for group in given:
        problems += _problems_of(known, group, protected)
        entry = group.entries[0]
        if entry is None:
            continue
        first, *more = group.members
        covering += group.members
        told.append(
            Reason(
                rank=1 + sum(share[other.members[0]] > share[first] for other in given),
                code=entry.code,
                text=entry.text,
                feature=known.features[first],
                value=_value_text(known.values(first)),
                direction=group.directions[0],
                necessity=float(necessity[first]),
                also=tuple(known.features[i] for i in more),
                necessity_baseline=float(expected[first]),
            )
        )
    # Equal to the last one given: leaving it out was a choice of order, which `equal` discloses.
    last = share[given[-1].members[0]]
    return DecisionReasons(
        name=known.name,
        outcome=known.outcome,
        reasons=tuple(told),
        covered=out.share_with_any(covering) if told else None,
        covered_baseline=out.expected_with_any(covering) if told else None,
        left_out=tuple(known.features[i] for i in rest),
        equal=tuple(known.features[i] for i in rest if share[i] == last),
        problems=tuple(problems),
    )


def _rounded(share: float) -> float:
    return round(float(share) / _TOLERANCE) * _TOLERANCE


class _ReasonGroup(NamedTuple):
    """Features with one code and text, the one that helps most first."""

    members: list[int]
    entries: list[CatalogueEntry | None]
    directions: list[ChangeDirection | None]


def _group_by_entry(
    known: DecisionCounts, catalogue: Catalogue, order: Iterable[int]
) -> list[_ReasonGroup]:
    """Group the features by catalogue entry, in their order."""
    found: dict[Any, _ReasonGroup] = {}
    for i in order:
        direction = _change_direction(known, i)
        entry = catalogue.entry(known.features[i], direction)
        # Features without an entry are separate problems, not one reason.
        key = i if entry is None or entry.missing_field else (entry.code, entry.text)
        group = found.setdefault(key, _ReasonGroup([], [], []))
        group.members.append(i)
        group.entries.append(entry)
        group.directions.append(direction)
    return list(found.values())


def _problems_of(
    known: DecisionCounts, group: _ReasonGroup, protected: frozenset[str]
) -> Iterator[str]:
    for i, entry, direction in zip(*group, strict=True):
        feature = known.features[i]
        if feature in protected:
            yield f"{feature!r}, a protected feature, is among the reasons"
        way = "" if direction is None else f" ({direction})"
        if entry is None and direction is None:
            unknown = "no change shows which way it should go"
            if _is_missing(known, i):
                unknown = "its value is missing"
            yield (
                f"{feature!r} is a reason, {unknown}, and it has no entry in the catalogue for any "
                "direction"
            )
        elif entry is None:
            yield f"{feature!r}{way} is a reason, and has no entry in the catalogue"
        elif entry.missing_field:
            yield f"{feature!r}{way} is a reason, and its entry has no {entry.missing_field}"
        elif entry.direction is None and _is_missing(known, i):
            yield (
                f"{feature!r} is a reason, its value is missing, and its text is for no direction: "
                "declare it for 'any'"
            )
        elif entry.direction is None and direction != "other":
            yield (
                f"{feature!r}{way} is a reason, and its text is for no direction: declare it for "
                "'higher', 'lower' or 'any'"
            )


def _change_direction(known: DecisionCounts, i: int) -> ChangeDirection | None:
    """Return the direction of feature i in the cheapest changes that need it; None if unknown.

    It is unknown if the value is missing, if no change needs the feature, or if equally cheap ones
    disagree. A true/false feature can only become the other of the two; true is the higher one.
    Other features that are no numbers, and groups of columns, have the direction "other".
    """
    value = _single_value(known, i)
    if isinstance(value, bool):
        return "lower" if value else "higher"
    if not (_is_missing(known, i) or isinstance(value, int | float)):
        return "other"
    found = known.directions.get(known.features[i])
    return None if found == "either" else found


def _single_value(known: DecisionCounts, i: int) -> Scalar:
    """Return the input's value of a feature; the feature's name for a group of columns."""
    values = tuple(known.values(i).values())
    return values[0] if len(values) == 1 else known.features[i]


def _is_missing(known: DecisionCounts, i: int) -> bool:
    return is_missing(_single_value(known, i))


def _value_text(values: Mapping[str, Scalar]) -> Scalar:
    if len(values) == 1:
        return next(iter(values.values()))
    return ", ".join(f"{column} = {format_value(value)}" for column, value in values.items())


def _sheet_of_one(d: DecisionReasons, others: tuple[str, ...]) -> Sheet:
    panel = make_panel(_REASON_FIELDS, [(d, r) for r in d.reasons])
    lead = list(others)
    if d.covered is not None:
        chance = ""
        if d.covered_baseline is not None:
            chance = f" (by chance {percent(d.covered_baseline)})"
        lead.append(
            f"Of the ways to another outcome, {percent(d.covered)}{chance} change at least one of "
            "these."
        )
    notes = [f"Hold for review: {problem}." for problem in d.problems]
    if d.left_out:
        notes.append(f"Changing these helps, too: {join_words(map(format_name, d.left_out))}.")
    if d.equal:
        notes.append(
            f"Just as much as the last one given: {join_words(map(format_name, d.equal))}."
        )
    return Sheet(f"Why “{format_name(d.outcome)}”", tuple(lead), (panel,), tuple(notes))
