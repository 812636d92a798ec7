"""The marks of several tools, over several decisions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from suffice.audit.decisions import ViewName
from suffice.audit.gaps import Share
from suffice.audit.grading.result import COLUMNS, ClaimKind, Grade
from suffice.checks import threshold, whole
from suffice.errors import InputError
from suffice.results import Column, Panel, Rest, Result, Sheet
from suffice.wording import and_more, count, cut, named, percent, price

__all__ = ["Grades", "ToolEntry", "ToolMarks"]

_SHOWN = 12
_ROOM = 18


@dataclass(frozen=True)
class ToolEntry:
    """One tool's claim about one decision: its grade, or why there is none."""

    tool: str
    row: int
    """The number of the decision."""
    grade: Grade | None
    failed: str | None = None

    def __post_init__(self) -> None:
        whole("row", self.row, 0)
        if (self.grade is None) == (self.failed is None):
            raise InputError("failed", self.failed, "a reason where there is no grade, else None")

    @property
    def nothing(self) -> bool:
        """Was a claim read that says nothing: no counterfactual at all?"""
        return self.grade is not None and self.grade.mark is None


@dataclass(frozen=True)
class ToolMarks:
    """One tool's marks, over all decisions that it said something of.

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
    """None where it said nothing at all; as the view is."""
    view: ViewName | None
    asked: int
    failed: int
    """Decisions for which it failed, or what it gave could not be read."""
    nothing: int
    """Decisions of which it said nothing."""
    size: float | None
    """How many features its sets have, on average; as all that follows."""
    sufficiency: float | None
    best: float | None
    """What sets of the same sizes can reach."""
    beats: float | None
    """Of the other sets of the same size, the share that suffice less."""
    as_good: Share
    """Decisions for which no set of that size does better."""
    reaches: Share
    """Decisions for which its set reaches τ."""
    minimal: Share
    """Decisions for which its set reaches τ, and nothing can be left out of it."""
    first: float | None
    """Of rankings: how many first features it takes to reach τ, where they do."""
    smallest: float | None
    """And how many the smallest sets have, on the same decisions."""
    precision: float | None
    """Of rules."""
    coverage: float | None
    precise: Share
    """Of rules: those whose precision is τ or more."""
    valid: Share
    """Of counterfactual rows: those that flip."""
    cost: float | None
    """Of the cheapest that flips, where there is one."""
    cheapest: float | None
    """Of the cheapest change to a reference's values, on the same decisions."""
    lean: Share
    """Of counterfactual rows that flip: those of which no change can be spared."""


@dataclass(frozen=True, repr=False)
class Grades(Result):
    """Marks for several tools, or of several decisions, tool by tool and row by row.

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
    """The decisions' names."""
    tool_names: tuple[str, ...]
    """The tools' names."""
    entries: tuple[ToolEntry, ...]
    """By decision, and of each by tool."""

    def __post_init__(self) -> None:
        threshold(self.tau)
        wanted = [
            (tool, row) for row in range(len(self.decision_names)) for tool in self.tool_names
        ]
        if [(entry.tool, entry.row) for entry in self.entries] != wanted or not wanted:
            raise InputError("entries", f"{len(self.entries)} entries", "one by tool and decision")

    @cached_property
    def tools(self) -> tuple[ToolMarks, ...]:
        """Each tool's marks over all decisions."""
        return tuple(
            _marks_of(name, [e for e in self.entries if e.tool == name]) for name in self.tool_names
        )

    def of(self, tool: str) -> ToolMarks:
        """One tool's marks."""
        for found in self.tools:
            if found.tool == tool:
                return found
        raise InputError("tool", repr(tool), f"one of {and_more(map(repr, self.tool_names))}")

    @property
    def failed(self) -> tuple[ToolEntry, ...]:
        """Where a tool failed, or said nothing."""
        return tuple(entry for entry in self.entries if entry.grade is None or entry.nothing)

    # -- in words -------------------------------------------------------------------------

    @property
    def sheet(self) -> Sheet:
        """A line for each tool, beside what was possible."""
        return Sheet(
            f"Marks for {self._who} on {count(len(self.decision_names), 'decision')}",
            lead=tuple(filter(None, map(self._told, self.tools))),
            panels=tuple(self._panels()),
            notes=tuple(self._notes()),
        )

    @property
    def _who(self) -> str:
        return and_more(map(named, self.tool_names), 4)

    def _told(self, found: ToolMarks) -> str:
        who = named(found.tool)
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
                    f"; the cheapest cost {price(found.cost)}, where {price(found.cheapest)} "
                    "would do"
                )
            told += "."
        return told

    def _panels(self) -> Iterator[Panel]:
        tools = self.tools
        yield _panel("The sets that they put forward", _SETS, tools)
        for heading, columns, kind in (
            ("Rankings", _RANKINGS, "ranking"),
            ("Rules", _RULES, "rule"),
            ("Counterfactuals", _ROWS, "counterfactuals"),
        ):
            some = tuple(t for t in tools if t.kind == kind)
            if some:
                yield _panel(heading, columns, some)
        if self.failed:
            rows = tuple(
                (_short(e.tool), self.decision_names[e.row], e.failed or "gave no counterfactual")
                for e in self.failed[:_SHOWN]
            )
            more = Rest(len(self.failed) - len(rows), ".failed")
            heads = Column("tool"), Column("decision"), Column("why")
            yield Panel(heads, rows, "Where there is nothing to mark", more)

    def _notes(self) -> Iterator[str]:
        yield (
            "Means over the decisions that a tool said something of. A ranking is marked by as "
            f"many first features as the smallest set needs to reach τ = {self.tau:g}, unless k "
            "was given; counterfactuals by the features that the cheapest one changes."
        )
        if any(e.grade is not None and not e.grade.complete for e in self.entries):
            yield (
                "For some decisions not every set was counted: their best sets are not known, and "
                "not in the means."
            )

    def to_frame(self) -> Any:
        """A row for each set that was marked, and for each failure."""
        import pandas as pd

        lines = []
        for entry in self.entries:
            about = {"decision": self.decision_names[entry.row], "failed": entry.failed}
            if entry.grade is None:
                lines.append(dict.fromkeys(COLUMNS) | {"tool": entry.tool} | about)
            else:
                lines += [line | about for line in entry.grade.records()]
        return pd.DataFrame(lines, columns=["decision", *COLUMNS, "failed"])

    def to_tool_frame(self) -> Any:
        """The table of marks: a row for each tool."""
        import pandas as pd

        rows = []
        for found in self.tools:
            row: dict[str, Any] = {}
            for name, value in vars(found).items():
                row[name] = value.share if isinstance(value, Share) else value
            rows.append(row)
        return pd.DataFrame(rows)


Cells = tuple[tuple[Column, Callable[[ToolMarks], Any]], ...]

_SETS: Cells = (
    (Column("tool"), lambda t: _short(t.tool)),
    (Column("to"), lambda t: t.view),
    (Column("marked", "number"), lambda t: t.asked - t.failed - t.nothing),
    (Column("size", "number"), lambda t: t.size),
    (Column("sufficiency", "share"), lambda t: t.sufficiency),
    (Column("best possible", "share"), lambda t: t.best),
    (Column("as good", "share"), lambda t: t.as_good.share),
    (Column("reach τ", "share"), lambda t: t.reaches.share),
    (Column("minimal", "share"), lambda t: t.minimal.share),
)
_RANKINGS: Cells = (
    (Column("tool"), lambda t: _short(t.tool)),
    (Column("first features to reach τ", "number"), lambda t: t.first),
    (Column("smallest set", "number"), lambda t: t.smallest),
    (Column("better than other sets", "share"), lambda t: t.beats),
)
_RULES: Cells = (
    (Column("tool"), lambda t: _short(t.tool)),
    (Column("precision", "share"), lambda t: t.precision),
    (Column("reach τ", "share"), lambda t: t.precise.share),
    (Column("coverage", "share"), lambda t: t.coverage),
)
_ROWS: Cells = (
    (Column("tool"), lambda t: _short(t.tool)),
    (Column("rows", "number"), lambda t: t.valid.n),
    (Column("really flip", "share"), lambda t: t.valid.share),
    (Column("no change to spare", "share"), lambda t: t.lean.share),
    (Column("cost", "number"), lambda t: t.cost),
    (Column("cheapest", "number"), lambda t: t.cheapest),
)


def _short(name: str) -> str:
    """A tool's name, so that a table of eight columns has room."""
    return cut(named(name), _ROOM)


def _panel(heading: str, cells: Cells, tools: tuple[ToolMarks, ...]) -> Panel:
    rows = tuple(tuple(cell(tool) for _, cell in cells) for tool in tools)
    return Panel(tuple(column for column, _ in cells), rows, heading)


def _marks_of(name: str, entries: list[ToolEntry]) -> ToolMarks:
    grades = [e.grade for e in entries if e.grade is not None]
    marked = [g for g in grades if g.mark is not None]
    marks = [g.mark for g in marked if g.mark is not None]
    known = [m for m in marks if m.best_sufficiency is not None]
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
        size=_mean(m.size for m in marks),
        sufficiency=_mean(m.sufficiency for m in marks),
        best=_mean(m.best_sufficiency for m in known),
        beats=_mean(m.beats for m in marks),
        as_good=Share.of(m.as_good for m in marks),
        reaches=Share.of(m.reaches for m in marks),
        minimal=Share.of(m.minimal for m in marks),
        first=_mean(g.first for g in first),
        smallest=_mean(len(g.smallest or ()) for g in first),
        precision=_mean(r.rule.precision for r in rules),
        coverage=_mean(r.rule.coverage for r in rules),
        precise=Share.of(r.reaches for r in rules),
        valid=Share.of(row.flips for row in rows),
        cost=_mean(cost for cost, _ in paid),
        cheapest=_mean(cheapest for _, cheapest in paid),
        lean=Share.of(None if row.spare is None else not row.spare for row in rows if row.flips),
    )


def _mean(values: Iterator[float | int | None] | Any) -> float | None:
    """Of those that are known."""
    known = [float(value) for value in values if value is not None]
    return sum(known) / len(known) if known else None
