"""`Grades`, the result of `audit.grade` for several tools or decisions: means, table, frames."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from suffice.audit.grade_result import GRADE_COLUMNS, ClaimKind, Grade
from suffice.errors import InputError
from suffice.formatting import format_cost, format_name, join_first, percent, plural, truncate
from suffice.inference import Share
from suffice.results import Field, OmittedRows, Panel, Result, Sheet, make_panel
from suffice.typing import ViewName
from suffice.validation import check_integer, check_tau

_SHOWN = 12
_TOOL_WIDTH = 18


@dataclass(frozen=True)
class ToolEntry:
    """Grade of one tool for one decision, or the reason that there is none."""

    tool: str
    row: int
    """Number of the decision."""
    grade: Grade | None
    failed: str | None = None

    def __post_init__(self) -> None:
        check_integer("row", self.row, 0)
        if (self.grade is None) == (self.failed is None):
            raise InputError("failed", self.failed, "a reason where there is no grade, else None")

    @property
    def nothing(self) -> bool:
        """True if the claim is empty: no counterfactual."""
        return self.grade is not None and self.grade.mark is None


@dataclass(frozen=True)
class ToolMarks:
    """Mean scores of one tool over the decisions that it explained.

    >>> import pandas as pd
    >>> from suffice import Explainer, audit
    >>> people = pd.DataFrame({"pay": [1, 2, 5, 6], "debt": [4, 0, 4, 0]})
    >>> explainer = Explainer(lambda rows: (rows["pay"] > 3) & (rows["debt"] < 3), people)
    >>> marks = audit.grade(explainer, people, {"a rule": "pay > 3 and debt < 3"}).of("a rule")
    >>> marks.kind, marks.size, marks.precision, marks.as_good.share
    ('rule', 2.0, 0.25, 1.0)
    """

    tool: str
    kind: ClaimKind | None
    """Kind of its claims; None, as the view, if it made none."""
    view: ViewName | None
    asked: int
    failed: int
    """Number of decisions for which it failed, or its output could not be read."""
    nothing: int
    """Number of decisions for which its claim is empty."""
    size: float | None
    """Mean number of features of its sets."""
    sufficiency: float | None
    best: float | None
    """Mean sufficiency of the best sets of the same sizes."""
    beats: float | None
    """Mean share of the other sets of the same size that are less sufficient."""
    as_good: Share
    """Share of decisions for which no set of that size is more sufficient."""
    reaches: Share
    """Share of decisions for which its set reaches τ."""
    minimal: Share
    """Share of decisions for which its set is τ-minimal."""
    first: float | None
    """For rankings: mean number of first features that reach τ, where they do."""
    smallest: float | None
    """Mean size of the smallest sets that reach τ, on the same decisions."""
    precision: float | None
    """For rules: mean precision."""
    coverage: float | None
    precise: Share
    """Share of rules whose precision is at least τ."""
    valid: Share
    """Share of counterfactual rows that flip."""
    cost: float | None
    """Mean cost of the cheapest row that flips."""
    cheapest: float | None
    """Mean cost of the cheapest change to a reference's values, on the same decisions."""
    lean: Share
    """Share of the rows that flip of which no change can be taken back."""


@dataclass(frozen=True, repr=False)
class Grades(Result):
    """Grades of several tools or several decisions, by tool and decision.

    >>> import pandas as pd
    >>> from suffice import Explainer, audit
    >>> people = pd.DataFrame({"pay": [1, 2, 5, 6], "debt": [4, 0, 4, 0]})
    >>> explainer = Explainer(lambda rows: (rows["pay"] > 3) & (rows["debt"] < 3), people)
    >>> found = audit.grade(explainer, people, {"a": ["debt", "pay"], "b": lambda row: 1 / 0})
    >>> [entry.grade.first for entry in found.entries if entry.tool == "a"]
    [1, 2, 1, 2]
    >>> found.failed[0].failed
    'it raised ZeroDivisionError: division by zero'
    """

    plots = ("grades", "measures")

    tau: float
    decision_names: tuple[str, ...]
    """Names of the decisions."""
    tool_names: tuple[str, ...]
    """Names of the tools."""
    entries: tuple[ToolEntry, ...]
    """Entries by decision, and for each decision by tool."""

    def __post_init__(self) -> None:
        check_tau(self.tau)
        wanted = [
            (tool, row) for row in range(len(self.decision_names)) for tool in self.tool_names
        ]
        # One entry for each decision and tool, so that no mean counts a decision twice.
        if [(entry.tool, entry.row) for entry in self.entries] != wanted or not wanted:
            raise InputError("entries", f"{len(self.entries)} entries", "one by tool and decision")

    @cached_property
    def tools(self) -> tuple[ToolMarks, ...]:
        """Mean scores of each tool over all decisions."""
        return tuple(
            _tool_marks(name, [e for e in self.entries if e.tool == name])
            for name in self.tool_names
        )

    def of(self, tool: str) -> ToolMarks:
        """Return the mean scores of one tool."""
        for found in self.tools:
            if found.tool == tool:
                return found
        raise InputError("tool", repr(tool), f"one of {join_first(map(repr, self.tool_names))}")

    @property
    def failed(self) -> tuple[ToolEntry, ...]:
        """Entries of decisions for which a tool failed, or its claim is empty."""
        return tuple(entry for entry in self.entries if entry.grade is None or entry.nothing)

    @property
    def sheet(self) -> Sheet:
        """Summary: scores of each tool, beside the best that was possible."""
        return Sheet(
            f"Marks for {self._who} on {plural(len(self.decision_names), 'decision')}",
            lead=tuple(filter(None, map(self._sentence, self.tools))),
            panels=tuple(self._panels()),
            notes=tuple(self._notes()),
        )

    @property
    def _who(self) -> str:
        return join_first(map(format_name, self.tool_names), 4)

    def _sentence(self, found: ToolMarks) -> str:
        """Return a sentence with the scores of one tool."""
        who = format_name(found.tool)
        if found.sufficiency is None:
            return f"{who}: nothing to mark."
        parts = [f"its sets suffice for {percent(found.sufficiency)} of the references"]
        if found.best is not None:
            parts.append(f"the best of the same size for {percent(found.best)}")
        told = f"{who}: {', '.join(parts)}."
        if found.first is not None and found.smallest is not None:
            told += (
                f" To reach {percent(self.tau)} it takes its first {found.first:.1f} features on "
                f"average, where the best {found.smallest:.1f} would do."
            )
        if found.precise.n:
            share = percent(found.precise.share)
            told += f" {share} of its rules are as precise as {percent(self.tau)}."
        if found.valid.n:
            told += f" {percent(found.valid.share)} of its rows really flip the outcome"
            if found.cost is not None and found.cheapest is not None:
                told += (
                    f"; the cheapest cost {format_cost(found.cost)}, where "
                    f"{format_cost(found.cheapest)} "
                    "would do"
                )
            told += "."
        return told

    def _panels(self) -> Iterator[Panel]:
        tools = self.tools
        yield make_panel(_SET_FIELDS, tools, "The sets that they put forward")
        for heading, fields, kind in (
            ("Rankings", _RANKING_FIELDS, "ranking"),
            ("Rules", _RULE_FIELDS, "rule"),
            ("Counterfactuals", _COUNTERFACTUAL_FIELDS, "counterfactuals"),
        ):
            some = tuple(t for t in tools if t.kind == kind)
            if some:
                yield make_panel(fields, some, heading)
        if self.failed:
            failure = (
                _TOOL,
                Field("", "decision", value=lambda e: self.decision_names[e.row]),
                Field("", "why", value=lambda e: e.failed or "gave no counterfactual"),
            )
            more = OmittedRows(len(self.failed) - _SHOWN, ".failed")
            yield make_panel(failure, self.failed[:_SHOWN], "Where there is nothing to mark", more)

    def _notes(self) -> Iterator[str]:
        yield (
            "Means over the decisions that a tool explained. A ranking is marked by as "
            f"many first features as the smallest set needs to reach τ = {self.tau:g}, unless k "
            "was given; counterfactuals by the features that the cheapest one changes."
        )
        if any(e.grade is not None and not e.grade.complete for e in self.entries):
            yield (
                "For some decisions not every set was counted: their best sets are not known, and "
                "not in the means."
            )

    def to_frame(self) -> Any:
        """Return a pandas frame with a row for each mark, and for each failure."""
        import pandas as pd

        lines = []
        for entry in self.entries:
            about = {"decision": self.decision_names[entry.row], "failed": entry.failed}
            if entry.grade is None:
                lines.append(dict.fromkeys(GRADE_COLUMNS) | {"tool": entry.tool} | about)
            else:
                lines += [line | about for line in entry.grade.records()]
        return pd.DataFrame(lines, columns=["decision", *GRADE_COLUMNS, "failed"])

    def to_tool_frame(self) -> Any:
        """Return a pandas frame with the mean scores: a row for each tool."""
        import pandas as pd

        rows = []
        for found in self.tools:
            row: dict[str, Any] = {}
            for name, value in vars(found).items():
                row[name] = value.share if isinstance(value, Share) else value
            rows.append(row)
        return pd.DataFrame(rows)


def _tool_label(name: str) -> str:
    """Return a tool's name, cut so that a table of eight columns has room."""
    return truncate(format_name(name), _TOOL_WIDTH)


_TOOL = Field("tool", "tool", show=_tool_label)
_SET_FIELDS = (
    _TOOL,
    Field("view", "to"),
    Field("", "marked", "number", value=lambda t: t.asked - t.failed - t.nothing),
    Field("size", "size", "number"),
    Field("sufficiency", "sufficiency", "share"),
    Field("best", "best possible", "share"),
    Field("", "as good", "share", value=lambda t: t.as_good.share),
    Field("", "reach τ", "share", value=lambda t: t.reaches.share),
    Field("", "minimal", "share", value=lambda t: t.minimal.share),
)
_RANKING_FIELDS = (
    _TOOL,
    Field("first", "first features to reach τ", "number"),
    Field("smallest", "smallest set", "number"),
    Field("beats", "better than other sets", "share"),
)
_RULE_FIELDS = (
    _TOOL,
    Field("precision", "precision", "share"),
    Field("", "reach τ", "share", value=lambda t: t.precise.share),
    Field("coverage", "coverage", "share"),
)
_COUNTERFACTUAL_FIELDS = (
    _TOOL,
    Field("", "rows", "number", value=lambda t: t.valid.n),
    Field("", "really flip", "share", value=lambda t: t.valid.share),
    Field("", "no change to spare", "share", value=lambda t: t.lean.share),
    Field("cost", "cost", "number"),
    Field("cheapest", "cheapest", "number"),
)


def _tool_marks(name: str, entries: list[ToolEntry]) -> ToolMarks:
    grades = [e.grade for e in entries if e.grade is not None]
    marked = [g for g in grades if g.mark is not None]
    marks = [g.mark for g in marked if g.mark is not None]
    known = [m for m in marks if m.best_sufficiency is not None]
    # Means of two things that are compared are taken over the same decisions.
    first = [g for g in marked if g.first is not None and g.smallest is not None]
    rules = [g.rule for g in marked if g.rule is not None]
    rows = [row for g in marked for row in g.rows]
    paid = [
        (g.row.cost, g.cheapest.cost)
        for g in marked
        if g.row is not None and g.row.flips and g.row.cost is not None and g.cheapest is not None
    ]
    return ToolMarks(
        tool=name,
        kind=grades[0].kind if grades else None,
        view=grades[0].view if grades else None,
        asked=len(entries),
        failed=sum(e.grade is None for e in entries),
        nothing=sum(e.nothing for e in entries),
        size=_mean_known(m.size for m in marks),
        sufficiency=_mean_known(m.sufficiency for m in marks),
        best=_mean_known(m.best_sufficiency for m in known),
        beats=_mean_known(m.beats for m in marks),
        as_good=Share.of(m.as_good for m in marks),
        reaches=Share.of(m.reaches for m in marks),
        minimal=Share.of(m.minimal for m in marks),
        first=_mean_known(g.first for g in first),
        smallest=_mean_known(len(g.smallest or ()) for g in first),
        precision=_mean_known(r.rule.precision for r in rules),
        coverage=_mean_known(r.rule.coverage for r in rules),
        precise=Share.of(r.reaches for r in rules),
        valid=Share.of(row.flips for row in rows),
        cost=_mean_known(cost for cost, _ in paid),
        cheapest=_mean_known(cheapest for _, cheapest in paid),
        lean=Share.of(None if row.spare is None else not row.spare for row in rows if row.flips),
    )


def _mean_known(values: Iterable[float | int | None]) -> float | None:
    """Return the mean of the values that are not None; None without any."""
    known = [float(value) for value in values if value is not None]
    return sum(known) / len(known) if known else None
