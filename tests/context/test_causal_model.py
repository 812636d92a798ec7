"""Structural causal models: interventions reach descendants only; counterfactuals are consistent."""

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import binomtest
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.tree import DecisionTreeRegressor

from suffice import InputError
from suffice.context.causal import CausalModel, additive, noisy
from tests.context.causal_cases import draw_intervention, fitted_causal_model, people, random_models
from tests.effort import examples


@given(random_models(), st.data(), st.sampled_from(["kept", "sampled"]))
@settings(max_examples=examples(40))
def test_an_intervention_changes_itself_and_its_effects_and_nothing_else(world, data, noise):
    scm, frame = world
    rows = frame.head(20)
    do = draw_intervention(data, scm, frame, rows)
    after = scm.counterfactual(rows, do, noise=noise)
    assert (after.dtypes == rows.dtypes).all()
    reached = set(do).union(*(scm.descendants(node) for node in do))
    untouched = [node for node in rows if node not in reached]
    pd.testing.assert_frame_equal(after[untouched], rows[untouched], check_exact=True)
    for node, values in do.items():
        assert (after[node].to_numpy() == values).all()


@given(random_models(), st.data())
@settings(max_examples=examples(40))
def test_a_counterfactual_that_changes_nothing_returns_the_row(world, data):
    scm, frame = world
    own = {node: frame[node].to_numpy() for node in draw_intervention(data, scm, frame, frame)}
    for do in ({}, own):
        pd.testing.assert_frame_equal(scm.counterfactual(frame, do), frame, check_exact=True)
    pd.testing.assert_frame_equal(
        scm.counterfactual(frame, {}, noise="sampled"), frame, check_exact=True
    )


@given(random_models(), st.data())
@settings(max_examples=examples(25))
def test_under_do_a_sample_differs_from_the_other_only_in_effects(world, data):
    scm, frame = world
    do = draw_intervention(data, scm, frame, frame)
    plain, done = scm.sample(len(frame)), scm.sample(len(frame), do=do)
    reached = set(do).union(*(scm.descendants(node) for node in do))
    for node in set(scm.nodes) - reached:
        assert (plain[node] == done[node]).all()


@given(random_models(), st.integers(0, 5))
@settings(max_examples=examples(25))
def test_noise_found_from_rows_gives_them_back(world, seed):
    scm, frame = world
    values = {node: frame[node].to_numpy() for node in scm.nodes}
    again = scm.solve(scm.abduct(values, np.random.default_rng(seed)))
    for node in scm.nodes:
        if frame[node].dtype == float:
            assert np.allclose(again[node], values[node], rtol=1e-12, atol=1e-12)
        else:
            assert (again[node] == values[node]).all()


@given(random_models())
@settings(max_examples=examples(25))
def test_relations_agree(world):
    scm, _ = world
    for node in scm.nodes:
        assert all(scm.nodes.index(p) < scm.nodes.index(node) for p in scm.parents(node))
        assert all(node in scm.children(p) for p in scm.parents(node))
        assert all(node in scm.descendants(a) for a in scm.ancestors(node))
        assert scm.ancestors(node) == set(scm.parents(node)).union(
            *(scm.ancestors(p) for p in scm.parents(node))
        )


# Linear models with Gaussian noise, where the answers are known.


def line(n=20_000, seed=3):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    m = 2.0 * x + rng.normal(0, 0.5, n)
    y = -1.5 * m + 0.7 * x + rng.normal(0, 0.8, n)
    return pd.DataFrame({"x": x, "m": m, "y": y})


LINE = [("x", "m"), ("m", "y"), ("x", "y")]


def test_the_effect_of_an_intervention_is_the_sum_over_paths_of_products():
    data = line()
    scm = CausalModel(LINE, data)
    m_on_x = np.polyfit(data.x, data.m, 1)[0]
    y_on = np.linalg.lstsq(np.c_[data.m, data.x, np.ones(len(data))], data.y, rcond=None)[0]
    noise = scm.draw(50, np.random.default_rng(0))
    low, high = (scm.solve(noise, {"x": value}) for value in (1.0, 2.0))
    assert np.allclose(high["m"] - low["m"], m_on_x)
    assert np.allclose(high["y"] - low["y"], m_on_x * y_on[0] + y_on[1])
    assert m_on_x * y_on[0] + y_on[1] == pytest.approx(2.0 * -1.5 + 0.7, abs=0.05)
    # Under do(m), the path through m is cut.
    low, high = (scm.solve(noise, {"x": value, "m": 0.0}) for value in (1.0, 2.0))
    assert np.allclose(high["y"] - low["y"], y_on[1])


def test_noise_has_the_variance_of_the_residuals():
    data = line()
    scm = CausalModel(LINE, data)
    fit = LinearRegression().fit(data[["m", "x"]].to_numpy(), data.y)
    mse = np.mean((data.y - fit.predict(data[["m", "x"]].to_numpy())) ** 2)
    drawn = scm.draw(200_000, np.random.default_rng(1))["y"]
    # A sample variance has standard error var * sqrt(2 / n); five of them.
    assert np.var(drawn) == pytest.approx(mse, rel=5 * np.sqrt(2 / 200_000))
    assert mse == pytest.approx(0.64, rel=0.05)
    assert scm.abduct({n: data[n].to_numpy() for n in "xmy"}, None)["y"].var() == pytest.approx(mse)


def test_a_linear_counterfactual_is_the_row_moved_along_the_slopes():
    scm = CausalModel(
        LINE,
        mechanisms={
            "x": lambda n, rng: rng.normal(size=n),
            "m": additive(lambda x: 2 * x, std=0.5),
            "y": additive(
                lambda m, x: -1.5 * m + 0.7 * x, noise=lambda n, rng: rng.laplace(size=n)
            ),
        },
    )
    assert set(scm.capabilities.values()) == {"exact"}
    rows = scm.sample(30)
    after = scm.counterfactual(rows, {"x": rows.x + 1})
    assert np.allclose(after.m, rows.m + 2)
    assert np.allclose(after.y, rows.y - 3 + 0.7)


def test_any_regressor_or_a_function_whose_noise_is_fitted():
    data = line(2000)
    ridge = CausalModel(LINE, data, mechanisms={"y": Ridge(alpha=0.0)})
    plain = CausalModel(LINE, data)
    noise = plain.draw(100, np.random.default_rng(0))
    assert np.allclose(ridge.solve(noise)["y"], plain.solve(noise)["y"])
    tree = DecisionTreeRegressor(min_samples_leaf=50)
    model = CausalModel(LINE, data, mechanisms={"y": additive(tree, std=0.0)})
    out = model.sample(500)
    assert np.allclose(
        out.y, tree.fit(data[["m", "x"]].to_numpy(), data.y).predict(out[["m", "x"]].to_numpy())
    )
    residual = data.m - 2 * data.x
    given = CausalModel(LINE, data, mechanisms={"m": additive(lambda x: 2 * x)})
    drawn = given.draw(100_000, np.random.default_rng(0))["m"]
    assert np.std(drawn) == pytest.approx(np.sqrt(np.mean(residual**2)), rel=0.02)
    sampled = additive(LinearRegression(), noise=lambda n, rng: np.full(n, 7.0))
    sevens = CausalModel(LINE, data, mechanisms={"m": sampled})
    assert (sevens.draw(3, np.random.default_rng(0))["m"] == 7).all()


# Finite models.


def sprinkler():
    return CausalModel(
        {"rain": [], "sprinkler": ["rain"], "wet": ["rain", "sprinkler"], "slippery": ["wet"]},
        mechanisms={
            "rain": 0.3,
            "sprinkler": noisy(lambda noise, rain: ~rain & noise, noise=0.5),
            "wet": noisy(
                lambda noise, rain, sprinkler: (rain | sprinkler) & (noise > 0),
                {0: 0.1, 1: 0.4, 2: 0.5},
            ),
            "slippery": lambda wet: wet,
        },
    )


@pytest.mark.parametrize("do", [None, {"sprinkler": True}, {"sprinkler": 1}, {"rain": 0}])
def test_worlds_are_all_there_is(do):
    scm = sprinkler()
    noise, probability = scm.worlds()
    assert len(probability) == 2 * 2 * 3 and probability.sum() == pytest.approx(1)
    exact, n = probability @ scm.solve(noise, do)["slippery"], 20_000
    hits = int(scm.sample(n, do=do)["slippery"].sum())
    assert binomtest(hits, n, min(exact, 1.0)).pvalue > 1e-4


def test_finite_noise_is_found_by_its_odds():
    scm = sprinkler()
    values = {"rain": np.ones(9000, bool), "sprinkler": np.zeros(9000, bool)}
    values |= {"wet": np.ones(9000, bool), "slippery": np.ones(9000, bool)}
    noise = scm.abduct(values, np.random.default_rng(0))["wet"]
    assert set(noise) == {1, 2}
    assert binomtest(int((noise == 1).sum()), 9000, 4 / 9).pvalue > 1e-4
    values["rain"] = ~values["rain"]
    with pytest.raises(InputError, match="No noise of 'wet' explains this row"):
        scm.abduct(values, np.random.default_rng(0))


def test_observed_roots_are_finite_too():
    data = people()
    scm = CausalModel({"sex": [], "age": []}, data)
    noise, probability = scm.worlds()
    assert probability @ noise["age"] == pytest.approx(data.age.mean())
    assert probability @ (noise["sex"] == "f") == pytest.approx((data.sex == "f").mean())
    assert set(scm.sample(50).sex) == {"f", "m"}


def test_what_is_not_finite_is_named():
    with pytest.raises(InputError, match="'job', whose noise has no finite number of states"):
        fitted_causal_model().worlds()
    many = CausalModel(
        {f"n{i}": [] for i in range(30)}, mechanisms={f"n{i}": 0.5 for i in range(30)}
    )
    with pytest.raises(InputError, match="joint states of noise"):
        many.worlds()
    assert not many.enumerable and not fitted_causal_model().enumerable and sprinkler().enumerable


@pytest.mark.parametrize("kind", ["polars", "arrow"])
def test_frames_of_other_libraries(kind):
    data = people()
    frame = pl.from_pandas(data)
    frame = frame if kind == "polars" else frame.to_arrow()
    scm = fitted_causal_model(frame)
    after = scm.counterfactual(frame, {"age": 40})
    assert type(after) is type(frame)
    expected = fitted_causal_model(data).counterfactual(data, {"age": 40})
    after = pl.DataFrame(after).to_pandas() if kind == "arrow" else after.to_pandas()
    pd.testing.assert_frame_equal(after, expected, check_dtype=False)


def test_a_frame_keeps_its_index_its_categories_and_its_other_columns():
    data = people().assign(job=lambda d: d.job.astype("category"), note="kept")
    rows = data.sample(frac=0.2, random_state=0)
    after = fitted_causal_model(data).counterfactual(rows, {"age": 60}, noise="sampled")
    assert after.job.dtype == data.job.dtype and (after.index == rows.index).all()
    assert (after.note == "kept").all()


def test_importing_it_imports_nothing_heavy():
    code = "import sys, suffice.context.causal; print({'sklearn', 'pandas', 'networkx'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_fresh_noise_is_not_the_noise_that_rows_were_drawn_with():
    """One seed for the rows and for what becomes of them is what most people have."""
    scm = CausalModel(
        [("x", "y")],
        mechanisms={
            "x": lambda n, rng: rng.normal(size=n),
            "y": additive(lambda x: x, std=1.0),
        },
    )
    rows = scm.sample(2000, random_state=7)
    after = scm.counterfactual(rows, {"x": rows.x}, noise="sampled", random_state=7)
    own, fresh = rows.y - rows.x, after.y - rows.x
    assert abs(np.corrcoef(own, fresh)[0, 1]) < 0.1


def test_a_model_shows_its_graph_and_its_mechanisms():
    scm = fitted_causal_model()
    assert repr(scm) == (
        "CausalModel(5 nodes, 6 edges: age; sex; job ← age, sex; income ← job, age; "
        "owns ← job, income)"
    )
    shown = {node: repr(mechanism) for node, mechanism in scm.mechanisms.items()}
    assert shown["age"] == "Empirical(400 values)"
    assert shown["income"].startswith("Additive(LinearRegression(), noise: std ")
    assert shown["job"] == (
        "Categorical(3 labels by DecisionTreeClassifier(min_samples_leaf=10, random_state=0))"
    )
    wet = {node: repr(mechanism) for node, mechanism in sprinkler().mechanisms.items()}
    assert wet["rain"] == "Discrete({True: 0.3, False: 0.7})"
    assert "<lambda>, noise: Discrete({0: 0.1, 1: 0.4, 2: 0.5})" in wet["wet"]
    many = CausalModel(
        {f"n{i}": [] for i in range(30)}, mechanisms={f"n{i}": 0.5 for i in range(30)}
    )
    assert repr(many).endswith("; n11; and 18 more)")


def double(x):
    return 2 * x


def test_a_model_pickles_and_answers_as_before():
    data = people(80)
    given = {"x": [1.0, 2.0], "y": additive(double, std=1.0), "z": additive(double)}
    for scm in (
        CausalModel({"job": ["age", "sex"], "owns": ["job"]}, data),
        CausalModel(
            [("x", "y"), ("x", "z")], pd.DataFrame({"x": [1.0], "z": [3.0]}), mechanisms=given
        ),
    ):
        again = pickle.loads(pickle.dumps(scm))
        pd.testing.assert_frame_equal(again.sample(50), scm.sample(50))
        assert repr(again) == repr(scm)
