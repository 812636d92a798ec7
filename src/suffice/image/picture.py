"""One image as its user has it: in the layout and dtype that the model wants, and as it is seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from suffice.errors import InputError
from suffice.image.png import Bytes
from suffice.typing import Counts, Reals, Values

__all__ = ["Channels", "Picture", "as_picture"]

Channels = Literal["last", "first"]

_CHANNELS = (1, 3, 4)
_ALLOWED = "an image: (H, W), (H, W, C) or (C, H, W) with C of 1, 3 or 4"


@dataclass(frozen=True, eq=False)
class Picture:
    """Pixels as they were given, and where their channels are (None: grey, without an axis)."""

    pixels: Values
    channels: Channels | None

    @property
    def size(self) -> tuple[int, int]:
        """Height and width."""
        shape = self.pixels.shape
        return (shape[1], shape[2]) if self.channels == "first" else (shape[0], shape[1])

    @property
    def planes(self) -> Reals:
        """(H, W, C), whatever the layout: for those who work colour by colour."""
        pixels = self.pixels[..., None] if self.channels is None else self.pixels
        pixels = np.moveaxis(pixels, 0, -1) if self.channels == "first" else pixels
        return np.asarray(pixels, dtype=np.float64)

    def like(self, planes: Reals) -> Values:
        """Another (H, W, C) picture in this one's layout and dtype; whole numbers are rounded."""
        dtype = self.pixels.dtype
        if dtype.kind in "biu":
            limits = None if dtype.kind == "b" else np.iinfo(dtype)
            least, most = (limits.min, limits.max) if limits else (0, 1)
            planes = np.clip(np.rint(planes), least, most)
        planes = np.moveaxis(planes, -1, 0) if self.channels == "first" else planes
        planes = planes[..., 0] if self.channels is None else planes
        return np.ascontiguousarray(planes, dtype=dtype)

    def by_number(self, by_pixel: Counts) -> Counts:
        """What is said of each pixel (H, W), said of each of the numbers that it is made of."""
        spread = by_pixel[..., None] if self.channels == "last" else by_pixel
        return np.array(np.broadcast_to(spread, self.pixels.shape)).ravel()

    @property
    def shown(self) -> Bytes:
        """As 8-bit grey, colour, or colour with opacity.

        Bytes are shown as they are and numbers in [0, 1] times 255; any other range (a network's
        normalised input, counts of photons) is stretched from its least to its largest value.
        """
        planes = self.planes
        if self.pixels.dtype != np.uint8:
            low, high = float(planes.min()), float(planes.max())
            if low < 0 or high > 1:
                planes = (planes - low) / (high - low if high > low else 1.0)
            planes = 255 * planes
        out = np.rint(planes).astype(np.uint8)
        return out[..., 0] if out.shape[2] == 1 else out


def as_picture(image: Any, channels: Channels | None, argument: str = "image") -> Picture:
    """Read one image; what cannot be meant is said."""
    pixels = as_pixels(image, argument)
    if pixels.ndim not in (2, 3):
        hint = "Pass one image, without an axis for the batch." if pixels.ndim == 4 else ""
        raise InputError(argument, f"an array of {pixels.ndim} dimension(s)", _ALLOWED, hint)
    if pixels.size == 0:
        raise InputError(argument, f"no pixels, shape {pixels.shape}", _ALLOWED)
    if pixels.dtype.kind == "f" and not np.isfinite(pixels).all():
        bad = int(np.sum(~np.isfinite(pixels)))
        hint = "Fill them first, e.g. by np.nan_to_num."
        raise InputError(argument, f"{bad} pixel value(s) NaN or infinite", "finite pixels", hint)
    return Picture(pixels, None if pixels.ndim == 2 else _find_channels(pixels, channels, argument))


def as_pixels(image: Any, argument: str) -> Values:
    """Numbers from an array, a tensor, a PIL image or nested lists."""
    if hasattr(image, "detach"):  # a tensor, wherever it lives
        image = image.detach().cpu()
    try:
        pixels = np.asarray(image)
    except ValueError:  # ragged lists
        pixels = np.empty(0, dtype=object)
    if pixels.dtype.kind not in "biuf":
        hint = "A path has to be opened first." if pixels.dtype.kind == "U" else ""
        allowed = "an array of whole numbers, floats or truth values"
        raise InputError(argument, f"dtype {pixels.dtype}", allowed, hint)
    return pixels


def _find_channels(pixels: Values, channels: Channels | None, argument: str) -> Channels:
    shape = pixels.shape
    last, first = shape[2] in _CHANNELS, shape[0] in _CHANNELS
    if channels is None and last and first:
        raise InputError(
            argument,
            f"shape {shape}, whose first and last axis could both be colours",
            _ALLOWED,
            'Say which: channels="last" or channels="first".',
        )
    found: Channels = channels or ("last" if last else "first")
    count = shape[2] if found == "last" else shape[0]
    if count not in _CHANNELS:
        where = f" with channels={channels!r}" if channels else ""
        raise InputError(argument, f"shape {shape}{where}", _ALLOWED)
    return found
