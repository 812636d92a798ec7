"""The signature picture, the barcode and the curve: their facts exactly, their pictures by pixels."""

from math import nextafter

import numpy as np
import pandas as pd
import pytest

import suffice
from suffice import InputError
from suffice.plots.signature import Feature, SetRow, signature_of, starts_at
from suffice.plots.thresholds import BarRow, Curve, bars_of, corners, curves_of
from tests.drawn import MEAN, MOST, apart, assert_as_kept, cut_off, pixels, words_of
from tests.plotted import APPLICANT, bounded, explainer, many, refused, renamed

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
    s = signature_of(refused())
    assert s.question == "Why “refused”?"
    assert s.features == (
        Feature("income", "25"),
        Feature("debt", "8"),
        Feature("home", "rents"),
    )
    keep, flip = s.views
    assert [(row.members, row.sufficiency, row.at_tau) for row in keep.rows] == [
        ((0, 1), 1.0, True),
        ((0,), 5 / 7, False),
        ((1, 2), 3 / 7, False),
        ((1,), 1 / 7, False),
    ]
    assert [(row.members, row.minimal_for, row.at_tau) for row in flip.rows] == [
        ((0, 1), (4 / 7, 1.0), True),
        ((0, 2), (4 / 7, 6 / 7), True),
        ((0,), (0.0, 4 / 7), False),
        ((1,), (0.0, 2 / 7), False),
    ]
    assert keep.necessity == 0.5
    assert keep.curve == ((1 / 7, 1.0), (3 / 7, 27 / 28), (5 / 7, 24 / 28), (1.0, 0.5))
    assert keep.more == flip.more == ()


def test_a_group_is_told_by_its_name_and_its_columns_beneath_the_picture():
    data = np.random.default_rng(0).random((40, 30))
    names = [f"{kind} of part {i}" for i in range(10) for kind in ("mean", "spread", "most")]
    parts = {f"part {i}": names[3 * i : 3 * i + 3] for i in range(10)}
    rows = pd.DataFrame(data, columns=names)
    asked = suffice.Explainer(lambda r: np.asarray(r).sum(axis=1) > 15, rows, groups=parts)
    ax = asked.explain(rows.iloc[0]).plot()
    words = words_of(ax)
    assert "part 7" in words and cut_off(ax) == []
    assert any("] part 7 (mean of part 7 = " in line for line in words)


def test_features_come_by_necessity_in_both_views_together():
    e = refused()

    def necessity(feature):
        return sum(view.necessity_of([feature.name]) for view in (e.keep, e.flip))

    for shown in (e, e.keep, e.flip):
        shares = [necessity(feature) for feature in signature_of(shown).features]
        assert shares == sorted(shares, reverse=True)


def test_rows_agree_with_the_view_at_every_tau():
    for tau in np.linspace(0.05, 1, 20):
        e = refused().at(float(tau))
        for view, shown in zip((e.keep, e.flip), signature_of(e).views, strict=True):
            rows = [row for row in shown.rows if row.at_tau]
            assert [row.minimal_for for row in rows] == [f.minimal_for for f in view.factors]
            assert [row.interval for row in rows] == [f.interval for f in view.factors]


def test_more_sets_than_fit_are_counted_with_their_tau():
    s = signature_of(many(), most=5)
    keep, flip = s.views
    assert len(keep.rows) == len(flip.rows) == 5
    assert keep.more == ("and 121 more sets at τ = 0.9: .keep.factors",)
    assert flip.more == ("and 79 more sets at τ = 0.9: .flip.factors",)
    few = signature_of(refused().at(0.5), most=2).views[1]
    assert len(few.rows) == 2
    assert few.more == ("and 2 more sets for other τ, between 0% and 100%: .flip.barcode",)


def test_features_beyond_the_width_are_counted_in_their_rows():
    s = signature_of(many(), most=4, widest=3)
    assert len(s.features) == 3
    for view in s.views:
        for row, factor in zip(view.rows, getattr(many(), view.view)[:4], strict=True):
            assert len(row.members) + row.elsewhere == factor.size
    assert any("found no room" in note for note in s.notes)


def test_a_bounded_search_has_bars_from_tau_on_and_says_so():
    found = bounded()
    s = signature_of(found)
    for view in s.views:
        assert all(row.from_tau and row.at_tau for row in view.rows)
        assert {row.minimal_for for row in view.rows} == {(nextafter(0.9, 0), 1.0)}
        assert "τ = 0.9" in view.no_curve and view.curve == ()
    assert s.views[0].more == ("and 114 more sets at τ = 0.9: .keep.factors",)
    assert any(note.startswith("A bar that begins in dots") for note in s.notes)
    assert all(one.missing for one in curves_of(found).curves)
    assert bars_of(found.keep).note.startswith("This search decided sets at τ = 0.9")


def test_with_a_test_bars_end_below_shares_and_words_say_why():
    e = refused().at(0.5, alpha=0.2)
    s = signature_of(e)
    for view in s.views:
        assert all(row.minimal_for[1] < row.sufficiency for row in view.rows)
    assert any("tested (α = 0.2)" in note for note in s.notes)


def test_where_no_set_reaches_tau_it_says_so_and_shows_others():
    e = explainer().explain(APPLICANT, tau=0.99, alpha=0.01)
    keep = signature_of(e).views[0]
    assert keep.nothing.startswith("No set of features can pass the test of τ = 0.99")
    assert keep.rows and not any(row.at_tau for row in keep.rows)


@pytest.mark.parametrize(
    ("shares", "start"),
    [([0.0], 0.0), ([0.39], 0.0), ([0.45], 0.4), ([0.9, 1], 0.85), ([1.0], 0.98), ([0.98], 0.96)],
)
def test_the_axis_starts_where_the_bars_are(shares, start):
    assert starts_at(shares) == start


def test_the_barcode_is_that_of_the_view():
    bars = bars_of(refused().keep)
    assert bars.rows == (
        BarRow("income, debt", 5 / 7, 1.0, at_tau=True, from_tau=False),
        BarRow("income", 0.0, 5 / 7, at_tau=False, from_tau=False),
        BarRow("debt, home", 1 / 7, 3 / 7, at_tau=False, from_tau=False),
        BarRow("debt", 0.0, 1 / 7, at_tau=False, from_tau=False),
    )
    assert bars.more == bars.note == ""
    assert [(row.low, row.high) for row in bars.rows] == [
        f.minimal_for for f in refused().keep.barcode
    ]
    assert bars_of(refused().keep, 1).more == (
        "and 3 more sets, for τ between 0% and 100%: .keep.barcode"
    )


def test_a_bar_is_solid_up_to_its_end_and_not_where_it_begins():
    bars = bars_of(refused().at(5 / 7).keep)
    assert [row.names for row in bars.rows if row.at_tau] == ["income"]


def test_the_curve_is_that_of_the_view():
    e = refused()
    assert curves_of(e).curves[1] == Curve("flip", "Flips to “granted”", e.flip.curve, 5 / 7, "")
    xs, ys = corners(e.keep.curve, start=0.5)
    assert xs == [0.5, 5 / 7, 5 / 7, 1.0] and ys == [24 / 28, 24 / 28, 0.5, 0.5]


# -- the pictures -------------------------------------------------------------------------


def test_the_pictures_are_those_that_are_kept():
    assert_as_kept(suffice.plots.factors(refused()), "factors")
    assert_as_kept(suffice.plots.factors(many(), most=6), "factors-many")
    assert_as_kept(suffice.plots.factors(bounded().flip, most=4), "factors-bounded")
    assert_as_kept(suffice.plots.barcode(refused()), "barcode")
    assert_as_kept(suffice.plots.curve(refused()), "curve")


def test_a_dark_figure_gets_light_inks():
    with plt.style.context("dark_background"):
        assert_as_kept(suffice.plots.factors(refused().keep), "factors-dark")


def test_a_picture_of_other_facts_is_not_taken_for_the_kept_one():
    e = refused()
    kept = pixels(suffice.plots.factors(e.keep))
    # The set of another τ: two dots, a bar and a number have moved.
    other = pixels(suffice.plots.factors(e.keep.at(0.7)))
    assert apart(kept, other)[1] > MOST
    assert apart(kept, kept) == (0.0, 0.0)
    ax = suffice.plots.factors(e.keep)
    two_dots = next(x for x in ax.lines if x.get_marker() == "o" and len(x.get_xdata()) == 2)
    two_dots.set_xdata([two_dots.get_xdata()[0], two_dots.get_xdata()[1] + 0.8])
    assert apart(kept, pixels(ax))[1] > MOST
    with plt.rc_context({"text.hinting": "default"}):
        fitted = pixels(suffice.plots.factors(e.keep))
    mean, most = apart(kept, fitted)
    assert 0 < mean <= MEAN and most <= MOST


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
    ax = renamed(names).plot(kind)
    assert cut_off(ax) == []


def test_names_too_long_for_their_place_are_numbered_and_told_beneath():
    long, *_ = NAMES["long"]
    ax = renamed(NAMES["long"]).plot()
    written = "".join(words_of(ax))
    assert f"[1] {long}" in written
    assert "(10,000 characters; .players has it in full)" in written.replace("\n", " ")


def test_signs_of_formulas_are_written_as_they_are():
    ax = renamed(NAMES["formulas"]).plot()
    written = words_of(ax)
    assert "$x_1$" in written and "\\frac{a" in written
    assert not any(t.get_parse_math() for t in ax.texts)


def test_what_no_font_has_is_told_by_name():
    words = words_of(renamed(NAMES["beyond the fonts"]).plot("barcode"))
    assert any("mood [melting face]" in line for line in words)


@pytest.mark.parametrize("kind", ["factors", "barcode", "curve"])
@pytest.mark.parametrize("size", [(9, 7), (3, 8)])
def test_it_is_drawn_into_what_is_given_and_returned(kind, size):
    figure = plt.figure(figsize=size)
    ax = figure.add_subplot(1, 2, 1)
    assert refused().plot(kind, ax=ax) is ax
    left, right = plt.figure(figsize=size, layout="constrained").subfigures(1, 2)
    made = refused().plot(kind, ax=left)
    assert made.figure is left and not right.axes
    whole = plt.figure(figsize=size)
    drawn = refused().plot(kind, ax=whole)
    assert drawn.figure is whole
    if kind != "curve":  # which has labels of its own outside
        assert cut_off(drawn) == []


def test_it_sets_no_global_style():
    before = dict(plt.rcParams)
    for kind in ("factors", "barcode", "curve"):
        refused().plot(kind)
    assert dict(plt.rcParams) == before


def test_the_users_own_style_does_no_harm():
    with plt.rc_context({"text.usetex": True, "axes.grid": True, "font.family": "serif"}):
        ax = refused().plot()
        ax.figure.canvas.draw()
    assert not any(text.get_usetex() for text in ax.texts)


def test_one_feature_one_reference_and_nothing_at_all_can_be_drawn():
    def above(rows):
        return np.asarray(rows["a"] > 1)

    two, one = pd.DataFrame({"a": [0, -1]}), pd.DataFrame({"a": [0]})
    for e in (suffice.Explainer(above, rows)({"a": 2}) for rows in (two, one)):
        for kind in ("factors", "barcode", "curve"):
            assert cut_off(e.plot(kind)) == []
    anyway = suffice.Explainer(above, pd.DataFrame({"a": [5, 0]}), references="all")
    assert "nothing: it comes about anyway" in words_of(anyway({"a": 2}, tau=0.5).plot())
    nothing = explainer().explain(APPLICANT, tau=0.8, budget=14)
    assert nothing.plot() and nothing.plot("barcode") and nothing.plot("curve")


def test_what_cannot_be_drawn_is_refused_in_words(monkeypatch):
    with pytest.raises(InputError, match="kind: got 'bars'; allowed: 'factors', 'barcode'"):
        refused().plot("bars")
    with pytest.raises(InputError, match=r"ax: got 3; allowed: None, or an Axes, Figure or SubF"):
        refused().plot(ax=3)
    with pytest.raises(InputError, match="result: got 3; allowed: an explanation, or one of its v"):
        suffice.plots.factors(3)
    with pytest.raises(InputError, match="most: got 0; allowed"):
        suffice.plots.barcode(refused(), most=0)
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.axes", None)
    with pytest.raises(suffice.SufficeError, match=r'run pip install "suffice\[plots\]"'):
        refused().plot()


def test_rows_are_frozen_facts():
    row = signature_of(refused()).views[0].rows[0]
    assert row == SetRow((0, 1), 0, 1.0, row.interval, (5 / 7, 1.0), at_tau=True, from_tau=False)
    with pytest.raises(AttributeError):
        row.members = ()
