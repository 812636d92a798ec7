"""Grade the output of other explainers (shap, LIME, anchors, DiCE) for a decision: `audit.grade`.

Claims are matched to rows, read (`grade_claims`) and scored (`grade_scoring`). The model predicts,
through the explainer, the hybrids of the sets, the rows that meet a rule, and counterfactual rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from suffice.audit.decisions import check_explainer, decision_names
from suffice.audit.grade_claims import (
    Claim,
    ClaimContext,
    CounterfactualClaim,
    RankingClaim,
    RuleClaim,
    SetClaim,
    check_labels,
    read_claim,
)
from suffice.audit.grade_result import Grade
from suffice.audit.grade_scoring import (
    CheapestFlip,
    SetMarker,
    counterfactual_table,
    mark_counterfactuals,
    mark_rule,
)
from suffice.audit.tool_grades import Grades, ToolEntry
from suffice.errors import InputError, SufficeError, one_line
from suffice.explainer import Explainer
from suffice.explanation import Explanation
from suffice.factors.predicates import Factor
from suffice.factors.rule_text import ValueNames
from suffice.progress import check_progress, progress_bar
from suffice.tables import as_table, has_several_rows, is_frame
from suffice.typing import VIEWS, ViewName
from suffice.validation import (
    call_user_function,
    check_bool,
    check_choice,
    check_integer,
    check_tau,
)

_UNNAMED_TOOL = "the tool"


def grade(
    explainer: Explainer,
    x: Any,
    other: Any,
    *,
    tau: float = 0.9,
    view: ViewName | None = None,
    k: int | None = None,
    absolute: bool | None = None,
    labels: ValueNames | None = None,
    ids: Sequence[Any] | None = None,
    time_limit: float | None = None,
    progress: bool | None = None,
) -> Grade | Grades:
    """Grade another tool's explanation of the decision for `x`, or of several decisions.

    The features that the tool puts forward are compared with all other sets: their sufficiency,
    the best sufficiency of a set of that size, the features that can be left out, and a smaller set
    that does as well. Rules also get their exact precision and coverage; counterfactual rows
    whether they flip the outcome, and their cost. **The model predicts**, through the explainer.

    Parameters
    ----------
    explainer
        An `Explainer` of the model that the other tool explained.
    x
        The input, as in `Explainer.explain`; or several, as in `explain_many`.
    other
        A *ranking*: scores in the order of the features, scores by name (a mapping, a series, pairs
        as LIME's `as_list()`), names in order, or a result of shap, LIME or scikit-learn's
        permutation_importance. A *set* of names. A *rule*: a factor, a text such as
        "age > 30 and job = clerk", or a result of anchor-exp or alibi. *Counterfactuals*: a frame
        of rows, a list of mappings (columns left out stay as they are), or a result of dice-ml.
        Results of this package, too. Or {"name of a tool": any of these, …}.

        For several inputs: a list with one for each (None: no explanation), one for all of them, or
        a function that is called with each row (a one-row frame, if `x` is a frame).
    tau
        The sufficiency to reach.
    view
        Whether rankings and sets are graded for keeping the outcome (None, "keep") or flipping it.
        Rules are always graded for keeping, counterfactuals for flipping.
    k
        Number of first features by which a ranking is graded. None: as many as the smallest set
        needs to reach `tau`, so that the ranking is compared with the best there is.
    absolute
        Rank scores by absolute value. None: yes, except for permutation importance.
    labels
        {column: {value: name}}, or names of 0, 1, 2, …: names of coded values in rules and rows.
    ids
        Names of several inputs. None: their numbers.
    time_limit
        Seconds for the search of each input, as in `Explainer.explain`. It matters only for many
        features: the best sets may then not be known.
    progress
        Show a progress bar. None: on a terminal, for work over a second.

    Examples
    --------
    >>> import pandas as pd
    >>> from suffice import Explainer, audit
    >>> people = pd.DataFrame({"pay": [1, 2, 5, 6], "debt": [4, 0, 4, 0], "age": [20, 30, 40, 50]})
    >>> def granted(rows):
    ...     return (rows["pay"] > 3) & (rows["debt"] < 3)
    >>> explainer = Explainer(granted, people)
    >>> found = audit.grade(explainer, [6, 0, 50], {"age": 0.5, "pay": 0.4, "debt": 0.1}, tau=0.6)
    >>> found.mark.features, round(found.mark.sufficiency, 2)
    (('pay', 'age'), 0.33)
    >>> found.mark.best, found.mark.best_sufficiency, found.first
    (('pay', 'debt'), 1.0, 3)
    >>> rule = audit.grade(explainer, [6, 0, 50], "pay > 3 and debt <= 2 and age > 30")
    >>> rule.rule.rule.precision, rule.rule.spare
    (1.0, ('age > 30',))
    >>> tools = {"by age": ["age", "pay", "debt"], "a rule": "age > 0"}
    >>> table = audit.grade(explainer, people, tools)
    >>> [(tool.tool, tool.kind, tool.reaches.share) for tool in table.tools]
    [('by age', 'ranking', 0.0), ('a rule', 'rule', 0.0)]
    """
    check_explainer(explainer)
    how = _GradeOptions(
        tau=check_tau(tau),
        view=None if view is None else check_choice("view", view, VIEWS),
        k=None if k is None else check_integer("k", k),
        absolute=None if absolute is None else check_bool("absolute", absolute),
        labels=check_labels(labels, explainer.data),
        time_limit=time_limit,
    )
    grader = _Grader(explainer, how)
    shown = check_progress(progress)
    named = is_tool_mapping(other)
    if other is None:
        raise InputError("other", None, "another tool's explanation of the decision")
    if not named and not has_several_rows(x):
        if ids is not None:
            raise InputError("ids", ids, "None for one input")
        if is_row_function(other):
            other = call_user_function(
                "other", other, "a function from a row to a tool's explanation", x
            )
        row = grader.explain(x)
        found = grader.grade(row, read_claim(other, row.about), "")
        grader.check_used()
        return found
    return _grade_many(grader, x, other if named else {_UNNAMED_TOOL: other}, ids, shown)


@dataclass(frozen=True)
class _GradeOptions:
    """Checked options of `grade`."""

    tau: float
    view: ViewName | None
    k: int | None
    absolute: bool | None
    labels: ValueNames | None
    time_limit: float | None


@dataclass(frozen=True, eq=False)
class _ExplainedRow:
    """Explanation of one input, with the context for reading claims about it."""

    about: ClaimContext
    explanation: Explanation


class _Grader:
    """Grades claims, and remembers their kinds to check that every option was used."""

    def __init__(self, explainer: Explainer, how: _GradeOptions) -> None:
        self._explainer, self._how = explainer, how
        self._asking = explainer.asking(tau=how.tau, time_limit=how.time_limit, progress=False)
        self._claims: list[Claim] = []
        self.first_error: InputError | None = None
        """Error of the first claim that could not be read."""

    @property
    def tau(self) -> float:
        """The sufficiency to reach."""
        return self._how.tau

    def explain(self, x: Any) -> _ExplainedRow:
        """Return the explanation of one input, with the context to read claims about it."""
        decision = self._explainer.decide(x)
        explanation = self._explainer.answer(decision, self._asking)
        return _ExplainedRow(
            ClaimContext(decision, self._how.absolute, self._how.labels), explanation
        )

    def grade(self, row: _ExplainedRow, claim: Claim, tool: str) -> Grade:
        """Return the grade of one claim."""
        self._claims.append(claim)
        match claim:
            case RankingClaim():
                return self._ranking(row, claim, tool)
            case SetClaim():
                return self._set(row, claim.features, tool)
            case RuleClaim():
                return self._rule(row, claim, tool)
            case CounterfactualClaim():
                return self._rows(row, claim, tool)

    def check_used(self) -> None:
        """Raise if an option had no effect on any claim: no argument is silently ignored."""
        how, claims = self._how, self._claims
        rankings = [claim for claim in claims if isinstance(claim, RankingClaim)]
        if how.k is not None and not rankings:
            raise InputError("k", how.k, "None where there is no ranking")
        if how.absolute is not None and not any(c.scores for c in rankings):
            raise InputError("absolute", how.absolute, "None where nothing has scores")
        if how.view is not None and not any(isinstance(c, RankingClaim | SetClaim) for c in claims):
            rules = [claim for claim in claims if isinstance(claim, RuleClaim)]
            usual = "keep" if rules else "flip"
            if how.view != usual:
                what = "rules" if rules else "counterfactuals"
                raise InputError("view", repr(how.view), f"None or '{usual}' for {what}")

    def _ranking(self, row: _ExplainedRow, claim: RankingClaim, tool: str) -> Grade:
        marker, start = self._start(row, self._how.view or "keep", tool)
        ends = range(1, len(claim.features) + 1)
        marks = tuple(marker.mark(claim.features[:end]) for end in ends)
        size = self._how.k
        if size is None:
            needed, best = marker.smallest(), marker.view.best  # the best if no set reaches τ
            # At the size of the smallest sufficient set the best possible score is known to be at
            # least τ.
            size = max(1, len(needed) if needed is not None else best.size if best else 0)
        elif size > len(marks):
            got = f"{size} of a ranking of {len(marks)}"
            raise InputError("k", got, f"up to {len(marks)} features")
        chosen = min(size, len(marks)) - 1
        caution = claim.caution
        return replace(start, kind="ranking", marks=marks, chosen=chosen, caution=caution)

    def _set(self, row: _ExplainedRow, features: tuple[str, ...], tool: str) -> Grade:
        marker, start = self._start(row, self._how.view or "keep", tool)
        return replace(start, marks=(marker.mark(features),), chosen=0)

    def _rule(self, row: _ExplainedRow, claim: RuleClaim, tool: str) -> Grade:
        marker, start = self._start(row, "keep", tool)
        columns = [] if claim.factor is None else list(dict.fromkeys(claim.factor.columns()))
        mark = marker.mark(row.about.feature_of(column) for column in columns)
        marked = mark_rule(self._explainer, row.about.decision, claim.factor, self.tau)
        return replace(start, kind="rule", marks=(mark,), chosen=0, rule=marked)

    def _rows(self, row: _ExplainedRow, claim: CounterfactualClaim, tool: str) -> Grade:
        marker, start = self._start(row, "flip", tool)
        cheapest = CheapestFlip.of(row.explanation)
        table = counterfactual_table(claim.rows, row.about.decision, self._how.labels)
        rows = () if table is None else mark_counterfactuals(table, row.about.decision)
        marks = tuple(marker.mark(one.features) for one in rows)
        flips = [i for i, one in enumerate(rows) if one.flips]
        costs = [np.inf if one.cost is None else one.cost for one in rows]
        # The cheapest row that flips; the first one where none does, to show what was tried.
        chosen = min(flips, key=lambda i: costs[i], default=0)
        return replace(
            start,
            kind="counterfactuals",
            marks=marks,
            chosen=chosen if rows else None,
            rows=rows,
            cheapest=cheapest,
        )

    def _start(self, row: _ExplainedRow, name: ViewName, tool: str) -> tuple[SetMarker, Grade]:
        """Return the marker of a view, and a grade with the fields that all kinds share."""
        view = row.explanation.keep if name == "keep" else row.explanation.flip
        marker = SetMarker(view, row.about.decision)
        start = Grade(
            tool=tool,
            kind="set",
            view=name,
            outcome=view.outcome,
            tau=self.tau,
            complete=view.tally.complete,
            marks=(),
            chosen=None,
            smallest=marker.smallest(),
        )
        return marker, start


def _grade_many(
    grader: _Grader,
    x: Any,
    tools: Mapping[str, Any],
    ids: Sequence[Any] | None,
    progress: bool | None,
) -> Grades:
    rows = split_rows(x)
    names = tuple(decision_names(rows, ids))
    given = {name: match_claims(name, other, len(rows)) for name, other in tools.items()}
    entries: list[ToolEntry] = []
    with progress_bar("rows", len(rows), progress) as bar:
        for number, row in enumerate(rows):
            try:
                about = grader.explain(row)
            except SufficeError as error:
                raise error.at(f"row {number}") from error
            entries += [
                _tool_entry(grader, about, name, number, row, given[name]) for name in given
            ]
            bar.update()
    if any(entry.grade is not None for entry in entries):
        grader.check_used()
    elif (
        grader.first_error is not None
    ):  # no claim could be read: the caller's mistake, not a tool's
        raise grader.first_error
    return Grades(grader.tau, names, tuple(given), tuple(entries))


def _tool_entry(
    grader: _Grader,
    about: _ExplainedRow,
    tool: str,
    number: int,
    row: Any,
    claim_of: Callable[[int, Any], Any],
) -> ToolEntry:
    """Return the grade of one tool for one row, or an entry with the reason of its failure."""
    try:
        other = claim_of(number, row)
    except Exception as error:  # other tools raise errors of any kind
        why = f"{type(error).__name__}: {one_line(error, 200)}".rstrip(": ")
        return ToolEntry(tool, number, None, f"it raised {why}")
    if other is None:
        return ToolEntry(tool, number, None, "it said nothing")
    try:
        return ToolEntry(tool, number, grader.grade(about, read_claim(other, about.about), tool))
    except InputError as error:
        # A wrong `k` is the caller's mistake, not a tool's.
        if error.argument == "k":
            raise
        grader.first_error = grader.first_error or error.at(f"row {number}")
        return ToolEntry(tool, number, None, str(error))


def is_tool_mapping(other: Any) -> bool:
    """Return whether a mapping has claims by tool, rather than scores by feature."""
    if not isinstance(other, Mapping) or not other or hasattr(other, "importances_mean"):
        return False
    kinds = (bool, int, float, np.number)
    return all(isinstance(name, str) for name in other) and not any(
        isinstance(value, kinds) for value in other.values()
    )


def is_row_function(other: Any) -> bool:
    """Return whether `other` is a function to call with each row."""
    # Factors and LIME's explanations can be called or look like it, and are claims.
    return callable(other) and not isinstance(other, Factor) and not hasattr(other, "as_map")


def match_claims(tool: str, other: Any, n: int) -> Callable[[int, Any], Any]:
    """Return a function from a row's number and the row to the tool's claim about it."""
    if is_row_function(other):
        return lambda number, row: other(row)
    several = _claims_per_row(other, n) if n > 1 else None
    if several is None and n > 1 and isinstance(other, list | tuple) and _is_claim_list(other):
        several = other
        if len(other) != n:
            got = f"{len(other)} of {tool!r}"
            raise InputError("other", got, f"one for each of the {n} inputs, or a function")
    if several is None and n > 1 and is_frame(other):
        hint = "Pass counterfactuals as a list of frames, scores as frame.to_numpy()."
        raise InputError("other", f"one frame of {tool!r}", f"one for each of the {n} inputs", hint)
    if several is None:
        return lambda number, row: other
    each = several
    return lambda number, row: each[number]


def _claims_per_row(other: Any, n: int) -> Sequence[Any] | None:
    """Return the claims about each of n rows if one object holds them all, else None."""
    if hasattr(other, "values") and hasattr(other, "base_values"):
        values = np.asarray(other.values)
        return [other[i] for i in range(n)] if values.ndim > 1 and len(values) == n else None
    if hasattr(other, "cf_examples_list") and len(other.cf_examples_list) == n:
        return list(other.cf_examples_list)
    if isinstance(other, np.ndarray) and other.ndim == 2 and len(other) == n:
        return list(other)
    return None


def _is_claim_list(other: Sequence[Any]) -> bool:
    """Return whether a list holds claims, rather than being one: names, scores or pairs."""
    if all(isinstance(item, str) for item in other):
        return any(_looks_like_a_rule(item) for item in other)
    if all(isinstance(item, int | float | np.number) for item in other):
        return False
    # LIME's as_list() is a list of (condition, score): one claim, not one for each row.
    pairs = all(isinstance(item, tuple) and len(item) == 2 for item in other)
    return not (pairs and all(isinstance(score, int | float | np.number) for _, score in other))


def _looks_like_a_rule(text: str) -> bool:
    return any(sign in text for sign in "<>=≤≥≠") or " in {" in text or text == "always"


def split_rows(x: Any) -> list[Any]:
    """Return the inputs one by one, in the type that they came in."""
    if not has_several_rows(x):
        return [x]
    if is_frame(x):
        table = as_table(x, argument="x")
        return [table.take(np.array([i])).native for i in range(len(table))]
    return list(x)
