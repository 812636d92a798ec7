"""`Profile`: minimal sets, sufficiency, p-values and necessity at every τ, from one view's counts.

A profile is made once per sweep and view; reading it at a threshold is a filter. If a search
decided subsets at one τ only instead of counting all, the profile also holds its `Findings` and is
valid at that τ alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import comb

import numpy as np

from suffice.errors import NotVisitedError
from suffice.factors.lattice import (
    Ladder,
    Steps,
    climb,
    climb_steps,
    members_of,
    sizes_by_mask,
    supersets_of,
)
from suffice.inference import (
    adjust_tied_p_values,
    fewest_hits,
    interval_and_p_value,
    lower_bound,
    p_value,
    passing_taus,
    passing_taus_by_count,
)
from suffice.search.exhaustive import Tally
from suffice.search.findings import Findings, Proof
from suffice.search.hybrid_sampling import HybridSample, draw_hybrids
from suffice.search.limits import Limits
from suffice.search.question import Question
from suffice.typing import Adjustment, BoolVector, Counts, HeldSets, Reals, SmallCounts


@dataclass(frozen=True)
class MinimalSet:
    """Minimal subset, with the interval of τ at which it is minimal and the evidence for it."""

    members: tuple[int, ...]
    hits: int
    low: float
    high: float
    proof: Proof


@dataclass(frozen=True, eq=False)
class IntervalTable:
    """Subsets that are minimal at some τ, smaller ones first, as parallel arrays."""

    sizes: Counts
    places: Counts
    """Bit masks if all subsets were counted; else ranks among the subsets of the same size."""
    hits: Counts
    low: Reals
    high: Reals

    def at(self, tau: float) -> Counts:
        """Return positions of the sets that are minimal at τ, by size, then by falling sufficiency.

        Sets of equal size and sufficiency stay in the lattice's order.
        """
        which = np.flatnonzero((self.low < tau) & (tau <= self.high))
        return which[np.lexsort((-self.hits[which], self.sizes[which]))]

    def by_size(self) -> Iterator[tuple[int, Counts]]:
        """Yield each size with the indices of the sets that have it."""
        sizes, starts = np.unique(self.sizes, return_index=True)
        parts = np.split(np.arange(len(self.sizes)), starts[1:])
        yield from zip(sizes.tolist(), parts, strict=False)


_REFERENCES_PER_SET = 64
"""References per set up to which a table of all counts 0 to n is smaller than the sets."""


def _count_equal(hits: Counts | SmallCounts, n: int) -> tuple[Counts, Counts]:
    """Return the distinct counts, ascending, and the number of sets with each."""
    if n > _REFERENCES_PER_SET * len(hits):
        counts, times = np.unique(hits, return_counts=True)
        return counts.astype(np.int64), times
    times = np.bincount(hits)
    counts = np.flatnonzero(times)
    return counts, times[counts]


_PROOFS: tuple[Proof, Proof] = ("none", "exhaustive")
"""Evidence of minimality, indexed by whether all sets inside were counted."""

_CLOSURE_PLAYERS = 20
"""Most players for which sets that contain a factor are counted, with a byte per set."""
_CLOSURE_DRAWS = 1 << 15
"""Sets drawn with more players: a standard error of at most 0.3 percentage points."""

_NO_COUNTS = np.empty(0, dtype=np.int64)
_NO_INTERVALS = IntervalTable(_NO_COUNTS, _NO_COUNTS, _NO_COUNTS, np.empty(0), np.empty(0))


@dataclass(frozen=True, eq=False)
class Profile:
    """Intervals, reaches and coverage of one view's subsets."""

    tally: Tally
    alpha: float | None = None
    adjust: Adjustment = "none"
    max_size: int | None = None
    """Size of the largest sets to report; None: any size."""
    size_weights: tuple[float, ...] | None = None
    """Probability under D of holding (flip: replacing) 0, 1, …, d features; None: D is uniform."""
    draws: HybridSample | None = None
    """Sample of D for a bounded sweep, with outcomes as this view reads them."""
    findings: Findings | None = None

    @classmethod
    def of(
        cls,
        tally: Tally,
        question: Question,
        draws: HybridSample | None = None,
        findings: Findings | None = None,
    ) -> Profile:
        """Return the profile of counts under the question's test and largest size."""
        q = question
        return cls(tally, q.alpha, q.adjust, q.limits.max_size, q.size_weights, draws, findings)

    def with_test(self, alpha: float | None, adjust: Adjustment) -> Profile:
        """Return the same counts under another test."""
        if (alpha, adjust) == (self.alpha, self.adjust):
            return self
        if self.findings is not None:
            raise NotVisitedError("this search tested at one level only: ask with another alpha")
        return replace(self, alpha=alpha, adjust=adjust)

    def other_view(self, findings: Findings | None = None) -> Profile:
        """Return the profile of the same hybrids in the other view: held becomes replaced."""
        draws, weights = self.draws, self.size_weights
        return replace(
            self,
            tally=self.tally.other_view(),
            size_weights=None if weights is None else weights[::-1],
            draws=None if draws is None else HybridSample(~draws.held, ~draws.outcomes),
            findings=findings,
        )

    # -- which sets are minimal ---------------------------------------------------------

    def minimal_at(self, tau: float) -> list[MinimalSet]:
        """Return every τ-minimal subset known: smaller first, then the surer, then by mask.

        At another τ than that of the findings, a found set is listed if it passes there. At a
        higher τ it is minimal too, since the sets inside it fail at the lower τ already. At a lower
        τ an uncounted set inside may pass as well; then `proof` is "none".
        """
        if self.findings is None:
            return self._swept(self.bars, self.bars.at(tau))
        counted = self.bars if tau == self.findings.tau else self._counted_bars
        out = self._swept(counted, counted.at(tau))
        swept = [frozenset(minimal.members) for minimal in out]
        known = set(swept)
        for found in self._found:
            inside = frozenset(found.members)
            if tau > found.high or inside in known:
                continue
            if tau <= found.low:
                if any(smaller <= inside for smaller in swept):
                    continue
                whole = len(inside) <= self.tally.exhaustive_size + 1
                low, proof = float(np.nextafter(tau, 0.0)), _PROOFS[whole]
                out.append(replace(found, low=low, proof=proof))
            else:
                out.append(found)
        return sorted(out, key=lambda m: (len(m.members), -m.hits, m.members[::-1]))

    def minimal_at_any_tau(self, most: int | None = None) -> list[MinimalSet]:
        """Return subsets that are minimal at some τ, the highest interval first.

        `most` keeps those of the longest intervals: there can be tens of thousands, and only
        those returned are built.
        """
        bars = self.bars
        out = self._swept(bars, np.argsort(bars.low - bars.high, kind="stable")[:most])
        out += self._found
        longest = sorted(out, key=lambda m: m.low - m.high)[:most]
        return sorted(longest, key=lambda m: (-m.high, m.low, len(m.members), m.members[::-1]))

    def place(self, members: Sequence[int]) -> int:
        """Return a subset's key in `IntervalTable`: its bit mask, or its rank by size."""
        lattice = self.tally.lattice
        return lattice.mask(members) if self.tally.complete else lattice.rank(members)

    @property
    def n_minimal_at_any_tau(self) -> int:
        """Number of subsets that are minimal at some τ."""
        return len(self.bars.sizes) + (len(self.findings.factors) if self.findings else 0)

    def hits(self, members: Sequence[int]) -> int:
        """Return the count of one subset, from the sweep or the findings."""
        for found in self.findings.factors if self.findings is not None else ():
            if found.members == tuple(sorted(members)):
                return found.hits
        return self.tally.hits(members)

    def interval(self, members: Sequence[int]) -> tuple[float, float]:
        """Return the thresholds (low, high] at which a subset is known to be minimal."""
        size = len(members)
        if self.tally.complete:
            steps, mask = self.steps, self.tally.lattice.mask(members)
            low = float(steps.taus[steps.below[mask]])
            return low, max(low, float(steps.taus[steps.passes[mask]]))
        at = self.tally.lattice.rank(members) - self.tally.start(size)
        if size >= len(self.ladder.passes) or not 0 <= at < len(self.ladder.passes[size]):
            return 1.0, 1.0  # not all sets inside it are known
        low = float(self.ladder.below[size][at])
        return low, max(low, float(self.ladder.passes[size][at]))

    @cached_property
    def best(self) -> MinimalSet | None:
        """Return the smallest known subset with the most hits; None if none was evaluated.

        It may be minimal at no τ: then `low` is `high`.
        """
        counted = self._best_counted
        known = list(self._found)
        if counted is not None:
            interval = self.interval(counted)
            known.append(MinimalSet(counted, self.tally.hits(counted), *interval, "exhaustive"))
        return min(known, key=lambda m: (-m.hits, len(m.members)), default=None)

    @property
    def _best_counted(self) -> tuple[int, ...] | None:
        """Return the subset with the most hits among those that were counted."""
        if self.tally.complete:
            sizes = sizes_by_mask(self.tally.d)
            hits = np.where(sizes <= self.largest, self.tally.dense, 0)
            surest = np.flatnonzero(hits == hits.max())
            return members_of(int(surest[sizes[surest].argmin()]))
        if not self._passes:
            return None
        levels = self.tally.levels[: min(len(self._passes), self.largest + 1)]
        tops = [int(level.max()) for level in levels]
        size = int(np.argmax(tops))
        return self._members(size, self.tally.start(size) + int(np.argmax(levels[size])))

    # -- how complete -------------------------------------------------------------------

    @property
    def largest(self) -> int:
        """Size of the largest sets that may be reported."""
        return Limits(self.max_size).largest(self.tally.d)

    @property
    def decided(self) -> bool:
        """True if the search left no set open: at every τ, or at the τ of the findings."""
        decided = self.findings is not None and self.findings.decided
        return (self.tally.complete or decided) and self.largest == self.tally.d

    def complete_at(self, tau: float) -> bool:
        """Return whether all τ-minimal sets are known.

        A search that decided every set at one τ also knows all of them at a higher one, as long as
        each of its minimal sets passes there: a set that passes at the higher τ contains one of
        them. If one fails there, sets that contain it may be minimal, and they were not evaluated.
        At a lower τ only counted sets are known.
        """
        f = self.findings
        if not self.decided or self.tally.complete or f is None:
            return self.decided
        return f.tau <= tau <= self._all_pass_up_to

    def decided_size(self, tau: float) -> int:
        """Return the size up to which every subset is decided at τ; -1 if not even the empty one.

        Sizes decided at the search's τ are not decided at another: at a higher τ, supersets of
        factors were not evaluated; at a lower one, a set that failed may pass.
        """
        counted, f = min(self.tally.exhaustive_size, self.largest), self.findings
        if f is None or tau != f.tau:
            return counted
        return f.decided_size if f.only_at_tau else max(counted, f.decided_size)

    def decided_share(self, tau: float) -> float | None:
        """Return the share of all subsets that is decided at τ; None if unknown."""
        f = self.findings
        return f.decided_share if f is not None and tau == f.tau else None

    @cached_property
    def _all_pass_up_to(self) -> float:
        """Largest τ at which all minimal sets of the findings pass."""
        assert self.findings is not None
        return min((m.high for m in self.minimal_at(self.findings.tau)), default=1.0)

    # -- coverage of the outcome --------------------------------------------------------

    def covered(self, tau: float) -> tuple[float, float]:
        """Return the outcome's hybrids in the closure of the τ-minimal factors, and all of them."""
        if self.findings is not None and self.findings.covered and self.necessity_is_exact(tau):
            return self.findings.covered
        reach, reaching = self._reaching
        at = int(np.searchsorted(reach, tau))
        return (float(reaching[at]) if at < len(reaching) else 0.0), self.outcome

    def closure_share(self, tau: float) -> float | None:
        """Return the share of all hybrids in the closure of the τ-minimal factors.

        It is the baseline of cumulative PN. None if neither counts nor draws determine it.
        """
        if self.tally.complete:
            reached = self.steps.taus[self.steps.reach] >= tau
            return self._share_of_sets(reached)
        if not self.necessity_is_exact(tau):
            drawn = self.draws
            if drawn is None or not len(drawn.held):
                return None
            return float((self._reach_of(drawn.held) >= tau).mean())
        # Sets that contain a factor can be enumerated without their counts.
        factors = [minimal.members for minimal in self.minimal_at(tau)]
        if self.closure_is_exact(tau):
            masks = [self.tally.lattice.mask(members) for members in factors]
            return self._share_of_sets(supersets_of(masks, self.tally.d))
        held, _ = draw_hybrids(self.tally.d, 1, 0, _CLOSURE_DRAWS, self.size_weights)
        return float(_holds_any(held, factors).mean())

    def closure_is_exact(self, tau: float) -> bool:
        """Return whether `closure_share` is a count rather than an estimate."""
        return self.tally.complete or (
            self.necessity_is_exact(tau) and self.tally.d <= _CLOSURE_PLAYERS
        )

    def reach_of_all(self) -> tuple[Reals, Reals]:
        """Return the distinct reaches, ascending, each with the weight of all hybrids or draws."""
        if self.tally.complete:
            weight = self.weights[sizes_by_mask(self.tally.d)]
            by_step = np.asarray(np.bincount(self.steps.reach, weight, len(self.steps.taus)), float)
            some = np.flatnonzero(by_step)
            return self.steps.taus[some], by_step[some]
        if self.draws is None:
            return np.empty(0), np.empty(0)
        reach, times = np.unique(self._reach_of(self.draws.held), return_counts=True)
        return reach, times.astype(float)

    def _share_of_sets(self, which: BoolVector) -> float:
        weight = self.weights[sizes_by_mask(self.tally.d)]
        return float(weight[which].sum() / weight.sum())

    def necessity_is_exact(self, tau: float) -> bool:
        """Return whether all hybrids were counted, so that necessity at τ is not an estimate."""
        f = self.findings
        exact = f is not None and f.covered is not None and (tau == f.tau or self.complete_at(tau))
        return self.tally.complete or exact

    def reach_of_outcome(self) -> tuple[Reals, Reals]:
        """Return the distinct reaches, ascending, each with the weight of the outcome's hybrids
        (or draws) that have it."""
        if self.tally.complete:
            some = np.flatnonzero(self._by_step)
            return self.steps.taus[some], self._by_step[some]
        if self.draws is None:
            return np.empty(0), np.empty(0)
        held = self.draws.held[self.draws.outcomes]
        reach, times = np.unique(self._reach_of(held), return_counts=True)
        return reach, times.astype(float)

    def necessity_steps(self) -> tuple[Reals, Reals]:
        """Return thresholds, ascending, and the cumulative PN up to each."""
        reach, reaching = self._reaching
        return reach, reaching / self.outcome if len(reach) else reaching

    @cached_property
    def _reaching(self) -> tuple[Reals, Reals]:
        """Distinct reaches, ascending, each with the weight of the outcome that reaches as far."""
        reach, weight = self.reach_of_outcome()
        return reach, weight[::-1].cumsum()[::-1]

    @cached_property
    def _by_step(self) -> Reals:
        """Weight of the outcome's hybrids, by the number of the τ that their set reaches."""
        steps, hits = self.steps, self.tally.dense
        if self.size_weights is None:
            return np.asarray(np.bincount(steps.reach, hits, len(steps.taus)), dtype=float)
        cells = steps.reach + len(steps.taus) * sizes_by_mask(self.tally.d).astype(np.int64)
        counted = np.bincount(cells, hits, len(steps.taus) * (self.tally.d + 1))
        return np.asarray(self.weights @ counted.reshape(self.tally.d + 1, -1))

    @cached_property
    def outcome(self) -> float:
        """Weight of all hybrids (or draws) that have the outcome."""
        _, reaching = self._reaching
        return float(reaching[0]) if len(reaching) else 0.0

    @cached_property
    def weights(self) -> Reals:
        """Weight of one subset by size; all are 1 if D is uniform."""
        d = self.tally.d
        if self.size_weights is None:
            return np.ones(d + 1)
        # Only ratios matter: scaling by a power of two changes no digit and avoids overflow.
        weights = np.ldexp(self.size_weights, -int(np.frexp(max(self.size_weights))[1]))
        each = [w / comb(d, size) for size, w in enumerate(weights.tolist())]
        return np.asarray(np.array(each) * float(1 << d) / sum(weights.tolist()))

    # -- tests and p-values -------------------------------------------------------------

    @property
    def n_tested(self) -> int:
        """Number of sets that a test accounts for: those counted that may be reported."""
        return int(self._family[1].sum())

    def can_pass(self, tau: float) -> bool:
        """Return whether a set that hits for every reference would pass the test alone."""
        n = self.tally.n
        if self.findings is None or self.adjust != "bonferroni":
            return fewest_hits(n, tau, self.alpha) <= n
        return fewest_hits(n, tau, self.alpha, "bonferroni", int(self._tests)) <= n

    def p_value(self, hits: int, tau: float) -> float:
        """Return the p-value that is compared with α, for a factor with this many hits."""
        _, raw = interval_and_p_value(hits, self.tally.n, tau)
        if self.adjust == "none":
            return raw
        if self.findings is not None:  # Bonferroni over every set that may be reported
            return min(1.0, raw * self._tests)
        if tau not in self._adjusted:
            counts, times = self._family
            raws = p_value(counts[::-1], self.tally.n, tau)  # more hits, smaller p
            adjusted = adjust_tied_p_values(raws, times[::-1], self.adjust)
            self._adjusted[tau] = dict(zip(counts[::-1].tolist(), adjusted.tolist(), strict=True))
        return self._adjusted[tau].get(hits, 1.0)  # 1: not in the tested family

    @cached_property
    def _family(self) -> tuple[Counts, Counts]:
        """Distinct counts of reportable sets, ascending, and the number of sets with each."""
        if self.tally.complete:
            hits = self.tally.dense
            if self.largest < self.tally.d:
                hits = hits[sizes_by_mask(self.tally.d) <= self.largest]
        else:
            levels = self.tally.levels[: min(len(self._passes), self.largest + 1)]
            hits = np.concatenate([_NO_COUNTS, *levels])
        return _count_equal(hits, self.tally.n)

    @cached_property
    def _tests(self) -> float:
        """Number of sets that may be reported, each of them tested; capped at a huge number."""
        return float(min(self.tally.lattice.count_up_to(self.largest), 10**300))

    @cached_property
    def _adjusted(self) -> dict[float, dict[int, float]]:
        """P-values by τ and number of hits."""
        return {}

    # -- computation --------------------------------------------------------------------

    @cached_property
    def _passes(self) -> tuple[Reals, ...]:
        """Largest τ at which each subset passes, for subsets with all subsets known."""
        if not self.tally.levels[0].size:
            return ()  # limits so tight that not even the empty set was evaluated
        last = min(self.tally.exhaustive_size + 1, self.tally.d)
        levels = [level for level in self.tally.levels[: last + 1] if len(level)]
        hits = np.concatenate(levels)
        sizes = np.repeat(np.arange(len(levels)), [len(level) for level in levels])
        reported = sizes <= self.largest
        passes = np.full(len(hits), -1.0)
        passes[reported] = passing_taus(
            hits[reported], self.tally.n, self.alpha, self.adjust, int(reported.sum())
        )
        return tuple(np.split(passes, np.cumsum([len(level) for level in levels])[:-1]))

    @cached_property
    def ladder(self) -> Ladder:
        """Intervals and reaches of all candidate subsets of a bounded search."""
        if not self._passes:
            return Ladder((), (), ())
        return climb(self._passes, self.tally.d, self.tally.start(len(self._passes) - 1))

    @cached_property
    def steps(self) -> Steps:
        """Intervals and reaches of all subsets, where all were counted."""
        n, passes, d = self.tally.n, self.tally.dense, self.tally.d
        many = n > _REFERENCES_PER_SET * len(passes)
        if self.alpha is None and not many:
            taus = np.arange(n + 1) / n
        else:
            counts, times = self._family
            levels = (
                counts / n
                if self.alpha is None
                else passing_taus_by_count(counts, times, n, self.alpha, self.adjust, self.n_tested)
            )
            taus, which = np.unique(np.append(0.0, levels), return_inverse=True)
            if many:  # sets too large to be reported are in no family; they are masked below
                level_of = which[1:].astype(passes.dtype)
                passes = level_of[np.minimum(np.searchsorted(counts, passes), len(counts) - 1)]
            else:
                step = np.zeros(n + 1, dtype=passes.dtype)
                step[counts] = which[1:]
                passes = step[passes]
        if self.largest < d:  # larger ones pass nowhere
            passes = passes * (sizes_by_mask(d) <= self.largest)
        return climb_steps(passes, taus)

    @property
    def bars(self) -> IntervalTable:
        """Subsets that are minimal at some τ; empty if the findings list all counted ones."""
        only = self.findings is not None and self.findings.only_at_tau
        return _NO_INTERVALS if only else self._counted_bars

    @cached_property
    def _counted_bars(self) -> IntervalTable:
        """Subsets that are minimal at some τ by the counts alone."""
        if self.tally.complete:
            steps = self.steps
            masks = np.flatnonzero(steps.passes > steps.below)
            sizes = np.bitwise_count(masks)
            order = np.argsort(sizes, kind="stable")
            masks = masks[order]
            ends = steps.taus[steps.below[masks]], steps.taus[steps.passes[masks]]
            return IntervalTable(sizes[order].astype(np.int64), masks, self._counted(masks), *ends)
        parts = [_NO_INTERVALS]
        pairs = zip(self.ladder.passes, self.ladder.below, strict=True)
        for size, (passes, below) in enumerate(pairs):
            at = np.flatnonzero(passes > below)
            hits, ranks = self.tally.levels[size][at], self.tally.start(size) + at
            parts.append(IntervalTable(np.full(len(at), size), ranks, hits, below[at], passes[at]))
        columns = zip(*((b.sizes, b.places, b.hits, b.low, b.high) for b in parts), strict=True)
        return IntervalTable(*map(np.concatenate, columns))

    def _counted(self, masks: Counts) -> Counts:
        return self.tally.dense[masks].astype(np.int64)

    def _reach_of(self, held: HeldSets) -> Reals:
        """Return the highest interval end among the factors inside each drawn subset."""
        bars, reach = self._counted_bars, np.zeros(len(held))
        free = (~held).astype(np.float32)
        for size, mine in bars.by_size():
            for part in np.array_split(mine, 1 + len(mine) // 4096):
                sets = self.tally.lattice.held_at(size, bars.places[part])
                inside = free @ sets.T.astype(np.float32) == 0
                highest = np.where(inside, bars.high[part], 0.0).max(axis=1, initial=0)
                reach = np.maximum(reach, highest)
        found = self._found
        for start in range(0, len(found), 4096):
            some = found[start : start + 4096]
            named = np.zeros((self.tally.d, len(some)), dtype=np.float32)
            columns = np.repeat(np.arange(len(some)), [len(m.members) for m in some])
            named[np.array([i for m in some for i in m.members], dtype=int), columns] = 1
            high = np.array([m.high for m in some])
            inside = free @ named == 0
            reach = np.maximum(reach, np.where(inside, high, 0.0).max(axis=1, initial=0))
        return reach

    def _members(self, size: int, rank: int) -> tuple[int, ...]:
        return tuple(self.tally.lattice.unrank(size, np.array([rank]))[0].tolist())

    def _swept(self, bars: IntervalTable, which: Counts) -> list[MinimalSet]:
        """Return the minimal sets with these indices, in this order."""
        columns = (column[which].tolist() for column in (bars.hits, bars.low, bars.high))
        rows = zip(self._members_of(bars, which), *columns, strict=True)
        return [MinimalSet(m, h, a, b, "exhaustive") for m, h, a, b in rows]

    def _members_of(self, bars: IntervalTable, which: Counts) -> list[tuple[int, ...]]:
        """Return the players of the bars with these indices."""
        sizes, places = bars.sizes[which], bars.places[which]
        if self.tally.complete:
            return list(map(members_of, places.tolist()))
        out: list[tuple[int, ...]] = [()] * len(which)
        for size in np.unique(sizes).tolist():  # there may be a hundred thousand
            mine = np.flatnonzero(sizes == size)
            found = self.tally.lattice.unrank(size, places[mine]).tolist()
            for at, members in zip(mine.tolist(), found, strict=True):
                out[at] = tuple(members)
        return out

    @cached_property
    def _found(self) -> tuple[MinimalSet, ...]:
        """Factors of the findings: minimal from τ, where the sets inside fail, up to their PS."""
        if self.findings is None:
            return ()
        tau, factors = self.findings.tau, self.findings.factors
        hits = np.array([found.hits for found in factors], dtype=np.int64)
        high = hits / self.tally.n
        if self.alpha is not None:
            level = self.alpha / self._tests if self.adjust == "bonferroni" else self.alpha
            high = lower_bound(hits, self.tally.n, level)
        low, highs = float(np.nextafter(tau, 0.0)), np.maximum(high, tau).tolist()
        return tuple(
            MinimalSet(found.members, found.hits, low, up, found.proof)
            for found, up in zip(factors, highs, strict=True)
        )


def _holds_any(held: HeldSets, factors: Sequence[Sequence[int]]) -> BoolVector:
    """Return whether each drawn subset holds one of the factors."""
    found = np.zeros(len(held), dtype=bool)
    for members in factors:
        found |= held[:, list(members)].all(axis=1)
    return found
