"""Canvas of the figures: axes to draw into, colours, scales with ticks, text and lines in inches.

Most figures are laid out in inches from the top left corner, in one `Axes` whose frame is hidden:
so a figure of many panels fits wherever an `ax` does, and one line can cross all panels. No global
style of matplotlib is changed. Colours follow the background: on a dark figure they are light.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from suffice.errors import InputError, SufficeError
from suffice.formatting import percent
from suffice.plots.lettering import Fonts, fonts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SMALLEST_SCALE = 0.3
"""Smallest scale: in small axes, text and marks shrink to this share of their size at most."""
_TICK_WIDTH = 0.36
"""Width of a tick label in inches."""
_LINE_HEIGHT = 1.32
"""Distance between lines of text, in font sizes."""


@dataclass(frozen=True)
class Ink:
    """Colours for one background; keep and flip also differ in markers and dashes.

    The palette is that of Okabe and Ito, safe for colour-blind readers; vermilion is a little
    darker, so that text in it is readable on white.
    """

    text: str
    soft: str
    line: str
    paper: str
    keep: str
    flip: str
    other: str

    def for_view(self, view: str) -> str:
        """Return the colour of a view."""
        return self.keep if view == "keep" else self.flip

    def blend(self, color: str, strength: float) -> str:
        """Blend a colour with the background: strength 0 is the background, 1 the full colour."""
        from matplotlib.colors import to_hex, to_rgb

        pairs = zip(to_rgb(self.paper), to_rgb(color), strict=True)
        red, green, blue = (a + strength * (b - a) for a, b in pairs)
        return to_hex((red, green, blue))

    def text_on(self, color: str) -> str:
        """Return black or white, whichever is more readable on a colour."""
        from matplotlib.colors import to_rgba

        return "#101010" if _lightness(to_rgba(color)) > 0.5 else "#ffffff"


LIGHT = Ink("#1c2330", "#5b6575", "#d3d9e2", "#ffffff", "#0072b2", "#c25100", "#009e73")
DARK = Ink("#e6eaf2", "#a3adbd", "#414b5c", "#12161d", "#56b4e9", "#e69f00", "#2fd0a5")
MARKERS = {"keep": "o", "flip": "s"}
DASHES: dict[str, Any] = {"keep": "-", "flip": (0, (5, 1.5))}


@dataclass(frozen=True)
class Scale:
    """Linear scale that maps numbers from `low` to `high` to inches from `left` to `right`."""

    low: float
    high: float
    left: float
    right: float

    def position(self, value: float) -> float:
        """Return the position of a number; numbers outside the scale are put at its ends.

        >>> Scale(0.5, 1.0, left=2.0, right=4.0).position(0.75)
        3.0
        """
        share = (value - self.low) / (self.high - self.low)
        return self.left + min(max(share, 0.0), 1.0) * (self.right - self.left)

    @property
    def ticks(self) -> tuple[float, ...]:
        """Round numbers for tick labels: at most five, fewer where there is less room.

        >>> Scale(0.8, 1.0, 0.0, 1.5).ticks, Scale(0.8, 1.0, 0.0, 0.9).ticks
        ((0.8, 0.85, 0.9, 0.95, 1.0), (0.8, 0.9, 1.0))
        """
        span, most = self.high - self.low, min(4, int(abs(self.right - self.left) / _TICK_WIDTH))
        for step in (0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 1.0):
            # Ticks at multiples of the step read as round numbers only if the axis starts at one.
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
    artists: list[Any] = field(default_factory=list)
    """All that was drawn, to be removed where it is drawn again at a smaller scale."""

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
        """Draw one line of text; `$` and `_` are characters, not formulas."""
        made = self.ax.text(
            x,
            y,
            self.fonts.printable(words),
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
        self.artists.append(made)
        return made

    def write_lines(
        self, x: float, middle: float, lines: Sequence[str], *, size: float, **how: Any
    ) -> None:
        """Draw lines of text, centred vertically at `middle`."""
        first = middle - (len(lines) - 1) / 2 * self.leading(size)
        for number, line in enumerate(lines):
            self.write(x, first + number * self.leading(size), line, size=size, **how)

    def write_upright(
        self, x: float, bottom: float, lines: Sequence[str], *, size: float, **how: Any
    ) -> None:
        """Draw lines of text rotated by 90°, centred horizontally at x, upwards from `bottom`."""
        first = x - (len(lines) - 1) / 2 * self.leading(size)
        for number, line in enumerate(lines):
            self.write(first + number * self.leading(size), bottom, line, size=size, rotation=90,
                       **how)  # fmt: skip

    def paragraph(
        self, x: float, y: float, words: str, room: float, *, size: float = 9.0, **how: Any
    ) -> float:
        """Draw text in as many lines as it needs, from y downwards; return the y below it."""
        bold = bool(how.get("bold", False))
        for line in self.fonts.lines(self.fonts.printable(words), room, size, bold):
            self.write(x, y + 0.5 * self.leading(size), line, size=size, **how)
            y += self.leading(size)
        return y

    def leading(self, size: float) -> float:
        """Return the distance between lines of text in inches."""
        return size * _LINE_HEIGHT / 72

    def line(self, xs: Sequence[float], ys: Sequence[float], **how: Any) -> None:
        """Draw a line through points, or markers at them."""
        # Lines and markers shrink with the text, else small figures look bolder.
        for name in ("lw", "ms", "mew"):
            if name in how:
                how[name] *= self.scale
        self.artists += self.ax.plot(xs, ys, clip_on=False, **how)

    def axis(self, scale: Scale, y: float, show: Callable[[float], str] = percent) -> float:
        """Draw a horizontal axis with tick labels; return the y below it."""
        self.line([scale.left, scale.right], [y, y], color=self.ink.soft, lw=0.8)
        for tick in scale.ticks:
            at = scale.position(tick)
            self.line([at, at], [y, y + 0.05], color=self.ink.soft, lw=0.8)
            self.write(at, y + 0.13, show(tick), size=7.5, ha="center")
        return y + 0.22

    def reference_label(self, scale: Scale, value: float, y: float, text: str = "") -> None:
        """Write the label of a reference line ("τ = 0.9"), moved to stay inside the figure."""
        text = text or f"τ = {value:g}"
        # Near the right end the label would be cut by the edge of the figure.
        half = self.fonts.width(text, 8.0, bold=True) / 2
        x = min(max(scale.position(value), scale.left + half), self.width - half - 0.05)
        self.write(x, y, text, size=8, bold=True, ha="center")

    def reference_line(self, scale: Scale, value: float, top: float, bottom: float) -> None:
        """Draw a dashed vertical line at a value."""
        x = scale.position(value)
        self.line([x, x], [top, bottom], color=self.ink.text, lw=1.0, ls=(0, (4, 2)), zorder=4)

    def whiskers(
        self, scale: Scale, interval: tuple[float, float], middle: float, color: str
    ) -> None:
        """Draw an interval as a line with end caps."""
        low, high = map(scale.position, interval)
        self.line([low, high], [middle] * 2, color=color, lw=1.2, zorder=3)
        for end in (low, high):
            self.line([end, end], [middle - 0.05, middle + 0.05], color=color, lw=1.2)

    def stripe(self, number: int, x: float, y: float, width: float, height: float) -> None:
        """Shade the background of every other row."""
        if number % 2 == 0:
            self.box(x, y, width, height, facecolor=self.ink.line, edgecolor="none", alpha=0.28,
                     zorder=0)  # fmt: skip

    def box(self, x: float, y: float, width: float, height: float, **how: Any) -> None:
        """Draw a rectangle by its top left corner, width and height."""
        from matplotlib.patches import Rectangle

        self.add(Rectangle((x, y), width, height, clip_on=False, **how))

    def add(self, patch: Any) -> Any:
        """Draw any patch of matplotlib."""
        patch.set_linewidth(patch.get_linewidth() * self.scale)
        self.artists.append(self.ax.add_patch(patch))
        return patch


def paint(ax: Any, size: tuple[float, float], draw: Callable[[Canvas], float]) -> Axes:
    """Draw into `ax`, or into a new figure that is as high as the content needs.

    `draw` returns the y below the content. In axes that are too small everything is drawn again at
    a smaller scale.
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
        if used <= canvas.height * 1.005 or scale <= _SMALLEST_SCALE:
            break
        scale = max(_SMALLEST_SCALE, scale * max(0.6, min(0.95, canvas.height / used)))
        for artist in canvas.artists:
            artist.remove()
    host.set_ylim(max(used, canvas.height), 0)
    return host


def axes_for(ax: Any, size: tuple[float, float], *, bare: bool = False) -> Axes:
    """Return the axes to draw into: the given ones, or new ones in the given or a new figure.

    `bare` axes fill their figure, since they have no frame and no ticks.
    """
    try:
        from matplotlib.axes import Axes
        from matplotlib.figure import FigureBase
    except ImportError as error:
        raise SufficeError(
            'Figures need matplotlib. Install it with: pip install "suffice[plots]"'
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
    """Return the outermost figure of axes, also where these are in a subfigure."""
    # A subfigure has a `figure` too; the outermost one is its own.
    figure: Any = ax.figure
    while figure.figure is not figure:
        figure = figure.figure
    whole: Figure = figure
    return whole


def require_result(given: object, kind: Any, allowed: str) -> None:
    """Raise unless the argument `result` is of this kind."""
    if not isinstance(given, kind):
        raise InputError("result", given, allowed)


def ink_for(ax: Axes) -> Ink:
    """Return the colours for the background of axes: dark on light, light on dark.

    For a transparent figure the text colour in matplotlib's settings decides.
    """
    from matplotlib import rcParams
    from matplotlib.colors import to_hex, to_rgba

    # Axes without a frame show the figure behind them.
    for face in (ax.get_facecolor() if ax.axison else (0, 0, 0, 0), ax.figure.get_facecolor()):
        rgba = to_rgba(face)
        if rgba[3] > 0.5:
            return replace(LIGHT if _lightness(rgba) > 0.5 else DARK, paper=to_hex(rgba))
    return LIGHT if _lightness(to_rgba(rcParams["text.color"])) < 0.5 else DARK


def set_label(artist: Any, words: str, families: Fonts, **how: Any) -> None:
    """Set the text of a title, tick or axis label; `$` and `_` are characters, not formulas."""
    artist.set_text(families.printable(words))
    artist.set_parse_math(False)
    artist.set_usetex(False)
    artist.set_fontfamily(list(families.families))
    artist.set(**how)


def label_axes(ax: Axes, ink: Ink, x: str, y: str, title: str, title_color: str = "") -> None:
    """Style ordinary axes for the background, and set their labels and title."""
    letters = fonts()
    ax.spines[["top", "right"]].set_visible(False)
    for spine in ax.spines.values():
        spine.set_color(ink.soft)
    ax.tick_params(colors=ink.soft, labelcolor=ink.text, labelsize=9)
    set_label(ax.xaxis.label, x, letters, color=ink.text)
    set_label(ax.yaxis.label, y, letters, color=ink.text)
    set_label(ax.title, title, letters, color=title_color or ink.text, fontsize=11)


def axes_legend(ax: Axes, ink: Ink, **how: Any) -> None:
    """Add a legend without frame whose texts contain no formulas."""
    letters = fonts()
    legend = ax.legend(frameon=False, **how)
    for text in legend.get_texts():
        set_label(text, text.get_text(), letters, color=ink.text)


def _lightness(rgba: Sequence[float]) -> float:
    red, green, blue, _ = rgba
    return 0.299 * red + 0.587 * green + 0.114 * blue


def _canvas(host: Axes, width: float, height: float, scale: float, ink: Ink) -> Canvas:
    # Data coordinates are inches, and y grows downwards as lines of text do.
    host.set_xlim(0, width)
    host.set_ylim(height, 0)
    return Canvas(host, width, height, scale, ink, fonts())


def _inches(ax: Axes) -> tuple[float, float]:
    """Return the width and height of axes in inches, after the layout of their figure."""
    figure = root_figure(ax)
    if figure.get_layout_engine() is not None:
        # A layout engine sizes axes when it draws: before that their size is not known.
        figure.draw_without_rendering()
    return ax.bbox.width / figure.dpi, ax.bbox.height / figure.dpi
