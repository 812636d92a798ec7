"""Errors of causal models, and their messages."""

from functools import cache
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.svm import LinearSVC

from suffice import CausalContext, InputError
from suffice.context.causal import CausalModel, Mechanism, additive, noisy
from tests.context.causal_cases import DAG, TREE, fitted_causal_model, people


def test_a_dag_in_any_form():
    drawn = SimpleNamespace(nodes=["b", "a", "alone"], edges=[("a", "b"), ("a", "b")])
    data = pd.DataFrame({"a": [1.0, 2, 3], "b": [1.0, 2, 4], "alone": [1, 2, 3]})
    assert CausalModel(drawn, data).nodes == ("a", "b", "alone")
    assert CausalModel([("a", "b"), ("a", "b")], data).nodes == ("a", "b")
    assert CausalModel({"b": ["a"], "alone": ()}, data).parents("b") == ("a",)
    assert "3 nodes, 1 edge: a; b ← a; alone" in repr(CausalModel(drawn, data))
    with pytest.raises(InputError, match="undirected"):
        CausalModel(SimpleNamespace(nodes=[], edges=[], is_directed=lambda: False))


def test_an_edge_is_a_pair_with_or_without_attributes():
    mechanisms = {"a": 0.5, "b": lambda a: a}
    assert CausalModel([("a", "b", {"weight": 1})], mechanisms=mechanisms).nodes == ("a", "b")
    with pytest.raises(InputError, match=r"\('a', 'b', 'c'\) as an edge"):
        CausalModel([("a", "b", "c")], mechanisms=mechanisms)


PEOPLE = people(60)
HOLES = PEOPLE.assign(income=PEOPLE.income.where(PEOPLE.age > 30))

MODELS = {
    "a cycle, 'a' → .*'a'": lambda: CausalModel([("a", "b"), ("b", "c"), ("c", "a")]),
    "'a' as a cause of itself": lambda: CausalModel([("a", "a")]),
    "dag: got no nodes": lambda: CausalModel([]),
    "dag: got 3; allowed: a networkx.DiGraph": lambda: CausalModel(3),
    "'ab' as an edge": lambda: CausalModel(["ab"]),
    "'a': 'b'": lambda: CausalModel({"a": "b"}),
    "dag: got an undirected graph": lambda: CausalModel(nx.Graph([("a", "b")])),
    "dag: got <class .*DiGraph": lambda: CausalModel(nx.DiGraph),
    "dag: got nodes 3": lambda: CausalModel(SimpleNamespace(nodes=3, edges=[])),
    "dag: got edges None": lambda: CausalModel(SimpleNamespace(nodes=[], edges=None)),
    "dag: got 'a -> b'": lambda: CausalModel("a -> b"),
    "dag: got b'ab'": lambda: CausalModel(b"ab"),
    "dag: got None": lambda: CausalModel(None),
    "b'ab' as an edge": lambda: CausalModel([b"ab"]),
    "{.*} as an edge": lambda: CausalModel([{"a", "b"}]),
    "{'a': 1, 'b': 2} as an edge": lambda: CausalModel([{"a": 1, "b": 2}]),
    "None as an edge": lambda: CausalModel([None]),
    r"\('a',\) as an edge": lambda: CausalModel([("a",)]),
    "None as a node": lambda: CausalModel([("a", None)]),
    "nan as a node": lambda: CausalModel([("a", np.nan)]),
    "True as a node": lambda: CausalModel([("a", True)]),
    r"\['b'\] as a node; allowed: names of nodes": lambda: CausalModel({"a": [["b"]]}),
    "'a': None; allowed: a networkx": lambda: CausalModel({"a": None}),
    r"'a': array\(1\); allowed: a networkx": lambda: CausalModel({"a": np.array(1)}),
    r"categorical: got array\(1\)": lambda: CausalModel(DAG, PEOPLE, categorical=np.array(1)),
    "an array of int64.*list its edges": lambda: CausalModel(np.array([[0, 1], [0, 0]])),
    "data: got no rows": lambda: CausalModel(DAG, PEOPLE.head(0)),
    "income = inf; allowed: finite numbers within": lambda: CausalModel(
        DAG, PEOPLE.assign(income=np.inf), mechanisms={"job": TREE}
    ),
    r"income = -1e\+308; allowed: finite numbers within": lambda: CausalModel(
        DAG, PEOPLE.assign(income=-1e308), mechanisms={"job": TREE}
    ),
    "age = inf; allowed: finite": lambda: CausalModel({"age": []}, PEOPLE.assign(age=np.inf)),
    r"job = \['office'\]; allowed: text, numbers": lambda: CausalModel(
        DAG, PEOPLE.assign(job=[["office"]] * 60)
    ),
    "1 missing value.* in 'job'": lambda: CausalModel(
        DAG, PEOPLE.assign(job=[pd.NA, *PEOPLE.job[1:]])
    ),
    "fit: got 'forest'; allowed: 'calibrated' or 'paper'": lambda: CausalModel(
        DAG, PEOPLE, fit="forest"
    ),
    r"fit: got \['paper'\]": lambda: CausalModel(DAG, PEOPLE, fit=["paper"]),
    "random_state: got -1": lambda: CausalModel(DAG, PEOPLE, random_state=-1),
    "random_state: got None": lambda: CausalModel(DAG, PEOPLE, random_state=None),
    "random_state: got .*allowed: a whole number >= 0 and <= 4294967295": lambda: CausalModel(
        DAG, PEOPLE, random_state=2**32
    ),
    "mechanisms: got True for 'age'": lambda: CausalModel(DAG, PEOPLE, mechanisms={"age": True}),
    "'age'.: got nan; allowed: a prob": lambda: CausalModel(
        DAG, PEOPLE, mechanisms={"age": np.nan}
    ),
    "mechanisms: got 'x' as a probability of age; allowed: probabilities": lambda: CausalModel(
        DAG, PEOPLE, mechanisms={"age": {1: "x"}}
    ),
    "mechanisms: got .*None.*for age; allowed: values": lambda: CausalModel(
        DAG, PEOPLE, mechanisms={"age": {None: 0.5, 1: 0.5}}
    ),
    "mechanisms: got .*for age; allowed: values that are text": lambda: CausalModel(
        DAG, PEOPLE, mechanisms={"age": {(1, 2): 0.5, (3, 4): 0.5}}
    ),
    r"mechanisms: got \[\[1\], \[2, 3\]\] for 'age'": lambda: CausalModel(
        DAG, PEOPLE, mechanisms={"age": [[1], [2, 3]]}
    ),
    r"mechanisms: got \[1.0, inf\] for 'age'": lambda: CausalModel(
        DAG, PEOPLE, mechanisms={"age": [1.0, np.inf]}
    ),
    "'job', which is categorical; allowed: numbers": lambda: CausalModel(
        DAG, PEOPLE, mechanisms={"job": additive(lambda age, sex: age)}
    ),
    "std: got 'x'; allowed: None or a number": lambda: additive(len, std="x"),
    "noise: got 3; allowed: None or a sampler": lambda: additive(len, noise=3),
    "noise: got 'x'; allowed: a sampler": lambda: noisy(len, "x"),
    "noise: got 1.5; allowed: a sampler": lambda: noisy(len, 1.5),
    "inverse: got 3": lambda: noisy(len, 0.5, inverse=3),
    "unfitted mechanism: nothing for 'a', and no data": lambda: CausalModel({"a": []}),
    "no column 'wage'.*Did you mean 'age'": lambda: CausalModel([("age", "wage")], PEOPLE),
    "no column 'incom'.*Did you mean 'income'": lambda: CausalModel({"incom": []}, PEOPLE),
    "mechanisms: got unknown node 'agee'.*Did you mean 'age'": lambda: CausalModel(
        DAG, PEOPLE, mechanisms={"agee": 1}
    ),
    "categorical: got unknown node 'x'": lambda: CausalModel(DAG, PEOPLE, categorical=["x"]),
    "categorical: got 3; allowed: a name or a list of names": lambda: CausalModel(
        DAG, PEOPLE, categorical=3
    ),
    "allowed: {node: mechanism}": lambda: CausalModel(DAG, PEOPLE, mechanisms=[1]),
    "missing value.* in 'income'.*impute": lambda: CausalModel(
        DAG, HOLES, mechanisms={"job": TREE}
    ),
    "that sum to 0.9": lambda: CausalModel({"a": []}, mechanisms={"a": {0: 0.4, 1: 0.5}}),
    "'a'.: got 1.5; allowed: a probability": lambda: CausalModel({"a": []}, mechanisms={"a": 1.5}),
    "LinearSVC.*without predict_proba.*Calibrated": lambda: CausalModel(
        DAG, PEOPLE, mechanisms={"job": LinearSVC()}
    ),
    "Logistic.*a regressor, since 'income' holds numbers": lambda: CausalModel(
        DAG, PEOPLE, mechanisms={"job": TREE, "income": LogisticRegression()}
    ),
    "Linear.*a classifier, since 'job' is categorical": lambda: CausalModel(
        DAG, PEOPLE, mechanisms={"job": LinearRegression()}
    ),
    "a node without causes": lambda: CausalModel(
        DAG, PEOPLE, mechanisms={"age": LinearRegression()}
    ),
    "'m' for 'age'; allowed: for a node without": lambda: CausalModel(
        DAG, PEOPLE, mechanisms={"age": "m"}
    ),
    r"\[\[1\]\] for 'age'": lambda: CausalModel(DAG, PEOPLE, mechanisms={"age": [[1]]}),
    "0.5 for 'job'; allowed: for a node with causes": lambda: CausalModel(
        DAG, PEOPLE, mechanisms={"job": 0.5}
    ),
    r"a function\(age\) for 'job'.*Its causes are: age, sex": lambda: CausalModel(
        DAG, PEOPLE, mechanisms={"job": lambda age: age}
    ),
    r"a function\(n\) for 'age'": lambda: CausalModel(DAG, PEOPLE, mechanisms={"age": lambda n: n}),
    "additive.*3.* for 'income'": lambda: CausalModel(
        DAG, PEOPLE, mechanisms={"job": TREE, "income": additive(3)}
    ),
    "a regressor or a function": lambda: CausalModel(
        DAG, PEOPLE, mechanisms={"job": additive(TREE)}
    ),
    "std: got -1": lambda: additive(len, std=-1),
    "one of the two": lambda: additive(len, std=1, noise=len),
    "function: got 3": lambda: noisy(3, 0.5),
    r"mechanisms\['job'\]: .*raised InvalidParameterError.*can be fitted for 'job'": lambda: (
        CausalModel(DAG, PEOPLE, mechanisms={"job": RandomForestClassifier(min_samples_leaf=2.0)})
    ),
}


@pytest.mark.parametrize("message", MODELS)
def test_a_model_that_cannot_be_made(message):
    with pytest.raises(InputError, match=message):
        MODELS[message]()


@cache
def scm():
    return fitted_causal_model(PEOPLE)


MATRIX = np.ones((1, 2)).view(np.matrix)  # NumPy's generator never comes back from one


class Silent:
    def __repr__(self):
        raise RuntimeError("no repr")


def boxed(value):
    """A value as the one object of an array, however many it holds itself."""
    out = np.empty(1, dtype=object)
    out[0] = value
    return out


USES = {
    "do: got unknown node 'agee'.*Did you mean 'age'": lambda: scm().sample(3, do={"agee": 1}),
    "node: got unknown node 'x'": lambda: scm().parents("x"),
    r"node: got unknown node \['x'\]": lambda: scm().descendants(["x"]),
    "node: got unknown node <Silent>": lambda: scm().parents(Silent()),
    "do: got job = <Silent>; allowed: a category seen": lambda: scm().sample(
        1, do={"job": Silent()}
    ),
    "do: got age = <Silent>; allowed: a number": lambda: scm().sample(1, do={"age": Silent()}),
    "do: got sex = 'male'; allowed: a category seen: 'f', 'm'": lambda: scm().sample(
        3, do={"sex": "male"}
    ),
    "do: got job = 'shopp'.*Did you mean 'shop'": lambda: scm().counterfactual(
        PEOPLE, {"job": "shopp"}
    ),
    "rows: got sex = 'x'": lambda: scm().counterfactual(PEOPLE.assign(sex="x"), {}),
    "rows: got no column 'sex'": lambda: scm().counterfactual(PEOPLE.drop(columns="sex"), {}),
    "rows: got a missing value for 'income'": lambda: scm().counterfactual(HOLES, {}),
    "do: got a missing value for 'age'": lambda: scm().sample(3, do={"age": np.nan}),
    "do: got age = 'old'; allowed: a number": lambda: scm().sample(3, do={"age": "old"}),
    r"do: got shape \(2,\) for 'age'; allowed: one value, or one for each of 3": lambda: (
        scm().sample(3, do={"age": [1, 2]})
    ),
    "noise: got 'new'; allowed: 'kept' or 'sampled'": lambda: scm().counterfactual(
        PEOPLE, {}, noise="new"
    ),
    "n: got 0": lambda: scm().sample(0),
    "n: got True": lambda: scm().sample(True),
    "n: got 2.5": lambda: scm().sample(2.5),
    "n: got 1000000000000; allowed: a whole number >= 1 and <= 100000000": lambda: scm().sample(
        10**12
    ),
    "random_state: got matrix": lambda: scm().sample(3, random_state=MATRIX),
    "random_state: got .*x.*; allowed: a whole": lambda: scm().sample(3, random_state="x"),
    "random_state: got .*matrix": lambda: scm().counterfactual(PEOPLE, {}, random_state=MATRIX),
    "random_state: got -1": lambda: scm().counterfactual(PEOPLE, {}, random_state=-1),
    r"noise: got \['kept'\]": lambda: scm().counterfactual(PEOPLE, {}, noise=["kept"]),
    "noise: got array": lambda: scm().counterfactual(PEOPLE, {}, noise=np.array(["kept", "kept"])),
    "do: got 3; allowed: {node: value}": lambda: scm().sample(3, do=3),
    "do: got .*; allowed: {node: value}": lambda: scm().counterfactual(PEOPLE, [("age", 1)]),
    "do: got age = inf; allowed: a finite number": lambda: scm().sample(3, do={"age": np.inf}),
    "do: got .* for 'age'; allowed: one value": lambda: scm().sample(3, do={"age": [[1], [2, 3]]}),
    r"do: got sex = \[\]; allowed: text": lambda: scm().sample(1, do={"sex": boxed([])}),
    "rows: got income = -inf; allowed: a finite": lambda: scm().counterfactual(
        PEOPLE.assign(income=-np.inf), {}
    ),
    "rows: got income = 'a'; allowed: a number": lambda: scm().counterfactual(
        PEOPLE.assign(income="a"), {}
    ),
    r"'income'\]: got a mechanism that gave inf": lambda: CausalModel(
        [("age", "income")], PEOPLE.assign(age=-PEOPLE.income * 1e-3)
    ).sample(2, do={"age": -1e308}),
    r"'age'\]: got a mechanism that gave 1e\+300 in row 0": lambda: CausalModel(
        {"age": ["sex"]}, PEOPLE, mechanisms={"age": lambda sex: np.full(len(sex), 1e300)}
    ).sample(2),
    "rng: got 3": lambda: scm().draw(3, 3),
    "noise: got no array for 'age'": lambda: scm().solve({}),
    "noise: got 3": lambda: scm().solve(3),
    "noise: got arrays of lengths": lambda: scm().solve(
        {node: np.zeros(1 + i) for i, node in enumerate(scm().nodes)}
    ),
    "values: got no array for 'sex'": lambda: scm().abduct({"age": np.zeros(1)}, None),
    "noise: got 'old'": lambda: CausalContext(scm(), noise="old"),
}


@pytest.mark.parametrize("message", USES)
def test_a_model_without_the_answer_is_an_error(message):
    with pytest.raises(InputError, match=message):
        USES[message]()


def of_one(function, root=(1.0, 2.0)):
    return CausalModel([("x", "y")], mechanisms={"x": list(root), "y": function})


def test_functions_that_do_not_work_on_arrays():
    with pytest.raises(
        InputError, match=r"'y'\]: .*returned shape \(\).*one value for each of the 5"
    ):
        of_one(lambda x: x.sum()).sample(5)
    with pytest.raises(InputError, match=r"'y'\]: .*raised ValueError.*np.where"):
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
    sure = CausalModel([("x", "y")], data, mechanisms={"y": TREE})
    with pytest.raises(InputError, match=r"'y' gives probability 0.*noise='sampled'"):
        sure.counterfactual({"x": 0.0, "y": "b"}, {"x": 1.0})


def raising(*_, **__):
    raise RuntimeError("broken")


class Broken(Mechanism):
    recoverable = "exact"
    draw = value = abduct = support = raising


def test_what_the_users_own_functions_raise_is_reported_as_theirs():
    says = r"mechanisms\['y'\]: got a function that raised RuntimeError: broken"
    rows = pd.DataFrame({"x": [1.0, 2.0], "y": [1.0, 2.0]})
    inverse = noisy(lambda noise, x: x, lambda n, rng: rng.random(n), inverse=raising)
    sampler = noisy(lambda noise, x: x, raising)
    for mechanism in (
        raising,
        Broken(),
        sampler,
        additive(raising, std=1),
        additive(lambda x: x, noise=raising),
    ):
        with pytest.raises(InputError, match=says):
            of_one(mechanism).sample(2)
    for mechanism in (Broken(), inverse, raising, additive(raising, std=1)):
        with pytest.raises(InputError, match=says):
            of_one(mechanism).counterfactual(rows, {"x": 1.0})
    with pytest.raises(InputError, match=says):
        of_one(Broken()).worlds()
    with pytest.raises(InputError, match=r"mechanisms\['x'\]: got a function that raised"):
        CausalModel({"x": []}, mechanisms={"x": raising}).sample(2)
    with pytest.raises(InputError, match=says):
        CausalModel([("x", "y")], rows, mechanisms={"y": additive(raising)})


def test_what_a_mechanism_gives_must_be_a_value_per_row():
    for gives, says in (
        (lambda x: x / 0, "gave inf in row 0"),
        (lambda x: np.where(x > 1, np.nan, x), "gave nan in row"),
        (lambda x: np.array([None] * len(x)), "gave None in row 0"),
    ):
        with pytest.raises(InputError, match=rf"mechanisms\['y'\]: got a mechanism that {says}"):
            of_one(gives).sample(9)
    short = noisy(lambda noise, x: x, lambda n, rng: rng.random(n), inverse=lambda v, x: v[:1])
    with pytest.raises(InputError, match=r"an inverse that returned shape \(1,\)"):
        of_one(short).counterfactual(pd.DataFrame({"x": [1.0, 2], "y": [1.0, 2]}), {"x": 1.0})

    class Unsure(RandomForestClassifier):
        def predict_proba(self, X):
            return np.full((len(X), 2), np.nan)

    bad = CausalModel(DAG, PEOPLE, mechanisms={"job": TREE, "owns": Unsure(5)})
    with pytest.raises(InputError, match=r"'owns'\]: got a classifier that gave .*each of its 2"):
        bad.sample(3)


def test_a_set_of_edges_is_read_in_one_order():
    """A set's own order is another in every process."""
    edges = {("b", "z"), ("a", "z"), ("c", "z"), ("z", "y")}
    mechanisms = {**dict.fromkeys("abc", 0.5), "z": lambda a, b, c: a, "y": lambda z: z}
    assert CausalModel(edges, mechanisms=mechanisms).nodes == ("a", "b", "c", "z", "y")
    named = CausalModel({"z": {"c", "a", "b"}, "y": {"z"}}, mechanisms=mechanisms)
    assert named.parents("z") == ("a", "b", "c")


def test_one_name_is_a_list_of_one():
    data = pd.DataFrame({"a": [1, 2] * 10, "b": [0.5, 1.5] * 10})
    scm = CausalModel([("b", "a")], data, categorical="a", mechanisms={"a": TREE})
    assert scm.capabilities["a"] == "posterior"


def test_labels_that_are_equal_are_one():
    """1 and True are different cells of a table, and the same label."""
    data = pd.DataFrame({"a": pd.Series([True, 1, 0] * 10, dtype=object), "b": np.arange(30.0)})
    scm = CausalModel([("a", "b")], data)
    assert len(scm.sample(9)) == 9 and len(scm.counterfactual(data, {"a": 0})) == 30
