"""The other explainers that an audit runs, on mixed tables, with the packages themselves."""

import random

import numpy as np
import pandas as pd
import pytest

from suffice import Explainer, InputError, audit, datasets
from suffice.cli.other_tools import other_tools
from suffice.cli.training import train

X, y = datasets.loans()
X, y = X.iloc[:200], y[:200]
MODEL = train("logistic", X, y).model
EXPLAINER = Explainer(MODEL, X, n_references=30)
REFUSED = X[MODEL.predict(X) == "refused"].iloc[:1]


@pytest.fixture(scope="module")
def tools():
    pytest.importorskip("anchor")
    pytest.importorskip("dice_ml")
    return other_tools(["anchors", "dice"], EXPLAINER, y)


def test_each_is_marked_on_a_table_of_numbers_words_and_truths(tools):
    marks = audit.grade(EXPLAINER, REFUSED, tools)
    assert marks.of("anchors").sufficiency > 0.5
    assert marks.of("dice").sufficiency > 0


def test_rules_speak_of_the_table(tools):
    row = REFUSED.iloc[[0]]
    conditions = tools["anchors"](row).names()
    assert conditions
    for condition in conditions:
        names = [name for name in X.columns if name in condition]
        assert names, condition


def test_counterfactuals_are_rows_that_the_model_takes_and_that_flip(tools):
    found = tools["dice"](REFUSED.iloc[[0]])
    assert found
    rows = pd.DataFrame(found)[list(X.columns)].astype(X.dtypes.to_dict())
    assert set(MODEL.predict(rows)) == {"granted"}


def test_they_answer_the_same_again_and_leave_the_generators_alone(tools):
    row = REFUSED.iloc[[0]]
    random.seed(7)
    np.random.seed(7)  # noqa: NPY002
    before = random.getstate(), np.random.get_state()[1].tolist()  # noqa: NPY002
    assert tools["dice"](row) == tools["dice"](row)
    assert tools["anchors"](row).names() == tools["anchors"](row).names()
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before  # noqa: NPY002


@pytest.mark.parametrize("tool", ["anchors", "dice"])
def test_what_a_tool_cannot_take_is_said_before_it_runs(tool):
    pytest.importorskip("anchor" if tool == "anchors" else "dice_ml")
    gaps = X.assign(income=X["income"].astype(float).where(X.index > 3))
    explainer = Explainer(train("extra-trees", gaps, y).model, gaps, n_references=10)
    with pytest.raises(InputError, match=f"{tool}, of a table with missing values in 'income'"):
        other_tools([tool], explainer, y)


def test_dice_wants_two_classes_and_every_tool_wants_classes():
    pytest.importorskip("dice_ml")
    three = np.where(X["income"] > 60, "a", np.where(X["debt"] > 10, "b", "c"))
    explainer = Explainer(train("logistic", X, three).model, X, n_references=10)
    with pytest.raises(InputError, match="dice with more than 2 classes"):
        other_tools(["dice"], explainer, three)
