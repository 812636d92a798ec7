"""The distribution that Anchors explains: the data's rows, made to satisfy the rule.

A row r is drawn from the data. Where it already satisfies a condition of the rule A it is left
alone; where it does not, the columns of that condition take their values from a row drawn
uniformly among those of the data that satisfy it. All other columns are r's own. So every row is
perturbed, not only those with the opposite outcome: precision is a share of the whole
distribution D(x | A), and the empty rule's is the share of the data that has the outcome.

Each row gets one donor per condition, whatever the rule. A hybrid then is a swap between what r
has and what r would take, and all 2^d rules are compared on the same draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from zlib import crc32

import numpy as np

from suffice.context.distinct import joint_codes
from suffice.context.players import Players
from suffice.context.references import canonical_order
from suffice.context.table import Table
from suffice.decision import Decision
from suffice.encodings.anchors.conditions import Condition, holds
from suffice.encodings.anchors.counts import RuleCounts
from suffice.errors import InputError
from suffice.evaluate import BlackBox
from suffice.factors.lattice import Lattice
from suffice.search.sweep import progress_bar
from suffice.typing import BoolVector, Counts, Held

__all__ = ["PerturbedContext", "count_perturbed", "perturb"]

_EXACT_FLOAT = 2**53
_HYBRIDS_AT_ONCE = 1 << 20


@dataclass(frozen=True, eq=False)
class PerturbedContext:
    """`pool` holds the input in row 0 and the data below it, in an order of its own."""

    pool: Table
    players: Players
    """The conditions' names, and the columns that each of them sets."""
    rows: Counts
    """(n,): the rows of the pool that are perturbed."""
    inside: Counts
    """(n, conditions): the row of the pool that has the values to take; the row itself if it may
    keep its own."""

    @property
    def d(self) -> int:
        """How many conditions there are."""
        return len(self.players)

    @property
    def n(self) -> int:
        """How many rows are perturbed."""
        return len(self.rows)

    def hybrids(self, held: Held, references: Counts) -> Table:
        """Row i: what becomes of row references[i] under the rule of the conditions held[i]."""
        own = self.rows[references]
        source = np.repeat(own[:, None], len(self.pool.names), axis=1)
        for condition, columns in enumerate(self.players.columns):
            taken = np.where(held[:, condition], self.inside[references, condition], own)
            source[:, list(columns)] = taken[:, None]
        return self.pool.gather(source)

    def donors(self, held: Held) -> None:
        """A hybrid's values come from several rows, so that none is *the* row they come from."""

    def keys(self, held: Held) -> Counts:
        """(subsets, n): a number that tells what is done to which row.

        A rule does nothing to a row where it holds already, so rules that differ there only make
        the same hybrid: the row's number, and the conditions of the rule that it fails.
        """
        keys = np.broadcast_to(np.arange(self.n), (len(held), self.n))
        for chunk in self._chunks:
            digits = self._fails[:, chunk] * np.exp2(np.arange(chunk.stop - chunk.start))
            part = (held[:, chunk].astype(np.float64) @ digits.T).astype(np.int64)
            if self.keys_last:
                return keys + self.n * part
            both = np.stack([keys.ravel(), part.ravel()], axis=1)
            keys = joint_codes(both).reshape(part.shape)
        return keys

    @property
    def keys_last(self) -> bool:
        """Are keys comparable between calls? Not where they do not fit one number."""
        return len(self._chunks) <= 1 and self.n << self.d < _EXACT_FLOAT

    @property
    def _chunks(self) -> list[slice]:
        """Runs of conditions whose bits stay exact in a float."""
        return [slice(start, min(start + 48, self.d)) for start in range(0, self.d, 48)]

    @cached_property
    def _fails(self) -> BoolVector:
        return np.asarray(self.inside != self.rows[:, None])


def perturb(
    decision: Decision, conditions: Sequence[Condition], n: int | None = None
) -> PerturbedContext:
    """Draw each row's donors; `n` rows are perturbed, a seeded sample (None: all)."""
    data, seed = decision.data, decision.seed
    pool = decision.row.stack(data.take(canonical_order(data)))
    satisfied = holds(conditions, pool)
    own = np.arange(1, len(pool))
    inside = np.empty((len(own), len(conditions)), dtype=np.int64)
    for i, condition in enumerate(conditions):
        options = 1 + np.flatnonzero(satisfied[1:, i])
        if not len(options):
            options = _input_alone(condition, bool(satisfied[0, i]))
        # Seeded by the columns' names: the same donors in whatever rule or order of columns.
        names = "\0".join(sorted(data.names[j] for j in condition.columns))
        rng = np.random.default_rng([seed, 5, crc32(names.encode())])
        drawn = options[rng.integers(len(options), size=len(own))]
        inside[:, i] = np.where(satisfied[1:, i], own, drawn)
    if n is not None and n < len(own):
        chosen = np.sort(np.random.default_rng([seed, 6]).choice(len(own), size=n, replace=False))
        own, inside = own[chosen], inside[chosen]
    players = Players(tuple(c.name for c in conditions), tuple(c.columns for c in conditions))
    return PerturbedContext(pool, players, own, inside)


def count_perturbed(decision: Decision, context: PerturbedContext, largest: int) -> RuleCounts:
    """How many of the perturbed rows have the outcome, for every rule of up to `largest`."""
    lattice = Lattice(context.d)
    # Finding equal hybrids costs next to nothing here, and most are: a row that satisfies k of
    # the conditions has 2^(d-k) different ones.
    box = BlackBox(decision.target, context, decision.y, distinct=True)
    widths = [lattice.width(size) for size in range(largest + 1)]
    step = max(1, _HYBRIDS_AT_ONCE // context.n)
    levels = []
    with progress_bar(sum(widths) * context.n, None) as bar:
        for size, width in enumerate(widths):
            hits = np.empty(width, dtype=np.int64)
            for start in range(0, width, step):
                held = lattice.held(size, start, min(start + step, width))
                hits[start : start + len(held)] = box.outcomes(held).sum(axis=1)
                bar.update(len(held) * context.n)
            levels.append(hits)
    rows = tuple(np.broadcast_to(np.int64(context.n), width) for width in widths)
    return RuleCounts(context.d, tuple(levels), rows)


def _input_alone(condition: Condition, satisfied: bool) -> Counts:
    """No row of the data satisfies the condition; the input may."""
    if not satisfied:
        raise InputError(
            "rule",
            f"{condition.factor!r}, which no row of the data satisfies",
            "a rule whose conditions hold somewhere",
            "Pass rows that satisfy it as sample=….",
        )
    return np.array([0])
