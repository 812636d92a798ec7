"""HTML page and terminal summary of an audit record, with its figures.

A figure stands in it twice, for light and for dark; without matplotlib the tables do, whose shares
have bars.
"""

from __future__ import annotations

from base64 import b64encode
from io import BytesIO
from typing import Any, NamedTuple

from suffice.audit.record_result import Record, files_of
from suffice.formatting import printable
from suffice.progress import progress_bar
from suffice.report.html import document, render_template, stylesheet
from suffice.report.render_result import fragment, terminal, text
from suffice.results import Result

__all__ = ["fragment", "page", "terminal", "text"]  # `Record.faces` loads them by name

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


def page(
    record: Record, links: bool = False, figures: bool = True, progress: bool | None = False
) -> str:
    """Return an HTML document; `links` adds links to the files of the record's folder."""
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
    """What was found, for the terminal."""
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
    """The figures of a result: none where its tables say the same, or matplotlib is not there."""
    kinds = [kind for kind in type(result).plots if kind != "measures"]
    if not kinds:
        return []
    try:
        import matplotlib as mpl
    except ImportError:
        return []
    # The same bytes every time: names of parts by a fixed salt, and no date.
    with mpl.rc_context({"svg.hashsalt": "suffice", "svg.fonttype": "path"}):
        return [
            FigureImages(_figure_uri(result, kind, "#f6f8fb"), _figure_uri(result, kind, "#1a2029"))
            for kind in kinds
        ]


def _figure_uri(result: Result, kind: str, paper: str) -> str:
    from matplotlib import pyplot, rc_context

    # In a figure of its own, as large as the picture needs.
    with rc_context({"figure.facecolor": paper}):
        figure: Any = result.plot(kind).figure
    file = BytesIO()
    figure.savefig(file, format="svg", facecolor=paper, metadata={"Date": None})
    pyplot.close(figure)
    return f"data:image/svg+xml;base64,{b64encode(file.getvalue()).decode()}"
