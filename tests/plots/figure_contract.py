"""Contract of a figure: frozen data first, then drawing into the given axes and no others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import is_dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from suffice.errors import InputError, SufficeError, short_repr
from suffice.plots.canvas import root_figure
from suffice.testing.assertions import errors_as_assertions, require

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_SIZES = (8.0, 6.0), (3.0, 2.2)
_LEAST_CONTRAST = 3.0
"""Contrast of text with its background that large print needs (WCAG 2.1, 1.4.3)."""


def check_figure(
    draw: Callable[..., Axes],
    result: Any,
    *,
    facts: Callable[[Any], Any] | None = None,
    cut_off: bool = True,
) -> int:
    """Check a function that draws a result into `ax` and returns the axes it drew into.

    Given an `Axes` it returns that one; given a figure it stays in it; given None it makes a
    figure. It opens no other figure and changes no global setting and nothing in the result. Text
    is readable on dark and light backgrounds, and inside the edges of a figure of its own. An `ax`
    or a result of another kind is refused by an `InputError` that names it.

    Returns the number of texts that were checked.

    Parameters
    ----------
    draw
        (result, ax=None) -> Axes.
    result
        The result to draw.
    facts
        Function that makes the figure's data from the result: it must return a frozen dataclass,
        the same each time, that JSON can hold.
    cut_off
        Whether text beyond the edges of a figure of its own is an error.
    """
    from matplotlib import pyplot, rc_context, rcParams
    from matplotlib.axes import Axes

    if facts is not None:
        _check_facts(facts, result)
    before, stored, seen = set(pyplot.get_fignums()), _stored(result), 0
    with rc_context():
        pyplot.switch_backend("agg")
        style = dict(rcParams)
        try:
            with errors_as_assertions("drawing into a figure of its own"):
                own = draw(result)
            require(isinstance(own, Axes), f"it returns {short_repr(own)}, not the Axes drawn into")
            seen += _check_texts(own, cut_off)
            for size in _SIZES:
                _check_given(draw, result, size)
            for paper in ("white", "black"):
                figure = pyplot.figure(figsize=_SIZES[0], facecolor=paper)
                with errors_as_assertions(f"drawing into a {paper} figure"):
                    ax = draw(result, ax=figure)
                require(root_figure(ax) is figure, "given a figure, it draws into another")
                seen += _check_texts(ax, False)
            changed = [name for name in style if rcParams[name] != style[name]]
            require(not changed, f"it changes the global setting {', '.join(changed)}")
            _check_refusals(draw, result)
        finally:
            for number in set(pyplot.get_fignums()) - before:
                pyplot.close(number)
    require(_stored(result) == stored, "drawing changes the result")
    require(seen > 0, "nothing is written in the figure: not even what it is about")
    return seen


def _check_facts(facts: Callable[[Any], Any], result: Any) -> None:
    with errors_as_assertions("making the facts"):
        first, second = facts(result), facts(result)
    for fact in first if isinstance(first, tuple) else (first,):
        made = getattr(type(fact), "__dataclass_params__", None)
        frozen = is_dataclass(fact) and made is not None and made.frozen
        require(frozen, f"the facts are {short_repr(fact)}: no frozen dataclass")
    with errors_as_assertions("writing the facts as JSON"):
        same = msgspec.json.encode(first) == msgspec.json.encode(second)
    require(same, "the facts of one result differ from one time to the next")


def _check_given(draw: Callable[..., Axes], result: Any, size: tuple[float, float]) -> None:
    from matplotlib import pyplot

    figure, (ax, other) = pyplot.subplots(1, 2, figsize=size)
    opened = set(pyplot.get_fignums())
    with errors_as_assertions(f"drawing into axes of {size[0]:g} × {size[1]:g} inches"):
        given = draw(result, ax=ax)
        figure.canvas.draw() if size == _SIZES[0] else figure.draw_without_rendering()
    require(given is ax, "given an Axes, it returns another")
    require(set(pyplot.get_fignums()) == opened, "given an Axes, it opens another figure")
    empty = not (other.lines or other.patches or other.texts or other.images or other.collections)
    require(empty, "it draws into axes that it was not given")


def _check_refusals(draw: Callable[..., Axes], result: Any) -> None:
    for argument, arguments in (("ax", (result, 3)), ("", (object(), None))):
        what, ax = arguments
        try:
            draw(what, ax=ax)
        except InputError as error:
            named = not argument or error.argument == argument
            require(named, f"of an {argument} of another kind it says: {error}")
        except SufficeError as error:
            require(not argument, f"of an {argument} of another kind it says: {error}")
        except Exception as error:
            told = f"{argument or 'result'} of another kind"
            raise AssertionError(
                f"{told}: raised {type(error).__name__}, no InputError that names it"
            ) from error
        else:
            raise AssertionError(f"draws without a word for a wrong {argument or 'result'}")


def _check_texts(ax: Axes, cut_off: bool) -> int:
    """Require text inside the figure and readable; return how many texts there are."""
    from matplotlib.colors import to_rgba
    from matplotlib.text import Text

    figure = root_figure(ax)
    figure.draw_without_rendering()
    written = [t for t in figure.findobj(Text) if t.get_text().strip() and t.get_visible()]
    edges = figure.bbox
    paper = to_rgba(ax.get_facecolor() if ax.axison else figure.get_facecolor())
    for text in written:
        box, words = text.get_window_extent(), short_repr(text.get_text(), 40)
        beyond = (edges.x0 - box.x0, edges.y0 - box.y0, box.x1 - edges.x1, box.y1 - edges.y1)
        require(not cut_off or max(beyond) <= 1, f"{words} lies beyond the figure's edge")
        alone = text.get_bbox_patch() is None and not _on_a_shape(text, ax)
        if alone:
            ratio = _contrast(to_rgba(text.get_color()), paper)
            told = f"{words} has a contrast of {ratio:.1f} on its background"
            require(ratio >= _LEAST_CONTRAST, f"{told}, less than {_LEAST_CONTRAST:g}")
    return len(written)


def _on_a_shape(text: Any, ax: Axes) -> bool:
    """Return whether a text lies on a patch or an image, whose colour is its background."""
    box = text.get_window_extent()
    x, y = (box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2
    shapes = [*ax.patches, *ax.images, *ax.collections]
    return any(shape.get_window_extent().contains(x, y) for shape in shapes)


def _contrast(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    """Return the contrast of two colours as WCAG 2.1 defines it."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(rgba: tuple[float, ...]) -> float:
    parts = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgba[:3])
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), parts, strict=True))


def _stored(result: Any) -> Any:
    return result.to_json() if hasattr(result, "to_json") else None
