"""Regions: the parts of a picture that are held or replaced, as a label for each pixel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice import checks
from suffice.errors import InputError, did_you_mean, shorten
from suffice.image.picture import Picture
from suffice.wording import count

__all__ = ["Labels", "Regions", "find_regions"]

Labels = NDArray[np.int64]
"""(H, W): the number of the region that each pixel is in."""

_ALLOWED = '"slic", "felzenszwalb", "grid", a map of labels (H, W), or a callable image -> map'


@dataclass(frozen=True, eq=False)
class Regions:
    """Labels from 0 to d - 1, a name for each, and what is written on it in a drawing."""

    labels: Labels
    names: tuple[str, ...]
    marks: tuple[str, ...]


def find_regions(
    spec: Any, picture: Picture, n_regions: int, names: Sequence[str] | None = None
) -> Regions:
    """Cut a picture up by the method named, or by the user's own map."""
    named: tuple[str, ...] | None = None
    if isinstance(spec, str):
        if spec not in _METHODS:
            hint = did_you_mean(spec, _METHODS)
            raise InputError("regions", repr(spec), _ALLOWED, hint)
        labels, named = _METHODS[spec](picture, n_regions)
        if n_regions > 1 and labels.size > 1 and labels.max() == labels.min():
            got = f"{spec!r}, which finds one region only in this picture"
            hint = 'Raise n_regions, or use "grid".'
            raise InputError("regions", got, "regions that part the picture", hint)
    else:
        given = spec
        if callable(spec):
            given = checks.ran("regions", spec, "a function from an image to a map", picture.pixels)
        labels = _checked_map(given, picture.size)
    _, labels = np.unique(labels, return_inverse=True)
    labels = labels.reshape(picture.size)
    d = int(labels.max()) + 1
    given_names = _checked_names(names, d)
    if given_names is not None:
        return Regions(labels, given_names, given_names)
    if named is not None:  # rows and columns are seen without being told
        return Regions(labels, named, ("",) * d)
    numbers = tuple(str(i + 1) for i in range(d))
    return Regions(labels, tuple(f"region {number}" for number in numbers), numbers)


def _grid(picture: Picture, n: int) -> tuple[Labels, tuple[str, ...]]:
    """At most n rectangles, as many and as nearly square as can be."""
    height, width = picture.size

    def badness(rows: int) -> float:
        columns = min(width, n // rows)
        return abs(log(height / rows * columns / width)) + log(n / (rows * columns))

    rows = min(range(1, min(n, height) + 1), key=badness)
    columns = min(width, n // rows)
    of_row = np.arange(height) * rows // height
    of_column = np.arange(width) * columns // width
    names = (f"row {i + 1} column {j + 1}" for i in range(rows) for j in range(columns))
    return of_row[:, None] * columns + of_column, tuple(names)


def _slic(picture: Picture, n: int) -> tuple[Labels, None]:
    """Superpixels of about one size that follow the colours; never more than n."""
    segmentation = _skimage("slic")
    image = _for_skimage(picture)
    grey = image.ndim == 2
    # It gives fewer than it is asked for, or more: take the first that is fine enough but no finer.
    for asked in (*(n * quarters // 4 for quarters in range(8, 3, -1)), *range(n - 1, 0, -1)):
        labels = segmentation.slic(
            image,
            n_segments=asked,
            # Distances between greys are a hundredth of those between colours in Lab.
            compactness=0.1 if grey else 10.0,
            channel_axis=None if grey else -1,
            start_label=0,
        )
        if labels.max() < n:
            break
    return labels, None


def _felzenszwalb(picture: Picture, n: int) -> tuple[Labels, None]:
    """Regions of any size, bounded by edges; never more than n."""
    segmentation = _skimage("felzenszwalb")
    image = _for_skimage(picture)
    labels = np.zeros(picture.size, dtype=np.int64)
    for share in (8, 4, 2, 1):  # none is smaller than a share of the mean: at 1 there are at most n
        least = -(-labels.size // (share * n))
        labels = segmentation.felzenszwalb(
            image, scale=100, min_size=least, channel_axis=None if image.ndim == 2 else -1
        )
        if labels.max() < n:
            break
    return labels, None


_METHODS: dict[str, Callable[[Picture, int], tuple[Labels, tuple[str, ...] | None]]] = {
    "slic": _slic,
    "felzenszwalb": _felzenszwalb,
    "grid": _grid,
}


def _skimage(method: str) -> Any:
    try:
        return import_module("skimage.segmentation")
    except ImportError as error:
        raise InputError(
            "regions",
            f"{method!r}, and scikit-image is not installed",
            '"grid" or a map of labels without it',
            "Run: pip install scikit-image",
        ) from error


def _for_skimage(picture: Picture) -> NDArray[np.float64]:
    """Grey or three colours from 0 to 1; opacity is left out."""
    shown = picture.shown / 255
    return shown if shown.ndim == 2 else shown[..., :3]


def _checked_map(given: Any, size: tuple[int, int]) -> Labels:
    allowed = f"a map of whole numbers of the image's height and width, {size}"
    uncovered = "labels >= 0: the map must cover the image"
    hint = "Give the background a label of its own: it is then a region like the others."
    if np.ma.is_masked(given):
        raise InputError("regions", "a map with masked pixels", uncovered, hint)
    try:
        labels = np.asarray(given)
    except ValueError:  # ragged lists
        labels = np.empty(0, dtype=object)
    if labels.dtype.kind not in "biu":
        what = shorten(given) if labels.ndim == 0 else f"a map of dtype {labels.dtype}"
        raise InputError("regions", what, _ALLOWED if labels.ndim == 0 else allowed)
    if labels.shape != size:
        raise InputError("regions", f"a map of shape {labels.shape}", allowed)
    if labels.min() < 0:
        raise InputError("regions", f"the label {labels.min()} in a map", uncovered, hint)
    return labels


def _checked_names(names: Sequence[str] | None, d: int) -> tuple[str, ...] | None:
    if names is None:
        return None
    allowed = "a list of strings, one per region"
    if isinstance(names, str):
        raise InputError("names", repr(names), allowed)
    given = checks.names("names", names, allowed)
    if len(given) != d or len(set(given)) != d:
        got = f"{count(len(given), 'name')}, {len(set(given))} of them distinct"
        raise InputError("names", got, f"{d} distinct names, one per region")
    return tuple(given)
