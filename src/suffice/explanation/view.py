"""One view of the hybrids: what suffices to keep the outcome, or what suffices to flip it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from suffice.checks import level, level_or_same, threshold
from suffice.context.players import Players
from suffice.errors import NotVisitedError
from suffice.explanation.factor import Change, Player, SufficientFactor
from suffice.inference import Adjustment, check_adjustment, clopper_pearson
from suffice.measures import Measures
from suffice.search.profile import Minimal, Profile, Proof
from suffice.search.tally import Tally
from suffice.typing import BoolVector

__all__ = ["View"]


@dataclass(frozen=True, eq=False)
class View:
    """The τ-minimal factors of one view, and everything else its counts can tell.

    Nothing here calls the model: another τ, another α, any subset's measures are read from counts.
    """

    name: Literal["keep", "flip"]
    outcome: str
    """The outcome, in words, that the factors of this view suffice for."""
    players: tuple[Player, ...]
    profile: Profile = field(repr=False)
    """What the counts say of every subset."""
    tau: float = 0.9
    changes: Mapping[int, Change] = field(default_factory=dict, repr=False)
    """By bit mask of features: the cheapest change that brings the outcome about."""

    def __post_init__(self) -> None:
        threshold(self.tau)
        level(self.profile.alpha)

    # -- the answer at τ ----------------------------------------------------------------

    @cached_property
    def factors(self) -> tuple[SufficientFactor, ...]:
        """Every τ-minimal factor: smaller sets first, then the surer, then by feature order."""
        return tuple(self._minimal(m) for m in self.profile.minimal_at(self.tau))

    @cached_property
    def necessity(self) -> float | None:
        """Cumulative PN: the share of the outcome's hybrids that the factors' closure covers.

        Exact where every subset was evaluated; else an estimate, with `necessity_interval`. None
        where no hybrid has the outcome.
        """
        covered, outcome = self.profile.covered(self.tau)
        return covered / outcome if outcome else None

    @property
    def necessity_interval(self) -> tuple[float, float] | None:
        """95% Clopper–Pearson interval of an estimated necessity; None where it is exact."""
        if self.tally.complete:
            return None
        covered, outcome = self.profile.covered(self.tau)
        low, high = clopper_pearson(covered, max(outcome, 1))
        return (float(low), float(high)) if outcome else None

    def at(
        self,
        tau: float | None = None,
        alpha: float | Literal["same"] | None = "same",
        adjust: str | None = None,
    ) -> View:
        """The same view at another τ, or with another test; no model call."""
        tested = level_or_same(alpha, self.alpha)
        given = self.adjust if adjust is None else adjust
        adjustment = check_adjustment(
            "none" if tested is None and adjust is None else given, tested
        )
        tau = self.tau if tau is None else threshold(tau)
        return replace(self, tau=tau, profile=self.profile.tested(tested, adjustment))

    # -- every τ at once ----------------------------------------------------------------

    @property
    def barcode(self) -> tuple[SufficientFactor, ...]:
        """Every factor that is minimal at some τ, the highest first: see `minimal_for`."""
        return tuple(self._minimal(m) for m in self.profile.minimal_somewhere())

    @cached_property
    def curve(self) -> tuple[tuple[float, float], ...]:
        """Steps (τ, cumulative PN): each PN holds for thresholds up to and including its τ."""
        if self.profile.findings is not None and self.profile.findings.only_at_tau:
            raise NotVisitedError(
                f"this search decided every set at τ = {self.profile.findings.tau:g} only: search "
                "exhaustively to have necessity at every τ"
            )
        reach, weight = self.profile.reach_of_outcome()
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
        return self._factor(members, self.tally.hits(members), self.profile.interval(members))

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
        weights = self.profile.weights
        outcome = float(sum((level * u).sum() for level, u in self.profile.weighted_levels()))
        if not upward_closure:
            u = float(weights[len(members)])
            return Measures(u * self.tally.hits(members), u * n, outcome, total)
        above = self._supersets(members)
        each = weights[np.bitwise_count(np.flatnonzero(above))]
        hits = float((each * self.tally.dense[above]).sum())
        return Measures(hits, float(each.sum()) * n, outcome, total)

    def necessity_of(
        self, features: Sequence[str] | str, upward_closure: bool = True
    ) -> float | None:
        """PN of any set of features: by default of its upward closure, as for `necessity`."""
        if self.tally.complete:
            return self.measures(features, upward_closure).necessity
        draws = self.profile.draws
        if draws is None:
            return None
        members = list(self._numbers(features))
        held = draws.held[draws.outcomes]
        holds = held[:, members].all(axis=1)
        if not upward_closure:
            holds &= held.sum(axis=1) == len(members)
        return float(np.mean(holds)) if len(held) else None

    # -- how complete, and under which test ---------------------------------------------

    @property
    def complete(self) -> bool:
        """Are these all the factors there are?"""
        return self.profile.complete

    @property
    def tally(self) -> Tally:
        """The counts behind everything."""
        return self.profile.tally

    @property
    def alpha(self) -> float | None:
        """The level of the test that a factor must pass; None: shares are taken as they are."""
        return self.profile.alpha

    @property
    def adjust(self) -> Adjustment:
        """How the test accounts for there being many factors."""
        return self.profile.adjust

    @cached_property
    def best(self) -> SufficientFactor | None:
        """The set with the highest PS, the smallest such; None where none was evaluated."""
        members = self.profile.best
        if members is None:
            return None
        return self._factor(members, self.tally.hits(members), self.profile.interval(members))

    @cached_property
    def everything(self) -> SufficientFactor | None:
        """All features together; None where that was not evaluated."""
        try:
            return self.factor([player.name for player in self.players])
        except NotVisitedError:
            return None

    # -- from numbers to names ----------------------------------------------------------

    def _minimal(self, minimal: Minimal) -> SufficientFactor:
        interval = minimal.low, minimal.high
        return self._factor(minimal.members, minimal.hits, interval, minimal.proof)

    def _factor(
        self,
        members: Sequence[int],
        hits: int,
        minimal_for: tuple[float, float],
        proof: Proof = "exhaustive",
    ) -> SufficientFactor:
        low, high = clopper_pearson(hits, self.tally.n)
        values: dict[str, Any] = {}
        for member in members:
            values |= self.players[member].values
        return SufficientFactor(
            features=tuple(self.players[m].name for m in members),
            values=values,
            sufficiency=hits / self.tally.n,
            interval=(float(low), float(high)),
            n=self.tally.n,
            p_value=self.profile.p_value(hits, self.tau),
            minimal_for=minimal_for,
            proof=proof,
            change=self.changes.get(self.tally.lattice.mask(members)),
        )

    def _supersets(self, members: Iterable[int]) -> BoolVector:
        wanted = self.tally.lattice.mask(list(members))
        return np.asarray((np.arange(1 << self.tally.d) & wanted) == wanted)

    def _numbers(self, features: Sequence[str] | str) -> tuple[int, ...]:
        return Players(tuple(p.name for p in self.players), ()).numbers(features)
