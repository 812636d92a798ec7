"""PNG in and out, by Pillow: how a picture is stored with its explanation and shown in a page."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.errors import InputError

__all__ = ["Bytes", "pillow", "read_png", "write_png"]

Bytes = NDArray[np.uint8]
"""(H, W) grey, (H, W, 3) colours or (H, W, 4) with opacity, from 0 to 255."""

_MOST_PIXELS = 80_000_000
"""Some kilobytes can unfold into gigabytes: a picture that large is no picture to look at."""


def write_png(pixels: Bytes) -> bytes:
    """The file's content.

    >>> read_png(write_png(np.array([[0, 255]], dtype=np.uint8))).tolist()
    [[0, 255]]
    """
    out = BytesIO()
    pillow().fromarray(np.ascontiguousarray(pixels)).save(out, format="PNG")
    return out.getvalue()


def read_png(data: bytes) -> Bytes:
    """The pixels of a PNG, whoever wrote it."""
    image = pillow()
    try:
        with image.open(BytesIO(data), formats=["PNG"]) as picture:
            if picture.width * picture.height > _MOST_PIXELS:
                got = f"a picture of {picture.width} × {picture.height} pixels"
                raise InputError("subject", got, f"at most {_MOST_PIXELS:,} pixels")
            if picture.mode in ("L", "RGB", "RGBA"):
                return np.asarray(picture, dtype=np.uint8)
            grey = picture.mode in ("1", "I;16", "I")
            return np.asarray(picture.convert("L" if grey else "RGBA"), dtype=np.uint8)
    except (OSError, SyntaxError, ValueError, image.DecompressionBombError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError("subject", f"{len(data)} bytes that are no picture", "a PNG") from error


def pillow() -> Any:
    """The library that reads and writes pictures, or a word on how to get it."""
    try:
        from PIL import Image
    except ImportError as error:
        hint = 'Run: pip install "suffice[image]"'
        raise InputError("image", "a picture, and no Pillow to draw it", "Pillow", hint) from error
    return Image
