"""`anchor`: every τ-minimal rule of an input (Prop. 2); `score_rule`: measures of a given rule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypedDict

import numpy as np

from suffice.context.references import select_columns_like
from suffice.decision import Decision, SupportsDecide
from suffice.errors import InputError
from suffice.factors.predicates import Factor
from suffice.formatting import format_integer
from suffice.rules.conditions import (
    BoundsMode,
    Conditions,
    conditions_from_rule,
    make_binning,
    make_conditions,
    rule_holds,
)
from suffice.rules.rule import AnchorRules, Distribution, InData, PrecisionSource, Rule
from suffice.rules.rule_counts import count_observed, count_perturbed, observe_patterns, perturb
from suffice.search.limits import EXHAUSTIVE_PLAYERS
from suffice.tables.conversion import as_table
from suffice.tables.table import Table
from suffice.target import Outcome
from suffice.typing import BoolVector
from suffice.validation import check_alpha, check_choice, check_integer, check_tau

DISTRIBUTIONS: tuple[Distribution, ...] = ("perturbed", "observed")


class AnchorOptions(TypedDict, total=False):
    """Keyword arguments of `anchor`, documented there."""

    tau: float
    alpha: float | None
    bins: int
    cuts: Mapping[str, Sequence[float]] | None
    categorical: str | Iterable[str]
    bounds: BoundsMode
    distribution: Distribution
    n_rows: int | None
    max_size: int | None
    features: str | Iterable[str] | None
    progress: bool | None


def anchor(
    explainer: SupportsDecide,
    x: Any,
    *,
    tau: float = 0.9,
    alpha: float | None = None,
    bins: int = 4,
    cuts: Mapping[str, Sequence[float]] | None = None,
    categorical: str | Iterable[str] = (),
    bounds: BoundsMode = "cell",
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
    conjunction of the conditions of its columns. Conditions that every row of the data satisfies
    are left out.

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
        None: precision is compared with τ untested. A level: it must pass an exact binomial test.
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
    tau, alpha = check_tau(tau), check_alpha(alpha)
    distribution = check_choice("distribution", distribution, DISTRIBUTIONS)
    if n_rows is not None and distribution == "observed":
        hint = "It counts every row of the data."
        raise InputError("n_rows", n_rows, "None with distribution='observed'", hint)
    n_rows = None if n_rows is None else check_integer("n_rows", n_rows)
    require_table_explainer(explainer)
    decision = explainer.decide(x)
    cutting = make_binning(decision.data, bins, cuts, categorical, bounds)
    conditions = make_conditions(decision, cutting, features)
    largest = _largest_rule_size(max_size, conditions)
    observed = observe_patterns(conditions.holds(decision.data), outcomes_of_data(decision))
    if distribution == "observed":
        counts = count_observed(conditions, observed, largest, progress)
    else:
        hybrids = perturb(decision, conditions, n_rows)
        counts = count_perturbed(decision, conditions, hybrids, largest, progress)
    outcome = decision.target.event.describe(decision.y)
    return AnchorRules(outcome, tau, alpha, distribution, conditions, largest, counts, observed)


def outcomes_of_data(decision: Decision) -> BoolVector:
    """Return which rows of the data have the input's outcome, from known answers if possible."""
    target = decision.target
    scored = target.event.needs_scores
    # Labels of the data are known already; scores of two classes are not.
    truth = target(decision.data) if scored else target.read(decision.answers)
    return np.asarray(truth == decision.y)


def require_table_explainer(explainer: object) -> None:
    """Raise for an explainer without a table, such as a `TextExplainer`."""
    if not isinstance(explainer, SupportsDecide):
        raise InputError("explainer", type(explainer).__name__, "an Explainer, of a table")


def _largest_rule_size(max_size: object, conditions: Conditions) -> int:
    """Return the most features of a rule; raise if that makes more sets than can be counted."""
    features = len(conditions.features)
    largest = features if max_size is None else min(check_integer("max_size", max_size), features)
    sets = conditions.sets(largest)
    # Counting all sets needs their memory at once.
    if sets > 1 << EXHAUSTIVE_PLAYERS:
        hint = "Pass a smaller max_size (e.g. 3)"
        if not conditions.independent:
            hint = "Pass bounds='cell', fewer bins"
        raise InputError(
            "max_size",
            f"{max_size!r} with {len(conditions)} conditions, so {format_integer(sets)} sets of "
            "them",
            f"at most 2^{EXHAUSTIVE_PLAYERS} sets",
            hint + ", or the features that rules may use as features=[…].",
        )
    return largest


# Any rule, from a user or another tool, measured as a factor: prec(A) = PS(c_A, y) (Prop. 2).


class ScoreOptions(TypedDict, total=False):
    """Keyword arguments of `score_rule`, documented there."""

    sample: Any
    distribution: Distribution | None
    tau: float


def score_rule(
    explainer: SupportsDecide,
    x: Any,
    rule: Factor | None,
    *,
    sample: Any = None,
    distribution: Distribution | None = None,
    tau: float = 0.9,
) -> Rule:
    """Measure precision, coverage and necessity of any rule for the outcome of `x`.

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
        features are perturbed independently, so a rule of `anchor` has the same precision here;
        parts that read a feature in common take their values from one row.
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
    tau = check_tau(tau)
    require_table_explainer(explainer)
    given: object = rule
    if given is not None and not isinstance(given, Factor):
        hint = "Make one with equals, isin, between or compare, joined by & and |."
        raise InputError("rule", given, "a factor, or None for the empty rule", hint)
    if distribution is not None:
        distribution = check_choice("distribution", distribution, DISTRIBUTIONS)
        if sample is not None:
            raise InputError("distribution", f"{distribution!r} and a sample", "one of the two")
    decision = explainer.decide(x) if x is not None else _decision_without_input(explainer)
    data, has_outcome = decision.data, outcomes_of_data(decision)
    conditions = (
        Conditions() if rule is None else conditions_from_rule(rule, data, decision.players)
    )
    met = rule_holds(rule, data)
    both = met & has_outcome
    in_data = InData(len(data), *(int(rows.sum()) for rows in (met, has_outcome, both)))
    # The distribution of Anchors, so that the rules of both can be compared.
    judged: PrecisionSource = distribution or "perturbed"
    if sample is not None:
        judged = "sample"
        like = select_columns_like(data, as_table(sample, data.names, "sample"), "sample")
        n, hits = _count_outcomes(decision, like.take(np.flatnonzero(rule_holds(rule, like))))
    elif judged == "observed":
        n, hits = in_data.met, in_data.both
    else:
        n, hits = _count_outcomes(decision, _perturbed_rows(decision, conditions))
    outcome = decision.target.event.describe(decision.y)
    return Rule(rule, outcome, judged, n, hits, in_data, tau)  # type: ignore[arg-type]


def _perturbed_rows(decision: Decision, conditions: Conditions) -> Table:
    hybrids = perturb(decision, conditions)
    # All conditions at once: hybrids that meet the whole rule.
    held = np.ones((hybrids.n, hybrids.d), dtype=bool)
    return hybrids.rows(held, np.arange(hybrids.n))


def _count_outcomes(decision: Decision, rows: Table) -> tuple[int, int]:
    """Return the number of rows, and of those with the outcome; no rows, no model call."""
    if not len(rows):
        return 0, 0
    return len(rows), int((decision.target(rows) == decision.y).sum())


def _decision_without_input(explainer: SupportsDecide) -> Decision:
    """Return a decision about the explainer's own outcome, with the first row of data as input."""
    outcome = explainer.outcome
    if outcome is None or (isinstance(outcome, Outcome) and outcome.depends_on_input):
        raise InputError(
            "x",
            "None, and an outcome that depends on the input",
            "an input, or an explainer with an outcome of its own",
            "For example Explainer(model, data, outcome='granted').",
        )
    # Any row can be the input: the outcome does not depend on it.
    return replace(explainer.decide(explainer.data.take(np.array([0]))), y=True)
