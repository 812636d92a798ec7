"""Many explanations in one page: what they share, an index, each of them, with scripts off too."""

import re
from html import unescape

import numpy as np
import pytest

import suffice
from suffice import Explainer, InputError, TextExplainer, datasets
from suffice.summary import summarise
from tests.test_report import Tags

X, Y = datasets.loans(300)
X = X[["age", "income", "debt", "late payments"]]


def model(rows):
    rows = np.asarray(rows, dtype=float)
    return np.where(rows[:, 1] - rows[:, 2] - 9 * rows[:, 3] > 12, "granted", "refused")


EXPLAINER = Explainer(model, X, n_references=40)
MANY = EXPLAINER.explain_many(X.iloc[:12])
PAGE = suffice.report(MANY, names=[f"application {i}" for i in range(12)])


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
    tags.feed(PAGE)
    assert tags.open == []
    assert set(tags.links) <= set(tags.ids)
    assert len(set(tags.ids)) == len(tags.ids)
    text = unescape(PAGE.split("<script>")[0])
    for i, e in enumerate(MANY):
        assert summarise(e).answer in text
        assert f'<a href="#e{i + 1}">application {i}</a>' in PAGE
    assert PAGE.count('<details class="one"') == 12
    assert PAGE.count("data-words>") == 12


def test_the_bundle_is_there_once_and_each_brings_little():
    assert PAGE.count("/* suffice; with Preact") == 1
    pages = sum(len(e.to_html()) for e in MANY)
    assert len(PAGE) < pages / 4
    assert re.search(r"12 decisions, about \d+ KB; nothing is fetched\.", PAGE)


def test_what_they_have_in_common_is_counted():
    outcomes = [e.outcome for e in MANY]
    for outcome in set(outcomes):
        assert f"{outcomes.count(outcome)} × “{outcome}”" in PAGE
    assert "All are complete." in PAGE
    shares = [dict(e.keep.digest.counts)["income"] / len(e.keep) for e in MANY if len(e.keep)]
    row = PAGE.split("<td>income</td>")[1].split("</tr>")[0]
    assert f'<td class="share keep">{np.mean(shares):.0%}' in row


def test_a_sequence_is_gone_through_once_however_it_comes(tmp_path):
    path = tmp_path / "many.html"
    page = suffice.report((e for e in MANY[:3]), path, title="Three & more")
    assert path.read_text(encoding="utf-8") == page
    assert "<h1>Three &amp; more</h1>" in page
    assert suffice.report(MANY[0]).count('<details class="one"') == 1


def test_what_could_not_be_explained_is_listed_with_its_reason():
    failed = InputError("x", "<b>nothing</b>", "a row")
    page = suffice.report([MANY[0], failed])
    assert "1 could not be explained" in page
    assert "&lt;b&gt;nothing&lt;/b&gt;" in page
    assert page.count('<details class="one"') == 1


def test_texts_and_rows_may_stand_in_one_page():
    text = TextExplainer(lambda ts: ["good" in t for t in ts])("a good day")
    page = suffice.report([MANY[0], text])
    assert "<mark>good</mark>" in page
    assert ".suffice mark" in page


def test_odd_requests_say_what_is_allowed():
    for given in ([], iter([])):
        with pytest.raises(InputError, match="explanations: got none; allowed: at least one"):
            suffice.report(given)
    with pytest.raises(InputError, match="explanations: got 3"):
        suffice.report([3])
    with pytest.raises(InputError, match="names: got 1 names; allowed: 2, one per explanation"):
        suffice.report(MANY[:2], names=["a"])


def test_the_function_can_be_called_whatever_was_loaded_before():
    import suffice.report.html

    assert callable(suffice.report)
    assert "Why? 1 decision" in suffice.report([MANY[0]])
    import importlib

    assert "Why? 1 decision" in importlib.import_module("suffice.report")([MANY[0]])
