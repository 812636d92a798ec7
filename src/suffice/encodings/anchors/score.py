"""Any rule, from a user or another tool, measured as a factor: prec(A) = PS(c_A, y) (Prop. 2)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from suffice.checks import threshold
from suffice.context.references import with_columns_of
from suffice.context.sample import Sample
from suffice.decision import Decides, Decision
from suffice.encodings.anchors.conditions import Conditions, conditions_of
from suffice.encodings.anchors.perturbed import perturb
from suffice.encodings.anchors.rule import Rule, make_rule
from suffice.encodings.anchors.search import (
    ContextName,
    check_context,
    check_explainer,
    outcomes_of_data,
)
from suffice.errors import InputError
from suffice.factors.kinds import Factor
from suffice.tables.frames import as_table
from suffice.tables.table import Table
from suffice.typing import BoolVector

__all__ = ["score_rule"]


def score_rule(
    explainer: Decides,
    x: Any,
    rule: Factor | None,
    *,
    sample: Any = None,
    context: ContextName | None = None,
    tau: float = 0.95,
) -> Rule:
    """Precision, coverage and necessity of any rule for the outcome of `x`.

    Parameters
    ----------
    explainer
        As for `anchor`.
    x
        The input whose outcome the rule is for. None: the outcome that the explainer was given.
    rule
        A factor on columns of the data; None for the empty rule. It need not hold of `x`.
    sample
        Rows already drawn, by another tool or from elsewhere: precision is taken over those of them
        that satisfy the rule. In place of `context`.
    context
        As for `anchor`; "perturbed" by default. The parts of a conjunction that read different
        features are perturbed each for itself, so a rule of `anchor` gets the precision it had
        there; parts that read a feature in common take their values from one row.
    tau
        What `p_value` tests against.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from suffice import Explainer, compare, datasets
    >>> X, y = datasets.loans()
    >>> model = RandomForestClassifier(random_state=0).fit(X[["income", "debt"]], y)
    >>> rule = compare("income", ">", 60) & compare("debt", "<=", 10)
    >>> scored = score_rule(Explainer(model, X, outcome="granted"), None, rule, context="observed")
    >>> str(scored), round(scored.precision, 3), scored.n
    ('income > 60 and debt ≤ 10', 0.952, 63)
    """
    tau = threshold(tau)
    check_explainer(explainer)
    given: object = rule
    if given is not None and not isinstance(given, Factor):
        hint = "Make one with equals, isin, between or compare, joined by & and |."
        raise InputError("rule", given, "a factor, or None for the empty rule", hint)
    if context is not None:
        check_context(context)
        if sample is not None:
            raise InputError("context", f"{context!r} and a sample", "one of the two")
    decision = explainer.decide(x) if x is not None else _decision_without_input(explainer)
    data, has_outcome = decision.data, outcomes_of_data(decision)
    conditions = Conditions() if rule is None else conditions_of(rule, data, decision.players)
    of_data = _holds(rule, data)
    met = int(of_data.sum()), int((of_data & has_outcome).sum())
    if sample is not None:
        like = with_columns_of(data, as_table(sample, data.names, "sample"), "sample")
        counted = _ask(decision, like.take(np.flatnonzero(_holds(rule, like))))
    elif context == "observed":
        counted = met[1], met[0]
    else:
        counted = _ask(decision, _perturbed(decision, conditions))
    return make_rule(rule, counted, met, has_outcome, float(tau))


def _holds(rule: Factor | None, rows: Table) -> BoolVector:
    return np.ones(len(rows), dtype=bool) if rule is None else rule(Sample(rows))


def _perturbed(decision: Decision, conditions: Conditions) -> Table:
    context = perturb(decision, conditions)
    held = np.ones((context.n, context.d), dtype=bool)
    return context.rows(held, np.arange(context.n))


def _ask(decision: Decision, rows: Table) -> tuple[int, int]:
    """How many of the rows have the outcome, and how many there are; no rows, no model call."""
    if not len(rows):
        return 0, 0
    return int((decision.target(rows) == decision.y).sum()), len(rows)


def _decision_without_input(explainer: Decides) -> Decision:
    """A decision about the explainer's own outcome: any row of its data will do for input."""
    data, outcome = (getattr(explainer, name, None) for name in ("_data", "_outcome"))
    if data is None or outcome is None or str(outcome).startswith("within("):
        raise InputError(
            "x",
            "None, and an outcome that depends on the input",
            "an input, or an explainer with an outcome of its own",
            "For example Explainer(model, data, outcome='granted').",
        )
    return replace(explainer.decide(data.take(np.array([0]))), y=True)
