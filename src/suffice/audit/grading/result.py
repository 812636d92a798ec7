"""The marks of one tool's claim about one decision."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from suffice.audit.decisions import ViewName, set_words
from suffice.audit.grading.marks import Mark
from suffice.audit.grading.rows import Cheapest, RowMark
from suffice.audit.grading.rules import RuleMark
from suffice.checks import threshold, whole
from suffice.errors import InputError
from suffice.results import Column, Panel, Rest, Result, Sheet
from suffice.wording import count, listed, named, percent, price

__all__ = ["COLUMNS", "ClaimKind", "Grade"]

ClaimKind = Literal["ranking", "set", "rule", "counterfactuals"]

_SHOWN = 12
_KINDS: dict[str, str] = {
    "ranking": "a ranking",
    "set": "a set of features",
    "rule": "a rule",
    "counterfactuals": "counterfactuals",
}


@dataclass(frozen=True, repr=False)
class Grade(Result):
    """How far a ranking, a set, a rule or counterfactuals say what suffices, and what would.

    >>> import pandas as pd
    >>> from suffice import Explainer, audit
    >>> people = pd.DataFrame({"pay": [1, 2, 5, 6], "debt": [4, 0, 4, 0]})
    >>> explainer = Explainer(lambda rows: (rows["pay"] > 3) & (rows["debt"] < 3), people)
    >>> found = audit.grade(explainer, [6, 0], [{"pay": 1, "debt": 4}, {"pay": 5}])
    >>> [(row.change, row.flips, row.spare) for row in found.rows]
    [('pay 6 → 1, debt 0 → 4', True, ('pay',)), ('pay 6 → 5', False, None)]
    """

    plots = ("grades", "measures")

    tool: str
    """Whose claim it is; "" where that was not said."""
    kind: ClaimKind
    view: ViewName
    """Rankings and sets are marked in either view, rules as what keeps, counterfactuals as what
    flips."""
    outcome: str
    """The outcome, in words, that a set has to suffice for."""
    tau: float
    complete: bool
    """Was every set of features counted?"""
    marks: tuple[Mark, ...]
    """Of a ranking, its first feature, first two, and so on; of counterfactuals, the features that
    each changes; else one set."""
    chosen: int | None
    """Which of them stands for the claim: of a ranking, that of as many features as the smallest
    set needs to reach τ, or as was asked; of counterfactuals, that of the cheapest row that flips.
    None where there are none."""
    smallest: tuple[str, ...] | None
    """The smallest set that reaches τ; None where none is known."""
    rule: RuleMark | None = None
    rows: tuple[RowMark, ...] = ()
    cheapest: Cheapest | None = None
    """For counterfactuals: the cheapest change to values of a reference; None where none flips."""

    def __post_init__(self) -> None:
        threshold(self.tau)
        if self.chosen is not None:
            whole("chosen", self.chosen, 0, len(self.marks) - 1)
        if (self.chosen is None) != (not self.marks):
            raise InputError("chosen", self.chosen, "one of the marks, where there are any")
        if (self.rule is not None) != (self.kind == "rule"):
            raise InputError("rule", self.rule, "marks of a rule, for a rule alone")
        if len(self.rows) != (len(self.marks) if self.kind == "counterfactuals" else 0):
            raise InputError("rows", f"{len(self.rows)} rows", "one for each mark")

    @property
    def mark(self) -> Mark | None:
        """The set that stands for the claim."""
        return None if self.chosen is None else self.marks[self.chosen]

    @property
    def first(self) -> int | None:
        """Of a ranking: how many of its first features it takes to reach τ; None: they do not."""
        if self.kind != "ranking":
            return None
        return next((mark.size for mark in self.marks if mark.reaches), None)

    @property
    def row(self) -> RowMark | None:
        """Of counterfactuals: the cheapest that flips, or the first where none does."""
        return self.rows[self.chosen] if self.rows and self.chosen is not None else None

    @property
    def valid(self) -> int:
        """Of counterfactuals: how many flip."""
        return sum(row.flips for row in self.rows)

    # -- in words -------------------------------------------------------------------------

    @property
    def sheet(self) -> Sheet:
        """The claim, what it is worth, and what was possible."""
        who = f"{named(self.tool)}, {_KINDS[self.kind]}" if self.tool else _KINDS[self.kind]
        does = "keeps" if self.view == "keep" else "flips it to"
        return Sheet(
            f"Marks for {who}: what {does} “{named(self.outcome)}”",
            lead=tuple(self._lead()),
            panels=tuple(self._panels()),
            notes=tuple(self._notes()),
        )

    def _lead(self) -> Iterator[str]:
        if self.rule is not None:
            yield from _of_rule(self.rule)
        if self.kind == "counterfactuals":
            yield from self._of_rows()
        mark = self.mark
        if mark is None:
            return
        yield self._suffices(mark)
        if self.kind == "ranking":
            yield self._of_ranking()
        if self.kind == "counterfactuals":  # what its own row could spare was told above
            return
        if mark.spare:
            yield f"Of these, {_these(mark.spare)} can be left out: the rest does as well."
        elif mark.minimal:
            yield "Nothing can be left out of it."
        rest = set(mark.features) - set(mark.spare or ())
        if mark.smaller is not None and set(mark.smaller) != rest:
            yield f"A smaller set does as well: {_these(mark.smaller)}."

    def _suffices(self, mark: Mark) -> str:
        does = "Holding" if self.view == "keep" else "Replacing"
        low, high = map(percent, mark.interval)
        told = (
            f"{does} {_these(mark.features)} suffices for {percent(mark.sufficiency)} of "
            f"{count(mark.n, 'reference')} (95% interval {low} to {high})"
        )
        if mark.best is None:
            return f"{told}; not all {_sets_of(mark.size, many=True)} were counted."
        if mark.as_good:
            return f"{told}; no {_sets_of(mark.size)} does for more."
        return (
            f"{told}; the best {_sets_of(mark.size)}, {_these(mark.best)}, for "
            f"{percent(mark.best_sufficiency)}. It is better than {percent(mark.beats)} of the "
            f"other {_sets_of(mark.size, many=True)}."
        )

    def _of_ranking(self) -> str:
        if self.first is None:
            told = f"Neither its first features nor all of them reach {percent(self.tau)}"
        elif self.first == 1:
            told = f"Its first feature alone reaches {percent(self.tau)}"
        else:
            told = f"It takes its first {self.first} features to reach {percent(self.tau)}"
        if self.smallest is None or len(self.smallest) == self.first:
            return f"{told}."
        return f"{told}; {_these(self.smallest)} would be enough."

    def _of_rows(self) -> Iterator[str]:
        if not self.rows:
            yield "It gives no counterfactual."
            return
        do = "flips" if self.valid < 2 else "flip"
        some = self.valid or "None"
        yield f"{some} of {count(len(self.rows), 'row')} really {do} the outcome."
        row = self.row
        if row is not None and row.flips:
            cost = "what nobody can pay" if row.cost is None else price(row.cost)
            yield f"The cheapest of them costs {cost}: {row.change}."
            if row.spare:
                rest = "" if row.spare_cost is None else f", at a cost of {price(row.spare_cost)}"
                yield f"{_these(row.spare)} need not change: the rest still flips it{rest}."
        if self.cheapest is not None:
            yield (
                f"The cheapest change to a reference's values costs {price(self.cheapest.cost)}: "
                f"{self.cheapest.change}."
            )

    def _panels(self) -> Iterator[Panel]:
        if self.kind == "counterfactuals":
            if self.rows:
                yield self._rows_panel()
            return
        columns = (
            Column("features" if self.kind != "ranking" else "its first"),
            Column("sufficiency", "share"),
            Column("best possible", "share"),
            Column("better than", "share"),
            Column("necessity", "share"),
            Column("can be left out"),
        )
        rows = tuple(
            (
                set_words(m.features) if self.kind != "ranking" else f"{m.size}: {self._added(i)}",
                m.sufficiency,
                m.best_sufficiency,
                m.beats,
                m.necessity,
                None if m.spare is None else set_words(m.spare),
            )
            for i, m in enumerate(self.marks[:_SHOWN])
        )
        yield Panel(columns, rows, more=Rest(len(self.marks) - len(rows), ".marks", "size"))

    def _added(self, i: int) -> str:
        """The feature that a ranking has in this place."""
        before = set(self.marks[i - 1].features) if i else set()
        return set_words([name for name in self.marks[i].features if name not in before])

    def _rows_panel(self) -> Panel:
        columns = (
            Column("changes"),
            Column("outcome"),
            Column("cost", "number"),
            Column("sufficiency", "share"),
            Column("best possible", "share"),
            Column("flips as well"),
        )
        cells = tuple(
            (
                set_words(row.features),
                "flips" if row.flips else "does not flip",
                row.cost,
                mark.sufficiency,
                mark.best_sufficiency,
                f"without {set_words(row.spare)}" if row.spare else None,
            )
            for row, mark in zip(self.rows[:_SHOWN], self.marks, strict=False)
        )
        return Panel(columns, cells, more=Rest(len(self.rows) - len(cells), ".rows", "row"))

    def _notes(self) -> Iterator[str]:
        yield (
            "Sufficiency: the share of references for which these features bring the outcome "
            f"about. A set does as well if it reaches τ = {self.tau:g} where the other does, and "
            "else is as sufficient."
        )
        if not self.complete:
            yield (
                "Not every set of features was counted: these sets were, by asking the model; what "
                "all others could do is left open."
            )

    # -- as a frame -----------------------------------------------------------------------

    def to_frame(self) -> Any:
        """A row for each set that was marked."""
        import pandas as pd

        return pd.DataFrame(self.records(), columns=list(COLUMNS))

    def records(self) -> list[dict[str, Any]]:
        """The rows of its frame."""
        about = {"tool": self.tool, "kind": self.kind, "view": self.view}
        found = []
        for i, mark in enumerate(self.marks or (None,)):
            line: dict[str, Any] = dict.fromkeys(COLUMNS) | about
            line["chosen"] = i == self.chosen
            if mark is not None:
                line |= {name: getattr(mark, name) for name in _OF_MARK}
                line["low"], line["high"] = mark.interval
            if self.rule is not None:
                rule = self.rule.rule
                line |= {"rule": rule.words, "holds": self.rule.holds, "precision": rule.precision}
                line |= {"coverage": rule.coverage, "spare_conditions": self.rule.spare}
            if self.rows:
                row = self.rows[i]
                line |= {"change": row.change, "flips": row.flips, "cost": row.cost}
                line |= {"spare_changes": row.spare, "spare_cost": row.spare_cost}
            if self.kind == "counterfactuals" and self.cheapest is not None:
                line["cheapest_cost"] = self.cheapest.cost
            found.append(line)
        return found


_OF_MARK = (
    "features",
    "size",
    "sufficiency",
    "n",
    "reaches",
    "minimal",
    "necessity",
    "best",
    "best_sufficiency",
    "beats",
    "spare",
    "smaller",
)
COLUMNS = (
    *("tool", "kind", "view", "chosen"),
    *_OF_MARK[:3],
    *("low", "high"),
    *_OF_MARK[3:],
    *("rule", "holds", "precision", "coverage", "spare_conditions"),
    *("change", "flips", "cost", "spare_changes", "spare_cost", "cheapest_cost"),
)


def _sets_of(size: int, many: bool = False) -> str:
    s = "s" * many
    return f"single feature{s}" if size == 1 else f"set{s} of {size}"


def _these(names: tuple[str, ...]) -> str:
    return listed(map(named, names)) or "nothing"


def _of_rule(found: RuleMark) -> Iterator[str]:
    rule = found.rule
    yield (
        f"If {rule.words}: {rule.sheet.lead[0]}" if rule.factor is not None else rule.sheet.lead[0]
    )
    if not found.holds:
        yield "It does not hold of this very input."
    if found.spare:
        yield f"“{listed(found.spare)}” can be left out of the rule: the rest does as well."
