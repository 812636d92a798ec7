"""Figure 4, its twin in the appendix and Table 5: recourse on Adult income, LENS against DiCE.

LENS proposes sets of features, each with its cheapest change that flips the prediction, minimal
under the cost order. The paper runs it at τ = 0, where one reference that flips is enough, so the
same is done at τ = 0.5 and 0.9. Its values come from whole references; "any values" lets every
feature take every value that DiCE may choose, and so searches DiCE's own space to the end.
"""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from experiments.adult.candidates import Candidate, costs, from_recourse, from_rows
from experiments.adult.claims import claims, summaries
from experiments.adult.figures import draw_mean, draw_min_max
from experiments.adult.model import NUMBERS, setting
from experiments.peers.dice import GENERATIONS, METHODS, counterfactuals
from experiments.runner.lab import Lab
from experiments.runner.result import Result
from suffice import Explainer, datasets

SEED = 0
TOTAL = 5
EXAMPLE = {
    "age": 42,
    "workclass": "Government",
    "education": "HS-grad",
    "marital_status": "Single",
    "occupation": "Service",
    "race": "White",
    "gender": "Male",
    "hours_per_week": 40,
}
"""The input of Table 5."""

LENS: dict[str, dict[str, Any]] = {
    "LENS, τ = 0": {},
    "LENS, τ = 0.5": {"tau": 0.5},
    "LENS, τ = 0.9": {"tau": 0.9},
    "LENS, any values": {"values": "grid", "steps": dict.fromkeys(NUMBERS, 1)},
}
DICE = {f"DiCE, {method}": method for method in METHODS}
CHEAPEST = f"LENS, τ = 0, {TOTAL} cheapest"

NO_LIMIT = 10**9
"""Rows that the model may predict for one input: more than there are, so all sets are searched."""


def run(lab: Lab) -> Result:
    model, X, predicted = setting(lab.data)
    weights = datasets.adult_mlp(lab.data)
    same = int((model.predict(X) == predicted).sum())
    refused = np.flatnonzero(predicted == 0)
    rng = np.random.default_rng(SEED)
    inputs = rng.choice(refused, 50, replace=False)[: lab.size(50, 4)].tolist()
    [example, *_] = np.flatnonzero((X[list(EXAMPLE)] == pd.Series(EXAMPLE)).all(axis=1)).tolist()
    # The slow methods get fewer inputs: all of them and a few, or in a quick run two and none.
    by_method = {"genetic": inputs[: lab.size(50, 2)], "gradient": inputs[: lab.size(3, 0)]}
    settings = {
        "inputs": f"{len(inputs)} people predicted to earn at most 50K, seed {SEED}",
        "references": f"all {int((predicted == 1).sum()):,} rows predicted to earn over 50K",
        "cost": "|Δ| / median absolute deviation for age and hours, 1 for any other change",
        "DiCE": f"dice-ml, total_CFs={TOTAL}, seed {SEED}, otherwise as it comes, except at most "
        f"{GENERATIONS} generations of the genetic search; by gradients (PyTorch) only "
        f"{len(by_method['gradient'])} inputs and the example of Table 5",
        "predictions that came with the table, repeated": f"{same:,} of {len(X):,}",
        "Table 5": f"row {example}",
    }
    explainer = Explainer(model, X, random_state=SEED)
    found: dict[str, dict[int, list[Candidate]]] = {}
    for way, options in LENS.items():
        work = partial(_lens, explainer, X, options)
        found[way] = _each(lab, work, [*inputs, example], settings, way)
    found[CHEAPEST] = {i: options[:TOTAL] for i, options in found["LENS, τ = 0"].items()}
    for way, method in DICE.items():
        chosen = by_method.get(method, inputs)
        items = [*chosen, example] if chosen else []
        work = partial(_dice, model, weights, X, method)
        found[way] = _each(lab, work, items, settings, way)
    of_example = {way: by_input.pop(example, []) for way, by_input in found.items()}
    table = pd.DataFrame(
        [
            {"input": i, "way": way, "candidates": len(options), **costs(options)}
            for way, by_input in found.items()
            for i, options in by_input.items()
        ]
    )
    lower, valid = summaries(found)
    return Result(
        "Figure 4, Table 5: recourse on Adult income, LENS against DiCE",
        claims(found, lower, valid, of_example),
        settings,
        tables={
            "cost-by-input": table,
            "lower-cost": lower,
            "minimally-valid": valid,
            "table-5": _example_table(of_example),
            "candidates": _candidates_table(found),
        },
        figures={"mean-cost": draw_mean(table), "min-max-cost": draw_min_max(table)},
    )


def _each(
    lab: Lab, work: Any, items: list[int], settings: dict[str, Any], way: str
) -> dict[int, list[Candidate]]:
    label = way.replace(",", "").replace(" = ", " ")
    answers = lab.each(work, items, settings, label, code=(setting, from_rows, counterfactuals))
    return dict(zip(items, answers, strict=True))


def _lens(explainer: Explainer, X: pd.DataFrame, options: Any, i: int) -> list[Candidate]:
    r = explainer.recourse(X.iloc[[i]], budget=NO_LIMIT, progress=False, **options)
    assert r.complete
    return from_recourse(r)


def _dice(model: Any, weights: Any, X: pd.DataFrame, method: str, i: int) -> list[Candidate]:
    row = X.iloc[[i]]
    rows = counterfactuals(model, weights, X, row, method, TOTAL, SEED)
    return from_rows(row, rows, X)


def _example_table(of_example: dict[str, list[Candidate]]) -> pd.DataFrame:
    lines = _lines(of_example)
    return pd.DataFrame(lines).drop(columns="input")


def _candidates_table(found: dict[str, dict[int, list[Candidate]]]) -> pd.DataFrame:
    ways = {way: by_input for way, by_input in found.items() if way != CHEAPEST}
    inputs = list(found["LENS, τ = 0"])
    return pd.DataFrame(
        [
            line
            for i in inputs
            for line in _lines({way: by_input.get(i, []) for way, by_input in ways.items()}, i)
        ]
    )


def _lines(ways: dict[str, list[Candidate]], i: int | None = None) -> list[dict[str, Any]]:
    return [
        {
            "input": i,
            "way": way,
            "features to change": ", ".join(c["targets"]),
            "cost": c["cost"],
            "PS": "" if c["sufficiency"] is None else f"{c['sufficiency']:.4f}",
            "change": c["change"],
        }
        for way, options in ways.items()
        if way != CHEAPEST
        for c in options
    ]
