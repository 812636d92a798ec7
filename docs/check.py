"""`python -m docs.check FOLDER`: what must hold of a built site.

It asks no other host, its links lead somewhere, the gallery's thumbnails stay in their cards, and
its reference has every public name.
"""

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote, urlsplit

_LOADED = {"script", "img", "iframe", "source", "video", "audio", "embed", "object", "use", "image"}
_LOADING = {"stylesheet", "icon", "shortcut icon", "preload", "prefetch", "preconnect", "manifest"}
_IN_STYLE = re.compile(r"""(?:url\(\s*|@import\s+)["']?((?:https?:)?//[^"')\s]+)""")


class _Page(HTMLParser):
    """What a page loads, what it links to, and where it can be linked to."""

    def __init__(self, text: str):
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.linked_thumbnails: list[str] = []
        self._within = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
            self._within = given["href"]
        elif tag in _LOADED or (tag == "link" and given.get("rel") in _LOADING):
            self.loads += [
                given[name] for name in ("src", "href", "data", "xlink:href") if name in given
            ]
            self.loads += [
                part.split()[0] for part in given.get("srcset", "").split(",") if part.strip()
            ]
            if self._within and "_thumb." in given.get("src", ""):
                self.linked_thumbnails.append(self._within)
        self.loads += _IN_STYLE.findall(given.get("style", ""))

    def handle_endtag(self, tag: str) -> None:
        if tag == "a":
            self._within = ""


def problems(folder: Path) -> Iterator[str]:
    """Whatever is wrong with a built site, one sentence each."""
    pages = {
        path.resolve(): _Page(path.read_text(encoding="utf-8")) for path in folder.rglob("*.html")
    }
    for path, page in sorted(pages.items()):
        where = path.relative_to(folder.resolve())
        for address in page.loads:
            if urlsplit(address).netloc:
                yield f"{where} loads {address}"
            elif not _leads_somewhere(address, path, pages):
                yield f"{where} shows {address}, which is not there"
        for address in page.linked_thumbnails:
            yield f"{where} links a thumbnail to {address}: it leaves its card, over others"
        for address in page.links:
            if not _leads_somewhere(address, path, pages):
                yield f"{where} links to {address}, which is not there"
    for path in sorted(folder.rglob("*.css")):
        for address in _IN_STYLE.findall(path.read_text(encoding="utf-8")):
            yield f"{path.relative_to(folder)} loads {address}"
    anchors = set().union(*(page.anchors for page in pages.values()))
    told = {anchor.removeprefix("module-") for anchor in anchors}
    yield from (f"the reference has no {name}" for name in public_names() if name not in told)


def public_names() -> list[str]:
    """Every name that the package promises, as its reference calls it; modules with theirs."""
    import suffice

    names = []
    for name in suffice.__all__:
        offered = getattr(suffice, name)
        names.append(f"suffice.{name}")
        if isinstance(offered, ModuleType):
            names += [f"suffice.{name}.{inner}" for inner in offered.__all__]
    return names


def _leads_somewhere(address: str, page: Path, pages: dict[Path, _Page]) -> bool:
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return True
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if not target.is_file():
        return False
    if "_modules" in page.parts:  # sources lead back to a page, by a name that may be another's
        return True
    return (
        not parts.fragment
        or target not in pages
        or unquote(parts.fragment) in pages[target].anchors
    )


def main(folder: str) -> None:
    found = list(problems(Path(folder)))
    if found:
        sys.exit("\n".join(found))


if __name__ == "__main__":
    main(sys.argv[1])
