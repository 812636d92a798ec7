"""Counts of every rule over observed or perturbed rows, and the rules that are τ-minimal by them.

A rule A is satisfied by n(A) rows of D, of which n(A & y) have the outcome: its precision is
PS(c_A, y) = n(A & y) / n(A) (Prop. 2). Where rows are perturbed until they satisfy the rule, n(A)
is the same for all rules. Where they are observed, each rule has its own n(A); a rule that no row
satisfies has no precision.

Counting observed rows takes no model call. Only the conditions that a row satisfies and its outcome
matter, so rows that agree in both are counted together. With a bit per condition a row is a mask,
and it satisfies A exactly when its mask contains A's. So one histogram of masks and its sums over
supersets count all 2^d rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
from suffice.engines import BlackBox
from suffice.errors import InputError
from suffice.factors.lattice import Ladder, Lattice, by_level, climb, masks_of_held, over_supersets
from suffice.inference import lower_bound
from suffice.progress import Progress, progress_bar
from suffice.randomness import Stream, generator
from suffice.rules.conditions import Condition, Conditions
from suffice.search.limits import EXHAUSTIVE_PLAYERS
from suffice.tables.cells import distinct_keys, distinct_rows
from suffice.tables.table import Table
from suffice.typing import BoolVector, Counts, HeldSets, Reals

_CELLS_AT_ONCE = 1 << 22


@dataclass(frozen=True)
class CountedRule:
    """Rule with its conditions, counts, and thresholds (low, high] at which it is minimal."""

    members: tuple[int, ...]
    hits: int
    n: int
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class RuleCounts:
    """Counts n(A & y) and n(A) of every rule, by size in the lattice's order, up to a largest size.

    Sets of conditions that stand for no rule have n(A) = 0, like a rule that no row satisfies.
    """

    d: int
    hits: tuple[Counts, ...]
    n: tuple[Counts, ...]

    def ladder(self, alpha: float | None) -> Ladder:
        """Return, by rule, the largest τ that it reaches (with α: at which it passes the test), and
        the largest that a rule strictly inside it reaches.

        A rule that no row satisfies reaches none: it has -1, which is never above the second.
        """
        return climb(
            [_passing_thresholds(h, m, alpha) for h, m in zip(self.hits, self.n, strict=True)],
            self.d,
        )

    def minimal_at(self, tau: float, ladder: Ladder) -> Iterator[CountedRule]:
        """Yield every τ-minimal rule (Def. 4): m < τ <= PS, m being the best PS strictly inside."""
        for size, (passes, below) in enumerate(zip(ladder.passes, ladder.below, strict=True)):
            for rank in np.flatnonzero((below < tau) & (tau <= passes)).tolist():
                yield self._at(size, rank, ladder)

    def best(self, ladder: Ladder) -> CountedRule:
        """Return the rule that reaches the highest τ, the smallest of these."""
        tops = [float(level.max()) for level in ladder.passes]
        size = int(np.argmax(tops))
        return self._at(size, int(np.argmax(ladder.passes[size])), ladder)

    def of(self, members: Sequence[int], ladder: Ladder) -> CountedRule:
        """Return the rule of these conditions; low = high where it is minimal at no τ."""
        return self._at(len(members), Lattice(self.d).rank(members), ladder)

    def _at(self, size: int, rank: int, ladder: Ladder) -> CountedRule:
        members = Lattice(self.d).unrank(size, np.array([rank]))[0]
        low = float(ladder.below[size][rank])
        return CountedRule(
            tuple(members.tolist()),
            int(self.hits[size][rank]),
            int(self.n[size][rank]),
            low,
            max(low, float(ladder.passes[size][rank])),
        )


@dataclass(frozen=True, eq=False)
class ObservedPatterns:
    """Rows of the data, grouped by the conditions that they satisfy."""

    patterns: HeldSets
    """(patterns, conditions): the sets of conditions that some row satisfies, each once."""
    n: Counts
    """By pattern: the number of rows that satisfy exactly these conditions."""
    hits: Counts
    """By pattern: the number of those rows with the outcome."""

    def covered(self, rules: HeldSets) -> tuple[Counts, Counts]:
        """Return n(A & y) and n(A) of rules, given as rows of Booleans over the conditions."""
        hits = np.empty(len(rules), dtype=np.int64)
        n = np.empty(len(rules), dtype=np.int64)
        fails = (~self.patterns).astype(np.float32)
        step = max(1, _CELLS_AT_ONCE // len(self.patterns))
        for start in range(0, len(rules), step):
            part = slice(start, start + step)
            met = rules[part].astype(np.float32) @ fails.T == 0  # none of its conditions fails
            hits[part], n[part] = met @ self.hits, met @ self.n
        return hits, n


def observe_patterns(satisfied: HeldSets, has_outcome: BoolVector) -> ObservedPatterns:
    """Group rows by the conditions satisfied, (rows, conditions), and count the outcome in each."""
    identity, first = distinct_rows(satisfied.astype(np.int64))
    # Sorted, so that nothing depends on the order of the data's rows.
    patterns, place = np.unique(satisfied[first], axis=0, return_inverse=True)
    which = place.ravel()[identity]
    n, hits = (np.bincount(rows, minlength=len(patterns)) for rows in (which, which[has_outcome]))
    return ObservedPatterns(patterns, n, hits)


def count_observed(
    conditions: Conditions, observed: ObservedPatterns, largest: int, progress: bool | None = None
) -> RuleCounts:
    """Count every rule of up to `largest` features over the rows of the data."""
    sizes = conditions.sizes(largest)
    if len(conditions) <= EXHAUSTIVE_PLAYERS:
        counts = count_by_masks(observed, sizes)
    else:
        counts = count_one_by_one(observed, sizes, progress)
    if conditions.independent:
        return counts
    lattice = Lattice(len(conditions))
    rules = [conditions.are_rules(lattice.held(size), largest) for size in sizes]
    hits, n = (
        tuple(level * rule for level, rule in zip(levels, rules, strict=True))
        for levels in (counts.hits, counts.n)
    )
    return RuleCounts(counts.d, hits, n)


def count_one_by_one(
    observed: ObservedPatterns, sizes: range, progress: bool | None = None
) -> RuleCounts:
    """Count rule by rule, for any number of conditions."""
    lattice = Lattice(observed.patterns.shape[1])
    step = max(1, _CELLS_AT_ONCE // len(observed.patterns))
    widths = [lattice.width(size) for size in sizes]
    hits = [np.empty(width, dtype=np.int64) for width in widths]
    n = [np.empty(width, dtype=np.int64) for width in widths]
    with progress_bar("rules", sum(widths), progress) as bar:
        for size, width in zip(sizes, widths, strict=True):
            for start in range(0, width, step):
                part = slice(start, min(start + step, width))
                rules = lattice.held(size, part.start, part.stop)
                hits[size][part], n[size][part] = observed.covered(rules)
                bar.update(len(rules))
    return RuleCounts(lattice.d, tuple(hits), tuple(n))


def count_by_masks(observed: ObservedPatterns, sizes: range) -> RuleCounts:
    """Count by sums over supersets of masks (a zeta transform); 2^d numbers must fit in memory."""
    d = observed.patterns.shape[1]
    masks = masks_of_held(observed.patterns)

    def levels(of: Counts) -> tuple[Counts, ...]:
        counts = np.zeros(1 << d, dtype=np.int64)
        counts[masks] = of
        return by_level(over_supersets(counts, np.add))[: len(sizes)]

    return RuleCounts(d, levels(observed.hits), levels(observed.n))


def _passing_thresholds(hits: Counts, n: Counts, alpha: float | None) -> Reals:
    seen = n > 0
    out = np.full(len(hits), -1.0)
    out[seen] = hits[seen] / n[seen] if alpha is None else lower_bound(hits[seen], n[seen], alpha)
    return out


# The distribution that Anchors explains: rows of the data, perturbed until they satisfy the rule.


_HYBRIDS_AT_ONCE = 1 << 20
_LARGEST_KEY = 2**62


@dataclass(frozen=True, eq=False)
class ColumnSlot:
    """Columns that move together, the chains of conditions on them, and the donors of their values.

    Of these columns a rule requires nothing, their only condition, or a pair of bounds: these are
    the slot's *states*. A row that satisfies a state keeps its own values; any other row takes
    those of a donor, drawn uniformly among the rows of the data that satisfy the state.
    """

    columns: tuple[int, ...]
    chains: tuple[tuple[int, ...], ...]
    """By chain, the positions of its conditions: the weakest first."""
    inside: Counts
    """(states, rows): the row of the pool to take values from; a row's own number to keep them."""

    def states(self, held: HeldSets) -> Counts:
        """Return the state that each set of conditions requires, as a number.

        Its digits are the places of the tightest condition in each chain. A condition implies the
        weaker ones before it, whether they are held or not.
        """
        state = np.zeros(len(held), dtype=np.int64)
        for chain in self.chains:
            places = held[:, list(chain)] * np.arange(1, len(chain) + 1)
            state = state * (len(chain) + 1) + places.max(axis=1)
        return state

    def chosen(self, rows: Counts) -> ColumnSlot:
        """Return the slot for some of the rows."""
        return ColumnSlot(self.columns, self.chains, self.inside[:, rows])


@dataclass(frozen=True, eq=False)
class PerturbedHybrids(KeyedHybrids):
    """Hybrids of rows of the data perturbed until they satisfy a rule.

    `pool` holds the input in row 0 and below it the data in canonical order.
    """

    pool: Table
    players: Players
    """The conditions, each with the columns that it reads."""
    chosen: Counts
    """(n,): the rows of the pool that are perturbed."""
    slots: tuple[ColumnSlot, ...]

    @property
    def d(self) -> int:
        """Number of conditions d, the players of this context."""
        return len(self.players)

    @property
    def n(self) -> int:
        """Number of rows that are perturbed."""
        return len(self.chosen)

    def rows(self, held: HeldSets, references: Counts) -> Table:
        """Return row references[i] perturbed to satisfy the conditions held[i], for every i."""
        source = np.repeat(self.chosen[references][:, None], len(self.pool.names), axis=1)
        for slot in self.slots:
            source[:, list(slot.columns)] = slot.inside[slot.states(held), references][:, None]
        return self.pool.gather(source)

    def donors(self, held: HeldSets) -> None:
        """Return None: a hybrid takes values from several rows, so it has no single donor."""

    def keys(self, held: HeldSets) -> Counts:
        """Return (subsets, n): keys made of the row and of the state that each slot changes to.

        A slot whose state the row satisfies already has digit 0, so rules that differ only there
        make the same hybrid.
        """
        keys = np.broadcast_to(np.arange(self.n), (len(held), self.n))
        room = self.n
        for slot, changes in zip(self.slots, self._changes, strict=True):
            part = changes[slot.states(held)]
            if room * len(changes) >= _LARGEST_KEY:  # then number those that occur
                keys = distinct_keys(keys.ravel())[0].reshape(part.shape)
                room = int(keys.max()) + 1
            keys = keys + room * part
            room *= len(changes)
        return keys

    @property
    def stable_keys(self) -> bool:
        """True if keys are comparable between calls: all digits fit one number."""
        return self.n * prod(len(slot.inside) for slot in self.slots) < _LARGEST_KEY

    @cached_property
    def _changes(self) -> list[Counts]:
        """Digits of the keys, by slot (states, n): the state, or 0 where the row satisfies it."""
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
    columns = tuple(_condition_columns(condition, pool) for condition in conditions)
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
    """Count the perturbed rows with the outcome, for every rule of up to `largest` features.

    Sets of conditions that stand for no such rule are not predicted and count no rows.
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
) -> tuple[ColumnSlot, ...]:
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
                options = _donor_from_input(conditions[tightest[0]], bool(holds[0]))
            drawn = np.minimum((uniform * len(options)).astype(np.int64), len(options) - 1)
            inside.append(np.where(holds[1:], own, options[drawn]))
        slots.append(ColumnSlot(moved, tuple(chains), np.stack(inside)))
    return tuple(slots)


def _condition_columns(condition: Condition, pool: Table) -> tuple[int, ...]:
    return tuple(sorted({pool.position(name, "rule") for name in condition.factor.columns()}))


def _donor_from_input(condition: Condition, satisfied: bool) -> Counts:
    """Return the input as donor of a condition that no row of data satisfies, if it does."""
    if not satisfied:
        raise InputError(
            "rule",
            f"{condition.factor!r}, which no row of the data satisfies",
            "a rule whose conditions hold somewhere",
            "Pass rows that satisfy it as sample=….",
        )
    return np.array([0])
