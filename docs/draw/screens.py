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
_PAGE = {"width": 1240, "height": 760}


def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    with browser() as chromium:
        _page(chromium)
        _explorer(chromium)


def _page(browser: Any) -> None:
    """The page of the explanation that "Get started" makes, by day and by night."""
    names: dict[str, Any] = {}
    run((DOCS / "start" / "index.md").read_text(encoding="utf-8"), names)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "why.html")
        names["e"].to_html(path)
        for name, scheme in (("page", "light"), ("page-dark", "dark")):
            page = browser.new_page(viewport=_PAGE, color_scheme=scheme)
            page.goto(path.as_uri())
            page.screenshot(path=PICTURES / f"{name}.png")


def _explorer(browser: Any) -> None:
    with _served() as address:
        page = browser.new_page(viewport=_WIDE)
        page.goto(address)
        page.wait_for_selector("table.rows tbody tr")
        page.screenshot(path=PICTURES / "explorer-rows.png")
        page.goto(re.sub(r"\?.*", "?row=16", address))
        page.wait_for_selector(".suffice section")
        page.screenshot(path=PICTURES / "explorer-row.png")
        page.goto(re.sub(r"\?.*", "?row=16&tab=recourse&fixed=%5B%22age%22%5D", address))
        page.wait_for_selector("text=Try it")
        page.screenshot(path=PICTURES / "explorer-recourse.png")


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
