"""Any rule, from a user or another tool, measured as a factor: prec(A) = PS(c_A, y) (Prop. 2)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypedDict

import numpy as np

from suffice.checks import choice, threshold
from suffice.context.references import with_columns_of
from suffice.decision import Decides, Decision
from suffice.encodings.anchors.conditions import Conditions, conditions_of, holds
from suffice.encodings.anchors.perturbed import perturb
from suffice.encodings.anchors.rule import Distribution, InData, Judged, Rule
from suffice.encodings.anchors.search import DISTRIBUTIONS, check_explainer, outcomes_of_data
from suffice.errors import InputError
from suffice.factors.kinds import Factor
from suffice.tables.frames import as_table
from suffice.tables.table import Table
from suffice.target import Outcome

__all__ = ["ScoreOptions", "score_rule"]


class ScoreOptions(TypedDict, total=False):
    """What can be asked besides the input and the rule: see `score_rule`."""

    sample: Any
    distribution: Distribution | None
    tau: float


def score_rule(
    explainer: Decides,
    x: Any,
    rule: Factor | None,
    *,
    sample: Any = None,
    distribution: Distribution | None = None,
    tau: float = 0.9,
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
        that satisfy the rule. In place of `distribution`.
    distribution
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
    >>> explainer = Explainer(model, X, outcome="granted")
    >>> scored = score_rule(explainer, None, rule, distribution="observed")
    >>> scored.words, round(scored.precision, 3), scored.n
    ('income > 60 and debt ≤ 10', 0.952, 63)
    """
    tau = threshold(tau)
    check_explainer(explainer)
    given: object = rule
    if given is not None and not isinstance(given, Factor):
        hint = "Make one with equals, isin, between or compare, joined by & and |."
        raise InputError("rule", given, "a factor, or None for the empty rule", hint)
    if distribution is not None:
        distribution = choice("distribution", distribution, DISTRIBUTIONS)
        if sample is not None:
            raise InputError("distribution", f"{distribution!r} and a sample", "one of the two")
    decision = explainer.decide(x) if x is not None else _decision_without_input(explainer)
    data, has_outcome = decision.data, outcomes_of_data(decision)
    conditions = Conditions() if rule is None else conditions_of(rule, data, decision.players)
    met = holds(rule, data)
    both = met & has_outcome
    in_data = InData(len(data), *(int(rows.sum()) for rows in (met, has_outcome, both)))
    judged: Judged = distribution or "perturbed"
    if sample is not None:
        judged = "sample"
        like = with_columns_of(data, as_table(sample, data.names, "sample"), "sample")
        n, hits = _ask(decision, like.take(np.flatnonzero(holds(rule, like))))
    elif judged == "observed":
        n, hits = in_data.met, in_data.both
    else:
        n, hits = _ask(decision, _perturbed(decision, conditions))
    outcome = decision.target.event.describe(decision.y)
    return Rule(rule, outcome, judged, n, hits, in_data, tau)  # type: ignore[arg-type]


def _perturbed(decision: Decision, conditions: Conditions) -> Table:
    hybrids = perturb(decision, conditions)
    held = np.ones((hybrids.n, hybrids.d), dtype=bool)
    return hybrids.rows(held, np.arange(hybrids.n))


def _ask(decision: Decision, rows: Table) -> tuple[int, int]:
    """How many rows there are, and how many have the outcome; no rows, no model call."""
    if not len(rows):
        return 0, 0
    return len(rows), int((decision.target(rows) == decision.y).sum())


def _decision_without_input(explainer: Decides) -> Decision:
    """A decision about the explainer's own outcome: any row of its data will do for input."""
    outcome = explainer.outcome
    if outcome is None or (isinstance(outcome, Outcome) and outcome.depends_on_input):
        raise InputError(
            "x",
            "None, and an outcome that depends on the input",
            "an input, or an explainer with an outcome of its own",
            "For example Explainer(model, data, outcome='granted').",
        )
    return replace(explainer.decide(explainer.data.take(np.array([0]))), y=True)
