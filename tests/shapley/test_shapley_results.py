"""Shapley values, interactions and rankings as answers: mappings, words, and what is stored."""

import pickle

import jsonschema
import msgspec
import numpy as np
import pytest

from suffice import Explainer, InputError
from suffice.attribution import (
    ShapleyInteractions,
    ShapleyValues,
    shapley,
    shapley_interactions,
    shapley_values,
)
from suffice.ranking import TopK, top_k
from suffice.results import result_schema


def model(rows):
    """Yes if the first is large, or the next two are; the last plays no part."""
    rows = np.asarray(rows)
    return np.where((rows[:, 0] > 0) | ((rows[:, 1] > 0) & (rows[:, 2] > 0)), "yes", "no")


X = np.array([[a, b, c, d] for a in (0, 1) for b in (0, 1) for c in (0, 1) for d in (0, 1)])


@pytest.fixture(scope="module")
def explainer():
    return Explainer(model, X, references="all")


@pytest.fixture(scope="module")
def answers(explainer):
    e = explainer.explain([1, 1, 1, 1])
    return {
        "values": shapley_values(e.keep),
        "of flip": shapley_values(e.flip),
        "pairs": shapley_interactions(e.keep),
        "triples": shapley_interactions(e.flip, order=3, index="shapley-taylor"),
        "top": top_k(e.keep, 1),
        "none": top_k(e.flip, 0),
    }


@pytest.mark.parametrize("which", ["values", "of flip", "pairs", "triples", "top", "none"])
def test_an_answer_is_read_back_as_it_was(answers, which):
    answer = answers[which]
    text = answer.to_json()
    assert type(answer).from_json(text) == answer
    assert hash(type(answer).from_json(text)) == hash(answer)
    jsonschema.validate(msgspec.json.decode(text), result_schema(type(answer)))
    assert pickle.loads(pickle.dumps(answer)) == answer
    assert repr(answer).startswith(f"<{type(answer).__name__}: ") and "\n" not in repr(answer)
    assert answer.sheet.title in answer.to_html()
    with pytest.raises(AttributeError):
        answer.view = "flip"


def test_values_are_a_mapping_in_the_order_of_the_features(answers):
    values = answers["values"]
    assert list(values) == ["x0", "x1", "x2", "x3"] and len(values) == 4
    assert (values.view, values.outcome) == ("keep", "yes")
    assert values.base == 10 / 16 and values.everything == 1.0
    assert sum(values.values()) == pytest.approx(values.everything - values.base)
    assert values["x3"] == 0.0 and "x9" not in values and values.get("x9") is None
    with pytest.raises(TypeError):
        values["x0"] = 1.0


def test_an_answer_equals_a_plain_mapping_of_its_numbers_and_no_answer_about_another_view(answers):
    values, flip = answers["values"], answers["of flip"]
    assert dict(values) == dict(flip) == values
    assert values != flip and values != answers["pairs"]


def test_a_set_of_features_may_be_named_in_any_order(answers):
    pairs = answers["pairs"]
    assert len(pairs) == 6 and next(iter(pairs)) == ("x0", "x1")
    assert pairs["x2", "x1"] == pairs["x1", "x2"] > 0
    assert ("x2", "x1") in pairs and ("x1", "x9") not in pairs and ("x1",) not in pairs
    assert "x1" not in pairs and 3 not in pairs


def test_the_words_of_values(answers):
    values = answers["values"]
    assert str(values).splitlines()[0] == "What each feature adds towards “yes”"
    assert "With no feature held, 62% of the references give this outcome" in str(values)
    assert "x0 has the largest" in str(values)
    rows = values.sheet.panels[0].rows
    assert [name for _, name in rows] == ["x0", "x1", "x2", "x3"]
    assert [abs(v) for v, _ in rows] == sorted((abs(v) for v, _ in rows), reverse=True)
    assert "With no feature replaced" in str(answers["of flip"])


def test_the_words_of_interactions(answers, explainer):
    flip = shapley_interactions(explainer.explain([1, 1, 1, 1]).flip)
    assert "x0 and x1 do more together than apart (0.188)." in str(flip)
    assert "x0 and x1 make up for each other (-0.188)." in str(answers["pairs"])
    frame = answers["pairs"].to_frame()
    assert list(frame["features"]) == list(answers["pairs"])
    assert list(frame["interaction"]) == list(answers["pairs"].values())


def test_the_words_of_a_ranking(explainer):
    view = explainer.explain([1, 1, 1, 1]).keep
    told = str(top_k(view, 1, ranking=["x3", "x2", "x1", "x0"]))
    assert "x3 suffices for 62% of the references, x0 for 100%." in told
    assert "and no set of that size for more" in str(top_k(view, 1))
    assert list(top_k(view, 1).to_frame()["features"]) == [("x0",), ("x0",)]


def test_many_features_are_cut_short_and_say_so():
    data = np.eye(14)
    answer = shapley(Explainer(lambda r: (r[:, 0] > 0).astype(int), data), data[0])
    assert len(answer.sheet.panels[0].rows) == 12
    assert str(answer.sheet.panels[0].more) == "and 2 more: .to_frame()"


def test_shapley_explains_and_weighs_in_one_call(explainer):
    x = [1, 0, 1, 1]
    e = explainer.explain(x)
    assert explainer.shapley(x) == shapley(explainer, x) == shapley_values(e.keep)
    assert shapley(explainer, x, view="flip", progress=False) == shapley_values(e.flip)
    for view in ("both", ["keep"], None):
        with pytest.raises(InputError, match=r"view: got .*; allowed: 'keep' or 'flip'"):
            shapley(explainer, x, view=view)


GOOD = {
    "ShapleyValues": {
        "view": "keep",
        "outcome": "yes",
        "base": 0.25,
        "everything": 1.0,
        "features": ["a", "b"],
        "amounts": [0.5, 0.25],
    },
    "ShapleyInteractions": {
        "view": "flip",
        "outcome": "yes",
        "index": "shapley",
        "order": 2,
        "features": ["a", "b", "c"],
        "amounts": [0.5, 0.25, -0.5],
    },
    "TopK": {
        "view": "keep",
        "outcome": "yes",
        "k": 1,
        "features": ["a"],
        "sufficiency": 0.5,
        "best": ["b"],
        "best_sufficiency": 0.75,
    },
}
KINDS = {kind.__name__: kind for kind in (ShapleyValues, ShapleyInteractions, TopK)}


def stored(kind, **changed):
    content = GOOD[kind] | changed
    return msgspec.json.encode({"result": kind, "version": 1, "content": content})


@pytest.mark.parametrize("kind", GOOD)
def test_a_stored_answer_that_makes_sense_is_read(kind):
    assert KINDS[kind].from_json(stored(kind)).outcome == "yes"


@pytest.mark.parametrize(
    ("kind", "changed", "message"),
    [
        ("ShapleyValues", {"base": 1.5}, "base: got 1.5"),
        ("ShapleyValues", {"amounts": [0.5, 0.5]}, "add up to everything - base"),
        ("ShapleyValues", {"amounts": [0.75]}, "2 finite numbers"),
        ("ShapleyValues", {"features": ["a", "a"]}, "each once"),
        ("ShapleyValues", {"features": [], "amounts": []}, "one feature or more"),
        ("ShapleyValues", {"view": "both"}, "Invalid enum value 'both'"),
        ("ShapleyValues", {"amounts": [0.5, None]}, "Expected `float`, got `null`"),
        ("ShapleyInteractions", {"order": 4}, "order: got 4"),
        ("ShapleyInteractions", {"order": 0}, "order: got 0"),
        ("ShapleyInteractions", {"order": 1, "amounts": [0.5]}, "3 finite numbers"),
        ("TopK", {"k": 2}, "2 features, each once"),
        ("TopK", {"best_sufficiency": 0.25}, "no less than the ranking's"),
        ("TopK", {"best_sufficiency": 1.25}, "up to 1"),
    ],
)
def test_a_stored_answer_that_makes_no_sense_is_refused(kind, changed, message):
    with pytest.raises(InputError, match=message):
        KINDS[kind].from_json(stored(kind, **changed))
