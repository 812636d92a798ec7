"""Plain text, for `print` and for files."""

from __future__ import annotations

from textwrap import fill

from suffice.report.excerpt import bracketed, excerpt
from suffice.summary import FactorLine, Summary, ViewSummary
from suffice.wording import percent

__all__ = ["FACTOR_SHOWN", "TEXT_SHOWN", "VALUES_SHOWN", "left_out", "render"]

_SHOWN = 10
_WIDTH = 92
TEXT_SHOWN = 600
FACTOR_SHOWN = 180
VALUES_SHOWN = 40


def render(s: Summary) -> str:
    """The whole answer as a newcomer would want it read out."""
    values = ", ".join(f"{name} {value}" for name, value in s.values[:VALUES_SHOWN]) + left_out(s)
    if s.text:
        values = bracketed(excerpt([(s.text, False)], TEXT_SHOWN))
    return "\n".join(
        [
            f"{s.question} {s.predicted}".rstrip(),
            _wrap(s.answer, "  "),
            "",
            _wrap(s.subject, "  "),
            _wrap(values, "  "),
            "",
            *(line for view in s.views for line in (*_view(view, s.ways.factors), "")),
            _wrap(f"{s.status}: {s.completeness}"),
            *map(_wrap, s.notes),
            _wrap(s.provenance),
        ]
    )


def left_out(s: Summary) -> str:
    """How many values are not shown, and where they are."""
    more = len(s.values) - VALUES_SHOWN
    return f" … and {more:,} more: {s.ways.values}" if more > 0 else ""


def _view(view: ViewSummary, more: str) -> list[str]:
    lines = [view.title]
    lines += [_wrap(text, "  ") for text in (view.cheapest, view.lead) if text]
    for factor in view.factors[:_SHOWN]:
        lines.append(_wrap(f"{percent(factor.sufficiency):>6}  {_what(factor)}", "", " " * 8))
        lines += [_wrap(note, " " * 8, " " * 10) for note in factor.notes]
    if len(view.factors) > _SHOWN:
        rest = f"{len(view.factors) - _SHOWN:,} more: {more.format(view=view.name)}"
        lines.append(f"     …  and {rest}")
    notes = [text for text in (view.none_reached, view.necessity_text) if text]
    return lines + [_wrap(text, "  ") for text in notes]


def _wrap(text: str, first: str = "", rest: str | None = None) -> str:
    rest = first if rest is None else rest
    return fill(text, _WIDTH, initial_indent=first, subsequent_indent=rest)


def _what(factor: FactorLine) -> str:
    """What it names: in its place where that is a text."""
    return bracketed(excerpt(factor.pieces, FACTOR_SHOWN)) or factor.text
