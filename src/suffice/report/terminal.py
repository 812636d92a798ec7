"""A terminal screen, by rich: the same words with colour and bars."""

from __future__ import annotations

from typing import Any

from rich.console import Group
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from suffice.report.excerpt import excerpt
from suffice.report.text import FACTOR_SHOWN, TEXT_SHOWN, VALUES_SHOWN, cost_of, left_out
from suffice.summary import DigestSummary, FactorLine, Summary, ViewSummary
from suffice.wording import percent

__all__ = ["render"]

_COLOURS = {"keep": "cyan", "flip": "magenta"}
_BAR = 12


def render(s: Summary) -> Group:
    """A group that any rich console prints."""
    values = Text(", ").join(
        Text.assemble((f"{name} ", "dim"), (value, "bold"))
        for name, value in s.values[:VALUES_SHOWN]
    )
    values.append(left_out(s), "dim")
    if s.text:
        values = Text(excerpt([(s.text, False)], TEXT_SHOWN)[0][0])
    mark = ("✓ ", "bold green") if s.complete else ("! ", "bold yellow")
    return Group(
        Text.assemble((s.question, "bold"), f" {s.predicted}".rstrip()),
        Text(s.answer),
        Text(""),
        Text(s.subject, style="dim"),
        values,
        *(part for view in s.views for part in _view(view, s.ways.factors)),
        Rule(style="dim"),
        Text.assemble(mark, f"{s.status}: {s.completeness}"),
        *([Text("For more:")] if s.more else []),
        *(
            Padding(Text.assemble((call, "bold"), f": {gives}"), (0, 0, 0, 2))
            for call, gives in s.more
        ),
        *(Text(note, style="dim") for note in (s.left_out, *s.notes) if note),
        Text(s.provenance, style="dim"),
    )


def _view(view: ViewSummary, more: str) -> list[Any]:
    colour = _COLOURS[view.name]
    parts: list[Any] = [
        Text(""),
        Rule(Text(view.title, style=f"bold {colour}"), style=colour, align="left"),
    ]
    if view.cheapest:
        parts.append(Padding(Text(view.cheapest), (0, 0, 0, 2)))
    if view.factors:
        parts.append(Padding(Text(view.lead, style="dim"), (0, 0, 0, 2)))
        parts += _digest(view.digest, colour) if view.digest else []
        table = Table.grid(padding=(0, 1))
        table.add_column(justify="right", min_width=6)
        table.add_column(min_width=_BAR)
        table.add_column(overflow="fold")
        for factor in view.factors:
            what = _what(factor, colour)
            what.append(cost_of(factor) if view.digest else "", "dim")
            for note in factor.remarks if view.digest else factor.notes:
                what.append(f"\n{note}", "dim")
            table.add_row(
                Text(percent(factor.sufficiency), style=f"bold {colour}"),
                Text(_bar(factor.sufficiency), style=colour),
                what,
            )
        parts.append(table)
    if view.more:
        rest = f"… and {view.more:,} more: {more.format(view=view.name)}"
        parts.append(Padding(Text(rest, style="dim"), (0, 0, 0, 2)))
    parts += [
        Padding(Text(text), (0, 0, 0, 2))
        for text in (view.none_reached, view.minimality, view.necessity_text)
        if text
    ]
    return parts


def _digest(digest: DigestSummary, colour: str) -> list[Any]:
    """What many sets have in common, before the first of them."""
    table = Table.grid(padding=(0, 2))
    table.add_column(justify="right", style="dim")
    table.add_column(overflow="fold")
    for label, words in digest.common:
        table.add_row(label, Text(words))
    for label, factor in digest.picked:
        what = _what(factor, colour)
        table.add_row(label, what.append(f" ({percent(factor.sufficiency)})", f"bold {colour}"))
    return [
        Padding(Text(digest.lead), (0, 0, 0, 2)),
        Padding(table, (0, 0, 0, 4)),
        Padding(Text(f"{digest.heading}:", style="dim"), (0, 0, 0, 2)),
    ]


def _what(factor: FactorLine, colour: str) -> Text:
    """What it names: marked in its place where that is a text."""
    if not factor.pieces:
        return Text(factor.text)
    shown = excerpt(factor.pieces, FACTOR_SHOWN)
    # Brackets too: they are still there on paper and in a pipe.
    parts = [(f"[{text}]", f"bold {colour}") if marked else (text, "dim") for text, marked in shown]
    return Text.assemble(*parts)


def _bar(share: float) -> str:
    """A bar in eighths of a character."""
    eighths = round(share * _BAR * 8)
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()
