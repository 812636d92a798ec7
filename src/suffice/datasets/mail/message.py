"""A raw mail as text: its headers decoded, its parts joined, its HTML read.

Mails from the wild break every rule: undeclared bytes in headers, charsets that do not exist, parts
that never end. The standard parser copes with the structure; here every decoding has a fallback,
so that whatever comes is read as well as it can be.
"""

from __future__ import annotations

import base64
import binascii
import quopri
import re
from email import message_from_bytes
from email.message import Message
from typing import Any

from suffice.datasets.mail.html import html_text, looks_like_html
from suffice.errors import InputError

__all__ = ["body_of", "header_of", "read_message"]

_ENCODED_WORD = re.compile(r"=\?([^?\s]+)\?([bqBQ])\?([^?]*)\?=")
_BETWEEN_ENCODED_WORDS = re.compile(r"(?<=\?=)\s+(?==\?)")


def read_message(raw: str | bytes) -> Message:
    """Parse a mail, as it was sent or as a program has read it."""
    given: object = raw
    if not isinstance(given, str | bytes):
        raise InputError("raw", raw, "a raw e-mail, as text or bytes")
    if not raw.strip():
        raise InputError("raw", "an empty mail", "a raw e-mail: headers, a blank line, a body")
    data = raw.encode("utf-8", "surrogatepass") if isinstance(raw, str) else raw
    try:
        return message_from_bytes(data)
    except RecursionError:  # parts within parts within parts, hundreds deep: read it as text
        plain: Message = Message()
        plain.set_payload(_decoded(data, None))
        return plain


def header_of(message: Message, name: str) -> str:
    """The first header of this name on one line, encoded words decoded; empty if there is none."""
    for key, value in message.raw_items():
        if key.lower() == name.lower():
            data = str(value).encode("utf-8", "surrogateescape")
            text = " ".join(_decoded(data, None).split())
            text = _BETWEEN_ENCODED_WORDS.sub("", text)
            return " ".join(_ENCODED_WORD.sub(_decode_word, text).split())
    return ""


def body_of(message: Message) -> tuple[str, list[str]]:
    """The text that a reader would see, and the addresses that its links lead to."""
    try:
        return _body(message)
    except RecursionError:
        return "", []


def _body(part: Message) -> tuple[str, list[str]]:
    if part.is_multipart():
        inner: Any = part.get_payload()
        bodies = [_body(p) for p in inner]
        bodies = [(text, links) for text, links in bodies if text.strip() or links]
        if part.get_content_type() == "multipart/alternative":
            # The same message several times. The first is the plainest: least is lost on the way.
            bodies = bodies[:1]
        return "\n\n".join(text for text, _ in bodies), [link for _, ls in bodies for link in ls]
    attached = part.get_content_disposition() == "attachment"
    # A multipart whose parts could not be told apart is read as the text it is.
    if part.get_content_maintype() not in ("text", "multipart") or attached:
        return "", []
    data = part.get_payload(decode=True)
    charset = part.get_param("charset")
    charset = charset[2] if isinstance(charset, tuple) else charset
    text = _decoded(data if isinstance(data, bytes) else b"", charset)
    if part.get_content_subtype() == "html" or looks_like_html(text):
        return html_text(text)
    return text, []


def _decode_word(match: re.Match[str]) -> str:
    charset, encoding, text = match.groups()
    data = text.encode("utf-8", "replace")
    try:
        if encoding in "bB":
            plain = base64.b64decode(data + b"=" * (-len(data) % 4))
        else:
            plain = quopri.decodestring(data, header=True)
    except (binascii.Error, ValueError):
        return match.group()
    return _decoded(plain, charset)


def _decoded(data: bytes, charset: object) -> str:
    """Bytes as text. UTF-8 is tried first where it can be told: nothing else looks like it."""
    declared = charset if isinstance(charset, str) else "utf-8"
    for name in (declared,) if data.isascii() else ("utf-8", declared):
        try:
            return data.decode(name)
        except (LookupError, ValueError, Warning):  # unknown, no text codec, or wrong
            continue
    return data.decode("latin-1")
