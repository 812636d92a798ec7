"""The faces of an explanation and of one view: plain text, a terminal screen, HTML, a sheet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from suffice.explanation import Explanation, View
from suffice.explanation.subject import ImageSubject
from suffice.results import Column, Panel, Rest, Sheet
from suffice.summary import Summary, ViewSummary, summarise

__all__ = ["fragment", "page", "piece", "sheet", "terminal", "text"]

_ON_A_PAGE = 300
"""So many factors of a view are written into a page, where they are folded away."""
_PICTURES = 24
"""Fewer where each brings a picture of its own."""


def text(result: Explanation | View) -> str:
    """Plain text, for `print` and for files."""
    from suffice.report.text import render

    return render(summarise(result))


def terminal(result: Explanation | View) -> Any:
    """A group that any rich console prints."""
    from suffice.report.terminal import render

    return render(summarise(result))


def page(result: Explanation | View) -> str:
    """A whole HTML document, which answers where scripts are let run."""
    return _page(result, _summary(result))


def fragment(result: Explanation | View) -> str:
    """For a notebook: the page in a frame; where frames are not let through, its static piece."""
    from suffice.report.html import body, cell, style_of

    summary = summarise(result)
    return cell(_page(result, summary), style_of([summary], "cell.css"), body(summary))


def _page(result: Explanation | View, summary: Summary) -> str:
    from suffice.report.html import bundle, document, style_of

    style = style_of([summary], "page.css", "live.css")
    return document(summary.question, style, _piece(result, summary), bundle())


def piece(result: Explanation | View) -> str:
    """The explanation alone, for a page that brings style and script itself.

    The script draws pictures and lists anew, so that they need not be written out.
    """
    return _piece(result, summarise(result, most=1), within=True)


def _summary(result: Explanation | View) -> Summary:
    e = result if isinstance(result, Explanation) else result.explanation
    return summarise(result, most=_PICTURES if isinstance(e.subject, ImageSubject) else _ON_A_PAGE)


def _piece(result: Explanation | View, summary: Summary, within: bool = False) -> str:
    from suffice.report.html import body
    from suffice.report.live import live_of

    return body(summary, live_of(result, summary), within)


def sheet(result: Explanation | View) -> Sheet:
    """The same words in plain tables."""
    s = summarise(result)
    return Sheet(
        title=s.question,
        lead=tuple(filter(None, (s.answer, s.predicted, s.subject))),
        panels=tuple(panel for view in s.views for panel in _panels(view, s.ways.factors)),
        notes=(
            f"{s.status}: {s.completeness}",
            *filter(None, (s.more_told, s.left_out)),
            s.provenance,
            *s.notes,
        ),
    )


def _panels(view: ViewSummary, more: str) -> Iterator[Panel]:
    if view.digest is not None:
        rows = [*view.digest.common, *((label, f.text) for label, f in view.digest.picked)]
        heading = f"{view.title}: {view.digest.lead}"
        yield Panel((Column(""), Column("")), tuple(rows), heading)
    columns = Column("share", "share"), Column("set"), Column("cost", "number"), Column("note")
    cells = tuple((f.sufficiency, f.text, f.cost, "; ".join(f.notes)) for f in view.factors)
    rest = Rest(view.more, more.format(view=view.name))
    heading = view.title if view.digest is None else view.digest.heading
    yield Panel(columns, cells, heading, rest)
