"""Pixels of one image: layout, dtype, an 8-bit copy to show, and PNG files."""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from suffice.errors import InputError, missing_package
from suffice.explanation.schema import MOST_PIXELS
from suffice.formatting import plural
from suffice.typing import Counts, Reals, Values

Channels = Literal["last", "first"]

_CHANNELS = (1, 3, 4)
_ALLOWED_SHAPES = "an image: (H, W), (H, W, C) or (C, H, W) with C of 1, 3 or 4"


@dataclass(frozen=True, eq=False)
class ImageArray:
    """Pixels as given, and the position of their channels (None: grey, without that axis)."""

    pixels: Values
    channels: Channels | None

    @property
    def size(self) -> tuple[int, int]:
        """Height and width in pixels."""
        shape = self.pixels.shape
        return (shape[1], shape[2]) if self.channels == "first" else (shape[0], shape[1])

    @property
    def planes(self) -> Reals:
        """Pixels as (H, W, C), whatever their layout."""
        pixels = self.pixels[..., None] if self.channels is None else self.pixels
        pixels = np.moveaxis(pixels, 0, -1) if self.channels == "first" else pixels
        return np.asarray(pixels, dtype=np.float64)

    def like(self, planes: Reals) -> Values:
        """Return pixels (H, W, C) in this image's layout and dtype, rounded for integers."""
        dtype = self.pixels.dtype
        if dtype.kind in "biu":
            limits = None if dtype.kind == "b" else np.iinfo(dtype)
            least, most = (limits.min, limits.max) if limits else (0, 1)
            planes = np.clip(np.rint(planes), least, most)
        planes = np.moveaxis(planes, -1, 0) if self.channels == "first" else planes
        planes = planes[..., 0] if self.channels is None else planes
        return np.ascontiguousarray(planes, dtype=dtype)

    def by_number(self, by_pixel: Counts) -> Counts:
        """Return values per pixel (H, W) as values per number of the flattened image."""
        spread = by_pixel[..., None] if self.channels == "last" else by_pixel
        return np.array(np.broadcast_to(spread, self.pixels.shape)).ravel()

    @property
    def shown(self) -> BytePixels:
        """Pixels as 8-bit grey, RGB or RGBA.

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


def as_image_array(image: Any, channels: Channels | None, argument: str = "image") -> ImageArray:
    """Read one image; raise for a shape or dtype that no image has."""
    pixels = as_pixels(image, argument)
    if pixels.ndim not in (2, 3):
        hint = "Pass one image, without an axis for the batch." if pixels.ndim == 4 else ""
        raise InputError(
            argument, f"an array of {plural(pixels.ndim, 'dimension')}", _ALLOWED_SHAPES, hint
        )
    if pixels.size == 0:
        raise InputError(argument, f"no pixels, shape {pixels.shape}", _ALLOWED_SHAPES)
    if pixels.dtype.kind == "f" and not np.isfinite(pixels).all():
        bad = int(np.sum(~np.isfinite(pixels)))
        hint = "Fill them first, e.g. by np.nan_to_num."
        raise InputError(
            argument, f"{plural(bad, 'pixel value')} NaN or infinite", "finite pixels", hint
        )
    found = None if pixels.ndim == 2 else _find_channels(pixels, channels, argument)
    picture = ImageArray(pixels, found)
    height, width = picture.size
    if height * width > MOST_PIXELS:
        got, hint = f"{height} × {width} pixels", "Scale the image down first."
        raise InputError(argument, got, f"at most {MOST_PIXELS:,} pixels", hint)
    return picture


def as_pixels(image: Any, argument: str) -> Values:
    """Return the numbers of an array, a tensor, a PIL image or nested lists."""
    if hasattr(image, "detach"):  # a tensor on any device
        image = image.detach().cpu()
    try:
        pixels = np.asarray(image)
    except ValueError:  # ragged lists
        pixels = np.empty(0, dtype=object)
    if pixels.dtype.kind not in "biuf":
        hint = "A path has to be opened first." if pixels.dtype.kind == "U" else ""
        allowed = "an array of integers, floats or Booleans"
        raise InputError(argument, f"dtype {pixels.dtype}", allowed, hint)
    return pixels


def _find_channels(pixels: Values, channels: Channels | None, argument: str) -> Channels:
    shape = pixels.shape
    last, first = shape[2] in _CHANNELS, shape[0] in _CHANNELS
    if channels is None and last and first:
        raise InputError(
            argument,
            f"shape {shape}, whose first and last axis could both be colours",
            _ALLOWED_SHAPES,
            'Say which: channels="last" or channels="first".',
        )
    found: Channels = channels or ("last" if last else "first")
    count = shape[2] if found == "last" else shape[0]
    if count not in _CHANNELS:
        where = f" with channels={channels!r}" if channels else ""
        raise InputError(argument, f"shape {shape}{where}", _ALLOWED_SHAPES)
    return found


# PNG in and out, by Pillow: how a picture is stored with its explanation and shown in a page.


BytePixels = NDArray[np.uint8]
"""(H, W) grey, (H, W, 3) colours or (H, W, 4) with opacity, from 0 to 255."""


def write_png(pixels: BytePixels) -> bytes:
    """Return pixels as the content of a PNG file.

    >>> read_png(write_png(np.array([[0, 255]], dtype=np.uint8))).tolist()
    [[0, 255]]
    """
    out = BytesIO()
    require_pillow().fromarray(np.ascontiguousarray(pixels)).save(out, format="PNG")
    return out.getvalue()


def read_png(data: bytes) -> BytePixels:
    """Return the pixels of a PNG file, which another program may have written."""
    image = require_pillow()
    try:
        with image.open(BytesIO(data), formats=["PNG"]) as picture:
            if picture.width * picture.height > MOST_PIXELS:
                got = f"a picture of {picture.width} × {picture.height} pixels"
                raise InputError("subject", got, f"at most {MOST_PIXELS:,} pixels")
            if picture.mode in ("L", "RGB", "RGBA"):
                return np.asarray(picture, dtype=np.uint8)
            grey = picture.mode in ("1", "I;16", "I")
            return np.asarray(picture.convert("L" if grey else "RGBA"), dtype=np.uint8)
    except (OSError, SyntaxError, ValueError, image.DecompressionBombError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError("subject", f"{len(data)} bytes that are no picture", "a PNG") from error


def require_pillow() -> Any:
    """Return Pillow; raise if it is not installed."""
    try:
        from PIL import Image
    except ImportError as error:
        raise missing_package("Explaining images", "Pillow", "image") from error
    return Image
