"""References: what a region's pixels are replaced by.

An explanation is a contrast with them. No single choice is neutral: a blurred patch, a grey one and
a patch of another photograph ask the model three different questions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.errors import InputError, did_you_mean, shorten
from suffice.image.picture import Picture, as_pixels
from suffice.image.regions import Labels
from suffice.typing import Reals, Values

__all__ = ["References", "find_references", "listed"]

_ALLOWED = (
    '"blur", "mean", "inpaint", a number, a tuple of one number per channel, '
    "an image of the same shape, an array of such images, or a list of these"
)

_WORDS = {
    "blur": ("the picture blurred", "blurred"),
    "mean": ("its mean colour", "in the mean colour"),
    "inpaint": ("each region filled in from around it", "filled in"),
    "colour": ("one colour", "in one colour"),
    "images": ("other pictures", "from other pictures"),
}


@dataclass(frozen=True, eq=False)
class References:
    """The pictures (n, …) in the image's layout and dtype, and how to speak of them."""

    pictures: Values
    kinds: tuple[str, ...]
    """What each is: a key of the words above."""

    @property
    def says(self) -> str:
        """All of them, as in "against 2 references (…)"."""
        counts = {kind: self.kinds.count(kind) for kind in dict.fromkeys(self.kinds)}
        plural = {"images": "{} other pictures", "colour": "{} colours"}
        one = _WORDS | {"images": ("another picture", "")}
        return listed(
            [
                one[kind][0] if count == 1 else plural.get(kind, one[kind][0]).format(count)
                for kind, count in counts.items()
            ]
        )

    @property
    def elsewhere(self) -> str:
        """What became of the rest, as in "all else …"."""
        kinds = set(self.kinds)
        return _WORDS[kinds.pop()][1] if len(kinds) == 1 else "replaced"


def listed(names: Sequence[str]) -> str:
    """Names in a sentence.

    >>> listed(["red", "green", "blue"])
    'red, green and blue'
    """
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def find_references(spec: Any, picture: Picture, labels: Labels) -> References:
    """The references that the user names or brings."""
    pictures, kinds = [], []
    for kind, found in _each(spec, picture, labels):
        pictures.append(found)
        kinds.append(kind)
    if not pictures:
        raise InputError("references", "none", _ALLOWED)
    return References(np.stack(pictures), tuple(kinds))


def _each(spec: Any, picture: Picture, labels: Labels) -> Iterator[tuple[str, Values]]:
    if isinstance(spec, list):
        for part in spec:
            if isinstance(part, list):
                hint = "Turn an image in nested lists into an array first: np.asarray(…)."
                raise InputError("references", "a list within a list", _ALLOWED, hint)
            yield from _each(part, picture, labels)
    elif isinstance(spec, str):
        yield spec, picture.like(_named(spec, picture, labels))
    else:
        yield from _given(spec, picture)


def _named(name: str, picture: Picture, labels: Labels) -> Reals:
    planes = picture.planes
    if name == "blur":
        from scipy.ndimage import gaussian_filter

        # Wide enough that what a region shows cannot be told; colours stay where they were.
        sigma = max(picture.size) / 8
        return np.asarray(gaussian_filter(planes, (sigma, sigma, 0), mode="nearest"))
    if name == "mean":
        return np.broadcast_to(planes.mean(axis=(0, 1)), planes.shape)
    if name == "inpaint":
        return _filled_in(planes, labels)
    raise InputError("references", repr(name), _ALLOWED, did_you_mean(name, list(_WORDS)[:3]))


def _filled_in(planes: Reals, labels: Labels) -> Reals:
    """Each region as the smoothest surface that meets the picture around it.

    Every pixel is the mean of its neighbours, of which those in other regions are given: one
    system of linear equations, which falls apart into one for each region.
    """
    from scipy.sparse import coo_matrix
    from scipy.sparse.linalg import splu

    if labels.max() == 0:
        hint = 'Use "blur", "mean" or a colour.'
        raise InputError("references", "'inpaint' with one region", "at least two regions", hint)
    count, flat = labels.size, labels.ravel()
    number = np.arange(count).reshape(labels.shape)
    pairs = [(number[:, :-1], number[:, 1:]), (number[:-1], number[1:])]
    here, there = (np.concatenate([p[side].ravel() for p in pairs]) for side in (0, 1))
    here, there = np.concatenate([here, there]), np.concatenate([there, here])
    inside = flat[here] == flat[there]
    neighbours = np.bincount(here, minlength=count).astype(float)
    rows = np.concatenate([np.arange(count), here[inside]])
    columns = np.concatenate([np.arange(count), there[inside]])
    values = np.concatenate([neighbours, np.full(int(inside.sum()), -1.0)])
    system = splu(coo_matrix((values, (rows, columns)), shape=(count, count)).tocsc())
    colours = planes.reshape(count, -1)
    known = np.zeros_like(colours)
    np.add.at(known, here[~inside], colours[there[~inside]])
    filled = system.solve(known).reshape(planes.shape)
    return np.asarray(np.clip(filled, planes.min(), planes.max()))


def _given(spec: Any, picture: Picture) -> Iterator[tuple[str, Values]]:
    shape = picture.pixels.shape
    try:
        values = as_pixels(spec, "references")
    except InputError as error:
        raise InputError("references", shorten(spec), _ALLOWED) from error
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise InputError("references", "NaN or infinite values", "finite numbers")
    channels = picture.planes.shape[2]
    if values.ndim == 0 or values.shape == (channels,):
        yield "colour", _colour(values, picture)
    elif values.shape == shape or values.shape[1:] == shape:
        for one in values.reshape(-1, *shape):
            yield "images", _cast(one, picture)
    else:
        got = f"an array of shape {values.shape}"
        if values.ndim == 1:
            got = f"a colour of {len(values)} numbers"
            allowed = f"a number, or one for each of the image's {channels} channels"
            hint = "The last one is opacity: 255, or 1.0, is opaque." if channels == 4 else ""
            raise InputError("references", got, allowed, hint)
        raise InputError("references", got, f"images of the image's own shape, {shape}")


def _colour(values: Values, picture: Picture) -> Values:
    """One colour everywhere, which the dtype must hold: bytes have no 300, and no 0.5."""
    dtype = picture.pixels.dtype
    with np.errstate(invalid="ignore"):
        held = values.astype(dtype) == values
    if dtype.kind in "biu" and not held.all():
        allowed = f"numbers that the image's dtype holds, {dtype}"
        raise InputError("references", shorten(values.tolist()), allowed)
    return picture.like(np.broadcast_to(values.astype(float), picture.planes.shape))


def _cast(one: Values, picture: Picture) -> Values:
    dtype = picture.pixels.dtype
    if not np.can_cast(one.dtype, dtype, "same_kind"):
        allowed = f"the image's own dtype, {dtype}"
        raise InputError("references", f"images of dtype {one.dtype}", allowed)
    return one.astype(dtype)
