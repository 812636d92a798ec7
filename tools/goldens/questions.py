"""Everything else that is asked about one decision, and audits of several."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

import suffice
from suffice import audit, compare, testing
from tools.goldens.data import (
    NUMBERS,
    applicant,
    causes,
    explainer,
    explanation,
    loans,
    model,
    random_table,
    several,
    simple,
)
from tools.goldens.explanations import CASES
from tools.goldens.values import Calls, frozen, page


def recourse() -> Calls:
    """Find recourse: observed values, grids, wide tables, causes and limits."""
    row, unowned = applicant(), compare("debt", "<", 5) & compare("age", ">", 30)
    constraints: dict[str, dict[str, Any]] = {
        "plain": {},
        "tau": {"tau": 0.6},
        "desired": {"desired": "granted"},
        "immutable": {"immutable": "income"},
        "actionable": {"actionable": ["income", "debt"]},
        "ranges": {"ranges": {"income": (None, 60), "late payments": [0, 1]}},
        "directions": {"increasing": "age", "decreasing": ["debt"]},
        "steps": {"steps": {"income": 5, "debt": 2}},
        "forbidden": {"forbidden": unowned},
        "cost": {"cost": {"age": 9.0}, "max_cost": 5.0},
        "sizes": {"max_size": 2, "max_options": 2},
        "impossible": {"actionable": "age", "ranges": {"age": (20, 21)}},
        "budget": {"budget": 300},
    }
    for key, given in constraints.items():
        yield f"observed {key}", partial(simple().recourse, row, **given)
    for key in ("plain", "immutable", "ranges", "directions", "steps", "sizes", "budget"):
        given = {"max_size": 2, **constraints[key], "values": "grid"}
        yield f"grid {key}", partial(simple().recourse, row, **given)
    for name, engine, columns in (("callable", "blackbox", None), *CASES[-3:]):
        made = explainer(name, engine, columns)
        wide = (loans() if columns is None else random_table(columns))[0].iloc[8]
        for values in ("observed", "grid"):
            call = partial(made.recourse, wide, budget=3000, values=values, max_options=5)
            yield f"large {name} {engine} {columns} {values}", call
    for noise, values in (("sampled", "observed"), ("kept", "observed"), ("kept", "grid")):
        made = simple(engine="blackbox").but(
            context=suffice.CausalContext(causes(), noise=noise), n_references=20
        )
        call = partial(made.recourse, row, values=values, max_size=2, tau=0.5)
        yield f"causal {noise} {values}", call


def rules() -> Calls:
    """Find rules, and score given ones."""
    row, made = applicant(), simple()
    for key, options in {
        "plain": {},
        "observed": {"distribution": "observed", "tau": 0.8},
        "three bins": {"bins": 3, "bounds": "any"},
        "cuts": {"cuts": {"income": [30, 50]}, "max_size": 2},
        "tested": {"alpha": 0.05, "n_rows": 100, "features": ["income", "debt"]},
    }.items():
        yield key, partial(made.anchor, row, **options)
    yield "best", lambda: made.anchor(row).best
    rule = compare("income", "<=", 40) & compare("debt", ">", 10)
    yield "score", partial(made.score_rule, row, rule)
    yield "score observed", partial(made.score_rule, row, rule, distribution="observed")
    yield "mixed", partial(explainer("callable").anchor, loans()[0].iloc[8], max_size=2)


def attributions() -> Calls:
    """Give Shapley values, interactions, rankings, causation and plausibility."""
    for view in (explanation().keep, explanation().flip):
        yield f"{view.name} values", partial(suffice.shapley_values, view)
        for index in ("shapley", "shapley-taylor"):
            yield (
                f"{view.name} {index}",
                partial(suffice.shapley_interactions, view, order=3, index=index),
            )
        for k in (1, 2):
            yield f"{view.name} top {k}", partial(suffice.top_k, view, k)
        ranking = {"age": 0.5, "debt": -0.7, "income": 0.1, "late payments": 0.2}
        yield f"{view.name} ranked", partial(suffice.top_k, view, 2, ranking=ranking, absolute=True)
        yield f"{view.name} shapley", partial(simple().shapley, applicant(), view=view.name)
    fire = suffice.CausalModel(
        {"fire": ["match", "oxygen"]},
        mechanisms={"match": 0.1, "oxygen": 0.9, "fire": lambda match, oxygen: match & oxygen},
    )
    noisy = suffice.CausalModel(
        [("x", "y")],
        mechanisms={"x": {0: 0.5, 1: 0.5}, "y": suffice.additive(lambda x: 2 * x, std=0.1)},
    )
    yield "fire", partial(suffice.probabilities_of_causation, fire, "match", "fire")
    late = compare("y", ">", 1)
    ask = partial(suffice.probabilities_of_causation, noisy, ("x", 1, 0), late, n_worlds=500)
    yield "noisy", ask
    counts = {(True, True): 30, (True, False): 10, (False, True): 20, (False, False): 40}
    yield "bounds", partial(suffice.causation_bounds, counts)
    yield "exogenous bounds", partial(suffice.causation_bounds, counts, exogenous=True)
    yield "plausibility", partial(simple().plausibility, applicant(), n_hybrids=200)


def theory() -> Calls:
    """Read views at other thresholds, and apply Algorithm 1, orders, intervals and checks."""
    for view in (explanation().keep, explanation().flip):
        yield f"{view.name} at 0.5", partial(view.at, 0.5)
        yield f"{view.name} tested", partial(view.at, 0.6, alpha=0.1, adjust="bonferroni")
        yield f"{view.name} curve", partial(str, (view.curve, view.barcode, view.digest, view.best))
        yield f"{view.name} measures", partial(view.measures, ["income", "debt"])
        yield f"{view.name} closure", partial(view.measures, "debt", upward_closure=True)
    yield "plan", partial(simple().plan, applicant(), search="greedy")
    z = pd.DataFrame({"income": [20, 60, 80, 30], "age": [30, 50, 40, 60]})
    rich, old = compare("income", ">", 50), compare("age", ">", 35)
    target = suffice.make_target(lambda rows: rows["income"] > 50, z, True)
    costs = suffice.CostOrder(lambda c: len(repr(c)))
    for order in (suffice.SubsetOrder(), costs):
        basis = suffice.Basis(
            target, suffice.Sample(z), [rich, old, rich & old, rich | ~old], order
        )
        ask = partial(suffice.minimal_sufficient_factors, basis, y=True, tau=0.6)
        yield f"algorithm 1 {type(order).__name__}", ask
        yield (
            f"check {type(order).__name__}",
            partial(testing.check_order, order, [rich, old, rich & old]),
        )
    yield "factor", lambda: [repr(~rich | old), (rich & old).to_json()]
    yield (
        "intervals",
        lambda: [
            np.array(f([0, 3, 9], 10)).tolist() for f in (suffice.wilson, suffice.clopper_pearson)
        ],
    )
    yield "check context", partial(testing.check_context, suffice.SwapContext(), z)
    rows = random_table(10)[0].iloc[:30]
    read = partial(testing.check_reader, rows=rows, engine="trees")
    yield "check reader", partial(read, model("forest", 10))


CATALOGUE = {name: {"any": (name[0].upper(), f"About {name}")} for name in NUMBERS}


def audits() -> Calls:
    """Make every audit of twelve decisions."""
    found, rivals, made = several(), several(1), simple()
    people, y = loans()[0][NUMBERS], loans()[1]
    by = ["old" if age > 40 else "young" for age in people["age"].iloc[:12]]
    yield "roles", partial(audit.roles, found)
    yield "roles of one", partial(audit.roles, found[8], tau=0.7)
    yield "reliance", partial(audit.reliance, found, ["age"], by=by)
    yield "reliance of sets", partial(audit.reliance, found, {"money": ["income", "debt"]})
    yield "cohort", partial(audit.cohort, found, by="age")
    yield "global factors", partial(audit.global_factors, found, cover=0.8)
    yield "global flips", partial(audit.global_factors, found, view="flip", tau=0.7)
    yield "reasons", partial(audit.reasons, found, CATALOGUE, adverse="refused", k=2)
    yield "letter", lambda: audit.reasons(found[8], CATALOGUE).letter()
    yield "compare", partial(audit.compare, found, rivals, catalogue=CATALOGUE)
    ways = [made.recourse(people.iloc[i], max_options=1) for i in range(12)]
    yield (
        "compare recourse",
        partial(audit.compare, found, rivals, recourse=ways, explainer=simple(1)),
    )
    yield "distance", partial(audit.barcode_distance, found[8].keep, rivals[8].keep)
    for key, given in {"free": {}, "bound": {"immutable": "age", "max_size": 1}}.items():
        ask = partial(audit.global_recourse, made, people.iloc[:40], desired="granted", **given)
        yield f"global recourse {key}", ask
    from sklearn.tree import DecisionTreeClassifier

    tree, rows = DecisionTreeClassifier(max_depth=4, random_state=0), people.iloc[[8, 9]]
    yield "stability", partial(audit.stability, tree, people, y, k=3, rows=rows, recourse=True)
    claims = {
        "ranking": {"age": 0.5, "debt": -0.7, "income": 0.1},
        "set": {"age", "debt"},
        "rule": "income <= 40 and debt > 10",
        "rows": people.iloc[:2],
    }
    for key, claim in claims.items():
        yield f"grade {key}", partial(audit.grade, made, applicant(), claim)
    rankings = {"ranking": claims["ranking"], "rule": claims["rule"]}
    yield "grades", partial(audit.grade, made, people.iloc[:3], rankings)
    yield "catalogue", partial(audit.read_catalogue, CATALOGUE)
    yield "report", lambda: page(suffice.report([frozen(e) for e in found[:3]]))
