"""The doors to causes, factors, orders, targets and intervals."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import suffice as sf
from suffice.tables import as_table
from tests.doors import (
    NAMES,
    NUMBER,
    POSITIVE,
    PROGRESS,
    SCALAR,
    TEXTUAL,
    Door,
    explain,
)
from tests.tiny import (
    BASIS,
    COUNTS,
    PAY,
    PEOPLE,
    SAMPLE,
    SCM,
    TAGGED,
    TARGET,
    X,
    explanation,
    model,
    twice_the_age,
)


def in_context(**given: Any) -> Any:
    return explain(model=model, data=X, context=sf.ConditionalContext(**given))


def causes(**mechanism: Any) -> Any:
    scm = sf.CausalModel([("age", "pay")], PEOPLE, mechanisms={"pay": mechanism["made"]})
    return scm.sample(3)


def by_causes(**given: Any) -> Any:
    explainer = sf.Explainer(lambda r: r["pay"] > 70, PEOPLE, context=sf.CausalContext(**given))
    return explainer.explain(PEOPLE.iloc[0])


def inverse(**given: Any) -> Any:
    scm = sf.CausalModel([("a", "b")], mechanisms={"a": 0.5, "b": sf.noisy(**given)})
    return scm.sample(3), scm.counterfactual({"a": True, "b": True}, do={"a": False})


def two_scores(rows: Any) -> Any:
    return np.c_[rows["age"], rows["age"][::-1]]


def versus(**given: Any) -> Any:
    return sf.make_target(sf.adapt(two_scores, classes=("yes", "no")), X, sf.versus(**given))


def basis(**given: Any) -> Any:
    return sf.minimal_sufficient_factors(sf.Basis(**given), y=True, tau=0.9)


def ordered(order: Any) -> Any:
    return sf.Basis(TARGET, SAMPLE, TAGGED, order)


@cache
def doors() -> list[Door]:
    view = explanation().keep
    return [
        Door(
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
            Door(f"CausalModel.{name}", getattr(SCM, name), {"node": "a"})
            for name in ("parents", "children", "ancestors", "descendants")
        ],
        Door(
            "CausalModel.sample",
            SCM.sample,
            {"n": 3, "do": None, "random_state": 0},
            {"do": "none nothing", "random_state": "zero"},
        ),
        Door("Equations.draw", SCM.draw, {"n": 3, "rng": np.random.default_rng(0)}),
        Door(
            "Equations.solve",
            SCM.solve,
            {"noise": SCM.draw(3, np.random.default_rng(0)), "do": None},
            {"do": "none nothing"},
        ),
        Door(
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
        Door("CausalModel.from_dowhy", SCM.from_dowhy, {"model": None}),
        Door(
            "additive",
            lambda **given: causes(made=sf.additive(**given)),
            {"mean": lambda age: age, "std": None, "noise": None},
            {"std": "none zero half huge long", "noise": "none"},
            {"mean": "mechanisms", "noise": "mechanisms"},
        ),
        Door(
            "noisy",
            inverse,
            {"function": lambda noise, a: a ^ noise, "noise": 0.1, "inverse": None},
            {"noise": "zero", "inverse": "none"},
            {"function": "mechanisms", "noise": "mechanisms", "inverse": "mechanisms"},
        ),
        Door("CausalContext", by_causes, {"scm": PAY, "noise": "sampled"}),
        Door(
            "ConditionalContext", in_context, {"n_drawn": 2, "sampler": None}, {"sampler": "none"}
        ),
        Door(
            "probabilities_of_causation",
            sf.probabilities_of_causation,
            {"scm": SCM, "cause": "a", "effect": "b", "n_worlds": None, "random_state": 0},
            {"n_worlds": "none", "random_state": "zero"},
        ),
        Door(
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
        Door(
            "causation_bounds",
            sf.causation_bounds,
            {"observational": None, "experimental": {True: 0.5, False: 0.2}},
            {"observational": "none"},
        ),
        Door("shapley_values", sf.shapley_values, {"view": view}),
        Door(
            "shapley_interactions",
            sf.shapley_interactions,
            {"view": view, "order": 2, "index": "shapley", "progress": None},
            {"progress": PROGRESS},
        ),
        Door(
            "top_k",
            sf.top_k,
            {"view": view, "k": 1, "ranking": None, "absolute": False},
            {"k": "zero", "ranking": "none", "absolute": "true"},
        ),
        Door(
            "Basis",
            basis,
            {"target": TARGET, "sample": SAMPLE, "factors": TAGGED, "order": sf.SubsetOrder()},
        ),
        Door("CostOrder", lambda cost: ordered(sf.CostOrder(cost)), {"cost": lambda factor: 1.0}),
        Door(
            "CustomOrder",
            lambda no_worse: ordered(sf.CustomOrder(no_worse)),
            {"no_worse": lambda a, b: a == b},
        ),
        *[
            Door(
                f"{type(order).__name__}.matrix",
                order.matrix,
                {"factors": TAGGED},
                {"factors": "empty"},
            )
            for order in (
                sf.SubsetOrder(),
                sf.CostOrder(lambda factor: 1.0),
                sf.CustomOrder(lambda a, b: a == b),
            )
        ],
        Door(
            "minimal_sufficient_factors",
            sf.minimal_sufficient_factors,
            {"basis": BASIS, "y": True, "tau": 0.9, "alpha": 0.05, "adjust": "none"},
            {"y": "true", "alpha": "none"},
        ),
        Door(
            "Sample",
            sf.Sample,
            {"sample": X, "auxiliaries": ["job"]},
            {"auxiliaries": NAMES},
            {"sample": "auxiliaries"},
        ),
        Door(
            "Target",
            lambda **given: sf.Target(**given)(as_table(X)),
            {"model": TARGET.model, "event": TARGET.event},
        ),
        Door("Target.__call__", TARGET.__call__, {"rows": as_table(X)}),
        Door(
            "Target.read",
            TARGET.read,
            {"answers": np.array(["yes", "no"])},
            {"answers": "array"},
            {"answers": "outcome"},
        ),
        Door("make_target", sf.make_target, {"model": model, "data": X, "outcome": "yes"}),
        Door(
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
        Door("at_least", sf.at_least, {"threshold": 1}, {"threshold": NUMBER}),
        Door("at_most", sf.at_most, {"threshold": 1}, {"threshold": NUMBER}),
        Door("within", sf.within, {"delta": 1}, {"delta": POSITIVE}),
        Door(
            "versus",
            versus,
            {"label": "yes", "foil": "no"},
            {},
            {"label": "outcome", "foil": "outcome"},
        ),
        Door(
            "satisfies",
            lambda **given: sf.make_target(twice_the_age, X, sf.satisfies(**given))(as_table(X)),
            {"predicate": lambda values: values > 50, "name": "more than 50"},
            {"name": TEXTUAL},
            {"predicate": "outcome"},
        ),
        Door(
            "equals",
            lambda **given: sf.equals(**given)(SAMPLE),
            {"column": "job", "value": "a"},
            {"value": SCALAR},
        ),
        Door(
            "isin",
            lambda **given: sf.isin(**given)(SAMPLE),
            {"column": "job", "values": ["a"]},
            {"values": "list nones array generator"},
        ),
        Door(
            "between",
            lambda **given: sf.between(**given)(SAMPLE),
            {"column": "age", "low": 1, "high": 40},
            {"low": "minus zero half", "high": "half huge long"},
        ),
        Door(
            "compare",
            lambda **given: sf.compare(**given)(SAMPLE),
            {"column": "age", "relation": "<", "value": 40},
            {"value": "true minus zero half huge inf"},
            {"value": "factor"},
        ),
        Door(
            "auxiliary",
            lambda **given: sf.auxiliary(**given)(SAMPLE),
            {"name": "tag"},
            {},
            {"name": "column"},
        ),
        Door("held", lambda players: sf.held(players), {"players": "age"}, {"players": TEXTUAL}),
        Door("Factor.__call__", lambda z: TAGGED[0](z), {"z": SAMPLE}, {}, {"z": "column"}),
        Door(
            "Factor.__and__",
            lambda other: TAGGED[0] & other,
            {"other": TAGGED[1]},
            {},
            {"other": "&"},
        ),
        Door(
            "Factor.__or__",
            lambda other: TAGGED[0] | other,
            {"other": TAGGED[1]},
            {},
            {"other": "|"},
        ),
        Door("factor_from_json", sf.factor_from_json, {"text": TAGGED[0].to_json()}),
        *[
            Door(
                interval.__name__,
                interval,
                {"hits": 1, "n": 10, "level": 0.9},
                {"hits": "zero half empty matrix", "n": "half huge long empty matrix"},
            )
            for interval in (sf.clopper_pearson, sf.wilson)
        ],
        Door("result_schema", sf.result_schema, {"result": sf.Recourse}),
        Door("loans", sf.datasets.loans, {"n": 10, "random_state": 7}, {"random_state": "zero"}),
    ]
