"""Sets of words in their text, and sets of regions in their picture."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from suffice.checks import whole
from suffice.errors import InputError
from suffice.explanation import Explanation, View
from suffice.explanation.subject import ImageSubject, TextSubject
from suffice.image.overlay import Overlay, draw_map, draw_marked, label_places
from suffice.plots.canvas import Canvas, paint
from suffice.plots.signature import as_views
from suffice.summary import FactorLine, summarise
from suffice.wording import count, harmless, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["MarkedText", "Pictured", "TextOfView", "image", "pictures_of", "text", "texts_of"]

_EDGE = 0.18
_SIZE, _BESIDE = 10.0, 0.03
_WHOLE = 8
"""A text of up to so many lines is shown whole; of a longer one, the lines around the marks."""
_LINES = {"keep": (0, 114, 178), "flip": (194, 81, 0)}
"""Outlines in the colours of the other figures, whatever the background."""
_HIGH = 2.6
"""The longer side of a picture in a figure of its own, in inches."""


@dataclass(frozen=True)
class MarkedText:
    """The text with one set marked."""

    told: str
    """How surely these words suffice; "" where there is one reference."""
    pieces: tuple[tuple[str, bool], ...]
    """Its characters in order, and whether they belong to the set."""


@dataclass(frozen=True)
class TextOfView:
    """The sets of one view, each in the text."""

    view: Literal["keep", "flip"]
    title: str
    lead: str
    sets: tuple[MarkedText, ...]
    more: str
    """What is not shown, and where it is; "" where all is."""


@dataclass(frozen=True, eq=False)
class Pictured:
    """A picture, what it shows, and what is written on it."""

    title: str
    told: str
    view: Literal["map", "keep", "flip"]
    drawn: Overlay
    labels: tuple[tuple[float, float, str], ...] = ()
    """(x, y, words), from 0 to 1 of the width and of the height."""


def text(result: Explanation | View, *, ax: Any = None, most: int = 2) -> Axes:
    """The first sets of each view marked in the text: in boxes and bold, dashed for flips.

    Examples
    --------
    >>> import suffice
    >>> def model(texts):
    ...     return ["good" if "fine" in words else "bad" for words in texts]
    >>> e = suffice.TextExplainer(model)("a fine film")
    >>> ax = suffice.plots.text(e)
    """
    found = texts_of(result, whole("most", most))
    return paint(ax, (7.0, 3.0), lambda canvas: _draw_texts(found, canvas))


def image(result: Explanation | View, *, ax: Any = None) -> Axes:
    """The picture with its regions, and the first set of each view marked in it.

    Examples
    --------
    >>> import numpy as np
    >>> import suffice
    >>> def model(images):
    ...     return images[:, 0, 0] > 0.5
    >>> explainer = suffice.ImageExplainer(model, regions="grid", n_regions=4, references=0)
    >>> ax = suffice.plots.image(explainer(np.ones((4, 4))))
    """
    found = pictures_of(result)
    width = 2 * _EDGE + (_HIGH + 0.2) * len(found)
    return paint(ax, (width, 3.5), lambda canvas: _draw_pictures(found, canvas))


def texts_of(result: Explanation | View, most: int = 2) -> tuple[TextOfView, ...]:
    """The facts: the first sets of each view, in the text."""
    views = as_views(result)
    if not isinstance(views[0].explanation.subject, TextSubject):
        raise InputError("result", "one of no text", "an explanation of a text, by TextExplainer")
    out = []
    for view, words in zip(views, summarise(result, most=most).views, strict=True):
        hidden = len(view) - len(words.factors)
        more = f"and {count(hidden, 'more set')}: .{view.name}.factors" if hidden else ""
        sets = tuple(_marked(view, line) for line in words.factors)
        title, lead = words.title, words.lead or words.none_reached
        out.append(TextOfView(view.name, title, lead, sets, more))
    return tuple(out)


def pictures_of(result: Explanation | View) -> tuple[Pictured, ...]:
    """The facts: the map of regions, and the first set of each view."""
    views = as_views(result)
    subject = views[0].explanation.subject
    if not isinstance(subject, ImageSubject):
        allowed = "an explanation of a picture, by ImageExplainer"
        raise InputError("result", "one of no picture", allowed)
    regions = count(len(views[0].players), "region")
    labels = tuple((x, y, harmless(words)) for x, y, words in label_places(subject))
    out = [Pictured("The picture", regions, "map", draw_map(subject), labels)]
    for view, words in zip(views, summarise(result, most=1).views, strict=True):
        if not words.factors:
            nothing = draw_marked(subject, (), view.name)
            out.append(Pictured(words.title, words.none_reached, view.name, nothing))
            continue
        (line,) = words.factors
        share = f"{percent(line.sufficiency)}: " if line.n > 1 else ""
        hidden = len(view) - 1
        more = f" (and {count(hidden, 'more set')}: .{view.name}.factors)" if hidden else ""
        drawn = draw_marked(subject, line.regions, view.name, line=_LINES[view.name])
        out.append(Pictured(words.title, f"{share}{line.text}{more}", view.name, drawn))
    return tuple(out)


def _marked(view: View, line: FactorLine) -> MarkedText:
    told = f"{percent(line.sufficiency)} of references" if line.n > 1 else ""
    subject = view.explanation.subject
    whole_text = harmless(subject.text) if isinstance(subject, TextSubject) else ""
    return MarkedText(told, line.pieces or ((whole_text, False),))


# -- drawing ------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Run:
    """Words of one line that are marked alike."""

    words: str
    inside: bool
    spaced: bool
    """Is there a space before it?"""


def _draw_texts(found: Sequence[TextOfView], canvas: Canvas) -> float:
    ink, room, y = canvas.ink, canvas.width - 2 * _EDGE, _EDGE
    for one in found:
        color = ink.of(one.view)
        canvas.box(_EDGE, y, room, 0.02, facecolor=color, edgecolor="none")
        y = canvas.paragraph(_EDGE, y + 0.07, one.title, room, size=11, bold=True, color=color)
        y = canvas.paragraph(_EDGE, y, one.lead, room, size=8.5) + 0.06
        for marked in one.sets:
            if marked.told:
                y = canvas.paragraph(_EDGE, y, marked.told, room, size=8.5, bold=True)
            y = _lines(marked, one.view, canvas, y) + 0.1
        y = canvas.paragraph(_EDGE, y, one.more, room, size=8.5, color=ink.soft) + 0.12
    return y + _EDGE - 0.1


def _lines(marked: MarkedText, view: str, canvas: Canvas, y: float) -> float:
    color, space = canvas.ink.of(view), canvas.fonts.width(" ", _SIZE)
    high = 1.5 * canvas.leading(_SIZE)
    for line in _around_marks(_set(marked.pieces, canvas)):
        x, middle = _EDGE + 0.05, y + high / 2
        for run in line:
            x += (space if run.spaced else 0.0) + _BESIDE * run.inside
            wide = canvas.fonts.width(run.words, _SIZE, bold=run.inside)
            if run.inside:
                canvas.box(x - 0.03, middle - 0.4 * high, wide + 0.06, 0.8 * high, lw=1.1,
                           facecolor=canvas.ink.mixed(color, 0.2), edgecolor=color,
                           ls="-" if view == "keep" else (0, (3, 2)), zorder=1)  # fmt: skip
            canvas.write(x, middle, run.words, size=_SIZE, bold=run.inside)
            x += wide + _BESIDE * run.inside
        y += high
    return y


def _set(pieces: Sequence[tuple[str, bool]], canvas: Canvas) -> list[list[_Run]]:
    """The text in lines that fit; neighbours that are marked alike are one run."""
    letters, room = canvas.fonts, canvas.width - 2 * _EDGE - 0.1
    space = letters.width(" ", _SIZE)
    lines: list[list[_Run]] = [[]]
    x, spaced = 0.0, False
    for characters, inside in pieces:
        for word in re.findall(r"\s+|\S+", letters.told(characters)):
            if word.isspace():
                spaced = True
                continue
            for part in letters.lines(word, room, _SIZE, inside):
                wide = letters.width(part, _SIZE, bold=inside) + space * spaced + _BESIDE * inside
                if x + wide > room and lines[-1] and (spaced or x + wide > room + 0.1):
                    lines.append([])
                    x, spaced = 0.0, False
                line = lines[-1]
                if line and line[-1].inside == inside:
                    last = line.pop()
                    joined = last.words + " " * spaced + part
                    line.append(_Run(joined, inside, last.spaced))
                else:
                    line.append(_Run(part, inside, spaced and bool(line)))
                x, spaced = x + wide, False
    return lines


def _around_marks(lines: list[list[_Run]]) -> list[list[_Run]]:
    """All lines of a short text; of a long one those near a mark, with "…" between.

    >>> far, here = _Run("far", False, False), _Run("here", True, False)
    >>> [run.words for (run,) in _around_marks([*[[far]] * 9, [here]])]
    ['…', 'far', 'here']
    """
    if len(lines) <= _WHOLE:
        return lines
    marked = [i for i, line in enumerate(lines) if any(run.inside for run in line)]
    near = {j for i in marked or [0] for j in (i - 1, i, i + 1) if 0 <= j < len(lines)}
    left_out = [_Run("…", False, False)]
    out: list[list[_Run]] = []
    for i, line in enumerate(lines):
        if i in near:
            out.append(line)
        elif not out or out[-1] != left_out:
            out.append(left_out)
    return out


def _draw_pictures(found: Sequence[Pictured], canvas: Canvas) -> float:
    ink = canvas.ink
    each = (canvas.width - 2 * _EDGE + 0.2) / len(found)
    ends = []
    for number, one in enumerate(found):
        left, room = _EDGE + number * each, each - 0.2
        color = ink.text if one.view == "map" else ink.of(one.view)
        y = canvas.paragraph(left, _EDGE, one.title, room, size=10, bold=True, color=color)
        ends.append(y)
    top = max(ends) + 0.05
    ends = []
    for number, one in enumerate(found):
        left, room = _EDGE + number * each, each - 0.2
        height, width = one.drawn.pixels.shape[:2]
        wide = min(room, room * width / height)
        high = wide * height / width
        shown = canvas.ax.imshow(
            one.drawn.pixels,
            extent=(left, left + wide, top + high, top),
            aspect="auto",
            interpolation="nearest",
            zorder=2,
        )
        canvas.drawn.append(shown)
        for x, y, words in one.labels:
            over = {"boxstyle": "round,pad=0.15", "fc": "#ffffff", "ec": "none", "alpha": 0.75}
            canvas.write(left + x * wide, top + y * high, words, size=7.5, ha="center",
                         color="#101010", box=over)  # fmt: skip
        y = top + high + 0.06
        ends.append(canvas.paragraph(left, y, one.told, room, size=8.5))
    return max(ends) + _EDGE
