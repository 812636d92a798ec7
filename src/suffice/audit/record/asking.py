"""The analyses that ask a model, or compare with one: how a record calls each of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from suffice.audit.decisions import FEW, spread
from suffice.audit.drift.compare import compare
from suffice.audit.drift.result import Drift
from suffice.audit.grading.grade import grade
from suffice.audit.grading.many import Grades
from suffice.audit.record.analysis import Analysis, Arguments, Material
from suffice.audit.recourse import GlobalRecourse, global_recourse
from suffice.audit.stability.ask import stability
from suffice.audit.stability.result import Stability
from suffice.checks import whole
from suffice.results import Result
from suffice.tables import Table

__all__ = ["ASKING"]

Given = Mapping[str, Any]


def _recourse(m: Material, _: Given, asked: Arguments) -> Result:
    assert m.explainer is not None
    return global_recourse(m.explainer, _seen(m).native, **asked)


def _seen(m: Material) -> Table:
    """The decisions as the model sees them."""
    assert m.rows is not None and m.explainer is not None
    return m.rows.select([m.rows.position(name, "X") for name in m.explainer.data.names])


def _compared(m: Material, given: Given, asked: Arguments) -> Result:
    asked.pop("ids")  # both sides are stored, and have ids of their own
    return compare(given["with"], m.decisions, **asked)


def _retrained(m: Material, given: Given, asked: Arguments) -> Result:
    """With the model's own contrast, and models fitted to its own data."""
    assert m.explainer is not None
    of = m.explainer.decider
    rows, ids = _spread(m, asked.pop("rows", FEW))
    names = of.data.names
    groups = {
        name: [names[j] for j in columns]
        for name, columns in zip(of.players.names, of.players.columns, strict=True)
        if len(columns) > 1
    }
    asked = {"tau": m.decisions[0].tau, "random_state": of.seed, **asked, "ids": ids}
    return stability(
        given["fit"],
        of.data.native,
        given["y"],
        **asked,
        rows=rows,
        model=of.choice.model,
        outcome=of.outcome,
        references=of.references,
        n_references=of.n_references,
        groups=groups or None,
        context=of.context,
    )


def _graded(m: Material, given: Given, asked: Arguments) -> Result:
    assert m.explainer is not None
    rows, ids = _spread(m, asked.pop("rows", FEW))
    asked = {"tau": m.decisions[0].tau, **asked, "ids": ids}
    return grade(m.explainer, rows, given["other"], **asked)


def _spread(m: Material, asked: Any) -> tuple[Any, list[str]]:
    """So many decisions, spread evenly over all, as the model sees them; and their names."""
    places = spread(whole("rows", asked), len(m.ids))
    return _seen(m).take(places).native, [m.ids[place] for place in places]


ASKING = (
    Analysis(
        "global_recourse",
        "What would help the refused",
        global_recourse,
        GlobalRecourse,
        filled=("explainer", "X"),
        asks_model=True,
        call=_recourse,
    ),
    Analysis(
        "compare",
        "What changed",
        compare,
        Drift,
        filled=("a", "b", "recourse", "explainer", "desired"),
        given=("with",),
        call=_compared,
        tried=None,
    ),
    Analysis(
        "stability",
        "What holds when the model is trained again",
        stability,
        Stability,
        filled=("X", "model", "outcome", "references", "n_references", "groups", "context"),
        given=("fit", "y"),
        asks_model=True,
        call=_retrained,
        tried={"k": 1, "rows": 1},
    ),
    Analysis(
        "grade",
        "What other explainers say",
        grade,
        Grades,
        filled=("explainer", "x"),
        given=("other",),
        also=("rows",),
        asks_model=True,
        call=_graded,
        tried={"rows": 1},
    ),
)
