"""Any result's sheet as plain text, on a terminal, in a notebook, and as a page."""

from __future__ import annotations

from textwrap import wrap
from typing import Any

from suffice.formatting import printable
from suffice.report.html import render_template
from suffice.results import Panel, Result

_WIDTH = 92


def text(result: Result) -> str:
    """Plain text, for `print` and for files."""
    s = result.sheet
    lines = [printable(s.title)]
    lines += _wrapped_lines(s.lead)
    for panel in s.panels:
        lines += [printable(panel.heading)] if panel.heading else []
        lines += _table_lines(panel)
        lines += [f"  … {panel.more}"] if panel.more else []
    return "\n".join(lines + _wrapped_lines(s.notes))


def terminal(result: Result) -> Any:
    """The same words by rich, with bars for shares."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    s = result.sheet
    parts: list[Any] = [Text(printable(s.title), style="bold")]
    parts += [Padding(Text(printable(sentence)), (0, 0, 0, 2)) for sentence in s.lead]
    for panel in s.panels:
        parts += [Text(printable(panel.heading), style="bold cyan")] if panel.heading else []
        table = Table(box=None, padding=(0, 1), header_style="dim")
        for column in panel.columns:
            right = column.kind != "text"
            table.add_column(
                printable(column.heading), justify="right" if right else "left", overflow="fold"
            )
        for row in panel.rows:
            table.add_row(
                *(Text(c.text_of(value)) for c, value in zip(panel.columns, row, strict=True))
            )
        parts.append(Padding(table, (0, 0, 0, 1)))
        parts += [Padding(Text(f"… {panel.more}", style="dim"), (0, 0, 0, 2))] if panel.more else []
    parts += [Padding(Text(printable(note), style="dim"), (0, 0, 0, 2)) for note in s.notes]
    return Group(*parts)


def page(result: Result) -> str:
    """A whole HTML document."""
    from suffice.report.html import document, stylesheet

    sheet = result.sheet
    content = render_template("sheet-body.html.j2", s=sheet)
    return document(sheet.title, stylesheet([], "page.css", "sheet.css"), content)


def fragment(result: Result) -> str:
    """A piece of HTML that brings its own style, for a notebook."""
    from suffice.report.html import stylesheet

    content = render_template("sheet-body.html.j2", s=result.sheet)
    return render_template(
        "sheet-fragment.html.j2", style=stylesheet([], "sheet.css"), content=content
    )


def _table_lines(panel: Panel) -> list[str]:
    """Columns side by side; the last one, if it is words, is wrapped into what is left."""
    cells = [[*row] for row in panel.texts]
    heads = [printable(column.heading) for column in panel.columns]
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


def _wrapped_lines(sentences: tuple[str, ...]) -> list[str]:
    return [
        line
        for sentence in sentences
        for line in wrap(printable(sentence), _WIDTH, initial_indent="  ", subsequent_indent="  ")
    ]
