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
from functools import cached_property, partial
from itertools import product
from math import prod
from zlib import crc32

import numpy as np

from suffice.context.hybrids import KeyedHybrids
from suffice.context.players import Players
from suffice.context.references import canonical_order
from suffice.decision import Decision
from suffice.encodings.anchors.conditions import Condition, Conditions
from suffice.encodings.anchors.counts import RuleCounts
from suffice.errors import InputError
from suffice.evaluate import BlackBox
from suffice.factors.lattice import Lattice
from suffice.progress import Progress, progress_bar
from suffice.randomness import Stream, generator
from suffice.tables.cells import first_seen
from suffice.tables.table import Table
from suffice.typing import Counts, Held

__all__ = ["PerturbedHybrids", "Slot", "count_perturbed", "perturb"]

_HYBRIDS_AT_ONCE = 1 << 20
_LARGEST_KEY = 2**62


@dataclass(frozen=True, eq=False)
class Slot:
    """The columns that move together, the chains of conditions on them, and everyone's donors.

    A rule asks one of a few things of them: nothing, their only condition, or some pair of bounds.
    These are the slot's *states*. In a state that a row satisfies it keeps its own values; else
    they come from a donor, drawn uniformly among the rows of the data that satisfy it.
    """

    columns: tuple[int, ...]
    chains: tuple[tuple[int, ...], ...]
    """By chain, the positions of its conditions: the weakest first."""
    inside: Counts
    """(states, rows): the row of the pool to take values from; a row's own number to keep them."""

    def states(self, held: Held) -> Counts:
        """What each set of conditions asks: the place of the tightest in each chain, as one number.

        A condition implies the weaker ones before it, whether they are held or not.
        """
        state = np.zeros(len(held), dtype=np.int64)
        for chain in self.chains:
            places = held[:, list(chain)] * np.arange(1, len(chain) + 1)
            state = state * (len(chain) + 1) + places.max(axis=1)
        return state

    def chosen(self, rows: Counts) -> Slot:
        """The same for some of the rows."""
        return Slot(self.columns, self.chains, self.inside[:, rows])


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


def perturb(
    decision: Decision, conditions: Conditions, n_rows: int | None = None
) -> PerturbedHybrids:
    """Draw each row's donors; `n_rows` rows are perturbed, a seeded sample (None: all)."""
    data, seed = decision.data, decision.seed
    pool = decision.row.stack(data.take(canonical_order(data)))
    columns = tuple(_columns(condition, pool) for condition in conditions)
    slots = _make_slots(conditions, columns, pool, seed)
    chosen = np.arange(len(data))
    if n_rows is not None and n_rows < len(data):
        draws = generator(seed, Stream.PERTURBED)
        chosen = np.sort(draws.choice(len(data), size=n_rows, replace=False))
        slots = tuple(slot.chosen(chosen) for slot in slots)
    players = Players(tuple(c.feature for c in conditions), columns)
    return PerturbedHybrids(pool, players, 1 + chosen, slots)


def count_perturbed(
    decision: Decision,
    conditions: Conditions,
    hybrids: PerturbedHybrids,
    largest: int,
    progress: bool | None = None,
) -> RuleCounts:
    """How many of the perturbed rows have the outcome, for every rule of up to `largest` features.

    Sets of conditions that stand for no such rule are not asked about, and count no rows.
    """
    lattice = Lattice(hybrids.d)
    # Finding equal hybrids costs next to nothing here, and most are equal: of a row that satisfies
    # k of d conditions there are only 2^(d-k) different ones.
    box = BlackBox(decision.target, hybrids, decision.y, distinct=True)
    sizes = conditions.sizes(largest)
    widths = [lattice.width(size) for size in sizes]
    step = max(1, _HYBRIDS_AT_ONCE // hybrids.n)
    hits = [np.zeros(width, dtype=np.int64) for width in widths]
    n = [np.zeros(width, dtype=np.int64) for width in widths]
    with progress_bar("hybrids", sum(widths) * hybrids.n, progress) as bar:
        for size, width in zip(sizes, widths, strict=True):
            for start in range(0, width, step):
                held = lattice.held(size, start, min(start + step, width))
                rules = np.flatnonzero(conditions.are_rules(held, largest))
                bar.update((len(held) - len(rules)) * hybrids.n)
                if len(rules):
                    tick = partial(_advance, bar, len(rules) * hybrids.n)
                    hits[size][start + rules] = box.outcomes(held[rules], tick).sum(axis=1)
                    n[size][start + rules] = hybrids.n
    return RuleCounts(hybrids.d, tuple(hits), tuple(n))


def _advance(bar: Progress, work: int, share: float) -> None:
    bar.update(share * work)


def _make_slots(
    conditions: Conditions, columns: tuple[tuple[int, ...], ...], pool: Table, seed: int
) -> tuple[Slot, ...]:
    """Draw donors for every row of the pool below the input, in every state."""
    satisfied = conditions.holds(pool)
    chains_on: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
    for chain in conditions.chains:
        chains_on.setdefault(columns[chain[0]], []).append(chain)
    own = np.arange(1, len(pool))
    slots = []
    for moved, chains in chains_on.items():
        # Seeded by the columns' names: the same draws in whatever rule or order of columns.
        names = "\0".join(sorted(pool.names[j] for j in moved))
        which = crc32(names.encode(errors="surrogatepass"))
        uniform = generator(seed, Stream.SLOTS, which).random(len(own))
        inside = []
        for places in product(*(range(len(chain) + 1) for chain in chains)):
            tightest = [chain[p - 1] for chain, p in zip(chains, places, strict=True) if p]
            holds = np.asarray(satisfied[:, tightest].all(axis=1))
            options = 1 + np.flatnonzero(holds[1:])
            if not len(options):
                options = _input_alone(conditions[tightest[0]], bool(holds[0]))
            drawn = np.minimum((uniform * len(options)).astype(np.int64), len(options) - 1)
            inside.append(np.where(holds[1:], own, options[drawn]))
        slots.append(Slot(moved, tuple(chains), np.stack(inside)))
    return tuple(slots)


def _columns(condition: Condition, pool: Table) -> tuple[int, ...]:
    return tuple(sorted({pool.position(name, "rule") for name in condition.factor.columns()}))


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
