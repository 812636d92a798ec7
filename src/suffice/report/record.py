"""The page of an audit record: what was asked, what was found, what it rests on.

A figure stands in it twice, for light and for dark; without matplotlib the tables do, whose shares
have bars.
"""

from __future__ import annotations

from base64 import b64encode
from io import BytesIO
from typing import Any, NamedTuple

from suffice.audit.record.chain import START
from suffice.audit.record.result import Finding, Record
from suffice.report.environment import rendered
from suffice.report.html import document, style_of
from suffice.report.sheet import cell, fragment, terminal, text
from suffice.results import Result
from suffice.wording import harmless

__all__ = ["fragment", "page", "summary", "terminal", "text"]

_BRIEF = 3
"""Sentences of a finding at the top."""
_OPEN = 2
"""Tables of a finding that are not folded away."""


class Picture(NamedTuple):
    """A figure as data URIs."""

    light: str
    dark: str


def page(record: Record, links: bool = False, figures: bool = True) -> str:
    """Return an HTML document; `links` adds links to the files of the record's folder."""
    first = record.chain[0].previous
    content = rendered(
        "record.html.j2",
        r=record,
        links=links,
        brief=_BRIEF,
        open=_OPEN,
        cell=cell,
        files=_files,
        pictures=_pictures if figures else lambda _: [],
        follows=None if first == START else first,
    )
    return document(record.title, style_of([], "page.css", "sheet.css", "record.css"), content)


def summary(record: Record) -> Any:
    """What was found, for the terminal."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    parts: list[Any] = [Text(harmless(record.title), style="bold")]
    parts += [_line(label, words) for label, words in record.about]
    for finding in record.findings:
        parts.append(Text(finding.heading, style="bold cyan"))
        said = finding.result.sheet.lead
        parts += [Padding(Text(harmless(sentence)), (0, 0, 0, 2)) for sentence in said[:_BRIEF]]
        more = len(said) - _BRIEF
        if more > 0:
            parts.append(Padding(Text(f"… and {more} more on the page", style="dim"), (0, 0, 0, 2)))
    return Group(*parts)


def _line(label: str, words: str) -> Any:
    from rich.padding import Padding
    from rich.text import Text

    return Padding(Text(f"{label}: {harmless(words)}"), (0, 0, 0, 2))


def _files(finding: Finding) -> list[str]:
    letters = ["tables/letters.csv"] if finding.name == "reasons" else []
    return [f"tables/{finding.name}.csv", *letters, f"results/{finding.name}.json"]


def _pictures(result: Result) -> list[Picture]:
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
            Picture(_drawn(result, kind, "#f6f8fb"), _drawn(result, kind, "#1a2029"))
            for kind in kinds
        ]


def _drawn(result: Result, kind: str, paper: str) -> str:
    from matplotlib import pyplot, rc_context

    # In a figure of its own, as large as the picture needs.
    with rc_context({"figure.facecolor": paper}):
        figure: Any = result.plot(kind).figure
    file = BytesIO()
    figure.savefig(file, format="svg", facecolor=paper, metadata={"Date": None})
    pyplot.close(figure)
    return f"data:image/svg+xml;base64,{b64encode(file.getvalue()).decode()}"
