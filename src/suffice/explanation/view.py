"""One view of the hybrids: what suffices to keep the outcome, or what suffices to flip it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Self, SupportsIndex, overload

from suffice.checks import truth
from suffice.context.players import Players
from suffice.errors import NotVisitedError
from suffice.explanation.counting import Asked, measures_of, necessity_curve, necessity_estimate
from suffice.explanation.digest import Digest, memberships
from suffice.explanation.factor import Change, Player, SufficientFactor, factor_frame
from suffice.explanation.record import ViewRecord
from suffice.inference import Adjustment, certainty, clopper_pearson
from suffice.measures import Measures
from suffice.results import Result, Sheet, renderer
from suffice.search.findings import Proof
from suffice.search.profile import Minimal, Profile
from suffice.search.tally import Tally
from suffice.typing import ViewName
from suffice.wording import named

if TYPE_CHECKING:
    from suffice.explanation.explanation import Explanation

__all__ = ["View"]


@dataclass(frozen=True, eq=False, repr=False)
class View(Result):
    """The τ-minimal factors of one view, and everything else its counts can tell.

    It is a sequence of its factors: `view[0]`, `len(view)`, `for factor in view`. Nothing here
    calls the model: another τ, another α, any subset's measures are read from counts.

    >>> import numpy as np
    >>> import pandas as pd
    >>> from suffice import Explainer
    >>> people = pd.DataFrame({"income": [20, 30, 60, 70], "debt": [9, 2, 8, 1]})
    >>> def grant(rows):
    ...     return np.where(rows["income"] - 4 * rows["debt"] > 20, "granted", "refused")
    >>> e = Explainer(grant, people).explain({"income": 25, "debt": 8}, tau=0.6)
    >>> e.keep.sufficiency(["debt"]), e.keep.necessity
    (0.3333333333333333, 0.8333333333333334)
    >>> [f.features for f in e.keep.at(0.3)]
    [('income',), ('debt',)]
    """

    faces = "suffice.report.explanation"
    plots = ("factors", "barcode", "curve", "lattice", "compare", "text", "image")
    stored = ViewRecord

    explanation: Explanation
    """Whose view it is."""
    name: ViewName

    @property
    def outcome(self) -> str:
        """The outcome, in words, that the factors of this view suffice for."""
        e = self.explanation
        return e.outcome if self.name == "keep" else e.other_outcome

    @property
    def players(self) -> tuple[Player, ...]:
        """The features, with the input's values."""
        return self.explanation.players

    @property
    def profile(self) -> Profile:
        """What the counts say of every subset."""
        e = self.explanation
        return e.keep_profile if self.name == "keep" else e.flip_profile

    @property
    def tau(self) -> float:
        """The threshold asked for."""
        return self.explanation.tau

    @property
    def changes(self) -> Mapping[int, Change]:
        """By bit mask of features: the cheapest change of that set; none for keep."""
        return self.explanation.changes if self.name == "flip" else {}

    # -- the answer at τ ----------------------------------------------------------------

    @cached_property
    def factors(self) -> tuple[SufficientFactor, ...]:
        """Every τ-minimal factor: smaller sets first, then the surer, then by feature order."""
        return tuple(map(self._minimal, self._sets))

    @cached_property
    def digest(self) -> Digest:
        """What the factors have in common: worth reading first where there are many.

        Made from counts: however many factors there are, only two are made.
        """
        sets, names = self._sets, [player.name for player in self.players]
        sizes = Counter(len(minimal.members) for minimal in sets)
        return Digest(
            n=len(sets),
            counts=tuple(zip(names, memberships(sets, len(names)), strict=True)),
            sizes=tuple(sorted(sizes.items())),
            proofs=tuple(sorted(Counter(minimal.proof for minimal in sets).items())),
            smallest=self._minimal(sets[0]) if sets else None,
            surest=self._minimal(max(sets, key=lambda minimal: minimal.hits)) if sets else None,
        )

    @cached_property
    def necessity(self) -> float | None:
        """Cumulative PN: the share of the outcome's hybrids that the factors' closure covers.

        Exact where every subset was evaluated; else an estimate, with `necessity_interval`. None
        where no hybrid has the outcome.
        """
        covered, outcome = self._covered
        return covered / outcome if outcome else None

    @property
    def necessity_interval(self) -> tuple[float, float] | None:
        """95% Clopper–Pearson interval of an estimated necessity; None where it is exact."""
        if self.profile.covers_exactly(self.tau):
            return None
        covered, outcome = self._covered
        low, high = clopper_pearson(covered, max(outcome, 1))
        return (float(low), float(high)) if outcome else None

    def at(
        self,
        tau: float | None = None,
        *,
        alpha: float | Literal["same"] | None = "same",
        adjust: str | None = None,
    ) -> View:
        """The same view at another τ, or with another test; no model call."""
        return View(self.explanation.at(tau, alpha=alpha, adjust=adjust), self.name)

    @overload
    def __getitem__(self, at: SupportsIndex) -> SufficientFactor: ...

    @overload
    def __getitem__(self, at: slice) -> tuple[SufficientFactor, ...]: ...

    def __getitem__(
        self, at: SupportsIndex | slice
    ) -> SufficientFactor | tuple[SufficientFactor, ...]:
        # Only what is asked for is made: there may be a hundred thousand.
        if isinstance(at, slice):
            return tuple(map(self._minimal, self._sets[at]))
        return self._minimal(self._sets[at])

    def __iter__(self) -> Iterator[SufficientFactor]:
        return iter(self.factors)

    def __len__(self) -> int:
        return len(self._sets)

    # -- every τ at once ----------------------------------------------------------------

    @property
    def barcode(self) -> tuple[SufficientFactor, ...]:
        """Every factor that is minimal at some τ, the highest first: see `minimal_for`."""
        return tuple(self._minimal(m) for m in self.profile.minimal_somewhere())

    @cached_property
    def curve(self) -> tuple[tuple[float, float], ...]:
        """Steps (τ, cumulative PN): each PN holds for thresholds up to and including its τ."""
        return necessity_curve(self.profile)

    # -- any subset ---------------------------------------------------------------------

    def sufficiency(self, features: Sequence[str] | str) -> float:
        """PS of any set of features."""
        return self.profile.hits(self._numbers(features)) / self.tally.n

    def factor(self, features: Sequence[str] | str) -> SufficientFactor:
        """Any set of features, minimal or not, with its numbers."""
        members = self._numbers(features)
        return self._factor(members, self.profile.hits(members), self.profile.interval(members))

    def measures(self, features: Sequence[str] | str, upward_closure: bool = False) -> Measures:
        """The four measures of the factor "just these features", or of its upward closure."""
        closed = truth("upward_closure", upward_closure)
        return measures_of(self.profile, self._asked(features), closed)

    def necessity_of(
        self, features: Sequence[str] | str, upward_closure: bool = True
    ) -> float | None:
        """PN of any set of features: by default of its upward closure, as for `necessity`."""
        asked, closed = self._asked(features), truth("upward_closure", upward_closure)
        if self.tally.complete:
            return measures_of(self.profile, asked, closed).necessity
        return necessity_estimate(self.profile, asked, closed)

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

    @cached_property
    def _covered(self) -> tuple[float, float]:
        """Hybrids with the outcome in the closure of the factors; and in all."""
        return self.profile.covered(self.tau)

    @cached_property
    def _sets(self) -> tuple[Minimal, ...]:
        """The τ-minimal sets by their features' numbers, in the order of `factors`."""
        return tuple(self.profile.minimal_at(self.tau))

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
        interval, _ = certainty(hits, self.tally.n, self.tau)
        return SufficientFactor(
            view=self.name,
            players=tuple(self.players[member] for member in members),
            sufficiency=hits / self.tally.n,
            interval=interval,
            n=self.tally.n,
            p_value=self.profile.p_value(hits, self.tau),
            minimal_for=minimal_for,
            proof=proof,
            change=self.changes.get(self.tally.lattice.mask(members)),
        )

    def _numbers(self, features: Sequence[str] | str) -> tuple[int, ...]:
        # What was left out changes no count, so a set is as good as without it.
        return self._asked(features).members

    def _asked(self, features: Sequence[str] | str) -> Asked:
        d, left_out = len(self.players), [o.player for o in self.explanation.left_out]
        names = tuple(p.name for p in (*self.players, *left_out))
        numbers = Players(names, ()).numbers(features)
        members = tuple(i for i in numbers if i < d)
        return Asked(members, len(numbers) - len(members), len(left_out))

    # -- as every result ----------------------------------------------------------------

    @property
    def sheet(self) -> Sheet:
        """The answer in words and tables."""
        sheet: Sheet = renderer("sheet", self)(self)
        return sheet

    def to_frame(self) -> Any:
        """The factors as a pandas frame, a row each."""
        return factor_frame((self.outcome, factor) for factor in self.factors)

    def __repr__(self) -> str:
        does = "keeps" if self.name == "keep" else "flips to"
        return f"<View: what {does} “{named(self.outcome)}”, τ = {self.tau:g}>"

    def __eq__(self, other: object) -> bool:
        """The same view of the same explanation."""
        return (
            isinstance(other, View)
            and self.name == other.name
            and self.explanation == other.explanation
        )

    def __hash__(self) -> int:
        return hash((self.name, self.explanation))

    def _record(self) -> ViewRecord:
        return ViewRecord(self.name, self.explanation._record())

    @classmethod
    def _from_record(cls, record: ViewRecord) -> Self:
        from suffice.explanation.explanation import Explanation

        return cls(Explanation._from_record(record.explanation), record.view)
