"""An explanation in a notebook: live in JupyterLab, exported by nbconvert, and where frames are cut."""

import os
import re
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from time import monotonic, sleep

import pytest

from tests.browser.chromium import browser, open_page  # noqa: F401 - a fixture
from tests.browser.test_report_page import SHOWN, E, said


def needed(package):
    """A package of Jupyter; the test is skipped where it is not installed."""
    reason = f"{package} is not installed here: `make test-peers` tests notebooks"
    return pytest.importorskip(package, reason=reason)


def notebook(path, *, executed):
    nbformat = needed("nbformat")
    code = nbformat.v4.new_code_cell("e")
    if executed:
        shown = {"text/html": E._repr_html_(), "text/plain": repr(E)}
        output = nbformat.v4.new_output("execute_result", shown, execution_count=1)
        code.outputs, code.execution_count = [output], 1
    book = nbformat.v4.new_notebook(cells=[code])
    book.metadata["kernelspec"] = {
        "name": "python3",
        "display_name": "Python 3",
        "language": "python",
    }
    nbformat.write(book, path)
    return path


def frame_of(page):
    """The frame that the cell brings, once its script has run."""
    handle = page.wait_for_selector("iframe.suffice-frame")
    frame = handle.content_frame()
    frame.wait_for_selector("input.tau")
    return frame


def answers(frame):
    """Move the threshold by keyboard, and see what Python says."""
    frame.focus("input.tau")
    for _ in range(10):
        frame.press("input.tau", "ArrowLeft")
    assert frame.evaluate(SHOWN)[0]["sets"] == said(E.at(0.8).keep)["sets"]
    assert frame.evaluate(SHOWN)[1]["sets"] == said(E.at(0.8).flip)["sets"]


def test_a_cell_is_a_frame_without_rights_and_a_static_piece_for_where_frames_are_cut():
    cell = E._repr_html_()
    assert 'sandbox="allow-scripts allow-downloads"' in cell
    frame, rest = re.split(r"</iframe>", cell)
    assert "<script" not in cell
    assert "Content-Security-Policy" in frame
    assert "Keeps “" in rest and "<svg" in rest
    assert ".suffice-frame + .suffice { display: none; }" in frame


def test_exported_by_nbconvert_it_still_answers(browser, tmp_path):  # noqa: F811
    nbconvert, nbformat = needed("nbconvert"), needed("nbformat")
    book = nbformat.read(notebook(tmp_path / "why.ipynb", executed=True), as_version=4)
    exporter = nbconvert.HTMLExporter(template_name="classic")
    html, _ = exporter.from_notebook_node(book)
    # The template asks for MathJax and the like; the cell itself needs nothing.
    html = re.sub(r"<script[^>]*src=.*?</script>", "", html, flags=re.S)
    path = tmp_path / "why.html"
    path.write_text(re.sub(r'<link[^>]*href="http.*?>', "", html), encoding="utf-8")
    context = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True)
    page = context.new_page()
    page.goto(path.as_uri())
    assert page.locator(".suffice:visible").count() == 0  # only the frame shows
    answers(frame_of(page))
    page.emulate_media(media="print")
    assert page.is_visible("section.keep .sets") and page.is_hidden("iframe.suffice-frame")
    context.close()


def test_where_scripts_are_off_or_frames_are_cut_the_static_piece_shows(browser, tmp_path):  # noqa: F811
    cell = E._repr_html_()
    path = tmp_path / "cell.html"
    head = "<!doctype html><meta charset=utf-8><title>cell</title>"
    # A frame that may run nothing: the browser's own switch may come too late for a frame.
    still = cell.replace('sandbox="allow-scripts allow-downloads"', 'sandbox=""')
    path.write_text(head + still, encoding="utf-8")
    page = browser.new_page()
    page.goto(path.as_uri())
    frame = page.wait_for_selector("iframe").content_frame()
    frame.wait_for_selector("section.keep .sets")
    assert frame.locator("button, input").count() == 0
    page.close()
    path.write_text(head + re.sub(r"<iframe.*?</iframe>", "", cell, flags=re.S), encoding="utf-8")
    with open_page(browser, path) as page:
        assert page.is_visible("section.keep .sets")
        assert E.keep.outcome in page.inner_text("body")


@pytest.fixture
def lab(tmp_path):
    """A JupyterLab of its own in an empty folder; its address."""
    needed("jupyterlab")
    needed("ipykernel")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    home = {f"JUPYTER_{n}_DIR": str(tmp_path / n.lower()) for n in ("CONFIG", "DATA", "RUNTIME")}
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}"]
    command += [
        "--ip=127.0.0.1",
        "--IdentityProvider.token=",
        "--ServerApp.password=",
        f"--ServerApp.root_dir={tmp_path}",
    ]
    command += [
        "--LabApp.news_url=",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]
    server = subprocess.Popen(
        command, env={**os.environ, **home}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        until = monotonic() + 600
        while True:
            assert server.poll() is None, "JupyterLab ended"
            assert monotonic() < until, "JupyterLab does not answer"
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/api", timeout=60).close()
                break
            except (urllib.error.URLError, OSError):
                sleep(0.2)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()  # it ends its kernels
        server.wait(300)


def test_it_answers_live_in_jupyterlab(browser, lab, tmp_path):  # noqa: F811
    path = notebook(tmp_path / "why.ipynb", executed=False)
    nbformat = needed("nbformat")
    stored = tmp_path / "e.json"
    stored.write_text(E.to_json(), encoding="utf-8")
    book = nbformat.read(path, as_version=4)
    book.cells[
        0
    ].source = "from suffice import Explanation\nExplanation.from_json(open('e.json').read())"
    nbformat.write(book, path)
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    context.set_default_timeout(120_000)
    page = context.new_page()
    page.goto(f"{lab}/lab/tree/why.ipynb?reset")
    page.locator(".jp-Notebook .jp-CodeCell .jp-InputArea-editor").first.click()
    page.wait_for_selector(".jp-Notebook-ExecutionIndicator[data-status=idle]", state="attached")
    page.keyboard.press("Shift+Enter")
    answers(frame_of(page))
    assert page.locator(".jp-OutputArea .suffice:visible").count() == 0
    context.close()
