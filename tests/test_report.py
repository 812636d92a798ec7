"""What people see: text, terminal, notebook, page, stored form."""

import json
from html.parser import HTMLParser
from io import StringIO

import jsonschema
import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from sklearn.ensemble import RandomForestClassifier

from suffice import Explainer, Explanation, datasets, result_schema
from suffice.report.html import barcode, curve
from suffice.summary import summarise

X, Y = datasets.loans(300)
NUMERIC = X[["age", "income", "debt", "late payments"]]
MODEL = RandomForestClassifier(20, random_state=0).fit(NUMERIC, Y)
EXPLAINER = Explainer(MODEL, NUMERIC)
E = EXPLAINER.explain(NUMERIC.iloc[8])


def screen(explanation, width=100):
    console = Console(width=width, file=StringIO())
    console.print(explanation)
    return console.file.getvalue()


def test_text_says_it_all_to_a_newcomer():
    text = str(E)
    share = MODEL.predict_proba(NUMERIC.iloc[[8]]).max()
    asked = f"Why “{E.prediction}”? Predicted with a probability of {share:.0%}."
    assert text.startswith(f"{asked}\n  “{E.prediction}” because of ")
    assert "\n  RandomForestClassifier, against " in text
    assert f"Keeps “{E.keep.outcome}”" in text
    assert f"Flips to “{E.flip.outcome}”" in text
    best = E.keep.factors[0]
    conditions = ", ".join(f"{name} = {best.values[name]}" for name in best.features)
    assert f"{best.sufficiency:.0%}  {conditions}" in text
    assert "cheapest change of this set: " in text
    assert f"cover {E.keep.necessity:.0%} of the ways to" in text
    assert "Complete: all 16 subsets of 4 features were evaluated" in text
    assert max(map(len, text.splitlines())) <= 92


def test_terminal_fits_its_width_and_says_the_same():
    for width in (40, 100):
        text = screen(E, width)
        assert max(map(len, text.splitlines())) <= width
    assert "Complete: all 16 subsets" in screen(E)
    for factor in summarise(E).keep.factors:
        assert factor.text in screen(E)


def test_long_answers_say_what_is_left_out():
    rng = np.random.default_rng(0)
    data = rng.random((40, 12))
    e = Explainer(lambda r: (r[:, :12].sum(axis=1) > 6).astype(int), data).explain(data[0], tau=0.7)
    assert len(e.keep.factors) > 12
    assert f"and {len(e.keep.factors) - 10} more: .keep.factors" in str(e)
    assert f"and {len(e.keep.factors) - 12} more: .keep.factors" in screen(e)
    assert "more sets are minimal at lower thresholds" in e.to_html()
    many = max((e.at(tau) for tau, _ in e.keep.curve), key=lambda e: len(e.keep.factors))
    assert len(many.keep.factors) > 25
    assert f"and {len(many.keep.factors) - 25} more: <code>.keep.factors</code>" in many.to_html()


def test_no_factor_is_an_answer_with_advice():
    e = EXPLAINER.explain(NUMERIC.iloc[8], tau=1.0, max_size=1)
    view = e.keep
    text = str(e)
    assert "No set of features reaches τ = 1." in text
    assert f"The best keeps {view.best.sufficiency:.0%}: {view.best.features[0]}" in text
    assert "needs no new model call" in text
    assert "Not complete: stopped by max_size=1." in text
    assert 'class="none"' in e.to_html()

    by_label = Explainer(MODEL, NUMERIC, references=Y[8] != Y).explain(NUMERIC.iloc[8], tau=1.0)
    if by_label.flip.everything.sufficiency < 1:
        assert "Replacing every feature flips" in str(by_label)


def test_tests_and_estimates_are_named():
    tested = str(EXPLAINER.explain(NUMERIC.iloc[8], tau=0.6, alpha=0.05, adjust="holm"))
    assert "each by an exact binomial test at α = 0.05 (holm-adjusted)" in tested.replace("\n ", "")
    bounded = EXPLAINER.explain(NUMERIC.iloc[8], tau=0.3, max_size=1)
    assert "estimated, 95% interval" in str(bounded).replace("\n ", "")
    refused = str(EXPLAINER.explain(NUMERIC.iloc[8], tau=0.999, alpha=0.001))
    assert "at level α = 0.001" in refused


def test_outcomes_that_never_come_about():
    data = np.eye(3)
    e = Explainer(lambda r: (r[:, 0] > 0.5).astype(int), data, references=data[:, 0] == 0)
    text = str(e.explain([0, 0, 0.0]))
    assert "100%  nothing: it comes about anyway" in text
    assert "No hybrid comes out as “1”" in text


class Tags(HTMLParser):
    """Every opened tag is closed, and nothing is fetched."""

    void = frozenset({"meta"})

    def __init__(self):
        super().__init__()
        self.open, self.text = [], []

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            assert name not in ("src", "href"), f"{tag} fetches {value}"
        if tag not in self.void:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@pytest.mark.parametrize("html", [E.to_html(), E._repr_html_()])
def test_html_is_well_formed_and_self_contained(html):
    tags = Tags()
    tags.feed(html)
    assert tags.open == []
    text = "".join(tags.text)
    assert E.keep.outcome in text
    assert "Complete:" in text
    assert "prefers-color-scheme: dark" in html


def test_html_escapes_what_users_bring():
    nasty = NUMERIC.rename(columns={"age": "<script>alert(1)</script>"})
    model = RandomForestClassifier(5, random_state=0).fit(nasty, Y)
    html = Explainer(model, nasty).explain(nasty.iloc[0]).to_html()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def test_report_file(tmp_path):
    path = tmp_path / "why.html"
    assert E.to_html(path) == path.read_text(encoding="utf-8")


def test_pictures_draw_what_the_summary_says():
    view = summarise(E).keep
    bars = barcode(view)
    assert len(bars.bars) + bars.left_out == len(E.keep.barcode)
    assert all(bar.low < bar.high for bar in bars.bars)
    points = curve(view).points
    assert points[0][0] == 0
    assert points[-1][0] == 100
    heights = [y for _, y in points]
    assert heights == sorted(heights, reverse=True)


def test_groups_are_named_not_listed():
    groups = {"money": ["income", "debt"], "all else": ["age", "late payments"]}
    e = Explainer(MODEL, NUMERIC, groups=groups).explain(NUMERIC.iloc[8], tau=0.5)
    assert "money (income = " in str(e)
    wide = pd.DataFrame(np.random.default_rng(0).random((50, 6)), columns=list("abcdef"))
    one = Explainer(
        lambda r: (r["a"] + r["b"] > 1).astype(int), wide, groups={"vector": list("abcde")}
    )
    text = str(one.explain(wide.iloc[0]))
    assert "vector (5 columns)" in text
    assert "cheapest change of this set: vector (5 columns)" in text


def test_frame_lists_both_views():
    frame = E.to_frame()
    assert list(frame["view"].unique()) == ["keep", "flip"]
    assert len(frame) == len(E.keep.factors) + len(E.flip.factors)
    assert frame.loc[0, "sufficiency"] == E.keep.factors[0].sufficiency
    assert list(EXPLAINER.explain(NUMERIC.iloc[8], tau=1.0, max_size=1).to_frame().columns) == list(
        frame.columns
    )


def test_json_follows_the_published_schema_and_comes_back_whole():
    schema = result_schema(Explanation)
    bounded = EXPLAINER.explain(NUMERIC.iloc[8], max_size=1)
    for e in (E, bounded):
        text = e.to_json()
        jsonschema.validate(json.loads(text), schema)
        again = Explanation.from_json(text)
        assert again == e
        assert hash(again) == hash(e)
        assert str(again) == str(e)
        assert again.at(0.5).keep.factors == e.at(0.5).keep.factors
    assert bounded != E
    assert E != "something else"


def test_same_question_same_answer():
    again = Explainer(MODEL, NUMERIC).explain(NUMERIC.iloc[8])
    assert again.keep.factors == E.keep.factors
    assert again.flip.factors == E.flip.factors
