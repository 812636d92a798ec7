"""Tiny models and explainers, and one small result of every class.

Importing this module explains nothing: each result is computed when it is first asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

import suffice as sf

X = pd.DataFrame({"age": [20, 30, 40, 50, 60, 70], "job": list("aabbab")})
ROW = {"age": 45, "job": "a"}
PEOPLE = pd.DataFrame({"age": [20.0, 30, 40, 50], "pay": [40.0, 60, 81, 99]})
TEXT = "a fine film"
LONG = "A fine film. It was fine to see. " + "And so on it went for long. " * 3
IMAGE = np.ones((4, 4))
COUNTS = {(True, True): 30, (True, False): 10, (False, True): 20, (False, False): 40}
CATALOGUE = {"age": {"any": ("A", "Age")}, "job": ("J", "Job")}


def model(rows: Any) -> Any:
    return np.where((rows["age"] > 35) & (rows["job"] == "a"), "yes", "no")


def age_regressor(rows: Any) -> Any:
    return np.asarray(rows["age"] * 2.0)


def text_model(texts: Any) -> Any:
    return ["good" if "fine" in text and "not" not in text else "bad" for text in texts]


def image_model(images: Any) -> Any:
    return images[:, 0, 0] > 0.5


EXPLAINER = sf.Explainer(model, X)
TEXT_EXPLAINER = sf.TextExplainer(text_model)
IMAGE_EXPLAINER = sf.ImageExplainer(image_model, regions="grid", n_regions=4, references=0)
SCM = sf.CausalModel(
    [("a", "b")], mechanisms={"a": 0.5, "b": sf.noisy(lambda noise, a: a ^ noise, 0.1)}
)
PAY_MODEL = sf.CausalModel(
    [("age", "pay")],
    mechanisms={"age": [20, 50], "pay": sf.additive(lambda age: 2.0 * age, std=1.0)},
)
SAMPLE = sf.Sample(X.assign(tag=[True, False] * 3), ["tag"])
FACTORS = [sf.equals("job", "a"), sf.auxiliary("tag"), sf.equals("job", "a") & sf.auxiliary("tag")]
TARGET = sf.make_target(model, X, "yes")
BASIS = sf.Basis(TARGET, SAMPLE, FACTORS)


@cache
def explanation() -> Any:
    return EXPLAINER.explain(ROW, tau=0.5)


@cache
def of_text() -> Any:
    return sf.TextExplainer(text_model, unit="passage").explain(LONG)


@cache
def of_image() -> Any:
    return IMAGE_EXPLAINER.explain(IMAGE)


@cache
def recourse() -> Any:
    return EXPLAINER.recourse(ROW)


@cache
def few_changes() -> Any:
    return sf.audit.global_recourse(EXPLAINER, X, desired="yes", by="job")


@cache
def rules() -> Any:
    return EXPLAINER.anchor(ROW, tau=0.5)


@cache
def tree_explainer() -> Any:
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier(random_state=0).fit(PEOPLE, list("nnyy"))
    return sf.Explainer(tree, PEOPLE)


@cache
def proof() -> Any:
    return tree_explainer().prove([40, 81])


@cache
def stability() -> Any:
    return sf.audit.stability(lambda X, y: model, X, list("nnyynn"), k=2, rows=1, tau=0.5)


@cache
def recorded() -> tuple[Any, Any]:
    """An audit record, and the result of verifying it."""
    with TemporaryDirectory() as folder:
        record = sf.audit.record(EXPLAINER, X[:2], folder, analyses={"roles": {}}, tau=0.5)
        return record, sf.audit.verify(folder, EXPLAINER, X[:2])


def compared() -> Any:
    e = explanation()
    return sf.audit.compare(e, e.at(0.5), recourse=recourse(), explainer=EXPLAINER)


def graded() -> Any:
    tools = {"rows": X[:3], "names": ["job", "age"], "none": None}
    return sf.audit.grade(EXPLAINER, ROW, tools)


RESULTS: dict[str, Callable[[], Any]] = {
    "Explanation": explanation,
    "View": lambda: explanation().keep,
    "Explanation of a text": of_text,
    "Explanation of an image": of_image,
    "Recourse": recourse,
    "Option": lambda: recourse()[0],
    "AnchorRules": rules,
    "Rule": lambda: rules()[0],
    "ShapleyValues": lambda: sf.shapley_values(explanation().keep),
    "ShapleyInteractions": lambda: sf.shapley_interactions(explanation().keep),
    "TopK": lambda: sf.top_k(explanation().keep, 1),
    "MinimalFactors": lambda: sf.minimal_sufficient_factors(BASIS, y=True, tau=0.9),
    "Proof": proof,
    "Causation": lambda: sf.probabilities_of_causation(SCM, "a", "b"),
    "CausationBounds": lambda: sf.causation_bounds(COUNTS, exogenous=True),
    "Plausibility": lambda: EXPLAINER.plausibility(ROW, n_hybrids=5),
    "Plan": lambda: EXPLAINER.plan(ROW),
    "Roles": lambda: sf.audit.roles(explanation()),
    "Reliance": lambda: sf.audit.reliance(explanation(), "age", by="job"),
    "Cohort": lambda: sf.audit.cohort([explanation()] * 2, by=["a", "b"]),
    "GlobalFactors": lambda: sf.audit.global_factors([explanation()] * 2, cover=0.5),
    "GlobalRecourse": few_changes,
    "Drift": compared,
    "Stability": stability,
    "Reasons": lambda: sf.audit.reasons(explanation(), CATALOGUE),
    "Grade": lambda: sf.audit.grade(EXPLAINER, ROW, "age > 35 and job = a"),
    "Grades": graded,
    "Record": lambda: recorded()[0],
    "Verification": lambda: recorded()[1],
}
"""How a result of each class is made, by the name of the class."""


@cache
def result(name: str) -> Any:
    """Return the result of that name in `RESULTS`."""
    return RESULTS[name]()
