"""The distribution that Anchors explains: the data's rows, made to satisfy the rule.

A row r is drawn from the data. Where it already satisfies what the rule A asks of a feature it is
left alone; where it does not, the feature takes its values from a row drawn uniformly among those
of the data that satisfy it. All else is r's own. So every row is perturbed, not only those with
the opposite outcome: precision is a share of the whole distribution D(x | A), and the empty rule's
is the share of the data that has the outcome.

Each row gets its donors once, whatever the rule. A hybrid then is a swap between what r has and
what r would take, and all rules are compared on the same draws.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from suffice.context.hybrids import KeyedHybrids
from suffice.context.players import Players
from suffice.context.references import canonical_order
from suffice.decision import Decision
from suffice.encodings.anchors.conditions import Conditions
from suffice.encodings.anchors.counts import RuleCounts
from suffice.encodings.anchors.slots import Slot, make_slots
from suffice.evaluate import BlackBox
from suffice.factors.lattice import Lattice
from suffice.progress import progress_bar
from suffice.randomness import Stream, generator
from suffice.tables.distinct import first_seen
from suffice.tables.table import Table
from suffice.typing import Counts, Held

__all__ = ["PerturbedHybrids", "count_perturbed", "perturb"]

_HYBRIDS_AT_ONCE = 1 << 20
_LARGEST_KEY = 2**62


@dataclass(frozen=True, eq=False)
class PerturbedHybrids(KeyedHybrids):
    """`pool` holds the input in row 0 and the data below it, in an order of its own."""

    pool: Table
    players: Players
    """The conditions, each with the columns that it reads."""
    chosen: Counts
    """(n,): the rows of the pool that are perturbed."""
    slots: tuple[Slot, ...]

    @property
    def d(self) -> int:
        """How many conditions there are."""
        return len(self.players)

    @property
    def n(self) -> int:
        """How many rows are perturbed."""
        return len(self.chosen)

    def rows(self, held: Held, references: Counts) -> Table:
        """Row i: what becomes of row references[i] under the rule of the conditions held[i]."""
        source = np.repeat(self.chosen[references][:, None], len(self.pool.names), axis=1)
        for slot in self.slots:
            source[:, list(slot.columns)] = slot.inside[slot.states(held), references][:, None]
        return self.pool.gather(source)

    def donors(self, held: Held) -> None:
        """A hybrid's values come from several rows, so that none is *the* row they come from."""

    def keys(self, held: Held) -> Counts:
        """(subsets, n): a number that tells what is done to which row.

        Nothing is done to a row where it satisfies the rule already, so rules that differ there
        only make the same hybrid. The row is one digit; what each feature must change to, others.
        """
        keys = np.broadcast_to(np.arange(self.n), (len(held), self.n))
        room = self.n
        for slot, changes in zip(self.slots, self._changes, strict=True):
            part = changes[slot.states(held)]
            if room * len(changes) >= _LARGEST_KEY:  # then number those that occur
                keys = first_seen(keys.ravel())[0].reshape(part.shape)
                room = int(keys.max()) + 1
            keys = keys + room * part
            room *= len(changes)
        return keys

    @property
    def stable_keys(self) -> bool:
        """Are keys comparable between calls? Not where they do not fit one number."""
        return self.n * prod(len(slot.inside) for slot in self.slots) < _LARGEST_KEY

    @cached_property
    def _changes(self) -> list[Counts]:
        """By slot, (states, n): the state, or 0 where the row satisfies it anyway."""
        return [
            np.where(slot.inside == self.chosen, 0, np.arange(len(slot.inside))[:, None])
            for slot in self.slots
        ]


def perturb(decision: Decision, conditions: Conditions, n: int | None = None) -> PerturbedHybrids:
    """Draw each row's donors; `n` rows are perturbed, a seeded sample (None: all)."""
    data, seed = decision.data, decision.seed
    pool = decision.row.stack(data.take(canonical_order(data)))
    slots = make_slots(conditions, pool, seed)
    chosen = np.arange(len(data))
    if n is not None and n < len(data):
        chosen = np.sort(generator(seed, Stream.PERTURBED).choice(len(data), size=n, replace=False))
        slots = tuple(slot.chosen(chosen) for slot in slots)
    players = Players(tuple(c.name for c in conditions), tuple(c.columns for c in conditions))
    return PerturbedHybrids(pool, players, 1 + chosen, slots)


def count_perturbed(
    decision: Decision, conditions: Conditions, context: PerturbedHybrids, largest: int
) -> RuleCounts:
    """How many of the perturbed rows have the outcome, for every rule of up to `largest` features.

    Sets of conditions that stand for no such rule are not asked about, and count no rows.
    """
    lattice = Lattice(context.d)
    # Finding equal hybrids costs next to nothing here, and most are equal: of a row that satisfies
    # k of d conditions there are only 2^(d-k) different ones.
    box = BlackBox(decision.target, context, decision.y, distinct=True)
    sizes = range((context.d if conditions.chained else largest) + 1)
    widths = [lattice.width(size) for size in sizes]
    step = max(1, _HYBRIDS_AT_ONCE // context.n)
    hits, n = [], []
    with progress_bar("hybrids", sum(widths) * context.n) as bar:
        for size, width in zip(sizes, widths, strict=True):
            hits.append(np.zeros(width, dtype=np.int64))
            n.append(np.zeros(width, dtype=np.int64))
            for start in range(0, width, step):
                held = lattice.held(size, start, min(start + step, width))
                rules = np.flatnonzero(conditions.are_rules(held, largest))
                if len(rules):
                    hits[-1][start + rules] = box.outcomes(held[rules]).sum(axis=1)
                    n[-1][start + rules] = context.n
                bar.update(len(held) * context.n)
    return RuleCounts(context.d, tuple(hits), tuple(n))
