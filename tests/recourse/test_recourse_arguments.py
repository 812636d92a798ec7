"""Arguments of recourse that cannot be meant, and models and functions that misbehave."""

from datetime import date, datetime
from decimal import Decimal
from enum import Enum

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from suffice import Explainer, InputError, ModelError, compare, datasets, equals
from suffice.engines.additive_engine import AdditiveEngine
from suffice.engines.trees import TreeEngine

# -- what cannot be meant ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"immutable": ["incom"]}, "immutable: got unknown feature 'incom'.*Did you mean 'income'"),
        ({"actionable": []}, "actionable: got no name; allowed: one feature or more"),
        (
            {"actionable": ["age"], "immutable": ["age"]},
            "actionable: got 'age', which is also immutable",
        ),
        ({"immutable": 3}, "immutable: got 3; allowed: names of features"),
        ({"ranges": {"debts": (0, 1)}}, "ranges: got unknown column 'debts'.*Did you mean 'debt'"),
        ({"ranges": {"debt": (3, 1)}}, r"ranges: got debt: \(3, 1\); allowed: \(low, high\)"),
        ({"ranges": {"debt": (None, None)}}, r"ranges: got debt: \(None, None\)"),
        ({"ranges": {"debt": 3}}, r"ranges: got debt: 3; allowed: \(low, high\) or a list"),
        ({"ranges": {"debt": []}}, "ranges: got debt: no value"),
        ({"ranges": [1]}, "ranges: got"),
        ({"ranges": {"home": ("owns", "rents")}}, "not numeric.*square brackets"),
        ({"ranges": {"home": ["own"]}}, "ranges: got home: 'own', which .* Did you mean 'owns'"),
        ({"increasing": ["home"]}, "increasing: got 'home' of dtype .*numeric columns, or ordered"),
        ({"steps": {"home": 1}}, "steps: got 'home'"),
        ({"steps": {"debt": 0}}, "steps: got debt: 0; allowed: a positive number"),
        ({"steps": {"debt": 0.5}}, "steps: got debt: 0.5, for a column of whole numbers"),
        ({"forbidden": ["age > 3"]}, "forbidden: got age > 3; allowed: factors"),
        ({"forbidden": "age"}, "forbidden: got age; allowed: factors"),
        ({"forbidden": equals("Age", 3)}, "forbidden: got unknown column 'Age'"),
        ({"forbidden": compare("home", "<", 3)}, "a column that can be compared"),
        ({"tau": 0}, "tau: got 0"),
        ({"tau": True}, "tau: got True"),
        ({"max_options": 0}, "max_options: got 0; allowed: None or a whole number >= 1"),
        ({"max_options": True}, "max_options: got True"),
        ({"max_size": 0}, "max_size: got 0"),
        ({"max_size": 1.5}, "max_size: got 1.5"),
        ({"max_cost": 0}, "max_cost: got 0; allowed: None or a positive number"),
        ({"max_cost": float("nan")}, "max_cost: got nan"),
        ({"max_cost": "5"}, "max_cost: got '5'"),
        ({"values": "every"}, "values: got 'every'; allowed: 'observed', 'grid' or 'any'"),
        ({"values": ["grid"]}, r"values: got \['grid'\]; allowed: 'observed', 'grid' or"),
        ({"values": np.array(["grid", "grid"])}, "values: got array.*allowed: 'observed', "),
        ({"budget": 0}, "budget: got 0"),
        ({"budget": 0.5, "values": "grid"}, "budget: got 0.5"),
        ({"time_limit": 0}, "time_limit: got 0"),
        ({"time_limit": "1"}, "time_limit: got"),
        ({"progress": "no"}, "progress: got 'no'"),
        ({"immutable": b"age"}, "immutable: got b'age'; allowed: names of features"),
        ({"immutable": [3]}, r"immutable: got \[3\]; allowed: names of features"),
        ({"increasing": 3}, "increasing: got 3; allowed: names of columns"),
        ({"ranges": {"debt": (True, 3)}}, r"ranges: got debt: \(True, 3\)"),
        ({"ranges": {"debt": (0, float("nan"))}}, r"ranges: got debt: \(0, nan\)"),
        ({"ranges": {"debt": (1, 2, 3)}}, r"ranges: got debt: \(1, 2, 3\)"),
        ({"ranges": {"debt": "0-3"}}, "ranges: got debt: '0-3'"),
        ({"steps": {"debt": True}}, "steps: got debt: True; allowed: a positive number"),
        ({"steps": 3}, "steps: got 3; allowed: {column: step}"),
        ({"forbidden": 3}, "forbidden: got 3; allowed: factors"),
    ],
)
def test_what_cannot_be_meant_is_said(given, message):
    X, _ = datasets.loans(60)

    def model(rows):
        return (rows["income"] > 50).to_numpy()

    with pytest.raises(InputError, match=message):
        Explainer(model, X).recourse(X.iloc[int(np.argmin(X["income"]))], **given)


def test_everything_after_the_input_is_named():
    X, _ = datasets.loans(60)
    explainer = Explainer(lambda rows: (rows["income"] > 50).to_numpy(), X)
    with pytest.raises(TypeError, match="positional"):
        explainer.recourse(X.iloc[0], 0.9)


class Moody:
    """Says 1 where the first column is positive, until it is asked for the `last` time."""

    def __init__(self, last: int = 0) -> None:
        self.last, self.asked = last, 0

    def __call__(self, rows):
        self.asked += 1
        return (rows[:, 0] > 0).astype(int) * (self.asked != self.last)


def test_a_model_that_contradicts_itself_is_reported():
    data = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    steady = Moody()
    assert Explainer(steady, data).recourse([0.0, 0.0]).feasible
    with pytest.raises(ModelError, match="The model predicts differently for the same row"):
        Explainer(Moody(last=steady.asked), data).recourse([0.0, 0.0])


def test_an_engine_that_disagrees_with_the_model_is_named(monkeypatch):
    data = np.random.default_rng(0).normal(size=(200, 3))
    model = LogisticRegression().fit(data, data.sum(axis=1) > 0)
    explainer = Explainer(model, data, engine="additive")
    monkeypatch.setattr(
        "suffice.recourse.solver.predict_flips", lambda *_, **__: np.zeros(1, dtype=bool)
    )
    with pytest.raises(ModelError, match=r"The engine 'additive' and the model disagree.*blackbox"):
        explainer.recourse(data[int(np.argmin(data.sum(axis=1)))])


@pytest.mark.parametrize("kind", ["trees", "additive"])
def test_features_left_out_by_a_reading_that_is_denied_later_are_searched(kind, monkeypatch):
    """By its parts the model never reads the last feature, which alone decides."""
    data = np.random.default_rng(0).normal(size=(80, 14)).round(1)
    two = (data[:, 0] + data[:, 1] > 0).astype(int)
    if kind == "trees":
        model = RandomForestClassifier(5, max_depth=2, random_state=0).fit(data, two)
        idle = TreeEngine.idle_players
        monkeypatch.setattr(
            TreeEngine,
            "idle_players",
            lambda self: idle(self) if self.name == "blackbox" else {13: "unread"},
        )
    else:
        model = LogisticRegression().fit(data, two)
        model.coef_[:, 6:] = 0.0
        checks = iter([True, False])  # the first hybrids happen to agree
        monkeypatch.setattr(AdditiveEngine, "_agrees_with_model", lambda *_: next(checks))
    monkeypatch.setattr(
        type(model), "predict", lambda self, rows: (np.asarray(rows)[:, -1] > 0).astype(int)
    )
    explainer = Explainer(model, data, n_references=10)
    r = explainer.recourse(data[0])
    assert r.complete and r.best.features == ("x13",)
    assert r == Explainer(model, data, n_references=10, engine="blackbox").recourse(data[0])


def test_a_value_never_becomes_missing_unless_allowed():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=80), "b": rng.normal(size=80)})
    X.loc[::2, "b"] = np.nan
    explainer = Explainer(lambda d: np.where(d["b"].isna() | (d["a"] > 1), "Y", "N"), X)
    x = {"a": 0.0, "b": 0.5}
    assert all(o.values.get("b", 0) is not None for o in explainer.recourse(x).options)
    stuck = explainer.recourse(x, immutable=["a"])
    assert not stuck.feasible and "b must not become missing: if it need not" in stuck.reason
    allowed = explainer.recourse(x, immutable=["a"], ranges={"b": [None]})
    assert allowed.best.values == {"b": None}


class Grade(Enum):
    LOW = 1
    HIGH = 2


@pytest.mark.parametrize("references", ["opposite", "all"])
@pytest.mark.parametrize(
    ("no", "yes", "says"),
    [
        (date(2020, 1, 1), date(2021, 1, 1), "2021-01-01"),
        (datetime(2020, 1, 1, 3), datetime(2021, 1, 1), "2021-01-01"),
        (Decimal("1.5"), Decimal("2.5"), "2.5"),
        (Grade.LOW, Grade.HIGH, "Grade.HIGH"),
        (b"no", b"yes", "b'yes'"),
        (("a", 1), ("b", 2), "('b', 2)"),
    ],
)
def test_a_desired_label_may_be_of_any_kind(no, yes, says, references):
    def model(rows):
        out = np.empty(len(rows), dtype=object)
        for i, value in enumerate(rows["a"]):
            out[i] = yes if value > 1 else no
        return out

    explainer = Explainer(model, pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0]}), references=references)
    r = explainer.recourse({"a": 0.0}, desired=yes)
    assert r.desired == says and r.best.values == {"a": 2.0}
    assert r.best.sufficiency == (1.0 if references == "opposite" else 0.5)
    with pytest.raises(InputError, match="which the input has already"):
        explainer.recourse({"a": 0.0}, desired=no)


def test_a_desired_outcome_is_called_so_in_errors():
    X = pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0]})
    explainer = Explainer(lambda d: np.where(d["a"] > 1, "Y", "N"), X)
    with pytest.raises(InputError, match=r"desired: got unknown class 'Z'"):
        explainer.recourse({"a": 0.0}, desired="Z")


def test_a_range_of_numbers_in_square_brackets_gets_a_hint():
    X = np.arange(12.0).reshape(6, 2)
    explainer = Explainer(lambda rows: (rows[:, 0] > 5).astype(int), X)
    with pytest.raises(InputError, match=r"which the column never has.*a tuple, \(low, high\)"):
        explainer.recourse(X[0], ranges={"x0": [3.5, 9]})
