"""Global recourse: what few changes would help most of those who are refused, and whom they leave.

Four steps. The own recourse of refused rows tells which columns to move and which way. Such moves,
with the values of references, are tried on every row by asking the model. Of what truly works, the
fewest that cover the share are chosen, and among as few the cheapest. What each row pays, and who
is left out, is told row by row and by group.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.audit.groups import RowsBy, labels_of, names_of_rows
from suffice.audit.recourse.candidates import AT_LEAST, TO, Candidates, make_candidates
from suffice.audit.recourse.cover import Cover, cheap_cover
from suffice.audit.recourse.facts import GlobalChange, Move, RowRecourse
from suffice.audit.recourse.result import GlobalRecourse
from suffice.audit.recourse.trial import Trial, in_parts
from suffice.checks import number, whole
from suffice.context.cost import CostSpec
from suffice.context.players import Players
from suffice.context.pool import Rows
from suffice.decision import Decision
from suffice.encodings.recourse import Option, RecourseRequest
from suffice.encodings.recourse.constraints import Constraints
from suffice.encodings.recourse.solve import Solver
from suffice.errors import InputError, SufficeError
from suffice.explainer import Explainer
from suffice.factors import Factor
from suffice.progress import checked_progress, progress_bar
from suffice.randomness import Stream, generator
from suffice.tables import Table, as_table, plain
from suffice.target import Target, event_for, needs_input
from suffice.typing import BoolVector, Counts, Reals
from suffice.wording import count

__all__ = ["global_recourse"]


def global_recourse(
    explainer: Explainer,
    X: Any,
    cover: float = 0.9,
    *,
    desired: Any = None,
    by: RowsBy = None,
    ids: Sequence[Any] | None = None,
    immutable: str | Iterable[str] = (),
    actionable: str | Iterable[str] | None = None,
    ranges: Mapping[str, Any] | None = None,
    increasing: str | Iterable[str] = (),
    decreasing: str | Iterable[str] = (),
    forbidden: Factor | Iterable[Factor] = (),
    cost: CostSpec = None,
    max_cost: float | None = None,
    max_size: int | None = 3,
    n_changes: int | None = None,
    max_candidates: int | None = 1000,
    max_searched: int | None = 100,
    budget: int | None = None,
    time_limit: float | None = None,
    progress: bool | None = None,
) -> GlobalRecourse:
    """The fewest changes such that one of them works for a share `cover` of the refused.

    This asks the model: every change that is considered is tried on every refused row. A change
    asks for values of some features: "home to owns", "income to at least 50". A row that has as
    much already keeps what it has, and pays nothing for it.

    Parameters
    ----------
    explainer
        The model, its data and references, as in `Explainer.recourse`; values must be swapped.
    X
        Rows: a frame or an array. Those that have the desired outcome are counted and left out.
    cover
        The share of the refused to be helped, in (0, 1].
    desired
        The outcome wanted: a class, `at_least(t)`, … None: any but the present, where all rows have
        the same.
    by
        Groups to compare: a column of X (the model need not know it), a function of a row's values
        {column: value}, or a label for each row.
    ids
        What the rows are called. None: their numbers, counted from 0.
    immutable, actionable, ranges, increasing, decreasing, forbidden, cost, max_cost
        What a change must respect, as in `Explainer.recourse`; no value becomes missing.
    max_size
        The most features that a change has. All of them set to the values of someone who was
        granted would work for everyone, and say nothing. None: any number.
    n_changes
        Take up to so many changes where the fewest are fewer: more of them cost less. None: the
        fewest. (`prices` of the answer tells what more would save.)
    max_candidates
        The most changes to try. Where there are more, those are taken first that are some row's
        own recourse, and others are drawn by the explainer's seed. None: all.
    max_searched
        The most rows whose own recourse is searched to learn what to try: a seeded sample where
        there are more. None: all.
    budget, time_limit
        Of each such search, as in `Explainer.recourse`.
    progress
        Show a progress bar. None: on a terminal, for work over a second.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from suffice import Explainer, audit, datasets
    >>> X, y = datasets.loans(200)
    >>> X = X[["age", "income", "debt", "late payments"]]
    >>> explainer = Explainer(LogisticRegression(max_iter=1000).fit(X, y), X)
    >>> found = audit.global_recourse(
    ...     explainer, X.iloc[:60], cover=0.8, desired="granted", immutable="age", max_size=1
    ... )
    >>> [change.says for change in found.changes], found.proved
    (['income to at least 86'], True)
    >>> found.share.hits, found.n, len(found.left)
    (32, 36, 4)
    """
    _check_explainer(explainer)
    wanted = number("cover", cover, "a share in (0, 1]", above=0, most=1)
    most = None if max_candidates is None else whole("max_candidates", max_candidates, also="None")
    wished = None if n_changes is None else whole("n_changes", n_changes, also="None")
    seeds = None if max_searched is None else whole("max_searched", max_searched, also="None")
    shown = checked_progress(progress)
    request = RecourseRequest(
        immutable=immutable,
        actionable=actionable,
        ranges=ranges,
        increasing=increasing,
        decreasing=decreasing,
        forbidden=forbidden,
        cost=cost,
        max_cost=max_cost,
        max_size=max_size,
        budget=budget,
        time_limit=time_limit,
        progress=False,
    )
    given = as_table(X, names=explainer.data.names, argument="X")
    groups, names = labels_of(by, given), names_of_rows(ids, len(given))
    if by is not None:  # groups may be made by columns that the model does not know
        known = [j for j, name in enumerate(given.names) if name in explainer.data.names]
        given = given.select(known)
    table = _read(explainer, given)
    target, wants = _target(explainer, table, desired)
    has = _says(target, table) == wants
    refused = np.flatnonzero(~has)
    if not len(refused):
        got = f"{count(len(table), 'row')} that have the desired outcome already"
        raise InputError("X", got, "at least one that has not", "Or ask for another in desired.")
    rows = Rows(table.take(refused))
    asking = explainer if desired is None else explainer.but(outcome=desired)
    own = _own_recourse(asking, rows, seeds, request, shown)
    decider = explainer.decider
    trial = Trial(
        target,
        wants,
        rows,
        make_candidates(own.options, decider.players, own.constraints.rules, most, decider.seed),
        own.constraints,
        decider.players,
        decider.data,
        decider.cost if cost is None else cost,
    )
    with progress_bar("changes tried", len(rows) * len(trial.candidates), shown) as bar:
        costs = trial.costs(bar)
    found = cheap_cover(costs, wanted, wished)
    paid = tuple(
        _row(int(i), names[i], groups[i], each, found.chosen)
        for i, each in zip(refused, costs, strict=True)
    )
    return _answer(trial, found, paid, own, request, wanted, int(has.sum()))


def _answer(
    trial: Trial,
    found: Cover,
    rows: tuple[RowRecourse, ...],
    own: _OwnRecourse,
    request: RecourseRequest,
    wanted: float,
    already: int,
) -> GlobalRecourse:
    says, candidates = trial.target.event.describe, trial.candidates
    return GlobalRecourse(
        desired=says(trial.wanted),
        outcome=says(not trial.wanted),
        wanted=wanted,
        changes=tuple(_change(candidates, j, trial.players) for j in found.chosen),
        rows=rows,
        already=already,
        fewest=found.fewest,
        could_be=found.could_be,
        prices=found.prices,
        cheapest=found.cheapest,
        tried=len(candidates),
        possible=candidates.possible,
        searched=len(own.options),
        cut_short=own.cut_short,
        asked=trial.asked,
        max_size=request.max_size,
        max_cost=request.max_cost,
    )


def _check_explainer(given: object) -> None:
    if not isinstance(given, Explainer):
        raise InputError("explainer", given, "an Explainer of a table's rows")
    context = given.decider.context
    if not context.is_swap:
        raise InputError(
            "explainer",
            f"one in whose context {context.describe()}",
            "values that are swapped",
            "A change for all would have other consequences for each: ask explainer.recourse row "
            "by row, or explainer.but(context=None).",
        )


def _read(explainer: Explainer, given: Table) -> Table:
    """The rows as the model knows them."""
    rows: list[Table] = []
    found = explainer.read_rows(given)
    if isinstance(found, Rows):
        return found.table
    for i, row in enumerate(found):
        if isinstance(row, SufficeError):
            raise row.at(f"X: row {i}")
        rows.append(row)
    return Rows.together(rows).table


def _target(explainer: Explainer, table: Table, desired: Any) -> tuple[Target, bool]:
    """The question that the desired outcome answers, and which answer is wanted."""
    model = explainer.decider.model
    outcome = explainer.outcome if desired is None else desired
    if outcome is not None and needs_input(outcome):
        argument = "desired" if desired is not None else "outcome"
        hint = "Pass desired=at_least(t), at_most(t) or a class."
        raise InputError(argument, outcome, "an outcome that means the same for every row", hint)
    first = model.predict(table.take(np.array([0])))[0]
    if desired is not None:
        return Target(model, event_for(desired, model, first, "desired")), True
    target = Target(model, event_for(outcome, model, first))
    truth = _says(target, table)
    if len(set(truth.tolist())) > 1:
        said = target.event.describe
        one, other = int(truth.sum()), int((~truth).sum())
        raise InputError(
            "desired",
            f"None, where {one:,} of X are {said(True)} and {other:,} {said(False)}",
            "the outcome wanted",
            "Those that have it are left out.",
        )
    return target, not truth[0]


def _says(target: Target, table: Table) -> BoolVector:
    every = np.arange(len(table))
    return in_parts(target, len(table), lambda part: table.take(every[part]))


def _searched(n: int, most: int | None, seed: int) -> Counts:
    if most is None or n <= most:
        return np.arange(n)
    return np.sort(generator(seed, Stream.CANDIDATES, 1).permutation(n)[:most])


@dataclass(frozen=True, eq=False)
class _OwnRecourse:
    """What the own recourse of some of the refused tells."""

    constraints: Constraints
    """What is asked of a change."""
    options: list[tuple[Decision, Sequence[Option]]]
    """Of each row that was searched."""
    cut_short: int
    """How many searches a limit ended."""


def _own_recourse(
    explainer: Explainer, rows: Rows, most: int | None, request: RecourseRequest, shown: bool | None
) -> _OwnRecourse:
    options: list[tuple[Decision, Sequence[Option]]] = []
    constraints, cut_short = Constraints(), 0
    searched = _searched(len(rows), most, explainer.decider.seed)
    decisions = explainer.decide_many(Rows(rows.table.take(searched)))
    with progress_bar("own recourse of rows", len(searched), shown) as bar:
        for decision in decisions:
            if isinstance(decision, SufficeError):
                raise decision
            if not options:
                constraints = request.constraints(decision)
            solver = Solver(decision, request)
            keeper = solver.keeper([constraints], request.clock(), 1.0)
            solution = solver.solve(constraints, None, keeper)
            options.append((decision, solution.options))
            cut_short += bool(solution.cut_short)
            bar.update()
    return _OwnRecourse(constraints, options, cut_short)


def _change(candidates: Candidates, j: int, players: Players) -> GlobalChange:
    values, row = candidates.values, int(candidates.source[j])
    cells, ways = values.cells(row), candidates.ways[j]
    columns = np.flatnonzero(ways).tolist()
    return GlobalChange(
        features=tuple(
            players.names[p] for p in sorted({int(players.of_column[c]) for c in columns})
        ),
        moves=tuple(
            Move(
                values.table.names[c],
                "to" if ways[c] == TO else "at least" if ways[c] == AT_LEAST else "at most",
                plain(cells[c]),
            )
            for c in columns
        ),
    )


def _row(
    number: int, name: str, group: str | None, costs: Reals, chosen: tuple[int, ...]
) -> RowRecourse:
    """What each of the chosen changes costs one row, and the cheapest of all that were tried."""
    least = float(costs.min(initial=np.inf))
    return RowRecourse(number, name, group, tuple(map(_cost, costs[list(chosen)])), _cost(least))


def _cost(cost: float) -> float | None:
    return float(cost) if np.isfinite(cost) else None
