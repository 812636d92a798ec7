"""Factors shown in place: their regions as they are, all others dimmed, an outline between.

Drawn from an explanation's subject alone, so that one read back from JSON can be drawn as well.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from suffice.checks import choice, whole
from suffice.context.players import Players
from suffice.errors import InputError
from suffice.explanation import Explanation
from suffice.explanation.subject import ImageSubject
from suffice.image.png import Bytes, read_png, write_png
from suffice.image.regions import Labels
from suffice.results import write_bytes
from suffice.typing import VIEWS, BoolVector, ViewName

__all__ = ["Overlay", "draw_map", "draw_marked", "label_places", "overlay", "subject_of"]

_READABLE = 240
"""Smaller pictures are enlarged, by a whole number, to about so many pixels."""

_COLOURS = {"keep": (0, 114, 178), "flip": (194, 81, 0)}
_LINE = (255, 255, 255)
_DIM, _FOG = 0.3, 205.0
"""What is dimmed keeps this share of its grey, and fog makes up the rest."""


@dataclass(frozen=True, eq=False)
class Overlay:
    """A drawn picture: shows itself in a notebook, and can be saved as PNG."""

    pixels: Bytes
    """(H, W, 3)"""

    @property
    def png(self) -> bytes:
        """The PNG's bytes."""
        return write_png(self.pixels)

    @property
    def uri(self) -> str:
        """The PNG as a data URI, to stand in a page by itself."""
        return "data:image/png;base64," + b64encode(self.png).decode()

    def save(self, path: str | Path) -> None:
        """Write the PNG."""
        write_bytes(path, self.png)

    def _repr_png_(self) -> bytes:
        return self.png


def overlay(
    explanation: Explanation,
    *,
    view: ViewName = "keep",
    factor: int | Sequence[str] = 0,
    size: int | None = None,
) -> Overlay:
    """Draw one factor in its picture.

    Parameters
    ----------
    explanation
        What an `ImageExplainer` said, fresh or read back.
    view, factor
        Which factor: its number in that view, or the names of any regions.
    size
        The most pixels on the longer side. None: as many as the picture has; small pictures are
        enlarged either way.

    Examples
    --------
    >>> import numpy as np
    >>> from suffice.image import ImageExplainer
    >>> def model(images):
    ...     return images[:, 0, 0] > 0.5
    >>> explainer = ImageExplainer(model, regions="grid", n_regions=4, references=0)
    >>> overlay(explainer(np.ones((4, 4)))).pixels.shape
    (240, 240, 3)
    """
    subject = subject_of(explanation)
    chosen = choice("view", view, VIEWS)
    marked = _members(explanation, chosen, factor)
    most = None if size is None else whole("size", size, also="None")
    return draw_marked(subject, marked, chosen, most)


def subject_of(explanation: Explanation) -> ImageSubject:
    """The picture that was explained; an error for an explanation of anything else."""
    subject = explanation.subject if isinstance(explanation, Explanation) else None
    if not isinstance(subject, ImageSubject):
        allowed = "an explanation of a picture, by ImageExplainer"
        raise InputError("explanation", "one of something else", allowed)
    return subject


def _members(explanation: Explanation, view: str, factor: int | Sequence[str]) -> tuple[int, ...]:
    """The numbers of a factor's regions."""
    chosen = explanation.keep if view == "keep" else explanation.flip
    names: object
    if isinstance(factor, int | np.integer) and not isinstance(factor, bool):
        count = len(chosen.factors)
        if not 0 <= factor < count:
            hint = "" if count else "Lower the threshold with .at(tau)."
            allowed = f"one of the {count} factors of {view} at τ = {chosen.tau:g}, from 0 on"
            raise InputError("factor", factor, allowed, hint)
        names = chosen.factors[int(factor)].features
    else:
        names = factor
    return Players(tuple(player.name for player in chosen.players), ()).numbers(names, "factor")


def draw_marked(
    subject: ImageSubject,
    marked: Iterable[int],
    view: str,
    size: int | None = None,
    line: tuple[int, int, int] | None = None,
) -> Overlay:
    """The marked regions stay as they are; the outline is drawn around them, not over them.

    `line` is its colour; None: the view's.
    """
    pixels, labels = _scaled(subject, size)
    inside = np.isin(labels, list(marked))
    grey = pixels @ np.array([0.299, 0.587, 0.114])
    fog = np.rint(_DIM * grey + (1 - _DIM) * _FOG).astype(np.uint8)
    out = np.where(inside[..., None], pixels, fog[..., None])
    out[_grown(inside, _line_width(labels)) & ~inside] = line or _COLOURS[view]
    return Overlay(out)


def draw_map(subject: ImageSubject, size: int | None = None) -> Overlay:
    """The picture with a line between any two regions."""
    pixels, labels = _scaled(subject, size)
    edge = np.zeros(labels.shape, dtype=bool)
    edge[:, 1:] |= labels[:, 1:] != labels[:, :-1]
    edge[1:] |= labels[1:] != labels[:-1]
    out = pixels.copy()
    out[_grown(edge, 1)] = (40, 40, 40)  # a dark hem, to be seen on white as well
    out[edge] = _LINE
    return Overlay(out)


def label_places(subject: ImageSubject) -> tuple[tuple[float, float, str], ...]:
    """Where to write what on the map: (x, y, label), from 0 to 1 of its width and height.

    Each label goes where its region is widest, so that it stays inside.

    >>> subject = ImageSubject.of(b"", np.array([[0, 0, 1, 1]]), ["sky", "sea"])
    >>> label_places(subject)[1]
    (0.625, 0.5, 'sea')
    """
    from scipy.ndimage import distance_transform_edt

    labels = subject.labels
    height, width = labels.shape
    places = []
    for region, label in enumerate(subject.marks):
        if label:
            depth = distance_transform_edt(np.pad(labels == region, 1))[1:-1, 1:-1]
            y, x = np.unravel_index(int(depth.argmax()), depth.shape)
            places.append((float(x + 0.5) / width, float(y + 0.5) / height, label))
    return tuple(places)


def _scaled(subject: ImageSubject, size: int | None) -> tuple[Bytes, Labels]:
    """Pixels and labels, a whole number of times larger or smaller."""
    pixels, labels = _colours(read_png(subject.picture)), subject.labels
    longest = max(labels.shape)
    times = max(1, min(_READABLE, size or _READABLE) // longest)
    step = 1 if size is None else -(-longest // size)
    if times > 1:
        ones = np.ones((times, times), dtype=np.uint8)
        pixels = np.stack([np.kron(pixels[..., c], ones) for c in range(3)], axis=-1)
        labels = np.kron(labels, ones)
    elif step > 1:
        height, width = (max(1, side // step) for side in labels.shape)
        rows = np.linspace(0, labels.shape[0], height + 1).astype(int)
        columns = np.linspace(0, labels.shape[1], width + 1).astype(int)
        sums = np.add.reduceat(pixels.astype(np.int64), rows[:-1], axis=0)
        sums = np.add.reduceat(sums, columns[:-1], axis=1)
        area = np.outer(np.diff(rows), np.diff(columns))[..., None]
        pixels = np.rint(sums / area).astype(np.uint8)
        labels = labels[(rows[:-1] + rows[1:]) // 2][:, (columns[:-1] + columns[1:]) // 2]
    return pixels, labels


def _colours(pixels: Bytes) -> Bytes:
    """(H, W, 3); what is see-through is laid on white."""
    if pixels.ndim == 2:
        return np.repeat(pixels[..., None], 3, axis=2)
    if pixels.shape[2] == 4:
        opacity = pixels[..., 3:] / 255
        return np.rint(pixels[..., :3] * opacity + 255 * (1 - opacity)).astype(np.uint8)
    return pixels


def _line_width(labels: Labels) -> int:
    return max(1, int(max(labels.shape)) // 80)


def _grown(inside: BoolVector, width: int) -> BoolVector:
    from scipy.ndimage import binary_dilation

    square = np.ones((3, 3), dtype=bool)
    return np.asarray(binary_dilation(inside, square, iterations=width))
