"""Global recourse: the fewest changes that work for a share of the refused rows.

Four steps. The recourse options of refused rows give the columns to change and their directions.
Each such change, to values of references, is made in every row and predicted. Of the changes that
work, the fewest that cover the share are chosen, and of equally few the cheapest. The result has
the cost for each row, the rows left out, and both by group.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from suffice.audit.decisions import RowGroupBy, check_explainer, row_groups, row_names
from suffice.audit.global_recourse_candidates import (
    AT_LEAST,
    AT_MOST,
    SET_TO,
    CandidateTrial,
    ChangeCandidates,
    make_candidates,
    predict_in_batches,
)
from suffice.audit.global_recourse_result import GlobalChange, GlobalRecourse, Move, RowRecourse
from suffice.audit.set_cover import Cover, cheapest_cover
from suffice.context.change_rules import MissingCost
from suffice.context.cost import CostSpec
from suffice.context.players import Players
from suffice.context.references import CachedRows
from suffice.decision import Decision
from suffice.errors import InputError, SufficeError
from suffice.explainer import Explainer
from suffice.factors import Factor
from suffice.formatting import plural
from suffice.progress import check_progress, progress_bar
from suffice.randomness import Stream, generator
from suffice.recourse import Option, RecourseRequest
from suffice.recourse.constraints import Constraints
from suffice.recourse.solver import RecourseSolver
from suffice.tables import Table, as_scalar, as_table
from suffice.target import Target, event_for, needs_input
from suffice.typing import BoolVector, Counts, Reals
from suffice.validation import check_integer, check_number


def global_recourse(
    explainer: Explainer,
    X: Any,
    cover: float = 0.9,
    *,
    desired: Any = None,
    by: RowGroupBy = None,
    ids: Sequence[Any] | None = None,
    immutable: str | Iterable[str] = (),
    actionable: str | Iterable[str] | None = None,
    ranges: Mapping[str, Any] | None = None,
    increasing: str | Iterable[str] = (),
    decreasing: str | Iterable[str] = (),
    forbidden: Factor | Iterable[Factor] = (),
    cost: CostSpec = None,
    missing_cost: MissingCost = None,
    max_cost: float | None = None,
    max_size: int | None = 3,
    n_changes: int | None = None,
    max_candidates: int | None = 1000,
    max_searched: int | None = 100,
    budget: int | None = None,
    time_limit: float | None = None,
    progress: bool | None = None,
) -> GlobalRecourse:
    """Find the fewest changes such that one works for each of a share `cover` of the refused rows.

    **The model predicts** every refused row under every candidate change. A change requires values
    of some features: "home to owns", "income to at least 50". A row that meets a requirement
    already keeps its value, and pays nothing for it.

    Parameters
    ----------
    explainer
        The model, its data and references, as in `Explainer.recourse`; values must be swapped.
    X
        Rows: a frame or an array. Rows that have the desired outcome are counted and left out.
    cover
        The share of the refused to be helped, in (0, 1].
    desired
        The desired outcome: a class, `at_least(t)`, … None: any but the present one, if all rows
        have the same.
    by
        Groups to compare, at most 50: a column of X (the model need not use it), a function of a
        row's values {column: value}, or a label for each row.
    ids
        Names of the rows. None: their numbers, counted from 0.
    immutable, actionable, ranges, increasing, decreasing, forbidden, cost, missing_cost, max_cost
        Constraints on a change, as in `Explainer.recourse`, besides those declared to `Explainer`.
    max_size
        Maximum number of features of a change. Setting all features to the values of a granted row
        would work for everyone, and show nothing. None: any number.
    n_changes
        Choose up to this many changes if more of them cost less. None: the fewest. (`prices` of the
        result has the mean cost with more changes.)
    max_candidates
        Maximum number of changes to try. If there are more, the rows' own recourse options come
        first, and others are drawn with the explainer's seed. None: all.
    max_searched
        Maximum number of rows whose recourse is searched for candidate changes: a seeded sample
        if there are more. None: all.
    budget, time_limit
        Limits of each such search, as in `Explainer.recourse`.
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
    >>> [change.text for change in found.changes], found.proved
    (['income to at least 86'], True)
    >>> found.share.hits, found.n, len(found.left)
    (32, 36, 4)
    """
    _check_swap_explainer(explainer)
    wanted = check_number("cover", cover, "a share in (0, 1]", above=0, most=1)
    most = (
        None
        if max_candidates is None
        else check_integer("max_candidates", max_candidates, also="None")
    )
    wished = None if n_changes is None else check_integer("n_changes", n_changes, also="None")
    seeds = (
        None if max_searched is None else check_integer("max_searched", max_searched, also="None")
    )
    shown = check_progress(progress)
    request = RecourseRequest(
        immutable=immutable,
        actionable=actionable,
        ranges=ranges,
        increasing=increasing,
        decreasing=decreasing,
        forbidden=forbidden,
        cost=cost,
        missing_cost=missing_cost,
        max_cost=max_cost,
        max_size=max_size,
        budget=budget,
        time_limit=time_limit,
        progress=False,
    )
    given = as_table(X, names=explainer.data.names, argument="X")
    groups, names = row_groups(by, given), row_names(ids, len(given))
    if by is not None:  # a grouping column need not be a column of the model
        known = [j for j, name in enumerate(given.names) if name in explainer.data.names]
        given = given.select(known)
    table = _read_rows(explainer, given)
    target, wants = _desired_target(explainer, table, desired)
    # Rows with the desired outcome would be helped by every change at no cost.
    has = _predict_outcomes(target, table) == wants
    refused = np.flatnonzero(~has)
    if not len(refused):
        got = f"{plural(len(table), 'row')} that have the desired outcome already"
        raise InputError("X", got, "at least one that has not", "Or pass another desired outcome.")
    rows = CachedRows(table.take(refused))
    asking = explainer if desired is None else explainer.but(outcome=desired)
    own = _search_rows(asking, rows, seeds, request, shown)
    decider = explainer.decider
    trial = CandidateTrial(
        target,
        wants,
        rows,
        make_candidates(own.options, decider.players, own.constraints.rules, most, decider.seed),
        own.constraints,
        decider.players,
        decider.data,
        decider.cost if cost is None else cost,
        own.missing_costs,
    )
    with progress_bar("changes tried", len(rows) * len(trial.candidates), shown) as bar:
        costs = trial.costs(bar)
    # The table of costs is all that the cover needs: the model is not called any more.
    found = cheapest_cover(costs, wanted, wished)
    paid = tuple(
        _row_recourse(int(i), names[i], groups[i], each, found.chosen)
        for i, each in zip(refused, costs, strict=True)
    )
    return _make_result(trial, found, paid, own, request, wanted, int(has.sum()))


def _make_result(
    trial: CandidateTrial,
    found: Cover,
    rows: tuple[RowRecourse, ...],
    own: _RowSearches,
    request: RecourseRequest,
    wanted: float,
    already: int,
) -> GlobalRecourse:
    describe, candidates = trial.target.event.describe, trial.candidates
    return GlobalRecourse(
        desired=describe(trial.wanted),
        outcome=describe(not trial.wanted),
        wanted=wanted,
        changes=tuple(_global_change(candidates, j, trial.players) for j in found.chosen),
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
        asked=trial.n_predicted,
        max_size=request.max_size,
        max_cost=request.max_cost,
    )


def _check_swap_explainer(given: object) -> None:
    context = check_explainer(given, "an Explainer of a table's rows").decider.context
    if not context.is_swap:
        raise InputError(
            "explainer",
            f"one in whose context {context.describe()}",
            "values that are swapped",
            "One change would have different effects in each row: call explainer.recourse row by "
            "row, or use explainer.but(context=None).",
        )


def _read_rows(explainer: Explainer, given: Table) -> Table:
    """Return the rows with the columns and dtypes of the model's data."""
    rows: list[Table] = []
    found = explainer.read_rows(given)
    if isinstance(found, CachedRows):
        return found.table
    for i, row in enumerate(found):
        if isinstance(row, SufficeError):
            raise row.at(f"X: row {i}")
        rows.append(row)
    return CachedRows.from_rows(rows).table


def _desired_target(explainer: Explainer, table: Table, desired: Any) -> tuple[Target, bool]:
    """Return the target of the desired outcome, and the answer that is wanted."""
    model = explainer.decider.model
    outcome = explainer.outcome if desired is None else desired
    if outcome is not None and needs_input(outcome):
        argument = "desired" if desired is not None else "outcome"
        hint = "Pass desired=at_least(t), at_most(t) or a class."
        raise InputError(argument, outcome, "an outcome that means the same for every row", hint)
    first = model.predict(table.take(np.array([0])))[0]
    if desired is not None:
        return Target(model, event_for(desired, model, first, "desired")), True
    # Without `desired`, the wanted outcome is "not the present one", so all rows need the same one.
    target = Target(model, event_for(outcome, model, first))
    truth = _predict_outcomes(target, table)
    if len(set(truth.tolist())) > 1:
        describe = target.event.describe
        one, other = int(truth.sum()), int((~truth).sum())
        raise InputError(
            "desired",
            f"None, where {one:,} of X are {describe(True)} and {other:,} {describe(False)}",
            "the outcome wanted",
            "Those that have it are left out.",
        )
    return target, not truth[0]


def _predict_outcomes(target: Target, table: Table) -> BoolVector:
    every = np.arange(len(table))
    return predict_in_batches(target, len(table), lambda part: table.take(every[part]))


def _rows_to_search(n: int, most: int | None, seed: int) -> Counts:
    """Return the numbers of the rows whose recourse is searched: all, or a seeded sample."""
    if most is None or n <= most:
        return np.arange(n)
    return np.sort(generator(seed, Stream.CANDIDATES, 1).permutation(n)[:most])


@dataclass(frozen=True, eq=False)
class _RowSearches:
    """Recourse options of some of the refused rows."""

    constraints: Constraints
    """Constraints on a change."""
    missing_costs: Mapping[int, float]
    """By column: the cost of setting or removing a missing value, where that is allowed."""
    options: list[tuple[Decision, Sequence[Option]]]
    """Decision and options of each row that was searched."""
    cut_short: int
    """Number of searches that a limit ended."""


def _search_rows(
    explainer: Explainer,
    rows: CachedRows,
    most: int | None,
    request: RecourseRequest,
    shown: bool | None,
) -> _RowSearches:
    options: list[tuple[Decision, Sequence[Option]]] = []
    constraints, cut_short = Constraints(), 0
    missing: Mapping[int, float] = {}
    searched = _rows_to_search(len(rows), most, explainer.decider.seed)
    decisions = explainer.decide_many(CachedRows(rows.table.take(searched)))
    with progress_bar("own recourse of rows", len(searched), shown) as bar:
        for decision in decisions:
            if isinstance(decision, SufficeError):
                raise decision
            if not options:
                constraints = request.constraints(decision)
                missing = request.missing_costs(decision)
            solver = RecourseSolver(decision, request)
            keeper = solver.keeper([constraints])
            solution = solver.solve(constraints, None, keeper)
            options.append((decision, solution.options))
            cut_short += bool(solution.incomplete_reasons)
            bar.update()
    return _RowSearches(constraints, missing, options, cut_short)


def _global_change(candidates: ChangeCandidates, j: int, players: Players) -> GlobalChange:
    values, row = candidates.values, int(candidates.source[j])
    cells, directions = values.row_values(row), candidates.directions[j]
    columns = np.flatnonzero(directions).tolist()
    kinds: dict[int, Literal["to", "at least", "at most"]] = {
        SET_TO: "to",
        AT_LEAST: "at least",
        AT_MOST: "at most",
    }
    return GlobalChange(
        features=tuple(
            players.names[p] for p in sorted({int(players.of_column[c]) for c in columns})
        ),
        moves=tuple(
            Move(values.table.names[c], kinds[int(directions[c])], as_scalar(cells[c]))
            for c in columns
        ),
    )


def _row_recourse(
    number: int, name: str, group: str | None, costs: Reals, chosen: tuple[int, ...]
) -> RowRecourse:
    """Return one row's costs of the chosen changes, and of the cheapest change tried."""
    least = float(costs.min(initial=np.inf))
    return RowRecourse(
        number,
        name,
        group,
        tuple(map(_finite_or_none, costs[list(chosen)])),
        _finite_or_none(least),
    )


def _finite_or_none(cost: float) -> float | None:
    return float(cost) if np.isfinite(cost) else None
