"""What people see: text, terminal, notebook, page, stored form."""

import json
import re
import sys
from datetime import UTC, datetime
from functools import cache
from html import unescape
from importlib.metadata import version
from io import StringIO

import jsonschema
import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from suffice import Explainer, Explanation, TextExplainer, at_least, datasets, result_schema
from suffice.formatting import format_integer, percent
from suffice.report.html import draw_signature
from suffice.summary import SignatureLimits, summarise
from tests.fakes import fake_time
from tests.html_checks import Tags

X, Y = datasets.loans(300)
NUMERIC = X[["age", "income", "debt", "late payments"]]


@cache
def forest():
    return RandomForestClassifier(20, random_state=0).fit(NUMERIC, Y)


@cache
def loan_explainer():
    return Explainer(forest(), NUMERIC)


@cache
def refusal():
    return loan_explainer().explain(NUMERIC.iloc[8])


def flat(text):
    """Without line breaks and indents, and as it was before HTML escaped it."""
    return " ".join(unescape(text).split())


def screen(explanation, width=100):
    console = Console(width=width, file=StringIO())
    console.print(explanation)
    return console.file.getvalue()


def test_text_says_it_all_to_a_newcomer():
    text = str(refusal())
    share = forest().predict_proba(NUMERIC.iloc[[8]]).max()
    asked = f"Why “{refusal().prediction}”? Predicted with a probability of {share:.0%}."
    assert text.startswith(f"{asked}\n  Holding ")
    assert f" is enough for “{refusal().prediction}”: it stays for " in flat(text)
    assert "\n  RandomForestClassifier, against " in text
    assert f"Keeps “{refusal().keep.outcome}”" in text
    assert f"Flips to “{refusal().flip.outcome}”" in text
    best = refusal().keep.factors[0]
    conditions = ", ".join(f"{name} = {best.values[name]}" for name in best.features)
    assert f"{best.sufficiency:.0%}  {conditions}" in text
    assert "cheapest change of this set: " in text
    assert f"cover {refusal().keep.necessity:.0%} of the ways to" in text
    assert "Complete: all 16 subsets of 4 features were evaluated" in text
    assert max(map(len, text.splitlines())) <= 92


def test_one_sentence_sums_it_all_up_first():
    answer = summarise(refusal()).answer
    held = " and ".join(map(str, refusal().keep[0].players))
    kept = f"Holding {held} is enough for “refused”: it stays for"
    assert answer.startswith(f"{kept} {percent(refusal().keep[0].sufficiency)} of references")
    assert answer.endswith(
        f"; the cheapest change that flips it to “granted” is {refusal().cheapest}."
    )
    for face in (
        str(refusal()),
        screen(refusal()),
        refusal().to_html(),
        refusal()._repr_html_(),
        " ".join(refusal().sheet.lead),
    ):
        assert flat(answer) in flat(face)
    assert str(refusal().keep).startswith("What keeps “refused”? Predicted with")
    assert "flips" not in summarise(refusal().keep).answer
    assert str(refusal().flip).startswith("What flips it to “granted”? Predicted “refused” with")
    assert summarise(refusal().flip).answer.startswith(
        "The cheapest change that flips it to “granted” is"
    )


def test_the_cheapest_change_of_all_leads_and_is_what_recourse_gives():
    best = loan_explainer().recourse(NUMERIC.iloc[8]).best
    assert refusal().cheapest.cost == pytest.approx(best.cost, rel=1e-12)
    assert refusal().cheapest.features == best.features
    flip = flat(str(refusal().flip))
    lead = f"Cheapest change to values of one reference: {refusal().cheapest} (cost {refusal().cheapest.cost:.3g}, in typical deviations)."
    assert flip.index(lead) < flip.index("cheapest change of this set: ")
    ones = pd.DataFrame({"backed": [False, True], "home": ["rents", "owns"]})
    told = str(Explainer(lambda rows: rows["backed"], ones).explain(ones.iloc[0]).flip)
    assert "backed no → yes (cost 1)." in flat(told)  # no deviations of a column of true and false
    weighted = Explainer(forest(), NUMERIC, cost={"age": 2}).explain(NUMERIC.iloc[8])
    assert "in weighted typical deviations" in flat(str(weighted))
    own = Explainer(forest(), NUMERIC, cost=lambda c, a, b: np.abs(b - a)).explain(NUMERIC.iloc[8])
    assert (
        f"Cheapest change to values of one reference: {own.cheapest} (cost {own.cheapest.cost:.3g})."
        in flat(str(own))
    )
    bounded = loan_explainer().explain(NUMERIC.iloc[8], max_size=1)
    assert "Cheapest change found to values of one reference: " in str(bounded)


def test_a_bounded_search_that_found_sets_does_not_claim_the_cheapest_change_of_all():
    bounded = loan_explainer().explain(NUMERIC.iloc[8], max_size=1, tau=0.1)
    assert len(bounded.flip) and not bounded.flip.tally.complete
    assert "Cheapest change found to values of one reference: " in str(bounded)


def test_all_features_together_are_no_claim_about_sets_that_were_not_tried(monkeypatch):
    """The second feature alone keeps the outcome, but there was no time to try it."""
    data = pd.DataFrame(np.eye(30, dtype=int), columns=[f"x{i}" for i in range(30)])
    explainer = Explainer(lambda rows: rows["x1"].to_numpy(), data)
    fake_time(monkeypatch, step=1.0)
    e = explainer.explain(data.iloc[1], time_limit=0.1)
    (every,) = e.keep
    assert (every.size, every.proof) == (30, "none")
    for text in (flat(str(e)), flat(e.to_html())):
        assert "no smaller set keeps" not in text and "hangs on" not in text
        assert "No smaller set was found that keeps “1” in at least 90% of cases" in text
    assert "true by construction" in flat(str(e.keep))
    assert "sets were looked for, until time_limit=0.1 s was over" in flat(str(e))
    tried = "at which it is minimal, as far as smaller sets were tried."
    assert tried in flat(e.to_html()) and tried not in flat(refusal().to_html())


def test_one_reference_makes_every_threshold_alike():
    data = pd.DataFrame({"a": [1, 0], "b": [1, 0], "c": [1, 0]})
    explainer = Explainer(lambda rows: rows["a"] + rows["b"] > 1, data)
    for search in ("exhaustive", "pruned"):
        text = flat(str(explainer.explain(data.iloc[0], search=search)))
        assert "no other minimal set exists for these references" in text
        assert "Another τ" not in text and "Complete at τ" not in text


def test_what_is_true_by_construction_is_said_to_be():
    parity = Explainer(lambda r: np.asarray(r).sum(axis=1) % 2, np.eye(2, dtype=int))
    e = parity.explain([0, 0], tau=1.0)
    both = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    any_of = Explainer(lambda r: np.asarray(r).sum(axis=1) % 2, both, references="all", outcome=0)
    of_any = any_of.explain([0, 0], tau=0.5)
    assert [f.features for f in e.keep] == [("x0", "x1")]
    assert "true by construction: with every feature held it is the input itself" in str(e)
    assert "“0” hangs on all 2 features together: no smaller set keeps it" in flat(str(e))
    assert "chosen for being predicted otherwise" not in str(of_any)
    # What cannot be otherwise has no star, however few the references.
    assert all(line.share == "100%" for line in summarise(e).keep.factors)
    need_all = Explainer(lambda r: (np.asarray(r).sum(axis=1) == 2).astype(int), both)
    flips = need_all.explain([0, 0], tau=1.0).flip
    assert [f.features for f in flips] == [("x0", "x1")]
    assert flat(
        "true by construction: with every feature replaced it is the reference itself, and "
        "references were chosen for being predicted otherwise"
    ) in flat(str(flips))
    assert "true by construction" not in str(refusal())


def test_the_score_of_every_kind_of_model_stands_beside_the_question():
    values = Explainer(
        lambda r: np.asarray(r)[:, 0] / 2, np.arange(6.0)[:, None], outcome=at_least(2)
    )
    assert str(values.explain([5.0])).startswith("Why “prediction ≥ 2”? Predicted: 2.5.\n")
    labels = Explainer(lambda r: np.asarray(r)[:, 0] > 2, np.arange(6.0)[:, None])
    assert str(labels.explain([5.0])).startswith("Why “True”?\n")
    three = RandomForestClassifier(5, random_state=0).fit(NUMERIC, np.arange(300) % 3)
    other = Explainer(three, NUMERIC, outcome=1).explain(NUMERIC.iloc[0])
    assert str(other).startswith("Why “not 1”? Predicted “0” with a probability of ")
    margin = Explainer(LinearSVC().fit(NUMERIC / 50, Y), NUMERIC / 50).explain(NUMERIC.iloc[8] / 50)
    assert margin.score.kind == "score"
    assert f"with a score of {margin.score.value:.4g}." in str(margin)


def test_the_date_and_the_size_of_the_data_are_on_the_page():
    assert refusal().provenance.data == (300, 4)
    day = refusal().provenance.created.date().isoformat()
    assert abs(datetime.now(UTC) - refusal().provenance.created).days < 1
    for face in (str(refusal()), refusal().to_html()):
        assert "Data of 300 rows × 4 columns; " in face
        assert flat(f"suffice {version('suffice')}, {day}") in flat(face)


NASTY = "ID\x1b[31m \u202eevil\u2066\x00\x07\x9b end"


def test_no_character_of_the_data_steers_a_terminal_or_turns_the_reading():
    rows = np.array([[NASTY, 0], ["plain", 1]] * 3, dtype=object)
    frame = pd.DataFrame(rows, columns=[NASTY, "b"])

    def model(r):
        return np.where(r[NASTY] == "plain", "yes" + NASTY, "no" + NASTY)

    model.__name__ = "model" + NASTY
    text = TextExplainer(lambda ts: ["yes" if "fine" in t else "no" + NASTY for t in ts])
    for e in (Explainer(model, frame).explain(frame.iloc[0]), text(f"a fine {NASTY} day")):
        assert NASTY in json.loads(e.to_json())["content"]["other_outcome"] + e.outcome
        faces = [str(e), repr(e), str(e.keep), screen(e), e.to_html(), e._repr_html_()]
        faces += [str(f) + repr(f) for f in (*e.keep, *e.flip)] + [str(e.cheapest)]
        for face in faces:
            assert not set("\x1b\u202e\u2066\x00\x07\x9b") & set(face)
        assert "ID␛[31m �evil" in str(e)


def test_very_long_names_are_cut_and_can_be_read_elsewhere():
    name = "n" * 10_000
    frame = NUMERIC.rename(columns={"income": name})
    e = Explainer(RandomForestClassifier(5, random_state=0).fit(frame, Y), frame).explain(
        frame.iloc[8]
    )
    for face in (str(e), screen(e)):
        assert "n" * 59 + "…" in face
        assert "n" * 61 not in face
        assert "Long names are cut: .players has them in full." in face
    assert len(str(e)) < 4000
    assert any(player.name == name for player in e.players)
    assert f'title="{name}"' in e.to_html()
    value = pd.DataFrame({"a": ["v" * 5000, "w"] * 3, "b": range(6)})
    e = Explainer(lambda r: (r["a"] == "w").astype(int), value).explain(value.iloc[0])
    assert "v" * 199 + "…" in flat(str(e)).replace(" ", "")
    assert len(str(e)) < 5000


def test_explanations_of_more_features_than_a_float_can_count_sets_of_are_shown():
    rng = np.random.default_rng(0)
    wide = rng.integers(0, 2, (12, 1100))
    explainer = Explainer(lambda r: (np.asarray(r)[:, :3].sum(axis=1) > 1).astype(int), wide)
    for question in ({"max_size": 1}, {"max_size": 1, "alpha": 0.05, "adjust": "bonferroni"}):
        e = explainer.explain(wide[0], **question)
        text = str(e)
        assert f"of {format_integer(1 << len(e.players))} subsets were never evaluated." in flat(
            text
        )
        assert re.search(r" and 1,0\d\d more: .players", flat(text))
        assert "x1099 " in e.full()
        assert screen(e) and e.to_html() and repr(e)
        assert len(e.to_frame()) == len(e.keep) + len(e.flip)


def test_terminal_fits_its_width_and_says_the_same():
    for width in (40, 100):
        text = screen(refusal(), width)
        assert max(map(len, text.splitlines())) <= width
    assert "Complete: all 16 subsets" in screen(refusal())
    for factor in summarise(refusal()).keep.factors:
        assert factor.conditions_text in screen(refusal())


@cache
def wide_sum():
    """Sixty features, of which nearly all have to change together."""
    data = np.random.default_rng(0).normal(size=(60, 60))
    model = LogisticRegression(max_iter=1000).fit(data, data.sum(axis=1) > 0)
    names = [f"measurement number {i} of the series" for i in range(60)]
    explainer = Explainer(model, pd.DataFrame(data, columns=names))
    return explainer.explain(pd.DataFrame(data, columns=names).iloc[0], max_size=1)


@cache
def many_sets_of_long_names():
    data = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 14)))
    data.columns = [f"measurement number {i} of a series without an end" for i in range(14)]
    model = LogisticRegression(max_iter=1000).fit(data, data.sum(axis=1) > 0)
    e = Explainer(model, data).explain(data.iloc[0], tau=0.7, search="exhaustive")
    assert len(e.keep) > 12 and len(e.flip) > 12
    return e


def test_print_fits_one_screen_and_full_gives_the_rest(monkeypatch):
    for e in (refusal(), wide_sum(), wide_sum().flip):
        assert len(str(e).splitlines()) <= 40
        assert max(map(len, str(e).splitlines())) <= 92
    many = summarise(wide_sum()).keep
    assert str(wide_sum()).count(" → ") <= 8 * 4
    assert "More of it: print(….full())" in str(wide_sum())
    full = wide_sum().full()
    assert all(f"number {i} of the series" in full for i in range(60))
    assert "More of it" not in full and many.n_factors >= 0
    assert refusal().full() == str(refusal())
    for width, most in ((60, 50), (80, 42), (120, 42)):
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
        monkeypatch.setenv("COLUMNS", str(width))
        for e in (refusal(), wide_sum(), many_sets_of_long_names()):
            lines = str(e).splitlines()
            assert max(map(len, lines)) < min(width, 93) and len(lines) <= most
            lines = screen(e, width).splitlines()
            assert max(map(len, lines)) <= width and len(lines) <= most


def test_a_set_whose_interval_crosses_tau_is_marked_everywhere():
    e = loan_explainer().explain(NUMERIC.iloc[8], tau=0.9)
    crossing = [f.interval[0] < 0.9 <= f.sufficiency for v in (e.keep, e.flip) for f in v]
    assert set(crossing) == {True, False}
    faces = [str(e), screen(e), e.full(), e.to_html(), e._repr_html_()]
    for face in faces:
        shares = re.findall(r"(\d+)%(\*?)", unescape(face))
        marked = {
            f"{f.sufficiency:.0%}" for v in (e.keep, e.flip) for f in v if f.interval[0] < 0.9
        }
        assert {f"{n}%" for n, star in shares if star} == marked
        assert "* Its 95% interval reaches below τ" in flat(face)
    notes = [row[-1] for panel in e.sheet.panels for row in panel.rows]
    assert ["the 95% interval reaches below τ" in note for note in notes] == crossing


def test_long_answers_say_what_is_left_out():
    rng = np.random.default_rng(0)
    data = rng.random((40, 12))
    e = Explainer(lambda r: (r[:, :12].sum(axis=1) > 6).astype(int), data).explain(data[0], tau=0.7)
    assert len(e.keep.factors) > 12
    examples = len(summarise(e).keep.digest.examples)
    for face, listed in ((str(e), examples), (screen(e), examples), (e.full(), 12)):
        assert f"and {len(e.keep.factors) - listed} more: .keep.factors" in face
    assert f"and {len(e.keep.factors) - 12} more: <code>.keep.factors</code>" in e._repr_html_()
    assert f"and {len(e.keep.factors) - 12} more: .keep.factors" in [
        str(p.more) for p in e.sheet.panels
    ]
    assert "more sets are minimal at some threshold" in e.to_html()
    assert "more: <code>.keep.factors</code>" not in e.to_html()  # folded away, and all there


def test_no_factor_is_an_answer_with_advice():
    e = loan_explainer().explain(NUMERIC.iloc[8], tau=1.0, max_size=1)
    view = e.keep
    text = str(e)
    assert "No single feature reaches τ = 1." in text
    assert f"The best known keeps {view.best.sufficiency:.0%}: {view.best.features[0]}" in text
    assert "Sets of more than 1 feature were not all tried: give a larger max_size." in flat(text)
    assert "Not complete: stopped by max_size=1." in text
    assert 'class="none"' in e.to_html()

    third = Explainer(lambda r: np.asarray(r)[:, 0], np.array([[0], [0], [1]]), references="all")
    text = flat(str(third.explain([0], tau=0.9).flip))
    assert "Lower the threshold: .at(0.33) needs no new model call. Or choose other" in text

    by_label = Explainer(forest(), NUMERIC, references=Y[8] != Y).explain(NUMERIC.iloc[8], tau=1.0)
    if by_label.flip.everything.sufficiency < 1:
        assert "Replacing every feature flips" in str(by_label)


def test_tests_and_estimates_are_named():
    tested = str(loan_explainer().explain(NUMERIC.iloc[8], tau=0.6, alpha=0.05, adjust="holm"))
    assert "each by an exact binomial test at α = 0.05 (holm-adjusted)" in tested.replace("\n ", "")
    bounded = loan_explainer().explain(NUMERIC.iloc[8], tau=0.3, max_size=1)
    assert "estimated, 95% interval" in str(bounded).replace("\n ", "")
    refused = str(loan_explainer().explain(NUMERIC.iloc[8], tau=0.999, alpha=0.001))
    assert "at level α = 0.001" in refused


def test_outcomes_that_never_come_about():
    data = np.eye(3)
    e = Explainer(lambda r: (r[:, 0] > 0.5).astype(int), data, references=data[:, 0] == 0)
    text = str(e.explain([0, 0, 0.0]))
    assert "100%* nothing: it comes about anyway" in text  # of three references
    assert "* Its 95% interval reaches below τ: other references might not show it." in flat(text)
    assert "No hybrid comes out as “1”" in text


@pytest.mark.parametrize("face", ["to_html", "_repr_html_"])
def test_html_is_well_formed_and_self_contained(face):
    html = getattr(refusal(), face)()
    tags = Tags()
    tags.feed(html)
    assert tags.open == []
    text = "".join(tags.text)
    assert refusal().keep.outcome in text
    assert "Complete:" in text
    assert "prefers-color-scheme: dark" in html


def test_html_escapes_what_users_bring():
    nasty = NUMERIC.rename(columns={"age": "<script>alert(1)</script>"})
    model = RandomForestClassifier(5, random_state=0).fit(nasty, Y)
    e = Explainer(model, nasty).explain(nasty.iloc[0])
    html = e.to_html()
    assert "<script>alert" not in html
    assert "&lt;script&gt;" in html
    assert "\\u003cscript>alert(1)\\u003c/script>" in html  # what the page's script is given
    frame = e._repr_html_()
    assert "<script" not in frame
    assert "&lt;script&gt;/* suffice" in frame


def test_report_file(tmp_path):
    path = tmp_path / "why.html"
    assert refusal().to_html(path) == path.read_text(encoding="utf-8")


def test_the_picture_has_a_row_for_each_set_and_a_column_for_each_feature():
    picture = summarise(refusal(), signature=SignatureLimits()).keep.signature
    assert len(picture.rows) == len(refusal().keep.barcode)
    assert picture.hidden_note == ""
    assert [row.at_tau for row in picture.rows] == sorted(
        (r.at_tau for r in picture.rows), key=bool
    )[::-1]
    assert sum(row.at_tau for row in picture.rows) == len(refusal().keep)
    names = [column.name for column in picture.columns]
    necessities = [
        refusal().keep.necessity_of([n]) + refusal().flip.necessity_of([n]) for n in names
    ]
    assert names == [
        column.name
        for column in summarise(refusal(), signature=SignatureLimits()).flip.signature.columns
    ]
    assert necessities == sorted(necessities, reverse=True)
    assert [c.label for c in picture.columns] == [f"{n} = {NUMERIC.iloc[8][n]:g}" for n in names]
    for row in picture.rows:
        factor = refusal().keep.factor([names[column] for column in row.columns])
        assert (row.sufficiency, row.interval) == (factor.sufficiency, factor.interval)
        assert (row.low, row.high) == factor.minimal_for
    assert picture.curve == refusal().keep.curve


def test_marks_stand_where_their_numbers_are():
    picture = summarise(refusal(), signature=SignatureLimits()).keep.signature
    drawing = draw_signature(picture)
    rows = {m.row: m for m in drawing.marks if m.style.startswith("share")}
    assert sorted(rows) == list(range(len(picture.rows)))
    dots = [m for m in drawing.marks if m.style.startswith("in")]
    assert [(m.row, m.column) for m in dots] == [
        (i, j) for i, row in enumerate(picture.rows) for j in row.columns
    ]
    assert len({m.at[0] for m in drawing.marks if m.style == "tau" and m.kind == "line"}) == 2
    (step,) = (m for m in drawing.marks if m.style == "step")
    heights = step.at[1::2]
    assert list(heights) == sorted(heights)  # on a screen down is more
    assert all(
        0 <= x <= drawing.width
        for m in drawing.marks
        for x in m.at[: 1 if m.kind == "box" else 2 : 2]
    )


def test_a_bar_of_a_search_at_one_threshold_claims_nothing_below():
    e = loan_explainer().explain(NUMERIC.iloc[8], search="pruned")
    picture = summarise(e, signature=SignatureLimits()).keep.signature
    assert e.keep.profile.findings is not None
    assert all(row.unknown_below_tau for row in picture.rows)
    marks = draw_signature(picture).marks
    bars = [m for m in marks if m.style.startswith("bar")]
    assert {m.text for m in bars} == {"minimal for τ from 0.9 up to 1.000; not known below"}
    dotted = [m for m in marks if m.style == "unknown"]
    assert [(m.row, m.at[2]) for m in dotted] == [(m.row, m.at[0]) for m in bars]
    counted = draw_signature(summarise(refusal(), signature=SignatureLimits()).keep.signature).marks
    assert not any(m.style == "unknown" or "not known" in m.text for m in counted)


def test_dots_name_their_feature_with_scripts_off():
    (picture,) = re.findall(r"<div class=\"sets.*?</div>", refusal().keep.to_html(), re.S)
    drawing = draw_signature(summarise(refusal(), signature=SignatureLimits()).keep.signature)
    titles = [m.text for m in drawing.marks if m.kind == "dot"]
    found = re.findall(r"<circle [^>]*><title>([^<]*)</title></circle>", picture)
    assert titles and [unescape(title) for title in found] == titles


def test_an_axis_begins_where_the_bars_are_only_near_one():
    sure = Explainer(lambda r: (np.asarray(r)[:, 0] > 0).astype(int), np.eye(4)).explain(
        [1.0, 0, 0, 0]
    )
    (row,) = summarise(sure, signature=SignatureLimits()).keep.signature.rows
    assert (row.sufficiency, row.low) == (1.0, 0.0)
    ticks = [
        m.text
        for m in draw_signature(summarise(sure, signature=SignatureLimits()).keep.signature).marks
        if m.style == "tick"
    ]
    assert ticks[:5] == ["0", "0.25", "0.5", "0.75", "1"]  # three references: the interval is wide


def test_groups_are_named_not_listed():
    groups = {"money": ["income", "debt"], "all else": ["age", "late payments"]}
    e = Explainer(forest(), NUMERIC, groups=groups).explain(NUMERIC.iloc[8], tau=0.5)
    assert "money (income = " in str(e)
    wide = pd.DataFrame(np.random.default_rng(0).random((50, 6)), columns=list("abcdef"))
    one = Explainer(
        lambda r: (r["a"] + r["b"] > 1).astype(int), wide, groups={"vector": list("abcde")}
    )
    text = str(one.explain(wide.iloc[0]))
    assert "vector (5 columns)" in text
    assert "cheapest change of this set: vector (5 columns)" in text


def test_frame_lists_both_views():
    frame = refusal().to_frame()
    assert list(frame["view"].unique()) == ["keep", "flip"]
    assert len(frame) == len(refusal().keep.factors) + len(refusal().flip.factors)
    assert frame.loc[0, "sufficiency"] == refusal().keep.factors[0].sufficiency
    assert list(
        loan_explainer().explain(NUMERIC.iloc[8], tau=1.0, max_size=1).to_frame().columns
    ) == list(frame.columns)


def test_json_follows_the_published_schema_and_comes_back_whole():
    schema = result_schema(Explanation)
    bounded = loan_explainer().explain(NUMERIC.iloc[8], max_size=1)
    for e in (refusal(), bounded):
        text = e.to_json()
        jsonschema.validate(json.loads(text), schema)
        again = Explanation.from_json(text)
        assert again == e
        assert hash(again) == hash(e)
        assert str(again) == str(e)
        assert again.at(0.5).keep.factors == e.at(0.5).keep.factors
    assert bounded != refusal()
    assert refusal() != "something else"


def test_same_question_same_answer():
    again = Explainer(forest(), NUMERIC).explain(NUMERIC.iloc[8])
    assert again.keep.factors == refusal().keep.factors
    assert again.flip.factors == refusal().flip.factors
