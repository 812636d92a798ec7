"""References of images: blur, mean colour, inpainting, a colour or another image.

An explanation is a contrast with them. No single choice is neutral: a blurred patch, a grey one and
a patch of another photograph ask the model three different questions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.errors import InputError, did_you_mean, short_repr
from suffice.formatting import join_words
from suffice.image.pixels import ImageArray, as_pixels
from suffice.image.regions import RegionLabels
from suffice.typing import Reals, Values

_ALLOWED = (
    '"blur", "mean", "inpaint", a number, a tuple of one number per channel, '
    "an image of the same shape, an array of such images, or a list of these"
)

_DESCRIPTIONS = {
    "blur": ("the picture blurred", "blurred"),
    "mean": ("its mean colour", "in the mean colour"),
    "inpaint": ("each region filled in from around it", "filled in"),
    "colour": ("one colour", "in one colour"),
    "images": ("other pictures", "from other pictures"),
}


@dataclass(frozen=True, eq=False)
class ReferenceImages:
    """Reference images (n, …) in the image's layout and dtype, with their descriptions."""

    pictures: Values
    kinds: tuple[str, ...]
    """What each is: a key of the words above."""

    @property
    def says(self) -> str:
        """Description of all references, as in "against 2 references (…)"."""
        counts = {kind: self.kinds.count(kind) for kind in dict.fromkeys(self.kinds)}
        plural = {"images": "{} other pictures", "colour": "{} colours"}
        one = _DESCRIPTIONS | {"images": ("another picture", "")}
        return join_words(
            [
                one[kind][0] if count == 1 else plural.get(kind, one[kind][0]).format(count)
                for kind, count in counts.items()
            ]
        )

    @property
    def elsewhere(self) -> str:
        """Description of the replaced rest of an image, as in "all else …"."""
        kinds = set(self.kinds)
        return _DESCRIPTIONS[kinds.pop()][1] if len(kinds) == 1 else "replaced"


def find_references(spec: Any, picture: ImageArray, labels: RegionLabels) -> ReferenceImages:
    """Return the reference images that the argument `references` means."""
    pictures, kinds = [], []
    for kind, found in _reference_images(spec, picture, labels):
        pictures.append(found)
        kinds.append(kind)
    if not pictures:
        raise InputError("references", "none", _ALLOWED)
    return ReferenceImages(np.stack(pictures), tuple(kinds))


def _reference_images(
    spec: Any, picture: ImageArray, labels: RegionLabels
) -> Iterator[tuple[str, Values]]:
    if isinstance(spec, list):
        for part in spec:
            if isinstance(part, list):
                hint = "Turn an image in nested lists into an array first: np.asarray(…)."
                raise InputError("references", "a list within a list", _ALLOWED, hint)
            yield from _reference_images(part, picture, labels)
    elif isinstance(spec, str):
        yield spec, picture.like(_named_reference(spec, picture, labels))
    else:
        yield from _given_references(spec, picture)


def _named_reference(name: str, picture: ImageArray, labels: RegionLabels) -> Reals:
    planes = picture.planes
    if name == "blur":
        from scipy.ndimage import gaussian_filter

        # Wide enough that what a region shows cannot be told; colours stay where they were.
        sigma = max(picture.size) / 8
        return np.asarray(gaussian_filter(planes, (sigma, sigma, 0), mode="nearest"))
    if name == "mean":
        return np.broadcast_to(planes.mean(axis=(0, 1)), planes.shape)
    if name == "inpaint":
        return _inpainted(planes, labels)
    raise InputError(
        "references", repr(name), _ALLOWED, did_you_mean(name, list(_DESCRIPTIONS)[:3])
    )


def _inpainted(planes: Reals, labels: RegionLabels) -> Reals:
    """Fill each region with the smoothest surface that meets the pixels around it.

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


def _given_references(spec: Any, picture: ImageArray) -> Iterator[tuple[str, Values]]:
    shape = picture.pixels.shape
    try:
        values = as_pixels(spec, "references")
    except InputError as error:
        raise InputError("references", short_repr(spec), _ALLOWED) from error
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise InputError("references", "NaN or infinite values", "finite numbers")
    channels = picture.planes.shape[2]
    if values.ndim == 0 or values.shape == (channels,):
        yield "colour", _colour_image(values, picture)
    elif values.shape == shape or values.shape[1:] == shape:
        for one in values.reshape(-1, *shape):
            yield "images", _cast_image(one, picture)
    else:
        got = f"an array of shape {values.shape}"
        if values.ndim == 1:
            got = f"a colour of {len(values)} numbers"
            allowed = f"a number, or one for each of the image's {channels} channels"
            hint = "The last one is opacity: 255, or 1.0, is opaque." if channels == 4 else ""
            raise InputError("references", got, allowed, hint)
        raise InputError("references", got, f"images of the image's own shape, {shape}")


def _colour_image(values: Values, picture: ImageArray) -> Values:
    """Return an image of one colour; raise if the dtype cannot hold it: bytes have no 0.5."""
    dtype = picture.pixels.dtype
    with np.errstate(invalid="ignore"):
        held = values.astype(dtype) == values
    if dtype.kind in "biu" and not held.all():
        allowed = f"numbers that the image's dtype holds, {dtype}"
        raise InputError("references", short_repr(values.tolist()), allowed)
    return picture.like(np.broadcast_to(values.astype(float), picture.planes.shape))


def _cast_image(one: Values, picture: ImageArray) -> Values:
    dtype = picture.pixels.dtype
    if not np.can_cast(one.dtype, dtype, "same_kind"):
        allowed = f"the image's own dtype, {dtype}"
        raise InputError("references", f"images of dtype {one.dtype}", allowed)
    return one.astype(dtype)
