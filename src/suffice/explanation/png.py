"""Is this a whole PNG of the size that it is said to be? Asked without unpacking it."""

from __future__ import annotations

import struct
import zlib
from base64 import b64decode

from suffice.errors import InputError

__all__ = ["check_png"]

_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def check_png(base64: str, height: int, width: int) -> None:
    """Raise for what is no picture, or one of another size.

    Whoever unpacks it later makes room for as many pixels as its header says.
    """
    try:
        size = _size(b64decode(base64, validate=True))
    except (ValueError, struct.error) as error:
        raise InputError("text", "a picture that is no PNG", "one as it was stored") from error
    if size != (height, width):
        got = f"a PNG of {size[1]} × {size[0]} pixels, said to have {width} × {height}"
        raise InputError("text", got, "a picture as it was stored")


def _size(png: bytes) -> tuple[int, int]:
    """Height and width, if every chunk is whole and in its place."""
    if not png.startswith(_SIGNATURE):
        raise ValueError("no PNG")
    place, kinds = len(_SIGNATURE), []
    while place < len(png):
        length, kind = struct.unpack_from(">I4s", png, place)
        end = place + 8 + length
        (check,) = struct.unpack_from(">I", png, end)
        if zlib.crc32(png[place + 4 : end]) != check:
            raise ValueError("a damaged chunk")
        kinds.append(kind)
        place = end + 4
    if kinds[:1] != [b"IHDR"] or kinds[-1:] != [b"IEND"]:
        raise ValueError("not all there")
    width, height = struct.unpack_from(">II", png, len(_SIGNATURE) + 8)
    return height, width
