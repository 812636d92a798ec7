"""Goldens of what is refused and of what is offered: errors, signatures and schemas."""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any

import suffice
from suffice import Explainer, audit, compare, datasets, equals, plots, testing
from tools.goldens.data import NUMBERS, applicant, explainer, explanation, loans, simple
from tools.goldens.values import Calls, layout

# By call: arguments, each with values that it does not take.
EXPLAINER: dict[str, list[Any]] = {
    "references": ["nearest", [True]],
    "n_references": [0, 2.5],
    "groups": ["all", {"a": ["nothing"]}, {"a": ["age"], "b": ["age"]}],
    "random_state": [-1],
    "cost": [{"agee": 1.0}, {"age": -1.0}],
    "size_weights": [[1, 2], "flat"],
    "engine": ["tree", "additive"],
    "context": ["swap"],
    "outcome": ["granted", suffice.at_least(3)],
}
EXPLAIN: dict[str, list[Any]] = {
    "tau": [0, 2, "high"],
    "alpha": [1.5],
    "max_size": [0],
    "budget": [-3, 10],
    "time_limit": [0],
    "search": ["exhaustiv"],
    "adjust": ["holm", "fdr"],
    "progress": ["yes"],
}
RECOURSE: dict[str, list[Any]] = {
    "desired": ["maybe"],
    "immutable": ["agee"],
    "actionable": [["height"]],
    "ranges": [{"age": (50, 20)}, {"age": 3}],
    "steps": [{"age": 0}],
    "forbidden": ["debt"],
    "increasing": ["home"],
    "max_cost": [-1],
    "max_options": [0],
    "values": ["all"],
}
ANCHOR = {"bins": [1], "bounds": ["cells"], "distribution": ["x"], "features": ["height"]}


def mistakes() -> Calls:
    """Make every kind of mistake; the goldens are the messages."""
    base, row = simple(), applicant()
    made = partial(_explained, _is_old, loans()[0][NUMBERS], row)
    for name, call, table in (
        ("Explainer", made, EXPLAINER),
        ("explain", partial(base.explain, row), EXPLAIN),
        ("recourse", partial(base.recourse, row), RECOURSE),
        ("anchor", partial(base.anchor, row), ANCHOR),
    ):
        for argument, values in table.items():
            for value in values:
                yield f"{name} {argument}={value}", partial(call, **{argument: value})
    yield from of_models()
    yield from of_rows()
    yield from of_results()
    yield from of_audits()


def _is_old(rows: Any) -> Any:
    return rows["age"] > 40


def _explained(model: Any, data: Any, row: Any, **options: Any) -> Any:
    return Explainer(model, data, **options).explain(row)


def of_models() -> Calls:
    """Explain models and data that cannot be explained."""
    X, row = loans()[0][NUMBERS], applicant()
    yield "no model", partial(Explainer, 3, X)
    yield "a class as model", partial(Explainer, dict, X)
    yield "no data", partial(Explainer, _is_old, None)
    yield "empty data", partial(Explainer, _is_old, X.iloc[:0])
    yield "too few answers", partial(Explainer, lambda rows: [True], X)
    yield "failing model", partial(Explainer, lambda rows: rows["none"], X)
    yield "one answer", partial(_explained, lambda rows: ["same"] * len(rows), X, row)
    yield "another contrast", partial(simple().but, engine="trees")
    yield "unit", partial(suffice.TextExplainer, len, unit="letter")
    yield "no text", partial(suffice.TextExplainer(len).explain, 3)
    yield "no picture", partial(suffice.ImageExplainer(len).explain, "picture")
    yield "cycle", partial(suffice.CausalModel, [("a", "b"), ("b", "a")])
    yield "conditional", partial(suffice.ConditionalContext, n_drawn=0)
    yield "loans", partial(datasets.loans, 0)


def of_rows() -> Calls:
    """Explain rows that cannot be explained."""
    base, row = simple(), applicant()
    yield "bounds", partial(explainer("callable").explain, loans()[0].iloc[8], search="bounds")
    yield "missing column", partial(base.explain, {"age": 3})
    yield "unknown column", partial(base.explain, {**row.to_dict(), "height": 180})
    yield "wrong kind", partial(base.explain, {**row.to_dict(), "age": "old"})
    yield "too short", partial(base.explain, [1, 2])
    yield "no rows", partial(base.explain_many, [])
    yield "jobs", partial(base.explain_many, [row], n_jobs=0)
    yield "plausibility", partial(base.plausibility, row, n_hybrids=1)
    yield "score rule", partial(base.score_rule, row, equals("height", 3))


def of_results() -> Calls:
    """Ask results and stored texts for what they do not have."""
    e = explanation()
    yield "no such feature", partial(e.keep.sufficiency, ["agee"])
    yield "another tau", partial(e.at, 1.5)
    yield "another test", partial(e.at, adjust="holm")
    yield "kind of plot", partial(e.plot, "pie")
    yield "ax", partial(plots.factors, e, ax=3)
    yield "stored text", partial(suffice.Explanation.from_json, "{}")
    yield "another result", partial(suffice.View.from_json, e.to_json())
    yield "html path", partial(e.to_html, "/nowhere/page.html")
    yield "top k", partial(suffice.top_k, e.keep, 9)
    yield "interactions", partial(suffice.shapley_interactions, e.keep, order=9)
    yield "causes", partial(suffice.causation_bounds)
    yield "load", partial(suffice.load, "/nowhere")
    yield "relation", partial(compare, "age", "=>", 3)
    yield "intervals", partial(suffice.wilson, 5, 3)


def of_audits() -> Calls:
    """Make audits that cannot be made."""
    e, made = explanation(), simple()
    yield "roles of nothing", partial(audit.roles, [])
    yield "roles of others", partial(audit.roles, [3])
    yield "reliance", partial(audit.reliance, e, "agee")
    yield "cover", partial(audit.global_factors, e, cover=2)
    yield "catalogue", partial(audit.reasons, e, {"age": ("A", "Age")})
    yield "compare", partial(audit.compare, [e], [e, e])
    yield "grade", partial(audit.grade, made, applicant(), {"height": 1.0})
    yield "stability", partial(audit.stability, len, *loans(), k=0)
    yield "verify", partial(audit.verify, "/nowhere")
    yield "record", partial(audit.record, made, [[1]], "/nowhere", analyses={"role": {}})


def signatures() -> Calls:
    """Yield the parameters and defaults of every public callable, and of public methods."""
    for module in (suffice, audit, plots, datasets, testing):
        for name in sorted(module.__all__):
            offered = getattr(module, name)
            yield f"{module.__name__}.{name}", partial(parameters, offered)
            for method in vars(offered) if inspect.isclass(offered) else ():
                if not method.startswith("_"):
                    key = f"{module.__name__}.{name}.{method}"
                    yield key, partial(parameters, getattr(offered, method))


def parameters(offered: Any) -> str:
    """Return what a callable takes; of anything else, and of errors, its kind."""
    error = inspect.isclass(offered) and issubclass(offered, Exception)
    if error or not callable(offered):
        return " ".join(kind.__name__ for kind in (type(offered) if not error else offered).mro())
    given = inspect.signature(offered).parameters.values()
    return ", ".join(str(p.replace(annotation=inspect.Parameter.empty)) for p in given)


def schemas() -> Calls:
    """Yield the JSON schema of every public result, without its descriptions."""
    for module in (suffice, audit):
        for name in sorted(module.__all__):
            offered = getattr(module, name)
            stored = inspect.isclass(offered) and issubclass(offered, suffice.Result)
            if stored and not inspect.isabstract(offered):
                yield name, lambda kind=offered: layout(_bare(suffice.result_schema(kind)))


def _bare(schema: Any) -> Any:
    """Return a schema without its prose, which may be rewritten."""
    if isinstance(schema, list):
        return [_bare(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    prose = [k for k, v in schema.items() if k == "description" and isinstance(v, str)]
    return {k: _bare(v) for k, v in schema.items() if k not in prose}
