"""Plain text, for `print` and for files."""

from __future__ import annotations

from textwrap import fill

from suffice.explanation import Explanation
from suffice.report.excerpt import bracketed, excerpt
from suffice.summary import FactorLine, ViewSummary, summarise
from suffice.wording import percent

__all__ = ["render"]

_SHOWN = 10
_WIDTH = 92
_TEXT_SHOWN = 600
_FACTOR_SHOWN = 180


def render(explanation: Explanation) -> str:
    """The whole explanation as a newcomer would want it read out."""
    s = summarise(explanation)
    values = ", ".join(f"{name} {value}" for name, value in s.values)
    if s.text:
        values = bracketed(excerpt([(s.text, False)], _TEXT_SHOWN))
    return "\n".join(
        [
            s.question,
            _wrap(s.subject, "  "),
            _wrap(values, "  "),
            "",
            *_view(s.keep),
            "",
            *_view(s.flip),
            "",
            _wrap(s.completeness),
            _wrap(s.provenance),
        ]
    )


def _view(view: ViewSummary) -> list[str]:
    lines = [view.title]
    if view.lead:
        lines.append(_wrap(view.lead, "  "))
    for factor in view.factors[:_SHOWN]:
        lines.append(_wrap(f"{percent(factor.sufficiency):>6}  {_what(factor)}", "", " " * 8))
        lines += [_wrap(note, " " * 8, " " * 10) for note in factor.notes]
    if len(view.factors) > _SHOWN:
        lines.append(f"     …  and {len(view.factors) - _SHOWN} more: .{view.name}.factors")
    notes = [text for text in (view.none_reached, view.necessity_text) if text]
    return lines + [_wrap(text, "  ") for text in notes]


def _wrap(text: str, first: str = "", rest: str | None = None) -> str:
    rest = first if rest is None else rest
    return fill(text, _WIDTH, initial_indent=first, subsequent_indent=rest)


def _what(factor: FactorLine) -> str:
    """What it names: in its place where that is a text."""
    return bracketed(excerpt(factor.pieces, _FACTOR_SHOWN)) or factor.text
