"""The explorer in a real browser: tables, what-ifs, recourse, and addresses that say it all."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from urllib.parse import parse_qs, urlsplit

import pandas as pd
import pytest

from suffice import Explainer
from suffice.web.server import _open_socket
from suffice.web.session import Session
from tests.browser.chromium import WatchedPage, browser, serious_violations  # noqa: F401 - a fixture
from tests.web.explorer_server import TOKEN, X, explorer_server, forest, loans_room, y


@pytest.fixture(scope="module")
def address():
    with explorer_server(loans_room()) as found:
        yield found


@contextmanager
def visitor(browser):  # noqa: F811
    """A tab with cookies of its own."""
    context = browser.new_context()
    context.set_default_timeout(60_000)
    try:
        yield context.new_page()
    finally:
        context.close()


@pytest.fixture
def visit(browser, address):  # noqa: F811
    """Opens a place of the explorer; nothing may be said in the console, or asked elsewhere."""
    with visitor(browser) as page:
        watched = WatchedPage(page)

        def go(query: str = "", width: int = 1200):
            page.set_viewport_size({"width": width, "height": 800})
            page.goto(f"{address}/?token={TOKEN}{query}")
            return page

        yield go
        watched.went_well(address)


def explained(page):
    page.wait_for_selector(".suffice section", timeout=120_000)


def sets(page, view):
    found = page.eval_on_selector_all(
        f"section[data-view={view}] .factors li",
        "items => items.map(i => [...i.querySelectorAll('.chip')].map(c => c.textContent))",
    )
    return {frozenset(re.split(" = ", chip)[0] for chip in chips) for chips in found}


def test_a_row_is_found_and_opened_and_its_sets_are_those_of_python(visit):
    page = visit()
    page.wait_for_selector("table.rows tbody tr")
    assert "of 600" in page.inner_text("[role=status]")
    page.select_option("label:has-text('Predicted') select", "refused")
    page.wait_for_selector("[role=status]:not(:has-text('of 600'))")
    page.click("table.rows tbody tr:nth-child(2) td:nth-child(5)")  # anywhere in the row
    explained(page)
    row = int(parse_qs(urlsplit(page.url).query)["row"][0])
    assert forest().predict(X.iloc[[row]])[0] == "refused"
    own = Explainer(forest(), X, n_references=60).explain(X.iloc[row])
    assert sets(page, "keep") == {frozenset(f.features) for f in own.keep.factors}
    assert sets(page, "flip") == {frozenset(f.features) for f in own.flip.factors}


def test_the_token_is_nowhere_in_the_address(visit):
    page = visit("&row=1")
    explained(page)
    assert TOKEN not in page.url


def test_a_value_is_changed_and_back_undoes_it(visit):
    page = visit("&row=1")
    explained(page)
    assert "refused" in page.inner_text("h2 >> nth=0")
    page.fill("label:has(span[title='late payments']) input", "0")
    page.keyboard.press("Enter")
    page.select_option("label:has(span[title='guarantor']) select", label="yes")
    page.wait_for_selector(".predicted:has-text('granted')")
    changed = X.iloc[1].to_dict() | {"late payments": 0, "guarantor": True}
    assert forest().predict(pd.DataFrame([changed]))[0] == "granted"
    page.go_back()
    page.go_back()
    page.wait_for_selector(".predicted:has-text('refused')")
    page.go_forward()
    page.go_forward()
    page.reload()
    page.wait_for_selector(".predicted:has-text('granted')")


def test_a_way_out_is_tried_by_one_click(visit):
    page = visit("&row=1&tab=recourse&fixed=%5B%22age%22%5D")
    page.wait_for_selector("text=Try it", timeout=120_000)
    assert not page.locator("td:has-text('age ')").filter(has_text=re.compile(r"\bage \d")).count()
    page.click("text=Try it >> nth=0")
    page.wait_for_selector(".predicted:has-text('granted')")
    assert page.get_attribute("#tab-explanation", "aria-selected") == "true"


def test_truths_and_costs_are_shown_as_on_the_page_and_sent_as_they_are(visit):
    page = visit("&tab=recourse")
    page.wait_for_selector("table.rows tbody tr")
    page.select_option("[aria-label=Column]", "guarantor")
    page.select_option("[aria-label=Value]", label="yes")
    page.click(".conditions button[type=submit]")
    page.wait_for_selector(".chip:has-text('guarantor is yes')")
    page.wait_for_selector(f"[role=status]:has-text('of {X['guarantor'].sum()}.')")
    cells = page.locator(f"table.rows td:nth-child({4 + X.columns.get_loc('guarantor')})")
    assert set(cells.all_inner_texts()) == {"yes"}
    page = visit("&row=1&tab=recourse")
    page.wait_for_selector("text=Try it", timeout=120_000)
    own = Explainer(forest(), X, n_references=60).recourse(X.iloc[1], max_options=20)
    rows = page.eval_on_selector_all(
        "tr:has(button:text-is('Try it'))",
        "rows => rows.map(r => [...r.cells].slice(1, 3).map(c => c.textContent))",
    )
    assert rows == [[option.text, f"{option.cost:.3g}"] for option in own]
    assert page.inner_text("caption") == own.sheet.title
    assert page.locator(f".note:text-is('{own.sheet.notes[-1]}')").count() == 1


def test_two_models_stand_side_by_side(visit):
    page = visit("&row=1&otherModel=linear")
    page.wait_for_selector(".other .suffice section", timeout=120_000)
    assert "by linear" in page.inner_text(".other h3")


def test_what_differs_between_two_rows_is_marked(visit):
    page = visit("&row=1&otherRow=8")
    page.wait_for_selector("table.comparison")
    differ = [c for c in X.columns if X.iloc[1][c] != X.iloc[8][c]]
    assert page.inner_text("table.comparison caption") == f"{len(differ)} of 7 values differ."
    rows = page.eval_on_selector_all(
        "table.comparison tr.differs",
        "rows => rows.map(r => [...r.cells].map(c => c.textContent))",
    )
    assert [name for name, *_ in rows] == differ
    assert page.locator("table.comparison tr.differs mark").count() == 2 * len(differ)
    assert [str(X.iloc[1]["age"]), str(X.iloc[8]["age"])] in [cells for _, *cells in rows]


def test_a_value_outside_the_data_is_marked(visit):
    page = visit("&row=1")
    page.wait_for_selector(".whatif input")
    assert page.locator("label.outside").count() == 0
    page.fill("label:has(span[title='age']) input", "120")
    page.keyboard.press("Enter")
    lowest, highest = X["age"].min(), X["age"].max()
    page.wait_for_selector(f"label.outside:has-text('outside the data: {lowest} to {highest}')")


def test_what_may_change_holds_for_the_headline_and_is_in_the_address(visit):
    page = visit("&row=1")
    explained(page)
    own = Explainer(forest(), X, n_references=60)
    name = own.explain(X.iloc[1]).cheapest.players[0].name
    page.click("summary:has-text('What may change')")
    page.select_option(f"details label:has(span:text-is('{name}')) select", label="stays as it is")
    page.wait_for_selector(".suffice .cheapest:has-text('as declared')", timeout=120_000)
    assert json.loads(parse_qs(urlsplit(page.url).query)["fixed"][0]) == [name]
    changed = [p.name for p in own.but(immutable=name).explain(X.iloc[1]).cheapest.players]
    headline = page.inner_text(".suffice .cheapest").partition("):")[2]
    assert name not in changed and all(f"{other} " in headline for other in changed)


def test_shapley_values_are_drawn_largest_first(visit):
    page = visit("&row=1&tab=shapley")
    page.wait_for_selector("table.chart", timeout=120_000)
    values = Explainer(forest(), X, n_references=60).shapley(X.iloc[1])
    ranked = sorted(values, key=lambda name: -abs(values[name]))
    assert page.locator("table.chart tbody th").all_inner_texts() == ranked
    widths = page.eval_on_selector_all(
        "table.chart rect", "bars => bars.map(bar => Number(bar.getAttribute('width')))"
    )
    spans = [abs(values[name]) / abs(values[ranked[0]]) for name in ranked]
    assert [w / widths[0] for w in widths] == pytest.approx(spans)


def test_an_old_answer_disappears_while_a_new_one_is_computed(visit):
    page = visit("&row=1")
    explained(page)
    page.route("**/api/explain", lambda route: None)  # never answered
    page.fill("label:has(span[title='debt']) input", "11")
    page.keyboard.press("Enter")
    page.wait_for_selector(".waiting[aria-busy=true] progress")
    assert page.locator(".suffice section").count() == 0
    page.unroute("**/api/explain")


def test_a_question_that_waits_shows_its_place_in_the_queue(visit):
    page = visit()
    page.wait_for_selector("table.rows tbody tr")
    line = json.dumps({"progress": None, "what": "", "place": 3}) + "\n"
    page.evaluate(
        """line => {
          const real = window.fetch;
          window.fetch = (url, init) => url === "/api/explain"
            ? Promise.resolve(new Response(new ReadableStream({
                start(controller) { controller.enqueue(new TextEncoder().encode(line)); },
              })))
            : real(url, init);
        }""",
        line,
    )
    page.click("table.rows tbody tr:nth-child(1)")
    page.wait_for_selector(".progress:has-text('Waiting: 2 questions are answered first')")


def test_every_answer_is_there(visit):
    page = visit("&row=1&tab=shapley")
    page.wait_for_selector(".sheet table", timeout=120_000)
    page.click("#tab-rules")
    page.wait_for_selector(".sheet:not(:has-text('Shapley')) table", timeout=120_000)
    page.click("#tab-graph")
    page.wait_for_selector(".graph .node")
    assert page.locator(".graph .node").count() == 3


def test_the_notebook_code_is_handed_out(visit):
    page = visit("&row=1")
    explained(page)
    with page.expect_download() as download:
        page.click("text=notebook code")
    code = download.value.path().read_text()
    assert "explainer.explain(x, tau=0.9)" in code


def test_tabs_and_rows_are_reached_by_keyboard_alone(visit):
    page = visit("&row=1")
    explained(page)
    page.focus("#tab-explanation")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("text=Try it", timeout=120_000)
    assert page.evaluate("document.activeElement.id") == "tab-recourse"


ANSWERED = {
    "": "table.rows tbody tr",
    "&row=1": ".suffice section",
    "&row=1&otherModel=linear": ".other .suffice section",
    "&row=1&tab=recourse": "text=Try it",
    "&row=1&tab=shapley": ".sheet table",
    "&row=1&tab=rules": ".sheet table",
    "&row=1&tab=graph": ".graph .node",
}


@pytest.mark.parametrize(("query", "answer"), ANSWERED.items())
def test_a_narrow_screen_holds_it_and_a_screen_reader_finds_nothing_seriously_wrong(
    visit, query, answer
):
    page = visit(query, width=320)
    page.wait_for_selector(answer, timeout=120_000)
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    page.set_viewport_size({"width": 1200, "height": 800})
    assert serious_violations(page) == []


def test_hostile_names_and_values_are_only_shown(browser):  # noqa: F811
    odd = "<img src=x onerror=alert(1)>\u202e" + "n" * 10_000
    data = pd.DataFrame({odd: ["<b>bold</b>", "'\"", "ok", "x"] * 5, "x": range(20)})
    model = lambda rows: rows["x"] > 9  # noqa: E731
    with explorer_server(Session({"<i>": model}, data)) as found, visitor(browser) as page:
        watched = WatchedPage(page)
        page.set_viewport_size({"width": 800, "height": 800})
        page.goto(f"{found}/?token={TOKEN}&row=0")
        explained(page)
        assert page.locator("img[src=x], td b b, .suffice b").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth") <= 800
        watched.went_well(found)


def test_a_slow_explanation_is_cancelled_and_can_be_requested_again(browser):  # noqa: F811
    class Slow:
        wait = None

        def __call__(self, rows):
            if self.wait is not None and len(rows) > 1:
                self.wait.wait(120)
            return rows["x"].to_numpy() > 9

    from threading import Event

    slow = Slow()
    data = pd.DataFrame({"x": range(20), "z": range(20)})
    with explorer_server(Session({"slow": slow}, data)) as found, visitor(browser) as page:
        slow.wait = Event()
        page.goto(f"{found}/?token={TOKEN}&row=1")
        page.click("text=Cancel", timeout=60_000)
        assert "Stopped" in page.inner_text(".fault")
        slow.wait.set()
        page.click("text=Ask again")
        explained(page)


def test_the_server_stops_cleanly_and_leaves_its_address(tmp_path):
    table = tmp_path / "loans.csv"
    X.iloc[:100].assign(decision=y[:100]).to_csv(table, index=False)
    command = [
        *(sys.executable, "-m", "suffice", "serve", "--data", str(table)),
        *("--target", "decision", "--train", "logistic"),
    ]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            line = process.stdout.readline()
            assert line.startswith("Explorer: http://127.0.0.1:")
            port = urlsplit(line.split()[1]).port
            process.send_signal(signal.SIGINT)
            _, told = process.communicate()
        finally:
            process.kill()
    assert process.returncode == 0, told
    assert "stopped" in told and "Traceback" not in told
    _open_socket("127.0.0.1", port).close()  # it could come back there
