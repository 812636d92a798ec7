"""Many explanations in one page: what they share, an index, each of them, with scripts off too."""

import re
from functools import cache
from html import unescape

import numpy as np
import pytest

import suffice
from suffice import Explainer, InputError, TextExplainer, datasets
from suffice.summary import summarise
from tests.html_checks import Tags

X, Y = datasets.loans(300)
X = X[["age", "income", "debt", "late payments"]]


def model(rows):
    rows = np.asarray(rows, dtype=float)
    return np.where(rows[:, 1] - rows[:, 2] - 9 * rows[:, 3] > 12, "granted", "refused")


EXPLAINER = Explainer(model, X, n_references=40)


@cache
def many():
    return EXPLAINER.explain_many(X.iloc[:12])


@cache
def page():
    return suffice.report(many(), names=[f"application {i}" for i in range(12)])


class PageTags(Tags):
    """The same, and every address is within the page."""

    def __init__(self):
        super().__init__()
        self.ids, self.links = [], []

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.ids += [given["id"]] if "id" in given else []
        if tag == "a":
            assert given["href"].startswith("#")
            self.links.append(given.pop("href")[1:])
        super().handle_starttag(tag, list(given.items()))


def test_every_explanation_is_listed_and_reachable_without_scripts():
    tags = PageTags()
    tags.feed(page())
    assert tags.open == []
    assert set(tags.links) <= set(tags.ids)
    assert len(set(tags.ids)) == len(tags.ids)
    text = unescape(page().split("<script>")[0])
    for i, e in enumerate(many()):
        assert summarise(e).answer in text
        assert f'<a href="#e{i + 1}">application {i}</a>' in page()
    assert page().count('<details class="one"') == 12
    assert page().count("data-words>") == 12


def test_the_bundle_is_there_once_and_each_brings_little():
    assert page().count("/* suffice; with Preact") == 1
    pages = sum(len(e.to_html()) for e in many())
    assert len(page()) < pages / 4
    assert re.search(r"12 decisions, about \d+ KB; nothing is fetched\.", page())


def test_what_they_have_in_common_is_counted():
    outcomes = [e.outcome for e in many()]
    for outcome in set(outcomes):
        assert f"{outcomes.count(outcome)} × “{outcome}”" in page()
    assert "All are complete." in page()
    shares = [dict(e.keep.digest.counts)["income"] / len(e.keep) for e in many() if len(e.keep)]
    row = page().split("<td>income</td>")[1].split("</tr>")[0]
    assert f'<td class="share keep">{np.mean(shares):.0%}' in row


def test_a_sequence_is_gone_through_once_however_it_comes(tmp_path):
    path = tmp_path / "many.html"
    page = suffice.report((e for e in many()[:3]), path, title="Three & more")
    assert path.read_text(encoding="utf-8") == page
    assert "<h1>Three &amp; more</h1>" in page
    assert suffice.report(many()[0]).count('<details class="one"') == 1


def test_what_could_not_be_explained_is_listed_with_its_reason():
    failed = InputError("x", "<b>nothing</b>", "a row")
    page = suffice.report([many()[0], failed])
    assert "1 could not be explained" in page
    assert "&lt;b&gt;nothing&lt;/b&gt;" in page
    assert page.count('<details class="one"') == 1


def test_texts_and_rows_may_stand_in_one_page():
    text = TextExplainer(lambda ts: ["good" in t for t in ts])("a good day")
    page = suffice.report([many()[0], text])
    assert "<mark>good</mark>" in page
    assert ".suffice mark" in page


def test_odd_requests_say_what_is_allowed():
    for given in ([], iter([])):
        with pytest.raises(InputError, match="explanations: got none; allowed: at least one"):
            suffice.report(given)
    with pytest.raises(InputError, match="explanations: got 3"):
        suffice.report([3])
    with pytest.raises(InputError, match="names: got 1 names; allowed: 2, one per explanation"):
        suffice.report(many()[:2], names=["a"])


def test_the_function_can_be_called_whatever_was_loaded_before():
    import suffice.report.html

    assert callable(suffice.report)
    assert "Why? 1 decision" in suffice.report([many()[0]])
    from suffice.report import render_result

    assert callable(suffice.report) and render_result.text
