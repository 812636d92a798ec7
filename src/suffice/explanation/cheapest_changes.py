"""The cheapest change of every set that flips the outcome and of all; directions of features.

The cheapest change of all is the best option of `Explainer.recourse` without further constraints.
If the search decided all sets, it follows from outcomes that the search has computed or computes
now; otherwise recourse finds it, unless the user gave a limit, which recourse would not keep. It
need not belong to a set that is minimal at some τ: a larger set with one reference may cost less
than every smaller set that flips. Only sets whose features all really change are candidates, since
otherwise a smaller set gives the same row. In a causal context with random effects one draw proves
little, so recourse's own `causal.select_causal` tests the cheapest change in many draws.

A reference's features are added in the order of their costs, and a set that costs more than the
best so far is not grown further, so that few of the 2^d · n pairs of a set and a reference are ever
priced.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from heapq import heapify, heappop, heappush
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from suffice.context.cost import SetCosts, declared_change_costs, total_costs
from suffice.context.hybrids import Hybrids, PooledHybrids
from suffice.context.references import Pool
from suffice.decision import Decision
from suffice.engines import Evaluator, LatticeEvaluator
from suffice.explanation.schema import Direction
from suffice.explanation.sufficient_factor import Change, Player
from suffice.factors.lattice import held_of_masks, held_of_members, members_of
from suffice.factors.order import COST_TOLERANCE
from suffice.recourse.causal import cheapest_reliable_change, has_random_consequences
from suffice.recourse.solver import find_cheapest_options
from suffice.search.exhaustive import Sweep
from suffice.search.hybrid_sampling import OutcomesOf
from suffice.search.limits import LimitKeeper
from suffice.search.plan import SearchTask
from suffice.search.profile import Profile
from suffice.search.strategies import SearchResult
from suffice.tables import Table, as_scalar
from suffice.tables.cells import missing_mask
from suffice.typing import BoolVector, Counts, HeldSets, Outcomes, Reals, Scalar

_REFERENCES_AT_FIRST = 256
"""References whose sets are grown together at first; then twice as many, and so on."""
_DENSE_SPEEDUP = 20
"""Pricing all pairs of a size together is so many times faster, per pair, than growing sets."""
_FEW_PAIRS = 1 << 15
"""Up to so many pairs are grown without comparing the two ways."""
_PAIRS_PER_BLOCK = 1 << 20
_SETS_PER_BLOCK = 4096
MOST_TIES = 8
"""Most other changes of the same cost that an explanation lists."""
_MOST_EQUAL_PAIRS = 1 << 12
"""Most pairs of equal least cost that are remembered; the first in the order of recourse stay."""


_FIRST_ASKED_PAIRS = 32
"""Pairs that are evaluated together at first; later a quarter of those evaluated before."""
_MOST_ASKED_PAIRS = 1 << 17
"""Most pairs that are evaluated for the cheapest change in addition to those of the search."""


@dataclass(frozen=True, eq=False)
class PricedSets:
    """Sets with the least cost of a flip, and the row of the pool whose values do it."""

    masks: list[int]
    costs: Reals
    rows: Counts

    @classmethod
    def joined(cls, parts: list[PricedSets]) -> PricedSets:
        """Return the sets of all parts, each once, without those of infinite cost."""
        masks = [mask for part in parts for mask in part.masks]
        costs = np.concatenate([np.empty(0), *(part.costs for part in parts)])
        rows = np.concatenate([np.empty(0, dtype=np.int64), *(part.rows for part in parts)])
        some = np.flatnonzero(costs < np.inf).tolist()
        if len(parts) > 1:
            some = list({masks[i]: i for i in some}.values())
        return cls([masks[i] for i in some], costs[some], rows[some])


@dataclass(frozen=True, eq=False)
class CheapestChanges(Mapping[int, Change]):
    """Cheapest changes by bit mask of features; a change is made when it is looked up.

    Tens of thousands of sets may flip at some τ, of which a user looks at a few.
    """

    priced: PricedSets
    hybrids: Hybrids
    players: tuple[Player, ...]

    def __getitem__(self, mask: int) -> Change:
        return self.change(mask, *self.found[mask])

    def change(self, mask: int, cost: float, row: int, reliability: float = 1.0) -> Change:
        """Return the change of a set to the values of a row of the pool."""
        values = self.values_of(row)
        players = tuple(self.players[j] for j in members_of(mask))
        new = {c: values[c] for p in players for c in p.values}
        return Change(players, new, cost, reliability)

    def values_of(self, row: int) -> Mapping[str, Scalar]:
        """Return a row's values by column, read once, since a few rows serve many sets."""
        pool = self.hybrids.pool
        if isinstance(pool, Pool) and row:  # inputs that share references share their values
            return pool.references.cached(("shown", row), lambda: _row_values(pool, row))
        if row not in self._read:
            self._read[row] = _row_values(pool, row)
        return self._read[row]

    @cached_property
    def found(self) -> dict[int, tuple[float, int]]:
        """Cost and row of the pool by bit mask."""
        pairs = zip(self.priced.costs.tolist(), self.priced.rows.tolist(), strict=True)
        return dict(zip(self.priced.masks, pairs, strict=True))

    @cached_property
    def _read(self) -> dict[int, Mapping[str, Scalar]]:
        return {}

    def __iter__(self) -> Iterator[int]:
        return iter(self.priced.masks)

    def __len__(self) -> int:
        return len(self.priced.masks)


def _row_values(pool: Table, row: int) -> Mapping[str, Scalar]:
    if isinstance(pool, Pool) and row:
        return dict(zip(pool.names, pool.references.row_values(row - 1), strict=True))
    return {name: as_scalar(pool.column(j)[row]) for j, name in enumerate(pool.names)}


def find_cheapest_changes(
    decision: Decision,
    narrowed: SearchTask,
    answer: SearchResult,
    flip: Profile,
    players: tuple[Player, ...],
    evaluator: Evaluator,
    keeper: LimitKeeper,
    ask_recourse: bool = False,
) -> tuple[CheapestChanges, tuple[Change, ...], dict[str, Direction]]:
    """Return the cheapest change of each set that is minimal at some τ, and the cheapest of all.

    The latter come first in the order of recourse, then others of the same cost, at most
    `MOST_TIES`. There are none where a sampler made rows that were never observed. The third is the
    direction of each feature in the cheapest changes that need it. With `ask_recourse`, a search
    that left sets open is followed by that of recourse.
    """
    hybrids = narrowed.hybrids[1]
    if hybrids.donors(np.ones((1, hybrids.d), dtype=bool)) is None:
        return CheapestChanges(PricedSets.joined([]), hybrids, players), (), {}
    costs = declared_change_costs(
        decision.pool, decision.data, decision.players, decision.cost, decision.changes
    )
    if narrowed.idle:
        costs = costs[:, list(narrowed.players)]
    prices = SetCosts(costs)
    swept = answer.sweep
    parts = [] if swept is None else list(_price_swept_sets(swept, flip, hybrids, prices))
    priced = PricedSets.joined([*parts, *_price_found_sets(answer, hybrids, prices)])
    changes = CheapestChanges(priced, hybrids, players)
    options: tuple[Change, ...] = ()
    if ask_recourse and not flip.decided:
        options = _ask_recourse(decision, players, narrowed.question.progress, keeper)
    if decision.context.is_causal and has_random_consequences(decision):
        if swept is None or options:
            return changes, options, {}
        found = cheapest_reliable_change(decision, swept, costs, evaluator, keeper)
        some = (changes.change(mask, c.cost, int(c.rows.max()), c.reliability) for mask, c in found)
        return changes, tuple(some), {}
    outcomes_of = None
    seen = swept is not None and swept.tally.complete
    if flip.decided and not seen:  # the outcomes of many sets are not known yet
        outcomes_of = answer.outcomes_of
        # A pruned search evaluates nothing if no set can pass the test; then this does not either.
        if outcomes_of is None and (swept or isinstance(evaluator, LatticeEvaluator)):
            outcomes_of = partial(keeper.ask, evaluator)
    causal = decision.context.is_causal
    equal = find_cheapest_pairs(swept, priced, hybrids, costs, causal, outcomes_of)
    directions = find_directions(swept, hybrids, prices, players)
    if options and not (equal and equal[0].cost < options[0].cost):
        return changes, options, directions
    return changes, tuple(changes.change(p.mask, p.cost, p.row) for p in equal), directions


def _ask_recourse(
    decision: Decision, players: tuple[Player, ...], progress: bool | None, keeper: LimitKeeper
) -> tuple[Change, ...]:
    """Return recourse's best option, and others of its cost, as changes; note the rows predicted.

    None is returned that needs a feature that was left out of the search.
    """
    options, rows = find_cheapest_options(decision, progress)
    keeper.note(rows)
    place = {player.name: i for i, player in enumerate(players)}
    out = []
    for option in options[: 1 + MOST_TIES]:
        if all(name in place for name in option.features):
            moved = tuple(players[i] for i in sorted(place[name] for name in option.features))
            out.append(Change(moved, option.values, option.cost, option.reliability))
    return tuple(out)


def _price_swept_sets(
    sweep: Sweep, flip: Profile, hybrids: Hybrids, prices: SetCosts
) -> Iterator[PricedSets]:
    """Price the sets of the sweep that are minimal at some τ."""
    lattice, d = flip.tally.lattice, flip.tally.d
    # Bars without a test can be used for every later test.
    counted = flip if flip.findings is None else replace(flip, findings=None)
    bars = counted.with_test(None, "none").bars
    if flip.tally.complete:
        for masks in _blocks(bars.places):
            # Replacing a set is holding its complement.
            kept = sweep.outcomes_of((1 << d) - 1 - masks)
            replaced = held_of_masks(masks, d)
            price = prices.of_masks(masks)
            yield _cheapest_reference(masks.tolist(), price, kept, replaced, hybrids)
        return
    for size, which in bars.by_size():
        for ranks in _blocks(bars.places[which]):
            replaced = lattice.held_at(size, ranks)
            # Complements are numbered backwards.
            kept = sweep.outcomes(d - size, lattice.width(size) - 1 - ranks)
            named = [lattice.mask(members) for members in lattice.unrank(size, ranks).tolist()]
            yield _cheapest_reference(named, prices.of(replaced), kept, replaced, hybrids)


def _blocks(places: Counts) -> Iterator[Counts]:
    for start in range(0, len(places), _SETS_PER_BLOCK):
        yield places[start : start + _SETS_PER_BLOCK]


def _cheapest_reference(
    masks: list[int], price: Reals, kept: Outcomes, replaced: HeldSets, hybrids: Hybrids
) -> PricedSets:
    """Return the sets with the least cost of a flip, infinite where no affordable one exists.

    `price` holds, by set and reference, the cost of replacing the set by the reference's values.
    """
    each = np.arange(len(price))
    if isinstance(hybrids, PooledHybrids):  # every set takes values from the references in order
        np.putmask(price, kept, np.inf)
        first = price.argmin(axis=1)
        return PricedSets(masks, price[each, first], first + 1)
    donors = hybrids.donors(~replaced)
    if donors is None:
        raise TypeError("rows that were made, not observed, have no cost")
    price = np.where(kept, np.inf, np.take_along_axis(price, donors - 1, axis=1))
    first = price.argmin(axis=1)
    return PricedSets(masks, price[each, first], donors[each, first])


def _price_found_sets(
    answer: SearchResult, hybrids: Hybrids, prices: SetCosts
) -> Iterator[PricedSets]:
    """Price the sets that were found outside the sweep."""
    found = list(answer.flips.items())
    for start in range(0, len(found), _SETS_PER_BLOCK):
        some = found[start : start + _SETS_PER_BLOCK]
        replaced = held_of_members([members for members, _ in some], hybrids.d)
        masks = [sum(1 << member for member in members) for members, _ in some]
        kept = ~np.stack([flips for _, flips in some])
        yield _cheapest_reference(masks, prices.of(replaced), kept, replaced, hybrids)


# -- the cheapest pairs of a set and a reference ----------------------------------------------


@dataclass(frozen=True)
class CheapestPair:
    """A set, by bit mask, and the row of the pool whose values flip it at least cost."""

    mask: int
    cost: float
    row: int

    @property
    def order(self) -> tuple[int, int, float, int]:
        """Sort key among pairs of equal cost, as in recourse: size, then rank of the set."""
        return self.mask.bit_count(), self.mask, self.cost, self.row


def find_cheapest_pairs(
    sweep: Sweep | None,
    known: PricedSets,
    hybrids: Hybrids,
    costs: Reals,
    causal: bool,
    outcomes_of: OutcomesOf | None = None,
) -> list[CheapestPair]:
    """Return the cheapest change and others of the same cost; empty where nothing flips.

    `known` are changes of single sets, whose costs bound the search. `outcomes_of` evaluates all
    pairs that might be cheaper, so that every complete answer has the same cheapest change.
    """
    changed = _differs_from_input(hybrids)
    search = _CheapestPairSearch(sweep, np.where(changed, costs, np.inf))
    for i in np.argsort(known.costs, kind="stable").tolist():
        mask, cost, row = known.masks[i], float(known.costs[i]), int(known.rows[i])
        if cost > search.limit:
            break
        moved = sum(1 << int(j) for j in np.flatnonzero(changed[row - 1]) if mask >> int(j) & 1)
        # Setting a feature to the value that it has is no change, but it may have effects.
        if moved == mask or not causal:
            search.remember(CheapestPair(moved, cost, row))
    # Where each set has references of its own, only the known changes of each can be compared.
    if isinstance(hybrids, PooledHybrids):
        if outcomes_of is not None:
            search.ask(outcomes_of)
        elif sweep is not None:
            search.run()
    return search.distinct(hybrids)


def _differs_from_input(hybrids: Hybrids) -> HeldSets:
    """Return (references, players): whether the reference's values differ from the input's."""
    codes = _player_codes(hybrids)
    return np.asarray(codes[1:] != codes[0])


def _player_codes(hybrids: Hybrids) -> Counts:
    """Return (1 + references, players): integers, equal where two rows agree on a player."""
    codes: Counts | None = getattr(hybrids, "codes", None)
    return hybrids.players.codes(hybrids.pool.codes()) if codes is None else codes


def _pairs_by_cost(prices: Reals) -> Iterator[tuple[float, tuple[int, ...], int]]:
    """Yield all pairs of a set and a reference as (cost, set, reference), the cheapest first.

    A set's features are added in the order of their costs; each set follows from one other, by
    its last feature moved one place up, or by the next one added.

    >>> [pair[:2] for pair in _pairs_by_cost(np.array([[2.0, 1.0, np.inf]]))]
    [(1.0, (1,)), (2.0, (0,)), (3.0, (1, 0))]
    """
    order = np.argsort(prices, axis=1, kind="stable").tolist()
    ascending = [row[row < np.inf].tolist() for row in np.sort(prices, axis=1)]
    heap: list[tuple[float, float, int, tuple[int, ...]]]
    heap = [(row[0], 0.0, i, (0,)) for i, row in enumerate(ascending) if row]
    heapify(heap)
    while heap:
        cost, without_last, i, places = heappop(heap)
        yield cost, tuple(order[i][place] for place in places), i
        if (last := places[-1] + 1) < len(ascending[i]):
            more = ascending[i][last]
            heappush(heap, (without_last + more, without_last, i, (*places[:-1], last)))
            heappush(heap, (cost + more, cost, i, (*places, last)))


class _CheapestPairSearch:
    """Search the swept outcomes for the cheapest pairs of a set and a reference."""

    def __init__(self, sweep: Sweep | None, prices: Reals) -> None:
        self.limit = np.inf
        """Pairs that cost more are of no interest: the least cost so far, rounding aside."""
        self._equal: dict[tuple[int, int], CheapestPair] = {}
        self._prices = prices
        if sweep is None:
            return
        self._sweep = sweep
        self._order = np.argsort(prices, axis=1, kind="stable")
        self._ascending = np.take_along_axis(prices, self._order, axis=1)
        d = sweep.tally.d
        unvisited = [size for size in range(1, d + 1) if not sweep.tally.n_evaluated(d - size)]
        self._deepest = min(unvisited, default=d + 1) - 1

    def remember(self, pair: CheapestPair) -> None:
        """Keep a pair that costs no more than the cheapest, and forget those that cost more."""
        if pair.cost > self.limit:
            return
        lowered = pair.cost * (1 + COST_TOLERANCE)
        if lowered < self.limit:
            self.limit = lowered
            self._equal = {k: p for k, p in self._equal.items() if p.cost <= lowered}
        self._equal[pair.mask, pair.row] = pair
        if len(self._equal) > 2 * _MOST_EQUAL_PAIRS:
            first = sorted(self._equal.values(), key=lambda p: p.order)[:_MOST_EQUAL_PAIRS]
            self._equal = {(p.mask, p.row): p for p in first}

    def distinct(self, hybrids: Hybrids) -> list[CheapestPair]:
        """Return the cheapest pairs in the order of recourse, each change once.

        Pairs around a listed set are left out: they only add features whose change costs nothing.
        """
        codes, out = _player_codes(hybrids), list[CheapestPair]()
        seen: set[tuple[int, tuple[int, ...]]] = set()
        for pair in sorted(self._equal.values(), key=lambda p: p.order):
            key = pair.mask, tuple(codes[pair.row, list(members_of(pair.mask))].tolist())
            if key in seen or any(p.mask & pair.mask == p.mask != pair.mask for p in out):
                continue
            seen.add(key)
            out.append(pair)
            if len(out) > MOST_TIES:
                break
        return out

    def ask(self, outcomes_of: OutcomesOf) -> None:
        """Ask about pairs in the order of their costs, up to the cost of those that flip."""
        pairs, asked = _pairs_by_cost(self._prices), 0
        while asked < _MOST_ASKED_PAIRS:
            together = list(islice(pairs, max(_FIRST_ASKED_PAIRS, asked // 4)))
            some = [pair for pair in together if pair[0] <= self.limit]
            if not some:
                return
            replaced = held_of_members([m for _, m, _ in some], self._prices.shape[1])
            references = np.array([reference for _, _, reference in some], dtype=np.int64)
            kept = outcomes_of(~replaced, references)
            flips = np.flatnonzero(~kept)
            exact = total_costs(np.where(replaced, self._prices[references], 0.0)[flips])
            for i, price in zip(flips.tolist(), exact.tolist(), strict=True):
                mask = sum(1 << player for player in some[i][1])
                self.remember(CheapestPair(mask, price, 1 + some[i][2]))
            if len(kept) < len(some) or len(some) < len(together):
                return
            asked += len(some)

    def run(self) -> None:
        """Grow the sets of all references with a feature that is cheap enough, cheapest first."""
        cheapest = self._ascending[:, 0]
        nearest = np.flatnonzero((cheapest <= self.limit) & (cheapest < np.inf))
        nearest = nearest[np.argsort(cheapest[nearest], kind="stable")]
        start, some = 0, _REFERENCES_AT_FIRST
        while start < len(nearest):
            self._grow(nearest[start : start + some])
            start, some = start + some, 2 * some

    @cached_property
    def _flips(self) -> list[Counts]:
        """Ranks of the held sets that some reference flips from, by size of the replaced set."""
        levels, n = self._sweep.tally.levels, self._sweep.tally.n
        return [np.flatnonzero(level < n) for level in reversed(levels)]

    def _grow(self, references: Counts) -> None:
        """Grow the sets of some references, small ones first, while they are cheap enough."""
        of = references
        last, cost = np.full(len(of), -1), np.zeros(len(of))
        members = np.empty((len(of), 0), dtype=np.int64)
        for size in range(1, self._deepest + 1):
            # Features are added in order of cost, so the affordable ones are a run after the last.
            affordable = self._ascending[of] <= np.minimum(self.limit, np.finfo(float).max)
            affordable &= self._ascending[of] <= (self.limit - cost)[:, None]
            more = np.maximum(affordable.sum(axis=1) - last - 1, 0)
            pairs = int(more.sum())
            if not pairs:
                return
            dense = len(self._flips[size]) * len(references) // _DENSE_SPEEDUP
            if pairs > _FEW_PAIRS and pairs > dense:
                for larger in range(size, self._deepest + 1):
                    self._price_all(larger, references)
                return
            grown = np.repeat(np.arange(len(of)), more)
            first = np.repeat(np.cumsum(more) - more, more)
            last = last[grown] + 1 + np.arange(len(grown)) - first
            of, members = of[grown], np.column_stack([members[grown], last])
            cost = cost[grown] + self._ascending[of, last]
            self._try(np.sort(self._order[of[:, None], members], axis=1), of, cost)

    def _try(self, members: Counts, references: Counts, cost: Reals) -> None:
        """Remember those of these pairs that flip at the least cost."""
        flips = self._sweep.flips(members, references) & (cost <= self.limit)
        if not flips.any():
            return
        least = float(cost[flips].min()) * (1 + COST_TOLERANCE)
        at = np.flatnonzero(flips & (cost <= least))[:_MOST_EQUAL_PAIRS]
        parts = np.zeros((len(at), self._prices.shape[1]))
        np.put_along_axis(parts, members[at], 1.0, axis=1)
        # Added in the order of `SetCosts`, so that the cost is the very float that recourse gives.
        exact = total_costs(np.where(parts > 0, self._prices[references[at]], 0.0))
        for i, price in zip(at.tolist(), exact.tolist(), strict=True):
            mask = sum(1 << player for player in members[i].tolist())
            self.remember(CheapestPair(mask, price, 1 + int(references[i])))

    def _price_all(self, size: int, references: Counts) -> None:
        """Try all sets of one size that flip for some reference, priced by matrix products."""
        lattice, flips = self._sweep.tally.lattice, self._flips[size]
        within = self._ascending[references, :size].sum(axis=1) <= self.limit
        references = np.sort(references[within])
        if not len(references):
            return
        never = np.isinf(self._prices[references])
        finite = np.where(never, 0.0, self._prices[references])
        for part in np.array_split(flips, 1 + len(flips) * len(references) // _PAIRS_PER_BLOCK):
            members = lattice.unrank(size, lattice.width(size) - 1 - part)
            replaced = np.zeros((len(part), lattice.d))
            np.put_along_axis(replaced, members, 1.0, axis=1)
            price = np.where(replaced @ never.T > 0, np.inf, replaced @ finite.T)
            sets, which = np.nonzero((price < np.inf) & (price <= self.limit))
            if len(sets):
                self._try(members[sets], references[which], price[sets, which])


# Direction, higher or lower, in which the cheapest changes that need a feature move it.
#
# A change needs a feature if the set without it flips the outcome for no reference. Reason letters
# say "too low" or "too high" by this, so the cheapest change is looked for among all sets that were
# counted, not only among those that are minimal at some threshold; and where equally cheap changes
# disagree, no direction is claimed.


_MAX_PAIRS = 1 << 27
"""Limit on pairs of a set and a reference that are priced; above it no direction is known."""


def find_directions(
    sweep: Sweep | None, hybrids: Hybrids, prices: SetCosts, players: tuple[Player, ...]
) -> dict[str, Direction]:
    """Return the direction of each feature that is one number and that some change needs.

    `sweep` is that of the flip view.
    """
    if sweep is None or not sweep.tally.complete or not isinstance(hybrids, PooledHybrids):
        return {}
    moves = {i: move for i in range(hybrids.d) if (move := _moves(hybrids, i)) is not None}
    # Replacing a set is holding its complement, and complements are numbered backwards.
    flips = np.asarray(sweep.tally.dense[::-1] < sweep.tally.n)
    masks = np.flatnonzero(flips)
    some = np.zeros(len(masks), dtype=bool)
    for i in moves:
        some |= _set_needs(masks, i, flips)
    masks = masks[some]
    if len(masks) * hybrids.n * len(moves) > _MAX_PAIRS:
        return {}
    least = {i: np.full(hybrids.n, np.inf) for i in moves}
    for block in np.array_split(masks, 1 + len(masks) * hybrids.n // _PAIRS_PER_BLOCK):
        price = prices.of_masks(block)
        price[sweep.outcomes_of(len(flips) - 1 - block)] = np.inf
        for i, move in moves.items():
            cheapest = price[_set_needs(block, i, flips)].min(axis=0, initial=np.inf)
            # Setting a feature to the value that it has shows nothing about it.
            least[i] = np.minimum(least[i], np.where(move == 0, np.inf, cheapest))
    found: dict[str, Direction] = {}
    for i, cost in least.items():
        if np.isfinite(cost).any():
            ways = set(moves[i][cost <= cost.min() * (1 + COST_TOLERANCE)].tolist())
            one = _DIRECTION_NAMES.get(min(ways), "either")
            found[players[i].name] = one if len(ways) == 1 else "either"
    return found


def _set_needs(masks: Counts, i: int, flips: BoolVector) -> BoolVector:
    """Return which sets have feature i and, without it, flip for no reference."""
    return np.asarray((masks >> i & 1 == 1) & ~flips[masks & ~(1 << i)])


_MADE_MISSING = 2
_DIRECTION_NAMES: dict[int, Direction] = {1: "higher", -1: "lower"}


def _moves(hybrids: PooledHybrids, player: int) -> NDArray[np.int8] | None:
    """Return, by reference, 1 for a higher value than the input's, −1 for a lower one, 0 for it.

    None if the feature is not one number. A missing value is neither higher nor lower.
    """
    columns = hybrids.players.columns[player]
    values = hybrids.pool.column(columns[0])
    missing = missing_mask(values)
    if len(columns) > 1 or missing[0]:
        return None
    if values.dtype.kind == "O":
        known = values[~missing]
        if any(
            isinstance(v, bool) or not isinstance(v, int | float) for v in map(as_scalar, known)
        ):
            return None
    elif values.dtype.kind not in "iuf":
        return None
    # Compared as they are: large integers would be rounded as floats.
    there = ~missing[1:]
    moves = np.full(len(there), _MADE_MISSING, dtype=np.int8)
    known = values[1:][there]
    moves[there] = (known > values[0]).astype(np.int8) - (known < values[0]).astype(np.int8)
    return moves
