"""Overlays: the regions of a factor highlighted in the image, and the map of all regions, as PNG.

The subject of an explanation holds the image, so an explanation loaded from JSON can be drawn too.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from suffice.context.players import Players
from suffice.errors import InputError
from suffice.explanation import Explanation
from suffice.explanation.schema import ImageSubject
from suffice.image.pixels import BytePixels, read_png, write_png
from suffice.image.regions import RegionLabels
from suffice.results import write_bytes
from suffice.typing import VIEWS, BoolVector, ViewName
from suffice.validation import check_choice, check_integer

_READABLE_SIDE = 240
"""Smaller images are enlarged by a whole number to about this many pixels."""

# The colours of keep and flip in `plots.canvas.LIGHT`: an image has no dark mode.
_COLOURS = {"keep": (0, 114, 178), "flip": (194, 81, 0)}
_LINE = (255, 255, 255)
_DIM, _FOG = 0.3, 205.0
"""Dimmed pixels mix this share of their own grey level with a light grey (0 to 255)."""


@dataclass(frozen=True, eq=False)
class Overlay:
    """An image with highlighted regions, which notebooks display and `save` writes as PNG."""

    pixels: BytePixels
    """RGB values of shape (height, width, 3)."""

    @property
    def png(self) -> bytes:
        """The overlay as PNG bytes."""
        return write_png(self.pixels)

    @property
    def uri(self) -> str:
        """The overlay as a data URI of PNG, for pages that load no other file."""
        return "data:image/png;base64," + b64encode(self.png).decode()

    def save(self, path: str | Path) -> None:
        """Write the overlay to a PNG file."""
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
    """Highlight one factor in its image.

    Parameters
    ----------
    explanation
        A result of `ImageExplainer`, also one loaded from JSON.
    view, factor
        The factor: its number in that view, or the names of any regions.
    size
        The most pixels on the longer side. None: as many as the image has; small images are
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
    subject = image_subject(explanation)
    chosen = check_choice("view", view, VIEWS)
    marked = _factor_regions(explanation, chosen, factor)
    most = None if size is None else check_integer("size", size, also="None")
    return draw_marked_regions(subject, marked, chosen, most)


def image_subject(explanation: Explanation) -> ImageSubject:
    """Return the explained image; raise for an explanation of other data."""
    subject = explanation.subject if isinstance(explanation, Explanation) else None
    if not isinstance(subject, ImageSubject):
        allowed = "an explanation of an image, by ImageExplainer"
        raise InputError("explanation", "an explanation of other data", allowed)
    return subject


def _factor_regions(
    explanation: Explanation, view: str, factor: int | Sequence[str]
) -> tuple[int, ...]:
    """Return the indices of the regions of a factor."""
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
    return Players(tuple(player.name for player in chosen.players), ()).indices(names, "factor")


def draw_marked_regions(
    subject: ImageSubject, marked: Iterable[int], view: str, size: int | None = None
) -> Overlay:
    """Dim all but the marked regions, and outline these outside their pixels."""
    pixels, labels = _scaled(subject, size)
    inside = np.isin(labels, list(marked))
    # Rec. 601 luma.
    grey = pixels @ np.array([0.299, 0.587, 0.114])
    fog = np.rint(_DIM * grey + (1 - _DIM) * _FOG).astype(np.uint8)
    out = np.where(inside[..., None], pixels, fog[..., None])
    # The outline lies outside, so that no marked pixel is hidden.
    out[_dilated(inside, _line_width(labels)) & ~inside] = _COLOURS[view]
    return Overlay(out)


def draw_region_map(subject: ImageSubject, size: int | None = None) -> Overlay:
    """Draw the image with lines between regions."""
    pixels, labels = _scaled(subject, size)
    edge = np.zeros(labels.shape, dtype=bool)
    edge[:, 1:] |= labels[:, 1:] != labels[:, :-1]
    edge[1:] |= labels[1:] != labels[:-1]
    out = pixels.copy()
    out[_dilated(edge, 1)] = (40, 40, 40)  # a dark border, visible on white
    out[edge] = _LINE
    return Overlay(out)


def label_positions(subject: ImageSubject) -> tuple[tuple[float, float, str], ...]:
    """Return the labels of the map as (x, y, label), from 0 to 1 of its width and height.

    Each label is placed at the pixel farthest from the border of its region, so it stays inside.

    >>> subject = ImageSubject.of(b"", np.array([[0, 0, 1, 1]]), ["sky", "sea"])
    >>> label_positions(subject)[1]
    (0.625, 0.5, 'sea')
    """
    from scipy.ndimage import distance_transform_edt

    labels = subject.labels
    height, width = labels.shape
    places = []
    for region, label in enumerate(subject.marks):
        if label:
            # Padded: the border of the image is a border of the region, too.
            depth = distance_transform_edt(np.pad(labels == region, 1))[1:-1, 1:-1]
            y, x = np.unravel_index(int(depth.argmax()), depth.shape)
            places.append((float(x + 0.5) / width, float(y + 0.5) / height, label))
    return tuple(places)


def _scaled(subject: ImageSubject, size: int | None) -> tuple[BytePixels, RegionLabels]:
    """Return pixels and region labels, enlarged or reduced to the wanted size.

    Enlarging repeats pixels a whole number of times; reducing averages blocks of pixels.
    """
    pixels, labels = _as_rgb(read_png(subject.picture)), subject.labels
    longest = max(labels.shape)
    # Whole numbers of times, so that pixels stay squares.
    times = max(1, min(_READABLE_SIDE, size or _READABLE_SIDE) // longest)
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
        # Labels cannot be averaged: the one in the middle of each block is taken.
        labels = labels[(rows[:-1] + rows[1:]) // 2][:, (columns[:-1] + columns[1:]) // 2]
    return pixels, labels


def _as_rgb(pixels: BytePixels) -> BytePixels:
    """Return pixels of shape (height, width, 3); transparent ones are blended with white."""
    if pixels.ndim == 2:
        return np.repeat(pixels[..., None], 3, axis=2)
    if pixels.shape[2] == 4:
        opacity = pixels[..., 3:] / 255
        return np.rint(pixels[..., :3] * opacity + 255 * (1 - opacity)).astype(np.uint8)
    return pixels


def _line_width(labels: RegionLabels) -> int:
    return max(1, int(max(labels.shape)) // 80)


def _dilated(inside: BoolVector, width: int) -> BoolVector:
    from scipy.ndimage import binary_dilation

    square = np.ones((3, 3), dtype=bool)
    return np.asarray(binary_dilation(inside, square, iterations=width))
