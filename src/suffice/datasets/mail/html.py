"""HTML as the text that a reader sees, and the links in it."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser

__all__ = ["html_text", "looks_like_html"]

_MARKUP = re.compile(r"<\s*(?:!doctype\s+html|html|body)\b", re.IGNORECASE)
# On what is opened and never closed, the parser reads on to the end from each opening in turn, for
# minutes. A comment that never ends hides the rest, as in a browser; a lone "<" is a character.
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_LONE_BRACKET = re.compile(r"<(?![^<>]++>)")
_TAG = re.compile(r"<[^<>]*>")
_UNSEEN = frozenset({"script", "style", "title"})
_INLINE = frozenset(
    {"a", "abbr", "b", "big", "cite", "code", "em", "font", "i", "s", "small", "span", "strike"}
    | {"strong", "sub", "sup", "tt", "u"}
)
_LINKS = frozenset({"href", "src", "action"})


def looks_like_html(text: str) -> bool:
    """Does it begin a page? Many a mail declares no type, or the wrong one."""
    return _MARKUP.search(text) is not None


def html_text(html: str) -> tuple[str, list[str]]:
    """The text, with a blank line wherever a tag other than an inline one stands; and the links.

    >>> html_text('<p>Dear <b>friend</b>,<br>click <a href="http://a.example">here</a>!')
    ('Dear friend,\\n\\nclick here!', ['http://a.example'])
    """
    html = _LONE_BRACKET.sub("&lt;", _COMMENT.sub("", html))
    reader = _Reader()
    try:
        reader.feed(html)
        reader.close()
    except (AssertionError, NotImplementedError):  # how the parser rejects some declarations
        return unescape(_TAG.sub(" ", html)).strip(), reader.links
    lines = ("".join(reader.pieces)).split("\0")
    return "\n\n".join(" ".join(line.split()) for line in lines if line.strip()), reader.links


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self.links: list[str] = []
        self._unseen = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [value for name, value in attrs if name in _LINKS and value]
        self._unseen = tag if tag in _UNSEEN else ""
        self._break(tag)

    def handle_endtag(self, tag: str) -> None:
        self._unseen = ""
        self._break(tag)

    def handle_data(self, data: str) -> None:
        if not self._unseen:
            self.pieces.append(data.replace("\0", " "))

    def _break(self, tag: str) -> None:
        if tag not in _INLINE:
            self.pieces.append("\0")
