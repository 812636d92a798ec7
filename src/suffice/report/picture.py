"""Where everything stands in the picture of one view: a list of marks that any hand can draw.

From left to right: an UpSet matrix (a row per set, a column per feature, dots joined), each set's
sufficiency with its interval, and the barcode, the thresholds at which the set is minimal. One line
at τ runs through them, and under the barcode stands necessity against τ. `frontend/src/picture.ts`
places the same marks in the browser, and a test compares the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, floor, radians, sin
from typing import Literal

from suffice.summary import Picture
from suffice.wording import cut, percent

__all__ = ["Drawing", "Mark", "draw"]

_LEFT, _COLUMN, _ROW = 12, 24, 22
_HEAD_LETTERS, _LETTER, _TURN = 26, 6.2, 50
"""Heads are turned; so many letters, each about so wide."""
_SHARES, _NUMBER, _THRESHOLDS, _GAP = 150, 58, 230, 22
_GROUP, _AXIS, _CURVE = 20, 40, 84
_NEAR_ONE = 0.5
"""An axis begins above 0 only where all there is lies above this."""


@dataclass(frozen=True)
class Mark:
    """One thing to draw. `at` is x1 y1 x2 y2 of a line or x y r of a dot; x y width height of a
    box; x y of a text; the corners of a path."""

    kind: Literal["line", "dot", "box", "text", "path"]
    style: str
    at: tuple[float, ...]
    text: str = ""
    """What is written; of a box or a dot what is said when it is pointed at."""
    anchor: Literal["start", "middle", "end"] = "start"
    title: str = ""
    """What a text says in full, where it is cut."""
    turned: bool = False
    row: int = -1
    column: int = -1


@dataclass(frozen=True)
class Drawing:
    """Marks on a sheet of this size."""

    width: float
    height: float
    marks: tuple[Mark, ...]


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


def draw(picture: Picture) -> Drawing:
    """Put a picture's data in its place."""
    heads = [cut(column.label, _HEAD_LETTERS) for column in picture.columns]
    others = any(row.others for row in picture.rows)
    longest = max(map(len, heads), default=0)
    matrix = _LEFT + _COLUMN * (len(heads) + others)
    top = round(30 + max(longest * _LETTER * sin(radians(_TURN)), 24), 1)
    shares = _Axis(matrix + _GAP, _SHARES, _start([r.interval[0] for r in picture.rows], picture))
    lows = [row.low for row in picture.rows]
    thresholds = _Axis(matrix + _GAP + _SHARES + _NUMBER, _THRESHOLDS, _start(lows, picture))
    marks: list[Mark] = []
    y = top
    for group, said in ((True, f"minimal at τ = {picture.tau:g}"), (False, "at other thresholds")):
        rows = [(i, row) for i, row in enumerate(picture.rows) if row.at_tau is group]
        if not rows:
            continue
        marks.append(Mark("text", "group", (_LEFT, y + 14), said))
        y += _GROUP
        # A dashed line is a dot for each row: where the feature is in no set.
        first, last = y + _ROW / 2, y + _ROW * (len(rows) - 0.5)
        at = [_LEFT + _COLUMN * (j + 0.5) for j in range(len(heads))]
        marks += [
            Mark("line", "out", (x, first, x, last + 0.1), column=j) for j, x in enumerate(at)
        ]
        for i, _ in rows:
            marks += _row(picture, i, y, len(heads), shares, thresholds)
            y += _ROW
    bottom = y + 4
    named = [
        _head(j, head, column.title, top)
        for j, (head, column) in enumerate(zip(heads, picture.columns, strict=True))
    ]
    if others:
        x = _LEFT + _COLUMN * (len(heads) + 0.5)
        named.append(Mark("text", "head", (x, top - 8), "others", turned=True))
    titles = [
        Mark("text", "title", (shares.left, top - 20), "sufficiency"),
        Mark("text", "title", (thresholds.left, top - 20), "minimal for thresholds τ"),
    ]
    grid = [*_grid(shares, top - 2, bottom), *_grid(thresholds, top - 2, bottom)]
    lines = [_tau(shares, picture.tau, top - 2, bottom)]
    height = bottom + 20
    curve: list[Mark] = []
    if picture.curve:
        end = bottom + _AXIS + _CURVE
        curve = _necessity(picture, thresholds, bottom + _AXIS, end)
        lines.append(_tau(thresholds, picture.tau, top - 2, end))
        height = end + 20
    else:
        lines.append(_tau(thresholds, picture.tau, top - 2, bottom))
    line = thresholds.x(picture.tau)
    lines.append(Mark("text", "tau", (line, top - 6), f"τ = {picture.tau:g}", "middle"))
    # A head leans over what is right of it; where there is little, the sheet is wider for it.
    leaning = _LEFT + _COLUMN * len(heads) + longest * _LETTER * cos(radians(_TURN))
    width = round(max(thresholds.left + _THRESHOLDS + 24, leaning), 1)
    return Drawing(width, round(height, 1), (*grid, *named, *titles, *marks, *curve, *lines))


def _head(j: int, head: str, title: str, top: float) -> Mark:
    at = _LEFT + _COLUMN * (j + 0.5), top - 8
    full = title if title != head else ""
    return Mark("text", "head", at, head, title=full, turned=True, column=j)


def _row(
    picture: Picture, i: int, y: float, n_heads: int, shares: _Axis, thresholds: _Axis
) -> list[Mark]:
    row = picture.rows[i]
    on, middle = (" on" if row.at_tau else ""), y + _ROW / 2
    at = [_LEFT + _COLUMN * (j + 0.5) for j in range(n_heads)]
    out = []
    if len(row.columns) > 1:
        ends = at[row.columns[0]], middle, at[row.columns[-1]], middle
        out.append(Mark("line", f"join{on}", ends, row=i))
    for j in row.columns:
        said = picture.columns[j].title
        out.append(Mark("dot", f"in{on}", (at[j], middle, 6), said, row=i, column=j))
    if row.others:
        x = _LEFT + _COLUMN * (n_heads + 0.5)
        out.append(Mark("text", "others", (x, middle + 4), f"+{row.others}", "middle", row=i))
    low, high = row.interval
    said = f"{percent(row.sufficiency)}, 95% interval {percent(low)} to {percent(high)}"
    wide = round(max(shares.x(row.sufficiency) - shares.left, 1), 1)
    out.append(Mark("box", f"share{on}", (shares.left, middle - 5, wide, 10), said, row=i))
    a, b = shares.x(low), shares.x(high)
    up, down = middle - 4, middle + 4
    corners = a, up, a, down, a, middle, b, middle, b, up, b, down
    out.append(Mark("path", "whisker", corners, row=i))
    at_number = shares.left + _SHARES + 8
    out.append(
        Mark("text", f"number{on}", (at_number, middle + 4), percent(row.sufficiency), row=i)
    )
    a, b = thresholds.x(row.low), thresholds.x(row.high)
    said = f"minimal for τ above {row.low:.3f} up to {row.high:.3f}"
    box = a, middle - 5, round(max(b - a, 1.5), 1), 10
    out.append(Mark("box", f"bar{on}", box, said, row=i))
    return out


def _start(lows: list[float], picture: Picture) -> float:
    """Where an axis begins: at 0, or just below all there is where that is near 1."""
    least = min([*lows, picture.tau])
    return floor(least * 10 - 1e-9) / 10 if least > _NEAR_ONE else 0.0


def _grid(axis: _Axis, top: float, bottom: float) -> list[Mark]:
    out = []
    for tick in axis.ticks:
        x = axis.x(tick)
        out.append(Mark("line", "grid", (x, top, x, bottom)))
        out.append(Mark("text", "tick", (x, bottom + 13), f"{round(tick, 3):g}", "middle"))
    return out


def _tau(axis: _Axis, tau: float, top: float, bottom: float) -> Mark:
    x = axis.x(tau)
    return Mark("line", "tau", (x, top, x, bottom))


def _necessity(picture: Picture, axis: _Axis, top: float, bottom: float) -> list[Mark]:
    """The falling steps of cumulative necessity, from where the axis begins."""

    def y(share: float) -> float:
        return round(bottom - (bottom - top) * share, 1)

    out = []
    for share in (0.0, 0.5, 1.0):
        ends = axis.left, y(share), axis.left + _THRESHOLDS, y(share)
        out.append(Mark("line", "grid", ends))
        label = f"{share:.0%}"
        out.append(Mark("text", "tick", (axis.left - 6, y(share) + 4), label, "end"))
    corners: list[float] = []
    before = axis.start
    for tau, share in (*picture.curve, (1.0, 0.0)):
        if tau >= axis.start and tau > before:
            corners += [axis.x(before), y(share), axis.x(tau), y(share)]
            before = tau
    out.append(Mark("path", "step", tuple(corners)))
    said = "necessity: how much of the outcome"
    out.append(Mark("text", "title", (axis.left - 46, y(0.5) - 4), said, "end"))
    out.append(Mark("text", "title", (axis.left - 46, y(0.5) + 12), "the sets at τ cover", "end"))
    return out
