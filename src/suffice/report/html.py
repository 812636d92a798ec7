"""HTML pages and notebook cells: templates, SVG picture, style, script, content security policy.

A page is readable with scripts off, printed or in an e-mail. Where scripts run, one bundle computes
from the counts that the page contains. The policy allows no other script and no network access:
styles and scripts are named by their hashes.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from html import escape
from importlib import resources
from math import cos, radians, sin
from typing import Any, Literal

from suffice.explanation.schema import ImageSubject
from suffice.formatting import excerpt, format_name, join_first, percent, printable, truncate
from suffice.report.page_data import PageScripts
from suffice.summary import Summary, ViewSignature
from suffice.summary.signature import axis_start, step_corners

_MOST_VALUES_UNFOLDED = 20
"""More values of the input than this are folded away."""

_IMAGE_SIDE = 360
"""Longer side of an embedded image in pixels; a page may hold fifty of them."""


@dataclass(frozen=True)
class RegionMap:
    """The image with its regions outlined, and the places of their labels."""

    uri: str
    width: int
    height: int
    labels: tuple[tuple[float, float, str], ...]


def document(title: str, style: str, content: str, script: str = "") -> str:
    """Return an HTML page whose policy allows only its own style and script."""
    policy = [
        "default-src 'none'",
        # No 'unsafe-inline': a script or style injected by a feature's name has another hash.
        f"style-src {_hash(style)}",
        "img-src data: blob:",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    if script:
        policy.insert(1, f"script-src {_hash(script)}")
    return render_template(
        "document.html.j2",
        policy="; ".join(policy),
        title=title,
        style=style,
        content=content,
        script=script,
    )


def notebook_cell(page: str, style: str, content: str) -> str:
    """Return a notebook cell: the page in a frame, and static content where frames are removed."""
    return render_template("cell.html.j2", page=escape(page), style=style, content=content)


def explanation_body(
    summary: Summary, live: PageScripts | None = None, within: bool = False
) -> str:
    """Return the HTML of one explanation, without the page around it.

    With `within`, for one of many explanations on a page, the script draws the signature picture.
    """
    return render_template(
        "body.html.j2",
        s=summary,
        live=live,
        within=within,
        draw=draw_signature,
        excerpt=excerpt,
        join_first=join_first,
        marked=marked_image,
        region_map=region_map,
        values_open=_MOST_VALUES_UNFOLDED,
    )


def stylesheet(summaries: Sequence[Summary], *more: str) -> str:
    """Return the style sheets that these summaries need."""
    files = ["style.css", *more]
    files += ["text.css"] if any(s.source_text for s in summaries) else []
    files += ["picture.css"] if any(s.image for s in summaries) else []
    return "".join(map(template_text, files))


@lru_cache(maxsize=1)
def script_bundle() -> str:
    """Return the script, which esbuild makes from `frontend/`."""
    return (resources.files("suffice.report") / "bundle.js").read_text(encoding="utf-8")


def region_map(summary: Summary) -> RegionMap:
    """Return the map of an image's regions, with the places of labels in its pixels."""
    from suffice.image.overlays import draw_region_map, label_positions

    assert summary.image is not None
    drawn = draw_region_map(summary.image, _IMAGE_SIDE)
    height, width = drawn.pixels.shape[:2]
    places = label_positions(summary.image)
    labels = tuple((x * width, y * height, format_name(label)) for x, y, label in places)
    return RegionMap(drawn.uri, width, height, labels)


def marked_image(picture: ImageSubject, regions: tuple[int, ...], view: str) -> str:
    """Return the image with a factor's regions marked, as a data URI."""
    from suffice.image.overlays import draw_marked_regions

    return draw_marked_regions(picture, regions, view, _IMAGE_SIDE).uri


def _hash(text: str) -> str:
    digest: Any = sha256(text.encode()).digest()
    return f"'sha256-{b64encode(digest).decode()}'"


# Templates.


def render_template(template: str, **given: Any) -> str:
    """Fill in a template; an undefined variable is an error, and all text is escaped."""
    text: str = _environment().get_template(template).render(**given)
    # Lone surrogates, as broken input may contain, cannot be encoded as UTF-8.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def template_text(name: str) -> str:
    """Return a file of the template folder unchanged."""
    return _files()[name]


@lru_cache(maxsize=1)
def _files() -> dict[str, str]:
    folder = resources.files("suffice.report") / "templates"
    return {item.name: item.read_text(encoding="utf-8") for item in folder.iterdir()}


@lru_cache(maxsize=1)
def _environment() -> Any:
    from jinja2 import DictLoader, Environment, StrictUndefined

    environment = Environment(
        loader=DictLoader(_files()),
        # Names and values come from users' data, so escaping must not depend on each template.
        autoescape=True,
        # A misspelt variable would otherwise be an empty place on the page.
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize,
    )
    environment.filters["percent"] = percent
    environment.filters["brief"] = "{:g}".format
    return environment


def _finalize(value: Any) -> Any:
    """Return the value of a template's expression without unsafe characters; markup unchanged."""
    return printable(value, keep_lines=True) if type(value) is str else value


# Signature picture as SVG marks. `frontend/src/picture.ts` computes the same marks.


_LEFT, _COLUMN, _ROW = 12, 24, 22
_HEAD_LETTERS, _LETTER, _TURN = 26, 6.2, 50
"""Column heads: most letters, width of a letter in pixels, and rotation in degrees."""
_SHARES, _NUMBER, _THRESHOLDS, _GAP = 150, 58, 230, 22
_SHORT = 390
"""Largest width of a half that a narrow screen shows whole, slightly scaled down; in pixels."""
_GROUP, _AXIS, _CURVE = 20, 40, 84
_GAP_OF_NUMBERS = 6
"""Distance from the axis of shares to the right half, which begins with the shares as numbers."""


@dataclass(frozen=True)
class SvgMark:
    """SVG element with its style, its coordinates and its text.

    `at` is x1 y1 x2 y2 of a line, x y r of a dot, x y width height of a box, x y of a text, or the
    corners of a path.
    """

    kind: Literal["line", "dot", "box", "text", "path"]
    style: str
    at: tuple[float, ...]
    text: str = ""
    """The text, or the tooltip of a box or a dot."""
    anchor: Literal["start", "middle", "end"] = "start"
    title: str = ""
    """The full text, where `text` is cut."""
    rotated: bool = False
    row: int = -1
    column: int = -1


@dataclass(frozen=True)
class SvgHalf:
    """Marks of one half of a drawing in the drawing's coordinates; (x, y) is its top left
    corner."""

    side: Literal["left", "right"]
    x: float
    y: float
    width: float
    height: float
    marks: tuple[SvgMark, ...]

    @property
    def short(self) -> bool:
        """True if a narrow screen shows the half whole, slightly scaled down; others scroll."""
        return self.width <= _SHORT


@dataclass(frozen=True)
class SvgDrawing:
    """Marks, and the size of the drawing in pixels."""

    width: float
    height: float
    marks: tuple[SvgMark, ...]
    split: float
    """The x from which on marks are in the right half, which narrow screens show below the left."""
    half_top: float
    """The y at which the right half begins; above it are the heads of columns only."""
    has_curve: bool

    @property
    def halves(self) -> tuple[SvgHalf, SvgHalf]:
        """The two halves; together they are the drawing."""
        parts: tuple[list[SvgMark], list[SvgMark]] = [], []
        for mark in self.marks:
            # No mark crosses the split, so its first x decides which half it belongs to.
            parts[mark.at[0] >= self.split].append(mark)
        left = SvgHalf("left", 0, 0, self.split, self.height, tuple(parts[0]))
        wide, high = round(self.width - self.split, 1), round(self.height - self.half_top, 1)
        return left, SvgHalf("right", self.split, self.half_top, wide, high, tuple(parts[1]))


@dataclass(frozen=True)
class _Axis:
    left: float
    width: float
    start: float

    def x(self, share: float) -> float:
        inside = min(max(share, self.start), 1.0)
        return round(self.left + self.width * (inside - self.start) / (1 - self.start), 1)

    @property
    def ticks(self) -> list[float]:
        steps = [0.0, 0.25, 0.5, 0.75, 1.0]
        if self.start > 0:
            middle = (self.start + 1) / 2
            steps = [self.start, middle, 1.0]
        return steps


def draw_signature(picture: ViewSignature) -> SvgDrawing:
    """Return the marks of a signature picture."""
    heads = [truncate(column.label, _HEAD_LETTERS) for column in picture.columns]
    others = any(row.n_without_column for row in picture.rows)
    longest = max(map(len, heads), default=0)
    # One more column counts the features of a set that have no column.
    matrix = _LEFT + _COLUMN * (len(heads) + others)
    top = round(30 + max(longest * _LETTER * sin(radians(_TURN)), 24), 1)
    lowest = axis_start([picture.tau, *(row.interval[0] for row in picture.rows)])
    shares = _Axis(matrix + _GAP, _SHARES, lowest)
    lowest = axis_start([picture.tau, *(row.low for row in picture.rows)])
    thresholds = _Axis(matrix + _GAP + _SHARES + _NUMBER, _THRESHOLDS, lowest)
    marks: list[SvgMark] = []
    y = top
    for group, said in ((True, f"minimal at τ = {picture.tau:g}"), (False, "at other thresholds")):
        rows = [(i, row) for i, row in enumerate(picture.rows) if row.at_tau is group]
        if not rows:
            continue
        marks.append(SvgMark("text", "group", (_LEFT, y + 14), said))
        y += _GROUP
        # One dotted line per column has a dot in each row; a set's own marks cover its dots.
        first, last = y + _ROW / 2, y + _ROW * (len(rows) - 0.5)
        at = [_LEFT + _COLUMN * (j + 0.5) for j in range(len(heads))]
        marks += [
            SvgMark("line", "out", (x, first, x, last + 0.1), column=j) for j, x in enumerate(at)
        ]
        for i, _ in rows:
            marks += _row_marks(picture, i, y, len(heads), shares, thresholds)
            y += _ROW
    bottom = y + 4
    named = [
        _head_mark(j, head, column.full_name, top)
        for j, (head, column) in enumerate(zip(heads, picture.columns, strict=True))
    ]
    if others:
        x = _LEFT + _COLUMN * (len(heads) + 0.5)
        named.append(SvgMark("text", "head", (x, top - 8), "others", rotated=True))
    titles = [
        SvgMark("text", "title", (shares.left, top - 20), "sufficiency"),
        SvgMark("text", "title", (thresholds.left, top - 20), "minimal for thresholds τ"),
    ]
    grid = [*_grid_marks(shares, top - 2, bottom), *_grid_marks(thresholds, top - 2, bottom)]
    lines = [_tau_line(shares, picture.tau, top - 2, bottom)]
    height = bottom + 20
    curve: list[SvgMark] = []
    if picture.curve:
        end = bottom + _AXIS + _CURVE
        curve = _curve_marks(picture, thresholds, bottom + _AXIS, end)
        lines.append(_tau_line(thresholds, picture.tau, top - 2, end))
        height = end + 20
    else:
        lines.append(_tau_line(thresholds, picture.tau, top - 2, bottom))
    line = thresholds.x(picture.tau)
    lines.append(SvgMark("text", "tau", (line, top - 6), f"τ = {picture.tau:g}", "middle"))
    # Heads are rotated to the right, so the last one may reach beyond the axes.
    leaning = _LEFT + _COLUMN * len(heads) + longest * _LETTER * cos(radians(_TURN))
    width = round(max(thresholds.left + _THRESHOLDS + 24, leaning), 1)
    return SvgDrawing(
        width,
        round(height, 1),
        (*grid, *named, *titles, *marks, *curve, *lines),
        split=shares.left + _SHARES + _GAP_OF_NUMBERS,
        half_top=round(top - 34, 1),
        has_curve=bool(picture.curve),
    )


def _head_mark(j: int, head: str, title: str, top: float) -> SvgMark:
    at = _LEFT + _COLUMN * (j + 0.5), top - 8
    full = title if title != head else ""
    return SvgMark("text", "head", at, head, title=full, rotated=True, column=j)


def _row_marks(
    picture: ViewSignature, i: int, y: float, n_heads: int, shares: _Axis, thresholds: _Axis
) -> list[SvgMark]:
    row = picture.rows[i]
    on, middle = (" on" if row.at_tau else ""), y + _ROW / 2
    at = [_LEFT + _COLUMN * (j + 0.5) for j in range(n_heads)]
    out = []
    if len(row.columns) > 1:
        ends = at[row.columns[0]], middle, at[row.columns[-1]], middle
        out.append(SvgMark("line", f"join{on}", ends, row=i))
    for j in row.columns:
        said = picture.columns[j].full_name
        out.append(SvgMark("dot", f"in{on}", (at[j], middle, 6), said, row=i, column=j))
    if row.n_without_column:
        x = _LEFT + _COLUMN * (n_heads + 0.5)
        out.append(
            SvgMark("text", "others", (x, middle + 4), f"+{row.n_without_column}", "middle", row=i)
        )
    low, high = row.interval
    said = f"{percent(row.sufficiency)}, 95% interval {percent(low)} to {percent(high)}"
    wide = round(max(shares.x(row.sufficiency) - shares.left, 1), 1)
    out.append(SvgMark("box", f"share{on}", (shares.left, middle - 5, wide, 10), said, row=i))
    a, b = shares.x(low), shares.x(high)
    up, down = middle - 4, middle + 4
    corners = a, up, a, down, a, middle, b, middle, b, up, b, down
    out.append(SvgMark("path", "whisker", corners, row=i))
    at_number = shares.left + _SHARES + 8
    out.append(
        SvgMark("text", f"number{on}", (at_number, middle + 4), percent(row.sufficiency), row=i)
    )
    a, b = thresholds.x(row.low), thresholds.x(row.high)
    said = f"minimal for τ above {row.low:.3f} up to {row.high:.3f}"
    if row.unknown_below_tau:
        said = f"minimal for τ from {picture.tau:g} up to {row.high:.3f}; not known below"
        ends = thresholds.left, middle, a, middle
        out.append(SvgMark("line", "unknown", ends, row=i))
    # At least 1.5 pixels wide, so that a set minimal at hardly any τ can be seen.
    box = a, middle - 5, round(max(b - a, 1.5), 1), 10
    out.append(SvgMark("box", f"bar{on}", box, said, row=i))
    return out


def _grid_marks(axis: _Axis, top: float, bottom: float) -> list[SvgMark]:
    out = []
    for tick in axis.ticks:
        x = axis.x(tick)
        out.append(SvgMark("line", "grid", (x, top, x, bottom)))
        out.append(SvgMark("text", "tick", (x, bottom + 13), f"{round(tick, 3):g}", "middle"))
    return out


def _tau_line(axis: _Axis, tau: float, top: float, bottom: float) -> SvgMark:
    x = axis.x(tau)
    return SvgMark("line", "tau", (x, top, x, bottom))


def _curve_marks(picture: ViewSignature, axis: _Axis, top: float, bottom: float) -> list[SvgMark]:
    """Return the step curve of cumulative necessity."""

    def y(share: float) -> float:
        return round(bottom - (bottom - top) * share, 1)

    out = []
    for share in (0.0, 0.5, 1.0):
        ends = axis.left, y(share), axis.left + _THRESHOLDS, y(share)
        out.append(SvgMark("line", "grid", ends))
        label = f"{share:.0%}"
        out.append(SvgMark("text", "tick", (axis.left - 6, y(share) + 4), label, "end"))
    for style, curve in (("chance", picture.chance_curve), ("step", picture.curve)):
        corners = zip(*step_corners(curve, axis.start), strict=True)
        out.append(SvgMark("path", style, tuple(c for t, s in corners for c in (axis.x(t), y(s)))))
    said = "cumulative necessity (thin: by chance)"
    out.append(SvgMark("text", "title", (axis.left - 46, top - 12), said))
    return out
