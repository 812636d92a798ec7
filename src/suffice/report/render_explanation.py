"""Explanations and views as plain text, terminal output, notebook cells, pages and sheets."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from shutil import get_terminal_size
from textwrap import fill
from typing import Any

from rich.console import Group
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from suffice.explanation import Explanation, View
from suffice.explanation.schema import ImageSubject
from suffice.formatting import bracketed, excerpt, format_cost, join_first, percent
from suffice.results import Column, OmittedRows, Panel, Sheet
from suffice.summary import (
    LISTED_SETS,
    DigestSummary,
    FactorLine,
    ReaderHints,
    SignatureLimits,
    Summary,
    ViewSummary,
    summarise,
)
from suffice.summary.view_summary import Pieces

_FACTORS_ON_PAGE = 300
"""Most factors of a view in a page, where they are folded away."""
_FACTORS_WITH_IMAGES = 24
"""Most factors of a view in a page with an image for each."""


def text(result: Explanation | View) -> str:
    """Return plain text that fits one screen, for `print`."""
    limits = replace(SCREEN, width=_screen_width())
    return render_text(summarise(result, most=limits.sets), limits)


def full_text(result: Explanation | View) -> str:
    """Return plain text with all values and a dozen sets of each view."""
    return render_text(summarise(result, most=FULL.sets), FULL)


def terminal(result: Explanation | View) -> Any:
    """Return a group that any rich console prints, of one screen."""
    return render_terminal(summarise(result, most=SCREEN.sets))


def page(result: Explanation | View) -> str:
    """Return an HTML document."""
    return _page(result, _summary(result))


def fragment(result: Explanation | View) -> str:
    """Return a notebook cell: the page in a frame, and static content where frames are removed."""
    from suffice.report.html import explanation_body, notebook_cell, stylesheet

    summary = summarise(result, signature=SignatureLimits())
    return notebook_cell(
        _page(result, summary), stylesheet([summary], "cell.css"), explanation_body(summary)
    )


def _page(result: Explanation | View, summary: Summary) -> str:
    from suffice.report.html import document, script_bundle, stylesheet

    style = stylesheet([summary], "page.css", "live.css")
    return document(summary.question, style, _section(result, summary), script_bundle())


def page_section(result: Explanation | View, hints: ReaderHints) -> str:
    """Return the HTML of an explanation for the explorer, which has style and script already.

    The script draws pictures and lists, so they are left out.
    """
    return _section(result, summarise(result, hints, most=1), within=True)


def _summary(result: Explanation | View) -> Summary:
    e = result if isinstance(result, Explanation) else result.explanation
    return summarise(
        result,
        most=_FACTORS_WITH_IMAGES if isinstance(e.subject, ImageSubject) else _FACTORS_ON_PAGE,
        signature=SignatureLimits(),
    )


def _section(result: Explanation | View, summary: Summary, within: bool = False) -> str:
    from suffice.report.html import explanation_body
    from suffice.report.page_data import page_scripts

    return explanation_body(summary, page_scripts(result, summary), within)


def sheet(result: Explanation | View) -> Sheet:
    """Return the summary as a sheet of tables."""
    s = summarise(result)
    return Sheet(
        title=s.question,
        lead=tuple(filter(None, (s.answer, s.prediction_text, s.subject))),
        panels=tuple(panel for view in s.views for panel in _panels(view, s.hints.factors)),
        notes=(
            f"{s.status}: {s.completeness}",
            *filter(None, (s.suggestions, s.left_out)),
            s.provenance,
            *s.notes,
        ),
    )


def _panels(view: ViewSummary, more: str) -> Iterator[Panel]:
    if view.digest is not None:
        rows = [
            *view.digest.common,
            *((label, f.conditions_text) for label, f in view.digest.examples),
        ]
        heading = f"{view.title}: {view.digest.lead}"
        yield Panel((Column(""), Column("")), tuple(rows), heading)
    columns = Column("share", "share"), Column("set"), Column("cost", "number"), Column("note")
    cells = tuple(
        (f.sufficiency, f.conditions_text, f.cost, "; ".join(f.notes)) for f in view.factors
    )
    rest = OmittedRows(view.n_hidden, more.format(view=view.name))
    heading = view.title if view.digest is None else view.digest.heading
    yield Panel(columns, cells, heading, rest)


# Plain text: one screen for `print`, more for `full()`.


_WIDTH = 92


@dataclass(frozen=True)
class TextLimits:
    """Limits of a text: sets of each view, and characters of values, a set and a text."""

    sets: int
    values: int
    conditions: int
    source_text: int
    width: int = _WIDTH


SCREEN = TextLimits(sets=3, values=170, conditions=170, source_text=600)
FULL = TextLimits(sets=LISTED_SETS, values=100_000, conditions=100_000, source_text=100_000)


def _screen_width() -> int:
    """Return the width of the terminal that is printed to; 92 without one, and at most."""
    if not sys.stdout.isatty():
        return _WIDTH
    return max(40, min(_WIDTH, get_terminal_size((_WIDTH, 24)).columns - 1))


def render_text(s: Summary, limits: TextLimits = SCREEN) -> str:
    """Return a summary as plain text within limits."""
    lines = _TextLines(limits)
    values, cut = cut_values(s, limits.values)
    if s.source_text:
        values = bracketed(_cut_text(s.text_pieces, limits.source_text))
    lines.add(f"{s.question} {s.prediction_text}".rstrip())
    lines.add(s.answer, "  ")
    lines.blank()
    lines.add(s.subject, "  ")
    lines.add(values, "  ")
    lines.blank()
    for view in s.views:
        cut = _add_view(lines, view, s) or cut
        lines.blank()
    lines.add(f"{s.status}: {s.completeness}")
    if s.suggested_calls:
        lines.add("For more:")
    for call, gives in s.suggested_calls:
        lines.add(f"{call}: {gives}", "  ", "    ")
    for note in filter(None, (s.left_out, *s.notes, s.provenance)):
        lines.add(note)
    if cut and limits is not FULL:
        lines.add(f"More of it: {s.hints.full}")
    return "\n".join(lines.lines)


def _cut_text(pieces: Pieces, room: int) -> list[tuple[str, bool]]:
    """Return a text near its marks; of very many marks only the first ones."""
    shown = excerpt(pieces, room)
    ends = accumulate(len(text) for text, _ in shown)
    fits = sum(end <= 2 * room for end in ends)
    return shown if fits == len(shown) else [*shown[: max(fits, 1)], (" …", False)]


class _TextLines:
    """Lines of a text, wrapped to its width."""

    def __init__(self, limits: TextLimits) -> None:
        self.limits = limits
        self.lines: list[str] = []

    def add(self, text: str, first: str = "", rest: str | None = None) -> None:
        """Add a paragraph with the indent of its first line and that of the others."""
        if text:
            rest = first if rest is None else rest
            self.lines.append(
                fill(text, self.limits.width, initial_indent=first, subsequent_indent=rest)
            )

    def blank(self) -> None:
        """Add an empty line."""
        self.lines.append("")


def cut_values(s: Summary, room: int) -> tuple[str, bool]:
    """Return as many of the input's values as fit into the room, and whether some do not."""
    parts = [f"{name} {value}" for name, value in s.values]
    shown = _n_fitting(parts, room)
    more = len(parts) - shown
    rest = f" … and {more:,} more: {s.hints.values}" if more else ""
    return ", ".join(parts[:shown]) + rest, more > 0


def _n_fitting(parts: Sequence[str], room: int) -> int:
    """Return how many parts, joined by commas, fit into the room; at least one."""
    ends = accumulate(len(part) + 2 for part in parts)
    return max(1, sum(end <= room for end in ends)) if parts else 0


def _add_view(lines: _TextLines, view: ViewSummary, s: Summary) -> bool:
    """Add the lines of a view; return whether some of its factors or conditions are cut."""
    limits, cut = lines.limits, view.n_hidden > 0
    lines.add(view.title)
    for text in (view.cheapest_change, view.lead):
        lines.add(text, "  ")
    if view.digest is not None:
        rows = list(view.digest.common)
        rows += [
            (label, f"{_factor_text(f, limits)} ({percent(f.sufficiency)})")
            for label, f in view.digest.examples
        ]
        width = max(len(label) for label, _ in rows) + 4
        lines.add(view.digest.lead, "  ")
        for label, words in rows:
            lines.add(f"{label:>{width}}  {words}", "", " " * (width + 2))
        lines.add(f"{view.digest.heading}:", "  ")
    for factor in view.factors[: limits.sets]:
        words = _factor_text(factor, limits)
        cut = cut or (not factor.pieces and words != factor.conditions_text)
        words += cost_note(factor) if view.digest else ""
        lines.add(f"{percent(factor.sufficiency):>6}  {words}", "", " " * 8)
        for note in factor.remarks if view.digest else factor.notes:
            lines.add(note, " " * 8, " " * 10)
    if view.n_hidden:
        hint = s.hints.factors.format(view=view.name)
        lines.lines.append(f"     …  and {view.n_hidden:,} more: {hint}")
    for text in (view.none_reached, view.minimality, view.necessity_text):
        lines.add(text, "  ")
    return cut


def cost_note(factor: FactorLine) -> str:
    """Return the cost of a factor's change, for lists without room for the change."""
    return "" if factor.cost is None or factor.pieces else f" (cost {format_cost(factor.cost)})"


def _factor_text(factor: FactorLine, limits: TextLimits) -> str:
    """Return the conditions of a factor, as many as fit; words of a text in quotation marks.

    The text itself stands above, once, with the words of all listed sets marked.
    """
    words = [f"“{c}”" for c in factor.conditions] if factor.pieces else [*factor.conditions]
    shown = _n_fitting(words, limits.conditions)
    return join_first(words, shown) if words else factor.conditions_text


# Terminal output by rich: the same words with colours and bars.


_COLOURS = {"keep": "cyan", "flip": "magenta"}
_BAR_WIDTH = 12


def render_terminal(s: Summary) -> Group:
    """Return a group that any rich console prints."""
    shown = _n_fitting([f"{name} {value}" for name, value in s.values], SCREEN.values)
    values = Text(", ").join(
        Text.assemble((f"{name} ", "dim"), (value, "bold")) for name, value in s.values[:shown]
    )
    if more := len(s.values) - shown:
        values.append(f" … and {more:,} more: {s.hints.values}", "dim")
    if s.source_text:
        values = _marked_text(s.text_pieces, SCREEN.source_text, "bold")
    mark = ("✓ ", "bold green") if s.complete else ("! ", "bold yellow")
    return Group(
        Text.assemble((s.question, "bold"), f" {s.prediction_text}".rstrip()),
        Text(s.answer),
        Text(""),
        Text(s.subject, style="dim"),
        values,
        *(part for view in s.views for part in _view_parts(view, s.hints.factors)),
        Rule(style="dim"),
        Text.assemble(mark, f"{s.status}: {s.completeness}"),
        *([Text("For more:")] if s.suggested_calls else []),
        *(
            Padding(Text.assemble((call, "bold"), f": {gives}"), (0, 0, 0, 2))
            for call, gives in s.suggested_calls
        ),
        *(Text(note, style="dim") for note in (s.left_out, *s.notes) if note),
        Text(s.provenance, style="dim"),
    )


def _view_parts(view: ViewSummary, more: str) -> list[Any]:
    colour = _COLOURS[view.name]
    parts: list[Any] = [
        Text(""),
        Rule(Text(view.title, style=f"bold {colour}"), style=colour, align="left"),
    ]
    if view.cheapest_change:
        parts.append(Padding(Text(view.cheapest_change), (0, 0, 0, 2)))
    if view.factors:
        parts.append(Padding(Text(view.lead, style="dim"), (0, 0, 0, 2)))
        parts += _digest_parts(view.digest, colour) if view.digest else []
        table = Table.grid(padding=(0, 1))
        table.add_column(justify="right", min_width=6)
        table.add_column(min_width=_BAR_WIDTH)
        table.add_column(overflow="fold")
        for factor in view.factors:
            what = _factor_markup(factor, colour)
            what.append(cost_note(factor) if view.digest else "", "dim")
            for note in factor.remarks if view.digest else factor.notes:
                what.append(f"\n{note}", "dim")
            table.add_row(
                Text(percent(factor.sufficiency), style=f"bold {colour}"),
                Text(_bar(factor.sufficiency), style=colour),
                what,
            )
        parts.append(table)
    if view.n_hidden:
        rest = f"… and {view.n_hidden:,} more: {more.format(view=view.name)}"
        parts.append(Padding(Text(rest, style="dim"), (0, 0, 0, 2)))
    parts += [
        Padding(Text(text), (0, 0, 0, 2))
        for text in (view.none_reached, view.minimality, view.necessity_text)
        if text
    ]
    return parts


def _digest_parts(digest: DigestSummary, colour: str) -> list[Any]:
    """Return the digest of many sets."""
    table = Table.grid(padding=(0, 2))
    table.add_column(justify="right", style="dim")
    table.add_column(overflow="fold")
    for label, words in digest.common:
        table.add_row(label, Text(words))
    for label, factor in digest.examples:
        what = _factor_markup(factor, colour)
        table.add_row(label, what.append(f" ({percent(factor.sufficiency)})", f"bold {colour}"))
    return [
        Padding(Text(digest.lead), (0, 0, 0, 2)),
        Padding(table, (0, 0, 0, 4)),
        Padding(Text(f"{digest.heading}:", style="dim"), (0, 0, 0, 2)),
    ]


def _factor_markup(factor: FactorLine, colour: str) -> Text:
    """Return the conditions of a factor, cut to about two lines."""
    return Text(_factor_text(factor, SCREEN), style=f"bold {colour}" if factor.pieces else "")


def _marked_text(pieces: Pieces, room: int, style: str) -> Text:
    """Return a text with marked words; in brackets too, which paper and pipes keep."""
    shown = _cut_text(pieces, room)
    parts = [(f"[{text}]", style) if marked else (text, "dim") for text, marked in shown]
    return Text.assemble(*parts)


def _bar(share: float) -> str:
    """Return a bar in eighths of a character."""
    eighths = round(share * _BAR_WIDTH * 8)
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()
