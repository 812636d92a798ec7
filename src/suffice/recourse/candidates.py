"""Candidate feature sets of recourse: all sets with counts, least costs, predicted work and time.

A sweep evaluates the sets of the features that can change on every reference. `SetTable` holds, by
set, how many references are allowed, how many give the desired outcome, and which of those is the
cheapest. Options are selected from the table in one of four ways: `select_observed` here,
`grid.select_from_grid`, `large_sets.select_with_large_sets` and `causal.select_causal`; each
returns `SelectedCandidates`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from suffice.context.cost import SetCosts, cheapest_first
from suffice.context.hybrids import RestrictedHybrids, SwapHybrids
from suffice.context.players import Players
from suffice.decision import Decision
from suffice.engines import BlackBox, CompiledEvaluator, Evaluator, LatticeEvaluator
from suffice.engines.work import LOOKUP, UNITS_PER_SECOND, estimate_seconds, row_work
from suffice.factors.lattice import Lattice, drop_one_ranks, masks_by_size, over_supersets
from suffice.factors.order import cost_at_most
from suffice.formatting import plural
from suffice.recourse.constraints import AllowedReferences, Constraints
from suffice.search.exhaustive import Sweep, exhaustive_search
from suffice.search.limits import EXHAUSTIVE_PLAYERS, LimitKeeper, Limits, Stop
from suffice.search.question import Question
from suffice.tables.table import Table
from suffice.typing import BoolVector, Counts, Outcomes, Reals

if TYPE_CHECKING:
    from suffice.recourse.causal import Worlds

_ROWS_PER_CALL = 1 << 16
"""Rows that the model predicts together."""
SECONDS_WHEN_OVER = 0.2
"""Most seconds for finding a first option after the time is over, or a tenth of the time limit if
that is more."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A feature set with the cheapest change found for it, which may become an option."""

    members: tuple[int, ...]
    """Numbers of the players among the actionable ones."""
    cost: float
    rows: Counts
    """By column: the row of the pool that the value comes from; 0 is the input."""
    n: int = 0
    """How many references are allowed on the set; 0 until that is counted."""
    hits: int | None = None
    """How many of those give the desired outcome; None: not counted."""
    reliability: float = 1.0
    confirmed: bool = False
    """Whether the model itself has predicted the desired outcome for this very row."""


@dataclass(frozen=True, eq=False)
class SelectedCandidates:
    """The candidates selected, cheapest first, and why others may be missing."""

    pool: Table
    """The table that `Candidate.rows` refers to."""
    candidates: list[Candidate]
    incomplete_reasons: tuple[str, ...] = ()
    more: int | None = 0
    """How many further options were left out; None: the search ended before counting them."""


def count_left_out(most: int | None, found: int) -> int:
    """Return how many of the options found exceed the largest number wanted."""
    return 0 if most is None else max(0, found - most)


def describe_stop(stop: Stop | None) -> str:
    """Return what ended a search, as the beginning of a sentence.

    >>> describe_stop(Stop("time_limit", 5.0)), describe_stop(Stop("work", 1e10))[-15:]
    ('Stopped by time_limit=5 s, which depends on the machine,', 'limit is given,')
    """
    kind = None if stop is None else stop.kind
    clause = {"time_limit": ", which depends on the machine,", "work": ","}.get(kind or "", "")
    return f"Stopped by {stop}{clause}"


def keeper_of_rows(decision: Decision, keeper: LimitKeeper) -> LimitKeeper:
    """Return a keeper in the same books for rows that the model itself predicts."""
    return keeper.charging(row_work(decision.target.model))


def predict_flips(
    decision: Decision,
    pool: Table,
    rows: Counts,
    keeper: LimitKeeper,
    worlds: Worlds | None = None,
    draws: Counts | None = None,
    at_least: int = 0,
) -> BoolVector:
    """Return, by row, whether the model predicts another outcome than the input's.

    Row i takes, in column j, the value of the pool's row rows[i, j]; row 0 of the pool is the
    input. With `worlds`, the effects of the changes follow, in world draws[i]. The answer is
    shorter than `rows` where a limit forbids the last rows; the first `at_least` rows are predicted
    even where the time or the work is over. `keeper` comes from `keeper_of_rows`.
    """
    out = [np.empty(0, dtype=bool)]
    done = 0
    while done < len(rows):
        batch = keeper.batch(len(rows) - done)
        if not batch and done < at_least and keeper.may_run_out:
            left = keeper.rows_left
            batch = min(at_least, len(rows)) - done if left is None else min(at_least, left)
        if not batch:
            break
        part = slice(done, done + min(batch, _ROWS_PER_CALL))
        batch = len(rows[part])
        with keeper.counting(None, batch):
            table = pool.gather(rows[part])
            if worlds is not None:
                world = np.zeros(batch, dtype=np.int64) if draws is None else draws[part]
                table = worlds.apply(table, rows[part] > 0, world)
            out.append(decision.target(table) != decision.y)
        keeper.note(batch)
        done += batch
    return np.concatenate(out)


def select_observed(table: SetTable, most: int | None) -> SelectedCandidates:
    """Select the minimal sets, each with the values of its cheapest reference that succeeds."""
    positions = table.minimal_positions(table.affordable)
    found = [table.cheapest_observed(int(position)) for position in positions[:most]]
    return SelectedCandidates(table.decision.pool, found, more=count_left_out(most, len(positions)))


# -- the features that can change, and the sweep of their sets -------------------------------

_MOST_SETS_OF_PARTIAL_SIZE = 1 << 22
"""A size of which a limit left sets out is not used at all if it has more sets than this."""
_MOST_BYTES = 1 << 30
"""Memory for the outcomes of all sets."""
FEW_ROWS = 1 << 12
"""Up to so many rows no duration is predicted: a model's first call is slow and would mislead."""
_COUNTING_WORK = 40.0
"""Work of counting one hybrid of a sweep, in the units of `engines.work`."""
_SECONDS_FOR_KERNELS = 4.0
"""With less time left compiled kernels are not loaded: that takes one to two seconds."""
_SAFE_SHARE = 0.4
"""The largest share of the time or work left that a sweep of the whole lattice may be predicted to
take: such a sweep cannot be stopped."""


@dataclass(frozen=True, eq=False)
class ActionableFeatures:
    """The players that can change, with the evaluator of their sets' outcomes."""

    decision: Decision
    numbers: tuple[int, ...]
    """Numbers of these players among all players of the decision."""
    players: Players
    evaluator: Evaluator
    most_rows: float
    """Upper bound on the number of distinct rows among the hybrids of all sets."""
    hybrids: SwapHybrids | None
    """The hybrids evaluated; None in a causal context."""

    def blackbox(self, patience: float | None) -> Evaluator:
        """Return the model itself as an evaluator of the same hybrids."""
        assert self.hybrids is not None
        target, y = self.decision.target, self.decision.y
        return BlackBox(target, self.hybrids, y, patience=patience)

    def pool_rows(self, members: Sequence[int], row: int) -> Counts:
        """Return, by column, one row of the pool for these players and row 0 for all others."""
        rows = np.zeros(len(self.decision.pool.names), dtype=np.int64)
        rows[[j for m in members for j in self.players.columns[m]]] = row
        return rows

    def ready(self, keeper: LimitKeeper) -> ActionableFeatures:
        """Return features whose evaluator is fast at once.

        An engine's compiled kernels are loaded. Where a time limit has no room for that, the model
        takes the engine's place: without its kernels an engine may need seconds for a single set.
        """
        evaluator, left = self.evaluator, keeper.seconds_left
        if not isinstance(evaluator, CompiledEvaluator) or evaluator.kernels_loaded:
            return self
        if (left is not None and left < _SECONDS_FOR_KERNELS) or not evaluator.load_kernels():
            if left is None:
                return self
            return replace(self, evaluator=self.blackbox(keeper.limits.batch_seconds))
        # A kernel's first call loads it; in a batch that would look like a slow pace.
        first, held = keeper.part(1.0), np.ones((1, len(self.numbers)), dtype=bool)
        first.ask(evaluator, held, np.zeros(1, dtype=np.int64))
        first.ask_sets(evaluator, held)
        return self

    def n_sets(self, max_size: int | None) -> int:
        """Return the number of sets of up to `max_size` players."""
        d = len(self.numbers)
        return Lattice(d).count_up_to(min(d, max_size or d))

    def may_end_early(self, max_size: int | None, keeper: LimitKeeper) -> bool:
        """Return whether a limit may end the sweep before all sets are evaluated."""
        rows, seconds, work = keeper.rows_left, keeper.seconds_left, keeper.work_left
        needed = min(self.most_rows, self.n_sets(max_size) * self.evaluator.n)
        return (
            (rows is not None and needed > rows / 2)
            or (seconds is not None and self.predicted_seconds(max_size) > _SAFE_SHARE * seconds)
            or (work is not None and self.predicted_work(max_size) > _SAFE_SHARE * work)
        )

    def predicted_work(self, max_size: int | None, per_hybrid: float | None = None) -> float:
        """Predict the work of evaluating all sets of up to `max_size` players.

        Infinite where there are too many sets. `per_hybrid` stands for the evaluator's own
        prediction of the work of one hybrid.
        """
        d, n, evaluator = len(self.numbers), self.evaluator.n, self.evaluator
        sets = self.n_sets(max_size)
        if sets * (n // 8 + 64) > _MOST_BYTES or sets > 1 << EXHAUSTIVE_PLAYERS:
            return np.inf
        counting = _COUNTING_WORK * sets * n
        if isinstance(evaluator, LatticeEvaluator) and sets == 1 << d:
            return counting + evaluator.sweep_work()
        each = evaluator.work_per_hybrid() if per_hybrid is None else per_hybrid
        if isinstance(evaluator, LatticeEvaluator):
            return counting + each * sets * n
        return counting + LOOKUP * sets * n + each * min(self.most_rows, float(sets * n))

    def predicted_seconds(self, max_size: int | None) -> float:
        """Predict the seconds for the same, by the measured pace of the model where it is known.

        Only a time limit may ask: what was measured depends on the machine.
        """
        rows = min(self.most_rows, float(self.n_sets(max_size) * self.evaluator.n))
        pace = 0.0 if rows <= FEW_ROWS else self.evaluator.seconds_per_hybrid()
        known = None if pace is None else pace * UNITS_PER_SECOND
        return estimate_seconds(self.predicted_work(max_size, known))

    def sweep(self, max_size: int | None, keeper: LimitKeeper, progress: bool | None) -> Sweep:
        """Evaluate the sets of up to `max_size` players, as far as the limits allow."""
        limits = replace(keeper.limits, max_size=max_size)
        if keeper.may_run_out and limits.budget is None and max_size is None:
            # A sweep of the whole lattice is far faster than one that can be stopped, so it is
            # taken, without limits, where it is predicted to end in time.
            lattice = isinstance(self.evaluator, LatticeEvaluator)
            if lattice and not self.may_end_early(None, keeper):
                limits = Limits()
                keeper.spend(self.predicted_work(None))
        question = Question(
            limits=limits, seed=self.decision.seed, progress=progress, views=("flip",)
        )
        return exhaustive_search(self.evaluator, len(self.numbers), question, keeper)


def make_actionable_features(
    decision: Decision, numbers: tuple[int, ...], keeper: LimitKeeper, bounded: bool
) -> ActionableFeatures:
    """Make the evaluator for the players of these numbers; all others keep the input's values."""
    players = decision.players
    left = replace(keeper.limits, max_size=None, budget=keeper.rows_left)
    if decision.context.is_causal:
        some, players = RestrictedHybrids(decision.hybrids[1], numbers), players.take(numbers)
        evaluator = decision.evaluator(some, left, not bounded)
        rows, hybrids = float(some.n << some.d), None
    else:
        hybrids = SwapHybrids(decision.pool, players)
        if len(numbers) < hybrids.d:  # all players share what is cached with the references
            hybrids, players = hybrids.restrict_to(numbers), players.take(numbers)
        evaluator = decision.evaluator(hybrids, left, not bounded)
        rows = _most_distinct_rows(hybrids)
    keeper.note(evaluator.rows_predicted)  # an engine checks itself on a few rows when it is made
    return ActionableFeatures(decision, numbers, players, evaluator, rows, hybrids)


def _most_distinct_rows(hybrids: SwapHybrids) -> float:
    """Bound the number of distinct rows: 2^(players that differ from the input), by reference."""
    moved = (hybrids.codes[1:] != hybrids.codes[0]).sum(axis=1)
    with np.errstate(over="ignore"):
        return float(np.exp2(moved.astype(float)).sum())


# -- the table of sets ------------------------------------------------------------------------

_CELLS_PER_BLOCK = 1 << 23
"""Sets × references counted together."""
_CELLS_PER_TIMED_BLOCK = 1 << 20
"""Sets × references counted together under a time limit, which is checked between blocks."""
_SETS_PER_BLOCK = 1 << 16
"""Sets compared with their subsets together."""


@dataclass(frozen=True, eq=False)
class SetTable:
    """All sets of up to `largest` actionable players, each with its counts and least cost.

    A set's position orders sets by size, and sets of one size by their rank in the lattice.
    """

    constraints: Constraints
    features: ActionableFeatures
    sweep: Sweep
    allowed: AllowedReferences
    costs: Reals
    """(references, players): cost of giving the input the reference's values on the player."""
    largest: int
    starts: Counts
    """By size: the position of the first set; at the end, the number of sets."""
    eligible: BoolVector
    """By position: whether the set is small enough and its sufficiency reaches τ."""
    counted: BoolVector
    """By position: whether the set was counted; if not, its counts are 0 and its cost infinite."""
    hits: Counts
    """By position: how many of the allowed references give the desired outcome."""
    n: Counts
    """By position: how many references are allowed on the set."""
    cost: Reals
    """By position: least cost of an allowed change that succeeds; infinite where there is none."""
    reference: Counts
    """By position: the reference of that change."""
    stopped: Stop | None
    """The limit that ended the sweep or the count; None: both are complete."""

    @property
    def decision(self) -> Decision:
        """The decision that the options would change."""
        return self.features.decision

    @property
    def d(self) -> int:
        """Number of the players that can change."""
        return len(self.features.numbers)

    @cached_property
    def lattice(self) -> Lattice:
        """The lattice that ranks the sets of one size."""
        return Lattice(self.d)

    def __len__(self) -> int:
        return int(self.starts[-1])

    # -- completeness ---------------------------------------------------------------------

    @property
    def complete_up_to(self) -> int:
        """The largest size such that every set of that size or less was counted."""
        missing = np.flatnonzero(~self.counted)
        if not len(missing):
            return self.largest
        return int(np.searchsorted(self.starts, missing[0], side="right")) - 2

    @property
    def complete(self) -> bool:
        """True if every set of up to max_size players was counted."""
        return self.complete_up_to >= min(self.d, self.constraints.max_size or self.d)

    @property
    def unvisited_text(self) -> tuple[str, ...]:
        """The sentence on sets that a limit left out; empty where the table is complete."""
        if self.complete:
            return ()
        stop, size = describe_stop(self.stopped), self.complete_up_to
        if not self.counted[1:].any():
            each = f"each takes up to {plural(self.sweep.tally.n, 'row')}, one per reference"
            return (f"{stop} before all references were tried on any feature set: {each}.",)
        sizes = f"sets of more than {plural(size, 'feature')}" if size > 0 else "feature sets"
        return (f"{stop} before all references were tried on all {sizes}.",)

    # -- sets and positions ---------------------------------------------------------------

    def members(self, position: int) -> tuple[int, ...]:
        """Return the players of the set at a position."""
        size = int(np.searchsorted(self.starts, position, side="right")) - 1
        rank = np.array([position - self.starts[size]])
        return tuple(self.lattice.unrank(size, rank)[0].tolist())

    def least_inside(self, costs: Reals) -> Reals:
        """Return, by position, the least cost of any strict subset."""
        inside = np.full(len(self), np.inf)
        # Sizes ascend, so `inside` of the sets one smaller already covers all their subsets.
        for size in range(1, self.largest + 1):
            width = self.lattice.width(size)
            at, below = int(self.starts[size]), int(self.starts[size - 1])
            for start in range(0, width, _SETS_PER_BLOCK):
                stop = min(start + _SETS_PER_BLOCK, width)
                dropped = below + drop_one_ranks(self.lattice.members(size, start, stop), self.d)
                least = np.minimum(costs[dropped], inside[dropped])
                inside[at + start : at + stop] = least.min(axis=1)
        return inside

    def minimal(self, costs: Reals) -> BoolVector:
        """Return, by position, whether the set is minimal under the paper's cost order.

        T' ≺ T when T' ⊂ T and cost(T') <= cost(T), rounding aside: a superset that is strictly
        cheaper than all its subsets is minimal, too.
        """
        return np.asarray((costs < np.inf) & ~cost_at_most(self.least_inside(costs), costs))

    def minimal_positions(self, costs: Reals) -> Counts:
        """Return the positions of the minimal sets, the cheapest first, then the smallest."""
        positions = np.flatnonzero(self.minimal(costs))
        # Positions ascend by size, and the sort is stable: of equal cost the smaller set is first.
        return positions[cheapest_first(costs[positions])]

    # -- changes --------------------------------------------------------------------------

    @property
    def affordable(self) -> Reals:
        """Least cost by position of an eligible set; infinite where above max_cost."""
        ok = self.eligible & cost_at_most(self.cost, self.constraints.max_cost)
        return np.where(ok, self.cost, np.inf)

    def cheapest_observed(self, position: int) -> Candidate:
        """Return a set with the values of its cheapest reference that succeeds."""
        members = self.members(position)
        rows = self.features.pool_rows(members, 1 + int(self.reference[position]))
        return Candidate(members, float(self.cost[position]), rows, *self.counts_of(members))

    def counts_of(self, members: tuple[int, ...]) -> tuple[int, int | None]:
        """Return n and hits of one set; hits are None where the set was not counted."""
        if len(members) <= self.largest:
            position = int(self.starts[len(members)]) + self.lattice.rank(members)
            if self.counted[position]:
                return int(self.n[position]), int(self.hits[position])
        return self.n_allowed(members), None

    def n_allowed(self, members: tuple[int, ...]) -> int:
        """Return how many references are allowed on one set."""
        which = np.zeros((1, self.d), dtype=bool)
        which[0, list(members)] = True
        return int(self.allowed.by_set(which).sum())

    def succeeds(self, positions: Counts) -> Outcomes:
        """Return (positions, references): whether counted sets flip with a reference's values."""
        sizes = np.searchsorted(self.starts, positions, side="right") - 1
        out = np.zeros((len(positions), self.sweep.tally.n), dtype=bool)
        for size in np.unique(sizes).tolist():
            here = sizes == size
            out[here] = _succeeds(self.sweep, size, positions[here] - self.starts[size])
        return out

    # -- necessity ------------------------------------------------------------------------

    def necessity(self, sets: Sequence[tuple[int, ...]]) -> list[tuple[float | None, float | None]]:
        """Return PN of each set's upward closure over the allowed hybrids, and what chance gives.

        The second is the share of all allowed hybrids, whatever their outcome. None: not known.
        """
        if self.sweep.tally.complete and self.counted.all():
            return self._exact_necessity(sets)
        return self._estimated_necessity(sets)

    def _exact_necessity(
        self, sets: Sequence[tuple[int, ...]]
    ) -> list[tuple[float | None, float | None]]:
        masks = [self.lattice.mask(members) for members in sets]
        shares: list[list[float | None]] = []
        for counts in (self.hits, self.n):
            above = np.empty(1 << self.d)
            above[masks_by_size(self.d)] = counts
            total = float(above.sum())
            over_supersets(above, np.add)
            shares.append([float(above[mask]) / total if total else None for mask in masks])
        return list(zip(*shares, strict=True))

    def _estimated_necessity(
        self, sets: Sequence[tuple[int, ...]]
    ) -> list[tuple[float | None, float | None]]:
        """Estimate from the sweep's random hybrids, where not every set was visited."""
        draws = self.sweep.draws
        if draws is None or draws.references is None:
            return [(None, None)] * len(sets)
        ok = self.allowed.by_set(~draws.held)[np.arange(len(draws.held)), draws.references]
        if not (ok & ~draws.outcomes).any():
            return [(None, None)] * len(sets)
        pools = (~draws.held[which] for which in (ok & ~draws.outcomes, ok))
        shares = [
            [float(replaced[:, list(members)].all(axis=1).mean()) for members in sets]
            for replaced in pools
        ]
        return list(zip(*shares, strict=True))


def make_set_table(
    constraints: Constraints,
    features: ActionableFeatures,
    sweep: Sweep,
    costs: Reals,
    only_swept: bool,
    keeper: LimitKeeper,
) -> SetTable:
    """Count the references on all sets, or on swept sets only, a block at a time.

    `costs` are those of all players. Counting ends where the time limit is reached.
    """
    d = len(features.numbers)
    allowed_size = min(d, constraints.max_size or d)
    if only_swept:
        allowed_size = min(allowed_size, _largest_swept(sweep))
    # A complete sweep gives exact necessity, which needs the counts of every set.
    largest = d if sweep.tally.complete else allowed_size
    own = costs[:, list(features.numbers)]
    allowed = AllowedReferences(features.decision.pool, features.players, constraints)
    lattice, prices = Lattice(d), SetCosts(own)
    widths = [lattice.width(size) for size in range(largest + 1)]
    starts = np.concatenate([[0], np.cumsum(widths)])
    counted = np.zeros(starts[-1], dtype=bool)
    hits, n, reference = np.zeros((3, starts[-1]), dtype=np.int64)
    cost = np.full(starts[-1], np.inf)
    stop = sweep.stopped
    most = max(1, (_CELLS_PER_TIMED_BLOCK if keeper.timed else _CELLS_PER_BLOCK) // sweep.tally.n)
    for size, width in enumerate(widths):
        # Complements are ranked backwards, so the sets that a limit left out come first.
        for start in range(width - sweep.tally.n_evaluated(d - size), width, most):
            over = keeper.forbids(0) if keeper.may_run_out and size > 1 else None
            if over is not None:
                stop = over
                break
            end = min(start + most, width)
            members = lattice.held(size, start, end)
            keeper.spend(_COUNTING_WORK * members.shape[0] * sweep.tally.n)
            ok = allowed.by_set(members)
            succeeds = _succeeds(sweep, size, np.arange(start, end)) & ok
            at = starts[size] + np.arange(start, end)
            counted[at], hits[at], n[at] = True, succeeds.sum(axis=1), ok.sum(axis=1)
            some = np.flatnonzero(succeeds.any(axis=1))
            if size and len(some):
                price = np.where(succeeds[some], prices.of(members[some]), np.inf)
                best = price.argmin(axis=1)
                cost[at[some]], reference[at[some]] = price[np.arange(len(some)), best], best
    eligible = np.repeat(np.arange(largest + 1), widths) <= allowed_size
    if constraints.tau is not None:
        eligible &= (n > 0) & (hits / np.maximum(n, 1) >= constraints.tau)
    return SetTable(
        constraints, features, sweep, allowed, own, largest, starts,
        eligible, counted, hits, n, cost, reference, stop,
    )  # fmt: skip


def _largest_swept(sweep: Sweep) -> int:
    """Return the largest size whose sets were all swept, or in part if few enough to list."""
    lattice = sweep.tally.lattice
    for size in range(lattice.d, 0, -1):
        swept, width = sweep.tally.n_evaluated(lattice.d - size), lattice.width(size)
        if swept == width or (swept and width <= _MOST_SETS_OF_PARTIAL_SIZE):
            return size
    return 0


def _succeeds(sweep: Sweep, size: int, ranks: Counts) -> Outcomes:
    """Return (sets, references): whether replacing the sets of these ranks flips the outcome.

    Replacing a set is holding its complement, and complements are ranked backwards.
    """
    lattice = sweep.tally.lattice
    return ~sweep.outcomes(lattice.d - size, lattice.width(size) - 1 - ranks)
