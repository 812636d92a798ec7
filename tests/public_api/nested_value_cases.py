"""Odd values one step further in: within a mapping or a list, or returned by the user's function."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
import pandas as pd

import suffice as sf
from tests.example_results import (
    EXPLAINER,
    FACTORS,
    IMAGE,
    IMAGE_EXPLAINER,
    PAY_MODEL,
    ROW,
    SAMPLE,
    SCM,
    TARGET,
    TEXT,
    TEXT_EXPLAINER,
    X,
    explanation,
    image_model,
    model,
    of_image,
    text_model,
)
from tests.public_api.call_cases import NUMBER, SCALAR, TEXTUAL, CallCase, explain
from tests.public_api.framework_call_cases import explain_in_context

ANY = (
    "none true minus zero half huge long nan inf blank word essay bytes empty list nones array "
    "matrix nothing mapping object unprintable incomparable raises complex decimal na generator"
)


def nested_case(
    name: str,
    argument: str,
    call: Callable[[Any], Any],
    valid: Any,
    takes: str = "",
    says: str = "",
) -> CallCase:
    """A call with one value, which is put where it belongs."""
    return CallCase(
        name,
        lambda **given: call(given[argument]),
        {argument: valid},
        {argument: takes},
        {argument: says or argument},
    )


def key(name: Any, value: Any, **more: Any) -> Any:
    """{name: value} and more; what cannot be a key stands in place of the mapping."""
    return more | {name: value} if isinstance(name, Hashable) else name


def explanation_with(**given: Any) -> Any:
    return explain(**({"model": model, "data": X} | given))


def recourse_with(**given: Any) -> Any:
    return EXPLAINER.recourse(ROW, **given)


def rules_with(**given: Any) -> Any:
    return EXPLAINER.anchor(ROW, **given)


def two_node_sample(a: Any = 0.5, b: Any = lambda a: a, **more: Any) -> Any:
    return sf.CausalModel([("a", "b")], mechanisms={"a": a, "b": b} | more).sample(3)


def by_image(**given: Any) -> Any:
    usual = {"model": image_model, "regions": "grid", "n_regions": 4, "references": 0}
    return sf.ImageExplainer(**(usual | given)).explain(IMAGE)


def by_text(**given: Any) -> Any:
    return sf.TextExplainer(**({"model": text_model} | given)).explain(TEXT)


def noisy(**given: Any) -> Any:
    made = sf.noisy(lambda noise, a: a ^ noise, 0.1, **given)
    scm = sf.CausalModel([("a", "b")], mechanisms={"a": 0.5, "b": made})
    return scm.counterfactual({"a": True, "b": True}, do={"a": False})


def cells(value: Any) -> Any:
    frame = pd.DataFrame({"a": pd.Series([1, value, "x", 2], dtype=object), "b": [1, 2, 3, 4]})
    return sf.Explainer(lambda rows: [b % 2 for b in rows["b"]], frame).explain({"a": 1, "b": 1})


def columns(name: Any) -> Any:
    index = pd.Index(["age", name], dtype=object)
    frame = pd.DataFrame([[20, "a"], [60, "b"], [70, "a"]], columns=index)
    return sf.Explainer(lambda rows: rows.iloc[:, 0] > 30, frame).explain([20, "a"])


def compared(value: Any) -> Any:
    z = {"age": np.array([value, 1], dtype=object)}
    return sf.equals("age", 1)(z), sf.isin("age", [1])(z)


def ask_order(value: Any) -> Any:
    class Own:
        def matrix(self, factors: Any) -> Any:
            return value

    return sf.Basis(TARGET, SAMPLE, FACTORS, Own())


def explanation_with_classes(value: Any) -> Any:
    class Listed:
        classes_ = value

        def predict(self, rows: Any) -> Any:
            return model(rows)

    return explanation_with(model=Listed())


NESTED_CASES = [
    # rows and tables
    nested_case(
        "x's number",
        "x",
        lambda v: EXPLAINER.explain({"age": v, "job": "a"}),
        45,
        "true minus zero",
    ),
    nested_case(
        "x's object",
        "x",
        lambda v: EXPLAINER.explain({"age": 45, "job": v}),
        "a",
        "none nan inf blank word essay empty list nones matrix nothing mapping object incomparable raises complex decimal na generator",
    ),
    nested_case("x's column", "x", lambda v: EXPLAINER.explain(key(v, "a", age=45)), "job"),
    nested_case("a row of X", "x", lambda v: EXPLAINER.explain_many([ROW, v]), ROW),
    nested_case("a cell of data", "data", cells, 1, ANY),
    nested_case(
        "a column of data",
        "data",
        columns,
        "job",
        f"none true {NUMBER} nan inf {TEXTUAL} bytes object unprintable incomparable raises complex decimal na generator",
    ),
    # what an explainer is given
    nested_case(
        "a group's name",
        "groups",
        lambda v: explanation_with(groups=key(v, ["age"])),
        "g",
        f"{TEXTUAL} nothing",
    ),
    nested_case("a group", "groups", lambda v: explanation_with(groups={"g": v}), ["age"]),
    nested_case(
        "a group's column", "groups", lambda v: explanation_with(groups={"g": ["age", v]}), "job"
    ),
    nested_case(
        "a weight",
        "cost",
        lambda v: explanation_with(cost={"age": v}),
        1.0,
        "zero half huge long inf",
    ),
    nested_case(
        "a weight's column", "cost", lambda v: explanation_with(cost=key(v, 1)), "age", "nothing"
    ),
    nested_case(
        "costs returned",
        "cost",
        lambda v: explanation_with(cost=lambda column, old, new: v),
        np.zeros(5),
    ),
    nested_case(
        "a size's weight",
        "size_weights",
        lambda v: explanation_with(size_weights=[1, 1, v]),
        1,
        "half huge long",
    ),
    nested_case(
        "references returned",
        "references",
        lambda v: explanation_with(references=lambda data, x: v),
        X,
    ),
    nested_case(
        "a mask's item",
        "references",
        lambda v: explanation_with(references=[True, v, *[False] * 4]),
        True,
        "true",
    ),
    nested_case(
        "answers returned",
        "model",
        lambda v: explanation_with(model=lambda rows: v if len(rows) == 6 else model(rows)),
        ["yes", "no"] * 3,
    ),
    nested_case(
        "an answer returned",
        "model",
        lambda v: explanation_with(model=lambda rows: [v, *model(rows)][: len(rows)]),
        "yes",
        f"none true {NUMBER} inf {TEXTUAL} bytes object unprintable raises complex generator",
    ),
    nested_case(
        "classes_ of a model",
        "model",
        explanation_with_classes,
        ["no", "yes"],
        "none empty list array nothing mapping",
    ),
    nested_case(
        "truth returned",
        "outcome",
        lambda v: explanation_with(
            outcome=sf.satisfies(lambda a: v if len(a) == 6 else a == "yes")
        ),
        np.arange(6) > 3,
    ),
    nested_case(
        "rows drawn",
        "sampler",
        lambda v: explain_in_context(n_drawn=2, sampler=lambda *_: v),
        X[:2],
    ),
    nested_case(
        "a label of adapt",
        "classes",
        lambda v: explanation_with(
            model=sf.adapt(lambda r: r["age"] / 10.0, classes=("a", v), threshold=4.0)
        ),
        "b",
        "none true minus zero half huge long inf blank word essay bytes object unprintable raises complex generator",
    ),
    nested_case(
        "inputs prepared",
        "preprocess",
        lambda v: explanation_with(
            model=sf.adapt(
                lambda r: r["age"] / 10.0,
                classes=("a", "b"),
                threshold=4.0,
                preprocess=lambda r: v if len(r) == 6 else r,
            )
        ),
        X,
    ),
    # recourse
    nested_case("a range", "ranges", lambda v: recourse_with(ranges={"age": v}), (20, 60)),
    nested_case(
        "a range's end",
        "ranges",
        lambda v: recourse_with(ranges={"age": (v, 60)}),
        20,
        "none minus zero half",
    ),
    nested_case(
        "a range's end on a grid",
        "ranges",
        lambda v: recourse_with(ranges={"age": (v, 60)}, values="grid"),
        20,
        "none minus zero half",
    ),
    nested_case("an allowed value", "ranges", lambda v: recourse_with(ranges={"job": [v]}), "b"),
    nested_case(
        "a range's column",
        "ranges",
        lambda v: recourse_with(ranges=key(v, (20, 60))),
        "age",
        "nothing",
    ),
    nested_case("a step", "steps", lambda v: recourse_with(steps={"age": v}), 5, "huge long"),
    nested_case(
        "a step on a grid",
        "steps",
        lambda v: recourse_with(steps={"age": v}, values="grid"),
        5,
        "huge long",
    ),
    *[
        nested_case(
            f"one of {name}", name, lambda v, name=name: recourse_with(**{name: [v]}), "age"
        )
        for name in ("immutable", "actionable", "increasing", "decreasing")
    ],
    nested_case(
        "one of forbidden", "forbidden", lambda v: recourse_with(forbidden=[v]), FACTORS[0]
    ),
    # rules and rankings
    nested_case("a column's cuts", "cuts", lambda v: rules_with(cuts={"age": v}), [30]),
    nested_case(
        "a cut", "cuts", lambda v: rules_with(cuts={"age": [v]}), 30, "minus zero half huge"
    ),
    nested_case(
        "a cut's column", "cuts", lambda v: rules_with(cuts=key(v, [30])), "age", "nothing"
    ),
    nested_case("one of categorical", "categorical", lambda v: rules_with(categorical=[v]), "age"),
    nested_case("one of features", "features", lambda v: rules_with(features=[v]), "age"),
    nested_case(
        "one of a view's features", "features", lambda v: explanation().keep.sufficiency([v]), "age"
    ),
    nested_case(
        "a feature's score",
        "ranking",
        lambda v: sf.top_k(explanation().keep, 1, ranking={"age": v, "job": 1}),
        1,
        "minus zero half huge long",
    ),
    nested_case(
        "a score",
        "ranking",
        lambda v: sf.top_k(explanation().keep, 1, ranking=[v, 1]),
        1,
        "minus zero half huge long",
    ),
    nested_case(
        "a name ranked",
        "ranking",
        lambda v: sf.top_k(explanation().keep, 1, ranking=["age", v]),
        "job",
    ),
    nested_case(
        "a feature scored",
        "ranking",
        lambda v: sf.top_k(explanation().keep, 1, ranking=key(v, 2, age=1)),
        "job",
    ),
    # texts
    nested_case(
        "spans returned", "unit", lambda v: by_text(unit=lambda text: v), [(2, 6)], says="spans"
    ),
    nested_case("a span", "spans", lambda v: TEXT_EXPLAINER.explain(TEXT, spans=[v]), (2, 6)),
    nested_case(
        "a span's edge", "spans", lambda v: TEXT_EXPLAINER.explain(TEXT, spans=[(v, 6)]), 2, "zero"
    ),
    nested_case("a token", "mask", lambda v: by_text(mask=[v]), "UNK", TEXTUAL),
    nested_case("a candidate", "candidates", lambda v: by_text(candidates=[v]), "UNK", TEXTUAL),
    nested_case("a text", "texts", lambda v: sf.Corpus(["a", v]), "b", TEXTUAL, "Corpus"),
    nested_case(
        "a text's label",
        "labels",
        lambda v: by_text(mask=sf.Corpus(["not it", "nor that"], labels=["bad", v])),
        "bad",
        TEXTUAL,
    ),
    # pictures
    nested_case(
        "a map returned",
        "regions",
        lambda v: by_image(regions=lambda image: v),
        np.arange(16).reshape(4, 4) // 8,
    ),
    nested_case(
        "a label of a map",
        "regions",
        lambda v: by_image(regions=[[v, 1, 1, 1], [0, 0, 1, 1]] * 2),
        0,
        "true zero",
    ),
    nested_case(
        "one of references",
        "references",
        lambda v: by_image(references=[v]),
        0,
        "true minus zero half huge",
    ),
    nested_case(
        "a region's name", "names", lambda v: by_image(names=["a", "b", "c", v]), "d", TEXTUAL
    ),
    nested_case(
        "a pixel",
        "image",
        lambda v: IMAGE_EXPLAINER.explain([[v, 1.0], [1.0, 0.5]]),
        1.0,
        "true minus zero half huge",
    ),
    nested_case(
        "a region refined",
        "features",
        lambda v: IMAGE_EXPLAINER.refine(of_image(), image=IMAGE, features=[v]),
        "row 1 column 1",
    ),
    nested_case(
        "a region drawn", "factor", lambda v: sf.overlay(of_image(), factor=[v]), "row 1 column 1"
    ),
    # causes
    nested_case(
        "an edge",
        "dag",
        lambda v: sf.CausalModel([v, ("a", "b")], mechanisms={"a": 0.5, "b": lambda a: a}),
        ("a", "b"),
        "array",
        "mechanisms",
    ),
    nested_case(
        "a node's causes",
        "dag",
        lambda v: sf.CausalModel({"b": v}, mechanisms={"a": 0.5, "b": lambda a: a}),
        ["a"],
        says="mechanisms",
    ),
    nested_case("a root", "mechanisms", lambda v: two_node_sample(a=v), 0.5, "zero list array"),
    nested_case(
        "a root's value",
        "mechanisms",
        lambda v: two_node_sample(a=key(v, 1.0)),
        True,
        "true minus zero half huge long blank word essay bytes list array object unprintable incomparable raises complex generator",
    ),
    nested_case(
        "a root's probability", "mechanisms", lambda v: two_node_sample(a={"z": v, "q": 0.5}), 0.5
    ),
    nested_case("an effect", "mechanisms", lambda v: two_node_sample(b=v), lambda a: a),
    nested_case(
        "effects returned", "mechanisms", lambda v: two_node_sample(b=lambda a: v), np.zeros(3)
    ),
    nested_case(
        "draws returned", "mechanisms", lambda v: two_node_sample(a=lambda n, rng: v), np.zeros(3)
    ),
    nested_case(
        "noise returned",
        "mechanisms",
        lambda v: noisy(inverse=lambda values, a: v),
        np.array([False]),
    ),
    nested_case(
        "a state's probability",
        "noise",
        lambda v: sf.noisy(lambda noise, a: a, {0: v, 1: 0.5}),
        0.5,
    ),
    nested_case("a value set", "do", lambda v: SCM.sample(3, do={"a": v}), True, "true zero"),
    nested_case(
        "a number set",
        "do",
        lambda v: PAY_MODEL.counterfactual({"age": 20.0, "pay": 41.0}, do={"age": v}),
        50,
        "true minus zero half long",
        "mechanisms",
    ),
    nested_case("a node set", "do", lambda v: SCM.sample(3, do=key(v, True)), "a", "nothing"),
    nested_case(
        "a row's value",
        "rows",
        lambda v: SCM.counterfactual({"a": v, "b": True}, do={"a": False}),
        True,
        "true zero",
    ),
    nested_case(
        "a row's number",
        "rows",
        lambda v: PAY_MODEL.counterfactual({"age": 20.0, "pay": v}, do={"age": 50}),
        41.0,
        "minus zero half huge long matrix",
        "mechanisms",
    ),
    nested_case(
        "a node's noise",
        "noise",
        lambda v: SCM.solve({"a": v, "b": np.zeros(3, bool)}),
        np.zeros(3, bool),
    ),
    nested_case(
        "a cause's other value",
        "cause",
        lambda v: sf.probabilities_of_causation(SCM, ("a", True, v), "b"),
        False,
        "zero",
    ),
    nested_case(
        "an effect's value",
        "effect",
        lambda v: sf.probabilities_of_causation(SCM, "a", ("b", v)),
        True,
        "true zero",
    ),
    nested_case(
        "a count observed",
        "observational",
        lambda v: sf.causation_bounds({(True, True): v, (False, False): 3}),
        3,
        "zero half huge long",
    ),
    nested_case(
        "a share tried",
        "experimental",
        lambda v: sf.causation_bounds(experimental={True: v, False: 0.2}),
        0.5,
        "zero",
    ),
    nested_case(
        "events tried",
        "experimental",
        lambda v: sf.causation_bounds(experimental={True: (v, 10), False: (1, 9)}),
        5,
        "zero half",
    ),
    # factors and orders
    nested_case(
        "a cost returned",
        "cost",
        lambda v: sf.CostOrder(lambda factor: v).matrix(FACTORS),
        1,
        "true zero half huge long inf",
    ),
    nested_case(
        "an answer of an order",
        "no_worse",
        lambda v: sf.CustomOrder(lambda a, b: v).matrix(FACTORS),
        True,
        "true",
    ),
    nested_case("a relation returned", "order", ask_order, np.eye(3, dtype=bool)),
    nested_case("one of factors", "factors", lambda v: sf.Basis(TARGET, SAMPLE, [v]), FACTORS[0]),
    nested_case("one of auxiliaries", "auxiliaries", lambda v: sf.Sample(X, [v]), "job"),
    nested_case(
        "one of isin's values", "values", lambda v: sf.isin("job", [v])(SAMPLE), "a", SCALAR
    ),
    nested_case(
        "a column of z",
        "z",
        lambda v: FACTORS[0]({"job": v}),
        np.array(["a"]),
        "empty list nones array",
    ),
    nested_case("a cell of z", "z", compared, 2, ANY),
    nested_case(
        "a number of z",
        "factor",
        lambda v: sf.compare("age", "<", 3)({"age": np.array([v, 1], dtype=object)}),
        2,
        "true minus zero half huge long nan inf matrix",
    ),
    nested_case(
        "a tag of z",
        "auxiliary",
        lambda v: sf.auxiliary("age")({"age": np.array([v, 1], dtype=object)}),
        1,
        "true zero",
    ),
]
