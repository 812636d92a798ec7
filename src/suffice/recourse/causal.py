"""Recourse in a causal context: test how reliably each change works in random draws of its effects.

A reference that succeeded may have been lucky, and one that failed unlucky: the sweep tried its
values in one draw of their consequences. So every change, from the cheapest on, is tried in many
draws. A change is given up, or accepted, as soon as an exact 99.8% interval excludes the share
wanted, so that hopeless changes take few draws. Selection favours lucky changes, too: an accepted
change is therefore verified in fresh draws, and its reliability is the share of those in which it
works.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from suffice.context.causal import CausalContext, CausalHybrids
from suffice.context.cost import SetCosts, cheapest_first, total_costs
from suffice.context.players import Players
from suffice.decision import Decision
from suffice.engines import Evaluator
from suffice.engines.work import UNITS_PER_SECOND
from suffice.errors import InputError
from suffice.factors.order import cost_at_most
from suffice.formatting import plural
from suffice.inference import clopper_pearson
from suffice.randomness import Stream, generator
from suffice.recourse.candidates import (
    SECONDS_WHEN_OVER,
    ActionableFeatures,
    Candidate,
    SelectedCandidates,
    SetTable,
    count_left_out,
    describe_stop,
    keeper_of_rows,
    make_set_table,
    predict_flips,
)
from suffice.recourse.constraints import Constraints
from suffice.search.exhaustive import Sweep
from suffice.search.limits import LimitKeeper, LimitReached
from suffice.tables.cells import distinct_rows
from suffice.tables.table import Table
from suffice.typing import BoolVector, Counts, HeldSets, Reals, Values

VERIFICATION_DRAWS = 512
"""Fresh draws in which an accepted change is verified."""
_STAGES = (16, 64, 256)
"""Numbers of draws after which a change may be given up or accepted; the last one decides."""
_CONFIDENCE = 0.998
_FIRST_BATCH, _LARGEST_BATCH = 32, 1024
"""Changes tried together: few at first, since one of the cheapest may succeed."""
_MOST_PAIRS = 1 << 21
"""Most pairs of a set and a reference that are sorted by cost."""
_PAIR_WORK = 500.0
"""Work of sorting one pair, in the units of `engines.work`."""
_SORTING_SHARE = 0.1
"""The largest share of the seconds left that sorting pairs may be predicted to take: it cannot be
stopped, and a busy machine takes several times as long."""
_WHOLE_CHANGES = 16
"""Whole changes to a reference's values that are tried where a limit left nothing else."""


def select_causal(table: SetTable, most: int | None, keeper: LimitKeeper) -> SelectedCandidates:
    """Select the changes that work in a large enough share of the draws, the cheapest first."""
    found = _find_reliable(table, most, keeper)
    return replace(found, candidates=found.candidates[:most])


def cheapest_reliable_change(
    decision: Decision,
    sweep: Sweep,
    costs: Reals,
    evaluator: Evaluator,
    keeper: LimitKeeper,
) -> list[tuple[int, Candidate]]:
    """Return the cheapest reliable change and others of its cost, each with its set's bit mask.

    This is the best option of recourse without further constraints: costs are infinite where the
    explainer's own rules forbid a change.
    """
    numbers = tuple(range(len(decision.players)))
    features = ActionableFeatures(decision, numbers, decision.players, evaluator, np.inf, None)
    table = make_set_table(Constraints(), features, sweep, costs, True, keeper)
    found = _find_reliable(table, 1, keeper).candidates
    equal = [c for c in found if cost_at_most(c.cost, found[0].cost)]
    return [(sum(1 << member for member in c.members), c) for c in equal]


def _find_reliable(table: SetTable, most: int | None, keeper: LimitKeeper) -> SelectedCandidates:
    """Try changes in order of cost until `most` are found, with others of the last one's cost.

    No later change is cheaper, so every superset of a selected set is done with.
    """
    test = _ReliabilityTest(table, keeper)
    changes = _changes_by_cost(table, test, keeper)
    found: list[Candidate] = []
    stop, at, together = None, 0, _FIRST_BATCH
    done = np.zeros(len(changes.members), dtype=bool)
    try:
        while at < len(changes) and not _enough(found, most, changes.cost[at]):
            here = at + np.flatnonzero(~done[changes.of_set[at:]])[:together]
            passes = test.passes(changes.take(here))
            for i in here[passes]:
                members = changes.members[changes.of_set[i]]
                if done[changes.of_set[i]]:
                    continue
                share = test.reliability(changes.take(np.array([i])))
                if share >= test.least:
                    # A smaller set of equal cost may come later, where rounding put it second.
                    new = _as_candidate(table, changes, int(i), share)
                    inside = set(new.members)
                    found = [old for old in found if not inside < set(old.members)] + [new]
                    done |= (changes.members >= members).all(axis=1)
            at = int(here[-1]) + 1 if len(here) else len(changes)
            together = min(2 * together, _LARGEST_BATCH)
    except LimitReached as limit:
        stop = limit.stop
    reasons = _untried_sets_text(table, changes)
    if not found and (reasons or stop is not None or not table.complete):
        found = _whole_change(table, _ReliabilityTest(table, keeper.within_budget()), keeper)
    if stop is not None:
        costs = f"changes that cost more than {changes.cost[at - 1]:.3g} were"
        first = "smaller changes were" if found else "any change was"
        reasons += (f"{describe_stop(stop)} before {costs if at else first} tried.",)
    by_cost = [found[i] for i in cheapest_first(np.array([option.cost for option in found]))]
    ended_early = stop is None and not done[changes.of_set[at:]].all()
    more = None if ended_early else count_left_out(most, len(by_cost))
    return SelectedCandidates(table.decision.pool, by_cost, reasons, more)


def _whole_change(table: SetTable, test: _ReliabilityTest, keeper: LimitKeeper) -> list[Candidate]:
    """Return the cheapest change of all players to a reference's values that is reliable, if any.

    Where a limit left no time to try smaller changes, this one shows that the outcome can be had:
    setting everything that differs leaves few effects to chance. A few rows are predicted though
    the time is over, but never more than a budget allows.
    """
    constraints = table.constraints
    if constraints.tau is not None and not test.random:
        return []  # the sufficiency of the set would have to be counted
    usable = (
        table.decision.differs[:, list(table.features.numbers)]
        & table.allowed.by_player()
        & np.isfinite(table.costs)
    )
    cost = total_costs(np.where(usable, table.costs, 0.0))
    sizes = usable.sum(axis=1)
    ok = (sizes > 0) & cost_at_most(cost, constraints.max_cost)
    ok &= sizes <= (constraints.max_size or table.d)
    references = np.flatnonzero(ok & table.allowed.by_pair(usable, np.arange(len(usable))))
    references = references[np.argsort(cost[references], kind="stable")][:_WHOLE_CHANGES]
    numbers = np.arange(len(references))
    changes = _ChangesByCost(usable[references], table.d, cost[references], numbers, references)
    random = test.is_random(changes.members)
    rows = np.cumsum(np.where(random, VERIFICATION_DRAWS, 1))
    seconds = keeper.limits.time_limit
    pace = table.features.evaluator.seconds_per_hybrid() or 0.0
    for i in numbers.tolist():
        if seconds is not None and rows[i] * pace > max(SECONDS_WHEN_OVER, seconds / 10):
            return []
        try:
            share = test.reliability(changes.take(np.array([i])))
        except LimitReached:  # the budget's
            return []
        if share >= test.least:
            return [_as_candidate(table, changes, i, share)]
    return []


def _enough(found: list[Candidate], most: int | None, next_cost: float) -> bool:
    """Return whether enough options are found and the next change costs more than the last."""
    if most is None or len(found) < most:
        return False
    return not cost_at_most(next_cost, found[-1].cost)


def _as_candidate(table: SetTable, changes: _ChangesByCost, i: int, share: float) -> Candidate:
    members = tuple(np.flatnonzero(changes.members[changes.of_set[i]]).tolist())
    rows = table.features.pool_rows(members, 1 + int(changes.reference[i]))
    n, hits = table.counts_of(members)
    return Candidate(members, float(changes.cost[i]), rows, n, hits, share, confirmed=True)


def _untried_sets_text(table: SetTable, changes: _ChangesByCost) -> tuple[str, ...]:
    if changes.largest >= min(table.d, table.constraints.max_size or table.d, table.complete_up_to):
        return ()
    return (f"Sets of more than {plural(changes.largest, 'feature')} are too many to be tried.",)


# -- the changes, in order of cost -----------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _ChangesByCost:
    """Changes in order of cost: pairs of a set and the reference whose values the set takes."""

    members: HeldSets
    """(sets, players): the players of each set."""
    largest: int
    """The largest size of a set."""
    cost: Reals
    of_set: Counts
    """By change: the row of `members`."""
    reference: Counts

    def __len__(self) -> int:
        return len(self.cost)

    def take(self, at: Counts) -> _ChangesByCost:
        """Return the changes at these positions."""
        here = self.cost[at], self.of_set[at], self.reference[at]
        return _ChangesByCost(self.members, self.largest, *here)


def _changes_by_cost(
    table: SetTable, test: _ReliabilityTest, keeper: LimitKeeper
) -> _ChangesByCost:
    """List every set's allowed changes, each once, the cheapest first, as far as limits allow.

    Every member must really change. Setting a feature to the value it has would only draw its
    effects afresh, and luck is not an action that anyone could take.
    """
    constraints, n = table.constraints, len(table.costs)
    sizes = range(min(table.largest, constraints.max_size or table.largest) + 1)
    left, most = keeper.seconds_left, _MOST_PAIRS
    if left is not None:
        most = min(most, int(_SORTING_SHARE * left * UNITS_PER_SECOND / _PAIR_WORK))
    largest = max(size for size in sizes if size < 2 or table.starts[size + 1] * n <= most)
    keeper.spend(_PAIR_WORK * float(table.starts[largest + 1]) * n)
    members = np.concatenate([table.lattice.held(size) for size in range(largest + 1)])
    codes = _player_codes(table)
    same = (codes[1:] == codes[0]).astype(np.float32)
    ok = table.allowed.by_set(members) & (members.astype(np.float32) @ same.T == 0)
    if not test.random:
        ok &= table.eligible[: len(members), None]
    price = SetCosts(table.costs).of(members)
    ok &= cost_at_most(price, constraints.max_cost) & (price < np.inf)
    ok[0] = False  # the empty set changes nothing
    # Where nothing is random the sweep has decided the change for good.
    decided = np.flatnonzero(~test.is_random(members) & table.counted[: len(members)])
    ok[decided] &= table.succeeds(decided)
    of_set, reference = np.nonzero(ok)
    values = np.where(members[of_set], codes[1 + reference], 0)
    _, first = distinct_rows(np.column_stack([of_set, values]))
    of_set, reference = of_set[first], reference[first]
    cost = price[of_set, reference]
    order = np.lexsort((reference, of_set, cost))
    return _ChangesByCost(members, largest, cost[order], of_set[order], reference[order])


def _player_codes(table: SetTable) -> Counts:
    """Return (1 + references, players): equal codes where all the player's values are equal."""
    codes = table.decision.pool.codes()
    columns = table.features.players.columns
    return np.stack([distinct_rows(codes[:, list(c)])[0] for c in columns], axis=1)


# -- trying changes in draws -------------------------------------------------------------------


class _ReliabilityTest:
    """Sequential test of changes in random draws of their consequences."""

    def __init__(self, table: SetTable, keeper: LimitKeeper) -> None:
        self._decision, self._players = table.decision, table.features.players
        self._keeper = keeper_of_rows(table.decision, keeper)
        constraints = table.constraints
        self.least = constraints.reliability if constraints.tau is None else constraints.tau
        self._worlds = draw_worlds(table.decision, _STAGES[-1], 1)
        self._fresh = draw_worlds(table.decision, VERIFICATION_DRAWS, 2)
        self.random = bool(self.is_random(np.eye(table.d, dtype=bool)).any())

    def is_random(self, members: HeldSets) -> BoolVector:
        """Return, by set, whether the consequences of setting it differ from draw to draw."""
        return self._worlds.is_random(members, self._players)

    def passes(self, changes: _ChangesByCost) -> BoolVector:
        """Return, by change, whether it works often enough, as far as up to 256 draws show."""
        hits = np.zeros(len(changes), dtype=np.int64)
        passes = np.zeros(len(changes), dtype=bool)
        open_, drawn = np.ones(len(changes), dtype=bool), 0
        random = self.is_random(changes.members[changes.of_set])
        for stage in _STAGES:
            at = np.flatnonzero(open_)
            draws = np.arange(drawn, stage)
            # Where nothing is random one draw shows as much as all.
            each = np.where(random[at], len(draws), 1 if drawn == 0 else 0)
            worked = self._works_in(
                changes.take(np.repeat(at, each)), _consecutive_numbers(each, drawn), self._worlds
            )
            np.add.at(hits, np.repeat(at, each), worked)
            drawn = stage
            n = np.where(random, drawn, 1)
            low, high = clopper_pearson(hits, n, _CONFIDENCE)
            good = np.where(random, low >= self.least, hits == 1)
            if stage == _STAGES[-1]:
                good |= random & (hits / n >= self.least)
            passes |= open_ & good
            open_ &= random & ~good & (high >= self.least)
        return passes

    def reliability(self, change: _ChangesByCost) -> float:
        """Return the share of fresh draws in which one change works."""
        draws = VERIFICATION_DRAWS if self.is_random(change.members[change.of_set])[0] else 1
        copies = change.take(np.zeros(draws, dtype=np.int64))
        return float(self._works_in(copies, np.arange(draws), self._fresh).mean())

    def _works_in(self, changes: _ChangesByCost, draws: Counts, worlds: Worlds) -> BoolVector:
        """Return whether changes[i] works in draw draws[i]."""
        pool = self._decision.pool
        rows = np.zeros((len(changes), len(pool.names)), dtype=np.int64)
        for player, columns in enumerate(self._players.columns):
            picked = np.where(changes.members[changes.of_set, player], 1 + changes.reference, 0)
            rows[:, list(columns)] = picked[:, None]
        found = predict_flips(self._decision, pool, rows, self._keeper, worlds, draws)
        if len(found) < len(rows):
            self._keeper.check()
        return found


def _consecutive_numbers(lengths: Counts, first: int) -> Counts:
    """Return first, first + 1, … for each length, one run after the other."""
    ends = np.cumsum(lengths)
    return first + np.arange(int(lengths.sum())) - np.repeat(ends - lengths, lengths)


# -- draws of the consequences of a change -----------------------------------------------------

_DRAWS_COMPARED = 64
"""Draws of a node's noise that must be equal for the noise to count as none."""


def has_random_consequences(decision: Decision) -> bool:
    """Return whether the effects of any change are drawn at random, and can be drawn again.

    Contexts of users have no worlds that can be drawn one by one: their hybrids are taken as given.
    """
    if not isinstance(decision.context, CausalContext):
        return False
    players = decision.players
    worlds = draw_worlds(decision, _DRAWS_COMPARED, 1)
    return bool(worlds.is_random(np.eye(len(players), dtype=bool), players).any())


def single_world(decision: Decision, players: Players) -> Worlds:
    """Return the one world of the input, for a grid; raise where consequences are random."""
    worlds = draw_worlds(decision, _DRAWS_COMPARED, 1)
    if worlds.is_random(np.eye(len(players), dtype=bool), players).any():
        raise InputError(
            "values",
            "'grid' where the consequences of a change are drawn at random",
            "'observed', or 'grid' with CausalContext(scm, noise='kept')",
            "Each combination would have to be tried in many draws. Even with noise='kept', nodes "
            "whose capabilities are not 'exact' are drawn.",
        )
    return worlds


def draw_worlds(decision: Decision, draws: int, which: int) -> Worlds:
    """Draw worlds for the input from the decision's seed; another `which` gives other draws."""
    seed = int(generator(decision.seed, Stream.NOISE, which).integers(1 << 32))
    copies = decision.row.take(np.zeros(draws + 1, dtype=np.int64))
    _, flip = decision.context.bind(copies, decision.players, seed)
    assert isinstance(flip, CausalHybrids)
    return Worlds(flip)


@dataclass(frozen=True, eq=False)
class Worlds:
    """Worlds of one input, each with a noise value for every effect."""

    hybrids: CausalHybrids

    def apply(self, rows: Table, was_set: HeldSets, draws: Counts) -> Table:
        """Return the rows after the effects of the columns set, row i in world draws[i]."""
        scm, before = self.hybrids.scm, self.hybrids.values
        values = scm.read(rows, "context")
        at = {node: rows.names.index(node) for node in scm.nodes}
        after = scm.respond(
            values,
            {node: was_set[:, at[node]] for node in scm.nodes},
            {node: self.hybrids.noise[node][draws] for node in self._effects},
            {node: before[node][np.zeros_like(draws)] for node in scm.nodes}
            if self.hybrids.kept
            else None,
        )
        moved = {at[n]: after[n] for n in self._effects if after[n] is not values[n]}
        return rows.with_columns(moved, "context") if moved else rows

    def is_random(self, members: HeldSets, players: Players) -> BoolVector:
        """Return, by set, whether worlds differ in the consequences of setting it.

        They do where the set has a descendant with random noise that the set does not itself fix.
        """
        scm, names = self.hybrids.scm, self.hybrids.pool.names
        random = [n for n in self._effects if not _is_constant(self.hybrids.noise[n])]
        own, reached = np.zeros((2, len(players), len(random)), dtype=np.float32)
        for player, columns in enumerate(players.columns):
            nodes = {names[j] for j in columns}.intersection(scm.nodes)
            effects = frozenset[str]().union(*map(scm.descendants, nodes))
            own[player] = [node in nodes for node in random]
            reached[player] = [node in effects for node in random]
        sets = members.astype(np.float32)
        return np.asarray(((sets @ reached > 0) & (sets @ own == 0)).any(axis=1))

    @cached_property
    def _effects(self) -> list[str]:
        return [node for node in self.hybrids.scm.nodes if self.hybrids.scm.parents(node)]


def _is_constant(noise: Values) -> bool:
    return bool((noise == noise[:1]).all())
