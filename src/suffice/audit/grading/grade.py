"""`grade`: what another tool says of a decision, marked by what suffices.

It asks the model, through the explainer: for the sets that are counted, for rules, and for whether
counterfactual rows really flip.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from suffice.audit.decisions import VIEWS, ViewName
from suffice.audit.grading.by_row import by_row, is_function, is_tools, rows_of
from suffice.audit.grading.claims import (
    About,
    Claim,
    CounterfactualRows,
    FeatureSet,
    RuleClaim,
    as_claim,
    checked_labels,
)
from suffice.audit.grading.many import Grades, ToolEntry
from suffice.audit.grading.marks import Marker
from suffice.audit.grading.rankings import Ranking
from suffice.audit.grading.result import Grade
from suffice.audit.grading.rows import Cheapest, mark_rows, read_rows
from suffice.audit.grading.rules import mark_rule
from suffice.audit.groups import names_of
from suffice.checks import choice, ran, threshold, truth, whole
from suffice.errors import InputError, SufficeError, one_line
from suffice.explainer import Explainer
from suffice.explanation import Explanation
from suffice.factors.reading import Labels
from suffice.progress import checked_progress, progress_bar
from suffice.tables import has_several_rows

__all__ = ["grade"]

_NAME = "the tool"


def grade(
    explainer: Explainer,
    x: Any,
    other: Any,
    *,
    tau: float = 0.9,
    view: ViewName | None = None,
    k: int | None = None,
    absolute: bool | None = None,
    labels: Labels | None = None,
    ids: Sequence[Any] | None = None,
    time_limit: float | None = None,
    progress: bool | None = None,
) -> Grade | Grades:
    """Marks for what another tool says of the decision for `x`, or of several.

    The set of features that it puts forward is held against all others: how surely it suffices,
    the best that a set of its size can do, what can be left out of it, what smaller set does as
    well. Rules also get their exact precision and coverage; counterfactuals are asked of the model:
    do they flip, and what do they cost? **The model is asked**, through the explainer.

    Parameters
    ----------
    explainer
        An `Explainer` of the model that the other tool explained.
    x
        The input, as in `Explainer.explain`; or several, as in `explain_many`.
    other
        A *ranking*: scores in the order of the features, scores by name (a mapping, a series, pairs
        as LIME's `as_list()`), names in order, or what shap, LIME or scikit-learn's
        permutation_importance answer. A *set* of names. A *rule*: a factor, a text such as
        "age > 30 and job = clerk", or what anchor-exp or alibi answer. *Counterfactuals*: a frame
        of rows, a list of mappings (columns left out stay as they are), or what dice-ml answers.
        Answers of this package, too. Or {"name of a tool": any of these, …}.

        Of several inputs: a list with one for each (None: it said nothing), what is true of all of
        them, or a function that is called with each row (a one-row frame, of a frame).
    tau
        The sufficiency to be reached.
    view
        Whether rankings and sets are to say what keeps the outcome (None, "keep") or what flips it.
        A rule is always about keeping, counterfactuals about flipping.
    k
        How many first features of a ranking stand for it. None: as many as the smallest set needs
        to reach `tau`, so that it is held against the best there is.
    absolute
        Rank by the size of scores, whatever their sign. None: so, but for permutation importance.
    labels
        {column: {value: name}}, or names of 0, 1, 2, …: what values are called in rules and rows,
        where the model has codes for them.
    ids
        Names of several inputs. None: their numbers.
    time_limit
        Seconds for the search of each input, as in `Explainer.explain`; it matters for many
        features only, where the best sets are then not known.
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
    given: object = explainer
    if not isinstance(given, Explainer):
        raise InputError("explainer", given, "an Explainer of the model")
    how = _How(
        tau=threshold(tau),
        view=None if view is None else choice("view", view, VIEWS),
        k=None if k is None else whole("k", k),
        absolute=None if absolute is None else truth("absolute", absolute),
        labels=checked_labels(labels, explainer.data),
        time_limit=time_limit,
    )
    grader = _Grader(explainer, how)
    shown = checked_progress(progress)
    named = is_tools(other)
    if other is None:
        raise InputError("other", None, "what another tool says of the decision")
    if not named and not has_several_rows(x):
        if ids is not None:
            raise InputError("ids", ids, "None for one input")
        if is_function(other):
            other = ran("other", other, "a function from a row to what a tool says of it", x)
        row = grader.about(x)
        found = grader.one(row, as_claim(other, row.about), "")
        grader.check_used()
        return found
    return _many(grader, x, other if named else {_NAME: other}, ids, shown)


@dataclass(frozen=True)
class _How:
    """What was asked besides."""

    tau: float
    view: ViewName | None
    k: int | None
    absolute: bool | None
    labels: Labels | None
    time_limit: float | None


@dataclass(frozen=True, eq=False)
class _Row:
    """One input: its explanation, and what claims about it are read by."""

    about: About
    explanation: Explanation


class _Grader:
    """Marks claims, and remembers which options had a use."""

    def __init__(self, explainer: Explainer, how: _How) -> None:
        self._explainer, self._how = explainer, how
        self._asking = explainer.asking(tau=how.tau, time_limit=how.time_limit, progress=False)
        self._claims: list[Claim] = []
        self.unread: InputError | None = None
        """What was wrong with the first claim that could not be read."""

    @property
    def tau(self) -> float:
        """The sufficiency to be reached."""
        return self._how.tau

    def about(self, x: Any) -> _Row:
        """Explain an input."""
        decision = self._explainer.decide(x)
        explanation = self._explainer.answer(decision, self._asking)
        return _Row(About(decision, self._how.absolute, self._how.labels), explanation)

    def one(self, row: _Row, claim: Claim, tool: str) -> Grade:
        """One claim's marks."""
        self._claims.append(claim)
        match claim:
            case Ranking():
                return self._ranking(row, claim, tool)
            case FeatureSet():
                return self._set(row, claim.features, tool)
            case RuleClaim():
                return self._rule(row, claim, tool)
            case CounterfactualRows():
                return self._rows(row, claim, tool)

    def check_used(self) -> None:
        """Nothing that was asked for may have had no meaning."""
        how, claims = self._how, self._claims
        rankings = [claim for claim in claims if isinstance(claim, Ranking)]
        if how.k is not None and not rankings:
            raise InputError("k", how.k, "None where there is no ranking")
        if how.absolute is not None and not any(c.scores for c in rankings):
            raise InputError("absolute", how.absolute, "None where nothing has scores")
        if how.view is not None and not any(isinstance(c, Ranking | FeatureSet) for c in claims):
            rules = [claim for claim in claims if isinstance(claim, RuleClaim)]
            usual = "keep" if rules else "flip"
            if how.view != usual:
                what = "rules" if rules else "counterfactuals"
                raise InputError("view", repr(how.view), f"None or '{usual}' for {what}")

    # -- by kind --------------------------------------------------------------------------

    def _ranking(self, row: _Row, claim: Ranking, tool: str) -> Grade:
        marker, start = self._start(row, self._how.view or "keep", tool)
        ends = range(1, len(claim.features) + 1)
        marks = tuple(marker.mark(claim.features[:end]) for end in ends)
        size = self._how.k
        if size is None:
            needed, best = marker.smallest(), marker.view.best  # the best, where none reaches τ
            size = max(1, len(needed) if needed is not None else best.size if best else 0)
        elif size > len(marks):
            got = f"{size} of a ranking of {len(marks)}"
            raise InputError("k", got, f"up to {len(marks)} features")
        chosen = min(size, len(marks)) - 1
        return replace(start, kind="ranking", marks=marks, chosen=chosen)

    def _set(self, row: _Row, features: tuple[str, ...], tool: str) -> Grade:
        marker, start = self._start(row, self._how.view or "keep", tool)
        return replace(start, marks=(marker.mark(features),), chosen=0)

    def _rule(self, row: _Row, claim: RuleClaim, tool: str) -> Grade:
        marker, start = self._start(row, "keep", tool)
        columns = [] if claim.factor is None else list(dict.fromkeys(claim.factor.columns()))
        mark = marker.mark(row.about.player(column) for column in columns)
        marked = mark_rule(self._explainer, row.about.decision, claim.factor, self.tau)
        return replace(start, kind="rule", marks=(mark,), chosen=0, rule=marked)

    def _rows(self, row: _Row, claim: CounterfactualRows, tool: str) -> Grade:
        marker, start = self._start(row, "flip", tool)
        cheapest = Cheapest.of(row.explanation)
        table = read_rows(claim.rows, row.about.decision, self._how.labels)
        rows = () if table is None else mark_rows(table, row.about.decision)
        marks = tuple(marker.mark(one.features) for one in rows)
        flips = [i for i, one in enumerate(rows) if one.flips]
        costs = [np.inf if one.cost is None else one.cost for one in rows]
        chosen = min(flips, key=lambda i: costs[i], default=0)
        return replace(
            start,
            kind="counterfactuals",
            marks=marks,
            chosen=chosen if rows else None,
            rows=rows,
            cheapest=cheapest,
        )

    def _start(self, row: _Row, name: ViewName, tool: str) -> tuple[Marker, Grade]:
        """What all kinds have in common."""
        view = row.explanation.keep if name == "keep" else row.explanation.flip
        marker = Marker(view, row.about.decision)
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


# -- several ------------------------------------------------------------------------------


def _many(
    grader: _Grader,
    x: Any,
    tools: Mapping[str, Any],
    ids: Sequence[Any] | None,
    progress: bool | None,
) -> Grades:
    rows = rows_of(x)
    names = tuple(names_of(rows, ids))
    given = {name: by_row(name, other, len(rows)) for name, other in tools.items()}
    entries: list[ToolEntry] = []
    with progress_bar("rows", len(rows), progress) as bar:
        for number, row in enumerate(rows):
            try:
                about = grader.about(row)
            except SufficeError as error:
                raise error.at(f"row {number}") from error
            entries += [_entry(grader, about, name, number, row, given[name]) for name in given]
            bar.update()
    if any(entry.grade is not None for entry in entries):
        grader.check_used()
    elif grader.unread is not None:  # nothing could be read: not a tool's failure, but a mistake
        raise grader.unread
    return Grades(grader.tau, names, tuple(given), tuple(entries))


def _entry(
    grader: _Grader, about: _Row, tool: str, number: int, row: Any, said: Callable[[int, Any], Any]
) -> ToolEntry:
    """A tool that fails on one row says nothing of it; that is told, and the others go on."""
    try:
        other = said(number, row)
    except Exception as error:  # whatever another tool may raise
        why = f"{type(error).__name__}: {one_line(error, 200)}".rstrip(": ")
        return ToolEntry(tool, number, None, f"it raised {why}")
    if other is None:
        return ToolEntry(tool, number, None, "it said nothing")
    try:
        return ToolEntry(tool, number, grader.one(about, as_claim(other, about.about), tool))
    except InputError as error:
        if error.argument == "k":
            raise
        grader.unread = grader.unread or error.at(f"row {number}")
        return ToolEntry(tool, number, None, str(error))
