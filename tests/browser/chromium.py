"""One Chromium for all tests that look at pages; they skip, saying so, where there is none."""

import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest

FOUND = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
AXE = Path(__file__).parents[2] / "frontend" / "node_modules" / "axe-core" / "axe.min.js"


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not here")
    if FOUND is None:
        pytest.skip("Chromium is not here: pages are not looked at (apt install chromium)")
    with playwright.sync_playwright() as p:
        chromium = p.chromium.launch(executable_path=FOUND, args=["--no-sandbox"])
        yield chromium
        chromium.close()


class WatchedPage:
    """A page whose every word of complaint and every request is written down."""

    def __init__(self, page):
        self.page, self.complaints, self.requests = page, [], []
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))

    def went_well(self, server=None):
        """No error, no refusal by the page's own policy, and nothing fetched but the page.

        A page of a server may ask that server.
        """
        assert self.complaints == []
        own = [u for u in self.requests if not u.startswith(("data:", "blob:"))]
        if server is not None:
            own = [u for u in own if not u.startswith(server)]
        assert own == own[:1], own


@contextmanager
def open_page(browser, path, **options):
    """A page in a tab of its own, which must go well."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
    context.set_default_timeout(60_000)
    page = context.new_page()
    watched = WatchedPage(page)
    page.goto(path.as_uri() if isinstance(path, Path) else path)
    try:
        yield page
        watched.went_well()
    finally:
        context.close()


def serious_violations(page):
    """What axe finds that is serious or worse; its script is given to the page by the browser."""
    if not AXE.exists():
        pytest.skip("axe is not here: cd frontend && npm ci")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("async () => (await axe.run()).violations")
    return [
        (v["id"], [n["html"][:120] for n in v["nodes"]])
        for v in found
        if v["impact"] in ("serious", "critical")
    ]
