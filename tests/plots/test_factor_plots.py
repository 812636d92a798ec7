"""The signature picture, the barcode and the curve: their facts exactly, their pictures by pixels."""

from math import nextafter

import numpy as np
import pandas as pd
import pytest

import suffice
from suffice import Explainer, InputError
from suffice.plots.signature import signature_figure
from suffice.plots.thresholds import BarRow, NecessityCurve, barcode_of, necessity_curves_of
from suffice.summary.signature import SignatureColumn, SignatureRow, axis_start, step_corners
from tests.plots.image_comparison import (
    MAX_DIFFERENCE,
    MAX_MEAN_DIFFERENCE,
    assert_matches_baseline,
    image_difference,
    pixels,
    texts_in,
    texts_outside,
)
from tests.plots.plot_cases import (
    APPLICANT,
    explainer,
    many_sets,
    pruned_sets,
    refused_explanation,
    renamed_explanation,
)

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def plain_pictures():
    with plt.rc_context(fname=None):
        plt.rcdefaults()
        plt.switch_backend("agg")
        plt.rcParams["text.hinting"] = "none"  # which differs from one version to the next
        yield
    plt.close("all")


# -- the facts ----------------------------------------------------------------------------


def test_the_signature_has_a_row_per_minimal_set_and_a_column_per_feature():
    s = signature_figure(refused_explanation())
    assert s.summary.question == "Why “refused”?"
    (keep_words, keep), (_, flip) = s.views
    for signature in (keep, flip):
        assert signature.columns == (
            SignatureColumn("income", "25", "income = 25"),
            SignatureColumn("debt", "8", "debt = 8"),
            SignatureColumn("home", "rents", "home = rents"),
        )
    assert [(row.columns, row.sufficiency, row.at_tau) for row in keep.rows] == [
        ((0, 1), 1.0, True),
        ((0,), 5 / 7, False),
        ((1, 2), 3 / 7, False),
        ((1,), 1 / 7, False),
    ]
    assert [(row.columns, (row.low, row.high), row.at_tau) for row in flip.rows] == [
        ((0, 1), (4 / 7, 1.0), True),
        ((0, 2), (4 / 7, 6 / 7), True),
        ((0,), (0.0, 4 / 7), False),
        ((1,), (0.0, 2 / 7), False),
    ]
    assert keep_words.necessity == 0.5
    assert keep.curve == ((1 / 7, 1.0), (3 / 7, 27 / 28), (5 / 7, 24 / 28), (1.0, 0.5))
    assert keep.hidden_note == flip.hidden_note == ""


def test_a_group_has_its_name_in_the_picture_and_its_columns_beneath():
    data = np.random.default_rng(0).random((40, 30))
    names = [f"{kind} of part {i}" for i in range(10) for kind in ("mean", "spread", "most")]
    parts = {f"part {i}": names[3 * i : 3 * i + 3] for i in range(10)}
    rows = pd.DataFrame(data, columns=names)
    asked = suffice.Explainer(lambda r: np.asarray(r).sum(axis=1) > 15, rows, groups=parts)
    ax = asked.explain(rows.iloc[0]).plot()
    words = texts_in(ax)
    assert "part 7" in words and texts_outside(ax) == []
    assert any("] part 7 (mean of part 7 = " in line for line in words)


def test_features_come_by_necessity_in_both_views_together():
    e = refused_explanation()

    def necessity(feature):
        return sum(view.necessity_of([feature.name]) for view in (e.keep, e.flip))

    for shown in (e, e.keep, e.flip):
        for _, signature in signature_figure(shown).views:
            shares = [necessity(column) for column in signature.columns]
            assert shares == sorted(shares, reverse=True)


def test_rows_agree_with_the_view_at_every_tau():
    for tau in np.linspace(0.05, 1, 20):
        e = refused_explanation().at(float(tau))
        for view, (_, shown) in zip((e.keep, e.flip), signature_figure(e).views, strict=True):
            rows = [row for row in shown.rows if row.at_tau]
            assert [(row.low, row.high) for row in rows] == [f.minimal_for for f in view.factors]
            assert [row.interval for row in rows] == [f.interval for f in view.factors]


def test_more_sets_than_fit_are_counted_with_their_tau():
    (_, keep), (_, flip) = signature_figure(many_sets(), most=5).views
    assert len(keep.rows) == len(flip.rows) == 5
    for signature, n in ((keep, 121), (flip, 79)):
        assert signature.hidden_note == (
            f"{n} more sets are minimal at some threshold between 0.00 and 1.00, {n} of them at "
            "τ = 0.9"
        )
    _, (_, few) = signature_figure(refused_explanation().at(0.5), most=2).views
    assert len(few.rows) == 2
    assert few.hidden_note == "2 more sets are minimal at some threshold between 0.00 and 0.86"


def test_features_beyond_the_width_are_counted_in_their_rows():
    s = signature_figure(many_sets(), most=4, widest=3)
    for view, signature in s.views:
        assert len(signature.columns) == 3
        for row, factor in zip(signature.rows, getattr(many_sets(), view.name)[:4], strict=True):
            assert len(row.columns) + row.n_without_column == factor.size
    assert any("there is no room" in note for note in s.notes)


def test_a_bounded_search_has_bars_from_tau_on_and_says_so():
    found = pruned_sets()
    s = signature_figure(found)
    for view, signature in s.views:
        assert all(row.unknown_below_tau and row.at_tau for row in signature.rows)
        assert {(row.low, row.high) for row in signature.rows} == {(nextafter(0.9, 0), 1.0)}
        assert "τ = 0.9" in view.curve_note and signature.curve == ()
    assert s.views[0][1].hidden_note.endswith("114 of them at τ = 0.9")
    assert any(note.startswith("Bars with a dotted start") for note in s.notes)
    assert all(one.missing_reason for one in necessity_curves_of(found).curves)
    assert barcode_of(found.keep).note.startswith("This search decided sets at τ = 0.9")


def test_a_view_whose_outcome_never_comes_about_has_no_curve_and_says_why():
    data = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    above = suffice.at_least(0.5)
    e = Explainer(lambda rows: rows[:, 0] + 1, data, references="all", outcome=above)(data[0])
    never = "No hybrid comes out as “prediction < 0.5”, so nothing is necessary for it."
    keep, flip = necessity_curves_of(e).curves
    assert not keep.missing_reason and keep.steps
    assert flip.missing_reason == f"{flip.label}: {never}"
    _, (drawn, _) = signature_figure(e).views
    assert (drawn.curve_note, drawn.necessity_text) == ("", never)


def test_with_a_test_bars_end_below_shares_and_words_say_why():
    e = refused_explanation().at(0.5, alpha=0.2)
    s = signature_figure(e)
    for _, signature in s.views:
        assert all(row.high < row.sufficiency for row in signature.rows)
    assert any("tested (α = 0.2)" in note for note in s.notes)


def test_where_no_set_reaches_tau_it_says_so_and_shows_others():
    e = explainer().explain(APPLICANT, tau=0.99, alpha=0.01)
    (words, keep), _ = signature_figure(e).views
    assert words.none_reached.startswith("No set of features can pass the test of τ = 0.99")
    assert keep.rows and not any(row.at_tau for row in keep.rows)


@pytest.mark.parametrize(
    ("shares", "start"),
    [([0.0], 0.0), ([0.39], 0.0), ([0.45], 0.4), ([0.9, 1], 0.85), ([1.0], 0.98), ([0.98], 0.96)],
)
def test_the_axis_starts_where_the_bars_are(shares, start):
    assert axis_start(shares) == start


def test_the_barcode_is_that_of_the_view():
    bars = barcode_of(refused_explanation().keep)
    assert bars.rows == (
        BarRow("income, debt", 5 / 7, 1.0, at_tau=True, unknown_below_tau=False),
        BarRow("income", 0.0, 5 / 7, at_tau=False, unknown_below_tau=False),
        BarRow("debt, home", 1 / 7, 3 / 7, at_tau=False, unknown_below_tau=False),
        BarRow("debt", 0.0, 1 / 7, at_tau=False, unknown_below_tau=False),
    )
    assert bars.more == bars.note == ""
    assert [(row.low, row.high) for row in bars.rows] == [
        f.minimal_for for f in refused_explanation().keep.barcode
    ]
    assert barcode_of(refused_explanation().keep, 1).more == (
        "3 more sets are minimal at some threshold between 0.00 and 0.71: .keep.barcode"
    )


def test_a_bar_is_solid_up_to_its_end_and_not_where_it_begins():
    bars = barcode_of(refused_explanation().at(5 / 7).keep)
    assert [row.names for row in bars.rows if row.at_tau] == ["income"]


def test_the_curve_is_that_of_the_view():
    e = refused_explanation()
    assert necessity_curves_of(e).curves[1] == NecessityCurve(
        "flip", "Flips to “granted”", e.flip.curve, 5 / 7, e.flip.baseline_curve, 3 / 8, ""
    )
    assert dict(e.flip.baseline_curve)[e.flip.curve[-1][0]] == e.flip.at(1).necessity_baseline
    xs, ys = step_corners(e.keep.curve, start=0.5)
    assert xs == [0.5, 5 / 7, 5 / 7, 1.0] and ys == [24 / 28, 24 / 28, 0.5, 0.5]


# -- the pictures -------------------------------------------------------------------------


def test_the_pictures_are_those_that_are_kept():
    assert_matches_baseline(suffice.plots.factors(refused_explanation()), "factors")
    assert_matches_baseline(suffice.plots.factors(many_sets(), most=6), "factors-many")
    assert_matches_baseline(suffice.plots.factors(pruned_sets().flip, most=4), "factors-bounded")
    assert_matches_baseline(suffice.plots.barcode(refused_explanation()), "barcode")
    assert_matches_baseline(suffice.plots.curve(refused_explanation()), "curve")


def test_a_dark_figure_gets_light_inks():
    with plt.style.context("dark_background"):
        assert_matches_baseline(suffice.plots.factors(refused_explanation().keep), "factors-dark")


def test_a_picture_of_other_facts_is_not_taken_for_the_kept_one():
    e = refused_explanation()
    kept = pixels(suffice.plots.factors(e.keep))
    # The set of another τ: two dots, a bar and a number have moved.
    other = pixels(suffice.plots.factors(e.keep.at(0.7)))
    assert image_difference(kept, other)[1] > MAX_DIFFERENCE
    assert image_difference(kept, kept) == (0.0, 0.0)
    ax = suffice.plots.factors(e.keep)
    two_dots = next(x for x in ax.lines if x.get_marker() == "o" and len(x.get_xdata()) == 2)
    two_dots.set_xdata([two_dots.get_xdata()[0], two_dots.get_xdata()[1] + 0.8])
    assert image_difference(kept, pixels(ax))[1] > MAX_DIFFERENCE
    with plt.rc_context({"text.hinting": "default"}):
        fitted = pixels(suffice.plots.factors(e.keep))
    mean, most = image_difference(kept, fitted)
    assert 0 < mean <= MAX_MEAN_DIFFERENCE and most <= MAX_DIFFERENCE


NAMES = {
    "formulas": ["$x_1$", "\\frac{a", "100% & #5"],
    "long": ["income_of_the_household_in_thousands_per_year_before_tax", "n" * 10_000, "home"],
    "right to left": ["שלום עולם", "مرحبا", "\u202eabc"],
    "beyond the fonts": ["mood \N{MELTING FACE}", "日本", "👩\N{ZERO WIDTH JOINER}💻"],
    "blanks": ["two\nlines", " ", "\x1b[31mred"],
}


@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
@pytest.mark.parametrize("kind", ["factors", "barcode", "curve"])
def test_any_name_can_be_written_and_nothing_is_cut_off(names, kind):
    ax = renamed_explanation(names).plot(kind)
    assert texts_outside(ax) == []


def test_names_too_long_for_their_place_are_numbered_and_listed_beneath():
    long, *_ = NAMES["long"]
    ax = renamed_explanation(NAMES["long"]).plot()
    written = "".join(texts_in(ax))
    assert f"[1] {long}" in written
    assert "(10,000 characters; .players has it in full)" in written.replace("\n", " ")


def test_signs_of_formulas_are_written_as_they_are():
    ax = renamed_explanation(NAMES["formulas"]).plot()
    written = texts_in(ax)
    assert "$x_1$" in written and "\\frac{a" in written
    assert not any(t.get_parse_math() for t in ax.texts)


def test_characters_that_no_font_has_are_named():
    words = texts_in(renamed_explanation(NAMES["beyond the fonts"]).plot("barcode"))
    assert any("mood [melting face]" in line for line in words)


@pytest.mark.parametrize("kind", ["factors", "barcode", "curve"])
@pytest.mark.parametrize("size", [(9, 7), (3, 8)])
def test_it_is_drawn_into_what_is_given_and_returned(kind, size):
    figure = plt.figure(figsize=size)
    ax = figure.add_subplot(1, 2, 1)
    assert refused_explanation().plot(kind, ax=ax) is ax
    left, right = plt.figure(figsize=size, layout="constrained").subfigures(1, 2)
    made = refused_explanation().plot(kind, ax=left)
    assert made.figure is left and not right.axes
    whole = plt.figure(figsize=size)
    drawn = refused_explanation().plot(kind, ax=whole)
    assert drawn.figure is whole
    if kind != "curve":  # which has labels of its own outside
        assert texts_outside(drawn) == []


def test_it_sets_no_global_style():
    before = dict(plt.rcParams)
    for kind in ("factors", "barcode", "curve"):
        refused_explanation().plot(kind)
    assert dict(plt.rcParams) == before


def test_the_users_own_style_does_no_harm():
    with plt.rc_context({"text.usetex": True, "axes.grid": True, "font.family": "serif"}):
        ax = refused_explanation().plot()
        ax.figure.canvas.draw()
    assert not any(text.get_usetex() for text in ax.texts)


def test_one_feature_one_reference_and_nothing_at_all_can_be_drawn():
    def above(rows):
        return np.asarray(rows["a"] > 1)

    two, one = pd.DataFrame({"a": [0, -1]}), pd.DataFrame({"a": [0]})
    for e in (suffice.Explainer(above, rows)({"a": 2}) for rows in (two, one)):
        for kind in ("factors", "barcode", "curve"):
            assert texts_outside(e.plot(kind)) == []
    anyway = suffice.Explainer(above, pd.DataFrame({"a": [5, 0]}), references="all")
    assert "nothing: it comes about anyway" in texts_in(anyway({"a": 2}, tau=0.5).plot())
    nothing = explainer().explain(APPLICANT, tau=0.8, budget=15)
    assert nothing.plot() and nothing.plot("barcode") and nothing.plot("curve")


def test_what_cannot_be_drawn_is_refused_in_words(monkeypatch):
    with pytest.raises(InputError, match="kind: got 'bars'; allowed: 'factors', 'barcode'"):
        refused_explanation().plot("bars")
    with pytest.raises(InputError, match=r"ax: got 3; allowed: None, or an Axes, Figure or SubF"):
        refused_explanation().plot(ax=3)
    with pytest.raises(InputError, match="result: got 3; allowed: an explanation, or one of its v"):
        suffice.plots.factors(3)
    with pytest.raises(InputError, match="most: got 0; allowed"):
        suffice.plots.barcode(refused_explanation(), most=0)
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.axes", None)
    with pytest.raises(
        suffice.SufficeError,
        match=r'need matplotlib. Install it with: pip install "suffice\[plots\]"',
    ):
        refused_explanation().plot()


def test_rows_are_frozen_facts():
    row = signature_figure(refused_explanation()).views[0][1].rows[0]
    assert row == SignatureRow(
        (0, 1), 0, 1.0, row.interval, 5 / 7, 1.0, at_tau=True, unknown_below_tau=False
    )
    with pytest.raises(AttributeError):
        row.columns = ()
