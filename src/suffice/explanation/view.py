"""One view of the hybrids: what suffices to keep the outcome, or what suffices to flip it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import comb
from typing import Any, Literal

import numpy as np

from suffice.context.players import Players
from suffice.errors import NotVisitedError
from suffice.explanation.factor import Change, Player, SufficientFactor
from suffice.inference import (
    Adjustment,
    adjusted_p_values,
    check_adjustment,
    clopper_pearson,
    p_value,
    passing_levels,
)
from suffice.measures import Measures
from suffice.search.algorithm1 import check_alpha, check_tau
from suffice.search.intervals import Ladder, climb
from suffice.search.sweep import Draws
from suffice.search.tally import UNSEEN, Tally
from suffice.typing import BoolVector, Counts, Reals

__all__ = ["View"]

Place = tuple[int, int]
"""Where a subset stands in the lattice: its size, and its number among those of that size."""


@dataclass(frozen=True, eq=False)
class View:
    """The τ-minimal factors of one view, and everything else its counts can tell.

    Nothing here calls the model: another τ, another α, any subset's measures are read from counts.
    """

    name: Literal["keep", "flip"]
    outcome: str
    """The outcome, in words, that the factors of this view suffice for."""
    players: tuple[Player, ...]
    tally: Tally
    tau: float = 0.9
    alpha: float | None = None
    adjust: Adjustment = "none"
    max_size: int | None = None
    """The largest set that was asked for; None: of any size."""
    size_weights: tuple[float, ...] | None = None
    """How likely D is to hold (flip: replace) 0, 1, …, d features; None: all sets alike."""
    changes: Mapping[int, Change] = field(default_factory=dict, repr=False)
    """By bit mask of features: the cheapest change that brings the outcome about."""
    draws: Draws | None = None
    """A sample of D, read in this view's terms, where the sweep was bounded."""

    # -- the answer at τ ----------------------------------------------------------------

    @cached_property
    def factors(self) -> tuple[SufficientFactor, ...]:
        """Every τ-minimal factor: smaller sets first, then the surer, then by feature order."""
        sizes, ranks, low, high = self._bars
        chosen = np.flatnonzero((low < self.tau) & (self.tau <= high))
        hits = self._hits_at(sizes[chosen], ranks[chosen])
        order = np.lexsort((ranks[chosen], -hits, sizes[chosen]))
        return tuple(self._factor((int(sizes[i]), int(ranks[i]))) for i in chosen[order])

    @cached_property
    def necessity(self) -> float | None:
        """Cumulative PN: the share of the outcome's hybrids that the factors' closure covers.

        Exact where every subset was evaluated; else an estimate, with `necessity_interval`. None
        where no hybrid has the outcome.
        """
        covered, outcome = self._covered(self.tau)
        return covered / outcome if outcome else None

    @property
    def necessity_interval(self) -> tuple[float, float] | None:
        """95% Clopper–Pearson interval of an estimated necessity; None where it is exact."""
        if self.tally.complete:
            return None
        covered, outcome = self._covered(self.tau)
        low, high = clopper_pearson(covered, max(outcome, 1))
        return (float(low), float(high)) if outcome else None

    def at(
        self,
        tau: float | None = None,
        alpha: float | Literal["same"] | None = "same",
        adjust: str | None = None,
    ) -> View:
        """The same view at another τ, or with another test; no model call."""
        return self._with(
            tau=self.tau if tau is None else tau,
            alpha=self.alpha if alpha == "same" else alpha,
            adjust=self.adjust if adjust is None else check_adjustment(adjust),
        )

    def with_changes(self, changes: Mapping[int, Change]) -> View:
        """The same view, knowing the cheapest change of each set of features."""
        return self._with(changes=changes)

    def __post_init__(self) -> None:
        check_tau(self.tau)
        check_alpha(self.alpha)

    # -- every τ at once ----------------------------------------------------------------

    @property
    def barcode(self) -> tuple[SufficientFactor, ...]:
        """Every factor that is minimal at some τ, the highest first: see `minimal_for`."""
        sizes, ranks, low, high = self._bars
        order = np.lexsort((ranks, sizes, low, -high))
        return tuple(self._factor((int(sizes[i]), int(ranks[i]))) for i in order)

    @cached_property
    def curve(self) -> tuple[tuple[float, float], ...]:
        """Steps (τ, cumulative PN): each PN holds for thresholds up to and including its τ."""
        reach, weight = self._reach_of_outcome()
        total = weight.sum()
        if not total:
            return ()
        steps, which = np.unique(reach, return_inverse=True)
        mass = np.bincount(which, weights=weight, minlength=len(steps))
        share = mass[::-1].cumsum()[::-1] / total
        return tuple((float(t), float(pn)) for t, pn in zip(steps, share, strict=True) if t > 0)

    # -- any subset ---------------------------------------------------------------------

    def sufficiency(self, features: Sequence[str] | str) -> float:
        """PS of any set of features."""
        return self.tally.hits(self._numbers(features)) / self.tally.n

    def factor(self, features: Sequence[str] | str) -> SufficientFactor:
        """Any set of features, minimal or not, with its numbers."""
        members = self._numbers(features)
        self.tally.hits(members)
        return self._factor((len(members), self.tally.lattice.rank(members)))

    def measures(self, features: Sequence[str] | str, upward_closure: bool = False) -> Measures:
        """The four measures of the factor "just these features", or of its upward closure."""
        members = self._numbers(features)
        if not self.tally.complete:
            raise NotVisitedError(
                "necessity and the contrapositives are taken over all subsets, and the search was "
                f"bounded (exhaustive up to size {self.tally.exhaustive_size}). Use sufficiency, "
                "or necessity_of for an estimate."
            )
        n, total = self.tally.n, self.tally.n << self.tally.d
        outcome = float(sum((level * u).sum() for level, u in self._weighted_levels()))
        if not upward_closure:
            u = float(self._weights[len(members)])
            return Measures(u * self.tally.hits(members), u * n, outcome, total)
        above = self._supersets(members)
        each = self._weights[np.bitwise_count(np.flatnonzero(above))]
        hits = float((each * self.tally.dense[above]).sum())
        return Measures(hits, float(each.sum()) * n, outcome, total)

    def necessity_of(
        self, features: Sequence[str] | str, upward_closure: bool = True
    ) -> float | None:
        """PN of any set of features: by default of its upward closure, as for `necessity`."""
        if self.tally.complete:
            return self.measures(features, upward_closure).necessity
        if self.draws is None:
            return None
        members = list(self._numbers(features))
        held = self.draws.held[self.draws.outcomes]
        holds = held[:, members].all(axis=1)
        if not upward_closure:
            holds &= held.sum(axis=1) == len(members)
        return float(np.mean(holds)) if len(held) else None

    # -- how complete -------------------------------------------------------------------

    @property
    def complete(self) -> bool:
        """Are these all the factors there are? Every subset was evaluated and none left out."""
        return self.tally.complete and self._largest == self.tally.d

    @property
    def _largest(self) -> int:
        """The size of the largest sets that may be reported."""
        return self.tally.d if self.max_size is None else min(self.max_size, self.tally.d)

    @cached_property
    def best(self) -> SufficientFactor | None:
        """The set with the highest PS, the smallest such; None where none was evaluated."""
        if not self._levels:
            return None
        levels = self.tally.levels[: min(len(self._levels), self._largest + 1)]
        tops = [int(level.max()) if len(level) else UNSEEN for level in levels]
        size = int(np.argmax(tops))
        return self._factor((size, int(np.argmax(levels[size]))))

    @cached_property
    def everything(self) -> SufficientFactor | None:
        """All features together; None where that was not evaluated."""
        try:
            return self.factor([player.name for player in self.players])
        except NotVisitedError:
            return None

    # -- how it is worked out -----------------------------------------------------------

    def _with(self, **fields: Any) -> View:
        new = replace(self, **fields)
        if (new.alpha, new.adjust) == (self.alpha, self.adjust):
            # The intervals do not depend on τ: hand over those already worked out.
            kept = {k: v for k, v in vars(self).items() if k in ("ladder", "_bars", "_levels")}
            vars(new).update(kept)
        return new

    def minimal_somewhere(self) -> Iterator[tuple[int, Counts]]:
        """By size: the numbers of the subsets that are minimal at some τ."""
        sizes, ranks, _, _ = self._bars
        for size in np.unique(sizes):
            yield int(size), ranks[sizes == size]

    @cached_property
    def _levels(self) -> tuple[Reals, ...]:
        """The largest τ at which each subset passes, for subsets with all below them known."""
        last = min(self.tally.exhaustive_size + 1, self.tally.d)
        levels = [level for level in self.tally.levels[: last + 1] if len(level)]
        if not self.tally.levels[0].size:
            return ()  # a bound so tight that not even the empty set was evaluated
        hits = np.concatenate(levels)
        sizes = np.repeat(np.arange(len(levels)), [len(level) for level in levels])
        seen = (hits != UNSEEN) & (sizes <= self._largest)
        passes = np.full(len(hits), -1.0)
        passes[seen] = passing_levels(
            hits[seen], self.tally.n, self.alpha, self.adjust, int(seen.sum())
        )
        return tuple(np.split(passes, np.cumsum([len(level) for level in levels])[:-1]))

    @cached_property
    def ladder(self) -> Ladder:
        """Intervals and reaches of all candidate subsets."""
        return climb(self._levels, self.tally.d) if self._levels else Ladder((), (), ())

    @cached_property
    def _bars(self) -> tuple[Counts, Counts, Reals, Reals]:
        """Sizes, numbers and intervals (low, high] of the factors that are minimal at some τ."""
        none = np.empty(0, dtype=np.int64)
        parts = [(none, none, np.empty(0), np.empty(0))]
        for size, (passes, below) in enumerate(
            zip(self.ladder.passes, self.ladder.below, strict=True)
        ):
            ranks = np.flatnonzero(passes > below)
            parts.append((np.full(len(ranks), size), ranks, below[ranks], passes[ranks]))
        sizes, ranks, low, high = (np.concatenate(column) for column in zip(*parts, strict=True))
        return sizes, ranks, low, high

    @cached_property
    def _weights(self) -> Reals:
        """By size: how much one subset counts, on a scale where all count 1 if D is uniform."""
        d = self.tally.d
        if self.size_weights is None:
            return np.ones(d + 1)
        each = [w / comb(d, size) for size, w in enumerate(self.size_weights)]
        return np.array(each) * float(1 << d) / sum(self.size_weights)

    def _weighted_levels(self) -> Iterator[tuple[Counts, float]]:
        return zip(self.tally.levels, self._weights.tolist(), strict=True)

    def _covered(self, tau: float) -> tuple[float, float]:
        """Hybrids with the outcome in the closure of the τ-minimal factors; and in all."""
        reach, weight = self._reach_of_outcome()
        return float(weight[reach >= tau].sum()), float(weight.sum())

    def _reach_of_outcome(self) -> tuple[Reals, Reals]:
        """Reaches, each with the weight of the outcome's hybrids (or draws) that have it."""
        if self.tally.complete:
            weight = [level * u for level, u in self._weighted_levels()]
            return np.concatenate(self.ladder.reach), np.concatenate(weight)
        if self.draws is None:
            return np.empty(0), np.empty(0)
        held = self.draws.held[self.draws.outcomes]
        return self._reach_of(held), np.ones(len(held))

    def _reach_of(self, held: BoolVector) -> Reals:
        """The highest interval end among the factors inside each drawn subset."""
        sizes, ranks, _, high = self._bars
        reach = np.zeros(len(held))
        free = (~held).astype(np.float32)
        for size in np.unique(sizes):
            mine = np.flatnonzero(sizes == size)
            for part in np.array_split(mine, 1 + len(mine) // 4096):
                inside = free @ self._membership(int(size), ranks[part]).T.astype(np.float32) == 0
                reach = np.maximum(reach, np.where(inside, high[part], 0.0).max(axis=1, initial=0))
        return reach

    def _membership(self, size: int, ranks: Counts) -> BoolVector:
        out = np.zeros((len(ranks), self.tally.d), dtype=bool)
        np.put_along_axis(out, self.tally.lattice.unrank(size, ranks), True, axis=1)
        return out

    def _supersets(self, members: Iterable[int]) -> BoolVector:
        wanted = self.tally.lattice.mask(list(members))
        return np.asarray((np.arange(1 << self.tally.d) & wanted) == wanted)

    def _hits_at(self, sizes: Counts, ranks: Counts) -> Counts:
        levels = self.tally.levels
        pairs = zip(sizes, ranks, strict=True)
        return np.array([levels[int(k)][int(r)] for k, r in pairs], dtype=np.int64)

    def _numbers(self, features: Sequence[str] | str) -> tuple[int, ...]:
        return Players(tuple(p.name for p in self.players), ()).numbers(features)

    def _factor(self, place: Place) -> SufficientFactor:
        size, rank = place
        members = self.tally.lattice.unrank(size, np.array([rank]))[0].tolist()
        hits, n = int(self.tally.levels[size][rank]), self.tally.n
        low, high = clopper_pearson(hits, n)
        values: dict[str, Any] = {}
        for member in members:
            values |= self.players[member].values
        return SufficientFactor(
            features=tuple(self.players[m].name for m in members),
            values=values,
            sufficiency=hits / n,
            interval=(float(low), float(high)),
            n=n,
            p_value=self._p_value(hits),
            minimal_for=self._interval(place),
            change=self.changes.get(self.tally.lattice.mask(members)),
        )

    def _interval(self, place: Place) -> tuple[float, float]:
        size, rank = place
        if size >= len(self.ladder.passes) or rank >= len(self.ladder.passes[size]):
            return (
                1.0,
                1.0,
            )  # not everything below it is known: minimal at no τ that we can vouch for
        low = float(self.ladder.below[size][rank])
        return low, max(low, float(self.ladder.passes[size][rank]))

    def _p_value(self, hits: int) -> float:
        if self.adjust == "none":
            return float(p_value(hits, self.tally.n, self.tau))
        return self._adjusted.get(hits, 1.0)  # 1: a set outside the family that was tested

    @cached_property
    def _adjusted(self) -> dict[int, float]:
        """The adjusted p-value of each number of hits: equal counts have equal p-values."""
        hits = np.concatenate(self.tally.levels[: len(self._levels)])
        hits = hits[hits != UNSEEN]
        adjusted = adjusted_p_values(p_value(hits, self.tally.n, self.tau), self.adjust)
        return dict(zip(hits.tolist(), adjusted.tolist(), strict=True))
