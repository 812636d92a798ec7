"""Tiny models, explainers and answers of every kind: thousands of calls of them take seconds."""

from __future__ import annotations

from tempfile import mkdtemp
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


def model(rows: Any) -> Any:
    return np.where((rows["age"] > 35) & (rows["job"] == "a"), "yes", "no")


def twice_the_age(rows: Any) -> Any:
    return np.asarray(rows["age"] * 2.0)


def of_texts(texts: Any) -> Any:
    return ["good" if "fine" in text and "not" not in text else "bad" for text in texts]


def of_images(images: Any) -> Any:
    return images[:, 0, 0] > 0.5


EXPLAINER = sf.Explainer(model, X)
TEXTS = sf.TextExplainer(of_texts)
IMAGES = sf.ImageExplainer(of_images, regions="grid", n_regions=4, references=0)
E = EXPLAINER.explain(ROW, tau=0.5)
OF_TEXT = sf.TextExplainer(of_texts, unit="passage").explain(LONG)
OF_IMAGE = IMAGES.explain(IMAGE)
RECOURSE = EXPLAINER.recourse(ROW)
FEW_CHANGES = sf.audit.global_recourse(EXPLAINER, X, desired="yes", by="job")
RULES = EXPLAINER.anchor(ROW, tau=0.5)
SCM = sf.CausalModel(
    [("a", "b")], mechanisms={"a": 0.5, "b": sf.noisy(lambda noise, a: a ^ noise, 0.1)}
)
PAY = sf.CausalModel(
    [("age", "pay")],
    mechanisms={"age": [20, 50], "pay": sf.additive(lambda age: 2.0 * age, std=1.0)},
)
SAMPLE = sf.Sample(X.assign(tag=[True, False] * 3), ["tag"])
TAGGED = [sf.equals("job", "a"), sf.auxiliary("tag"), sf.equals("job", "a") & sf.auxiliary("tag")]
TARGET = sf.make_target(model, X, "yes")
BASIS = sf.Basis(TARGET, SAMPLE, TAGGED)

STABILITY = sf.audit.stability(lambda X, y: model, X, list("nnyynn"), k=2, rows=1, tau=0.5)
FOLDER = mkdtemp()
RECORD = sf.audit.record(EXPLAINER, X[:2], FOLDER, analyses={"roles": {}}, tau=0.5)
COUNTS = {(True, True): 30, (True, False): 10, (False, True): 20, (False, False): 40}

RESULTS = [
    E,
    E.keep,
    OF_TEXT,
    OF_IMAGE,
    RECOURSE,
    RECOURSE[0],
    RULES,
    RULES[0],
    sf.shapley_values(E.keep),
    sf.shapley_interactions(E.keep),
    sf.top_k(E.keep, 1),
    sf.minimal_sufficient_factors(BASIS, y=True, tau=0.9),
    sf.probabilities_of_causation(SCM, "a", "b"),
    sf.causation_bounds(COUNTS, exogenous=True),
    EXPLAINER.plausibility(ROW, n_hybrids=5),
    EXPLAINER.plan(ROW),
    sf.audit.roles(E),
    sf.audit.reliance(E, "age", by="job"),
    sf.audit.cohort([E, E], by=["a", "b"]),
    sf.audit.global_factors([E, E], cover=0.5),
    FEW_CHANGES,
    sf.audit.compare(E, E.at(0.5), recourse=RECOURSE, explainer=EXPLAINER),
    STABILITY,
    sf.audit.reasons(E, {"age": ("A", "Age"), "job": ("J", "Job")}),
    sf.audit.grade(EXPLAINER, ROW, "age > 35 and job = a"),
    RECORD,
    sf.audit.verify(FOLDER, EXPLAINER, X[:2]),
    sf.audit.grade(EXPLAINER, ROW, {"rows": X[:3], "names": ["job", "age"], "none": None}),
]
"""One answer of each kind."""
