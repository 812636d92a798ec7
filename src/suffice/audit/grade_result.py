"""`Grade`, the result of `audit.grade` for one tool and one decision: marks, sentences, frame."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from suffice.audit.grade_scoring import CheapestFlip, RowMark, RuleMark, SetMark
from suffice.errors import InputError
from suffice.formatting import (
    format_cost,
    format_features,
    format_name,
    join_words,
    percent,
    plural,
)
from suffice.results import Field, OmittedRows, Panel, Result, Sheet, make_panel
from suffice.typing import ViewName
from suffice.validation import check_integer, check_tau

ClaimKind = Literal["ranking", "set", "rule", "counterfactuals"]

_SHOWN = 12
_KIND_TEXT: dict[str, str] = {
    "ranking": "a ranking",
    "set": "a set of features",
    "rule": "a rule",
    "counterfactuals": "counterfactuals",
}


@dataclass(frozen=True, repr=False)
class Grade(Result):
    """Scores of a ranking, set, rule or counterfactuals, beside the best that was possible.

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
    """Name of the tool; "" if it has none."""
    kind: ClaimKind
    view: ViewName
    """View of the marks: rankings and sets have either, rules "keep", counterfactuals "flip"."""
    outcome: str
    """Outcome that a set has to suffice for, as text."""
    tau: float
    complete: bool
    """Whether every feature set was counted."""
    marks: tuple[SetMark, ...]
    """Scores of the first feature, the first two, … of a ranking; of the features that each
    counterfactual changes; otherwise of one set."""
    chosen: int | None
    """Position of the mark that stands for the claim: for a ranking, with as many features as the
    smallest set needs to reach τ, or `k`; for counterfactuals, of the cheapest row that flips. None
    without marks."""
    smallest: tuple[str, ...] | None
    """Smallest set that reaches τ; None if none is known."""
    rule: RuleMark | None = None
    rows: tuple[RowMark, ...] = ()
    cheapest: CheapestFlip | None = None
    """For counterfactuals: the cheapest change to a reference's values; None if none flips."""
    caution: str = ""
    """What the tool may have done unasked; "" if nothing is known of it."""

    def __post_init__(self) -> None:
        check_tau(self.tau)
        if self.chosen is not None:
            check_integer("chosen", self.chosen, 0, len(self.marks) - 1)
        if (self.chosen is None) != (not self.marks):
            raise InputError("chosen", self.chosen, "one of the marks, where there are any")
        if (self.rule is not None) != (self.kind == "rule"):
            raise InputError("rule", self.rule, "marks of a rule, for a rule alone")
        if len(self.rows) != (len(self.marks) if self.kind == "counterfactuals" else 0):
            raise InputError("rows", f"{len(self.rows)} rows", "one for each mark")

    @property
    def mark(self) -> SetMark | None:
        """The mark that stands for the claim."""
        return None if self.chosen is None else self.marks[self.chosen]

    @property
    def first(self) -> int | None:
        """Number of first features of a ranking that reach τ; None if not even all do."""
        if self.kind != "ranking":
            return None
        return next((mark.size for mark in self.marks if mark.reaches), None)

    @property
    def row(self) -> RowMark | None:
        """The cheapest counterfactual row that flips, or the first if none does."""
        return self.rows[self.chosen] if self.rows and self.chosen is not None else None

    @property
    def valid(self) -> int:
        """Number of counterfactual rows that flip."""
        return sum(row.flips for row in self.rows)

    @property
    def sheet(self) -> Sheet:
        """Summary: the claim, its scores, and the best that was possible."""
        who = (
            f"{format_name(self.tool)}, {_KIND_TEXT[self.kind]}"
            if self.tool
            else _KIND_TEXT[self.kind]
        )
        does = "keeps" if self.view == "keep" else "flips it to"
        return Sheet(
            f"Marks for {who}: what {does} “{format_name(self.outcome)}”",
            lead=tuple(self._lead()),
            panels=tuple(self._panels()),
            notes=tuple(self._notes()),
        )

    def _lead(self) -> Iterator[str]:
        if self.rule is not None:
            yield from _rule_sentences(self.rule)
        if self.kind == "counterfactuals":
            yield from self._of_rows()
        mark = self.mark
        if mark is None:
            return
        yield self._suffices(mark)
        if self.kind == "ranking":
            yield self._of_ranking()
        if self.kind == "counterfactuals":  # spare changes are in the sentences on rows
            return
        if mark.spare:
            yield f"Of these, {_features_text(mark.spare)} can be left out: the rest does as well."
        elif mark.minimal:
            yield "Nothing can be left out of it."
        # What is left without the spare features is named already.
        rest = set(mark.features) - set(mark.spare or ())
        if mark.smaller is not None and set(mark.smaller) != rest:
            yield f"A smaller set does as well: {_features_text(mark.smaller)}."

    def _suffices(self, mark: SetMark) -> str:
        does = "Holding" if self.view == "keep" else "Replacing"
        low, high = map(percent, mark.interval)
        told = (
            f"{does} {_features_text(mark.features)} suffices for {percent(mark.sufficiency)} of "
            f"{plural(mark.n, 'reference')} (95% interval {low} to {high})"
        )
        if mark.best is None:
            return f"{told}; not all {_set_noun(mark.size, many=True)} were counted."
        if mark.as_good:
            return f"{told}; no {_set_noun(mark.size)} does for more."
        return (
            f"{told}; the best {_set_noun(mark.size)}, {_features_text(mark.best)}, for "
            f"{percent(mark.best_sufficiency)}. It is better than {percent(mark.beats)} of the "
            f"other {_set_noun(mark.size, many=True)}."
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
        return f"{told}; {_features_text(self.smallest)} would be enough."

    def _of_rows(self) -> Iterator[str]:
        if not self.rows:
            yield "It gives no counterfactual."
            return
        do = "flips" if self.valid < 2 else "flip"
        some = self.valid or "None"
        yield f"{some} of {plural(len(self.rows), 'row')} really {do} the outcome."
        row = self.row
        if row is not None and row.flips:
            cost = "what nobody can pay" if row.cost is None else format_cost(row.cost)
            yield f"The cheapest of them costs {cost}: {row.change}."
            if row.spare:
                rest = (
                    ""
                    if row.spare_cost is None
                    else f", at a cost of {format_cost(row.spare_cost)}"
                )
                yield f"{_features_text(row.spare)} need not change: the rest still flips it{rest}."
        if self.cheapest is not None:
            yield (
                "The cheapest change to a reference's values costs "
                f"{format_cost(self.cheapest.cost)}: "
                f"{self.cheapest.change}."
            )

    def _panels(self) -> Iterator[Panel]:
        if self.kind == "counterfactuals":
            if self.rows:
                more = OmittedRows(len(self.rows) - _SHOWN, ".rows", "row")
                pairs = [*zip(self.rows, self.marks, strict=True)][:_SHOWN]
                yield make_panel(_ROW_FIELDS, pairs, more=more)
            return
        more = OmittedRows(len(self.marks) - _SHOWN, ".marks", "size")
        first = Field("", "features", value=lambda row: format_features(row[1].features))
        if self.kind == "ranking":
            first = Field("", "its first", value=self._added)
        marks = [*enumerate(self.marks)][:_SHOWN]
        yield make_panel((first, *_MARK_FIELDS), marks, more=more)

    def _added(self, row: tuple[int, SetMark]) -> str:
        """Return the number of first features of a ranking, with the last of them."""
        i, mark = row
        before = set(self.marks[i - 1].features) if i else set()
        added = format_features([name for name in mark.features if name not in before])
        return f"{mark.size}: {added}"

    def _notes(self) -> Iterator[str]:
        yield (
            "Sufficiency: the share of references for which these features bring the outcome "
            f"about. A set does as well if it reaches τ = {self.tau:g} where the other does, and "
            "else is as sufficient."
        )
        if not self.complete:
            yield (
                "Not every feature set was counted: the model predicted these sets; the others are "
                "not known."
            )
        if self.caution:
            yield self.caution

    def to_frame(self) -> Any:
        """Return a pandas frame with a row for each mark."""
        import pandas as pd

        return pd.DataFrame(self.records(), columns=list(GRADE_COLUMNS))

    def records(self) -> list[dict[str, Any]]:
        """Return the rows of the frame as dictionaries."""
        about = {"tool": self.tool, "kind": self.kind, "view": self.view}
        found = []
        for i, mark in enumerate(self.marks or (None,)):
            line: dict[str, Any] = dict.fromkeys(GRADE_COLUMNS) | about
            # Every size of a ranking has a row; this one stands for the claim.
            line["chosen"] = i == self.chosen
            if mark is not None:
                line |= {name: getattr(mark, name) for name in _MARK_COLUMNS}
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


_MARK_FIELDS = (
    Field("", "sufficiency", "share", value=lambda row: row[1].sufficiency),
    Field("", "best possible", "share", value=lambda row: row[1].best_sufficiency),
    Field("", "better than", "share", value=lambda row: row[1].beats),
    Field("", "set necessity", "share", value=lambda row: row[1].necessity),
    Field("", "by chance", "share", value=lambda row: row[1].necessity_baseline),
    Field("", "can be left out", value=lambda row: _features_or_none(row[1].spare)),
)
_ROW_FIELDS = (
    Field("", "changes", value=lambda row: format_features(row[0].features)),
    Field("", "outcome", value=lambda row: "flips" if row[0].flips else "does not flip"),
    Field("", "cost", "number", value=lambda row: row[0].cost),
    *_MARK_FIELDS[:2],
    Field(
        "",
        "flips as well",
        value=lambda row: f"without {format_features(row[0].spare)}" if row[0].spare else None,
    ),
)


def _features_or_none(features: tuple[str, ...] | None) -> str | None:
    return None if features is None else format_features(features)


_MARK_COLUMNS = (
    "features",
    "size",
    "sufficiency",
    "n",
    "reaches",
    "minimal",
    "necessity",
    "necessity_baseline",
    "best",
    "best_sufficiency",
    "beats",
    "spare",
    "smaller",
)
GRADE_COLUMNS = (
    *("tool", "kind", "view", "chosen"),
    *_MARK_COLUMNS[:3],
    *("low", "high"),
    *_MARK_COLUMNS[3:],
    *("rule", "holds", "precision", "coverage", "spare_conditions"),
    *("change", "flips", "cost", "spare_changes", "spare_cost", "cheapest_cost"),
)


def _set_noun(size: int, many: bool = False) -> str:
    s = "s" * many
    return f"single feature{s}" if size == 1 else f"set{s} of {size}"


def _features_text(names: tuple[str, ...]) -> str:
    return join_words(map(format_name, names)) or "nothing"


def _rule_sentences(found: RuleMark) -> Iterator[str]:
    rule = found.rule
    yield (
        f"If {rule.words}: {rule.sheet.lead[0]}" if rule.factor is not None else rule.sheet.lead[0]
    )
    if not found.holds:
        yield "It does not hold of this very input."
    if found.spare:
        yield f"“{join_words(found.spare)}” can be left out of the rule: the rest does as well."
