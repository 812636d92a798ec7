"""A real browser for tests: Debian's chromium through Playwright, one for a module."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_AXE = Path(__file__).parents[1] / "frontend" / "node_modules" / "axe-core" / "axe.min.js"


def chromium_path() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Browser:
    """A browser that visitors share, each with cookies of its own."""

    def __init__(self, chromium: Any) -> None:
        self._chromium = chromium

    @contextmanager
    def visitor(self, **options: Any) -> Iterator[Any]:
        context = self._chromium.new_context(**options)
        context.set_default_timeout(60_000)
        try:
            yield context.new_page()
        finally:
            context.close()

    def axe(self, page: Any) -> list[str]:
        """What axe finds serious or worse; where it is not installed, the test is skipped."""
        import pytest

        if not _AXE.exists():
            pytest.skip("axe-core is not installed: npm ci in frontend/")
        page.evaluate(_AXE.read_text())
        found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        return [
            f"{v['id']}: {v['nodes'][0]['html'][:200]}"
            for v in found["violations"]
            if v["impact"] in ("serious", "critical")
        ]


@contextmanager
def browser_page() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=chromium_path(), args=["--no-sandbox"])
        try:
            yield Browser(chromium)
        finally:
            chromium.close()


class Watched:
    """Notes what a page says in its console, and whom it asks."""

    def __init__(self, page: Any, allowed: str = "") -> None:
        self._faults: list[str] = []
        page.on("console", self._said)
        page.on("pageerror", lambda error: self._faults.append(str(error)))
        page.on("request", lambda request: self._asked(request.url, allowed))

    def _said(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self._faults.append(message.text)

    def _asked(self, url: str, allowed: str) -> None:
        if not url.startswith(("data:", "blob:")) and not (allowed and url.startswith(allowed)):
            self._faults.append(f"asked {url}")

    def check(self) -> None:
        assert self._faults == []
