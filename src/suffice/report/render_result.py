"""Results as text, terminal output, notebook cell, HTML page; page of an audit record, figures."""

from __future__ import annotations

from base64 import b64encode
from io import BytesIO
from textwrap import wrap
from typing import TYPE_CHECKING, Any, NamedTuple

from suffice.formatting import printable
from suffice.progress import progress_bar
from suffice.report.html import document, render_template, stylesheet
from suffice.results import Panel, Result

if TYPE_CHECKING:
    from suffice.audit.record_result import Record

_WIDTH = 92


def text(result: Result) -> str:
    """Return plain text, for `print` and for files."""
    s = result.sheet
    lines = [printable(s.title)]
    lines += _wrapped_lines(s.lead)
    for panel in s.panels:
        lines += [printable(panel.heading)] if panel.heading else []
        lines += _table_lines(panel)
        lines += [f"  … {panel.more}"] if panel.more else []
    return "\n".join(lines + _wrapped_lines(s.notes))


def terminal(result: Result) -> Any:
    """Return the sheet as what a rich console prints."""
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
    """Return an HTML document."""
    sheet = result.sheet
    content = render_template("sheet-body.html.j2", s=sheet)
    return document(sheet.title, stylesheet([], "page.css", "sheet.css"), content)


def fragment(result: Result) -> str:
    """Return HTML with its own style, for a notebook."""
    content = render_template("sheet-body.html.j2", s=result.sheet)
    return render_template(
        "sheet-fragment.html.j2", style=stylesheet([], "sheet.css"), content=content
    )


def _table_lines(panel: Panel) -> list[str]:
    """Return the lines of a table; the last column is wrapped into the room that is left."""
    cells = [[*row] for row in panel.texts]
    heads = [printable(column.heading) for column in panel.columns]
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    before = sum(widths[:-1]) + 2 * len(widths)
    # The last column may be prose: it takes what is left, but at least the width of a word.
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


# The page of an audit record. It has each figure twice, for light and for dark screens. Without
# matplotlib it has the tables only, whose shares have bars.


_SENTENCES_AT_TOP = 3
"""Sentences of a finding at the top."""
_TABLES_UNFOLDED = 2
"""Tables of a finding that are not folded away."""


FIGURES_PROGRESS = "figures"
"""Title of the progress bar over the findings whose figures are drawn."""


class FigureImages(NamedTuple):
    """A figure as data URIs."""

    light: str
    dark: str


def record_page(
    record: Record, links: bool = False, figures: bool = True, progress: bool | None = False
) -> str:
    """Return an HTML document; `links` adds links to the files of the record's folder."""
    # Imported here: printing any other result needs nothing of audits.
    from suffice.audit.record_result import files_of

    with progress_bar(FIGURES_PROGRESS, len(record.findings) * figures, progress) as bar:

        def pictures(result: Result) -> list[FigureImages]:
            drawn = _figures(result) if figures else []
            bar.update(figures)
            return drawn

        content = render_template(
            "record.html.j2",
            r=record,
            links=links,
            brief=_SENTENCES_AT_TOP,
            open=_TABLES_UNFOLDED,
            files=files_of,
            pictures=pictures,
        )
    return document(record.title, stylesheet([], "page.css", "sheet.css", "record.css"), content)


def terminal_summary(record: Record) -> Any:
    """Return title, description and first findings of a record for a rich console."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    parts: list[Any] = [Text(printable(record.title), style="bold")]
    parts += [_line(label, words) for label, words in record.about]
    for finding in record.findings:
        parts.append(Text(finding.heading, style="bold cyan"))
        said = finding.result.sheet.lead
        parts += [
            Padding(Text(printable(sentence)), (0, 0, 0, 2))
            for sentence in said[:_SENTENCES_AT_TOP]
        ]
        more = len(said) - _SENTENCES_AT_TOP
        if more > 0:
            parts.append(Padding(Text(f"… and {more} more on the page", style="dim"), (0, 0, 0, 2)))
    return Group(*parts)


def _line(label: str, words: str) -> Any:
    from rich.padding import Padding
    from rich.text import Text

    return Padding(Text(f"{label}: {printable(words)}"), (0, 0, 0, 2))


def _figures(result: Result) -> list[FigureImages]:
    """Return the figures of a result; none if it has no kind of its own, or without matplotlib."""
    kinds = [kind for kind in type(result).plots if kind != "measures"]
    if not kinds:
        return []
    try:
        import matplotlib as mpl
    except ImportError:
        return []
    # The same bytes every time, since they are sealed: ids from a fixed salt, and no date.
    with mpl.rc_context({"svg.hashsalt": "suffice", "svg.fonttype": "path"}):
        return [
            FigureImages(_figure_uri(result, kind, "#f6f8fb"), _figure_uri(result, kind, "#1a2029"))
            for kind in kinds
        ]


def _figure_uri(result: Result, kind: str, paper: str) -> str:
    from matplotlib import pyplot, rc_context

    # Without `ax` the figure is as large as its content needs.
    with rc_context({"figure.facecolor": paper}):
        figure: Any = result.plot(kind).figure
    file = BytesIO()
    figure.savefig(file, format="svg", facecolor=paper, metadata={"Date": None})
    pyplot.close(figure)
    return f"data:image/svg+xml;base64,{b64encode(file.getvalue()).decode()}"
