"""The other explainers that an audit runs, on mixed tables, with the packages themselves."""

import random
from functools import cache

import numpy as np
import pandas as pd
import pytest

from suffice import Explainer, InputError, audit, datasets
from suffice.cli.models import train
from suffice.cli.peer_tools import make_peer_tools

X, y = datasets.loans()
X, y = X.iloc[:200], y[:200]
PACKAGES = {"anchors": "anchor", "dice": "dice_ml"}


@cache
def model():
    return train("logistic", X, y).model


@cache
def explainer():
    return Explainer(model(), X, n_references=30)


@cache
def refused():
    return X[model().predict(X) == "refused"].iloc[:1]


def needs(tool):
    reason = f"{PACKAGES[tool]} is not installed here: `make test-peers` tests it"
    pytest.importorskip(PACKAGES[tool], reason=reason)


@pytest.fixture(scope="module")
def tools():
    for tool in PACKAGES:
        needs(tool)
    return make_peer_tools(list(PACKAGES), explainer(), y)


def test_each_is_marked_on_a_table_of_numbers_words_and_truths(tools):
    marks = audit.grade(explainer(), refused(), tools)
    assert marks.of("anchors").sufficiency > 0.5
    assert marks.of("dice").sufficiency > 0


def test_rules_speak_of_the_table(tools):
    row = refused().iloc[[0]]
    conditions = tools["anchors"](row).names()
    assert conditions
    for condition in conditions:
        names = [name for name in X.columns if name in condition]
        assert names, condition


def test_counterfactuals_are_rows_that_the_model_takes_and_that_flip(tools):
    found = tools["dice"](refused().iloc[[0]])
    assert found
    rows = pd.DataFrame(found)[list(X.columns)].astype(X.dtypes.to_dict())
    assert set(model().predict(rows)) == {"granted"}


def test_they_answer_the_same_again_and_leave_the_generators_alone(tools):
    row = refused().iloc[[0]]
    random.seed(7)
    np.random.seed(7)  # noqa: NPY002
    before = random.getstate(), np.random.get_state()[1].tolist()  # noqa: NPY002
    assert tools["dice"](row) == tools["dice"](row)
    assert tools["anchors"](row).names() == tools["anchors"](row).names()
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before  # noqa: NPY002


@pytest.mark.parametrize("tool", PACKAGES)
def test_what_a_tool_cannot_take_is_said_before_it_runs(tool):
    needs(tool)
    gaps = X.assign(income=X["income"].astype(float).where(X.index > 3))
    odd = Explainer(train("extra-trees", gaps, y).model, gaps, n_references=10)
    with pytest.raises(InputError, match=f"{tool}, of a table with missing values in 'income'"):
        make_peer_tools([tool], odd, y)


def test_dice_wants_two_classes_and_every_tool_wants_classes():
    needs("dice")
    three = np.where(X["income"] > 60, "a", np.where(X["debt"] > 10, "b", "c"))
    odd = Explainer(train("logistic", X, three).model, X, n_references=10)
    with pytest.raises(InputError, match="dice with more than 2 classes"):
        make_peer_tools(["dice"], odd, three)
