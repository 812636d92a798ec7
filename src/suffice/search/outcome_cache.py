"""Cache of outcomes by feature set in a search: no set and reference is evaluated twice.

References are looked at in one seeded order, so that what is known of a set is a number of
references and the outcomes of those. Replacing a set is holding its complement: both views read
one memo, where they read the same hybrids. What a sweep of small sets counted is read from there.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np

from suffice.engines import Evaluator, LatticeEvaluator
from suffice.factors.lattice import Lattice
from suffice.randomness import Stream, generator
from suffice.search.exhaustive import Sweep
from suffice.search.limits import LimitKeeper
from suffice.typing import BoolVector, Counts, HeldSets, Outcomes, Reals

_MOST_BYTES = 1 << 28
"""Room for what is known; past that the oldest half is forgotten, and may be asked again."""
_EFFECT_SAMPLE_SIZE = 1 << 12
"""Single hybrids that show who is strong."""
_BYTES_PER_SET = 320
"""About what a set takes besides the outcomes themselves."""


class _KnownOutcomes(NamedTuple):
    """The outcomes of the first `seen` references in the memo's order, a bit each."""

    seen: int
    bits: bytes


_NO_OUTCOMES = _KnownOutcomes(0, b"")


class OutcomeCache:
    """Outcomes by set; asks for what it does not know."""

    def __init__(
        self, evaluator: Evaluator, d: int, seed: int = 0, sweep: Sweep | None = None
    ) -> None:
        self.evaluator = evaluator
        self.n = evaluator.n
        self.d = d
        self.lattice = Lattice(d)
        self._sweep = sweep
        self._seed = seed
        self._effects: tuple[Reals, Reals] | None = None
        self._known: dict[bytes, _KnownOutcomes] = {}
        self._order = generator(seed, Stream.TESTS).permutation(self.n)
        self.seen = 0 if sweep is None else sweep.tally.visited
        """How many sets were asked about so far."""
        self.most = max(1, _MOST_BYTES // (_BYTES_PER_SET + self.n // 8 + d // 8))
        """How many sets are remembered."""

    @cached_property
    def whole_sets(self) -> bool:
        """Is a set best worked out on all references together, because an engine does that?"""
        return isinstance(self.evaluator, LatticeEvaluator)

    def read(self, sweep: Sweep) -> None:
        """Know from now on what a sweep of small sets counted."""
        self._sweep = sweep
        self.seen += sweep.tally.visited

    def smallest(self, flip: bool, need: int) -> tuple[tuple[int, ...], BoolVector] | None:
        """Of the sets known on all references, the smallest that passes; and which hit."""
        best: tuple[tuple[int, ...], BoolVector] | None = None
        for key, known in self._known.items():
            if known.seen < self.n:
                continue
            bits = np.unpackbits(np.frombuffer(known.bits, dtype=np.uint8), count=self.n)
            hits = bits.astype(bool) != flip
            held = np.unpackbits(np.frombuffer(key, dtype=np.uint8), count=self.d).astype(bool)
            members = np.flatnonzero(held != flip)
            if hits.sum() >= need and (best is None or len(members) < len(best[0])):
                by_reference = np.empty(self.n, dtype=bool)
                by_reference[self._order] = hits
                best = tuple(members.tolist()), by_reference
        return best

    def __len__(self) -> int:
        """How many sets are remembered, besides those that a sweep counted."""
        return len(self._known)

    def outcomes(self, held: HeldSets, seen: int, keeper: LimitKeeper) -> Outcomes:
        """(sets, seen): outcomes with the first references in order.

        LimitReached where not all can be asked; what was asked until then is known from then on.
        """
        keys = [row.tobytes() for row in np.packbits(held, axis=1)]
        places = {key: i for i, key in enumerate(keys)}
        at = {key: i for i, key in enumerate(places)}
        each = self._each(held[list(places.values())], list(places), seen, keeper)
        return each[[at[key] for key in keys]]

    def _each(self, held: HeldSets, keys: list[bytes], seen: int, keeper: LimitKeeper) -> Outcomes:
        """The same for sets that are all different."""
        known = self._recall(held, keys)
        depth = np.array([entry.seen for entry in known], dtype=np.int64)
        for start in np.unique(depth[depth < seen]).tolist():
            lacking = np.flatnonzero(depth == start)
            answers = self._ask(held[lacking], start, seen, keeper)
            for i, row in zip(lacking.tolist(), answers, strict=False):
                known[i] = _extend_outcomes(known[i], row)
            self.seen += len(answers) if start == 0 else 0
            self._known.update((keys[i], known[i]) for i in lacking[: len(answers)].tolist())
            self._forget()
            if len(answers) < len(lacking):
                keeper.check(seen - start)
        packed = np.frombuffer(
            b"".join(entry.bits[: (seen + 7) // 8] for entry in known), dtype=np.uint8
        )
        rows = np.unpackbits(packed.reshape(len(held), -1), axis=1, count=seen)
        return rows.astype(bool)

    def in_full(self, held: BoolVector, keeper: LimitKeeper) -> BoolVector:
        """(n,): the outcomes of one set by reference."""
        out = np.empty(self.n, dtype=bool)
        out[self._order] = self.outcomes(held[None], self.n, keeper)[0]
        return out

    def effects(self, keeper: LimitKeeper) -> tuple[Reals, Reals]:
        """How much more often the outcome comes with each player held than without it.

        And the standard error. Asked for once: in the flip view a player replaced brings the other
        outcome exactly as much more often.
        """
        if self._effects is None:
            self._effects = self._estimate(keeper.part(0.1))
        return self._effects

    def _estimate(self, keeper: LimitKeeper) -> tuple[Reals, Reals]:
        """A few single hybrids of random subsets, of all sizes alike, show who is strong."""
        rng = generator(self._seed, Stream.STARTS, 1)
        left = keeper.rows_left
        rows = int(
            min(
                _EFFECT_SAMPLE_SIZE,
                self.n * self.lattice.count // 8,
                _EFFECT_SAMPLE_SIZE if left is None else left,
            )
        )
        density = rng.random((rows, 1))
        held = rng.random((rows, self.d)) < density
        hits = keeper.ask(self.evaluator, held, rng.integers(self.n, size=rows))
        if len(hits) <= self.d:  # too few to tell players apart
            return np.zeros(self.d), np.ones(self.d)
        held, density = held[: len(hits)], density[: len(hits)]
        # Less the density: or else a player would be credited with those that came along.
        gains = (held - density) * (hits - hits.mean())[:, None]
        return gains.mean(axis=0), gains.std(axis=0) / np.sqrt(len(hits))

    def swept_below(self, need: int, flip: bool) -> Iterator[tuple[int, Counts]]:
        """By size: the numbers of the swept sets that have fewer hits than needed in a view."""
        if self._sweep is None:
            return
        tally = self._sweep.tally.other_view() if flip else self._sweep.tally
        for size, level in enumerate(tally.levels):
            if len(level):
                yield size, tally.start(size) + np.flatnonzero(level < need)

    def _ask(self, held: HeldSets, start: int, stop: int, keeper: LimitKeeper) -> Outcomes:
        """(sets, stop - start): as many whole sets as the limits allow."""
        if start == 0 and stop == self.n and self.whole_sets:
            return keeper.ask_sets(self.evaluator, held)[:, self._order]
        references = self._order[start:stop]
        asked = np.repeat(held, len(references), axis=0)
        answers = keeper.ask(self.evaluator, asked, np.tile(references, len(held)))
        sets = len(answers) // len(references)
        return answers[: sets * len(references)].reshape(sets, len(references))

    # -- what is known ------------------------------------------------------------------

    def _recall(self, held: HeldSets, keys: list[bytes]) -> list[_KnownOutcomes]:
        known = [self._known.get(key, _NO_OUTCOMES) for key in keys]
        if self._sweep is None:
            return known
        sizes = held.sum(axis=1)
        for size in np.unique(sizes).tolist():
            visited = self._sweep.tally.listed(size)
            if not visited:
                continue
            new = [i for i in np.flatnonzero(sizes == size).tolist() if known[i].seen < self.n]
            ranks = [self.lattice.rank(np.flatnonzero(held[i]).tolist()) for i in new]
            swept = [(i, rank) for i, rank in zip(new, ranks, strict=True) if rank < visited]
            at = np.array([rank for _, rank in swept], dtype=np.int64)
            outcomes = self._sweep.outcomes(size, at)[:, self._order]
            for (i, _), row in zip(swept, np.packbits(outcomes, axis=1), strict=True):
                known[i] = _KnownOutcomes(self.n, row.tobytes())
        return known

    def _forget(self) -> None:
        if len(self._known) > self.most:
            for key in list(self._known)[: len(self._known) - self.most // 2]:
                del self._known[key]


def _extend_outcomes(known: _KnownOutcomes, more: BoolVector) -> _KnownOutcomes:
    before = np.unpackbits(np.frombuffer(known.bits, dtype=np.uint8), count=known.seen)
    bits = np.concatenate([before.astype(bool), more])
    return _KnownOutcomes(len(bits), np.packbits(bits).tobytes())
