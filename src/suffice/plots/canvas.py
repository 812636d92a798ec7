"""Where pictures are drawn: the user's axes or figure, or one of our own; and with which inks.

Most pictures are laid out in inches from the top left corner, in one `Axes` whose own frame is
hidden: so a picture of many parts fits wherever an `ax` does, and one line can cross all of them.
Nothing global is set. Inks follow the background: on a dark figure they are light.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from suffice.errors import InputError, SufficeError
from suffice.plots.lettering import Fonts, fonts
from suffice.wording import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "DARK",
    "DASHES",
    "LIGHT",
    "MARKS",
    "Canvas",
    "Ink",
    "Scale",
    "axes_for",
    "ink_for",
    "label",
    "paint",
    "require_answer",
    "root_figure",
    "tidy",
]

_SMALLEST = 0.3
"""Lettering is made smaller to fit into given axes, down to this share of its size."""
_NUMBER = 0.36
"""Inches that a number under an axis needs."""
_LINE = 1.32
"""From one line of letters to the next, in sizes of letters."""


@dataclass(frozen=True)
class Ink:
    """Colours of one background; keep and flip also differ in marks and dashes.

    They are Okabe and Ito's, which the colour-blind tell apart; the vermilion is a little darker,
    so that words in it are read on white.
    """

    text: str
    soft: str
    line: str
    paper: str
    keep: str
    flip: str
    other: str

    def of(self, view: str) -> str:
        """The colour of a view."""
        return self.keep if view == "keep" else self.flip

    def mixed(self, color: str, strength: float) -> str:
        """A colour on this paper: at strength 0 it is the paper's, at 1 it is full."""
        from matplotlib.colors import to_hex, to_rgb

        pairs = zip(to_rgb(self.paper), to_rgb(color), strict=True)
        red, green, blue = (a + strength * (b - a) for a, b in pairs)
        return to_hex((red, green, blue))

    def on(self, color: str) -> str:
        """Black or white, whichever is read better on a colour."""
        from matplotlib.colors import to_rgba

        return "#101010" if _lightness(to_rgba(color)) > 0.5 else "#ffffff"


LIGHT = Ink("#1c2330", "#5b6575", "#d3d9e2", "#ffffff", "#0072b2", "#c25100", "#009e73")
DARK = Ink("#e6eaf2", "#a3adbd", "#414b5c", "#12161d", "#56b4e9", "#e69f00", "#2fd0a5")
MARKS = {"keep": "o", "flip": "s"}
DASHES: dict[str, Any] = {"keep": "-", "flip": (0, (5, 1.5))}


@dataclass(frozen=True)
class Scale:
    """Numbers from `low` to `high` laid out from left to right, in inches."""

    low: float
    high: float
    left: float
    right: float

    def at(self, value: float) -> float:
        """Where a number stands.

        >>> Scale(0.5, 1.0, left=2.0, right=4.0).at(0.75)
        3.0
        """
        share = (value - self.low) / (self.high - self.low)
        return self.left + min(max(share, 0.0), 1.0) * (self.right - self.left)

    @property
    def ticks(self) -> tuple[float, ...]:
        """Round numbers to be written at it: five at most, and fewer where there is less room.

        >>> Scale(0.8, 1.0, 0.0, 1.5).ticks, Scale(0.8, 1.0, 0.0, 0.9).ticks
        ((0.8, 0.85, 0.9, 0.95, 1.0), (0.8, 0.9, 1.0))
        """
        span, most = self.high - self.low, min(4, int(abs(self.right - self.left) / _NUMBER))
        for step in (0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 1.0):
            whole = abs(self.low / step - round(self.low / step)) < 1e-6
            if whole and span / step <= most + 0.01:
                n = int(span / step + 1e-6)
                return tuple(round(self.low + i * step, 9) for i in range(n + 1))
        return self.low, self.high


@dataclass
class Canvas:
    """An `Axes` as a sheet of paper: inches from its top left corner, y downwards."""

    ax: Axes
    width: float
    height: float
    scale: float
    ink: Ink
    fonts: Fonts
    drawn: list[Any] = field(default_factory=list)

    def write(
        self,
        x: float,
        y: float,
        words: str,
        *,
        size: float = 9.0,
        color: str = "",
        ha: str = "left",
        va: str = "center",
        bold: bool = False,
        rotation: float = 0.0,
        box: dict[str, Any] | None = None,
    ) -> Any:
        """One line of words, with no formulas in it."""
        made = self.ax.text(
            x,
            y,
            self.fonts.told(words),
            fontsize=size * self.scale,
            color=color or self.ink.text,
            ha=ha,
            va=va,
            fontweight="bold" if bold else "normal",
            fontfamily=list(self.fonts.families),
            rotation=rotation,
            rotation_mode="anchor",
            parse_math=False,
            usetex=False,
            bbox=box,
            zorder=5,
        )
        self.drawn.append(made)
        return made

    def paragraph(
        self, x: float, y: float, words: str, room: float, *, size: float = 9.0, **how: Any
    ) -> float:
        """Words in as many lines as they need, from y downwards; where the next may begin."""
        bold = bool(how.get("bold", False))
        for line in self.fonts.lines(self.fonts.told(words), room, size, bold):
            self.write(x, y + 0.5 * self.leading(size), line, size=size, **how)
            y += self.leading(size)
        return y

    def leading(self, size: float) -> float:
        """From one line to the next, in inches."""
        return size * _LINE / 72

    def line(self, xs: Sequence[float], ys: Sequence[float], **how: Any) -> None:
        """A line through points, or marks at them."""
        for name in ("lw", "ms", "mew"):
            if name in how:
                how[name] *= self.scale
        self.drawn += self.ax.plot(xs, ys, clip_on=False, **how)

    def axis(self, scale: Scale, y: float, show: Callable[[float], str] = percent) -> float:
        """A line with numbers under it; where the next may begin."""
        self.line([scale.left, scale.right], [y, y], color=self.ink.soft, lw=0.8)
        for tick in scale.ticks:
            at = scale.at(tick)
            self.line([at, at], [y, y + 0.05], color=self.ink.soft, lw=0.8)
            self.write(at, y + 0.13, show(tick), size=7.5, ha="center")
        return y + 0.22

    def box(self, x: float, y: float, width: float, height: float, **how: Any) -> None:
        """A rectangle."""
        from matplotlib.patches import Rectangle

        self.add(Rectangle((x, y), width, height, clip_on=False, **how))

    def add(self, patch: Any) -> Any:
        """Any other shape."""
        patch.set_linewidth(patch.get_linewidth() * self.scale)
        self.drawn.append(self.ax.add_patch(patch))
        return patch


def paint(ax: Any, size: tuple[float, float], draw: Callable[[Canvas], float]) -> Axes:
    """Draw into `ax`, or into a figure of our own that is as high as the picture needs.

    `draw` says how far down it came. In axes that are too small for it, all is drawn smaller.
    """
    width, height = size
    host = axes_for(ax, size, bare=True)
    host.set_axis_off()
    ink = ink_for(host)
    if ax is None:
        used = draw(_canvas(host, width, height, 1.0, ink))
        root_figure(host).set_size_inches(width, used)
        host.set_ylim(used, 0)
        return host
    across, down = _inches(host)
    scale = min(1.0, across / (0.8 * width))
    for _ in range(6):
        canvas = _canvas(host, across / scale, down / scale, scale, ink)
        used = draw(canvas)
        if used <= canvas.height * 1.005 or scale <= _SMALLEST:
            break
        scale = max(_SMALLEST, scale * max(0.6, min(0.95, canvas.height / used)))
        for artist in canvas.drawn:
            artist.remove()
    host.set_ylim(max(used, canvas.height), 0)
    return host


def axes_for(ax: Any, size: tuple[float, float], *, bare: bool = False) -> Axes:
    """The axes to draw into: those given, some in the figure given, or in a figure of our own.

    `bare` ones fill their figure, since they have no frame and no ticks.
    """
    try:
        from matplotlib.axes import Axes
        from matplotlib.figure import FigureBase
    except ImportError as error:
        raise SufficeError(
            'figures are drawn by matplotlib, which is not installed: run pip install "suffice'
            '[plots]"'
        ) from error
    if isinstance(ax, Axes):
        return ax
    if isinstance(ax, FigureBase):
        return ax.add_axes((0, 0, 1, 1)) if bare else ax.add_subplot()
    if ax is not None:
        raise InputError("ax", ax, "None, or an Axes, Figure or SubFigure of matplotlib")
    from matplotlib import pyplot

    figure = pyplot.figure(figsize=size, layout=None if bare else "constrained")
    return figure.add_axes((0, 0, 1, 1)) if bare else figure.add_subplot()


def root_figure(ax: Axes) -> Figure:
    """The figure that axes are in, also where a part of it lies between."""
    figure: Any = ax.figure
    while figure.figure is not figure:
        figure = figure.figure
    whole: Figure = figure
    return whole


def require_answer(given: object, kind: Any, allowed: str) -> None:
    """Refuse to draw what is no answer of this kind, and say whose answer is drawn."""
    if not isinstance(given, kind):
        raise InputError("result", given, allowed)


def ink_for(ax: Axes) -> Ink:
    """Dark inks on a light figure, light ones on a dark one.

    Where the figure is transparent, the colour that its owner writes in tells which it is.
    """
    from matplotlib import rcParams
    from matplotlib.colors import to_hex, to_rgba

    for face in (ax.get_facecolor() if ax.axison else (0, 0, 0, 0), ax.figure.get_facecolor()):
        rgba = to_rgba(face)
        if rgba[3] > 0.5:
            return replace(LIGHT if _lightness(rgba) > 0.5 else DARK, paper=to_hex(rgba))
    return LIGHT if _lightness(to_rgba(rcParams["text.color"])) < 0.5 else DARK


def label(artist: Any, words: str, families: Fonts, **how: Any) -> None:
    """Put the user's words into a title, a tick or a label of axes, with no formulas in them."""
    artist.set_text(families.told(words))
    artist.set_parse_math(False)
    artist.set_usetex(False)
    artist.set_fontfamily(list(families.families))
    artist.set(**how)


def tidy(ax: Axes, ink: Ink) -> None:
    """No more lines than needed, in inks that suit the background."""
    ax.spines[["top", "right"]].set_visible(False)
    for spine in ax.spines.values():
        spine.set_color(ink.soft)
    ax.tick_params(colors=ink.soft, labelcolor=ink.text, labelsize=9)


def _lightness(rgba: Sequence[float]) -> float:
    red, green, blue, _ = rgba
    return 0.299 * red + 0.587 * green + 0.114 * blue


def _canvas(host: Axes, width: float, height: float, scale: float, ink: Ink) -> Canvas:
    host.set_xlim(0, width)
    host.set_ylim(height, 0)
    return Canvas(host, width, height, scale, ink, fonts())


def _inches(ax: Axes) -> tuple[float, float]:
    """How large axes are, once their figure's layout is made."""
    figure = root_figure(ax)
    if figure.get_layout_engine() is not None:
        figure.draw_without_rendering()
    return ax.bbox.width / figure.dpi, ax.bbox.height / figure.dpi
