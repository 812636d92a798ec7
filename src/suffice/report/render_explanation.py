"""Explanations and views as plain text, terminal output, notebook cells, pages and sheets."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from shutil import get_terminal_size
from textwrap import fill
from typing import Any

from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from suffice.explanation import Explanation, View, as_views
from suffice.explanation.schema import ImageSubject
from suffice.formatting import bracketed, excerpt, format_cost, join_first, join_within, percent
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
    """Return what any rich console prints on one screen."""
    return TerminalScreen(summarise(result, most=SCREEN.sets))


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
    image = isinstance(as_views(result)[0].explanation.subject, ImageSubject)
    return summarise(
        result,
        # Each factor of an image embeds a picture of some kilobytes.
        most=_FACTORS_WITH_IMAGES if image else _FACTORS_ON_PAGE,
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
            *(
                (label, join_first(names) or view.digest.nothing)
                for label, names in view.digest.common
            ),
            *((label, f.conditions_text) for label, f in view.digest.examples),
        ]
        heading = f"{view.title}: {view.digest.lead}"
        yield Panel((Column(""), Column("")), tuple(rows), heading)
    columns = Column("share", "share"), Column("set"), Column("cost", "number"), Column("note")
    crosses = "the 95% interval reaches below τ"
    cells = tuple(
        (f.sufficiency, f.conditions_text, f.cost, "; ".join((crosses,) * f.crosses_tau + f.notes))
        for f in view.factors
    )
    rest = OmittedRows(view.n_hidden, more.format(view=view.name))
    heading = view.title if view.digest is None else view.digest.heading
    yield Panel(columns, cells, heading, rest)


# Plain text: one screen for `print`, more for `full()`.


_WIDTH = 92


@dataclass(frozen=True)
class TextLimits:
    """Limits of a text: sets of each view, lines of one of them, characters of a text."""

    sets: int
    lines: int | None
    """Most lines of a set, of a row of the digest and of the input's values; None: all."""
    source_text: int
    width: int = _WIDTH

    @property
    def brief(self) -> bool:
        """True if the text has to fit one screen."""
        return self.lines is not None

    def fit(self, words: Sequence[str], beside: int, most: int | None = None) -> str:
        """Join words in the room that is left beside so many characters; count those cut."""
        lines = self.lines if most is None else most
        if self.lines is None or lines is None:
            return ", ".join(words)
        # Lines are broken between words, so that all but the last lose some room.
        return join_within(words, lines * (self.width - beside) - 10 * (lines - 1))


SCREEN = TextLimits(sets=3, lines=2, source_text=600)
FULL = TextLimits(sets=LISTED_SETS, lines=None, source_text=100_000)


def _screen_width() -> int:
    """Return the width of the terminal that is printed to; 92 without one, and at most."""
    if not sys.stdout.isatty():
        return _WIDTH
    # One column less: some terminals wrap a line that is exactly as wide as they are.
    return max(40, min(_WIDTH, get_terminal_size((_WIDTH, 24)).columns - 1))


def render_text(s: Summary, limits: TextLimits = SCREEN) -> str:
    """Return a summary as plain text within limits."""
    lines = _TextLines(limits)
    values = values_text(s, limits)
    if s.source_text:
        values = bracketed(_cut_text(s.text_pieces, limits.source_text))
    lines.add(f"{s.question} {s.prediction_text}".rstrip())
    lines.add(s.answer, "  ")
    lines.blank()
    lines.add(s.subject, "  ")
    lines.add(values, "  ")
    lines.blank()
    for view in s.views:
        _add_view(lines, view, s)
        lines.blank()
    lines.add(_crossing_note(s))
    lines.add(f"{s.status}: {s.completeness}")
    if s.suggested_calls:
        lines.add("For more:")
    for call, gives in s.suggested_calls:
        lines.add(f"{call}: {gives}", "  ", "    ")
    for note in filter(None, (s.left_out, *s.notes, s.provenance)):
        lines.add(note)
    if limits.brief and _is_cut(s, limits):
        lines.add(f"More of it: {s.hints.full}")
    return "\n".join(lines.lines)


def _crossing_note(s: Summary) -> str:
    """Return once for both views what a star beside a share means."""
    return next((view.crossing_note for view in s.views if view.crossing_note), "")


def _is_cut(s: Summary, limits: TextLimits) -> bool:
    """Return whether the full text has more than the one within these limits."""
    if not s.source_text and values_text(s, limits) != values_text(s, FULL):
        return True
    return any(
        view.n_hidden > 0
        or view.digest is not None
        or any(
            not f.pieces and factor_text(f, limits, 8) != f.conditions_text for f in view.factors
        )
        for view in s.views
    )


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


def values_text(s: Summary, limits: TextLimits) -> str:
    """Return as many of the input's values as fit, and where the others are."""
    parts = [f"{name} {value}" for name, value in s.values]
    hint = f": {s.hints.values}"
    text = limits.fit(parts, 2 + len(hint) // 2)
    return text if text == ", ".join(parts) else f"{text}{hint}"


def _add_view(lines: _TextLines, view: ViewSummary, s: Summary) -> None:
    """Add the lines of a view; on one screen, of many sets only what they have in common."""
    limits, digest = lines.limits, view.digest
    short = digest if limits.brief else None
    lines.add(view.title)
    # On one screen the answer has named the change.
    for text in ("" if short else view.cheapest_change, view.lead):
        lines.add(text, "  ")
    shown = len(view.factors) if short is None else len(short.examples)
    if digest is not None:
        lines.add(digest.lead, "  ")
        width = 4 + max(len(label) for label, _ in (*digest.common, *digest.examples))
        for label, names in shown_common(digest, limits):
            words = limits.fit(names, width + 2, 1) or digest.nothing
            lines.add(f"{label:>{width}}  {words}", "", " " * (width + 2))
        for label, factor in digest.examples:
            words = factor_text(factor, limits, width + 9, 1)
            lines.add(f"{label:>{width}}  {words} ({factor.share})", "", " " * (width + 2))
    if short is None:
        if digest is not None:
            lines.add(f"{digest.heading}:", "  ")
        for factor in view.factors:
            words = factor_text(factor, limits, 8) + (cost_note(factor) if digest else "")
            # The star stands beside the column of shares, so that these stay aligned.
            star = "*" if factor.crosses_tau else " "
            lines.add(f"{percent(factor.sufficiency):>6}{star} {words}", "", " " * 8)
            for note in factor.remarks if digest else factor.notes:
                lines.add(note, " " * 8, " " * 10)
    if view.n_factors > shown:
        hint = s.hints.factors.format(view=view.name)
        lines.lines.append(f"     …  and {view.n_factors - shown:,} more: {hint}")
    minimality = "" if short else view.minimality
    for text in (view.none_reached, minimality, view.necessity_text):
        lines.add(text, "  ")


def shown_common(
    digest: DigestSummary, limits: TextLimits
) -> Sequence[tuple[str, tuple[str, ...]]]:
    """Return the rows of a digest; on one screen, only what is in all or most of the sets."""
    if not limits.brief:
        return digest.common
    return [row for row in digest.common if row[0] != "in none" and row[1]] or digest.common[:1]


def cost_note(factor: FactorLine) -> str:
    """Return the cost of a factor's change, for lists without room for the change."""
    return "" if factor.cost is None or factor.pieces else f" (cost {format_cost(factor.cost)})"


def factor_text(
    factor: FactorLine, limits: TextLimits, beside: int, most: int | None = None
) -> str:
    """Return the conditions of a factor, as many as fit; words of a text in quotation marks.

    The text itself stands above, once, with the words of all listed sets marked.
    """
    words = [f"“{c}”" for c in factor.conditions] if factor.pieces else [*factor.conditions]
    return limits.fit(words, beside, most) if words else factor.conditions_text


# Terminal output by rich: the same words with colours and bars.


_COLOURS = {"keep": "cyan", "flip": "magenta"}
_BAR_WIDTH = 12


@dataclass(frozen=True)
class TerminalScreen:
    """A summary that any rich console prints, within the console's width."""

    summary: Summary
    limits: TextLimits = SCREEN

    def __rich_console__(self, _: Any, options: Any) -> Iterator[Any]:
        yield from _terminal_parts(self.summary, replace(self.limits, width=options.max_width))


def _terminal_parts(s: Summary, limits: TextLimits) -> Iterator[Any]:
    mark = ("✓ ", "bold green") if s.complete else ("! ", "bold yellow")
    yield Text.assemble((s.question, "bold"), f" {s.prediction_text}".rstrip())
    yield Text(s.answer)
    yield Text("")
    yield Text(s.subject, style="dim")
    if s.source_text:
        yield _marked_text(s.text_pieces, limits.source_text, "bold")
    else:
        yield _values_markup(s, limits)
    for view in s.views:
        yield from _view_parts(view, s.hints.factors, limits)
    yield Rule(style="dim")
    if note := _crossing_note(s):
        yield Text(note, style="dim")
    yield Text.assemble(mark, f"{s.status}: {s.completeness}")
    if s.suggested_calls:
        yield Text("For more:")
    for call, gives in s.suggested_calls:
        yield Padding(Text.assemble((call, "bold"), f": {gives}"), (0, 0, 0, 2))
    for note in filter(None, (s.left_out, *s.notes, s.provenance)):
        yield Text(note, style="dim")


def _values_markup(s: Summary, limits: TextLimits) -> Text:
    """Return the input's values, as many as fit, with their names dimmed."""
    if values_text(s, limits) != values_text(s, FULL):
        return Text(values_text(s, limits))
    return Text(", ").join(
        Text.assemble((f"{name} ", "dim"), (value, "bold")) for name, value in s.values
    )


def _view_parts(view: ViewSummary, more: str, limits: TextLimits) -> list[Any]:
    colour, digest = _COLOURS[view.name], view.digest
    short = digest if limits.brief else None
    parts: list[Any] = [
        Text(""),
        Rule(Text(view.title, style=f"bold {colour}"), style=colour, align="left"),
    ]
    if view.cheapest_change and not short:
        parts.append(Padding(Text(view.cheapest_change), (0, 0, 0, 2)))
    if view.factors:
        parts.append(Padding(Text(view.lead, style="dim"), (0, 0, 0, 2)))
        parts += _digest_parts(digest, colour, limits) if digest else []
    if view.factors and not short:
        if digest:
            parts.append(Padding(Text(f"{digest.heading}:", style="dim"), (0, 0, 0, 2)))
        table = Table.grid(padding=(0, 1))
        table.add_column(justify="right", min_width=7)
        table.add_column(min_width=_BAR_WIDTH)
        table.add_column(overflow="fold")
        for factor in view.factors:
            what = _factor_markup(factor, colour, limits, 9 + _BAR_WIDTH)
            what.append(cost_note(factor) if digest else "", "dim")
            for note in factor.remarks if digest else factor.notes:
                what.append(f"\n{note}", "dim")
            table.add_row(
                Text(factor.share + " " * (not factor.crosses_tau), style=f"bold {colour}"),
                Text(_bar(factor.sufficiency), style=colour),
                what,
            )
        parts.append(table)
    shown = len(view.factors) if short is None else len(short.examples)
    if view.n_factors > shown:
        rest = f"… and {view.n_factors - shown:,} more: {more.format(view=view.name)}"
        parts.append(Padding(Text(rest, style="dim"), (0, 0, 0, 2)))
    minimality = "" if short else view.minimality
    parts += [
        Padding(Text(text), (0, 0, 0, 2))
        for text in (view.none_reached, minimality, view.necessity_text)
        if text
    ]
    return parts


def _digest_parts(digest: DigestSummary, colour: str, limits: TextLimits) -> list[Any]:
    """Return the digest of many sets."""
    width = max(len(label) for label, _ in (*digest.common, *digest.examples))
    table = Table.grid(padding=(0, 2))
    table.add_column(justify="right", style="dim")
    table.add_column(overflow="fold")
    for label, names in shown_common(digest, limits):
        table.add_row(label, Text(limits.fit(names, width + 6, 1) or digest.nothing))
    for label, factor in digest.examples:
        what = _factor_markup(factor, colour, limits, width + 13, 1)
        table.add_row(label, what.append(f" ({factor.share})", f"bold {colour}"))
    return [Padding(Text(digest.lead), (0, 0, 0, 2)), Padding(table, (0, 0, 0, 4))]


def _factor_markup(
    factor: FactorLine, colour: str, limits: TextLimits, beside: int, most: int | None = None
) -> Text:
    """Return the conditions of a factor, as many as fit."""
    style = f"bold {colour}" if factor.pieces else ""
    return Text(factor_text(factor, limits, beside, most), style=style)


def _marked_text(pieces: Pieces, room: int, style: str) -> Text:
    """Return a text with marked words; in brackets too, which paper and pipes keep."""
    shown = _cut_text(pieces, room)
    parts = [(f"[{text}]", style) if marked else (text, "dim") for text, marked in shown]
    return Text.assemble(*parts)


def _bar(share: float) -> str:
    """Return a bar in eighths of a character."""
    eighths = round(share * _BAR_WIDTH * 8)
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()
