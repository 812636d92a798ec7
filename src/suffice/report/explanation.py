"""The faces of an explanation and of one view: plain text, a terminal screen, HTML, a sheet."""

from __future__ import annotations

from typing import Any

from suffice.explanation import Explanation, View
from suffice.results import Column, Panel, Sheet
from suffice.summary import ViewSummary, summarise

__all__ = ["fragment", "page", "sheet", "terminal", "text"]


def text(result: Explanation | View) -> str:
    """Plain text, for `print` and for files."""
    from suffice.report.text import render

    return render(summarise(result))


def terminal(result: Explanation | View) -> Any:
    """A group that any rich console prints."""
    from suffice.report.terminal import render

    return render(summarise(result))


def page(result: Explanation | View) -> str:
    """A whole HTML document."""
    from suffice.report.html import render

    return render("page.html.j2", summarise(result))


def fragment(result: Explanation | View) -> str:
    """A piece of HTML that brings its own style, for a notebook."""
    from suffice.report.html import render

    return render("fragment.html.j2", summarise(result))


def sheet(result: Explanation | View) -> Sheet:
    """The same words in plain tables."""
    s = summarise(result)
    return Sheet(
        title=s.question,
        lead=tuple(filter(None, (s.answer, s.predicted, s.subject))),
        panels=tuple(map(_panel, s.views)),
        notes=(f"{s.status}: {s.completeness}", s.provenance, *s.notes),
    )


def _panel(view: ViewSummary) -> Panel:
    columns = Column("share", "share"), Column("set"), Column("cost", "number"), Column("note")
    rows = tuple((f.sufficiency, f.text, f.cost, "; ".join(f.notes)) for f in view.factors)
    return Panel(columns, rows, view.title)
