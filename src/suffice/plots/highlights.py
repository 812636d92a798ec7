"""Figures of a text or an image with the features of a set highlighted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from suffice.errors import InputError
from suffice.explanation import Explanation, View, as_views
from suffice.explanation.schema import ImageSubject, TextSubject
from suffice.formatting import percent, plural, printable
from suffice.image.overlays import Overlay, draw_marked_regions, draw_region_map, label_positions
from suffice.plots.canvas import Canvas, paint
from suffice.results import OmittedRows
from suffice.summary import FactorLine, summarise
from suffice.typing import ViewName
from suffice.validation import check_integer

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_EDGE = 0.18
_SIZE, _BESIDE = 10.0, 0.03
_MOST_WHOLE_LINES = 8
"""Most lines of a text that is shown whole; a longer text is cut to the lines near marks."""
_IMAGE_SIDE = 2.6
"""Longer side of an image in a new figure, in inches."""


@dataclass(frozen=True)
class MarkedText:
    """A text in which the words of one set are marked."""

    share_text: str
    """Sufficiency of the words; "" where there is one reference."""
    pieces: tuple[tuple[str, bool], ...]
    """Consecutive pieces of the text, each with whether it belongs to the set."""


@dataclass(frozen=True)
class TextHighlights:
    """Sets of one view, each marked in the text."""

    view: ViewName
    title: str
    lead: str
    sets: tuple[MarkedText, ...]
    more: str
    """Note on sets that are not shown, and where to find them; "" if all are shown."""


@dataclass(frozen=True, eq=False)
class ImagePanel:
    """An image with a title, a caption and labels."""

    title: str
    caption: str
    view: Literal["map", "keep", "flip"]
    overlay: Overlay
    labels: tuple[tuple[float, float, str], ...] = ()
    """Triples (x, y, text), with x and y from 0 to 1 of the width and the height."""


def text(result: Explanation | View, *, ax: Any = None, most: int = 2) -> Axes:
    """Draw the text with the first sets of each view in boxes and bold, dashed for flips.

    Examples
    --------
    >>> import suffice
    >>> def model(texts):
    ...     return ["good" if "fine" in words else "bad" for words in texts]
    >>> e = suffice.TextExplainer(model)("a fine film")
    >>> ax = suffice.plots.text(e)
    """
    found = text_highlights_of(result, check_integer("most", most))
    return paint(ax, (7.0, 3.0), lambda canvas: _draw_texts(found, canvas))


def image(result: Explanation | View, *, ax: Any = None) -> Axes:
    """Draw the image with its regions, and the first set of each view marked in it.

    Examples
    --------
    >>> import numpy as np
    >>> import suffice
    >>> def model(images):
    ...     return images[:, 0, 0] > 0.5
    >>> explainer = suffice.ImageExplainer(model, regions="grid", n_regions=4, references=0)
    >>> ax = suffice.plots.image(explainer(np.ones((4, 4))))
    """
    found = image_panels_of(result)
    width = 2 * _EDGE + (_IMAGE_SIDE + 0.2) * len(found)
    return paint(ax, (width, 3.5), lambda canvas: _draw_images(found, canvas))


def text_highlights_of(result: Explanation | View, most: int = 2) -> tuple[TextHighlights, ...]:
    """Return the first `most` sets of each view, marked in the text."""
    views = as_views(result)
    if not isinstance(views[0].explanation.subject, TextSubject):
        allowed = "an explanation of a text, by TextExplainer"
        raise InputError("result", "an explanation of other data", allowed)
    out = []
    for view, words in zip(views, summarise(result, most=most).views, strict=True):
        hidden = len(view) - len(words.factors)
        more = str(OmittedRows(hidden, f".{view.name}.factors", "set"))
        sets = tuple(_marked_text(view, line) for line in words.factors)
        title, lead = words.title, words.lead or words.none_reached
        out.append(TextHighlights(view.name, title, lead, sets, more))
    return tuple(out)


def image_panels_of(result: Explanation | View) -> tuple[ImagePanel, ...]:
    """Return the map of regions, and the first set of each view marked in the image."""
    views = as_views(result)
    subject = views[0].explanation.subject
    if not isinstance(subject, ImageSubject):
        allowed = "an explanation of an image, by ImageExplainer"
        raise InputError("result", "an explanation of other data", allowed)
    regions = plural(len(views[0].players), "region")
    labels = tuple((x, y, printable(words)) for x, y, words in label_positions(subject))
    out = [ImagePanel("The picture", regions, "map", draw_region_map(subject), labels)]
    for view, words in zip(views, summarise(result, most=1).views, strict=True):
        if not words.factors:
            nothing = draw_marked_regions(subject, (), view.name)
            out.append(ImagePanel(words.title, words.none_reached, view.name, nothing))
            continue
        (line,) = words.factors
        share = f"{percent(line.sufficiency)}: " if line.n > 1 else ""
        hidden = OmittedRows(len(view) - 1, f".{view.name}.factors", "set")
        caption = f"{share}{line.conditions_text}" + f" ({hidden})" * bool(hidden)
        marked = draw_marked_regions(subject, line.regions, view.name)
        out.append(ImagePanel(words.title, caption, view.name, marked))
    return tuple(out)


def _marked_text(view: View, line: FactorLine) -> MarkedText:
    share = f"{percent(line.sufficiency)} of references" if line.n > 1 else ""
    subject = view.explanation.subject
    whole_text = printable(subject.text) if isinstance(subject, TextSubject) else ""
    return MarkedText(share, line.pieces or ((whole_text, False),))


# -- drawing ------------------------------------------------------------------------------


@dataclass(frozen=True)
class _TextRun:
    """Consecutive words of one line that are all marked, or all not."""

    words: str
    inside: bool
    spaced: bool
    """Whether a space precedes the run."""


def _draw_texts(found: Sequence[TextHighlights], canvas: Canvas) -> float:
    ink, room, y = canvas.ink, canvas.width - 2 * _EDGE, _EDGE
    for one in found:
        color = ink.for_view(one.view)
        canvas.box(_EDGE, y, room, 0.02, facecolor=color, edgecolor="none")
        y = canvas.paragraph(_EDGE, y + 0.07, one.title, room, size=11, bold=True, color=color)
        y = canvas.paragraph(_EDGE, y, one.lead, room, size=8.5) + 0.06
        for marked in one.sets:
            if marked.share_text:
                y = canvas.paragraph(_EDGE, y, marked.share_text, room, size=8.5, bold=True)
            y = _draw_lines(marked, one.view, canvas, y) + 0.1
        y = canvas.paragraph(_EDGE, y, one.more, room, size=8.5, color=ink.soft) + 0.12
    return y + _EDGE - 0.1


def _draw_lines(marked: MarkedText, view: str, canvas: Canvas, y: float) -> float:
    color, space = canvas.ink.for_view(view), canvas.fonts.width(" ", _SIZE)
    high = 1.5 * canvas.leading(_SIZE)
    for line in _around_marks(_typeset(marked.pieces, canvas)):
        x, middle = _EDGE + 0.05, y + high / 2
        for run in line:
            x += (space if run.spaced else 0.0) + _BESIDE * run.inside
            wide = canvas.fonts.width(run.words, _SIZE, bold=run.inside)
            if run.inside:
                canvas.box(x - 0.03, middle - 0.4 * high, wide + 0.06, 0.8 * high, lw=1.1,
                           facecolor=canvas.ink.blend(color, 0.2), edgecolor=color,
                           ls="-" if view == "keep" else (0, (3, 2)), zorder=1)  # fmt: skip
            canvas.write(x, middle, run.words, size=_SIZE, bold=run.inside)
            x += wide + _BESIDE * run.inside
        y += high
    return y


def _typeset(pieces: Sequence[tuple[str, bool]], canvas: Canvas) -> list[list[_TextRun]]:
    """Break the text into lines that fit, and each line into runs of marked or unmarked words."""
    letters, room = canvas.fonts, canvas.width - 2 * _EDGE - 0.1
    space = letters.width(" ", _SIZE)
    lines: list[list[_TextRun]] = [[]]
    x, spaced = 0.0, False
    for characters, inside in pieces:
        for word in re.findall(r"\s+|\S+", letters.printable(characters)):
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
                    line.append(_TextRun(joined, inside, last.spaced))
                else:
                    line.append(_TextRun(part, inside, spaced and bool(line)))
                x, spaced = x + wide, False
    return lines


def _around_marks(lines: list[list[_TextRun]]) -> list[list[_TextRun]]:
    """Return all lines of a short text; of a long one those near a mark, with "…" between.

    >>> far, here = _TextRun("far", False, False), _TextRun("here", True, False)
    >>> [run.words for (run,) in _around_marks([*[[far]] * 9, [here]])]
    ['…', 'far', 'here']
    """
    if len(lines) <= _MOST_WHOLE_LINES:
        return lines
    marked = [i for i, line in enumerate(lines) if any(run.inside for run in line)]
    near = {j for i in marked or [0] for j in (i - 1, i, i + 1) if 0 <= j < len(lines)}
    left_out = [_TextRun("…", False, False)]
    out: list[list[_TextRun]] = []
    for i, line in enumerate(lines):
        if i in near:
            out.append(line)
        elif not out or out[-1] != left_out:
            out.append(left_out)
    return out


def _draw_images(found: Sequence[ImagePanel], canvas: Canvas) -> float:
    ink = canvas.ink
    each = (canvas.width - 2 * _EDGE + 0.2) / len(found)
    ends = []
    for number, one in enumerate(found):
        left, room = _EDGE + number * each, each - 0.2
        color = ink.text if one.view == "map" else ink.for_view(one.view)
        y = canvas.paragraph(left, _EDGE, one.title, room, size=10, bold=True, color=color)
        ends.append(y)
    top = max(ends) + 0.05
    ends = []
    for number, one in enumerate(found):
        left, room = _EDGE + number * each, each - 0.2
        height, width = one.overlay.pixels.shape[:2]
        wide = min(room, room * width / height)
        high = wide * height / width
        shown = canvas.ax.imshow(
            one.overlay.pixels,
            extent=(left, left + wide, top + high, top),
            aspect="auto",
            interpolation="nearest",
            zorder=2,
        )
        canvas.artists.append(shown)
        for x, y, words in one.labels:
            over = {"boxstyle": "round,pad=0.15", "fc": "#ffffff", "ec": "none", "alpha": 0.75}
            canvas.write(left + x * wide, top + y * high, words, size=7.5, ha="center",
                         color="#101010", box=over)  # fmt: skip
        y = top + high + 0.06
        ends.append(canvas.paragraph(left, y, one.caption, room, size=8.5))
    return max(ends) + _EDGE
