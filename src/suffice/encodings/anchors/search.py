"""From an input to its rules: Anchors' question, answered for every rule (Prop. 2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypedDict

import numpy as np

from suffice.checks import choice, level, threshold, whole
from suffice.decision import Decides, Decision
from suffice.encodings.anchors.conditions import Conditions, make_conditions
from suffice.encodings.anchors.counts import count_observed, observe
from suffice.encodings.anchors.cutting import Bounds, make_cutting
from suffice.encodings.anchors.perturbed import count_perturbed, perturb
from suffice.encodings.anchors.rule import Distribution
from suffice.encodings.anchors.rules import AnchorRules
from suffice.errors import InputError
from suffice.search.limits import EXHAUSTIVE_PLAYERS
from suffice.typing import BoolVector
from suffice.wording import large

__all__ = ["DISTRIBUTIONS", "AnchorOptions", "anchor", "check_explainer", "outcomes_of_data"]

DISTRIBUTIONS: tuple[Distribution, ...] = ("perturbed", "observed")


class AnchorOptions(TypedDict, total=False):
    """What can be asked besides the input: see `anchor`."""

    tau: float
    alpha: float | None
    bins: int
    cuts: Mapping[str, Sequence[float]] | None
    categorical: str | Iterable[str]
    bounds: Bounds
    distribution: Distribution
    n_rows: int | None
    max_size: int | None
    features: str | Iterable[str] | None
    progress: bool | None


def anchor(
    explainer: Decides,
    x: Any,
    *,
    tau: float = 0.9,
    alpha: float | None = None,
    bins: int = 4,
    cuts: Mapping[str, Sequence[float]] | None = None,
    categorical: str | Iterable[str] = (),
    bounds: Bounds = "cell",
    distribution: Distribution = "perturbed",
    n_rows: int | None = None,
    max_size: int | None = None,
    features: str | Iterable[str] | None = None,
    progress: bool | None = None,
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
    distribution
        "perturbed": Anchors' own, the rows of the data made to satisfy the rule. "observed": the
        rows of the data that satisfy it, as they are.
    n_rows
        Perturb this many rows, a seeded sample. None: all.
    max_size
        Look only at rules on at most this many features.
    features
        The features that rules may use. None: all.
    progress
        Show a progress bar. None: on a terminal, for work over a second.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from suffice import Explainer, datasets
    >>> X, y = datasets.loans()
    >>> X = X[["age", "income", "debt", "late payments"]]
    >>> model = RandomForestClassifier(random_state=0).fit(X, y)
    >>> for rule in anchor(Explainer(model, X), X.iloc[8]):
    ...     print(rule.words, round(rule.precision, 3), round(rule.coverage, 3))
    income ≤ 41 and debt > 18 1.0 0.062
    debt > 18 and late payments > 1 0.942 0.04
    income ≤ 41 and late payments > 1 0.997 0.028
    """
    tau, alpha = threshold(tau), level(alpha)
    distribution = choice("distribution", distribution, DISTRIBUTIONS)
    if n_rows is not None and distribution == "observed":
        hint = "It counts every row of the data."
        raise InputError("n_rows", n_rows, "None with distribution='observed'", hint)
    n_rows = None if n_rows is None else whole("n_rows", n_rows)
    check_explainer(explainer)
    decision = explainer.decide(x)
    cutting = make_cutting(decision.data, bins, cuts, categorical, bounds)
    conditions = make_conditions(decision, cutting, features)
    largest = _largest(max_size, conditions)
    observed = observe(conditions.holds(decision.data), outcomes_of_data(decision))
    if distribution == "observed":
        counts = count_observed(conditions, observed, largest, progress)
    else:
        hybrids = perturb(decision, conditions, n_rows)
        counts = count_perturbed(decision, conditions, hybrids, largest, progress)
    outcome = decision.target.event.describe(decision.y)
    return AnchorRules(outcome, tau, alpha, distribution, conditions, largest, counts, observed)


def outcomes_of_data(decision: Decision) -> BoolVector:
    """Which rows of the data have the input's outcome; by answers that are known where they do."""
    target = decision.target
    scored = target.event.needs_scores
    truth = target(decision.data) if scored else target.read(decision.answers)
    return np.asarray(truth == decision.y)


def check_explainer(explainer: object) -> None:
    """Raise for what has no rows of a table to make rules about, such as a `TextExplainer`."""
    if not isinstance(explainer, Decides):
        raise InputError("explainer", type(explainer).__name__, "an Explainer, of a table")


def _largest(max_size: object, conditions: Conditions) -> int:
    """The most features of a rule; an error where that makes more sets than can be counted."""
    features = len(conditions.features)
    largest = features if max_size is None else min(whole("max_size", max_size), features)
    sets = conditions.sets(largest)
    if sets > 1 << EXHAUSTIVE_PLAYERS:
        hint = "Pass a smaller max_size (e.g. 3)"
        if not conditions.independent:
            hint = "Pass bounds='cell', fewer bins"
        raise InputError(
            "max_size",
            f"{max_size!r} with {len(conditions)} conditions, so {large(sets)} sets of them",
            f"at most 2^{EXHAUSTIVE_PLAYERS} sets",
            hint + ", or the features that rules may use as features=[…].",
        )
    return largest
