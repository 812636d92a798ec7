"""Choosing options where changes have consequences: by how surely their very values work.

A reference that succeeded may have been lucky, and one that failed unlucky: its values were tried
in one draw of what follows. So every change, from the cheapest on, is tried in many draws. A few
draws tell that most changes are hopeless, and only those are tried in more that may reach the share
asked for: a change is given up, or taken, once an exact interval at 99.8% leaves out that share.
To be chosen is to be lucky, too, so what was taken is verified in fresh draws, which no choice has
depended on; their share is the option's reliability.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suffice.context.cost import SetCosts, cheapest_first
from suffice.encodings.recourse.choose import Candidates, Choices, Chosen, flipped, stopped_by
from suffice.encodings.recourse.consequences import Worlds, draw_worlds
from suffice.encodings.recourse.result import beyond
from suffice.factors.order import no_dearer
from suffice.inference import clopper_pearson
from suffice.search.limits import LimitKeeper, LimitReached
from suffice.tables.cells import distinct_rows
from suffice.typing import BoolVector, Counts, Held, Reals
from suffice.wording import count

__all__ = ["DRAWS", "LIKELY", "choose_reliable"]

LIKELY = 0.5
"""Without τ, a change must work at least this often."""
DRAWS = 512
"""Worlds in which an option is verified."""
_STAGES = (16, 64, 256)
"""Draws after which a change may be given up or taken; the last decide."""
_SURE = 0.998
_FIRST, _MOST = 32, 1024
"""Changes tried together: few at first, since the cheapest may do."""
_PAIRS = 1 << 21
"""Sets × references that are put in the order of cost."""


def choose_reliable(candidates: Candidates, most: int | None, keeper: LimitKeeper) -> Choices:
    """Take changes in order of cost; accept one if it works in enough of the draws.

    In that order no later change is cheaper, so a set that contains an accepted one is done with.
    """
    trial = _Trial(candidates, keeper)
    tries = _in_order(candidates, trial)
    chosen: list[Chosen] = []
    stop, at, together = None, 0, _FIRST
    done = np.zeros(len(tries.members), dtype=bool)
    try:
        while at < len(tries) and not _enough(chosen, most, tries.cost[at]):
            here = at + np.flatnonzero(~done[tries.of_set[at:]])[:together]
            passes = trial.may_do(tries.some(here))
            for i in here[passes]:
                members = tries.members[tries.of_set[i]]
                if done[tries.of_set[i]]:
                    continue
                share = trial.verified(tries.some(np.array([i])))
                if share >= trial.least:
                    # A smaller set of equal cost may come later, where rounding put it second.
                    option = _chosen(candidates, tries, int(i), share)
                    inside = set(option.members)
                    chosen = [old for old in chosen if not inside < set(old.members)] + [option]
                    done |= (tries.members >= members).all(axis=1)
            at = int(here[-1]) + 1 if len(here) else len(tries)
            together = min(2 * together, _MOST)
    except LimitReached as limit:
        stop = limit.stop
    by_cost = [chosen[i] for i in cheapest_first(np.array([option.cost for option in chosen]))]
    said = _not_tried(candidates, tries)
    if stop is not None:
        up_to = f"changes that cost more than {tries.cost[at - 1]:.3g} were" if at else "any was"
        said += (f"{stopped_by(stop)} before {up_to} tried.",)
    ended_early = stop is None and not done[tries.of_set[at:]].all()
    more = None if ended_early else beyond(most, len(by_cost))
    return Choices(candidates.decision.pool, by_cost[:most], said, more)


def _enough(chosen: list[Chosen], most: int | None, next_cost: float) -> bool:
    """Are there enough options, and does the next cost more than the last of them?"""
    if most is None or len(chosen) < most:
        return False
    return not no_dearer(next_cost, chosen[-1].cost)


def _chosen(candidates: Candidates, tries: _Tries, i: int, share: float) -> Chosen:
    members = tuple(np.flatnonzero(tries.members[tries.of_set[i]]).tolist())
    rows = candidates.rows_of(members, 1 + int(tries.reference[i]))
    return Chosen(members, float(tries.cost[i]), rows, share, confirmed=True)


def _not_tried(candidates: Candidates, tries: _Tries) -> tuple[str, ...]:
    d = candidates.counts.sets.d
    if tries.largest >= min(d, candidates.constraints.max_size or d, candidates.whole):
        return ()
    return (f"Sets of more than {count(tries.largest, 'feature')} are too many to be tried.",)


# -- what is tried, in which order ---------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Tries:
    """Changes in order of cost: of which set, to the values of which reference."""

    members: Held
    """(sets, players)."""
    largest: int
    cost: Reals
    of_set: Counts
    reference: Counts

    def __len__(self) -> int:
        return len(self.cost)

    def some(self, at: Counts) -> _Tries:
        """These of them."""
        here = self.cost[at], self.of_set[at], self.reference[at]
        return _Tries(self.members, self.largest, *here)


def _in_order(candidates: Candidates, trial: _Trial) -> _Tries:
    """Every set's allowed changes, each once, the cheapest first.

    Every feature must really change. Setting one to what it is would draw its effects afresh, and
    luck is not an action that anyone could take.
    """
    counts, constraints = candidates.counts, candidates.constraints
    n, sets = len(counts.costs), counts.sets
    sizes = range(min(sets.largest, constraints.max_size or sets.largest) + 1)
    largest = max(size for size in sizes if size < 2 or sets.starts[size + 1] * n <= _PAIRS)
    members = np.concatenate([sets.lattice.held(size) for size in range(largest + 1)])
    codes = _player_codes(candidates)
    same = (codes[1:] == codes[0]).astype(np.float32)
    ok = counts.allowed.on(members) & (members.astype(np.float32) @ same.T == 0)
    if not trial.random:
        ok &= candidates.eligible[: len(members), None]
    price = SetCosts(counts.costs).of(members)
    ok &= no_dearer(price, constraints.max_cost) & (price < np.inf)
    ok[0] = False  # to change nothing
    told = np.flatnonzero(~trial.differ(members) & counts.counted[: len(members)])
    ok[told] &= counts.succeeds(told)  # the sweep has tried these, once and for all
    of_set, reference = np.nonzero(ok)
    values = np.where(members[of_set], codes[1 + reference], 0)
    _, first = distinct_rows(np.column_stack([of_set, values]))
    of_set, reference = of_set[first], reference[first]
    cost = price[of_set, reference]
    order = np.lexsort((reference, of_set, cost))
    return _Tries(members, largest, cost[order], of_set[order], reference[order])


def _player_codes(candidates: Candidates) -> Counts:
    """(1 + references, players): equal where two rows agree on all of a player's columns."""
    codes = candidates.decision.pool.codes()
    columns = candidates.actionable.players.columns
    return np.stack([distinct_rows(codes[:, list(c)])[0] for c in columns], axis=1)


# -- trying --------------------------------------------------------------------------------


class _Trial:
    """Tries changes in draws of what follows from them."""

    def __init__(self, candidates: Candidates, keeper: LimitKeeper) -> None:
        self._candidates, self._keeper = candidates, keeper
        decision, tau = candidates.decision, candidates.constraints.tau
        self.least = LIKELY if tau is None else tau
        self._worlds = draw_worlds(decision, _STAGES[-1], 1)
        self._fresh = draw_worlds(decision, DRAWS, 2)
        self.random = bool(
            self.differ(np.eye(len(candidates.actionable.players), dtype=bool)).any()
        )

    def differ(self, members: Held) -> BoolVector:
        """Does what follows from setting these sets differ from draw to draw?"""
        return self._worlds.differ(members, self._candidates.actionable.players)

    def may_do(self, tries: _Tries) -> BoolVector:
        """Does each change work often enough, as far as these draws tell?"""
        hits = np.zeros(len(tries), dtype=np.int64)
        passes = np.zeros(len(tries), dtype=bool)
        open_, drawn = np.ones(len(tries), dtype=bool), 0
        random = self.differ(tries.members[tries.of_set])
        for stage in _STAGES:
            at = np.flatnonzero(open_)
            draws = np.arange(drawn, stage)
            # Where nothing is random one draw tells as much as all.
            each = np.where(random[at], len(draws), 1 if drawn == 0 else 0)
            worked = self._tried(tries.some(np.repeat(at, each)), _runs(each, drawn), self._worlds)
            np.add.at(hits, np.repeat(at, each), worked)
            drawn = stage
            n = np.where(random, drawn, 1)
            low, high = clopper_pearson(hits, n, _SURE)
            good = np.where(random, low >= self.least, hits == 1)
            if stage == _STAGES[-1]:
                good |= random & (hits / n >= self.least)
            passes |= open_ & good
            open_ &= random & ~good & (high >= self.least)
        return passes

    def verified(self, tries: _Tries) -> float:
        """The share of fresh draws in which one change works."""
        draws = DRAWS if self.differ(tries.members[tries.of_set])[0] else 1
        rows = tries.some(np.zeros(draws, dtype=np.int64))
        return float(self._tried(rows, np.arange(draws), self._fresh).mean())

    def _tried(self, tries: _Tries, draws: Counts, worlds: Worlds) -> BoolVector:
        """Does each change work in the draw beside it?"""
        decision, players = self._candidates.decision, self._candidates.actionable.players
        rows = np.zeros((len(tries), len(decision.pool.names)), dtype=np.int64)
        for player, columns in enumerate(players.columns):
            picked = np.where(tries.members[tries.of_set, player], 1 + tries.reference, 0)
            rows[:, list(columns)] = picked[:, None]
        found = flipped(decision, decision.pool, rows, self._keeper, worlds, draws)
        if len(found) < len(rows):
            self._keeper.check()
        return found


def _runs(lengths: Counts, first: int) -> Counts:
    """first, first + 1, … for each length, one run after the other."""
    ends = np.cumsum(lengths)
    return first + np.arange(int(lengths.sum())) - np.repeat(ends - lengths, lengths)
