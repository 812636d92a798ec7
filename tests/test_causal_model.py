"""Structural causal models: interventions reach descendants only; counterfactuals are consistent."""

import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import binomtest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from suffice import InputError
from suffice.context.causal import CausalModel, Mechanism, additive, noisy
from suffice.context.causal.columns import Column
from suffice.context.causal.fitted import Encoder, Remembered
from suffice.context.causal.mechanisms import Empirical

TREE = DecisionTreeClassifier(min_samples_leaf=10)


def people(n=400, seed=0):
    """Age and sex cause a job; job and age cause income; job and income cause a home."""
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 70, n)
    sex = rng.choice(["f", "m"], n)
    job = np.where(
        rng.random(n) < 0.2 + 0.01 * (age - 20), "office", rng.choice(["shop", "farm"], n)
    )
    income = 20 + 0.3 * age + 10.0 * (job == "office") + rng.normal(0, 4, n)
    home = rng.random(n) < 1 / (1 + np.exp(-(income - 40) / 8))
    return pd.DataFrame({"age": age, "sex": sex, "job": job, "income": income, "owns": home})


DAG = [
    ("age", "job"),
    ("sex", "job"),
    ("job", "income"),
    ("age", "income"),
    ("job", "owns"),
    ("income", "owns"),
]


def fitted(data=None):
    return CausalModel(DAG, people() if data is None else data, {"job": TREE, "owns": TREE})


@st.composite
def random_models(draw):
    """A DAG on up to six nodes, some numbers, some labels, fitted to data without meaning."""
    size = draw(st.integers(2, 6))
    names = draw(st.permutations("abcdef"[:size]))
    dag = {
        node: [cause for cause in names[:i] if draw(st.booleans())] for i, node in enumerate(names)
    }
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    columns = {}
    for node in names:
        kind = draw(st.sampled_from(["float", "int", "label", "bool", "coded"]))
        columns[node] = {
            "float": rng.normal(size=60),
            "int": rng.integers(0, 9, 60),
            "label": rng.choice(["x", "y", "z"], 60),
            "bool": rng.random(60) < 0.4,
            "coded": rng.choice([0.0, 0.7, 1.0], 60),
        }[kind]
    data = pd.DataFrame(columns)
    coded = [c for c in data if data[c].dtype == float and data[c].nunique() < 5]
    trees = {
        node: TREE
        for node, causes in dag.items()
        if causes and (node in coded or data[node].dtype.kind not in "if")
    }
    return CausalModel(dag, data, trees, categorical=coded), data


def set_some(draw_from, scm, data, rows):
    """An intervention on some nodes, with values taken from other rows."""
    nodes = draw_from.draw(st.sets(st.sampled_from(scm.nodes)))
    return {node: data[node].to_numpy()[::-1][: len(rows)] for node in nodes}


@given(random_models(), st.data(), st.sampled_from(["kept", "sampled"]))
@settings(max_examples=60)
def test_an_intervention_changes_itself_and_its_effects_and_nothing_else(world, data, noise):
    scm, frame = world
    rows = frame.head(20)
    do = set_some(data, scm, frame, rows)
    after = scm.counterfactual(rows, do, noise)
    assert (after.dtypes == rows.dtypes).all()
    reached = set(do).union(*(scm.descendants(node) for node in do))
    untouched = [node for node in rows if node not in reached]
    pd.testing.assert_frame_equal(after[untouched], rows[untouched], check_exact=True)
    for node, values in do.items():
        assert (after[node].to_numpy() == values).all()


@given(random_models(), st.data())
@settings(max_examples=60)
def test_a_counterfactual_that_changes_nothing_returns_the_row(world, data):
    scm, frame = world
    own = {node: frame[node].to_numpy() for node in set_some(data, scm, frame, frame)}
    for do in ({}, own):
        pd.testing.assert_frame_equal(scm.counterfactual(frame, do), frame, check_exact=True)
    pd.testing.assert_frame_equal(
        scm.counterfactual(frame, {}, noise="sampled"), frame, check_exact=True
    )


@given(random_models(), st.data())
@settings(max_examples=40)
def test_under_do_a_sample_differs_from_the_other_only_in_effects(world, data):
    scm, frame = world
    do = set_some(data, scm, frame, frame)
    plain, done = scm.sample(len(frame)), scm.sample(len(frame), do)
    reached = set(do).union(*(scm.descendants(node) for node in do))
    for node in set(scm.nodes) - reached:
        assert (plain[node] == done[node]).all()


@given(random_models(), st.integers(0, 5))
@settings(max_examples=40)
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
    ridge = CausalModel(LINE, data, {"y": Ridge(alpha=0.0)})
    plain = CausalModel(LINE, data)
    noise = plain.draw(100, np.random.default_rng(0))
    assert np.allclose(ridge.solve(noise)["y"], plain.solve(noise)["y"])
    tree = DecisionTreeRegressor(min_samples_leaf=50)
    model = CausalModel(LINE, data, {"y": additive(tree, std=0.0)})
    out = model.sample(500)
    assert np.allclose(
        out.y, tree.fit(data[["m", "x"]].to_numpy(), data.y).predict(out[["m", "x"]].to_numpy())
    )
    residual = data.m - 2 * data.x
    given = CausalModel(LINE, data, {"m": additive(lambda x: 2 * x)})
    drawn = given.draw(100_000, np.random.default_rng(0))["m"]
    assert np.std(drawn) == pytest.approx(np.sqrt(np.mean(residual**2)), rel=0.02)
    sampled = additive(LinearRegression(), noise=lambda n, rng: np.full(n, 7.0))
    assert (
        CausalModel(LINE, data, {"m": sampled}).draw(3, np.random.default_rng(0))["m"] == 7
    ).all()


# Categories.


def test_frequencies_under_do_are_the_class_probabilities():
    data = people()
    scm = CausalModel(DAG, data, {"job": RandomForestClassifier(20, min_samples_leaf=5)})
    n = 4000
    out = scm.sample(n, do={"age": 30, "sex": "f"}, random_state=1)
    encoded = np.c_[data.age, data.sex == "f", data.sex == "m"].astype(float)
    forest = RandomForestClassifier(20, min_samples_leaf=5, random_state=0).fit(encoded, data.job)
    for label, p in zip(forest.classes_, forest.predict_proba([[30.0, 1.0, 0.0]])[0], strict=True):
        assert binomtest(int((out.job == label).sum()), n, p).pvalue > 1e-4, label
    assert binomtest(int(out.owns.sum()), n, 0.999).pvalue < 1e-4  # the test can tell


def test_labels_that_are_numbers_are_labels_where_named():
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"a": rng.choice([0.0, 0.7, 3.0], 300), "b": rng.normal(size=300)})
    data["c"] = np.where(data.a == 0.7, 5, 1)
    scm = CausalModel([("a", "c"), ("b", "c")], data, categorical=["a", "c"])
    out = scm.sample(200)
    assert set(out.c) == {1, 5} and ((out.c == 5) == (out.a == 0.7)).all()
    assert scm.capabilities == {"a": "exact", "b": "exact", "c": "posterior"}
    # As numbers, 0.7 lies between 0 and 3: a line cannot tell it apart.
    line = CausalModel([("a", "c"), ("b", "c")], data)
    assert line.capabilities["c"] == "exact"
    assert len(set(line.sample(200).c)) > 2 and line.sample(200).c.dtype == np.int64


def test_the_draw_for_a_category_fits_what_was_observed():
    data = people()
    scm = fitted(data)
    kept = scm.counterfactual(data, {"sex": data.sex})
    pd.testing.assert_frame_equal(kept, data, check_exact=True)
    flipped = scm.counterfactual(data, {"sex": np.where(data.sex == "f", "m", "f")})
    back = scm.counterfactual(flipped, {"sex": data.sex}, random_state=0)
    assert (flipped.age == data.age).all() and 0.5 < (back.job == data.job).mean() <= 1


def test_integers_stay_integers():
    data = people()
    data["income"] = data.income.round().astype("int32")
    scm = fitted(data)
    after = scm.counterfactual(data, {"age": data.age + 5}, noise="sampled")
    assert after.income.dtype == np.int32 and (after.income != data.income).any()
    with pytest.raises(InputError, match="whole numbers"):
        scm.counterfactual(data, {"age": 30.5})


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
    hits = int(scm.sample(n, do)["slippery"].sum())
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
        fitted().worlds()
    many = CausalModel(
        {f"n{i}": [] for i in range(30)}, mechanisms={f"n{i}": 0.5 for i in range(30)}
    )
    with pytest.raises(InputError, match="joint states of noise"):
        many.worlds()


def test_functions_with_noise_of_their_own():
    def model(inverse):
        return CausalModel(
            [("x", "y")],
            mechanisms={
                "x": [1.0, 2.0, 4.0],
                "y": noisy(
                    lambda noise, x: x * noise, lambda n, rng: rng.uniform(1, 2, n), inverse
                ),
            },
        )

    one_way, both_ways = model(None), model(lambda values, x: values / x)
    assert one_way.capabilities == {"x": "exact", "y": "none"}
    assert both_ways.capabilities == {"x": "exact", "y": "exact"}
    rows = both_ways.sample(20)
    after = both_ways.counterfactual(rows, {"x": 3 * rows.x})
    assert np.allclose(after.y, 3 * rows.y)
    with pytest.raises(InputError, match="'y', whose noise cannot be recovered"):
        one_way.counterfactual(rows, {"x": 1.0})
    assert (one_way.counterfactual(rows, {"y": 1.0}).y == 1).all()  # nothing to recover
    assert (one_way.counterfactual(rows, {"x": 1.0}, "sampled").x == 1).all()
    wrong = model(lambda values, x: values)
    with pytest.raises(InputError, match="where its mechanism gives"):
        wrong.counterfactual(rows, {"x": 1.0})


# Graphs, frames, errors.


def test_a_dag_in_any_form():
    drawn = SimpleNamespace(nodes=["b", "a", "alone"], edges=[("a", "b"), ("a", "b")])
    data = pd.DataFrame({"a": [1.0, 2, 3], "b": [1.0, 2, 4], "alone": [1, 2, 3]})
    assert CausalModel(drawn, data).nodes == ("a", "b", "alone")
    assert CausalModel([("a", "b"), ("a", "b")], data).nodes == ("a", "b")
    assert CausalModel({"b": ["a"], "alone": ()}, data).parents("b") == ("a",)
    assert "3 nodes, 1 edges" in repr(CausalModel(drawn, data))
    with pytest.raises(InputError, match="undirected"):
        CausalModel(SimpleNamespace(nodes=[], edges=[], is_directed=lambda: False))


@pytest.mark.parametrize("kind", ["polars", "arrow"])
def test_frames_of_other_libraries(kind):
    data = people()
    frame = pl.from_pandas(data)
    frame = frame if kind == "polars" else frame.to_arrow()
    scm = fitted(frame)
    after = scm.counterfactual(frame, {"age": 40})
    assert type(after) is type(frame)
    expected = fitted(data).counterfactual(data, {"age": 40})
    after = pl.DataFrame(after).to_pandas() if kind == "arrow" else after.to_pandas()
    pd.testing.assert_frame_equal(after, expected, check_dtype=False)


def test_a_frame_keeps_its_index_its_categories_and_its_other_columns():
    data = people().assign(job=lambda d: d.job.astype("category"), note="kept")
    rows = data.sample(frac=0.2, random_state=0)
    after = fitted(data).counterfactual(rows, {"age": 60}, noise="sampled")
    assert after.job.dtype == data.job.dtype and (after.index == rows.index).all()
    assert (after.note == "kept").all()


def test_importing_it_imports_nothing_heavy():
    import subprocess

    code = "import sys, suffice.context.causal; print({'sklearn', 'pandas', 'networkx'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


PEOPLE = people(60)
HOLES = PEOPLE.assign(income=PEOPLE.income.where(PEOPLE.age > 30))

MODELS = {
    "a cycle, 'a' → .*'a'": lambda: CausalModel([("a", "b"), ("b", "c"), ("c", "a")]),
    "'a' as a cause of itself": lambda: CausalModel([("a", "a")]),
    "dag: got no nodes": lambda: CausalModel([]),
    "dag: got 3; allowed: a networkx.DiGraph": lambda: CausalModel(3),
    "'ab' as an edge": lambda: CausalModel(["ab"]),
    "'a': 'b'": lambda: CausalModel({"a": "b"}),
    "unfitted mechanism: nothing for 'a', and no data": lambda: CausalModel({"a": []}),
    "no column 'wage'.*Did you mean 'age'": lambda: CausalModel([("age", "wage")], PEOPLE),
    "no column 'incom'.*Did you mean 'income'": lambda: CausalModel({"incom": []}, PEOPLE),
    "mechanisms: got unknown node 'agee'.*Did you mean 'age'": lambda: CausalModel(
        DAG, PEOPLE, {"agee": 1}
    ),
    "categorical: got unknown node 'x'": lambda: CausalModel(DAG, PEOPLE, categorical=["x"]),
    "categorical: got 'age'; allowed: a list": lambda: CausalModel(DAG, PEOPLE, categorical="age"),
    "allowed: {node: mechanism}": lambda: CausalModel(DAG, PEOPLE, [1]),
    "missing value.* in 'income'.*impute": lambda: CausalModel(DAG, HOLES),
    "that sum to 0.9": lambda: CausalModel({"a": []}, mechanisms={"a": {0: 0.4, 1: 0.5}}),
    "sum to 1: {True: 1.5": lambda: CausalModel({"a": []}, mechanisms={"a": 1.5}),
    "LinearSVC.*without predict_proba.*Calibrated": lambda: CausalModel(
        DAG, PEOPLE, {"job": LinearSVC()}
    ),
    "Logistic.*a regressor, since 'income' holds numbers": lambda: CausalModel(
        DAG, PEOPLE, {"income": LogisticRegression()}
    ),
    "Linear.*a classifier, since 'job' is categorical": lambda: CausalModel(
        DAG, PEOPLE, {"job": LinearRegression()}
    ),
    "a node without causes": lambda: CausalModel(DAG, PEOPLE, {"age": LinearRegression()}),
    "'m' for 'age'; allowed: for a node without": lambda: CausalModel(DAG, PEOPLE, {"age": "m"}),
    r"\[\[1\]\] for 'age'": lambda: CausalModel(DAG, PEOPLE, {"age": [[1]]}),
    "0.5 for 'job'; allowed: for a node with causes": lambda: CausalModel(
        DAG, PEOPLE, {"job": 0.5}
    ),
    r"a function\(age\) for 'job'.*Its causes are: age, sex": lambda: CausalModel(
        DAG, PEOPLE, {"job": lambda age: age}
    ),
    r"a function\(n\) for 'age'": lambda: CausalModel(DAG, PEOPLE, {"age": lambda n: n}),
    "additive.*3.* for 'income'": lambda: CausalModel(DAG, PEOPLE, {"income": additive(3)}),
    "a regressor or a function": lambda: CausalModel(DAG, PEOPLE, {"job": additive(TREE)}),
    "std: got -1": lambda: additive(len, std=-1),
    "one of the two": lambda: additive(len, std=1, noise=len),
    "function: got 3": lambda: noisy(3, 0.5),
    "could not be fitted for 'job'": lambda: CausalModel(
        DAG, PEOPLE, {"job": RandomForestClassifier(min_samples_leaf=2.0)}
    ),
}


@pytest.mark.parametrize("message", MODELS)
def test_a_model_that_cannot_be_made(message):
    with pytest.raises(InputError, match=message):
        MODELS[message]()


SCM = fitted(PEOPLE)
USES = {
    "do: got unknown node 'agee'.*Did you mean 'age'": lambda: SCM.sample(3, {"agee": 1}),
    "node: got unknown node 'x'": lambda: SCM.parents("x"),
    "do: got sex = 'male'; allowed: a category seen: 'f', 'm'": lambda: SCM.sample(
        3, {"sex": "male"}
    ),
    "do: got job = 'shopp'.*Did you mean 'shop'": lambda: SCM.counterfactual(
        PEOPLE, {"job": "shopp"}
    ),
    "rows: got sex = 'x'": lambda: SCM.counterfactual(PEOPLE.assign(sex="x"), {}),
    "rows: got no column 'sex'": lambda: SCM.counterfactual(PEOPLE.drop(columns="sex"), {}),
    "rows: got a missing value for 'income'": lambda: SCM.counterfactual(HOLES, {}),
    "do: got a missing value for 'age'": lambda: SCM.sample(3, {"age": np.nan}),
    "do: got age = 'old'; allowed: a number": lambda: SCM.sample(3, {"age": "old"}),
    r"do: got shape \(2,\) for 'age'; allowed: one value, or one for each of 3": lambda: SCM.sample(
        3, {"age": [1, 2]}
    ),
    "noise: got 'new'; allowed: 'kept' or 'sampled'": lambda: SCM.counterfactual(PEOPLE, {}, "new"),
    "n: got 0": lambda: SCM.sample(0),
}


@pytest.mark.parametrize("message", USES)
def test_a_model_that_is_asked_what_it_cannot_answer(message):
    with pytest.raises(InputError, match=message):
        USES[message]()


def of_one(function, root=(1.0, 2.0)):
    return CausalModel([("x", "y")], mechanisms={"x": list(root), "y": function})


def test_functions_that_do_not_work_on_arrays():
    with pytest.raises(
        InputError, match=r"'y' that returned shape \(\).*one value for each of the 5"
    ):
        of_one(lambda x: x.sum()).sample(5)
    with pytest.raises(InputError, match=r"'y' that raised ValueError.*np.where"):
        of_one(lambda x: 1 if x > 1 else 0).sample(5)
    with pytest.raises(InputError, match=r"a sampler that returned shape \(3,\)"):
        CausalModel({"x": []}, mechanisms={"x": lambda n, rng: rng.random(3)}).sample(5)


def test_rows_that_the_model_cannot_produce():
    scm = of_one(lambda x: 2 * x)
    assert scm.counterfactual({"x": 1.0, "y": 2.0}, {"x": 5.0}).y.tolist() == [10.0]
    with pytest.raises(InputError, match=r"y = .*2.5.* in row 0, where its mechanism gives .*2.0"):
        scm.counterfactual({"x": 1.0, "y": 2.5}, {"x": 5.0})
    with pytest.raises(InputError, match=r"do: got .*0.5.* for column 'x'"):
        scm.counterfactual({"x": 1, "y": 2}, {"x": 0.5})
    data = pd.DataFrame({"x": [0.0, 1.0] * 20, "y": ["a", "b"] * 20})
    sure = CausalModel([("x", "y")], data)
    with pytest.raises(InputError, match=r"'y' gives probability 0.*noise='sampled'"):
        sure.counterfactual({"x": 0.0, "y": "b"}, {"x": 1.0})


def test_a_label_of_a_given_distribution_is_known():
    scm = CausalModel({"x": []}, mechanisms={"x": {"low": 0.5, "high": 0.5}})
    with pytest.raises(InputError, match="a category seen: 'low', 'high'"):
        scm.sample(2, {"x": "hihg"})
    assert (scm.sample(3, {"x": "high"}).x == "high").all()


class Doubled(Mechanism):
    """A mechanism of the user's own: twice the parent, in steps of noise."""

    recoverable = "exact"

    def draw(self, n, rng):
        return rng.integers(0, 3, n)

    def value(self, parents, noise):
        return 2 * parents["x"] + noise

    def abduct(self, parents, values, rng):
        return values - 2 * parents["x"]

    def support(self):
        return np.arange(3), np.full(3, 1 / 3)


def test_a_mechanism_of_the_users_own():
    mechanisms = {"x": {0: 0.25, 1.5: 0.75}, "y": Doubled()}
    scm = CausalModel([("x", "y")], mechanisms=mechanisms)
    noise, probability = scm.worlds()
    assert probability @ scm.solve(noise)["y"] == pytest.approx(2 * 1.125 + 1)
    assert scm.counterfactual({"x": 0.0, "y": 2.0}, {"x": 1.5}).y.tolist() == [5.0]
    again = CausalModel({"x": []}, mechanisms={"x": Empirical(["long", "short", "long"])})
    assert again.worlds()[1].tolist() == pytest.approx([2 / 3, 1 / 3])


def test_values_of_several_types_stay_what_they_are():
    scm = CausalModel({"x": []}, mechanisms={"x": {"none": 0.5, 1: 0.25, 2.5: 0.25}})
    assert set(scm.sample(100).x) == {"none", 1, 2.5}
    assert scm.worlds()[0]["x"].tolist() == ["none", 1, 2.5]


def test_probabilities_are_remembered_up_to_a_limit_and_stay_the_same():
    class Slow(DecisionTreeClassifier):
        asked = 0

        def predict_proba(self, X):
            type(self).asked += len(X)
            return super().predict_proba(X)

    data = people()
    scm = CausalModel(DAG[:2], data, {"job": Slow(min_samples_leaf=10)})
    noise = scm.draw(300, np.random.default_rng(0))
    first, distinct = scm.solve(noise), Slow.asked
    assert distinct == len({*zip(noise["age"], noise["sex"], strict=True)})
    assert (scm.solve(noise)["job"] == first["job"]).all() and Slow.asked == distinct
    encode = Encoder({"age": Column("age", data.age.to_numpy(), None)})
    model = Slow(max_depth=3).fit(data[["age"]].to_numpy(), data.job)
    small, large = Remembered(model, encode, limit=5), Remembered(model, encode)
    for ages in (np.arange(20, 40), np.arange(30, 60), np.arange(20, 40)):
        expected = model.predict_proba(ages[:, None])
        assert (small({"age": ages}) == expected).all()
        assert (large({"age": ages}) == expected).all()


def test_zero_noise_is_one_state():
    scm = of_one(additive(lambda x: x + 1, std=0))
    noise, probability = scm.worlds()
    assert probability @ scm.solve(noise)["y"] == pytest.approx(2.5)


def test_an_edge_is_a_pair_with_or_without_attributes():
    mechanisms = {"a": 0.5, "b": lambda a: a}
    assert CausalModel([("a", "b", {"weight": 1})], mechanisms=mechanisms).nodes == ("a", "b")
    with pytest.raises(InputError, match=r"\('a', 'b', 'c'\) as an edge"):
        CausalModel([("a", "b", "c")], mechanisms=mechanisms)
