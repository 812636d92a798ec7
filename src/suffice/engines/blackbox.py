"""The black box, and the base of engines: builds hybrids, calls the model, caches its rows.

On German credit 59,417 of 358,400 hybrids are distinct. Finding them takes one integer key per
hybrid and a hash table, which costs far less than a forest's `predict` saves; for a model as cheap
as logistic regression it may cost more, so the first block's share of repeated rows decides.
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
"""Few large calls, but never so large that rows × columns of them trouble the memory."""

_FIRST_CALL = 1 << 14
_FIRST_HURRIED_CALL = 1 << 4
_SECONDS_PER_CALL = 2.0
"""No call is so large that progress could not be shown in between."""

_HYBRIDS_PER_LOOKUP = 1 << 18
"""Single hybrids looked through together for distinct rows."""

_MAX_FORESEEN_HYBRIDS = 1 << 14
"""Hybrids of one input: with more of them a call is worth its start."""

_CHECKED_HYBRIDS = 64
"""Hybrids that are put to the model as well, to see that it predicts as it was read."""

_ROWS_PER_SHARED_CALL = 1 << 15
"""Rows of several inputs that one call is about."""


class BlackBox:
    """Evaluator that calls the model, for any target and any context.

    `distinct` says whether to look for hybrids that are the same row: True (then also for those of
    earlier calls, whatever that takes), False, or None to let the first block decide. The outcomes
    are the same either way. Only a context that has a key for each hybrid can tell without building
    them. `note` says why no faster evaluator serves, and
    `patience` how many seconds one call of the model may take, where a limit has to be obeyed.
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
        """Whether a hybrid that holds every player, which is the input, had another outcome."""
        self._target = target
        self._hybrids = hybrids
        self._y = y
        self._keyed = hybrids if isinstance(hybrids, KeyedHybrids) else None
        self._distinct = distinct if self._keyed is not None else False
        self._once = distinct is True
        self._cache = PredictionCache()
        columns = len(hybrids.pool.names)
        self._most_rows = max(1, _CELLS_PER_CALL // columns)
        # A wrapped model was timed when it predicted the data; of another the first call tells.
        pace = self._pace = getattr(target.model, "seconds_per_row", None)
        unknown = _FIRST_CALL if patience is None else _FIRST_HURRIED_CALL
        first = self._patience / pace if pace else unknown
        self._rows_per_call = max(1, min(self._most_rows, int(first)))
        self._call_times = CallTimes()

    @property
    def target(self) -> Target:
        """The target: the model and the outcome."""
        return self._target

    @property
    def n(self) -> int:
        """The number of references."""
        return self._hybrids.n

    def seconds_per_hybrid(self) -> float | None:
        """Return the seconds per row that the model took when its data were predicted."""
        return self._pace

    def work_per_hybrid(self) -> float:
        """Return the work of one row of this kind of model."""
        return row_work(self._target.model)

    def rows_of_full_sweep(self) -> tuple[Table, Counts] | None:
        """The distinct rows that a sweep of all sets asks about, and their keys.

        None where they are so many that a call of their own costs nothing more, or have no keys.
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
        """Add the model's answers for hybrids with these keys, and the seconds that they took.

        Rows that several inputs share are counted for each of them, as if it were explained alone:
        so what is stored does not depend on which inputs were explained together.
        """
        self._cache.add(keys, self._target.read(answers) == self._y)
        self.rows_predicted += len(keys)
        self.model_seconds += seconds

    def outcomes(self, held: HeldSets, tick: ProgressCallback | None = None) -> Outcomes:
        """(subsets, references): does the hybrid have the input's outcome?"""
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
        """(rows,): the outcome of hybrid (held[i], references[i]).

        With `cache`, answers are remembered from call to call even where rows are not many.
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
        """Ask about the rows whose answers are not remembered, and remember those."""
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
        """Keep the books, and let the next call be as large as memory and patience allow."""
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
    """Ask one model about the hybrids of several inputs that it will be asked about anyway.

    A call may cost as much for one row as for a thousand, and inputs that share values and
    references share hybrids. The answers are those that each box would get; where the model fails,
    none is told, so that each asks for itself and the fault is that of its own input.
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
        asked = every.take(distinct)
        answers = target.answers(asked)[identity]
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
    """The tick of work that is a part of other work."""
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
        """The number of references."""
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
        """Return None: hardly a hybrid needs the model."""
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
        """Return (cubes, references): whether all hybrids surely have the outcome, and any may.

        A cube is all sets that hold `held` and nothing of `freed`; of a single set both bounds are
        its outcomes.
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
        """The model's own outcomes of single hybrids, each distinct row asked for once.

        `tick` is told that time passes, but of no share: these rows are part of other work. With
        `cache` there may be other calls for the same rows, as by small lists, and they are
        remembered.
        """
        passing = None if tick is None else scale_progress(tick, 0.0)
        out = np.empty(len(references), dtype=bool)
        for start in range(0, len(out), _HYBRIDS_PER_LOOKUP):
            part = slice(start, start + _HYBRIDS_PER_LOOKUP)
            identity, first = self._hybrids.distinct(held[part], references[part])
            rows = held[part][first], references[part][first]
            out[part] = self._box.outcomes_of_hybrids(*rows, passing, cache=cache)[identity]
        return out


# What the model said of rows that were asked about before, by their keys.


_MAX_CACHED_ROWS = 1 << 22
"""Rows remembered: some forty megabytes. What comes after them is not kept."""

CachedAnswers = NDArray[np.int8]
"""1: yes, -1: no, 0: not known."""


@dataclass(eq=False)
class PredictionCache:
    """Cache of predictions by key, in a few sorted runs, so that looking up and adding are both
    cheap.

    >>> answers = PredictionCache()
    >>> answers.add(np.array([7, 3]), np.array([True, False]))
    >>> answers.get(np.array([3, 5, 7])).tolist()
    [-1, 0, 1]
    """

    _runs: list[tuple[Counts, CachedAnswers]] = field(default_factory=list)
    """Keys in order, with the answers to them; the longest run first."""

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
        """Keep answers to rows that were not known, as long as there is room."""
        if not len(keys) or len(self) + len(keys) > _MAX_CACHED_ROWS:
            return
        self._runs.append((keys, np.where(answers, 1, -1).astype(np.int8)))
        # Each run is more than twice as long as the next: so there are few, and few are sorted.
        while len(self._runs) > 1 and len(self._runs[-2][0]) <= 2 * len(self._runs[-1][0]):
            last, before = self._runs.pop(), self._runs.pop()
            self._runs.append(
                (np.concatenate([before[0], last[0]]), np.concatenate([before[1], last[1]]))
            )
        longest, signs = self._runs.pop()
        order = np.argsort(longest, kind="stable")
        self._runs.append((longest[order], signs[order]))


# How many rows a call may have, from the times of calls before.
#
# A call often costs some milliseconds whatever its rows: a forest starts threads, a service is
# reached. Rows per second alone would then make each call smaller than the one before, and slower
# for each row, down to calls of one row.


_CALL_GROWTH = 4
"""Times: how much larger than the last a call may be that costs more than it should anyway."""


class CallTimes:
    """Seconds that calls with different numbers of rows took.

    >>> times = CallTimes()
    >>> times.record(400, 0.4)  # of one call nobody knows what each row added
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
        """Note that a call with so many rows took so long."""
        self._last = (rows, seconds)
        self._by_magnitude[rows.bit_length()] = self._last

    def rows_within(self, seconds: float) -> float:
        """Return how many rows a call of so many seconds may have.

        Where a call without rows would take as long, return as many as double that: fewer rows
        would save less than half of the call.
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
        """Return the seconds that the last call would have taken without rows; 0: not known.

        Another call tells, of at most half as many rows or at least twice as many: with sizes that
        are closer, the noise of two times would pass for a difference.
        """
        rows, took = self._last
        others = sorted(self._by_magnitude.values())
        other = next((o for o in others if 2 * o[0] <= rows), None)
        other = other or next((o for o in others if o[0] >= 2 * rows), None)
        if other is None:
            return 0.0
        each = max(0.0, (took - other[1]) / (rows - other[0]))
        return max(0.0, took - each * rows)
