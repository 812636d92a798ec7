"""From an input to its rules: Anchors' question, answered for every rule (Prop. 2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import comb
from typing import Any, Literal, cast, get_args

import numpy as np

from suffice.checks import level, threshold
from suffice.decision import Decides, Decision
from suffice.encodings.anchors.conditions import Conditions, make_conditions
from suffice.encodings.anchors.cutting import BoundsName, make_cutting
from suffice.encodings.anchors.observed import count_observed
from suffice.encodings.anchors.perturbed import count_perturbed, perturb
from suffice.encodings.anchors.rules import AnchorRules
from suffice.errors import InputError
from suffice.search.limits import EXHAUSTIVE_PLAYERS
from suffice.typing import BoolVector

__all__ = ["ContextName", "anchor", "check_context", "check_explainer", "outcomes_of_data"]

ContextName = Literal["perturbed", "observed"]


def anchor(
    explainer: Decides,
    x: Any,
    tau: float = 0.95,
    alpha: float | None = None,
    *,
    bins: int = 4,
    cuts: Mapping[str, Sequence[float]] | None = None,
    categorical: Iterable[str] = (),
    context: ContextName = "perturbed",
    bounds: BoundsName = "cell",
    n: int | None = None,
    max_size: int | None = None,
    columns: Sequence[str] | None = None,
) -> AnchorRules:
    """Find every τ-minimal rule that the input satisfies, and the one that covers most.

    A rule is a conjunction of conditions on the explainer's features or groups. A column of numbers
    must stay in the interval (low, high] between cuts that holds the input's value; any other must
    have the input's value (or be missing, as the input's is). So must numbers that take at most
    `bins` values in the data, unless cuts are given for them. A group's condition is the
    conjunction of its columns'. Conditions that every row of the data satisfies are left out.

    Parameters
    ----------
    explainer
        An `Explainer`: its model, data, groups, outcome and seed are used. Its references and
        its context are not: rules are judged over all of the data.
    x
        The input.
    tau
        The precision that a rule must have, in (0, 1].
    alpha
        None: precision is taken as it is. A level: it must pass an exact binomial test.
    bins
        Columns of numbers are cut into this many bins of about as many rows each.
    cuts
        {column: [increasing numbers]}: cuts of your own.
    categorical
        Columns of numbers that are codes, and must be equal.
    bounds
        "cell": a rule bounds a number from both sides, by the cuts next to the input's value.
        "any": from either side or both, by any cut, as Anchors does. More rules, and wider ones,
        for more work. (A group is always bounded by its cells.)
    context
        "perturbed": Anchors' distribution, the rows of the data made to satisfy the rule.
        "observed": the rows of the data that satisfy it, as they are.
    n
        Perturb this many rows, a seeded sample. None: all.
    max_size
        Look only at rules on at most this many features.
    columns
        The features that rules may use. None: all.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from suffice import Explainer, datasets
    >>> X, y = datasets.loans()
    >>> X = X[["age", "income", "debt", "late payments"]]
    >>> model = RandomForestClassifier(random_state=0).fit(X, y)
    >>> print(anchor(Explainer(model, X), X.iloc[8], tau=0.9))
    refused, with precision at least 0.9, if
      income ≤ 41 and debt > 18: precision 1.000, coverage 0.062
      debt > 18 and late payments > 1: precision 0.942, coverage 0.040
      income ≤ 41 and late payments > 1: precision 0.997, coverage 0.028
    """
    tau, alpha = threshold(tau), level(alpha)
    check_context(context)
    check_explainer(explainer)
    _check_n(n, context)
    decision = explainer.decide(x)
    cutting = make_cutting(decision.data, bins, cuts, categorical, bounds)
    conditions = make_conditions(decision, cutting, columns)
    largest = _largest(max_size, conditions)
    satisfied, has_outcome = conditions.holds(decision.data), outcomes_of_data(decision)
    if context == "observed":
        counts = count_observed(conditions, satisfied, has_outcome, largest)
    else:
        perturbed = perturb(decision, conditions, n)
        counts = count_perturbed(decision, conditions, perturbed, largest)
    return AnchorRules(
        outcome=decision.target.event.describe(decision.y),
        tau=float(tau),
        alpha=None if alpha is None else float(alpha),
        context=context,
        conditions=conditions,
        largest=largest,
        counts=counts,
        satisfied=satisfied,
        has_outcome=has_outcome,
    )


def outcomes_of_data(decision: Decision) -> BoolVector:
    """Which rows of the data have the input's outcome; by answers that are known where they do."""
    target = decision.target
    scored = target.event.needs_scores
    truth = target(decision.data) if scored else target.read(decision.answers)
    return np.asarray(truth == decision.y)


def check_explainer(explainer: object) -> None:
    """Raise for what has no rows of a table to make rules about, such as a `TextExplainer`."""
    if not hasattr(explainer, "decide"):
        raise InputError("explainer", type(explainer).__name__, "an Explainer, of a table")


def check_context(context: object) -> None:
    """Raise unless the context is one of the two."""
    if context not in get_args(ContextName):
        raise InputError("context", repr(context), "'perturbed' or 'observed'")


def _check_n(n: object, context: ContextName) -> None:
    if n is None:
        return
    if context == "observed":
        raise InputError("n", n, "None with context='observed'", "It counts every row of the data.")
    if not isinstance(n, int | np.integer) or isinstance(n, bool) or n < 1:
        raise InputError("n", n, "None (all rows) or a whole number >= 1")


def _largest(max_size: object, conditions: Conditions) -> int:
    """The most features of a rule; an error where that makes more sets than can be counted."""
    whole = isinstance(max_size, int | np.integer) and not isinstance(max_size, bool)
    if max_size is not None and not (whole and cast(int, max_size) >= 1):
        raise InputError("max_size", max_size, "None or a whole number >= 1")
    d, features = len(conditions), len(conditions.features)
    largest = features if max_size is None else min(int(cast(int, max_size)), features)
    # Where conditions are chained a rule on few features may still hold many of them.
    sets = sum(comb(d, size) for size in range((d if conditions.chained else largest) + 1))
    if sets > 1 << EXHAUSTIVE_PLAYERS:
        hint = "Pass a smaller max_size (e.g. 3)"
        if conditions.chained:
            hint = "Pass bounds='cell', fewer bins"
        raise InputError(
            "max_size",
            f"{max_size!r} with {d} conditions, so {sets:.2g} sets of them",
            f"at most 2^{EXHAUSTIVE_PLAYERS} sets",
            hint + ", or the features that rules may use as columns=[…].",
        )
    return largest
