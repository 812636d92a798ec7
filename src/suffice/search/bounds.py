"""`search="bounds"`: decide sets at one τ in bulk, by bounds of an engine (branch and bound).

Both views search the same lattice from their small sets up, in turn, a batch of cubes each; time
that one view does not need goes to the other. When no cube is open, the result is that of an
exhaustive search at this τ, whatever the number of players. If a limit ends the search before, the
decided share of the lattice is known, and every set found is verified: it passes, and no set
inside it that is one smaller does (no set inside it at all, where all of those are decided).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from suffice.engines import CubeEvaluator, Evaluator, MonotoneEvaluator
from suffice.factors import bitsets
from suffice.factors.lattice import Lattice, held_of_masks, held_of_members
from suffice.progress import progress_bar
from suffice.search.exhaustive import Tally
from suffice.search.findings import DecidedSets, Findings, FoundSet, MinimalSetFamily, Proof
from suffice.search.hybrid_sampling import sample_hybrids, sample_size
from suffice.search.limits import LimitKeeper, Stop
from suffice.search.question import Question
from suffice.typing import BoolVector, Counts, HeldSets, Outcomes, Reals, ViewName

KnownSets = Iterable[Sequence[int]]

_CUBES_AT_ONCE = 4096
"""Cubes bounded together: enough to share the work, few enough to stop in time."""
_HYBRIDS_AT_ONCE = 1 << 20
"""Hybrids, of single sets, that are counted together."""
_VERIFIED_AT_ONCE = 256
_MOST_TESTS = 10**300
"""Largest number of tests that is counted: a float holds no larger one."""
_SEARCH_SHARE = 0.95
"""Share of the limits for the search; the rest is for verifying its sets if it is cut short."""


_CUBE_EFFORT = 8.0
"""Work of bounding a cube for one reference, as a multiple of the work of a hybrid."""


def bounds_search(
    evaluator: CubeEvaluator,
    d: int,
    question: Question,
    keeper: LimitKeeper | None = None,
    *,
    known_keep: KnownSets = (),
    known_flip: KnownSets = (),
) -> DecidedSets:
    """Find the τ-minimal factors of both views, with exact hits, within the limits.

    Sets known to pass, as from another search, close all cubes of their supersets at the start. A
    time limit starts now, unless a `keeper` that already counts is given.
    """
    # No limit is required: sets are closed in bulk, so any number of players may be searched.
    limits = question.limits.validated()
    keeper = LimitKeeper(limits) if keeper is None else keeper
    largest = limits.largest(d)
    tests = min(Lattice(d).count_up_to(largest), _MOST_TESTS)
    least, leverage = question.fewest_hits(evaluator.n, tests), evaluator.leverage()
    keep = BranchAndBound("keep", evaluator, leverage, least=least, largest=largest)
    flip = BranchAndBound("flip", evaluator, leverage, least=least, largest=largest)
    asked = tuple(side for side in (keep, flip) if side.view in question.views)
    asking = partial(keeper.part(0.1).ask, evaluator)
    draws = sample_hybrids(asking, d, evaluator.n, question, sample_size(keeper))
    tally = _count_empty_and_full_set(evaluator, d, keeper)
    searching = keeper.part(_SEARCH_SHARE)
    for side, known in ((keep, known_keep), (flip, known_flip)):
        if side in asked:
            side.enumerate_if_few(searching)
        if side.open:
            small = [members for members in known if len(members) <= largest]
            _count_sets(side, held_of_members(small, d), searching)
    stopped = _close_cubes(evaluator, asked, searching, question.progress)
    stopped = stopped or limits.size_stop(d)
    of_keep, _ = _verified_findings(keep, question.tau, stopped is None and keep in asked, keeper)
    of_flip, outcomes = _verified_findings(
        flip, question.tau, stopped is None and flip in asked, keeper
    )
    return DecidedSets(tally, of_keep, of_flip, outcomes, draws, stopped)


def _close_cubes(
    evaluator: CubeEvaluator,
    sides: Sequence[BranchAndBound],
    keeper: LimitKeeper,
    progress: bool | None,
) -> Stop | None:
    """Close cubes until none is open; return the limit that ended this, if any."""
    n, note, shown = evaluator.n, evaluator.note, 0.0
    with progress_bar("% of all sets decided", 100.0, progress) as bar:
        while any(side.open for side in sides):
            for side in sides:
                if not side.open:
                    continue
                cubes = keeper.batch(_CUBES_AT_ONCE * n, n)
                if not cubes:
                    return keeper.forbids(n)
                with keeper.counting(evaluator, min(cubes, len(side.open)) * n, _CUBE_EFFORT):
                    side.step(cubes)
                if evaluator.note != note:
                    # The engine gave up its reading of the model: cubes closed by it may be wrong.
                    note = evaluator.note
                    for each in sides:
                        each.restart()
            share = 100 * sum(side.decided_share for side in sides) / len(sides)
            bar.update(max(0.0, share - shown))  # less than before if all cubes were opened again
            shown = max(share, shown)
    return None


def _verified_findings(
    side: BranchAndBound, tau: float, all_decided: bool, keeper: LimitKeeper
) -> tuple[Findings, tuple[BoolVector, ...]]:
    """Return the verified findings of a view, and the outcomes of each factor's hybrids."""
    one_smaller = _verify_one_smaller(side, keeper)
    factors, outcomes = [], []
    sets, kept = side.passing.sets, side.passing.outcomes
    for members, row, hits in zip(sets, kept, side.hits(kept).tolist(), strict=True):
        # No decided set inside passes, or this set would not be listed.
        known = int(members.sum()) <= side.decided_size + 1
        if known or members.tobytes() in one_smaller:
            proof: Proof = "exhaustive" if known else "one smaller"
            factors.append(FoundSet(tuple(np.flatnonzero(members).tolist()), hits, proof))
            outcomes.append(row)
    order = sorted(range(len(factors)), key=lambda i: (len(factors[i].members), factors[i].members))
    findings = Findings(
        tau,
        tuple(factors[i] for i in order),
        decided=all_decided,
        decided_size=side.decided_size,
        only_at_tau=True,
        decided_share=side.decided_share,
    )
    return findings, tuple(outcomes[i] for i in order)


def _verify_one_smaller(side: BranchAndBound, keeper: LimitKeeper) -> set[bytes]:
    """Count the sets one smaller than each passing set whose subsets are not all decided.

    A passing set that contains another one is replaced by it, which is then checked in the same
    way. Returns the sets that were checked within the limits, as bytes.
    """
    verified: set[bytes] = set()
    while True:
        sets = side.passing.sets[side.passing.sets.sum(axis=1) > side.decided_size + 1]
        todo = [row for row in sets if row.tobytes() not in verified][:_VERIFIED_AT_ONCE]
        if not todo:
            return verified
        if not _count_sets(side, np.concatenate([_sets_one_smaller(row) for row in todo]), keeper):
            return verified
        verified |= {row.tobytes() for row in todo}


def _sets_one_smaller(members: BoolVector) -> HeldSets:
    players = np.flatnonzero(members)
    out = np.repeat(members[None], len(players), axis=0)
    out[np.arange(len(players)), players] = False
    return out


def _count_sets(side: BranchAndBound, sets: HeldSets, keeper: LimitKeeper) -> bool:
    """Count sets as far as the limits allow; return whether all were counted."""
    n, start = side.evaluator.n, 0
    while start < len(sets):
        some = sets[start : start + keeper.batch(_HYBRIDS_AT_ONCE, n)]
        if not len(some):
            return False
        with keeper.counting(side.evaluator, len(some) * n):
            side.count(some)
        start += len(some)
    return True


def _count_empty_and_full_set(evaluator: CubeEvaluator, d: int, keeper: LimitKeeper) -> Tally:
    """Count the empty and the full set, if the limits allow it."""
    levels = [np.empty(0, dtype=np.int64)] * (d + 1)
    if keeper.batch(_HYBRIDS_AT_ONCE, evaluator.n) >= 2:
        held = np.repeat([[False], [True]], d, axis=1)
        with keeper.counting(evaluator, 2 * evaluator.n):
            hits = evaluator.outcomes(held).sum(axis=1, dtype=np.int64)
        levels[0], levels[d] = hits[:1], hits[1:]
    return Tally(d, evaluator.n, tuple(levels))


# Branch and bound of one view: finds minimal sets, and closes cubes that contain none.


class BranchAndBound:
    """Search of one view: sets found, of up to `largest` players, and cubes still open.

    A set passes with at least `least` references of the view's outcome.
    """

    def __init__(
        self,
        view: ViewName,
        evaluator: CubeEvaluator,
        leverage: Reals,
        *,
        least: int,
        largest: int,
    ) -> None:
        self.evaluator = evaluator
        self.view = view
        self._keep = view == "keep"
        self._d, self._least, self._largest = leverage.shape[1], least, largest
        self._leverage = leverage.astype(np.float32)
        self.passing = MinimalSetFamily(self._d, evaluator.n)
        self._never = np.zeros(self._d, dtype=bool)
        if isinstance(evaluator, MonotoneEvaluator):
            self._never = evaluator.never_helps()
        self.restart()

    def restart(self) -> None:
        """Open all cubes again; counted sets stay counted."""
        self._decided = [0] * (self._d + 1)  # closed cubes, by the number of players that they fix
        self.open = Frontier(self._d)
        no_players = np.zeros((1, self._d), dtype=bool)
        self.open.push(no_players, self._never[None])

    def enumerate_if_few(self, keeper: LimitKeeper) -> None:
        """Count all sets of the players that can matter, if they are few; then no cube is open."""
        players = np.flatnonzero(~self._never)
        if not self._never.any() or len(players) > ENUMERABLE_PLAYERS:
            return
        sets = enumerate_minimal_sets(
            players,
            self.evaluator,
            self._d,
            keep=self._keep,
            least=self._least,
            largest=self._largest,
            keeper=keeper,
        )
        if sets is None:
            return
        held = sets if self._keep else ~sets
        self.passing = MinimalSetFamily.minimal(sets, self.evaluator.outcomes(held))
        self.open = Frontier(self._d)
        self._close(np.array([self._d - len(players)]))

    @property
    def decided_share(self) -> float:
        """Share of all sets, of any size, that is decided."""
        d = self._d
        sets = sum(cubes << (d - fixed) for fixed, cubes in enumerate(self._decided))
        # A set with players that cannot matter is decided with the set without them.
        return float(sets / (1 << (d - int(self._never.sum()))))

    @property
    def decided_size(self) -> int:
        """Largest size up to which every set is decided."""
        return min(self.open.smallest - 1, self._largest)

    def step(self, count: int) -> None:
        """Bound up to `count` open cubes, and split those that stay open."""
        inside, outside = self._left_out(self.open.pop(count))
        size = inside.sum(axis=1)
        if self._largest < self._d:
            # A smallest set of the largest allowed size is the only candidate of its cube.
            outside[size == self._largest] = ~inside[size == self._largest]
            inside, outside = (players[size <= self._largest] for players in (inside, outside))
        single = (inside | outside).all(axis=1)
        self.count(inside[single])
        self._close(np.full(int(single.sum()), self._d))
        self._bound(inside[~single], outside[~single])

    def count(self, sets: HeldSets) -> Counts:
        """Count sets and add those that pass to the family; return the hits of each."""
        if not len(sets):
            return np.empty(0, dtype=np.int64)
        outcomes = self.evaluator.outcomes(sets if self._keep else ~sets)
        hits = self.hits(outcomes)
        passes = hits >= self._least
        self.passing.add(sets[passes], outcomes[passes])
        return hits

    def hits(self, outcomes: Outcomes) -> Counts:
        """Return the number of references with the view's outcome, by set."""
        return np.asarray((outcomes == self._keep).sum(axis=1), dtype=np.int64)

    def _left_out(self, cubes: Cubes) -> Cubes:
        """Close cubes that contain a passing set; exclude players that would complete one."""
        inside, outside = cubes
        contains, completing = self.passing.compare(inside)
        fixed = inside.sum(axis=1) + outside.sum(axis=1)
        self._close(fixed[contains])
        new = (completing & ~outside)[~contains]
        count, fixed = new.sum(axis=1), fixed[~contains]
        for i in range(1, int(count.max(initial=0)) + 1):
            self._close(fixed[count >= i] + i)
        return inside[~contains], outside[~contains] | new

    def _bound(self, inside: HeldSets, outside: HeldSets) -> None:
        if not len(inside):
            return
        if self._keep:
            surely, may = self.evaluator.bound_cubes(inside, outside)
        else:
            kept, may_keep = self.evaluator.bound_cubes(outside, inside)
            surely, may = ~may_keep, ~kept
        fails = may.sum(axis=1) < self._least
        passes = surely.sum(axis=1) >= self._least
        self._close((inside | outside)[fails | passes].sum(axis=1))
        self.count(inside[passes])
        going = ~(fails | passes)
        inside, outside, doubt = inside[going], outside[going], (may & ~surely)[going]
        weight = doubt.astype(np.float32) @ self._leverage
        weight[inside | outside] = -1.0
        cut = np.zeros_like(inside)
        cut[np.arange(len(cut)), weight.argmax(axis=1)] = True
        self.open.push(inside | cut, outside)
        self.open.push(inside, outside | cut)

    def _close(self, fixed: Counts) -> None:
        for players, cubes in enumerate(np.bincount(fixed).tolist()):
            self._decided[players] += cubes


# Open cubes, those of the smallest sets first.


Cubes = tuple[HeldSets, HeldSets]
"""(cubes, players) twice: players inside all sets of a cube, players outside all of them."""

_MOST_BYTES = 1 << 29
"""Most bytes of open cubes; beyond it, cubes of large sets are split first: they have few parts."""


class Frontier:
    """Open cubes in bits, by the size of their smallest set."""

    def __init__(self, d: int) -> None:
        self._d = d
        self._waiting: list[list[NDArray[np.uint8]]] = [[] for _ in range(d + 1)]
        self._counts = np.zeros(d + 1, dtype=np.int64)
        self._most = _MOST_BYTES // (2 * ((d + 7) // 8))

    def __len__(self) -> int:
        return int(self._counts.sum())

    @property
    def smallest(self) -> int:
        """Size of the smallest set in an open cube; d + 1 if none is open."""
        sizes = np.flatnonzero(self._counts)
        return int(sizes[0]) if len(sizes) else self._d + 1

    def push(self, inside: HeldSets, outside: HeldSets) -> None:
        """Add open cubes, sorted by the size of their smallest sets."""
        sizes = inside.sum(axis=1)
        packed = np.stack([np.packbits(inside, axis=1), np.packbits(outside, axis=1)], axis=1)
        for size in np.unique(sizes).tolist():
            mine = packed[sizes == size]
            self._waiting[size].append(mine)
            self._counts[size] += len(mine)

    def pop(self, count: int) -> Cubes:
        """Remove and return up to `count` cubes, of one size or of several."""
        sizes = np.flatnonzero(self._counts).tolist()
        if len(self) > self._most:
            sizes.reverse()
        taken = []
        for size in sizes:
            chunks = self._waiting[size]
            while chunks and count:
                chunk = chunks.pop()
                if len(chunk) > count:
                    chunks.append(chunk[:-count])
                    chunk = chunk[-count:]
                taken.append(chunk)
                count -= len(chunk)
                self._counts[size] -= len(chunk)
            if not count:
                break
        packed = np.concatenate(taken)
        bits = np.unpackbits(packed, axis=2, count=self._d).astype(bool)
        return bits[:, 0], bits[:, 1]


# Enumeration: if few players can be in a minimal set, every set of them is counted.


ENUMERABLE_PLAYERS = 21
"""Most players whose sets are enumerated: an engine counts 2^21 sets per view in seconds."""

_ENUMERATED_AT_ONCE = 1 << 15
"""Sets counted together: few enough to stay in the processor's cache."""


def enumerate_minimal_sets(
    players: Counts,
    evaluator: Evaluator,
    d: int,
    *,
    keep: bool,
    least: int,
    largest: int,
    keeper: LimitKeeper,
) -> HeldSets | None:
    """Return the minimal sets (sets, d) of one view; None if the limits do not allow the count."""
    few, n = len(players), evaluator.n
    passing = np.zeros(1 << few, dtype=bool)
    start = 0
    while start < len(passing):
        count = keeper.batch(_ENUMERATED_AT_ONCE, n)
        if not count:
            return None
        masks = np.arange(start, min(start + count, len(passing)))
        sets = np.zeros((len(masks), d), dtype=bool)
        sets[:, players] = held_of_masks(masks, few)
        with keeper.counting(evaluator, len(masks) * n):
            outcomes = evaluator.outcomes(sets if keep else ~sets)
        hits = (outcomes == keep).sum(axis=1)
        passing[masks] = (hits >= least) & (np.bitwise_count(masks) <= largest)
        start += len(masks)
    closed = bitsets.pack(passing)
    bitsets.close_upward(closed, few)
    masks = bitsets.masks_in(bitsets.minimal_elements(closed, few))
    out = np.zeros((len(masks), d), dtype=bool)
    out[:, players] = held_of_masks(masks, few)
    return out
