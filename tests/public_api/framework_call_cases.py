"""Calls of causes, factors, orders, targets and intervals."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import suffice as sf
from suffice.tables import as_table
from tests.example_results import (
    BASIS,
    COUNTS,
    FACTORS,
    PAY_MODEL,
    PEOPLE,
    SAMPLE,
    SCM,
    TARGET,
    X,
    age_regressor,
    explanation,
    model,
)
from tests.public_api.call_cases import (
    NAMES,
    NUMBER,
    POSITIVE,
    PROGRESS,
    SCALAR,
    TEXTUAL,
    CallCase,
    explain,
)


def explain_in_context(**given: Any) -> Any:
    return explain(model=model, data=X, context=sf.ConditionalContext(**given))


def sample_with_mechanism(**mechanism: Any) -> Any:
    scm = sf.CausalModel([("age", "pay")], PEOPLE, mechanisms={"pay": mechanism["made"]})
    return scm.sample(3)


def explain_in_causal_context(**given: Any) -> Any:
    explainer = sf.Explainer(lambda r: r["pay"] > 70, PEOPLE, context=sf.CausalContext(**given))
    return explainer.explain(PEOPLE.iloc[0])


def counterfactual_with_noise(**given: Any) -> Any:
    scm = sf.CausalModel([("a", "b")], mechanisms={"a": 0.5, "b": sf.noisy(**given)})
    return scm.sample(3), scm.counterfactual({"a": True, "b": True}, do={"a": False})


def two_scores(rows: Any) -> Any:
    return np.c_[rows["age"], rows["age"][::-1]]


def versus(**given: Any) -> Any:
    return sf.make_target(sf.adapt(two_scores, classes=("yes", "no")), X, sf.versus(**given))


def basis(**given: Any) -> Any:
    return sf.minimal_sufficient_factors(sf.Basis(**given), y=True, tau=0.9)


def basis_with_order(order: Any) -> Any:
    return sf.Basis(TARGET, SAMPLE, FACTORS, order)


@cache
def make_cases() -> list[CallCase]:
    view = explanation().keep
    return [
        CallCase(
            "CausalModel",
            sf.CausalModel,
            {
                "dag": [("age", "job")],
                "data": X,
                "mechanisms": None,
                "fit": "paper",
                "categorical": (),
                "random_state": 0,
            },
            {"mechanisms": "none nothing", "categorical": NAMES, "random_state": "zero"},
            {"data": "mechanisms"},
        ),
        *[
            CallCase(f"CausalModel.{name}", getattr(SCM, name), {"node": "a"})
            for name in ("parents", "children", "ancestors", "descendants")
        ],
        CallCase(
            "CausalModel.sample",
            SCM.sample,
            {"n": 3, "do": None, "random_state": 0},
            {"do": "none nothing", "random_state": "zero"},
        ),
        CallCase("CausalModel.draw", SCM.draw, {"n": 3, "rng": np.random.default_rng(0)}),
        CallCase(
            "CausalModel.solve",
            SCM.solve,
            {"noise": SCM.draw(3, np.random.default_rng(0)), "do": None},
            {"do": "none nothing"},
        ),
        CallCase(
            "CausalModel.counterfactual",
            SCM.counterfactual,
            {
                "rows": {"a": True, "b": True},
                "do": {"a": False},
                "noise": "kept",
                "random_state": 0,
            },
            {"do": "none nothing", "random_state": "zero"},
        ),
        CallCase("CausalModel.from_dowhy", SCM.from_dowhy, {"model": None}),
        CallCase(
            "additive",
            lambda **given: sample_with_mechanism(made=sf.additive(**given)),
            {"mean": lambda age: age, "std": None, "noise": None},
            {"std": "none zero half huge long", "noise": "none"},
            {"mean": "mechanisms", "noise": "mechanisms"},
        ),
        CallCase(
            "noisy",
            counterfactual_with_noise,
            {"function": lambda noise, a: a ^ noise, "noise": 0.1, "inverse": None},
            {"noise": "zero", "inverse": "none"},
            {"function": "mechanisms", "noise": "mechanisms", "inverse": "mechanisms"},
        ),
        CallCase(
            "CausalContext", explain_in_causal_context, {"scm": PAY_MODEL, "noise": "sampled"}
        ),
        CallCase(
            "ConditionalContext",
            explain_in_context,
            {"n_drawn": 2, "sampler": None},
            {"sampler": "none"},
        ),
        CallCase(
            "probabilities_of_causation",
            sf.probabilities_of_causation,
            {"scm": SCM, "cause": "a", "effect": "b", "n_worlds": None, "random_state": 0},
            {"n_worlds": "none", "random_state": "zero"},
        ),
        CallCase(
            "causation_bounds",
            sf.causation_bounds,
            {
                "observational": COUNTS,
                "experimental": None,
                "monotone": False,
                "exogenous": True,
                "tolerance": 0.1,
            },
            {"experimental": "none", "monotone": "true", "exogenous": "true", "tolerance": "zero"},
        ),
        CallCase(
            "causation_bounds",
            sf.causation_bounds,
            {"observational": None, "experimental": {True: 0.5, False: 0.2}},
            {"observational": "none"},
        ),
        CallCase("shapley_values", sf.shapley_values, {"view": view}),
        CallCase(
            "shapley_interactions",
            sf.shapley_interactions,
            {"view": view, "order": 2, "index": "shapley", "progress": None},
            {"progress": PROGRESS},
        ),
        CallCase(
            "top_k",
            sf.top_k,
            {"view": view, "k": 1, "ranking": None, "absolute": False},
            {"k": "zero", "ranking": "none", "absolute": "true"},
        ),
        CallCase(
            "Basis",
            basis,
            {"target": TARGET, "sample": SAMPLE, "factors": FACTORS, "order": sf.SubsetOrder()},
        ),
        CallCase(
            "CostOrder",
            lambda cost: basis_with_order(sf.CostOrder(cost)),
            {"cost": lambda factor: 1.0},
        ),
        CallCase(
            "CustomOrder",
            lambda no_worse: basis_with_order(sf.CustomOrder(no_worse)),
            {"no_worse": lambda a, b: a == b},
        ),
        *[
            CallCase(
                f"{type(order).__name__}.matrix",
                order.matrix,
                {"factors": FACTORS},
                {"factors": "empty"},
            )
            for order in (
                sf.SubsetOrder(),
                sf.CostOrder(lambda factor: 1.0),
                sf.CustomOrder(lambda a, b: a == b),
            )
        ],
        CallCase(
            "minimal_sufficient_factors",
            sf.minimal_sufficient_factors,
            {"basis": BASIS, "y": True, "tau": 0.9, "alpha": 0.05, "adjust": "none"},
            {"y": "true", "alpha": "none"},
        ),
        CallCase(
            "Sample",
            sf.Sample,
            {"sample": X, "auxiliaries": ["job"]},
            {"auxiliaries": NAMES},
            {"sample": "auxiliaries"},
        ),
        CallCase(
            "Target",
            lambda **given: sf.Target(**given)(as_table(X)),
            {"model": TARGET.model, "event": TARGET.event},
        ),
        CallCase("Target.__call__", TARGET.__call__, {"rows": as_table(X)}),
        CallCase("Target.answers", TARGET.answers, {"rows": as_table(X)}),
        CallCase(
            "Target.read",
            TARGET.read,
            {"answers": np.array(["yes", "no"])},
            {"answers": "array"},
            {"answers": "outcome"},
        ),
        CallCase("make_target", sf.make_target, {"model": model, "data": X, "outcome": "yes"}),
        CallCase(
            "adapt",
            lambda **given: explain(model=sf.adapt(**given), data=X),
            {
                "model": lambda rows: rows["age"] / 10.0,
                "classes": ("a", "b"),
                "threshold": 4.0,
                "batch_size": None,
                "device": None,
                "preprocess": None,
            },
            {
                "classes": "array",
                "batch_size": "none",
                "device": "none",
                "preprocess": "none",
            },
            {"threshold": "references"},  # past every score there is nothing to contrast with
        ),
        CallCase("at_least", sf.at_least, {"threshold": 1}, {"threshold": NUMBER}),
        CallCase("at_most", sf.at_most, {"threshold": 1}, {"threshold": NUMBER}),
        CallCase("within", sf.within, {"delta": 1}, {"delta": POSITIVE}),
        CallCase(
            "versus",
            versus,
            {"label": "yes", "foil": "no"},
            {},
            {"label": "outcome", "foil": "outcome"},
        ),
        CallCase(
            "satisfies",
            lambda **given: sf.make_target(age_regressor, X, sf.satisfies(**given))(as_table(X)),
            {"predicate": lambda values: values > 50, "name": "more than 50"},
            {"name": TEXTUAL},
            {"predicate": "outcome"},
        ),
        CallCase(
            "equals",
            lambda **given: sf.equals(**given)(SAMPLE),
            {"column": "job", "value": "a"},
            {"value": SCALAR},
        ),
        CallCase(
            "isin",
            lambda **given: sf.isin(**given)(SAMPLE),
            {"column": "job", "values": ["a"]},
            {"values": "list nones array generator"},
        ),
        CallCase(
            "between",
            lambda **given: sf.between(**given)(SAMPLE),
            {"column": "age", "low": 1, "high": 40},
            {"low": "minus zero half", "high": "half huge long"},
        ),
        CallCase(
            "compare",
            lambda **given: sf.compare(**given)(SAMPLE),
            {"column": "age", "relation": "<", "value": 40},
            {"value": "true minus zero half huge inf"},
            {"value": "factor"},
        ),
        CallCase(
            "auxiliary",
            lambda **given: sf.auxiliary(**given)(SAMPLE),
            {"name": "tag"},
            {},
            {"name": "column"},
        ),
        CallCase(
            "held", lambda players: sf.held(players), {"players": "age"}, {"players": TEXTUAL}
        ),
        CallCase("Factor.__call__", lambda z: FACTORS[0](z), {"z": SAMPLE}, {}, {"z": "column"}),
        CallCase(
            "Factor.__and__",
            lambda other: FACTORS[0] & other,
            {"other": FACTORS[1]},
            {},
            {"other": "&"},
        ),
        CallCase(
            "Factor.__or__",
            lambda other: FACTORS[0] | other,
            {"other": FACTORS[1]},
            {},
            {"other": "|"},
        ),
        CallCase("factor_from_json", sf.factor_from_json, {"text": FACTORS[0].to_json()}),
        *[
            CallCase(
                interval.__name__,
                interval,
                {"hits": 1, "n": 10, "level": 0.9},
                {"hits": "zero half empty matrix", "n": "half huge long empty matrix"},
            )
            for interval in (sf.clopper_pearson, sf.wilson)
        ],
        CallCase("result_schema", sf.result_schema, {"result": sf.Recourse}),
        CallCase(
            "loans", sf.datasets.loans, {"n": 10, "random_state": 7}, {"random_state": "zero"}
        ),
    ]
