"""`search="pruned"`: exact minimal sets at one τ with as few rows of a slow model as possible.

Sets are evaluated by size, the smallest first, in both views together. Supersets of a factor are
skipped, which saves little (German credit: 431 of 512 sets remain). Most is saved by
`CurtailedEvaluation`. The factors and their hits are those of an exhaustive search; necessity,
which counts all hybrids, is estimated from a sample.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from suffice.context.hybrids import SwapHybrids
from suffice.engines import Evaluator
from suffice.engines.blackbox import CachedAnswers, PredictionCache
from suffice.factors.lattice import Lattice, held_of_masks, masks_of_held
from suffice.progress import LARGEST_TOTAL, progress_bar
from suffice.search.exhaustive import Tally
from suffice.search.findings import DecidedSets, Findings, FoundSet, UndecidedSets
from suffice.search.hybrid_sampling import sample_hybrids, sample_size
from suffice.search.limits import LimitKeeper, Stop
from suffice.search.question import Question
from suffice.tables.cells import distinct_keys
from suffice.typing import BoolVector, Counts, HeldSets, Reals, ViewName


def pruned_search(
    evaluator: Evaluator,
    hybrids: SwapHybrids,
    question: Question,
    keeper: LimitKeeper | None = None,
) -> DecidedSets:
    """Find the τ-minimal factors of both views, with exact hits, within the limits.

    A time limit starts now, unless a `keeper` that already counts is given.
    """
    d, n, tau = hybrids.d, hybrids.n, question.tau
    limits = question.limits.validated()
    limits.require_bounded(d)
    keeper = LimitKeeper(limits) if keeper is None else keeper
    largest = limits.largest(d)
    least = question.fewest_hits(n, Lattice(d).count_up_to(largest))
    keep, flip = _ViewSets(d), _ViewSets(d)
    draws, decided, stopped, outcomes_of = None, largest, None, None
    levels = [np.empty(0, dtype=np.int64)] * (d + 1)
    if least <= n:  # else not even a set that hits for every reference would pass
        curtailed = CurtailedEvaluation(evaluator, hybrids, least, keeper)
        outcomes_of = partial(curtailed.outcomes_of, keeper=keeper)
        # The sample comes first: necessity needs it, and it shows which rows to predict first.
        # It gets a fifth of the time, since deciding sets matters more.
        sampling = keeper.part(0.2) if keeper.may_run_out else keeper
        asking = partial(curtailed.outcomes_of, keeper=sampling)
        draws = sample_hybrids(asking, d, n, question, sample_size(keeper))
        decided, stopped = _decide_by_size(curtailed, keep, flip, largest, keeper, question)
        for size, hits in curtailed.ends().items():
            levels[size] = np.array([hits])
    stopped = stopped or limits.size_stop(d)
    return DecidedSets(
        Tally(d, n, tuple(levels)),
        keep.findings(tau, True, decided, stopped is None and "keep" in question.views),
        flip.findings(tau, False, decided, stopped is None and "flip" in question.views),
        tuple(flip.outcomes),
        draws,
        stopped,
        outcomes_of,
    )


def _decide_by_size(
    curtailed: CurtailedEvaluation,
    keep: _ViewSets,
    flip: _ViewSets,
    largest: int,
    keeper: LimitKeeper,
    question: Question,
) -> tuple[int, Stop | None]:
    """Decide sets by size; return the size up to which all are decided, and the limit reached.

    In a view that the question leaves out no set is open: another search reads its hybrids.
    """
    left_out: dict[tuple[ViewName, ...], _ViewSets] = {("keep",): flip, ("flip",): keep}
    not_asked = left_out.get(question.views)
    lattice, blocks = Lattice(keep.d), keeper.part(1.0)
    total = lattice.count_up_to(largest)
    with progress_bar("sets", total if total < LARGEST_TOTAL else None, question.progress) as bar:
        for size in range(largest + 1):
            start, undominated = 0, 0
            while start < lattice.width(size):
                limit = keeper.forbids(0)
                if limit is not None:
                    return size - 1, limit
                step = max(1, blocks.paced(curtailed.hybrids_at_once // 2) // curtailed.n)
                stop = min(start + step, lattice.width(size))
                with blocks.counting(None, (stop - start) * curtailed.n):
                    sets = lattice.held(size, start, stop)
                    open_keep, open_flip = (
                        sets[:0] if view is not_asked else view.undominated(sets)
                        for view in (keep, flip)
                    )
                    undominated += len(open_keep) + len(open_flip)
                    passing = curtailed.decide(open_keep, ~open_flip)
                    keep.add(open_keep, passing[0])
                    flip.add(open_flip, passing[1])
                if curtailed.stopped is not None:
                    return size - 1, curtailed.stopped
                bar.update(stop - start)
                start = stop
            if not undominated:  # then all larger sets are dominated, too
                break
    return largest, None


class _ViewSets:
    """Findings of one view."""

    def __init__(self, d: int) -> None:
        self.d = d
        self.sets: HeldSets = np.empty((0, d), dtype=bool)
        self.outcomes: list[BoolVector] = []

    def undominated(self, sets: HeldSets) -> HeldSets:
        """Return the sets that contain no factor found so far."""
        lacking = (~sets).astype(np.float32) @ self.sets.T.astype(np.float32)
        return sets[(lacking > 0).all(axis=1)]

    def add(self, sets: HeldSets, found: Iterable[tuple[int, BoolVector]]) -> None:
        places = []
        for place, outcomes in found:
            places.append(place)
            self.outcomes.append(outcomes)
        self.sets = np.concatenate([self.sets, sets[places]])

    def findings(self, tau: float, outcome: bool, size: int, complete: bool) -> Findings:
        """Return the factors, with the number of references that have the view's outcome.

        All sets of up to `size` players were decided, or if `complete` all sets.
        """
        factors = tuple(
            FoundSet(tuple(np.flatnonzero(members).tolist()), int((outcomes == outcome).sum()))
            for members, outcomes in zip(self.sets, self.outcomes, strict=True)
        )
        share = 1.0 if complete else self._share(size)
        return Findings(tau, factors, complete, size, only_at_tau=True, decided_share=share)

    def _share(self, size: int) -> float:
        """Return the share of all sets with at most `size` players, or with a factor inside.

        With many players only factors of one player are counted: a lower bound of the share.
        """
        open_sets = UndecidedSets(self.d)
        open_sets.mark_sizes_up_to(size)
        for members in self.sets:
            open_sets.mark_supersets(np.flatnonzero(members).tolist())
        share = open_sets.decided_share
        if share is not None:
            return share
        rest = Lattice(self.d - int(self.sets[self.sets.sum(axis=1) == 1].any(axis=0).sum()))
        undecided = sum(rest.width(k) for k in range(size + 1, rest.d + 1))
        return float(1 - Fraction(undecided, 1 << self.d))


# Curtailed evaluation: stop predicting for a subset when the rest cannot change its verdict.


_FIRST_EXPECTED_MISSES = 1.0
"""Expected misses of the first round; each later round doubles them: fewer model calls, for a few
more rows."""

Signs = NDArray[np.int8]
"""1: the input's outcome, -1: another."""

RowWeights = NDArray[np.float32]

PassingSets = list[tuple[int, BoolVector]]
"""Position of each passing set among the given ones, with the outcomes of its hybrids."""


class CurtailedEvaluation:
    """Evaluation of the subsets of one context: decides which have at least `least` hits."""

    def __init__(
        self, evaluator: Evaluator, hybrids: SwapHybrids, least: int, keeper: LimitKeeper
    ) -> None:
        self._evaluator = evaluator
        self._d, self.n = hybrids.d, hybrids.n
        self._enough = hybrids.n - least + 1  # misses that settle a failure
        self._keeper = keeper
        self.stopped: Stop | None = None
        """Limit that forbade predicting a row that was needed; None if none did."""
        self._rows = DistinctRows(hybrids, keeper.limits.batch_seconds)
        self._guess = OutcomeGuess(hybrids)
        self.hybrids_at_once = self._rows.hybrids_at_once

    def outcomes_of(self, held: HeldSets, references: Counts, keeper: LimitKeeper) -> BoolVector:
        """Return outcomes of single hybrids in order, up to the first that a limit forbids."""
        lattice = self._rows.lattice
        if lattice is None:
            block = self._rows.singles(held, references)
            rows = block.ids[:, 0]
        else:
            block, rows = lattice, lattice.ids[masks_of_held(held), references]
        unknown = rows[block.answers[rows] == 0]
        unknown = unknown[np.sort(np.unique(unknown, return_index=True)[1])]
        self._ask(block, unknown, keeper)
        answers = block.answers[rows]
        known = np.append(np.flatnonzero(answers == 0), len(answers))[0]
        return np.asarray(answers[:known] > 0)

    def decide(self, keep: HeldSets, flip: HeldSets) -> tuple[PassingSets, PassingSets]:
        """Return the held sets that keep the outcome often enough, and those that lose it so."""
        if not len(keep) + len(flip):
            return [], []
        self._guess.fit()
        block, at = self._place(np.concatenate([keep, flip]))
        wanted = np.ones(len(at), dtype=np.int8)
        wanted[len(keep) :] = -1
        passing: tuple[PassingSets, PassingSets] = ([], [])
        for case in self._passing(block, at, wanted).tolist():
            outcomes = block.answers[block.ids[at[case]]] > 0
            if case < len(keep):
                passing[0].append((case, outcomes))
            else:
                passing[1].append((case - len(keep), outcomes))
        return passing

    def ends(self) -> dict[int, int]:
        """Return the hits of the empty and of the full set, by size, if they are known."""
        block, at = self._place(np.repeat([[False], [True]], self._d, axis=1))
        answers = block.answers[block.ids[at]]
        sizes = (0, self._d)
        return {k: int((row > 0).sum()) for k, row in zip(sizes, answers, strict=True) if row.all()}

    def _place(self, held: HeldSets) -> tuple[RowBlock, Counts]:
        """Return a block that contains these sets, and their rows in it."""
        if self._rows.lattice is None:
            return self._rows.block(held), np.arange(len(held))
        return self._rows.lattice, masks_of_held(held)

    def _passing(self, block: RowBlock, at: Counts, wanted: Signs) -> Counts:
        """Return which cases pass: wanted[i] is the outcome of enough hybrids of subset at[i]."""
        cases, passed, least = np.arange(len(at)), [], _FIRST_EXPECTED_MISSES
        while True:
            ids = block.ids[at[cases]]
            answers = block.answers.take(ids)
            misses = (answers == -wanted[cases, None]).sum(axis=1, dtype=np.int32)
            failed = misses >= self._enough
            known = answers.all(axis=1)
            passed.append(cases[known & ~failed])
            going = ~known & ~failed
            cases = cases[going]
            if not len(cases) or self.stopped is not None:
                return np.sort(np.concatenate(passed))
            lack = np.maximum(self._enough - misses[going], least)
            likely = self._likely_misses(block, at[cases], wanted[cases])
            likely *= answers[going] == 0
            rows = _choose_rows(ids[going], likely, lack, block.weight)
            if self._ask(block, rows, self._keeper) < len(rows):
                self.stopped = self._keeper.forbids()
            least *= 2

    def _likely_misses(self, block: RowBlock, at: Counts, wanted: Signs) -> RowWeights:
        likely = self._guess.hits(block, at)
        keeping = wanted > 0
        likely[keeping] = 1 - likely[keeping]
        return likely

    def _ask(self, block: RowBlock, rows: Counts, keeper: LimitKeeper) -> int:
        """Predict rows without an answer as far as the limits allow; return their number."""
        subset, reference = np.divmod(block.first[rows], self.n)
        held = block.held[subset]
        outcomes = keeper.ask(self._evaluator, held, reference)
        done = len(outcomes)
        self._rows.note(block, rows[:done], outcomes)
        self._guess.learn(held[:done], reference[:done], block.answers[rows[:done]])
        return done


def _choose_rows(
    ids: NDArray[np.int32], likely: RowWeights, lack: Reals, weight: RowWeights
) -> Counts:
    """Return for each case the rows that should show `lack` more misses.

    `likely` is the estimated probability that a hybrid misses, 0 if its outcome is known.
    """
    # A likely miss counts for more than a row that serves many subsets, but both count.
    score = likely * likely
    score *= weight.take(ids)
    order = np.argsort(_descending_keys(score), axis=1, kind="stable")
    order += np.arange(0, ids.size, ids.shape[1])[:, None]
    likely = likely.take(order)
    before = np.cumsum(likely, axis=1)
    before -= likely
    chosen = before < lack[:, None].astype(np.float32)
    chosen &= likely > 0
    flags = np.zeros(len(weight), dtype=bool)
    flags[ids.take(order[chosen])] = True
    return np.flatnonzero(flags)


def _descending_keys(score: NDArray[np.float32]) -> NDArray[np.uint16]:
    """Return 16-bit sort keys of descending values: the upper half of a float, a hundredth.

    Sorting 16-bit numbers is a radix sort, several times faster than sorting floats.
    """
    return np.uint16(0xFFFF) - (score.view(np.uint32) >> 16).astype(np.uint16)


# Distinct rows of hybrids, with the predictions made so far.


_MOST_NUMBERED = 1 << 22
"""Hybrids up to which all are numbered in advance, in some hundred megabytes."""
_SECONDS_PER_NUMBER = 1e-6
"""Seconds to number a hybrid, roughly; by it a time limit bounds how many are numbered."""
_HYBRIDS_AT_ONCE = 1 << 20
"""Hybrids that are numbered at once, where there are more."""


@dataclass(frozen=True, eq=False)
class RowBlock:
    """Hybrids of some subsets, as the numbers of their distinct rows."""

    held: HeldSets
    ids: NDArray[np.int32]
    """(subsets, references): number of the hybrid's row."""
    answers: CachedAnswers
    """Answer by row; filled in as rows are predicted."""
    weight: NDArray[np.float32]
    """By row: number of hybrids of the whole lattice that equal it, or an estimate."""
    first: Counts
    """By row: the first of its hybrids, as subset · n + reference."""
    keys: Counts | None
    """By row: key for the cache; None if nothing is cached."""
    whole: bool
    """True if the block has all subsets, in the order of their bit masks."""


class DistinctRows:
    """Index of distinct rows: numbers the hybrids of one context, and caches their predictions.

    `patience` limits the seconds for numbering all of them in advance; None: no limit.
    """

    def __init__(self, hybrids: SwapHybrids, patience: float | None = None) -> None:
        most = (
            _MOST_NUMBERED
            if patience is None
            else int(min(_MOST_NUMBERED, patience / _SECONDS_PER_NUMBER))
        )
        self._hybrids = hybrids
        self._n = hybrids.n
        self._same = hybrids.codes[1:] == hybrids.codes[0]
        self._remembered = PredictionCache()
        self.lattice = self._whole() if hybrids.n << hybrids.d <= most else None
        self.hybrids_at_once = (
            _HYBRIDS_AT_ONCE if self.lattice is None else 2 * hybrids.n << hybrids.d
        )

    def block(self, held: HeldSets) -> RowBlock:
        """Return a block of some subsets, with the cached predictions."""
        keys = self._hybrids.keys(held).ravel()
        ids, first = distinct_keys(keys)
        # A reference that equals the input on e players gives the same row for 2^e subsets.
        alike = np.exp2(np.minimum(self._same.sum(axis=1), 60))
        weight = np.bincount(ids, weights=np.tile(alike, len(held)), minlength=len(first))
        subset, reference = np.divmod(first, self._n)
        lasting = (
            keys[first]
            if self._hybrids.stable_keys
            else self._hybrids.lasting_keys(held[subset], reference)
        )
        unknown = np.zeros(len(first), dtype=np.int8)
        return RowBlock(
            held,
            ids.astype(np.int32).reshape(len(held), self._n),
            unknown if lasting is None else self._remembered.get(lasting),
            weight.astype(np.float32),
            first,
            lasting,
            whole=False,
        )

    def singles(self, held: HeldSets, references: Counts) -> RowBlock:
        """Return a block of single hybrids, held[i] with references[i], as one column of ids."""
        lasting = self._hybrids.lasting_keys(held, references)
        if lasting is None:
            ids, first = self._hybrids.distinct(held, references)
        else:
            ids, first = distinct_keys(lasting)
        unknown = np.zeros(len(first), dtype=np.int8)
        return RowBlock(
            held,
            ids.astype(np.int32)[:, None],
            unknown if lasting is None else self._remembered.get(lasting[first]),
            np.ones(len(first), dtype=np.float32),
            first * self._n + references[first],
            None if lasting is None else lasting[first],
            whole=False,
        )

    def note(self, block: RowBlock, rows: Counts, outcomes: BoolVector) -> None:
        """Write new predictions of some rows into the block and the cache."""
        block.answers[rows] = np.where(outcomes, 1, -1)
        if block.keys is not None:
            self._remembered.add(block.keys[rows], outcomes)

    def _whole(self) -> RowBlock:
        """Return a block of all 2^d subsets. Most hybrids need no key.

        Where a reference equals the input, holding the player changes nothing: the hybrids of S and
        of S with all such players are one row, so only the latter are compared by key.
        """
        d, n = self._hybrids.d, self._n
        masks = np.arange(1 << d, dtype=np.int32)
        held = held_of_masks(masks, d)
        closed = masks[:, None] | masks_of_held(self._same).astype(np.int32)
        closed *= np.int32(n)
        closed += np.arange(n, dtype=np.int32)
        closed = closed.ravel()
        cells = np.flatnonzero(closed == np.arange(len(closed), dtype=np.int32))
        keys = self._hybrids.keys(held).ravel()[cells]
        numbers, first = distinct_keys(keys)
        ids = np.zeros(len(closed), dtype=np.int32)
        ids[cells] = numbers
        ids = ids.take(closed)
        # A reference that equals the input on e players gives each of its rows 2^e times.
        alike = np.exp2(self._same.sum(axis=1))[cells % n]
        weight = np.bincount(numbers, weights=alike).astype(np.float32)
        answers = np.zeros(len(first), dtype=np.int8)
        return RowBlock(held, ids.reshape(-1, n), answers, weight, cells[first], None, whole=True)


# Estimated outcomes of hybrids, by which the most decisive rows are predicted first.


Likelihoods = NDArray[np.float32]

_RIDGE = 3.0
_MOST_REGRESSED_PLAYERS = 200
"""Most players of the regression: with more it costs more than it saves, and is left out."""
_SMALL_PRODUCT = 1 << 18
"""Multiplications up to which BLAS uses one thread, which is faster for products so small."""
_MOST_MULTIPLICATIONS = 1 << 25
"""Most multiplications for one update of the regression."""
_REGRESSION_WEIGHT = 1.0
"""Weight of the regression, as a number of neighbours."""
_LEAST_LIKELIHOOD = 0.02
"""Lower bound of an estimated probability; one minus it is the upper bound."""


class OutcomeGuess:
    """Estimate of outcomes from the predictions so far, whatever their order."""

    def __init__(self, hybrids: SwapHybrids) -> None:
        self._players = hybrids.d if hybrids.d <= _MOST_REGRESSED_PLAYERS else 0
        codes = hybrids.codes[:, : self._players]
        away = (codes[1:] - codes[0]) / np.maximum(1, np.ptp(codes, axis=0))
        self._moves = np.stack([away > 0, away < 0, away], axis=2).astype(np.float32)
        size = 1 + 3 * self._players
        self._gram = np.eye(size) * _RIDGE
        self._moment = np.zeros(size)
        self.fit()

    def learn(self, held: HeldSets, references: Counts, outcomes: NDArray[np.int8]) -> None:
        """Add outcomes, 1 or -1; of very many only a part."""
        work = len(self._moment) ** 2
        some = slice(None, None, 1 + len(held) * work // _MOST_MULTIPLICATIONS)
        held, references, outcomes = held[some], references[some], outcomes[some]
        step = max(256, _SMALL_PRODUCT // work)
        for start in range(0, len(held), step):
            part = slice(start, start + step)
            moved = self._moves[references[part]] * ~held[part, : self._players, None]
            rows = np.ones((len(moved), len(self._moment)), dtype=np.float32)
            rows[:, 1:] = moved.reshape(len(moved), -1)
            self._gram += rows.T @ rows
            self._moment += outcomes[part].astype(np.float32) @ rows

    def fit(self) -> None:
        """Fit the regression to the outcomes so far."""
        weights = np.linalg.solve(self._gram, self._moment).astype(np.float32)
        self._level = weights[0]
        self._by_player = np.einsum("rjk,jk->rj", self._moves, weights[1:].reshape(-1, 3))

    def hits(self, block: RowBlock, subsets: Counts) -> Likelihoods:
        """Return (subsets, references): estimated probability of the input's outcome."""
        replaced = ~block.held[subsets, : self._players]
        mean = replaced.astype(np.float32) @ self._by_player.T
        mean += self._level
        np.clip(mean, -1, 1, out=mean)
        if block.whole:
            total, known = _neighbours(block, subsets)
            mean *= _REGRESSION_WEIGHT
            mean += total
            mean /= known + np.float32(_REGRESSION_WEIGHT)
        mean += 1
        mean /= 2
        np.clip(mean, _LEAST_LIKELIHOOD, 1 - _LEAST_LIKELIHOOD, out=mean)
        return np.asarray(mean)


def _neighbours(block: RowBlock, subsets: Counts) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """Return the sum, and the number, of known outcomes of hybrids one player away."""
    near = subsets[:, None] ^ (1 << np.arange(block.held.shape[1]))
    place = np.zeros(len(block.held), dtype=np.int64)
    place[near] = 1
    wanted = np.flatnonzero(place)
    place[wanted] = np.arange(len(wanted))
    answers = block.answers.take(block.ids[wanted])
    seen = answers & 1
    total = np.zeros((len(subsets), block.ids.shape[1]), dtype=np.int8)
    known = np.zeros_like(total)
    for column in place[near].T:
        total += answers[column]
        known += seen[column]
    return total, known
