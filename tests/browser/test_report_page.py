"""The page in a real browser: it answers as Python does, by mouse and keyboard, and fetches nothing."""

import csv
import io
import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.model_selection import train_test_split

import suffice
from suffice import Explainer, Explanation, ImageExplainer, TextExplainer, datasets
from suffice.formatting import percent
from suffice.summary import summarise
from tests.browser.chromium import browser, open_page, serious_violations  # noqa: F401 - a fixture


@pytest.fixture(scope="module")
def german(data_home):
    X, y = datasets.german_credit(data_home)
    X_train, _, y_train, _ = train_test_split(X, y, test_size=0.2, random_state=42)
    model = ExtraTreesClassifier(random_state=0, max_depth=15).fit(X_train, y_train)
    explainer = Explainer(model, X, references=y != y[998])
    return [explainer.explain(X.iloc[row], tau=0.9) for row in (998, 1)]


def lender(rows):
    rows = np.asarray(rows, dtype=float)
    return np.where(rows[:, 1] - rows[:, 2] - 9 * rows[:, 3] > 12, "granted", "refused")


LOANS, _ = datasets.loans(300)
LOANS = LOANS[["age", "income", "debt", "late payments"]]
E = Explainer(lender, LOANS).explain(LOANS.iloc[8])


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "why.html"
    E.to_html(path)
    return path


SHOWN = """() => [...document.querySelectorAll("section[data-view]")].map((section) => ({
    view: section.dataset.view,
    sets: [...section.querySelectorAll(".factors li")].map((li) => ({
        share: li.querySelector(".share").textContent,
        chips: [...li.querySelectorAll(".chip")].map((chip) => chip.textContent),
    })),
    necessity: section.querySelector(".necessity")?.textContent ?? "",
}))"""

MOVE = """(tau) => {
    const field = document.querySelector("input.tau-number");
    field.value = String(tau);
    field.dispatchEvent(new Event("change", { bubbles: true }));
    for (let more; (more = document.querySelector("button.more")) && /show/.test(more.textContent)
        && !/only/.test(more.textContent);) more.click();
}"""


def said(view):
    """What the page must show of a view: each set's share and names, in the order of `factors`."""
    (words,) = summarise(view, most=max(len(view), 1)).views
    shown = [{"share": f.share, "chips": list(f.conditions)} for f in words.factors]
    return {"view": view.name, "sets": shown}


def test_the_slider_answers_as_at_does_for_fifty_thresholds(browser, german, tmp_path):  # noqa: F811
    rng = np.random.default_rng(0)
    drawn = np.round(rng.random(60) * 0.7 + 0.3, 3).tolist()
    taus = [*np.linspace(0.8, 1, 11).round(3).tolist(), *drawn]
    taus = list(dict.fromkeys(taus))[:50]
    assert len(taus) == 50
    for number, e in enumerate(german):
        path = tmp_path / f"german{number}.html"
        page_text = e.to_html(path)
        assert len(page_text.encode()) <= 200_000
        with open_page(browser, path) as page:
            for tau in taus if number == 0 else taus[::10]:
                page.evaluate(MOVE, tau)
                at = e.at(tau)
                for got, view in zip(page.evaluate(SHOWN), (at.keep, at.flip), strict=True):
                    necessity = got.pop("necessity")
                    assert got == said(view), tau
                    if len(view):
                        assert necessity == summarise(view).views[0].necessity_text


def test_the_test_can_be_chosen(browser, german, tmp_path):  # noqa: F811
    (e, _), path = german, tmp_path / "german.html"
    e.to_html(path)
    with open_page(browser, path) as page:
        for alpha, adjust in ((0.05, "none"), (0.01, "holm"), (0.05, "bh"), (0.1, "bonferroni")):
            page.select_option(".alpha select", str(alpha))
            page.select_option(".adjust select", adjust)
            page.evaluate(MOVE, 0.85)
            at = e.at(0.85, alpha=alpha, adjust=adjust)
            for got, view in zip(page.evaluate(SHOWN), (at.keep, at.flip), strict=True):
                del got["necessity"]
                assert got == said(view)
            lead = page.text_content("section.keep .sentences .soft")
            assert lead == summarise(at.keep).views[0].lead
        page.select_option(".alpha select", "")
        assert page.query_selector(".adjust") is None


def test_any_set_is_measured_as_python_measures_it(browser, german, tmp_path):  # noqa: F811
    (e, _), path = german, tmp_path / "german.html"
    e.to_html(path)
    names = [player.name for player in e.players]
    rng = np.random.default_rng(1)
    with open_page(browser, path) as page:
        for _ in range(12):
            members = sorted(rng.choice(len(names), size=rng.integers(1, 9), replace=False))
            page.evaluate(
                """(members) => {
                    document.querySelector(".picked .clear")?.click();
                    for (const j of members) document.querySelectorAll(".pick")[j].click();
                }""",
                [int(j) for j in members],
            )
            features = [names[j] for j in members]
            for view in (e.keep, e.flip):
                told = page.locator(f".measured [data-view={view.name}]")
                factor = view.factor(features)
                got = {
                    k: float(told.get_attribute(f"data-{k}"))
                    for k in ("sufficiency", "necessity", "low", "high")
                }
                assert got["sufficiency"] == view.sufficiency(features)
                assert got["necessity"] == pytest.approx(view.necessity_of(features), abs=1e-9)
                assert (got["low"], got["high"]) == pytest.approx(factor.interval, abs=1e-9)
                assert percent(factor.sufficiency) in told.text_content()


def test_a_feature_is_required_excluded_and_pointed_at(browser, small):  # noqa: F811
    with open_page(browser, small) as page:
        column = page.locator("section.keep .targets g.target rect").first
        name = page.text_content("section.keep text.head").split(" = ")[0]
        column.hover(force=True)
        with_it = page.locator("section.keep circle.in:not(.faint)").count()
        assert 0 < with_it < page.locator("section.keep circle.in").count()
        page.mouse.move(1, 1)
        column.click(force=True)
        sets = page.evaluate(SHOWN)[0]["sets"]
        assert sets and all(any(c.startswith(name) for c in s["chips"]) for s in sets)
        assert page.locator(f".marks button:has-text('✓ {name}')").count() == 1
        page.locator(f".marks button:has-text('{name}')").click()
        assert not any(
            c.startswith(name) for s in page.evaluate(SHOWN)[0]["sets"] for c in s["chips"]
        )
        page.locator(".marks .clear").click()
        assert page.evaluate(SHOWN)[0]["sets"] == said(E.keep)["sets"]
        page.locator("section.keep .targets rect.target").first.click(force=True)
        pressed = page.locator(".pick[aria-pressed=true]").all_text_contents()
        assert pressed == [p.name for p in E.keep[0].players]


def test_order_and_views_can_be_chosen(browser, small):  # noqa: F811
    with open_page(browser, small) as page:
        page.evaluate(MOVE, 0.5)
        page.select_option(".sort select", "surer")
        shares = [s["share"].rstrip("*") for s in page.evaluate(SHOWN)[0]["sets"]]
        assert shares == [
            percent(f.sufficiency) for f in sorted(E.at(0.5).keep, key=lambda f: -f.sufficiency)
        ]
        page.select_option(".sort select", "cheaper")
        flip = [s["chips"] for s in page.evaluate(SHOWN)[1]["sets"]]
        assert flip == [list(f.features) for f in sorted(E.at(0.5).flip, key=lambda f: f.cost)]
        page.select_option(".show select", "flip")
        assert page.is_hidden("section.keep") and page.is_visible("section.flip")
        page.select_option(".show select", "both")
        assert page.is_visible("section.keep")


def test_everything_is_done_by_keyboard_alone(browser, small):  # noqa: F811
    with open_page(browser, small) as page:

        def tab_to(selector):
            for _ in range(80):
                page.keyboard.press("Tab")
                if page.evaluate("(s) => document.activeElement.matches(s)", selector):
                    return
            raise AssertionError(f"{selector} is not reached by Tab")

        tab_to("input.tau")
        for _ in range(10):
            page.keyboard.press("ArrowLeft")
        assert page.input_value("input.tau-number") == "0.8"
        assert page.evaluate(SHOWN)[0]["sets"] == said(E.at(0.8).keep)["sets"]
        assert "At τ = 0.8: " in page.text_content("[role=status]")
        tab_to(".marks button")
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.getAttribute('aria-label')").endswith(
            ": required"
        )
        page.keyboard.press("Space")
        page.keyboard.press("Space")
        tab_to(".copy")
        page.keyboard.press("Enter")
        page.wait_for_selector(".copy[data-copied]:focus")
        tab_to(".pick")
        page.keyboard.press("Space")
        assert page.locator(".measured [data-view]").count() == 2


def test_a_set_is_copied_as_a_sentence(browser, small):  # noqa: F811
    with open_page(browser, small) as page:
        for view in (E.keep, E.flip):
            button = page.locator(f"section.{view.name} .copy").first
            button.click()
            page.wait_for_function("(b) => b.dataset.copied", arg=button.element_handle())
            copied, f = button.get_attribute("data-copied"), view[0]
            assert f" for {percent(f.sufficiency)} of {f.n} references (95% interval " in copied
            verb = "Holding" if view.name == "keep" else "Replacing"
            assert copied.startswith(f"{verb} ") and all(p.name in copied for p in f.players)
            assert (f"cheapest change of this set: {f.change}" in copied) == (f.change is not None)


def test_what_is_downloaded_is_what_is_shown(browser, small):  # noqa: F811
    with open_page(browser, small) as page:

        def download(name):
            with page.expect_download() as found:
                page.locator(f".downloads button:text-is('{name}')").click()
            return found.value.path().read_bytes()

        assert Explanation.from_json(download("JSON").decode()) == E
        rows = list(csv.DictReader(io.StringIO(download("CSV").decode())))
        frame = E.to_frame()
        assert [r["features"] for r in rows] == ["; ".join(f) for f in frame["features"]]
        assert [float(r["sufficiency"]) for r in rows] == frame["sufficiency"].tolist()
        assert [float(r["low"]) for r in rows] == pytest.approx(frame["low"].tolist(), abs=1e-9)
        assert rows[0].keys() <= set(frame.columns)
        svg = download("SVG").decode()
        assert svg.startswith('<svg xmlns="http://www.w3.org/2000/svg"') and "var(" not in svg
        assert f"Keeps “{E.outcome}”" in svg and f"Flips to “{E.other_outcome}”" in svg
        assert "target" not in svg
        assert (
            '.keep text{fill:#5b6575;font:11px system-ui,"Segoe UI","DejaVu Sans",sans-serif}'
            in svg
        )
        assert download("PNG").startswith(b"\x89PNG")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 1280])
def test_nothing_serious_hinders_anyone_at_any_width_in_any_light(browser, small, width, scheme):  # noqa: F811
    size = {"width": width, "height": 800}
    with open_page(browser, small, viewport=size, color_scheme=scheme) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        dark = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
        assert (dark == "rgb(255, 255, 255)") == (scheme == "light")
        page.locator(".pick").first.click()
        assert serious_violations(page) == []


def test_with_scripts_off_all_of_it_can_be_read(browser, small):  # noqa: F811
    with open_page(browser, small, java_script_enabled=False) as page:
        assert page.is_visible("section.keep .sets") and page.is_visible("section.flip .sets")
        text = page.inner_text("body")
        for view in summarise(E).views:
            assert view.necessity_text in text and view.lead in text
            for factor in view.factors:
                assert all(c in text for c in factor.conditions)
        assert page.locator("button, input, select").count() == 0


@pytest.mark.parametrize("scripts", [True, False])
def test_on_a_phone_the_halves_of_the_picture_stand_below_each_other(browser, small, scripts):  # noqa: F811
    viewport = {"width": 400, "height": 800}
    with open_page(browser, small, viewport=viewport, java_script_enabled=scripts) as page:
        left, right = (
            page.locator(f"section.keep .sets .{side}").bounding_box() for side in ("left", "right")
        )
        assert right["y"] > left["y"] and right["x"] == left["x"]
        assert all(box["x"] + box["width"] <= 400 for box in (left, right))
        first = page.locator("section.keep .sets .right .number").first.bounding_box()
        last_tick = page.locator("section.keep .sets .left .tick").last.bounding_box()
        assert first["y"] > last_tick["y"]  # nothing is drawn over anything


@pytest.mark.parametrize("scripts", [True, False])
def test_on_a_phone_no_axis_of_seven_features_is_cut(browser, tmp_path, scripts):  # noqa: F811
    X, _ = datasets.loans(60)
    explainer = Explainer(lambda rows: (rows["income"] - rows["debt"] > 30).to_numpy(), X)
    path = tmp_path / "seven.html"
    explainer.explain(X.iloc[0]).to_html(path)
    viewport = {"width": 400, "height": 800}
    with open_page(browser, path, viewport=viewport, java_script_enabled=scripts) as page:
        for drawing in page.locator(".scroll").all():
            fits = "box => box.scrollWidth <= box.clientWidth"
            assert drawing.evaluate(fits)
            assert drawing.locator(".left .tick").last.text_content() == "1"


BROKEN = """() => {
    const words = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), out = [];
    for (let node; (node = words.nextNode()); ) {
        if (!node.parentElement.checkVisibility() || node.parentElement.closest("svg, script, style")) continue;
        for (const found of node.data.matchAll(/[A-Za-z]{2,25}/g)) {
            const range = document.createRange();
            range.setStart(node, found.index);
            range.setEnd(node, found.index + found[0].length);
            const tops = new Set([...range.getClientRects()].map((box) => Math.round(box.top)));
            if (tops.size > 1) out.push(found[0]);
        }
    }
    return out;
}"""


def test_no_name_is_broken_inside_a_word(browser, small, tmp_path):  # noqa: F811
    names = ["expenditure on entertainment", "transportation", "longstanding relationship"]
    people = LOANS.iloc[:, :3].set_axis(names, axis=1)
    pay = Explainer(lambda r: np.where(r[names[0]] > 40, "yes", "no"), people)
    reports = [
        pay.recourse(people.iloc[8]),
        pay.anchor(people.iloc[8]),
        pay.explain(people.iloc[8]),
    ]
    for number, result in enumerate(reports):
        path = tmp_path / f"{number}.html"
        result.to_html(path)
        for width in (400, 1280):
            with open_page(browser, path, viewport={"width": width, "height": 800}) as page:
                assert page.evaluate(BROKEN) == []
                assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_tables_in_notebooks_are_aligned_left(browser, tmp_path):  # noqa: F811
    path = tmp_path / "notebook.html"
    lab = ".jp-RenderedHTMLCommon:not(.jp-RenderedMarkdown) td { text-align: right; }"
    cell = Explainer(lender, LOANS).recourse(LOANS.iloc[8])._repr_html_()
    path.write_text(
        f"<meta charset='utf-8'><style>{lab}</style><div class='jp-RenderedHTMLCommon'>{cell}</div>",
        encoding="utf-8",
    )
    with open_page(browser, path) as page:
        aligned = page.locator("td").evaluate_all(
            "all => all.map(cell => [cell.className, getComputedStyle(cell).textAlign])"
        )
        assert {align for kind, align in aligned if kind not in ("share", "number")} == {"left"}
        assert {align for kind, align in aligned if kind in ("share", "number")} == {"right"}


def test_printed_it_has_no_controls_and_fits(browser, small):  # noqa: F811
    with open_page(browser, small) as page:
        page.emulate_media(media="print")
        for control in ("threshold", "controls", "picked"):
            assert page.is_hidden(f"[data-slot={control}]")
        assert page.is_hidden(".copy >> nth=0")
        assert page.is_visible("section.keep .sets")
        page.set_viewport_size({"width": 720, "height": 1000})
        assert page.evaluate("document.documentElement.scrollWidth") <= 720


HOSTILE = [
    "<script>window.broken = 1</script>",
    "</script><script>window.broken = 1</script>",
    '"><img src=x onerror="window.broken=1">',
    "'; window.broken = 1; '",
    "turn \u202eleft\u2066",
    "long " * 2000,
    "{{ 7 * 7 }} ${7*7} \\u003c",
    "<!-- <svg onload=window.broken=1>",
]


@pytest.mark.parametrize("scripts", [True, False])
def test_no_name_or_value_does_anything(browser, tmp_path, scripts):  # noqa: F811
    rows = pd.DataFrame(
        [[f"{h}{i % 3}" for h in HOSTILE] for i in range(12)], columns=HOSTILE, dtype=object
    )

    def model(r):
        return np.where(r[HOSTILE[0]].str.endswith("0"), HOSTILE[0], HOSTILE[2])

    e = Explainer(model, rows).explain(rows.iloc[0])
    one, many = tmp_path / "one.html", tmp_path / "many.html"
    e.to_html(one)
    suffice.report([e, e], many, title=HOSTILE[1], names=[HOSTILE[0], HOSTILE[2]])
    cell = tmp_path / "cell.html"
    cell.write_text(f"<!doctype html><meta charset=utf-8>{e._repr_html_()}", encoding="utf-8")
    for path in (one, many, cell):
        with open_page(
            browser, path, java_script_enabled=scripts, viewport={"width": 320, "height": 800}
        ) as page:
            assert page.locator("img").count() == 0
            if scripts:
                assert page.evaluate("window.broken") is None
                assert page.evaluate("document.documentElement.scrollWidth") <= 320
            if path != cell and scripts:
                if path == many:
                    page.locator("details.one summary").first.click()
                    page.wait_for_selector(".pick")
                page.locator(".pick").first.click()
                page.locator(".marks button").first.click()
                assert page.evaluate("window.broken") is None
                assert HOSTILE[0][:30] in page.inner_text("body")


def test_texts_keep_their_marks_and_pictures_their_places(browser, tmp_path):  # noqa: F811
    text = TextExplainer(
        lambda ts: ["good" in t or "fine" in t for t in ts], mask=["UNK", "x", "fine"]
    )("A <good> film, a fine 🎬 evening & friends.")
    path = tmp_path / "text.html"
    text.to_html(path)
    with open_page(browser, path) as page:
        assert page.locator("mark").first.text_content() in ("good", "fine")
        assert "A <good> film" in page.inner_text("body")
        assert serious_violations(page) == []
    labels = np.arange(4).reshape(2, 2).repeat(4, axis=0).repeat(4, axis=1)
    image = ImageExplainer(
        lambda images: [int(i[0, 0] > 0.5) for i in np.asarray(images)],
        regions=labels,
        references=0,
    )
    image(np.ones((8, 8))).to_html(path)
    with open_page(browser, path) as page:
        assert page.locator("img.marked").count() == 2
        page.locator(".pick").first.click()
        assert "100%" in page.text_content(".measured")
        assert serious_violations(page) == []


def test_where_a_search_was_bounded_the_page_offers_what_is_known(browser, tmp_path):  # noqa: F811
    rng = np.random.default_rng(0)
    data = rng.random((40, 30))
    weights = rng.random(30)
    explainer = Explainer(lambda r: (np.asarray(r) @ weights > weights.sum() / 2).astype(int), data)
    bounded = explainer.explain(data[0], max_size=2, search="exhaustive", tau=0.5)
    path = tmp_path / "wide.html"
    bounded.to_html(path)
    with open_page(browser, path) as page:
        for tau in (0.4, 0.55, 0.62, 0.7):
            page.evaluate(MOVE, tau)
            at = bounded.at(tau)
            for got, view in zip(page.evaluate(SHOWN), (at.keep, at.flip), strict=True):
                necessity = got.pop("necessity")
                assert got == said(view)
                if len(view):
                    assert necessity == summarise(view).views[0].necessity_text
        page.locator(".pick").first.click()
        page.locator(".pick").nth(1).click()
        page.locator(".pick").nth(2).click()
        assert "count is not in this page, which has those of minimal sets only" in page.inner_text(
            ".measured"
        )
    found = explainer.explain(data[0], search="greedy", budget=20_000)
    found.to_html(path)
    with open_page(browser, path) as page:
        assert page.locator("input.tau").count() == 0
        assert "looked for sets at the threshold τ = 0.9" in page.inner_text(".threshold-bar")
        for got, view in zip(page.evaluate(SHOWN), (found.keep, found.flip), strict=True):
            assert got["sets"] == said(view)["sets"][:12]
        # It claims no more than the search: neither of other thresholds nor of other sets.
        assert re.search(
            r"sets? found keep.*; .*sets? found flip", page.text_content("[role=status]")
        )
        assert page.locator("h3:has-text('Every threshold at once')").count() == 0
        summary = summarise(found)
        assert any(view.minimality for view in summary.views)
        for view in summary.views:
            assert view.minimality in page.inner_text(f"section.{view.name}")
    found.at(1.0).to_html(path)
    with open_page(browser, path) as page:
        assert "looked for sets at the threshold τ = 0.9" in page.inner_text(".threshold-bar")
        view = summarise(found.at(1.0)).keep
        assert view.none_reached and view.none_reached in page.inner_text("section.keep")


def test_many_are_searched_sorted_and_opened(browser, tmp_path):  # noqa: F811
    explainer = Explainer(lender, LOANS, n_references=40)
    many = explainer.explain_many(LOANS.iloc[:9])
    path = tmp_path / "many.html"
    suffice.report(many, path, names=[f"file-{i}" for i in range(9)])
    with open_page(browser, path) as page:

        def listed():
            return page.locator("tbody tr:visible td:first-child").locator("a").all_text_contents()

        assert len([n for n in listed() if n.startswith("file")]) == 9
        page.fill("input[type=search]", "FILE-3 enough")
        assert listed() == ["file-3"]
        assert page.locator("details.one:visible").count() == 1
        page.fill("input[type=search]", "no such word")
        assert listed() == []
        page.fill("input[type=search]", "")
        page.locator("th button:text-is('cost')").click()
        costs = [e.cheapest.cost if e.cheapest else np.inf for e in many]
        assert listed() == [f"file-{i}" for i in np.argsort(costs, kind="stable")]
        page.locator("a:text-is('file-5')").click()
        page.wait_for_selector("details.one[data-number='6'] input.tau")
        assert page.locator("details.one[open]").count() == 1
        got = page.evaluate(
            SHOWN.replace(
                'querySelectorAll("section', """querySelectorAll("[data-number='6'] section"""
            )
        )
        assert got[0]["sets"] == said(many[5].keep)["sets"]
        assert serious_violations(page) == []
    with open_page(browser, path, java_script_enabled=False) as page:
        page.locator("a:text-is('file-2')").click()
        assert page.is_visible("details.one[data-number='3'] section.keep")


def test_the_stored_text_in_the_page_is_the_explanation(small):
    text = small.read_text(encoding="utf-8").split("data-stored>")[1].split("</script>")[0]
    assert json.loads(text) == json.loads(E.to_json())
