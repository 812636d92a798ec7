"""Recourse with many features: shrink the references' own changes to small sets that still work.

Many features have more sets than can be evaluated. But a reference with the desired outcome *is* a
change that works, if an expensive one. With its features in some order of preference, a first part
of the change works already; that part is found by bisection, and then every feature that can be
dropped is dropped, the dearest first. The rest works, and fails without any one of its features.
References are taken from the cheapest on, a block together, so that the model predicts many rows at
once.

The first order prefers cheap features, the second features that were in earlier finds, and the rest
are random with cheap features more likely to come first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from heapq import heapify, heappop, heappush

import numpy as np

from suffice.context.cost import SetCosts, total_costs
from suffice.engines import Evaluator, LatticeEvaluator
from suffice.factors.lattice import held_of_members
from suffice.factors.order import cost_at_most
from suffice.formatting import plural
from suffice.randomness import Stream, generator
from suffice.recourse.candidates import (
    SECONDS_WHEN_OVER,
    ActionableFeatures,
    Candidate,
    SelectedCandidates,
    SetTable,
    count_left_out,
)
from suffice.recourse.constraints import AllowedReferences, Constraints
from suffice.search.limits import LimitKeeper, LimitReached
from suffice.typing import BoolVector, Counts, HeldSets, Outcomes, Reals

_FIRST_BLOCK, _LARGEST_BLOCK = 64, 256
"""References whose changes are shrunk together: few at first, so that something is found soon."""
_RANDOM_ROUNDS = 8
"""Rounds through the references with a random order of features."""
_FRUITLESS_BLOCKS = 4
"""The search ends after so many blocks in a row without a new set."""
_MOST_PAIRS = 1 << 13
"""Most (subset, reference) pairs of a set that are checked, as single hybrids, for less cost."""
_MOST_SUBSET_HYBRIDS = 1 << 21
"""Most hybrids of all subsets of a set that are checked for cheaper changes."""
_ROWS_WHEN_OVER = 1 << 12
"""Most references of a set that is counted though the time is over, where no other set was."""
_SETS_COMPARED = 512
"""Sets compared with all others together."""
_SETS_PER_ROUND = 32
"""Large sets counted together."""


@dataclass(eq=False)
class LargeSetSearch:
    """Search for changes of large sets, for one input under some constraints."""

    features: ActionableFeatures
    constraints: Constraints
    costs: Reals
    """(references, players): cost of giving the input the reference's values on the player."""
    keeper: LimitKeeper
    known: dict[tuple[int, ...], Candidate] = field(default_factory=dict)
    """By set: the cheapest change found that works."""
    useful_references: set[int] = field(default_factory=set)
    """References whose change works, in whole or in part."""

    def __post_init__(self) -> None:
        decision, players = self.features.decision, self.features.players
        self.allowed = AllowedReferences(decision.pool, players, self.constraints)

    @property
    def evaluator(self) -> Evaluator:
        """The evaluator of the features' sets."""
        return self.features.evaluator

    def try_whole_references(self) -> None:
        """Predict with the model itself whether the cheapest references' whole changes work.

        The model needs no preparation, so something is found before an engine's kernel is compiled.
        The first block is predicted even where the time is over already: replacing everything that
        can change works for most references, and "none found" would then be misleading.
        """
        model = self.features.blackbox(self.keeper.limits.batch_seconds)
        references = self._by_cost[:_FIRST_BLOCK][: self.keeper.rows_left]
        members = self._usable[references]
        works = self.allowed.by_pair(members, references)
        at = np.flatnonzero(works)
        self.keeper.expect(model)
        with self.keeper.counting(model, len(at)):
            works[at] = ~model.outcomes_of_hybrids(~members[at], references[at])
        self._remember_all(references[works], members[works], confirmed=True)

    @cached_property
    def _usable(self) -> HeldSets:
        """(references, players): whether the value differs, is allowed, and has a finite cost."""
        differs = self.features.decision.differs[:, list(self.features.numbers)]
        return differs & self.allowed.by_player() & np.isfinite(self.costs)

    @cached_property
    def _by_cost(self) -> Counts:
        """References that change anything, by the cost of their whole change."""
        order = np.argsort(np.where(self._usable, self.costs, 0.0).sum(axis=1), kind="stable")
        return order[self._usable[order].any(axis=1)]

    def search(self) -> None:
        """Shrink the references' changes until no new set is found or a limit is reached."""
        usable, by_cost = self._usable, self._by_cost
        fruitless = 0
        try:
            for round_, preference in enumerate(self._preferences()):
                for references in _reference_blocks(by_cost):
                    new = self._shrink(references, usable[references], preference[references])
                    fruitless = 0 if new else fruitless + 1
                    if round_ > 1 and fruitless >= _FRUITLESS_BLOCKS:
                        return
        except LimitReached:
            return

    def _preferences(self) -> Iterator[Reals]:
        """Yield orders of preference, (references, players): smaller numbers come first."""
        yield self.costs
        used = np.zeros(self.costs.shape[1])
        for change in self.known.values():
            used[list(change.members)] += 1
        yield self.costs / (1 + used)
        for round_ in range(_RANDOM_ROUNDS):
            rng = generator(self.features.decision.seed, Stream.STARTS, round_)
            yield self.costs * rng.exponential(size=self.costs.shape) / (1 + used)

    # -- one block of references ----------------------------------------------------------

    def _shrink(self, references: Counts, usable: HeldSets, preference: Reals) -> int:
        """Shrink the changes of these references; return how many new sets were found."""
        order = np.argsort(np.where(usable, preference, np.inf), axis=1, kind="stable")
        place = np.argsort(order, axis=1)  # rank of each player in its reference's order
        length = usable.sum(axis=1)
        works = np.zeros(len(references), dtype=np.int64)
        before = len(self.known)
        try:
            self._first_part(references, place, length, works)
        finally:  # a limit may end the bisection; the parts found so far still work
            some = works > 0
            references, members = references[some], place[some] < works[some, None]
            self.useful_references |= set(references.tolist())
            try:
                self._drop(references, members)
            finally:
                self._remember_all(references, members)
        return len(self.known) - before

    def _remember_all(self, references: Counts, members: HeldSets, confirmed: bool = False) -> None:
        """Remember each change that may be an option, if it is its set's cheapest so far."""
        constraints = self.constraints
        costs = total_costs(np.where(members, self.costs[references], 0.0))
        ok = cost_at_most(costs, constraints.max_cost)
        if constraints.max_size is not None:
            ok &= members.sum(axis=1) <= constraints.max_size
        for i in np.flatnonzero(ok):
            found = tuple(np.flatnonzero(members[i]).tolist())
            if found not in self.known or costs[i] < self.known[found].cost:
                rows = self.features.pool_rows(found, 1 + int(references[i]))
                self.known[found] = Candidate(found, float(costs[i]), rows, confirmed=confirmed)

    def _first_part(self, references: Counts, place: Counts, length: Counts, works: Counts) -> None:
        """Bisect: write into `works` how many first features of each order work, 0 if none do.

        The part found works and fails without its last feature. Where all features together fail,
        as constraints can cause, halves, quarters and so on are tried.
        """
        searching = length > 0
        while searching.any():
            at = np.flatnonzero(searching)
            found = self._works(place[at] < length[at, None], references[at])
            works[at[found]] = length[at[found]]
            length = length // 2
            searching &= (works == 0) & (length > 0)
        low = np.zeros_like(works)
        while (open_ := works - low > 1).any():
            at = np.flatnonzero(open_)
            middle = (low[at] + works[at]) // 2
            found = self._works(place[at] < middle[:, None], references[at])
            works[at[found]], low[at[~found]] = middle[found], middle[~found]

    def _drop(self, references: Counts, members: HeldSets) -> None:
        """Drop features in place, the dearest first, as long as the rest still works.

        First many together, then fewer and fewer, at last single ones until none can be dropped.
        """
        piece = int(members.sum(axis=1).max(initial=0)) // 2
        changing = np.ones(len(members), dtype=bool)
        while changing.any():
            piece = max(1, piece)
            dropped = self._drop_pieces(references, members, piece, changing)
            if piece == 1:  # dropping one feature may make another droppable
                changing = dropped
            piece //= 2

    def _drop_pieces(
        self, references: Counts, members: HeldSets, piece: int, changing: BoolVector
    ) -> BoolVector:
        """Try to drop each run of `piece` features; return which changes became smaller."""
        price = np.where(members, self.costs[references], -1.0)
        dearest = np.argsort(-price, axis=1, kind="stable")
        sizes = members.sum(axis=1)
        dropped = np.zeros(len(members), dtype=bool)
        for start in range(0, int(sizes[changing].max(initial=0)), piece):
            at = np.flatnonzero(changing & (start < sizes))
            trial = members[at]
            np.put_along_axis(trial, dearest[at, start : start + piece], False, axis=1)
            works = self._works(trial, references[at])
            members[at[works]] = trial[works]
            dropped[at[works]] = True
        return dropped

    def _works(self, members: HeldSets, references: Counts) -> BoolVector:
        """Return, by change, whether it is allowed and gives the desired outcome."""
        out = self.allowed.by_pair(members, references) & members.any(axis=1)
        at = np.flatnonzero(out)
        held = ~members[at]
        kept = self.keeper.ask(self.evaluator, held, references[at])
        if len(kept) < len(at):
            self.keeper.check()
            raise AssertionError("a limit left rows out and then forbids nothing")
        out[at] = ~kept
        return out

    # -- sets on all references -----------------------------------------------------------

    def count(self, sets: Sequence[tuple[int, ...]]) -> tuple[list[Candidate], int]:
        """Count the references on each set, in order, as far as the limits allow.

        Return the sets on which any succeeds, each with its cheapest change, and how many sets were
        counted.
        """
        which = held_of_members(sets, self.costs.shape[1])
        outcomes = self.keeper.ask_sets(self.evaluator, ~which)
        return self._candidates(sets, which, outcomes), len(outcomes)

    def count_anyway(self, members: tuple[int, ...]) -> list[Candidate]:
        """Count one set even where the time is over, if that takes a moment; else return nothing.

        The rows of a budget are never exceeded.
        """
        n, keeper = self.evaluator.n, self.keeper
        rows, seconds = keeper.rows_left, keeper.limits.time_limit
        if n > (_ROWS_WHEN_OVER if rows is None else min(rows, _ROWS_WHEN_OVER)):
            return []
        pace = self.evaluator.seconds_per_hybrid() or 0.0
        if seconds is not None and n * pace > max(SECONDS_WHEN_OVER, seconds / 10):
            return []
        which = held_of_members([members], self.costs.shape[1])
        with self.keeper.counting(self.evaluator, n):
            outcomes = self.evaluator.outcomes(~which)
        return self._candidates([members], which, outcomes)

    def _candidates(
        self, sets: Sequence[tuple[int, ...]], which: HeldSets, outcomes: Outcomes
    ) -> list[Candidate]:
        which = which[: len(outcomes)]
        ok = self.allowed.by_set(which)
        works = ok & ~outcomes
        prices = np.where(works, SetCosts(self.costs).of(which), np.inf)
        best = prices.argmin(axis=1)
        out: list[Candidate] = []
        for i, members in enumerate(sets[: len(outcomes)]):
            cost, counts = float(prices[i, best[i]]), (int(ok[i].sum()), int(works[i].sum()))
            if cost < np.inf:
                rows = self.features.pool_rows(members, 1 + int(best[i]))
                out.append(Candidate(members, cost, rows, *counts))
        return out

    def meets_tau(self, change: Candidate) -> bool:
        """Return whether the set's counted sufficiency reaches τ; True without τ."""
        tau = self.constraints.tau
        if tau is None:
            return True
        return change.hits is not None and change.n > 0 and change.hits / change.n >= tau

    def cheaper_subsets(self, change: Candidate, known_size: int) -> list[tuple[int, ...]] | None:
        """Return the strict subsets with a change that works and costs no more.

        Subsets of up to `known_size` players are skipped, since the sweep has counted those. None:
        there are too many subsets to check, or a limit came first.
        """
        size, n = len(change.members), len(self.costs)
        if n << size > _MOST_SUBSET_HYBRIDS:
            return None
        masks = np.arange(1, (1 << size) - 1)
        masks = masks[np.bitwise_count(masks.astype(np.uint32)) > known_size]
        part = (masks[:, None] >> np.arange(size) & 1).astype(bool)
        which = np.zeros((len(part), self.costs.shape[1]), dtype=bool)
        which[:, list(change.members)] = part
        cheap = cost_at_most(SetCosts(self.costs[:, list(change.members)]).of(part), change.cost)
        if isinstance(self.evaluator, LatticeEvaluator):
            # An engine is many times faster on sets with all references than on single hybrids.
            outcomes = self.keeper.ask_sets(self.evaluator, ~which)
            if len(outcomes) < len(which):
                return None
            works = cheap & self.allowed.by_set(which) & ~outcomes
        elif cheap.sum() > _MOST_PAIRS:
            return None
        else:
            sets, references = np.nonzero(cheap)
            works = np.zeros_like(cheap)
            try:
                works[sets, references] = self._works(which[sets], references)
            except LimitReached:
                return None
        found = which[works.any(axis=1)]
        return [tuple(np.flatnonzero(row).tolist()) for row in found]


def _reference_blocks(references: Counts) -> Iterator[Counts]:
    start, size = 0, _FIRST_BLOCK
    while start < len(references):
        yield references[start : start + size]
        start, size = start + size, min(4 * size, _LARGEST_BLOCK)


def minimal_candidates(changes: list[Candidate], d: int) -> list[Candidate]:
    """Return the changes minimal under the cost order, the cheapest first, then the smallest.

    Unlike `SetTable.minimal` this takes any list of sets, which need not contain all subsets.
    """
    changes = sorted(changes, key=lambda change: (change.cost, len(change.members), change.members))
    costs = np.array([change.cost for change in changes])
    sets = held_of_members([change.members for change in changes], d).astype(np.float32)
    kept = np.ones(len(changes), dtype=bool)
    for start in range(0, len(changes), _SETS_COMPARED):
        block = slice(start, start + _SETS_COMPARED)
        # The product counts the members of one set that another lacks: 0 for those around it.
        around = sets[block] @ (1 - sets).T == 0
        larger = sets.sum(axis=1) > sets[block].sum(axis=1)[:, None]
        for i in start + np.flatnonzero(kept[block]):
            if kept[i]:
                # Of the same set twice the first stays, which is the cheapest.
                worse = around[i - start] & (larger[i - start] | (np.arange(len(sets)) > i))
                kept &= ~(worse & cost_at_most(costs[i], costs))
    return [change for change, stays in zip(changes, kept, strict=True) if stays]


# -- selection ---------------------------------------------------------------------------------


def select_with_large_sets(
    table: SetTable, large: LargeSetSearch, most: int | None
) -> SelectedCandidates:
    """Select the minimal sets among those swept and the larger ones that were found."""
    swept = [
        table.cheapest_observed(int(position))
        for position in table.minimal_positions(table.affordable)
    ]
    known = {change.members for change in swept}
    complete_up_to = table.complete_up_to
    found = [c for c in large.known.values() if len(c.members) > complete_up_to]
    improvement = _Improvement(large, complete_up_to)
    new = [c for c in minimal_candidates([*swept, *found], table.d) if c.members not in known]
    improvement.run(new, most)
    if not (swept or improvement.options) and large.known:
        # The largest set found has the best chance to reach τ: all features together mostly do.
        largest = max(large.known, key=len)
        improvement.options += filter(large.meets_tau, large.count_anyway(largest))
    options = minimal_candidates([*swept, *improvement.options], table.d)
    selected = [
        replace(change, n=table.n_allowed(change.members)) if change.hits is None else change
        for change in options[:most]
    ]
    kept = {change.members for change in selected}
    unsure = sum(change.members in kept for change in improvement.unsure)
    more = None if improvement.ended_early else count_left_out(most, len(options))
    coverage = _coverage_text(large, unsure, len(selected), improvement)
    return SelectedCandidates(table.decision.pool, selected, (coverage,), more)


@dataclass(eq=False)
class _Improvement:
    """Count large sets, cheapest first, and replace each by its subsets that cost no more."""

    large: LargeSetSearch
    complete_up_to: int
    """All sets of up to this size were counted by the sweep."""
    options: list[Candidate] = field(default_factory=list)
    unsure: list[Candidate] = field(default_factory=list)
    """Options of which it is not known whether a subset works at no greater cost."""
    left_out: int = 0
    """Number of sets that a limit left uncounted, so that their least cost is not known."""
    unpriced: bool = False
    """Whether those are options all the same, because no set was counted."""
    ended_early: bool = False

    def run(self, changes: list[Candidate], most: int | None) -> None:
        """Improve the changes until `most` options are found or a limit is reached.

        A change is an option only once its set was counted: until then its cost is that of the
        first change met, and a cheaper one of the same set may exist.
        """
        queue = [(change.cost, change.members, change) for change in changes]
        heapify(queue)
        seen = {change.members for change in changes}
        while queue and (most is None or len(self.options) < most):
            some = [
                heappop(queue)[2]
                for _ in range(min(_SETS_PER_ROUND, most or _SETS_PER_ROUND, len(queue)))
            ]
            uncounted = [change for change in some if change.hits is None]
            found, done = self.large.count([change.members for change in uncounted])
            inner = self._improve([change for change in some if change.hits is not None] + found)
            if done < len(uncounted):
                waiting = [*inner, *(change for _, _, change in queue)]
                self._end([*uncounted[done:], *waiting])
                return
            for better in inner:
                if better.members not in seen:
                    seen.add(better.members)
                    heappush(queue, (better.cost, better.members, better))
        self.ended_early = bool(queue)

    def _end(self, left: list[Candidate]) -> None:
        """Take what is counted among the changes that a limit left; else the cheapest, or all."""
        large = self.large
        counted = [c for c in left if c.hits is not None]
        uncounted = [c for c in left if c.hits is None]
        if not counted and not self.options and uncounted:
            cheapest = min(uncounted, key=lambda change: change.cost)
            counted = large.count_anyway(cheapest.members)
            uncounted = [c for c in uncounted if not counted or c is not cheapest]
            # Without τ a change that works is an option, whatever else its set can do.
            self.unpriced = not counted and large.constraints.tau is None
        kept = [c for c in counted if large.meets_tau(c)]
        kept += uncounted if self.unpriced else []
        self.left_out = len(uncounted)
        self.unsure += kept
        self.options += kept

    def _improve(self, counted: list[Candidate]) -> list[Candidate]:
        """Add the sets without a cheaper subset to the options; return the others' subsets."""
        large = self.large
        out: list[Candidate] = []
        for change in filter(large.meets_tau, counted):
            subsets = large.cheaper_subsets(change, self.complete_up_to)
            found, done = large.count(subsets or [])
            better = list(filter(large.meets_tau, found))
            out += better
            if subsets is None or done < len(subsets):
                self.unsure.append(change)
            if not better:
                self.options.append(change)
        return out


def _are(n: int) -> str:
    return "is" if n == 1 else "are"


def _coverage_text(
    large: LargeSetSearch, unsure: int, options: int, improvement: _Improvement
) -> str:
    tried, of = len(large.useful_references), len(large.costs)
    among = f" of {of:,}" if tried < of else ""
    text = (
        f"Larger sets come from the changes of {tried:,}{among} references, shrunk until no "
        "feature can be dropped: others may be missing."
    )
    left = improvement.left_out
    if left and improvement.unpriced:
        text += " Costs are those of the first change found: a set may have a cheaper one."
    elif left:
        sets = plural(left, "set")
        text += f" {sets} found could not be counted in time and {_are(left)} left out."
    if not options:
        return text
    subsets = "Every subset of an option fails or costs more"
    if unsure:
        subsets = (
            f"For {unsure:,} of the {options:,} options it is not known whether every subset fails "
            "or costs more"
        )
    return f"{text} {subsets}."
