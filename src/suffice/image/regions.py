"""Regions: segmentation of an image into parts that are held or replaced (SLIC, grid, map)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from importlib import import_module
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice import validation as checks
from suffice.errors import InputError, did_you_mean, missing_package, short_repr
from suffice.formatting import plural
from suffice.image.pixels import ImageArray
from suffice.typing import Counts

RegionLabels = NDArray[np.int64]
"""(H, W): the number of the region that each pixel is in."""

_ALLOWED = '"slic", "felzenszwalb", "grid", a map of labels (H, W), or a callable image -> map'


@dataclass(frozen=True, eq=False)
class Regions:
    """Labels 0 to d - 1 per pixel, and each region's name and mark in drawings."""

    labels: RegionLabels
    names: tuple[str, ...]
    marks: tuple[str, ...]


def find_regions(
    spec: Any, picture: ImageArray, n_regions: int, names: Sequence[str] | None = None
) -> Regions:
    """Segment an image by a named method or by the user's map."""
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
            given = checks.call_user_function(
                "regions", spec, "a function from an image to a map", picture.pixels
            )
        labels = _check_map(given, picture.size)
    _, labels = np.unique(labels, return_inverse=True)
    labels = labels.reshape(picture.size)
    d = int(labels.max()) + 1
    given_names = _check_names(names, d)
    if given_names is not None:
        return Regions(labels, given_names, given_names)
    if named is not None:  # rows and columns of a grid need no marks in the picture
        return Regions(labels, named, ("",) * d)
    numbers = tuple(str(i + 1) for i in range(d))
    return Regions(labels, tuple(f"region {number}" for number in numbers), numbers)


def _grid(picture: ImageArray, n: int) -> tuple[RegionLabels, tuple[str, ...]]:
    """Return a grid of at most n rectangles, as many and as nearly square as possible."""
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


def _slic(picture: ImageArray, n: int) -> tuple[RegionLabels, None]:
    """Return at most n SLIC superpixels, which have about one size and follow the colours."""
    segmentation = _skimage("slic")
    image = _for_skimage(picture)
    grey = image.ndim == 2
    # SLIC may return fewer or more segments than requested: take the first with at most n.
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


def _felzenszwalb(picture: ImageArray, n: int) -> tuple[RegionLabels, None]:
    """Return at most n regions by Felzenszwalb's method, of any size, bounded by edges."""
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


_METHODS: dict[str, Callable[[ImageArray, int], tuple[RegionLabels, tuple[str, ...] | None]]] = {
    "slic": _slic,
    "felzenszwalb": _felzenszwalb,
    "grid": _grid,
}


def _skimage(method: str) -> Any:
    try:
        return import_module("skimage.segmentation")
    except ImportError as error:
        purpose = f"regions={method!r}"
        raise missing_package(purpose, "scikit-image", "image") from error


def _for_skimage(picture: ImageArray) -> NDArray[np.float64]:
    """Return grey or RGB values from 0 to 1 for scikit-image, without opacity."""
    shown = picture.shown / 255
    return shown if shown.ndim == 2 else shown[..., :3]


def _check_map(given: Any, size: tuple[int, int]) -> RegionLabels:
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
        what = short_repr(given) if labels.ndim == 0 else f"a map of dtype {labels.dtype}"
        raise InputError("regions", what, _ALLOWED if labels.ndim == 0 else allowed)
    if labels.shape != size:
        raise InputError("regions", f"a map of shape {labels.shape}", allowed)
    if labels.min() < 0:
        raise InputError("regions", f"the label {labels.min()} in a map", uncovered, hint)
    return labels


def _check_names(names: Sequence[str] | None, d: int) -> tuple[str, ...] | None:
    if names is None:
        return None
    allowed = "a list of strings, one per region"
    if isinstance(names, str):
        raise InputError("names", repr(names), allowed)
    given = checks.check_name_list("names", names, allowed)
    if len(given) != d or len(set(given)) != d:
        got = f"{plural(len(given), 'name')}, {len(set(given))} of them distinct"
        raise InputError("names", got, f"{d} distinct names, one per region")
    return tuple(given)


# From coarse to fine: split some regions, and leave all else as a set that names them has it.


def split_regions(
    labels: RegionLabels, regions: Sequence[int], n: int
) -> tuple[RegionLabels, tuple[int, ...]]:
    """Split regions into about n parts of one size; return labels and each part's region.

    Pixels of no part get the next number: the rest.

    >>> labels, owners = split_regions(np.array([[0, 0, 0, 0, 1, 1]]), [0], 2)
    >>> labels.tolist(), owners
    ([[0, 0, 1, 1, 2, 2]], (0, 0))
    """
    sizes = np.array([np.sum(labels == region) for region in regions])
    # Each region has at least one part; the others go one by one to where parts are largest.
    parts = np.ones(len(regions), dtype=int)
    for _ in range(n - len(regions)):
        room = np.where(parts < sizes, sizes / parts, 0)
        if not room.any():
            break
        parts[room.argmax()] += 1
    out = np.full(labels.shape, int(parts.sum()), dtype=np.int64)
    owners: list[int] = []
    for region, count in zip(regions, parts.tolist(), strict=True):
        for piece in _cut_pixels(np.argwhere(labels == region), count):
            out[piece[:, 0], piece[:, 1]] = len(owners)
            owners.append(region)
    return out, tuple(owners)


def part_names(owners: Sequence[str]) -> tuple[str, ...]:
    """Return a name for each part; a region left whole keeps its name.

    >>> part_names(["region 2", "region 2", "sky"])
    ('region 2 part 1', 'region 2 part 2', 'sky')
    >>> part_names(["sky part 1", "sky part 1"])
    ('sky part 1.1', 'sky part 1.2')
    """
    joints = ("." if " part " in owner else " part " for owner in owners)
    numbered = zip(owners, joints, _part_numbers(owners), strict=True)
    return tuple(f"{owner}{joint}{k}" if k else owner for owner, joint, k in numbered)


def part_marks(owners: Sequence[int], marks: Sequence[str]) -> tuple[str, ...]:
    """Return the mark of each part, made from the marks of the regions.

    >>> part_marks([0, 0, 1], ["2", "sky"])
    ('2.1', '2.2', 'sky')
    """
    numbered = zip(owners, _part_numbers(owners), strict=True)
    return tuple(f"{marks[o]}.{k}" if k and marks[o] else marks[o] for o, k in numbered)


def _part_numbers(owners: Sequence[Hashable]) -> list[int]:
    """Return the number of each part within its region; 0 if it is the only one."""
    counts, seen = Counter(owners), Counter[Hashable]()
    numbers = []
    for owner in owners:
        seen[owner] += 1
        numbers.append(seen[owner] if counts[owner] > 1 else 0)
    return numbers


def _cut_pixels(pixels: Counts, count: int) -> list[Counts]:
    """Cut pixels across the longer side until there are `count` compact pieces of one size."""
    if count == 1:
        return [pixels]
    first = count // 2
    longer = int(np.ptp(pixels, axis=0).argmax())
    # Along the other side within equal places, so that the cut is clean.
    order = np.lexsort((pixels[:, 1 - longer], pixels[:, longer]))
    cut = round(len(pixels) * first / count)
    before, after = pixels[order[:cut]], pixels[order[cut:]]
    return _cut_pixels(before, first) + _cut_pixels(after, count - first)
