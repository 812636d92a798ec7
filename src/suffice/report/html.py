"""Pages and notebook cells: self-contained, light and dark, nothing fetched.

A page is readable with scripts off, printed or in an e-mail. Where scripts run, one bundle answers
from the counts that the page brings. Its policy lets nothing else run or load: styles and scripts
are named by their hashes.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from html import escape
from importlib import resources
from typing import Any

from suffice.explanation.subject import ImageSubject
from suffice.report.environment import rendered, template_text
from suffice.report.excerpt import excerpt
from suffice.report.live import LiveTexts
from suffice.report.picture import draw
from suffice.summary import Summary
from suffice.wording import named

__all__ = ["Map", "body", "bundle", "cell", "document", "region_map", "style_of"]

_VALUES_OPEN = 20
"""More of the input's values than this are folded away."""

_PICTURE = 360
"""The longer side of a drawn picture: a page may hold fifty of them."""


@dataclass(frozen=True)
class Map:
    """The picture with its regions outlined, and where to write their labels."""

    uri: str
    width: int
    height: int
    labels: tuple[tuple[float, float, str], ...]


def document(title: str, style: str, content: str, script: str = "") -> str:
    """A whole HTML page that lets only its own style and script be used."""
    policy = [
        "default-src 'none'",
        f"style-src {_hash(style)}",
        "img-src data: blob:",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    if script:
        policy.insert(1, f"script-src {_hash(script)}")
    return rendered(
        "document.html.j2",
        policy="; ".join(policy),
        title=title,
        style=style,
        content=content,
        script=script,
    )


def cell(page: str, style: str, content: str) -> str:
    """For a notebook: the page in a frame of its own, and the static piece where frames are not
    let through."""
    return rendered("cell.html.j2", page=escape(page), style=style, content=content)


def body(summary: Summary, live: LiveTexts | None = None, within: bool = False) -> str:
    """What stands in a page for one explanation.

    `within` a page of many: smaller headings, and no picture until the script draws it.
    """
    return rendered(
        "body.html.j2",
        s=summary,
        live=live,
        within=within,
        draw=draw,
        excerpt=excerpt,
        marked=marked,
        region_map=region_map,
        values_open=_VALUES_OPEN,
    )


def style_of(summaries: Sequence[Summary], *more: str) -> str:
    """The style that these need, and no more."""
    files = ["style.css", *more]
    files += ["text.css"] if any(s.text for s in summaries) else []
    files += ["picture.css"] if any(s.picture for s in summaries) else []
    return "".join(map(template_text, files))


@lru_cache(maxsize=1)
def bundle() -> str:
    """The script: made from `frontend/` by esbuild."""
    return (resources.files("suffice.report") / "bundle.js").read_text(encoding="utf-8")


def region_map(summary: Summary) -> Map:
    """The map with its labels, in its own pixels."""
    from suffice.image.overlay import draw_map, label_places

    assert summary.picture is not None
    drawn = draw_map(summary.picture, _PICTURE)
    height, width = drawn.pixels.shape[:2]
    places = label_places(summary.picture)
    labels = tuple((x * width, y * height, named(label)) for x, y, label in places)
    return Map(drawn.uri, width, height, labels)


def marked(picture: ImageSubject, regions: tuple[int, ...], view: str) -> str:
    """A factor's regions in their picture, as a data URI."""
    from suffice.image.overlay import draw_marked

    return draw_marked(picture, regions, view, _PICTURE).uri


def _hash(text: str) -> str:
    digest: Any = sha256(text.encode()).digest()
    return f"'sha256-{b64encode(digest).decode()}'"
