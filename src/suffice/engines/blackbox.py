"""The black box, and the base of engines: builds hybrids, calls the model, caches its rows.

On German credit 59,417 of 358,400 hybrids are distinct. Finding them takes one integer key per
hybrid and a hash table, which costs far less than the calls of a forest's `predict` that it saves.
For a model as cheap as logistic regression it may cost more, so the first block's share of repeated
rows decides.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from suffice.context.hybrids import Hybrids, KeyedHybrids, SwapHybrids
from suffice.engines.evaluator import ProgressCallback, SweepBlock
from suffice.engines.work import LOOKUP, row_work
from suffice.errors import SufficeError
from suffice.factors.lattice import held_of_masks
from suffice.randomness import Stream, generator
from suffice.tables.cells import distinct_keys, distinct_rows
from suffice.tables.table import Table
from suffice.target import Target
from suffice.typing import BoolVector, Counts, HeldSets, Outcomes, Values

_CELLS_PER_CALL = 1 << 22
"""Most cells (rows × columns) of one model call: calls are few and large, but fit in memory."""

_FIRST_CALL = 1 << 14
_FIRST_HURRIED_CALL = 1 << 4
_SECONDS_PER_CALL = 2.0
"""Longest model call, so that progress can be shown between calls."""

_HYBRIDS_PER_LOOKUP = 1 << 18
"""Hybrids among which distinct rows are searched at once."""

_MAX_FORESEEN_HYBRIDS = 1 << 14
"""Most hybrids of one input that are predicted with those of other inputs: an input with more
fills a call of its own."""

_CHECKED_HYBRIDS = 64
"""Hybrids that the model predicts too, as a check of the engine's reading of it."""

_ROWS_PER_SHARED_CALL = 1 << 15
"""Most rows of several inputs in one model call."""


class BlackBox:
    """Evaluator that calls the model, for any target and any context.

    `distinct`: predict equal rows once. True also compares with the rows of earlier calls, whatever
    that costs; None lets the first block decide. The outcomes are the same either way. It needs a
    context with a key for each hybrid. `note` is the reason why no faster evaluator can be used,
    `patience` the seconds that one model call may take where a limit has to be obeyed.
    """

    name = "blackbox"

    def __init__(
        self,
        target: Target,
        hybrids: Hybrids,
        y: bool,
        distinct: bool | None = None,
        note: str | None = None,
        patience: float | None = None,
    ) -> None:
        self.note = note
        self._patience = min(patience or _SECONDS_PER_CALL, _SECONDS_PER_CALL)
        self.rows_predicted = 0
        self.model_seconds = 0.0
        self.lost_input = False
        """True if the model predicted another outcome for a hybrid that equals the input."""
        self._target = target
        self._hybrids = hybrids
        self._y = y
        self._keyed = hybrids if isinstance(hybrids, KeyedHybrids) else None
        self._distinct = distinct if self._keyed is not None else False
        self._once = distinct is True
        self._cache = PredictionCache()
        columns = len(hybrids.pool.names)
        self._most_rows = max(1, _CELLS_PER_CALL // columns)
        # A wrapped model was timed when it predicted the data; others are timed at the first call.
        pace = self._pace = getattr(target.model, "seconds_per_row", None)
        unknown = _FIRST_CALL if patience is None else _FIRST_HURRIED_CALL
        first = self._patience / pace if pace else unknown
        self._rows_per_call = max(1, min(self._most_rows, int(first)))
        self._call_times = CallTimes()

    @property
    def target(self) -> Target:
        """Target: the model and the outcome."""
        return self._target

    @property
    def n(self) -> int:
        """Number of references, and so of hybrids per set."""
        return self._hybrids.n

    def seconds_per_hybrid(self) -> float | None:
        """Return the seconds per row of the last call or of the data's prediction, if that is more.

        A model may be slower now than it was: a time limit is kept by its present pace.
        """
        return max(self._call_times.seconds_per_row, self._pace or 0.0) or None

    @property
    def rows_per_call(self) -> int:
        """Number of rows of the next call: as many as memory and the patience allow."""
        return self._rows_per_call

    def work_per_hybrid(self) -> float:
        """Return the work of one row of this kind of model."""
        return row_work(self._target.model)

    def rows_of_full_sweep(self) -> tuple[Table, Counts] | None:
        """Return the distinct rows of a sweep of all sets, with their keys.

        None if they have no keys, or are so many that a call for this input alone costs no more.
        """
        keyed, d = self._keyed, self._hybrids.d
        if keyed is None or not keyed.stable_keys or self._distinct is False:
            return None
        if d > _MAX_FORESEEN_HYBRIDS.bit_length() or self.n << d > _MAX_FORESEEN_HYBRIDS:
            return None
        held = held_of_masks(np.arange(1 << d), d)
        keys = keyed.keys(held).ravel()
        _, first = distinct_keys(keys)
        subset, reference = np.divmod(first, self.n)
        return self._hybrids.rows(held[subset], reference), keys[first]

    def add_predictions(self, keys: Counts, answers: Values, seconds: float) -> None:
        """Add predictions of hybrids with these keys, and the seconds that they took.

        Rows that several inputs share are counted for each input, as if it were explained alone,
        so that stored results do not depend on which inputs were explained together.
        """
        self._cache.add(keys, self._target.read(answers) == self._y)
        self.rows_predicted += len(keys)
        self.model_seconds += seconds

    def outcomes(self, held: HeldSets, tick: ProgressCallback | None = None) -> Outcomes:
        """Return (subsets, references): whether each hybrid has the input's outcome."""
        if self._distinct is False or self._keyed is None:
            return self._predict_all(held, tick)
        keys = self._keyed.keys(held).ravel()
        identity, first = distinct_keys(keys)
        subset, reference = np.divmod(first, self.n)
        lasting = keys[first] if self._keyed.stable_keys else None
        if lasting is None and self._once:
            lasting = self._keyed.lasting_keys(held[subset], reference)
        answers = self._predict_unknown(held[subset], reference, lasting, tick)
        if self._distinct is None:
            saved = (len(keys) - len(first)) * self.work_per_hybrid()
            self._distinct = saved > LOOKUP * len(keys)
        return answers[identity].reshape(len(held), self.n)

    def outcomes_of_hybrids(
        self,
        held: HeldSets,
        references: Counts,
        tick: ProgressCallback | None = None,
        cache: bool = False,
    ) -> BoolVector:
        """Return (rows,): whether hybrid (held[i], references[i]) has the input's outcome.

        `cache` keeps predictions between calls even if few rows repeat.
        """
        keyed = self._keyed if self._once or cache else None
        keys = None if keyed is None else keyed.lasting_keys(held, references)
        if keys is None:
            return self._predict(held, references, tick)
        identity, first = distinct_keys(keys)
        return self._predict_unknown(held[first], references[first], keys[first], tick)[identity]

    def _predict_unknown(
        self,
        held: HeldSets,
        references: Counts,
        keys: Counts | None,
        tick: ProgressCallback | None = None,
    ) -> BoolVector:
        """Return outcomes by key from the cache; predict and cache the rows that it lacks."""
        if keys is None:
            return self._predict(held, references, tick)
        known = self._cache.get(keys)
        new = np.flatnonzero(known == 0)
        answers = self._predict(held[new], references[new], tick)
        self._cache.add(keys[new], answers)
        known[new] = np.where(answers, 1, -1)
        return np.asarray(known > 0)

    def _predict(
        self, held: HeldSets, references: Counts, tick: ProgressCallback | None = None
    ) -> BoolVector:
        out = np.empty(len(references), dtype=bool)
        start = 0
        while start < len(out):
            part = slice(start, start + self._rows_per_call)
            rows = self._hybrids.rows(held[part], references[part])
            started = perf_counter()
            out[part] = self._target(rows)
            self._record_call(len(rows), perf_counter() - started)
            whole = held[part].all(axis=1)
            self.lost_input = self.lost_input or bool((out[part][whole] != self._y).any())
            start += len(rows)
            if tick is not None:
                tick(len(rows) / len(out))
        if tick is not None and not len(out):
            tick(1.0)  # every hybrid of this block was known already
        return np.asarray(out == self._y)

    def _record_call(self, rows: int, seconds: float) -> None:
        """Add to the totals, and set the size of the next call by memory and patience."""
        self.rows_predicted += rows
        self.model_seconds += seconds
        self._call_times.record(rows, seconds)
        patient = self._call_times.rows_within(self._patience)
        self._rows_per_call = max(1, int(min(self._most_rows, patient)))

    def _predict_all(self, held: HeldSets, tick: ProgressCallback | None) -> Outcomes:
        if tick is not None and not len(held):
            tick(1.0)
        step = max(1, self._most_rows // self.n)
        parts = [np.empty(0, dtype=bool)]
        for start in range(0, len(held), step):
            block = held[start : start + step]
            references = np.tile(np.arange(self.n), len(block))
            within = None if tick is None else scale_progress(tick, len(block) / len(held))
            parts.append(self._predict(np.repeat(block, self.n, axis=0), references, within))
        return np.concatenate(parts).reshape(len(held), self.n)


def predict_together(boxes: Sequence[BlackBox]) -> None:
    """Predict the hybrids of several inputs in shared model calls, and fill the caches of `boxes`.

    A call may cost as much for one row as for a thousand, and inputs that share values and
    references share hybrids. The predictions are those that each box would get alone. If the model
    raises, no cache is filled: each box then predicts alone, and the error names its input.
    """
    waiting: list[tuple[BlackBox, Table, Counts]] = []
    rows = 0
    for i, box in enumerate(boxes):
        ahead = box.rows_of_full_sweep()
        if ahead is not None:
            waiting.append((box, *ahead))
            rows += len(ahead[1])
        if rows > _ROWS_PER_SHARED_CALL or (i == len(boxes) - 1 and waiting):
            _predict_shared_rows(waiting)
            waiting, rows = [], 0


def _predict_shared_rows(waiting: Sequence[tuple[BlackBox, Table, Counts]]) -> None:
    if len(waiting) < 2:
        return
    first, *others = (table for _, table, _ in waiting)
    every = first.stack(*others)
    identity, distinct = distinct_rows(every.codes())
    target = waiting[0][0].target
    started = perf_counter()
    try:
        answers = target.answers(every.take(distinct))[identity]
        seconds = (perf_counter() - started) / len(answers)
        at = 0
        for box, _, keys in waiting:
            box.add_predictions(keys, answers[at : at + len(keys)], seconds * len(keys))
            at += len(keys)
    except SufficeError:
        return


def sweep_by_lists(
    outcomes: Callable[[HeldSets], Outcomes], d: int, masks_at_once: int
) -> Iterator[SweepBlock]:
    """Yield the blocks of a sweep of the lattice, from the outcomes of lists of subsets."""
    for first in range(0, 1 << d, masks_at_once):
        masks = np.arange(first, min(first + masks_at_once, 1 << d))
        found = outcomes(held_of_masks(masks, d))
        yield first, found.sum(axis=1, dtype=np.int64), np.packbits(found, axis=1)


def scale_progress(tick: ProgressCallback, part: float) -> ProgressCallback:
    """Return a progress callback for a part of the work that `tick` reports."""
    return lambda share: tick(share * part)


class BaseEngine(ABC):
    """Base class of the engines: a black box for hybrids in doubt, checks, sweeps and cubes."""

    note: str | None = None

    def __init__(
        self, target: Target, hybrids: SwapHybrids, y: bool, patience: float | None = None
    ) -> None:
        self._box = BlackBox(target, hybrids, y, patience=patience)
        self._hybrids = hybrids
        self._y = y

    @property
    def n(self) -> int:
        """Number of references, and so of hybrids per set."""
        return self._hybrids.n

    @property
    def rows_predicted(self) -> int:
        """Rows that the model predicted for this question."""
        return self._box.rows_predicted

    @property
    def model_seconds(self) -> float:
        """Time spent inside the model."""
        return self._box.model_seconds

    def seconds_per_hybrid(self) -> float | None:
        """Return None: the model predicts hardly any hybrid, so its speed does not matter."""
        return None

    @abstractmethod
    def outcomes(self, held: HeldSets, tick: ProgressCallback | None = None) -> Outcomes:
        """Return (subsets, references): whether the hybrid has the input's outcome."""

    @abstractmethod
    def sweep(self) -> Iterator[SweepBlock]:
        """Yield every bit mask from 0 to 2^d - 1, in blocks."""

    def sweep_counts(self) -> Iterator[tuple[int, Counts]]:
        """Yield the first mask of each block of a sweep, and the hits of its masks."""
        for first, hits, _ in self.sweep():
            yield first, hits.astype(np.int64, copy=False)

    def bound_cubes(self, held: HeldSets, freed: HeldSets) -> tuple[Outcomes, Outcomes]:
        """Return (cubes, references) twice: all hybrids surely have the outcome; any hybrid may.

        A cube is all sets that hold `held` and nothing of `freed`. For a single set both bounds
        are its outcomes.
        """
        surely, may = self._bound_event(held, freed)
        if not self._y:
            surely, may = ~may, ~surely
        single = (held | freed).all(axis=1)
        if single.any():
            surely[single] = may[single] = self.outcomes(held[single])
        return surely, may

    @abstractmethod
    def _bound_event(self, held: HeldSets, freed: HeldSets) -> tuple[Outcomes, Outcomes]:
        """Return (cubes, references): whether the event surely holds, and whether it may."""

    def _agrees_with_model(
        self, decide: Callable[[HeldSets, Counts], tuple[BoolVector, BoolVector]]
    ) -> bool:
        """Return whether the model gives the outcomes that `decide` is sure of.

        `decide` returns the outcomes of single hybrids, and which of them are in doubt.
        """
        rng = generator(0, Stream.CHECKS)
        held = rng.random((_CHECKED_HYBRIDS, self._hybrids.d)) < rng.random((_CHECKED_HYBRIDS, 1))
        references = rng.integers(self.n, size=_CHECKED_HYBRIDS)
        outcomes, doubt = decide(held, references)
        return bool((doubt | (outcomes == self._predict(held, references))).all())

    def _predict(
        self,
        held: HeldSets,
        references: Counts,
        tick: ProgressCallback | None = None,
        cache: bool = False,
    ) -> BoolVector:
        """Return the model's own outcomes of single hybrids; each distinct row is predicted once.

        `tick` is called with a share of 0, since these rows are part of other work. `cache` keeps
        predictions for later calls, as small lists repeat rows.
        """
        passing = None if tick is None else scale_progress(tick, 0.0)
        out = np.empty(len(references), dtype=bool)
        for start in range(0, len(out), _HYBRIDS_PER_LOOKUP):
            part = slice(start, start + _HYBRIDS_PER_LOOKUP)
            identity, first = self._hybrids.distinct(held[part], references[part])
            rows = held[part][first], references[part][first]
            out[part] = self._box.outcomes_of_hybrids(*rows, passing, cache=cache)[identity]
        return out


# Predictions of earlier rows, by the keys of the rows.


_MAX_CACHED_ROWS = 1 << 22
"""Most cached rows, about forty megabytes; later rows are not cached."""

CachedAnswers = NDArray[np.int8]
"""1: yes, -1: no, 0: not known."""


@dataclass(eq=False)
class PredictionCache:
    """Cache of predictions by key, in a few sorted runs: both lookup and insertion are cheap.

    >>> answers = PredictionCache()
    >>> answers.add(np.array([7, 3]), np.array([True, False]))
    >>> answers.get(np.array([3, 5, 7])).tolist()
    [-1, 0, 1]
    """

    _runs: list[tuple[Counts, CachedAnswers]] = field(default_factory=list)
    """Sorted keys with their predictions; the longest run first."""

    def __len__(self) -> int:
        return sum(len(keys) for keys, _ in self._runs)

    def get(self, keys: Counts) -> CachedAnswers:
        """Return the cached answers for these keys, 0 where there is none."""
        out = np.zeros(len(keys), dtype=np.int8)
        for run, answers in self._runs:
            at = np.minimum(np.searchsorted(run, keys), len(run) - 1)
            out = np.where(run[at] == keys, answers[at], out)
        return out

    def add(self, keys: Counts, answers: BoolVector) -> None:
        """Add predictions of rows that were not in the cache, while there is room."""
        if not len(keys) or len(self) + len(keys) > _MAX_CACHED_ROWS:
            return
        self._runs.append((keys, np.where(answers, 1, -1).astype(np.int8)))
        # Each run is more than twice as long as the next, so runs are few and few keys are sorted.
        while len(self._runs) > 1 and len(self._runs[-2][0]) <= 2 * len(self._runs[-1][0]):
            last, before = self._runs.pop(), self._runs.pop()
            self._runs.append(
                (np.concatenate([before[0], last[0]]), np.concatenate([before[1], last[1]]))
            )
        longest, signs = self._runs.pop()
        order = np.argsort(longest, kind="stable")
        self._runs.append((longest[order], signs[order]))


# Number of rows of a model call, from the times of earlier calls.
#
# A call often costs some milliseconds whatever its rows: a forest starts threads, a service is
# reached. Rows per second alone would then make each call smaller than the one before, and slower
# for each row, down to calls of one row.


_CALL_GROWTH = 4
"""Largest growth of a call over the last one where overhead makes most of the cost."""


class CallTimes:
    """Seconds that calls with different numbers of rows took.

    >>> times = CallTimes()
    >>> times.record(400, 0.4)  # overhead unknown after one call
    >>> times.rows_within(0.1)
    100.0
    >>> times.record(100, 0.325)  # 300 ms for the call and 0.25 ms for each row
    >>> round(times.rows_within(0.7)), round(times.rows_within(0.1))
    (1600, 400)
    """

    def __init__(self) -> None:
        self._last = (1, 0.0)
        self._by_magnitude: dict[int, tuple[int, float]] = {}

    def record(self, rows: int, seconds: float) -> None:
        """Record the seconds that a call with this many rows took."""
        self._last = (rows, seconds)
        self._by_magnitude[rows.bit_length()] = self._last

    @property
    def seconds_per_row(self) -> float:
        """Seconds of a row in the last call, less the overhead if that is known; 0: no call yet."""
        rows, took = self._last
        return (took - self._overhead()) / rows

    def rows_within(self, seconds: float) -> float:
        """Return the number of rows of a call that takes this many seconds.

        If the overhead alone takes as long, return the rows that double it: fewer rows would save
        less than half of the call.
        """
        rows, took = self._last
        overhead = self._overhead()
        if overhead <= 0.0:
            return rows * seconds / max(took, 1e-9)
        each = max((took - overhead) / rows, 1e-12)
        if seconds >= 2 * overhead:
            return (seconds - overhead) / each
        return min(overhead / each, float(_CALL_GROWTH * rows))

    def _overhead(self) -> float:
        """Return the seconds that the last call would have taken without rows; 0 if unknown.

        They follow from a second call with at most half or at least twice as many rows: closer
        sizes would take the noise of the clock for a difference.
        """
        rows, took = self._last
        others = sorted(self._by_magnitude.values())
        other = next((o for o in others if 2 * o[0] <= rows), None)
        other = other or next((o for o in others if o[0] >= 2 * rows), None)
        if other is None:
            return 0.0
        each = max(0.0, (took - other[1]) / (rows - other[0]))
        return max(0.0, took - each * rows)
