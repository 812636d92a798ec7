"""Odd values one step further in: within a mapping or a list, or returned by the user's function."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
import pandas as pd

import suffice as sf
from tests.doors import NUMBER, SCALAR, TEXTUAL, Door, explain
from tests.theory_doors import in_context
from tests.tiny import (
    EXPLAINER,
    IMAGE,
    IMAGES,
    PAY,
    ROW,
    SAMPLE,
    SCM,
    TAGGED,
    TARGET,
    TEXT,
    TEXTS,
    X,
    explanation,
    model,
    of_image,
    of_images,
    of_texts,
)

ANY = (
    "none true minus zero half huge long nan inf blank word essay bytes empty list nones array "
    "matrix nothing mapping object unprintable incomparable raises complex decimal na generator"
)


def inner(
    name: str,
    argument: str,
    call: Callable[[Any], Any],
    valid: Any,
    takes: str = "",
    says: str = "",
) -> Door:
    """A door with one value, which the call puts where it belongs."""
    return Door(
        name,
        lambda **given: call(given[argument]),
        {argument: valid},
        {argument: takes},
        {argument: says or argument},
    )


def key(name: Any, value: Any, **more: Any) -> Any:
    """{name: value} and more; what cannot be a key stands in place of the mapping."""
    return more | {name: value} if isinstance(name, Hashable) else name


def explained(**given: Any) -> Any:
    return explain(**({"model": model, "data": X} | given))


def wanted(**given: Any) -> Any:
    return EXPLAINER.recourse(ROW, **given)


def ruled(**given: Any) -> Any:
    return EXPLAINER.anchor(ROW, **given)


def two(a: Any = 0.5, b: Any = lambda a: a, **more: Any) -> Any:
    return sf.CausalModel([("a", "b")], mechanisms={"a": a, "b": b} | more).sample(3)


def by_image(**given: Any) -> Any:
    usual = {"model": of_images, "regions": "grid", "n_regions": 4, "references": 0}
    return sf.ImageExplainer(**(usual | given)).explain(IMAGE)


def by_text(**given: Any) -> Any:
    return sf.TextExplainer(**({"model": of_texts} | given)).explain(TEXT)


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

    return sf.Basis(TARGET, SAMPLE, TAGGED, Own())


def listed(value: Any) -> Any:
    class Listed:
        classes_ = value

        def predict(self, rows: Any) -> Any:
            return model(rows)

    return explained(model=Listed())


INNER = [
    # rows and tables
    inner(
        "x's number",
        "x",
        lambda v: EXPLAINER.explain({"age": v, "job": "a"}),
        45,
        "true minus zero",
    ),
    inner(
        "x's object",
        "x",
        lambda v: EXPLAINER.explain({"age": 45, "job": v}),
        "a",
        "none nan inf blank word essay empty list nones matrix nothing mapping object incomparable raises complex decimal na generator",
    ),
    inner("x's column", "x", lambda v: EXPLAINER.explain(key(v, "a", age=45)), "job"),
    inner("a row of X", "x", lambda v: EXPLAINER.explain_many([ROW, v]), ROW),
    inner("a cell of data", "data", cells, 1, ANY),
    inner(
        "a column of data",
        "data",
        columns,
        "job",
        f"none true {NUMBER} nan inf {TEXTUAL} bytes object unprintable incomparable raises complex decimal na generator",
    ),
    # what an explainer is given
    inner(
        "a group's name",
        "groups",
        lambda v: explained(groups=key(v, ["age"])),
        "g",
        f"{TEXTUAL} nothing",
    ),
    inner("a group", "groups", lambda v: explained(groups={"g": v}), ["age"]),
    inner("a group's column", "groups", lambda v: explained(groups={"g": ["age", v]}), "job"),
    inner("a weight", "cost", lambda v: explained(cost={"age": v}), 1.0, "zero half huge long inf"),
    inner("a weight's column", "cost", lambda v: explained(cost=key(v, 1)), "age", "nothing"),
    inner(
        "costs returned", "cost", lambda v: explained(cost=lambda column, old, new: v), np.zeros(5)
    ),
    inner(
        "a size's weight",
        "size_weights",
        lambda v: explained(size_weights=[1, 1, v]),
        1,
        "half huge long",
    ),
    inner(
        "references returned", "references", lambda v: explained(references=lambda data, x: v), X
    ),
    inner(
        "a mask's item",
        "references",
        lambda v: explained(references=[True, v, *[False] * 4]),
        True,
        "true",
    ),
    inner(
        "answers returned",
        "model",
        lambda v: explained(model=lambda rows: v if len(rows) == 6 else model(rows)),
        ["yes", "no"] * 3,
    ),
    inner(
        "an answer returned",
        "model",
        lambda v: explained(model=lambda rows: [v, *model(rows)][: len(rows)]),
        "yes",
        f"none true {NUMBER} inf {TEXTUAL} bytes object unprintable raises complex generator",
    ),
    inner(
        "classes_ of a model",
        "model",
        listed,
        ["no", "yes"],
        "none empty list nones array matrix nothing mapping",
    ),
    inner(
        "truth returned",
        "outcome",
        lambda v: explained(outcome=sf.satisfies(lambda a: v if len(a) == 6 else a == "yes")),
        np.arange(6) > 3,
    ),
    inner("rows drawn", "sampler", lambda v: in_context(n_drawn=2, sampler=lambda *_: v), X[:2]),
    inner(
        "a label of adapt",
        "classes",
        lambda v: explained(
            model=sf.adapt(lambda r: r["age"] / 10.0, classes=("a", v), threshold=4.0)
        ),
        "b",
        "none true minus zero half huge long inf blank word essay bytes object unprintable raises complex generator",
    ),
    inner(
        "inputs prepared",
        "preprocess",
        lambda v: explained(
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
    inner("a range", "ranges", lambda v: wanted(ranges={"age": v}), (20, 60)),
    inner(
        "a range's end",
        "ranges",
        lambda v: wanted(ranges={"age": (v, 60)}),
        20,
        "none minus zero half",
    ),
    inner(
        "a range's end on a grid",
        "ranges",
        lambda v: wanted(ranges={"age": (v, 60)}, values="grid"),
        20,
        "none minus zero half",
    ),
    inner("an allowed value", "ranges", lambda v: wanted(ranges={"job": [v]}), "b"),
    inner(
        "a range's column", "ranges", lambda v: wanted(ranges=key(v, (20, 60))), "age", "nothing"
    ),
    inner("a step", "steps", lambda v: wanted(steps={"age": v}), 5, "huge long"),
    inner(
        "a step on a grid",
        "steps",
        lambda v: wanted(steps={"age": v}, values="grid"),
        5,
        "huge long",
    ),
    *[
        inner(f"one of {name}", name, lambda v, name=name: wanted(**{name: [v]}), "age")
        for name in ("immutable", "actionable", "increasing", "decreasing")
    ],
    inner("one of forbidden", "forbidden", lambda v: wanted(forbidden=[v]), TAGGED[0]),
    # rules and rankings
    inner("a column's cuts", "cuts", lambda v: ruled(cuts={"age": v}), [30]),
    inner("a cut", "cuts", lambda v: ruled(cuts={"age": [v]}), 30, "minus zero half huge"),
    inner("a cut's column", "cuts", lambda v: ruled(cuts=key(v, [30])), "age", "nothing"),
    inner("one of categorical", "categorical", lambda v: ruled(categorical=[v]), "age"),
    inner("one of features", "features", lambda v: ruled(features=[v]), "age"),
    inner(
        "one of a view's features", "features", lambda v: explanation().keep.sufficiency([v]), "age"
    ),
    inner(
        "a feature's score",
        "ranking",
        lambda v: sf.top_k(explanation().keep, 1, ranking={"age": v, "job": 1}),
        1,
        "minus zero half huge long",
    ),
    inner(
        "a score",
        "ranking",
        lambda v: sf.top_k(explanation().keep, 1, ranking=[v, 1]),
        1,
        "minus zero half huge long",
    ),
    inner(
        "a name ranked",
        "ranking",
        lambda v: sf.top_k(explanation().keep, 1, ranking=["age", v]),
        "job",
    ),
    inner(
        "a feature scored",
        "ranking",
        lambda v: sf.top_k(explanation().keep, 1, ranking=key(v, 2, age=1)),
        "job",
    ),
    # texts
    inner("spans returned", "unit", lambda v: by_text(unit=lambda text: v), [(2, 6)], says="spans"),
    inner("a span", "spans", lambda v: TEXTS.explain(TEXT, spans=[v]), (2, 6)),
    inner("a span's edge", "spans", lambda v: TEXTS.explain(TEXT, spans=[(v, 6)]), 2, "zero"),
    inner("a token", "mask", lambda v: by_text(mask=[v]), "UNK", TEXTUAL),
    inner("a candidate", "candidates", lambda v: by_text(candidates=[v]), "UNK", TEXTUAL),
    inner("a text", "texts", lambda v: sf.Corpus(["a", v]), "b", TEXTUAL, "Corpus"),
    inner(
        "a text's label",
        "labels",
        lambda v: by_text(mask=sf.Corpus(["not it", "nor that"], labels=["bad", v])),
        "bad",
        TEXTUAL,
    ),
    # pictures
    inner(
        "a map returned",
        "regions",
        lambda v: by_image(regions=lambda image: v),
        np.arange(16).reshape(4, 4) // 8,
    ),
    inner(
        "a label of a map",
        "regions",
        lambda v: by_image(regions=[[v, 1, 1, 1], [0, 0, 1, 1]] * 2),
        0,
        "true zero",
    ),
    inner(
        "one of references",
        "references",
        lambda v: by_image(references=[v]),
        0,
        "true minus zero half huge",
    ),
    inner("a region's name", "names", lambda v: by_image(names=["a", "b", "c", v]), "d", TEXTUAL),
    inner(
        "a pixel",
        "image",
        lambda v: IMAGES.explain([[v, 1.0], [1.0, 0.5]]),
        1.0,
        "true minus zero half huge",
    ),
    inner(
        "a region refined",
        "features",
        lambda v: IMAGES.refine(of_image(), image=IMAGE, features=[v]),
        "row 1 column 1",
    ),
    inner(
        "a region drawn", "factor", lambda v: sf.overlay(of_image(), factor=[v]), "row 1 column 1"
    ),
    # causes
    inner(
        "an edge",
        "dag",
        lambda v: sf.CausalModel([v, ("a", "b")], mechanisms={"a": 0.5, "b": lambda a: a}),
        ("a", "b"),
        "array",
        "mechanisms",
    ),
    inner(
        "a node's causes",
        "dag",
        lambda v: sf.CausalModel({"b": v}, mechanisms={"a": 0.5, "b": lambda a: a}),
        ["a"],
        says="mechanisms",
    ),
    inner("a root", "mechanisms", lambda v: two(a=v), 0.5, "zero list array"),
    inner(
        "a root's value",
        "mechanisms",
        lambda v: two(a=key(v, 1.0)),
        True,
        "true minus zero half huge long blank word essay bytes list array object unprintable incomparable raises complex generator",
    ),
    inner("a root's probability", "mechanisms", lambda v: two(a={"z": v, "q": 0.5}), 0.5),
    inner("an effect", "mechanisms", lambda v: two(b=v), lambda a: a),
    inner("effects returned", "mechanisms", lambda v: two(b=lambda a: v), np.zeros(3)),
    inner("draws returned", "mechanisms", lambda v: two(a=lambda n, rng: v), np.zeros(3)),
    inner(
        "noise returned",
        "mechanisms",
        lambda v: noisy(inverse=lambda values, a: v),
        np.array([False]),
    ),
    inner(
        "a state's probability",
        "noise",
        lambda v: sf.noisy(lambda noise, a: a, {0: v, 1: 0.5}),
        0.5,
    ),
    inner("a value set", "do", lambda v: SCM.sample(3, do={"a": v}), True, "true zero"),
    inner(
        "a number set",
        "do",
        lambda v: PAY.counterfactual({"age": 20.0, "pay": 41.0}, do={"age": v}),
        50,
        "true minus zero half long",
        "mechanisms",
    ),
    inner("a node set", "do", lambda v: SCM.sample(3, do=key(v, True)), "a", "nothing"),
    inner(
        "a row's value",
        "rows",
        lambda v: SCM.counterfactual({"a": v, "b": True}, do={"a": False}),
        True,
        "true zero",
    ),
    inner(
        "a row's number",
        "rows",
        lambda v: PAY.counterfactual({"age": 20.0, "pay": v}, do={"age": 50}),
        41.0,
        "minus zero half huge long matrix",
        "mechanisms",
    ),
    inner(
        "a node's noise",
        "noise",
        lambda v: SCM.solve({"a": v, "b": np.zeros(3, bool)}),
        np.zeros(3, bool),
    ),
    inner(
        "a cause's other value",
        "cause",
        lambda v: sf.probabilities_of_causation(SCM, ("a", True, v), "b"),
        False,
        "zero",
    ),
    inner(
        "an effect's value",
        "effect",
        lambda v: sf.probabilities_of_causation(SCM, "a", ("b", v)),
        True,
        "true zero",
    ),
    inner(
        "a count observed",
        "observational",
        lambda v: sf.causation_bounds({(True, True): v, (False, False): 3}),
        3,
        "zero half huge long",
    ),
    inner(
        "a share tried",
        "experimental",
        lambda v: sf.causation_bounds(experimental={True: v, False: 0.2}),
        0.5,
        "zero",
    ),
    inner(
        "events tried",
        "experimental",
        lambda v: sf.causation_bounds(experimental={True: (v, 10), False: (1, 9)}),
        5,
        "zero half",
    ),
    # factors and orders
    inner(
        "a cost returned",
        "cost",
        lambda v: sf.CostOrder(lambda factor: v).matrix(TAGGED),
        1,
        "true zero half huge long inf",
    ),
    inner(
        "an answer of an order",
        "no_worse",
        lambda v: sf.CustomOrder(lambda a, b: v).matrix(TAGGED),
        True,
        "true",
    ),
    inner("a relation returned", "order", ask_order, np.eye(3, dtype=bool)),
    inner("one of factors", "factors", lambda v: sf.Basis(TARGET, SAMPLE, [v]), TAGGED[0]),
    inner("one of auxiliaries", "auxiliaries", lambda v: sf.Sample(X, [v]), "job"),
    inner("one of isin's values", "values", lambda v: sf.isin("job", [v])(SAMPLE), "a", SCALAR),
    inner(
        "a column of z",
        "z",
        lambda v: TAGGED[0]({"job": v}),
        np.array(["a"]),
        "empty list nones array",
    ),
    inner("a cell of z", "z", compared, 2, ANY),
    inner(
        "a number of z",
        "factor",
        lambda v: sf.compare("age", "<", 3)({"age": np.array([v, 1], dtype=object)}),
        2,
        "true minus zero half huge long nan inf matrix",
    ),
    inner(
        "a tag of z",
        "auxiliary",
        lambda v: sf.auxiliary("age")({"age": np.array([v, 1], dtype=object)}),
        1,
        "true zero",
    ),
]
