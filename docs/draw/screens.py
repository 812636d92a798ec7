"""The pictures of page and explorer that README and guides show.

They are made by hand and committed: a build of the documentation needs no browser.
"""

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from docs.draw import DOCS, PICTURES, run

_WIDE = {"width": 1240, "height": 900}
_NARROW = {"width": 400, "height": 800}
_MARGIN = 6
"""Pixels below the last element that a picture shows."""
_KEEP, _FLIP = "section[data-view=keep]", "section[data-view=flip]"


def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    with browser() as chromium:
        _pages(chromium)
        _explorer(chromium)


def _pages(browser: Any) -> None:
    """The report of `suffice demo`, and the page that "Get started" makes, by day and by night."""
    names: dict[str, Any] = {}
    run((DOCS / "start" / "index.md").read_text(encoding="utf-8"), names)
    with tempfile.TemporaryDirectory() as folder:
        demo, start = Path(folder, "demo.html"), Path(folder, "start.html")
        command = [sys.executable, "-m", "suffice", "demo", "--html", str(demo)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        names["e"].to_html(start)
        by_day = {"": "light"}
        both = {**by_day, "-dark": "dark"}
        pictures = (
            ("page", demo, _WIDE, _FLIP, by_day),
            ("landing", demo, _WIDE, _KEEP, both),
            ("landing-narrow", demo, _NARROW, "header", both),
            ("start", start, _WIDE, _FLIP, both),
        )
        for name, path, size, last, schemes in pictures:
            for suffix, scheme in schemes.items():
                page = browser.new_page(viewport=size, color_scheme=scheme)
                page.goto(path.as_uri())
                _keep(page, name + suffix, last)


def _explorer(browser: Any) -> None:
    with _served() as address:
        page = browser.new_page(viewport=_WIDE)
        page.goto(address)
        page.wait_for_selector("table.rows tbody tr")
        _keep(page, "explorer-rows", "table.rows tbody tr:nth-child(20)")
        page.goto(re.sub(r"\?.*", "?row=62", address))
        page.wait_for_selector(_FLIP)
        _keep(page, "explorer-row", _FLIP)
        page.goto(re.sub(r"\?.*", "?row=62&tab=recourse&fixed=%5B%22age%22%5D", address))
        page.wait_for_selector("text=Try it")
        _keep(page, "explorer-recourse", ".note >> nth=-1")


def _keep(page: Any, name: str, last: str) -> None:
    """The page down to the lower edge of an element, in few colours: a small file."""
    from PIL import Image

    box = page.locator(last).bounding_box()
    size = {"width": page.viewport_size["width"], "height": box["y"] + box["height"] + _MARGIN}
    path = PICTURES / f"{name}.png"
    page.screenshot(path=path, full_page=True, clip={"x": 0, "y": 0, **size})
    colours = Image.open(path).convert("RGB").quantize(256, dither=Image.Dither.NONE)
    colours.save(path, optimize=True)


@contextmanager
def browser() -> Iterator[Any]:
    import shutil

    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        chromium = play.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        yield chromium
        chromium.close()


@contextmanager
def _served() -> Iterator[str]:
    command = [sys.executable, "-m", "suffice", "demo", "--serve"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        lines = (line for line in process.stdout if line.startswith("Explorer: "))
        yield next(lines).removeprefix("Explorer: ").strip()
    finally:
        process.terminate()
        process.wait()
