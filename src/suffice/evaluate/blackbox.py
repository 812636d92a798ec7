"""The black box: build hybrids, ask the model, and ask it about no row twice where that pays.

On German credit 59,417 of 358,400 hybrids are distinct. Finding them takes one integer key per
hybrid and a hash table, which costs far less than a forest's `predict` saves; for a model as cheap
as logistic regression it costs more, so the first block of work is timed and decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter

import numpy as np

from suffice.context.hybrids import Hybrids, KeyedHybrids
from suffice.context.swap import SwapHybrids
from suffice.errors import SufficeError
from suffice.evaluate.protocol import Tick
from suffice.evaluate.remembered import Remembered
from suffice.factors.lattice import held_of_masks
from suffice.tables.cells import distinct_rows, first_seen
from suffice.tables.table import Table
from suffice.target import Target
from suffice.typing import BoolVector, Counts, Held, Outcomes, Values

__all__ = ["BlackBox", "Engine", "ask_together", "part_of"]

_CELLS_PER_CALL = 1 << 22
"""Few large calls, but never so large that rows × columns of them trouble the memory."""

_FIRST_CALL = 1 << 14
_FIRST_HURRIED_CALL = 1 << 4
_SECONDS_PER_CALL = 2.0
"""No call is so large that progress could not be shown in between."""

_LOOKED_THROUGH = 1 << 18
"""Single hybrids looked through together for distinct rows."""

_FORESEEN = 1 << 14
"""Hybrids of one input: with more of them a call is worth its start."""

_TOGETHER = 1 << 15
"""Rows of several inputs that one call is about."""


class BlackBox:
    """Any target on any context of hybrids.

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
        batch_rows: int | None = None,
        note: str | None = None,
        patience: float | None = None,
    ) -> None:
        self.note = note
        self._patience = min(patience or _SECONDS_PER_CALL, _SECONDS_PER_CALL)
        self.rows_predicted = 0
        self.model_seconds = 0.0
        self._target = target
        self._hybrids = hybrids
        self._y = y
        self._keyed = hybrids if isinstance(hybrids, KeyedHybrids) else None
        self._distinct = distinct if self._keyed is not None else False
        self._once = distinct is True
        self._remembered = Remembered()
        columns = len(hybrids.pool.names)
        self._most_rows = batch_rows or max(1, _CELLS_PER_CALL // columns)
        # A model that has answered before has told how fast it is; else the first call tells.
        pace = self._pace = target.model.seconds_per_row
        unknown = _FIRST_CALL if patience is None else _FIRST_HURRIED_CALL
        first = self._patience / pace if pace else unknown
        self._rows_per_call = max(1, min(self._most_rows, int(first)))

    @property
    def target(self) -> Target:
        """What is asked of the model."""
        return self._target

    @property
    def n(self) -> int:
        """How many references there are."""
        return self._hybrids.n

    def pace(self) -> float | None:
        """What the model took for a row when it was first asked."""
        return self._pace

    def foreseen(self) -> tuple[Table, Counts] | None:
        """The distinct rows that a sweep of all sets asks about, and their keys.

        None where they are so many that a call of their own costs nothing more, or have no keys.
        """
        keyed, d = self._keyed, self._hybrids.d
        if keyed is None or not keyed.stable_keys or self._distinct is False:
            return None
        if d > _FORESEEN.bit_length() or self.n << d > _FORESEEN:
            return None
        held = held_of_masks(np.arange(1 << d), d)
        keys = keyed.keys(held).ravel()
        _, first = first_seen(keys)
        subset, reference = np.divmod(first, self.n)
        return self._hybrids.rows(held[subset], reference), keys[first]

    def learn(self, keys: Counts, answers: Values, seconds: float) -> None:
        """Take note of the model's answers for hybrids with these keys, and of what they took."""
        self._remembered.note(keys, self._target.read(answers) == self._y)
        self.rows_predicted += len(keys)
        self.model_seconds += seconds

    def outcomes(self, held: Held, tick: Tick | None = None) -> Outcomes:
        """(subsets, references): does the hybrid have the input's outcome?"""
        if self._distinct is False or self._keyed is None:
            return self._ask_all(held, tick)
        started = perf_counter()
        keys = self._keyed.keys(held).ravel()
        identity, first = first_seen(keys)
        subset, reference = np.divmod(first, self.n)
        lasting = keys[first] if self._keyed.stable_keys else None
        if lasting is None and self._once:
            lasting = self._keyed.lasting_keys(held[subset], reference)
        looking = perf_counter() - started
        before = self.rows_predicted, self.model_seconds
        answers = self._ask_unknown(held[subset], reference, lasting, tick)
        if self._distinct is None:
            asked = self.rows_predicted - before[0]
            per_row = (self.model_seconds - before[1]) / max(1, asked)
            self._distinct = per_row * (len(keys) - asked) > looking
        return answers[identity].reshape(len(held), self.n)

    def outcomes_of(
        self,
        held: Held,
        references: Counts,
        tick: Tick | None = None,
        once: bool = False,
    ) -> BoolVector:
        """(rows,): the outcome of hybrid (held[i], references[i]).

        With `once`, answers are remembered from call to call even where rows are not many.
        """
        keyed = self._keyed if self._once or once else None
        keys = None if keyed is None else keyed.lasting_keys(held, references)
        if keys is None:
            return self._ask(held, references, tick)
        identity, first = first_seen(keys)
        return self._ask_unknown(held[first], references[first], keys[first], tick)[identity]

    def _ask_unknown(
        self, held: Held, references: Counts, keys: Counts | None, tick: Tick | None = None
    ) -> BoolVector:
        """Ask about the rows whose answers are not remembered, and remember those."""
        if keys is None:
            return self._ask(held, references, tick)
        known = self._remembered.recall(keys)
        new = np.flatnonzero(known == 0)
        answers = self._ask(held[new], references[new], tick)
        self._remembered.note(keys[new], answers)
        known[new] = np.where(answers, 1, -1)
        return np.asarray(known > 0)

    def _ask(self, held: Held, references: Counts, tick: Tick | None = None) -> BoolVector:
        out = np.empty(len(references), dtype=bool)
        start = 0
        while start < len(out):
            part = slice(start, start + self._rows_per_call)
            rows = self._hybrids.rows(held[part], references[part])
            started = perf_counter()
            out[part] = self._target(rows)
            self._note(len(rows), perf_counter() - started)
            start += len(rows)
            if tick is not None:
                tick(len(rows) / len(out))
        if tick is not None and not len(out):
            tick(1.0)  # every hybrid of this block was known already
        return np.asarray(out == self._y)

    def _note(self, rows: int, seconds: float) -> None:
        """Keep the books, and let the next call be as large as memory and patience allow."""
        self.rows_predicted += rows
        self.model_seconds += seconds
        patient = rows * self._patience / max(seconds, 1e-9)
        self._rows_per_call = max(1, int(min(self._most_rows, patient)))

    def _ask_all(self, held: Held, tick: Tick | None) -> Outcomes:
        step = max(1, self._most_rows // self.n)
        parts = [np.empty(0, dtype=bool)]
        for start in range(0, len(held), step):
            block = held[start : start + step]
            references = np.tile(np.arange(self.n), len(block))
            within = None if tick is None else part_of(tick, len(block) / len(held))
            parts.append(self._ask(np.repeat(block, self.n, axis=0), references, within))
        return np.concatenate(parts).reshape(len(held), self.n)


def ask_together(boxes: Sequence[BlackBox]) -> None:
    """Ask one model about the hybrids of several inputs that it will be asked about anyway.

    A call may cost as much for one row as for a thousand, and inputs that share values and
    references share hybrids. The answers are those that each box would get; where the model fails,
    none is told, so that each asks for itself and the fault is that of its own input.
    """
    waiting: list[tuple[BlackBox, Table, Counts]] = []
    rows = 0
    for i, box in enumerate(boxes):
        foreseen = box.foreseen()
        if foreseen is not None:
            waiting.append((box, *foreseen))
            rows += len(foreseen[1])
        if rows > _TOGETHER or (i == len(boxes) - 1 and waiting):
            _ask_about(waiting)
            waiting, rows = [], 0


def _ask_about(waiting: Sequence[tuple[BlackBox, Table, Counts]]) -> None:
    if len(waiting) < 2:
        return
    first, *others = (table for _, table, _ in waiting)
    every = first.stack_all(others)
    identity, distinct = distinct_rows(every.codes())
    target = waiting[0][0].target
    started = perf_counter()
    try:
        asked = every.take(distinct)
        scored = target.event.needs_scores
        answers = (target.model.scores(asked) if scored else target.model.predict(asked))[identity]
        seconds = (perf_counter() - started) / len(answers)
        at = 0
        for box, _, keys in waiting:
            box.learn(keys, answers[at : at + len(keys)], seconds * len(keys))
            at += len(keys)
    except SufficeError:
        return


def part_of(tick: Tick, part: float) -> Tick:
    """The tick of work that is a part of other work."""
    return lambda share: tick(share * part)


class Engine:
    """What engines share: a black box for the hybrids whose outcome they cannot tell."""

    note: str | None = None

    def __init__(self, target: Target, hybrids: SwapHybrids, y: bool) -> None:
        self._box = BlackBox(target, hybrids, y)
        self._hybrids = hybrids
        self._y = y

    @property
    def n(self) -> int:
        """How many references there are."""
        return self._hybrids.n

    @property
    def rows_predicted(self) -> int:
        """Rows that the model was really asked about."""
        return self._box.rows_predicted

    @property
    def model_seconds(self) -> float:
        """Time spent inside the model."""
        return self._box.model_seconds

    def _ask(
        self, held: Held, references: Counts, tick: Tick | None = None, again: bool = False
    ) -> BoolVector:
        """The model's own outcomes of single hybrids, each distinct row asked for once.

        `tick` is told that time passes, but of no share: these rows are part of other work. With
        `again` there may be other calls for the same rows, as by small lists, and they are
        remembered.
        """
        passing = None if tick is None else part_of(tick, 0.0)
        out = np.empty(len(references), dtype=bool)
        for start in range(0, len(out), _LOOKED_THROUGH):
            part = slice(start, start + _LOOKED_THROUGH)
            identity, first = self._hybrids.distinct(held[part], references[part])
            rows = held[part][first], references[part][first]
            out[part] = self._box.outcomes_of(*rows, passing, once=again)[identity]
        return out
