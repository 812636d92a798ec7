"""Lattice, charts, comparison, overlays and graphs: their facts exactly, their pictures by pixels."""

import numpy as np
import pytest

import suffice
from suffice import CausalModel, InputError
from suffice.formatting import percent
from suffice.plots.canvas import DARK, LIGHT
from suffice.plots.charts import ChartCell, ChartColumn, ChartRow
from suffice.plots.diagrams import Arrow, HasseNode, dag_of, hasse_diagram_of
from suffice.plots.highlights import MarkedText, image_panels_of, text_highlights_of
from suffice.plots.result_charts import chart_of, interaction_heatmap_of
from suffice.plots.tool_comparison import SelectionCurve, SizePoint, comparison_of
from tests.example_results import RESULTS, TEXT_EXPLAINER, of_image, of_text, result
from tests.plots.image_comparison import assert_matches_baseline, texts_in, texts_outside
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
    with plt.rc_context():
        plt.rcdefaults()
        plt.switch_backend("agg")
        plt.rcParams["text.hinting"] = "none"  # which differs from one version to the next
        yield
    plt.close("all")


# -- lattice ------------------------------------------------------------------------------


def test_the_lattice_has_every_set_with_its_share_and_marks_the_minimal_ones():
    found = hasse_diagram_of(refused_explanation().flip)
    assert found.features == ("A: income = 25", "B: debt = 8", "C: home = rents")
    assert [len(level) for level in found.levels] == [1, 3, 3, 1]
    assert found.levels[2] == (
        HasseNode("AB", 1.0, True),
        HasseNode("AC", 6 / 7, True),
        HasseNode("BC", 2 / 7, False),
    )
    assert_matches_baseline(suffice.plots.lattice(refused_explanation()), "lattice")


def test_a_lattice_of_many_features_is_refused_and_says_what_serves():
    with pytest.raises(
        InputError, match=r"an explanation of 9 features; allowed: an explanation of up to 6 fea"
    ):
        many_sets().plot("lattice")


def test_sets_that_were_never_evaluated_have_a_question_mark():
    e = explainer().explain(APPLICANT, tau=0.8, budget=42)
    nodes = [node for level in hasse_diagram_of(e.keep).levels for node in level]
    assert any(node.sufficiency is None for node in nodes)
    ax = e.keep.plot("lattice")
    assert "?" in texts_in(ax) and texts_outside(ax) == []


# -- charts -------------------------------------------------------------------------------


def test_recourse_shows_old_and_new_values_and_the_cost():
    ways = explainer().recourse(APPLICANT, tau=0.5)
    chart = chart_of(ways)
    assert chart.columns[1] == ChartColumn("works for so many references", "share", 0.5)
    for option, line in zip(ways, chart.rows, strict=True):
        cost, works, needed = line.cells
        assert cost.value == option.cost
        assert (works.value, works.interval) == (option.sufficiency, option.interval)
        assert needed.value == option.necessity
        assert needed.text.endswith(f" (by chance {percent(option.necessity_baseline)})")
    assert chart.rows[0].labels == ("income: 25 → 50", "debt: 8 → 7")
    assert chart_of(ways, 1).more.startswith("and ") and len(chart_of(ways, 1).rows) == 1
    assert_matches_baseline(suffice.plots.recourse(ways), "recourse")


def test_recourse_that_is_impossible_says_why():
    none = explainer().recourse(APPLICANT, immutable=["income", "debt"])
    assert not none.feasible
    words = " ".join(texts_in(none.plot()))
    assert "no recourse option found" in words and "immutable" in words


def test_rules_have_precision_against_tau_coverage_and_necessity():
    rules = explainer().anchor(APPLICANT, tau=0.8)
    chart = chart_of(rules)
    assert [h.heading for h in chart.columns] == ["precision", "coverage", "recall"]
    assert chart.columns[0].reference == 0.8
    for rule, line in zip(rules, chart.rows, strict=True):
        shares = [amount.value for amount in line.cells]
        assert shares == [rule.precision, rule.coverage, rule.necessity]
        assert line.labels == (f"if {rule.words}",)
    assert_matches_baseline(suffice.plots.rule(rules), "rule")
    assert chart_of(rules[0]).rows == chart.rows[:1]


def test_shapley_values_are_bars_with_exact_values_the_largest_first():
    values = suffice.shapley_values(refused_explanation().keep)
    chart = chart_of(values)
    assert [(line.labels[0], line.cells[0].value) for line in chart.rows] == sorted(
        values.items(), key=lambda pair: -abs(pair[1])
    )
    assert chart_of(values, 1).more.startswith("and 2 more features, ")
    assert_matches_baseline(suffice.plots.shapley(values), "shapley")


def test_interactions_of_two_are_a_heat_map_others_are_bars():
    pairs = suffice.shapley_interactions(refused_explanation().keep)
    heat = interaction_heatmap_of(pairs)
    assert heat.names == ("income", "debt", "home")
    for i, a in enumerate(heat.names):
        assert heat.values[i][i] is None
        for j, b in enumerate(heat.names):
            assert i == j or heat.values[i][j] == pairs[a, b]
    few = interaction_heatmap_of(pairs, 2)
    assert len(few.names) == 2 and few.more == "and 1 more feature with weaker ones: .to_frame()"
    assert_matches_baseline(suffice.plots.shapley(pairs), "interactions")
    three = suffice.shapley_interactions(refused_explanation().keep, order=3)
    assert chart_of(three).rows == (
        ChartRow(("income, debt, home",), chart_of(three).rows[0].cells),
    )


def test_bounds_are_ranges_without_a_point():
    bounds = suffice.causation_bounds({(True, True): 30, (False, False): 40}, exogenous=True)
    amounts = {line.labels[0]: line.cells[0] for line in chart_of(bounds).rows}
    assert amounts["pns"].value is None and amounts["pns"].interval == bounds.pns
    found = suffice.probabilities_of_causation(
        CausalModel([("a", "b")], mechanisms={"a": 0.5, "b": lambda a: a}), "a", "b"
    )
    assert [line.cells[0] for line in chart_of(found).rows] == [ChartCell(1.0, "100%")] * 3


def test_the_ends_of_an_interval_are_drawn_with_its_share_and_not_as_columns():
    found = suffice.audit.cohort([refused_explanation()])
    chart, best = chart_of(found), found.parts[0].sets[0]
    assert {"from", "to"}.isdisjoint(heading.heading for heading in chart.columns)
    assert chart.rows[0].cells[0] == ChartCell(1.0, "100% (3–100%)", best.share.interval)
    assert chart.rows[0].cells[1].interval is None
    ax = found.plot("measures")
    assert ax.figure.get_size_inches()[0] < 11 and texts_outside(ax) == []


@pytest.mark.parametrize("name", RESULTS)
def test_every_result_has_a_figure_and_nothing_of_it_is_cut_off(name):
    for kind in result(name).plots:
        try:
            ax = result(name).plot(kind)
        except InputError as error:  # a text has no regions
            assert error.argument == "result"
            continue
        if kind not in ("curve",):
            assert texts_outside(ax) == [], kind


# -- a ranking against the best sets --------------------------------------------------------


def test_a_ranking_is_held_against_the_best_set_of_each_size():
    keep = refused_explanation().keep
    found = comparison_of(keep, {"by debt": ["debt", "home", "income"]})
    best, given = found.curves
    assert best == SelectionCurve(
        "the best set of k features",
        True,
        (SizePoint(0, 0.0), SizePoint(1, 5 / 7), SizePoint(2, 1.0), SizePoint(3, 1.0)),
    )
    assert given.label == "by debt" and [p.sufficiency for p in given.points] == [
        0,
        1 / 7,
        3 / 7,
        1,
    ]
    for k, point in enumerate(best.points):
        assert point.sufficiency == suffice.top_k(keep, k).best_sufficiency
    assert comparison_of(keep).curves[1].label == "the first k by exact Shapley values"
    assert_matches_baseline(
        suffice.plots.compare(
            refused_explanation(), ranking={"by debt": ["debt", "home", "income"]}
        ),
        "compare",
    )


def test_scores_by_feature_are_one_ranking_and_sizes_not_evaluated_are_reported():
    keep = refused_explanation().keep
    scores = {"income": 0.1, "debt": -3.0, "home": 0.0}
    (_, plain), (_, by_size) = (
        comparison_of(keep, scores, absolute).curves for absolute in (False, True)
    )
    assert plain.points[1].sufficiency == 5 / 7 and by_size.points[1].sufficiency == 1 / 7
    cut = explainer().explain(APPLICANT, tau=0.8, max_size=1, search="exhaustive", budget=56)
    short = comparison_of(cut.keep, scores)
    assert {p.k for p in short.curves[0].points} <= {0, 1, 2, 3}
    with pytest.raises(suffice.NotVisitedError):
        pruned_sets().plot("compare")


# -- overlays -----------------------------------------------------------------------------


def test_words_are_marked_in_their_text():
    e = TEXT_EXPLAINER.explain("a fine film, and a long one")
    keep, flip = text_highlights_of(e, 1)
    assert keep.sets[0].pieces == e.subject.pieces(
        frozenset(i for i, p in enumerate(e.players) if p.name in e.keep[0].features)
    )
    assert keep.sets[0] == MarkedText("", keep.sets[0].pieces)
    assert_matches_baseline(suffice.plots.text(e), "text")
    with pytest.raises(
        InputError,
        match="result: got an explanation of other data; allowed: an explanation of a text",
    ):
        refused_explanation().plot("text")
    assert flip.title.startswith("Flips to")


def test_of_a_long_text_the_lines_around_the_marks_are_shown():
    e = TEXT_EXPLAINER.explain(
        "word " * 300 + "fine " + "word " * 300, spans=[(0, 10), (1500, 1504)]
    )
    ax = e.plot("text")
    words = texts_in(ax)
    assert "…" in words and "fine" in words
    assert texts_outside(ax) == []


def test_regions_are_marked_in_their_picture():
    map_, keep, flip = image_panels_of(of_image())
    assert (map_.view, keep.view, flip.view) == ("map", "keep", "flip")
    drawn = suffice.overlay(of_image(), view="keep").pixels
    outline = (keep.overlay.pixels == [0, 114, 178]).all(axis=2)
    assert outline.any() and np.array_equal(keep.overlay.pixels[~outline], drawn[~outline])
    assert_matches_baseline(suffice.plots.image(of_image()), "image")
    with pytest.raises(
        InputError, match="got an explanation of other data; allowed: an explanation of an"
    ):
        of_text().plot("image")


# -- graphs -------------------------------------------------------------------------------

GRAPH = [("job", "income"), ("age", "income"), ("income", "savings"), ("age", "savings")]


def model():
    return CausalModel(
        GRAPH,
        mechanisms={
            "job": {"office": 0.5, "none": 0.5},
            "age": {30: 0.5, 50: 0.5},
            "income": lambda job, age: (job == "office") * 40 + age,
            "savings": lambda income, age: income // 10 + age,
        },
    )


def test_an_intervention_changes_what_is_set_and_its_effects_and_cuts_its_causes():
    row = {"job": "none", "age": 30, "income": 30, "savings": 33}
    found = dag_of(model(), do={"income": 60}, row=row)
    roles = {node.name: (node.role, node.text) for node in found.nodes}
    assert roles == {
        "job": ("stays", "none"),
        "age": ("stays", "30"),
        "income": ("set", "30 → 60"),
        "savings": ("changes", "33 → 36"),
    }
    assert {(a.cause, a.effect): a.role for a in found.arrows} == {
        ("job", "income"): "cut",
        ("age", "income"): "cut",
        ("income", "savings"): "carries",
        ("age", "savings"): "plain",
    }
    assert found.title == "What setting income changes"
    assert_matches_baseline(suffice.plots.dag(model(), do={"income": 60}, row=row), "dag")


def test_values_of_a_graph_are_reported_in_few_digits():
    third = CausalModel([("a", "b")], mechanisms={"a": {1.0: 0.5, 2.0: 0.5}, "b": lambda a: a / 3})
    found = dag_of(third, do={"a": 2.0}, row={"a": 1.0, "b": 1 / 3})
    assert [node.text for node in found.nodes] == ["1 → 2", "0.3333 → 0.6667"]


def test_causes_stand_left_of_effects_and_arrows_pass_the_layers_between():
    found = dag_of(GRAPH, do="job")
    layer = {node.name: node.layer for node in found.nodes}
    assert layer == {"job": 0, "age": 0, "income": 1, "savings": 2}
    assert all(layer[a.cause] < layer[a.effect] for a in found.arrows)
    (long,) = [a for a in found.arrows if a.via]
    assert long == Arrow("age", "savings", "plain", long.via) and long.via[0][0] == 1
    spots = [(n.layer, n.place) for n in found.nodes] + [s for a in found.arrows for s in a.via]
    assert len(set(spots)) == len(spots)
    assert suffice.plots.dag(GRAPH) is not None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: suffice.plots.dag(3), "model: got 3; allowed: a CausalModel, or a networkx"),
        (lambda: suffice.plots.dag(GRAPH, do="jo"), "do: got unknown node 'jo'.*mean 'job'"),
        (lambda: suffice.plots.dag(GRAPH, row={}, do={"job": 1}), "row: got .*only a graph"),
        (
            lambda: suffice.plots.recourse(refused_explanation()),
            "result: got .*a result of Explainer.recourse",
        ),
        (lambda: suffice.plots.rule(3), "result: got 3; allowed: a rule"),
        (lambda: suffice.plots.shapley({}), "result: got .*a result of shapley_values or"),
        (lambda: suffice.plots.measures("x"), "result: got x; allowed: a result of this package"),
        (lambda: suffice.plots.compare(3), "result: got 3; allowed: an explanation"),
        (
            lambda: suffice.plots.compare(
                suffice.top_k(refused_explanation().keep, 1), ranking=["a"]
            ),
            "ranking: got .*None for a result of top_k",
        ),
    ],
)
def test_what_cannot_be_drawn_is_named(call, message):
    with pytest.raises(InputError, match=message):
        call()


# -- for every eye ------------------------------------------------------------------------


def seen(colour, kind):
    """A colour as a dichromat sees it (Viénot, Brettel and Mollon, 1999), in linear light."""
    rgb = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    lms = np.array([[17.88, 43.52, 4.12], [3.46, 27.16, 3.87], [0.03, 0.18, 1.47]])
    loss = {
        "protan": np.array([[0, 2.02, -2.53], [0, 1, 0], [0, 0, 1]]),
        "deutan": np.array([[1, 0, 0], [0.49, 0, 1.25], [0, 0, 1]]),
    }[kind]
    return np.linalg.inv(lms) @ loss @ lms @ linear


@pytest.mark.parametrize("kind", ["protan", "deutan"])
@pytest.mark.parametrize("ink", [LIGHT, DARK], ids=["light", "dark"])
def test_keep_and_flip_are_distinguished_by_the_colour_blind(ink, kind):
    keep, flip = seen(ink.keep, kind), seen(ink.flip, kind)
    assert np.abs(keep - flip).max() > 0.1


LONG = ["$x_1$ 日本", "n" * 1_000, "שלום"]


@pytest.mark.parametrize("kind", ["lattice", "compare"])
def test_long_and_odd_names_are_written_everywhere(kind):
    assert texts_outside(renamed_explanation(LONG).plot(kind)) == []


def test_long_and_odd_names_are_written_in_charts_and_graphs():
    e = renamed_explanation(LONG)
    shown = [
        suffice.shapley_values(e.keep).plot(),
        suffice.shapley_interactions(e.keep).plot(),
        suffice.top_k(e.keep, 2).plot(),
        suffice.plots.dag([(LONG[0], LONG[1]), (LONG[1], LONG[2])], do=LONG[0]),
    ]
    for ax in shown:
        assert texts_outside(ax) == []


def test_each_is_drawn_into_what_is_given():
    size = 4, 3  # test_figure_contract draws each kind of figure into larger and smaller axes
    for name in RESULTS:
        if result(name).plots and not name.startswith(("Explanation", "View")):
            ax = plt.figure(figsize=size).add_subplot()
            assert result(name).plot(ax=ax) is ax, name
            plt.close("all")
    for kind in ("lattice", "compare"):
        figure = plt.figure(figsize=size)
        assert refused_explanation().plot(kind, ax=figure).figure is figure
        plt.close("all")


def test_pages_show_the_figures_that_their_code_draws():
    from docs.draw.figures import DOCS, FOLDER, pages

    shown = [name for _, names in pages() for name in names]
    kept = {path.name for path in FOLDER.iterdir()}
    assert set(shown) == kept and len(set(shown)) == len(shown), "run: python -m docs.draw figures"
    guide = (DOCS / "guides" / "figures.md").read_text(encoding="utf-8")
    for kind in suffice.plots.__all__:
        assert kind in guide, f"the guide does not show {kind}"
