"""Plain text, for `print` and for files."""

from __future__ import annotations

from textwrap import fill

from suffice.report.excerpt import bracketed, excerpt
from suffice.summary import DigestSummary, FactorLine, Summary, ViewSummary
from suffice.wording import percent, price

__all__ = ["FACTOR_SHOWN", "TEXT_SHOWN", "VALUES_SHOWN", "cost_of", "left_out", "render"]

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
            *(["For more:"] if s.more else []),
            *(_wrap(f"{call}: {gives}", "  ", "    ") for call, gives in s.more),
            *map(_wrap, filter(None, (s.left_out, *s.notes))),
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
    lines += _digest(view.digest) if view.digest else []
    for factor in view.factors:
        what = _what(factor) + (cost_of(factor) if view.digest else "")
        notes = factor.remarks if view.digest else factor.notes
        lines.append(_wrap(f"{percent(factor.sufficiency):>6}  {what}", "", " " * 8))
        lines += [_wrap(note, " " * 8, " " * 10) for note in notes]
    if view.more:
        lines.append(f"     …  and {view.more:,} more: {more.format(view=view.name)}")
    notes = (view.none_reached, view.minimality, view.necessity_text)
    return lines + [_wrap(text, "  ") for text in notes if text]


def _digest(digest: DigestSummary) -> list[str]:
    rows = list(digest.common)
    rows += [(label, f"{_what(f)} ({percent(f.sufficiency)})") for label, f in digest.picked]
    width = max(len(label) for label, _ in rows) + 4
    return [
        _wrap(digest.lead, "  "),
        *(_wrap(f"{label:>{width}}  {words}", "", " " * (width + 2)) for label, words in rows),
        f"  {digest.heading}:",
    ]


def cost_of(factor: FactorLine) -> str:
    """What a factor's change costs, where there is no room for the change itself."""
    return "" if factor.cost is None or factor.pieces else f" (cost {price(factor.cost)})"


def _wrap(text: str, first: str = "", rest: str | None = None) -> str:
    rest = first if rest is None else rest
    return fill(text, _WIDTH, initial_indent=first, subsequent_indent=rest)


def _what(factor: FactorLine) -> str:
    """What it names: in its place where that is a text."""
    return bracketed(excerpt(factor.pieces, FACTOR_SHOWN)) or factor.text
