"""Rows of words with a span of shares beside each: from here to there, against one line.

A span with a value in it is an estimate with its interval; one without is a bar.
"""

from __future__ import annotations

from dataclasses import dataclass

from suffice.audit.gaps import points
from suffice.plots.canvas import Canvas, Scale
from suffice.plots.lettering import Legend
from suffice.wording import percent

__all__ = ["Span", "Spans", "draw_spans"]

_EDGE = 0.18
_TOLD = 1.15


@dataclass(frozen=True)
class Span:
    """One row: what it is about, and from where to where."""

    words: str
    low: float
    high: float
    value: float | None
    told: str


@dataclass(frozen=True)
class Spans:
    """All rows, and the line they are held against."""

    title: str
    lead: tuple[str, ...]
    spans: tuple[Span, ...]
    line: float
    line_words: str
    more: str
    signed: bool = False
    """From minus to plus, in points; else from 0 to 1."""


def draw_spans(spans: Spans, canvas: Canvas, y: float) -> float:
    """Draw them from y downwards; how far down that came."""
    ink, legend = canvas.ink, Legend(canvas.fonts)
    room = canvas.width - 2 * _EDGE
    y = canvas.paragraph(_EDGE, y + _EDGE, spans.title, room, size=10 if y else 12, bold=True)
    for words in spans.lead:
        y = canvas.paragraph(_EDGE, y, words, room, size=9)
    if not spans.spans:
        return y + _EDGE
    labels = min(3.0, 0.42 * canvas.width)
    scale = _scale(spans, _EDGE + labels + 0.1, canvas.width - _EDGE - _TOLD)
    at = scale.at(spans.line)
    canvas.write(at, y + 0.12, spans.line_words, size=8, bold=True, ha="center")
    y += 0.24
    top = y
    for number, span in enumerate(spans.spans):
        told = legend.fitted(canvas.fonts.told(span.words), labels - 0.15, 8.5, 2)
        high = max(0.24, len(told) * canvas.leading(8.5) + 0.08)
        if number % 2 == 0:
            canvas.box(_EDGE, y, room, high, facecolor=ink.line, edgecolor="none", alpha=0.28,
                       zorder=0)  # fmt: skip
        middle = y + high / 2
        first = middle - (len(told) - 1) / 2 * canvas.leading(8.5)
        for place, words in enumerate(told):
            canvas.write(_EDGE + 0.05, first + place * canvas.leading(8.5), words, size=8.5)
        _draw(span, scale, canvas, middle)
        canvas.write(scale.right + 0.1, middle, span.told, size=8)
        y += high
    canvas.line([at, at], [top, y], color=ink.text, lw=1, ls=(0, (4, 2)), zorder=4)
    y = canvas.axis(scale, y, points if spans.signed else percent) + 0.04
    for words in filter(None, (spans.more, *legend.told)):
        y = canvas.paragraph(_EDGE, y, words, room, size=7.5, color=ink.soft)
    return y + _EDGE


def _scale(spans: Spans, left: float, right: float) -> Scale:
    if not spans.signed:
        return Scale(0.0, 1.0, left, right)
    widest = max(abs(end) for span in spans.spans for end in (span.low, span.high))
    reach = next((r for r in (0.05, 0.1, 0.2, 0.5) if widest <= r), 1.0)
    return Scale(-reach, reach, left, right)


def _draw(span: Span, scale: Scale, canvas: Canvas, middle: float) -> None:
    ink, low, high = canvas.ink, scale.at(span.low), scale.at(span.high)
    if span.value is None:
        canvas.box(low, middle - 0.065, max(high - low, 0.012), 0.13, facecolor=ink.keep,
                   edgecolor=ink.keep, lw=1.0, zorder=2)  # fmt: skip
        return
    canvas.line([low, high], [middle] * 2, color=ink.keep, lw=1.2, zorder=3)
    for end in (low, high):
        canvas.line([end, end], [middle - 0.05, middle + 0.05], color=ink.keep, lw=1.2)
    canvas.line([scale.at(span.value)], [middle], color=ink.keep, ls="", marker="o", ms=5.5,
                zorder=4)  # fmt: skip
