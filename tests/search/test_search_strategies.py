"""Pruned and greedy searches, called through the explainer."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, strategies as st
from sklearn.ensemble import RandomForestClassifier

from suffice import Explainer, Explanation, InputError, NotVisitedError, datasets
from tests.random_problems import has_both_outcomes, problems, thresholds


@given(
    problems(), thresholds, st.sampled_from([(None, "none"), (0.2, "none"), (0.2, "bonferroni")])
)
def test_a_pruned_search_gives_the_same_answer(world, tau, test):
    assume(has_both_outcomes(world))
    alpha, adjust = test
    explainer = world.explainer(cost=lambda column, old, new: np.abs(new - old))
    full = explainer.explain(world.x, tau=tau, alpha=alpha, adjust=adjust)
    pruned = explainer.explain(world.x, tau=tau, alpha=alpha, adjust=adjust, search="pruned")
    for a, b in ((full.keep, pruned.keep), (full.flip, pruned.flip)):
        near = any(abs(t - tau) < 1e-9 for f in a.barcode for t in f.minimal_for)
        assume(alpha is None or not near)
        assert [(f.features, f.sufficiency, f.cost) for f in a.factors] == [
            (f.features, f.sufficiency, f.cost) for f in b.factors
        ]
        for f in b.factors:
            assert f.minimal_for[0] < tau <= f.minimal_for[1]
            assert alpha is None or f.p_value <= alpha + 1e-9
    assert pruned.complete
    assert pruned.provenance.rows_predicted <= 1024 + full.provenance.hybrids
    assert Explanation.from_json(pruned.to_json()) == pruned
    alike = len(world.references) == 1 and alpha is None  # a share of 0 or 1: every τ is alike
    assert ("Complete at τ" in " ".join(str(pruned).split())) == (not alike)


def pairs(d, n=80, seed=0):
    rng = np.random.default_rng(seed)
    return rng.random((n, d))


def planted(rows):
    rows = np.asarray(rows)
    return ((rows[:, 3] > 0.5) & (rows[:, 17] > 0.5) & (rows[:, 20] > 0.5)).astype(int)


def test_a_pruned_search_answers_at_its_own_threshold_only():
    data = pairs(9)
    e = Explainer(lambda r: (r[:, 0] + r[:, 1] > 1).astype(int), data).explain(
        data[0], search="pruned"
    )
    assert e.keep.complete and not e.keep.at(0.5).complete
    for call in (lambda: e.keep.curve, lambda: e.keep.at(alpha=0.1)):
        with pytest.raises(NotVisitedError, match=r"τ = 0.9|another alpha"):
            call()
    low, high = e.keep.necessity_interval
    assert low <= e.keep.necessity <= high
    exact = Explainer(lambda r: (r[:, 0] + r[:, 1] > 1).astype(int), data).explain(data[0])
    assert low <= exact.keep.necessity <= high
    assert "Complete at τ = 0.9" in e.to_html()
    few = Explainer(lambda r: (r[:, 0] + r[:, 1] > 1).astype(int), data).explain(
        data[0], search="pruned", max_size=1
    )
    assert not few.complete
    assert "Not complete: stopped by max_size=1" in str(few).replace("\n", " ")


def test_a_greedy_search_finds_what_small_sets_do_not_hold():
    data = pairs(60)
    x = np.full(60, 0.9)
    e = Explainer(planted, data).explain(x, search="greedy")
    assert ("x3", "x17", "x20") in [f.features for f in e.keep.factors]
    found = next(f for f in e.keep.factors if f.size == 3)
    assert found.proof == "exhaustive"  # of so few features all that is inside was compared
    assert [f.features for f in e.flip.factors][:3] == [
        ("x3",),
        ("x17",),
        ("x20",),
    ] or e.flip.factors
    assert not e.complete
    text = str(e).replace("\n", " ")
    assert (
        "sets of up to 2 features were searched exhaustively; larger ones from many starts" in text
    )
    assert "Others may exist." in text
    assert Explanation.from_json(e.to_json()) == e
    assert e == Explainer(planted, data).explain(x, search="greedy")
    for f in e.flip.factors:
        changed = x.copy()
        for name, value in f.change.values.items():
            changed[int(name[1:])] = value
        assert planted(changed[None])[0] != planted(x[None])[0]
    small = pairs(4)
    whole = Explainer(lambda r: (r[:, 0] > 0.5).astype(int), small).explain(
        small[0], search="greedy"
    )
    assert whole.provenance.hybrids


@pytest.mark.parametrize("search", ["exhaustive", "pruned", "greedy", "auto", "bounds"])
@pytest.mark.parametrize("max_size", [1, 2])
def test_max_size_is_the_largest_set_reported_in_every_search(search, max_size):
    data, x = pairs(9), np.full(9, 0.9)
    labels = ((data[:, [1, 4, 7]] > 0.4).all(axis=1) | (data[:, [2, 3]] > 0.8).all(axis=1)) * 1
    model = RandomForestClassifier(10, random_state=0).fit(data, labels)
    explainer = Explainer(model, data, engine="trees" if search == "bounds" else "blackbox")
    every = explainer.explain(x, search="exhaustive", tau=0.8)
    e = explainer.explain(x, search=search, max_size=max_size, tau=0.8)
    for view, of_all in ((e.keep, every.keep), (e.flip, every.flip)):
        assert {f.features for f in view} == {f.features for f in of_all if f.size <= max_size}
    assert any(f.size > max_size for f in every.keep), "larger ones exist"
    assert not e.complete and str(e.stopped) == f"max_size={max_size}"
    assert Explanation.from_json(e.to_json()) == e


def test_a_greedy_search_counts_pairs_where_that_is_little_work():
    """The size up to which every set is counted follows from counts, so on any machine."""

    def of_two(rows):
        return (rows[:, [3, 7]] > 0.4).all(axis=1).astype(int)

    x = np.full(30, 0.9)
    for rows, size in ((60, 2), (1500, 1)):
        e = Explainer(of_two, pairs(30, rows)).explain(x, search="greedy")
        assert e.keep_profile.tally.exhaustive_size == size
        assert [f.features for f in e.keep] == [("x3", "x7")]


def test_greedy_limits_are_obeyed():
    data = pairs(60)
    e = Explainer(planted, data).explain(np.full(60, 0.9), search="greedy", budget=20_000)
    assert e.provenance.rows_predicted <= 20_000
    with pytest.raises(InputError, match="adjust: got 'holm'; allowed: 'none' in a greedy search"):
        Explainer(planted, data).explain(
            np.full(60, 0.9), search="greedy", alpha=0.1, adjust="holm"
        )
    with pytest.raises(InputError, match="adjust: got 'holm'; allowed: 'none' or 'bonferroni'"):
        Explainer(planted, data[:, :22]).explain(
            np.full(22, 0.9), search="pruned", alpha=0.1, adjust="holm", max_size=2
        )
    with pytest.raises(InputError, match=r"search: got 'best'; allowed: 'auto', 'exhaustive', .*"):
        Explainer(planted, data).explain(np.full(60, 0.9), search="best")


def test_correlated_columns_can_be_grouped():
    X, _ = datasets.loans()
    twice = pd.concat([X, X[["income", "debt"]].add_suffix(" (again)") + 0.5], axis=1)

    def model(rows):
        return np.where(rows["income"] + rows["income (again)"] > 90, "yes", "no")

    e = Explainer(model, twice, groups="auto").explain(twice.iloc[0])
    names = [p.name for p in e.keep.players]
    assert any("income" in n and "+" in n for n in names)
    assert len(names) < twice.shape[1]
    with pytest.raises(InputError, match=r"groups: got 'best'; allowed: 'auto' or .*None"):
        Explainer(model, twice, groups="best")
