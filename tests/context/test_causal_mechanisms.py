"""Mechanisms of nodes: fitted, written down, or the user's own; calibrated where fitted."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from suffice import InputError
from suffice.context.causal import CausalModel, Mechanism, additive, fitting as calibrated, noisy
from suffice.context.causal.fitting import (
    FOREST_LEAF_SHARES,
    CachedProbabilities,
    CalibratedClassifier,
    ParentEncoder,
)
from suffice.context.causal.graph import NodeData, NodeDomain
from suffice.context.causal.mechanisms import Empirical
from tests.context.causal_cases import DAG, TREE, fitted_causal_model, people


def of_one(function, root=(1.0, 2.0)):
    return CausalModel([("x", "y")], mechanisms={"x": list(root), "y": function})


# Categories.


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def of_a_number(n, chance, seed=0):
    """A numeric cause A, and a label k that is "yes" with a chance that A decides."""
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n)
    return pd.DataFrame({"A": a, "k": np.where(rng.random(n) < chance(a), "yes", "no")})


def share(scm, a, n=8_000):
    return (scm.sample(n, do={"A": a}).k == "yes").mean()


@pytest.fixture
def few_trees(monkeypatch):
    """Smaller forests, for tests of anything but how well they are calibrated."""
    monkeypatch.setattr(calibrated, "TREES", 20)
    monkeypatch.setattr(calibrated, "COMPARED_TREES", 5)


AT = (-1.5, -1.0, 0.0, 0.5, 1.0, 1.5)


@pytest.mark.parametrize("seed", range(2))
def test_the_default_mechanism_of_a_label_is_calibrated(seed):
    """P(yes | do A = 1) is 0.73: the paper's fully grown forest gives anything."""
    data = of_a_number(600, sigmoid, seed)
    ours, papers = (CausalModel([("A", "k")], data, fit=fit) for fit in ("calibrated", "paper"))
    assert "logistic regression, log loss" in repr(ours.mechanisms["k"])
    error, theirs = (
        np.mean([abs(share(scm, a) - sigmoid(a)) for a in AT]) for scm in (ours, papers)
    )
    assert abs(share(ours, 1.0) - sigmoid(1.0)) < 0.06  # 600 rows: three standard errors
    assert error < 0.05 < 0.15 < theirs


def test_a_forest_is_chosen_where_the_truth_is_no_line():
    def wave(a):
        return sigmoid(3 * np.sin(2 * a))

    scm = CausalModel([("A", "k")], of_a_number(2000, wave))
    assert "Categorical(2 labels by forest with leaves of" in repr(scm.mechanisms["k"])
    assert np.mean([abs(share(scm, a) - wave(a)) for a in AT]) < 0.1


def test_a_cause_that_says_nothing_changes_next_to_nothing():
    data = of_a_number(400, lambda a: 0.2 + 0 * a)
    scm = CausalModel([("A", "k")], data)
    frequent = (data.k == "yes").mean()
    assert all(share(scm, a) == pytest.approx(frequent, abs=0.08) for a in AT)
    paper = CausalModel([("A", "k")], data, fit="paper")
    assert max(abs(share(paper, a) - frequent) for a in AT) > 0.15


@pytest.mark.parametrize("chance", [sigmoid, lambda a: a > 0.3, lambda a: 0.02 + 0 * a])
def test_noise_is_found_for_every_fresh_row(chance, few_trees):
    """A sure mechanism too leaves room for labels that it did not expect."""
    scm = CausalModel([("A", "k")], of_a_number(300, chance))
    fresh = of_a_number(3000, sigmoid, seed=1)
    kept = scm.counterfactual(fresh, {"A": fresh.A})
    pd.testing.assert_frame_equal(kept, fresh, check_exact=True)
    assert set(scm.counterfactual(fresh, {"A": 40.0}).k) <= {"yes", "no"}
    far = scm.counterfactual(fresh.assign(A=1e300), {"A": -1e300})
    assert len(far) == 3000


def test_the_papers_forest_has_no_noise_for_some_fresh_rows():
    fresh = of_a_number(3000, sigmoid, seed=1)
    paper = CausalModel([("A", "k")], of_a_number(300, sigmoid), fit="paper")
    with pytest.raises(InputError, match=r"gives probability 0.*noise='sampled'.*default mech"):
        paper.counterfactual(fresh, {"A": 0.0})


def test_the_choice_depends_on_the_seed_alone(few_trees):
    data = of_a_number(300, sigmoid)
    one, again, other = (CausalModel([("A", "k")], data, random_state=seed) for seed in (3, 3, 4))
    assert repr(one.mechanisms["k"]) == repr(again.mechanisms["k"])
    assert repr(one.mechanisms["k"]) != repr(other.mechanisms["k"])
    pd.testing.assert_frame_equal(one.sample(100), again.sample(100))


def test_the_papers_mechanism_is_its_forest():
    data = people()
    scm = CausalModel(DAG, data, fit="paper", random_state=5)
    encoded = np.c_[data.age, data.sex == "f", data.sex == "m"].astype(float)
    forest = RandomForestClassifier(random_state=5).fit(encoded, data.job)
    asked = {"age": data.age.to_numpy(), "sex": data.sex.to_numpy()}
    ours = scm.mechanisms["job"].probabilities(asked)
    assert (ours == forest.predict_proba(encoded)).all()


@pytest.mark.parametrize(
    ("labels", "rows"), [(1, 50), (2, 3), (40, 60), (3, 12)], ids=["one", "few", "many", "rare"]
)
def test_labels_that_teach_little_are_no_trouble(labels, rows, few_trees):
    rng = np.random.default_rng(0)
    codes = np.r_[np.arange(labels), np.zeros(rows - labels, dtype=int)]
    model = CalibratedClassifier(0).fit(rng.normal(size=(rows, 2)), codes)
    found = model.predict_proba(rng.normal(size=(5, 2)))
    assert found.shape == (5, labels) and (found > 0).all() and np.allclose(found.sum(axis=1), 1)


@pytest.mark.parametrize("labels", [2, 5])
def test_every_way_answers_a_row_alike_in_any_batch(labels):
    rng = np.random.default_rng(0)
    matrix, codes = rng.normal(size=(200, 6)), rng.integers(labels, size=200)
    fresh = rng.normal(size=(333, 6)) * 5
    for way in (calibrated.FREQUENCIES, calibrated.LOGISTIC, *FOREST_LEAF_SHARES):
        model = calibrated.fit_candidate(way, matrix, codes, labels, 0, trees=10)
        whole = model(fresh)
        parts = np.concatenate([model(part) for part in np.split(fresh, [1, 2, 5, 12, 100])])
        assert (whole == parts).all(), way


def test_probabilities_of_a_logistic_regression_are_scikit_learns():
    from sklearn.linear_model import LogisticRegression

    from suffice.context.causal.fitting import logistic_probabilities

    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(200, 4))
    for labels in (2, 3, 7):
        model = LogisticRegression().fit(matrix, rng.integers(labels, size=200))
        assert np.allclose(
            logistic_probabilities(model, matrix), model.predict_proba(matrix), atol=1e-14
        )


def test_frequencies_under_do_are_the_class_probabilities():
    data = people()
    forest = RandomForestClassifier(20, min_samples_leaf=5)
    scm = CausalModel(DAG, data, mechanisms={"job": forest, "owns": TREE})
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
    scm = CausalModel(
        [("a", "c"), ("b", "c")], data, mechanisms={"c": TREE}, categorical=["a", "c"]
    )
    out = scm.sample(200)
    assert set(out.c) == {1, 5} and ((out.c == 5) == (out.a == 0.7)).all()
    assert scm.capabilities == {"a": "exact", "b": "exact", "c": "posterior"}
    # As numbers, 0.7 lies between 0 and 3: a line cannot tell it apart.
    line = CausalModel([("a", "c"), ("b", "c")], data)
    assert line.capabilities["c"] == "exact"
    assert len(set(line.sample(200).c)) > 2 and line.sample(200).c.dtype == np.int64


def test_the_draw_for_a_category_fits_what_was_observed():
    data = people()
    scm = fitted_causal_model(data)
    kept = scm.counterfactual(data, {"sex": data.sex})
    pd.testing.assert_frame_equal(kept, data, check_exact=True)
    flipped = scm.counterfactual(data, {"sex": np.where(data.sex == "f", "m", "f")})
    back = scm.counterfactual(flipped, {"sex": data.sex}, random_state=0)
    assert (flipped.age == data.age).all() and 0.5 < (back.job == data.job).mean() <= 1


def test_integers_stay_integers():
    data = people()
    data["income"] = data.income.round().astype("int32")
    scm = fitted_causal_model(data)
    after = scm.counterfactual(data, {"age": data.age + 5}, noise="sampled")
    assert after.income.dtype == np.int32 and (after.income != data.income).any()
    with pytest.raises(InputError, match="whole numbers"):
        scm.counterfactual(data, {"age": 30.5})


def test_functions_with_noise_of_their_own():
    def model(inverse):
        return CausalModel(
            [("x", "y")],
            mechanisms={
                "x": [1.0, 2.0, 4.0],
                "y": noisy(
                    lambda noise, x: x * noise,
                    lambda n, rng: rng.uniform(1, 2, n),
                    inverse=inverse,
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
    assert (one_way.counterfactual(rows, {"x": 1.0}, noise="sampled").x == 1).all()
    wrong = model(lambda values, x: values)
    with pytest.raises(InputError, match="where its mechanism gives"):
        wrong.counterfactual(rows, {"x": 1.0})


def test_a_label_of_a_given_distribution_is_known():
    scm = CausalModel({"x": []}, mechanisms={"x": {"low": 0.5, "high": 0.5}})
    with pytest.raises(InputError, match="a category seen: 'low', 'high'"):
        scm.sample(2, do={"x": "hihg"})
    assert (scm.sample(3, do={"x": "high"}).x == "high").all()


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
    scm = CausalModel(DAG[:2], data, mechanisms={"job": Slow(min_samples_leaf=10)})
    noise = scm.draw(300, np.random.default_rng(0))
    first, distinct = scm.solve(noise), Slow.asked
    assert distinct == len({*zip(noise["age"], noise["sex"], strict=True)})
    assert (scm.solve(noise)["job"] == first["job"]).all() and Slow.asked == distinct
    encode = ParentEncoder({"age": NodeData(NodeDomain("age", numeric=True), data.age.to_numpy())})
    model = Slow(max_depth=3).fit(data[["age"]].to_numpy(), data.job)
    small, large = CachedProbabilities(model, encode, limit=5), CachedProbabilities(model, encode)
    for ages in (np.arange(20, 40), np.arange(30, 60), np.arange(20, 40)):
        expected = model.predict_proba(ages[:, None])
        assert (small({"age": ages}) == expected).all()
        assert (large({"age": ages}) == expected).all()


def test_zero_noise_is_one_state():
    scm = of_one(additive(lambda x: x + 1, std=0))
    noise, probability = scm.worlds()
    assert probability @ scm.solve(noise)["y"] == pytest.approx(2.5)
