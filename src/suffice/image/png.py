"""PNG in and out, so that a picture can be stored and shown where no imaging library is installed.

Written are 8-bit pictures with every line as its difference from the one above ("up"), which packs
well and is undone by one running sum. PNGs that were written otherwise are left to Pillow.
"""

from __future__ import annotations

import struct
import zlib
from io import BytesIO

import numpy as np
from numpy.typing import NDArray

from suffice.errors import InputError

__all__ = ["Bytes", "read_png", "write_png"]

Bytes = NDArray[np.uint8]
"""(H, W) grey, (H, W, 3) colours or (H, W, 4) with opacity, from 0 to 255."""

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_KINDS = {1: 0, 3: 2, 4: 6}
_UP = 2


def write_png(pixels: Bytes) -> bytes:
    """The file's content.

    >>> read_png(write_png(np.array([[0, 255]], dtype=np.uint8))).tolist()
    [[0, 255]]
    """
    height, width = pixels.shape[:2]
    lines = np.ascontiguousarray(pixels).reshape(height, -1)
    differences = np.diff(lines, axis=0, prepend=np.zeros_like(lines[:1]))
    filters = np.full((height, 1), _UP, dtype=np.uint8)
    packed = zlib.compress(np.hstack([filters, differences]).tobytes(), 6)
    channels = 1 if pixels.ndim == 2 else pixels.shape[2]
    header = struct.pack(">IIBBBBB", width, height, 8, _KINDS[channels], 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", packed), (b"IEND", b""))
    return _SIGNATURE + b"".join(_chunk(kind, data) for kind, data in chunks)


def read_png(data: bytes) -> Bytes:
    """The pixels of a PNG; one that we did not write needs Pillow."""
    try:
        own = _read_own(data)
    except (struct.error, zlib.error, ValueError, KeyError):
        own = None
    return _read_any(data) if own is None else own


def _chunk(kind: bytes, data: bytes) -> bytes:
    check = zlib.crc32(kind + data)
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", check)


def _read_own(data: bytes) -> Bytes | None:
    """The pixels, or None for a file in another form than `write_png` gives it."""
    chunks: dict[bytes, bytes] = {}
    place = len(_SIGNATURE)
    while place < len(data):
        length, kind = struct.unpack_from(">I4s", data, place)
        chunks[kind] = chunks.get(kind, b"") + data[place + 8 : place + 8 + length]
        place += 12 + length
    width, height, depth, kind, *rest = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    channels = {code: count for count, code in _KINDS.items()}.get(kind)
    if depth != 8 or channels is None or any(rest):
        return None
    lines = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, -1)
    if not (lines[:, 0] == _UP).all():
        return None
    pixels = np.cumsum(lines[:, 1:], axis=0, dtype=np.uint8)
    return pixels.reshape((height, width) if channels == 1 else (height, width, channels))


def _read_any(data: bytes) -> Bytes:
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError as error:
        hint = "Run: pip install pillow"
        allowed = "a PNG that suffice wrote, or any other with Pillow installed"
        raise InputError("subject", "a PNG in a form of another program", allowed, hint) from error
    try:
        with Image.open(BytesIO(data)) as picture:
            grey = picture.mode in ("1", "L", "I;16", "I")
            return np.asarray(picture.convert("L" if grey else "RGBA"), dtype=np.uint8)
    except (UnidentifiedImageError, OSError, SyntaxError) as error:
        raise InputError("subject", f"{len(data)} bytes that are no picture", "a PNG") from error
