"""Fitted models of dowhy.gcm, read as causal models."""

from concurrent.futures import ThreadPoolExecutor
from time import sleep
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest, norm

from suffice import InputError
from suffice.context.causal import CausalModel, from_dowhy


def test_what_is_no_model_of_dowhy():
    with pytest.raises(InputError, match=r"model: got 3; allowed: a model of dowhy\.gcm"):
        from_dowhy(3)


def test_a_mechanism_that_only_draws_is_named():
    """A stand-in with dowhy's attributes: this needs no dowhy."""

    class Draws:
        def draw_samples(self, parent_samples):
            return parent_samples

    root = SimpleNamespace(draw_samples=lambda n: np.zeros((n, 1)))
    facts = {
        "a": {"causal_mechanism": root, "parents_during_fit": []},
        "b": {"causal_mechanism": Draws(), "parents_during_fit": ["a"]},
    }
    model = SimpleNamespace(graph=SimpleNamespace(nodes=facts, edges=[("a", "b")]))
    with pytest.raises(InputError, match="a Draws at 'b'"):
        from_dowhy(model)


def test_threads_draw_the_same_numbers_as_one_and_restore_the_global_generator():
    """A stand-in for a root node's distribution that lets other threads run while it draws."""

    def slow_draw(n):
        first = np.random.random(n // 2)  # noqa: NPY002
        sleep(0.01)
        return np.concatenate([first, np.random.random(n - n // 2)])[:, None]  # noqa: NPY002

    root = SimpleNamespace(draw_samples=slow_draw)
    facts = {"a": {"causal_mechanism": root, "parents_during_fit": []}}
    scm = from_dowhy(SimpleNamespace(graph=SimpleNamespace(nodes=facts, edges=[])))
    before = np.random.get_state()[1].copy()  # noqa: NPY002

    def draw(seed):
        return scm.sample(20, random_state=seed).a.tolist()

    expected = [draw(seed) for seed in range(8)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(draw, range(8))) == expected
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002


def gcm_model(kind="StructuralCausalModel"):
    gcm = pytest.importorskip("dowhy.gcm", reason="dowhy is not installed")
    import networkx as nx

    rng = np.random.default_rng(0)
    z = rng.normal(size=500)
    w = rng.choice(["u", "v"], 500)
    x = 2 * z + rng.normal(0, 0.3, 500)
    y = -x + 0.5 * z + rng.normal(0, 0.2, 500)
    k = np.where(rng.random(500) < 1 / (1 + np.exp(-3 * z)), "yes", "no")
    data = pd.DataFrame({"z": z, "w": w, "x": x, "y": y, "k": k})
    graph = nx.DiGraph([("z", "x"), ("x", "y"), ("z", "y"), ("z", "k"), ("w", "k")])
    model = getattr(gcm, kind)(graph)
    # Named: dowhy searches for a distribution with draws of its own, and now and then fits none.
    model.set_causal_mechanism("z", gcm.ScipyDistribution(norm))
    model.set_causal_mechanism("w", gcm.EmpiricalDistribution())
    for node in "xy":
        linear = gcm.ml.create_linear_regressor()
        model.set_causal_mechanism(node, gcm.AdditiveNoiseModel(linear))
    classifier = gcm.ml.create_logistic_regression_classifier()
    model.set_causal_mechanism("k", gcm.ClassifierFCM(classifier))
    return gcm, model, data


def test_an_unfitted_model_says_so():
    _, model, _ = gcm_model()
    with pytest.raises(InputError, match=r"an unfitted mechanism of 'z'.*gcm.fit"):
        from_dowhy(model)


def test_counterfactuals_agree_with_dowhys():
    gcm, model, data = gcm_model()
    gcm.fit(model, data)
    scm = CausalModel.from_dowhy(model)
    assert set(scm.nodes) == set(data)
    assert scm.parents("y") == ("x", "z")
    assert scm.capabilities == {
        "z": "exact", "w": "exact", "x": "exact", "y": "exact", "k": "posterior",
    }  # fmt: skip
    rows = data.head(20)
    ours = scm.counterfactual(rows, {"x": 1.5})
    invertible = gcm.InvertibleStructuralCausalModel(model.graph.subgraph("zxy"))
    theirs = gcm.counterfactual_samples(
        invertible, {"x": lambda x: 1.5}, observed_data=rows[["z", "x", "y"]]
    )
    assert np.allclose(ours.y, theirs.y)
    assert (ours[["z", "w", "k"]] == rows[["z", "w", "k"]]).all().all()


def test_draws_are_seeded_leave_the_global_generator_alone_and_have_dowhys_distribution():
    gcm, model, data = gcm_model("ProbabilisticCausalModel")
    gcm.fit(model, data)
    scm = from_dowhy(model)
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    n = 4000
    out = scm.sample(n, do={"z": 0.3, "w": "u"})
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002
    pd.testing.assert_frame_equal(out, scm.sample(n, do={"z": 0.3, "w": "u"}))
    mechanism = model.causal_mechanism("k")
    parents = np.array([["u", 0.3]], dtype=object)  # dowhy sorts the causes by name
    p = dict(
        zip(
            mechanism.classifier_model.classes,
            mechanism.estimate_probabilities(parents)[0],
            strict=True,
        )
    )
    assert binomtest(int((out.k == "yes").sum()), n, p["yes"]).pvalue > 1e-4
    x = model.causal_mechanism("x").prediction_model.predict(np.array([[0.3]]))[0, 0]
    assert out.x.mean() == pytest.approx(x, abs=5 * 0.3 / np.sqrt(n))
    with pytest.raises(InputError, match="a category seen: 'u', 'v'"):
        scm.sample(2, do={"w": "uu"})


def test_a_post_nonlinear_model_is_inverted():
    gcm, _, data = gcm_model()
    import networkx as nx
    from dowhy.gcm.ml.regression import InvertibleExponentialFunction

    data = pd.DataFrame({"z": data.z, "x": np.exp(data.x)})
    model = gcm.InvertibleStructuralCausalModel(nx.DiGraph([("z", "x")]))
    model.set_causal_mechanism("z", gcm.EmpiricalDistribution())
    linear, noise = gcm.ml.create_linear_regressor(), gcm.EmpiricalDistribution()
    nonlinear = gcm.PostNonlinearModel(linear, noise, InvertibleExponentialFunction())
    model.set_causal_mechanism("x", nonlinear)
    gcm.fit(model, data)
    ours = from_dowhy(model).counterfactual(data, {"z": data.z + 1})
    slope = np.polyfit(data.z, np.log(data.x), 1)[0]
    assert np.allclose(ours.x, data.x * np.exp(slope))
    assert CausalModel(model.graph, data).nodes == ("z", "x")  # a networkx graph as it is
