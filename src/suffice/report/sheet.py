"""Any result's sheet as plain text, on a terminal, in a notebook, and as a page."""

from __future__ import annotations

from textwrap import wrap
from typing import Any

from suffice.report.environment import rendered
from suffice.results import Column, Panel, Result
from suffice.typing import Scalar
from suffice.wording import harmless, percent, show

__all__ = ["fragment", "page", "terminal", "text"]

_WIDTH = 92


def text(result: Result) -> str:
    """Plain text, for `print` and for files."""
    s = result.sheet
    lines = [harmless(s.title)]
    lines += _wrapped(s.lead)
    for panel in s.panels:
        lines += [harmless(panel.heading)] if panel.heading else []
        lines += _table(panel)
        lines += [f"  … {panel.more}"] if panel.more else []
    return "\n".join(lines + _wrapped(s.notes))


def terminal(result: Result) -> Any:
    """The same words by rich, with bars for shares."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    s = result.sheet
    parts: list[Any] = [Text(harmless(s.title), style="bold")]
    parts += [Padding(Text(harmless(sentence)), (0, 0, 0, 2)) for sentence in s.lead]
    for panel in s.panels:
        parts += [Text(harmless(panel.heading), style="bold cyan")] if panel.heading else []
        table = Table(box=None, padding=(0, 1), header_style="dim")
        for column in panel.columns:
            right = column.kind != "text"
            table.add_column(
                harmless(column.heading), justify="right" if right else "left", overflow="fold"
            )
        for row in panel.rows:
            table.add_row(*(Text(cell(*c)) for c in zip(panel.columns, row, strict=True)))
        parts.append(Padding(table, (0, 0, 0, 1)))
        parts += [Padding(Text(f"… {panel.more}", style="dim"), (0, 0, 0, 2))] if panel.more else []
    parts += [Padding(Text(harmless(note), style="dim"), (0, 0, 0, 2)) for note in s.notes]
    return Group(*parts)


def page(result: Result) -> str:
    """A whole HTML document."""
    from suffice.report.html import document, style_of

    sheet = result.sheet
    content = rendered("sheet-body.html.j2", s=sheet, cell=cell)
    return document(sheet.title, style_of([], "page.css", "sheet.css"), content)


def fragment(result: Result) -> str:
    """A piece of HTML that brings its own style, for a notebook."""
    from suffice.report.html import style_of

    content = rendered("sheet-body.html.j2", s=result.sheet, cell=cell)
    return rendered("sheet-fragment.html.j2", style=style_of([], "sheet.css"), content=content)


def cell(column: Column, value: Scalar) -> str:
    """A fact as its column shows it."""
    if value is None:
        return "–"
    if column.kind == "share" and isinstance(value, int | float):
        return percent(float(value))
    if column.kind == "number" and isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 1e6 else f"{value:,.0f}"
    if column.kind == "number" and isinstance(value, int):
        return f"{value:,}"
    return show(value)


def _table(panel: Panel) -> list[str]:
    """Columns side by side; the last one, if it is words, is wrapped into what is left."""
    cells = [[cell(c, v) for c, v in zip(panel.columns, row, strict=True)] for row in panel.rows]
    heads = [harmless(column.heading) for column in panel.columns]
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    before = sum(widths[:-1]) + 2 * len(widths)
    widths[-1] = max(12, min(widths[-1], _WIDTH - before))
    lines = []
    for row in [heads, *cells] if any(heads) else cells:
        rest = wrap(row[-1], widths[-1]) or [""]
        padded = [
            text.ljust(width) if column.kind == "text" else text.rjust(width)
            for text, width, column in zip([*row[:-1], rest[0]], widths, panel.columns, strict=True)
        ]
        lines.append(("  " + "  ".join(padded)).rstrip())
        lines += [" " * before + more for more in rest[1:]]
    return lines


def _wrapped(sentences: tuple[str, ...]) -> list[str]:
    return [
        line
        for sentence in sentences
        for line in wrap(harmless(sentence), _WIDTH, initial_indent="  ", subsequent_indent="  ")
    ]
