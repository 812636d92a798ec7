"""`View`: the sets that suffice to keep, or to flip, the outcome; necessity, barcode, other τ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from math import comb
from typing import TYPE_CHECKING, Any, Literal, Self, SupportsIndex, overload

import numpy as np

from suffice.context.players import Players
from suffice.errors import NotVisitedError
from suffice.explanation.schema import ViewRecord, VolatileRecord
from suffice.explanation.sufficient_factor import Change, Player, SufficientFactor, factor_frame
from suffice.formatting import format_name
from suffice.inference import clopper_pearson, interval_and_p_value
from suffice.measures import Measures, ratio
from suffice.results import Result, Sheet, find_renderer
from suffice.search.exhaustive import Tally
from suffice.search.findings import Proof
from suffice.search.profile import MinimalSet, Profile
from suffice.typing import Adjustment, ViewName
from suffice.validation import check_bool

if TYPE_CHECKING:
    from suffice.explanation.explanation import Explanation


@dataclass(frozen=True, eq=False, repr=False)
class View(Result):
    """The τ-minimal factors of one view, and everything else that follows from its counts.

    It is a sequence of its factors: `view[0]`, `len(view)`, `for factor in view`. Nothing here
    calls the model: another τ, another α, any subset's measures are computed from counts.

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

    faces = "suffice.report.render_explanation"
    plots = ("factors", "barcode", "curve", "lattice", "compare", "text", "image")
    stored = ViewRecord
    stored_volatile = VolatileRecord

    explanation: Explanation
    """The explanation that the view belongs to."""
    name: ViewName

    @property
    def outcome(self) -> str:
        """Text of the outcome that the factors of this view suffice for."""
        e = self.explanation
        return e.outcome if self.name == "keep" else e.other_outcome

    @property
    def players(self) -> tuple[Player, ...]:
        """The features, with the input's values."""
        return self.explanation.players

    @property
    def profile(self) -> Profile:
        """Sufficiency, minimal sets and necessity of every subset, from the counts."""
        e = self.explanation
        return e.keep_profile if self.name == "keep" else e.flip_profile

    @property
    def tau(self) -> float:
        """The threshold τ of the view."""
        return self.explanation.tau

    @property
    def changes(self) -> Mapping[int, Change]:
        """Cheapest change of each set, by its bit mask of features; empty for keep."""
        return self.explanation.changes if self.name == "flip" else {}

    # -- the answer at τ ----------------------------------------------------------------

    @cached_property
    def factors(self) -> tuple[SufficientFactor, ...]:
        """Every τ-minimal factor: smaller sets first, then the surer, then by feature order."""
        return tuple(map(self._minimal, self._sets))

    @cached_property
    def digest(self) -> Digest:
        """Counts over all factors (features, sizes), to be read first where there are many.

        Only two factors are built, the smallest and the surest, however many there are.
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

        Exact where every subset was evaluated; else an estimate, with `necessity_interval`. Where
        the view is not complete, that of the factors listed: others can only add to it. None where
        no hybrid has the outcome.
        """
        covered, outcome = self._covered
        return covered / outcome if outcome else None

    @property
    def necessity_interval(self) -> tuple[float, float] | None:
        """95% Clopper–Pearson interval of an estimated necessity; None where it is exact."""
        if self.profile.necessity_is_exact(self.tau):
            return None
        covered, outcome = self._covered
        low, high = clopper_pearson(covered, max(outcome, 1))
        return (float(low), float(high)) if outcome else None

    @property
    def necessity_bounds(self) -> tuple[float, float] | None:
        """Bounds of the cumulative PN of all τ-minimal factors, also of those not listed.

        Both are `necessity` where it is exact. Else the lower one is the lower end of
        `necessity_interval`; the upper one its upper end where the view is complete, the upper end
        at the search's own τ where that is lower and complete there, and 1 elsewhere.
        """
        necessity, profile = self.necessity, self.profile
        if necessity is None:
            return None
        low, high = self.necessity_interval or (necessity, necessity)
        if self.complete or profile.necessity_is_exact(self.tau):
            return low, high
        own = profile.findings.tau if profile.findings is not None else 1.0
        if own < self.tau and profile.complete_at(own):
            # Whatever suffices at a τ suffices at every lower one.
            bounds = self.at(own).necessity_bounds
            return low, 1.0 if bounds is None else max(low, bounds[1])
        return low, 1.0

    @cached_property
    def necessity_baseline(self) -> float | None:
        """Necessity expected by chance: the share of all hybrids in the closure of the factors.

        The necessity equals it if factors and outcome are unrelated. It is a count where
        every subset was evaluated, or where the factors are all known and there are at most 20
        features; else an estimate from random sets. None if no sets were drawn.
        """
        return self.profile.closure_share(self.tau)

    @property
    def necessity_lift(self) -> float | None:
        """The necessity divided by its baseline; 1 if factors and outcome are unrelated."""
        return ratio(self.necessity, self.necessity_baseline)

    def at(
        self,
        tau: float | None = None,
        *,
        alpha: float | Literal["same"] | None = "same",
        adjust: str | None = None,
    ) -> View:
        """Return the view at another τ, or with another test, without calling the model."""
        return View(self.explanation.at(tau, alpha=alpha, adjust=adjust), self.name)

    @overload
    def __getitem__(self, at: SupportsIndex) -> SufficientFactor: ...

    @overload
    def __getitem__(self, at: slice) -> tuple[SufficientFactor, ...]: ...

    def __getitem__(
        self, at: SupportsIndex | slice
    ) -> SufficientFactor | tuple[SufficientFactor, ...]:
        # Factors are built on access: there may be a hundred thousand.
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
        """Factors that are minimal at some τ, the highest first: see `minimal_for`."""
        return tuple(self._minimal(m) for m in self.profile.minimal_at_any_tau())

    @cached_property
    def curve(self) -> tuple[tuple[float, float], ...]:
        """Steps (τ, cumulative PN): each PN holds for thresholds up to and including its τ.

        Where not every set was counted, estimates for the sets known: others can only add to them.
        """
        return necessity_curve(self.profile)

    @cached_property
    def baseline_curve(self) -> tuple[tuple[float, float], ...]:
        """Steps (τ, cumulative PN expected by chance), where `curve` is known."""
        if not self.curve:
            return ()
        taus, weight = self.profile.reach_of_all()
        shares = weight[::-1].cumsum()[::-1] / weight.sum()
        pairs = zip(taus.tolist(), shares.tolist(), strict=True)
        return tuple((tau, share) for tau, share in pairs if tau > 0)

    # -- any subset ---------------------------------------------------------------------

    def sufficiency(self, features: Sequence[str] | str) -> float:
        """Return the PS of any set of features."""
        return self.profile.hits(self._numbers(features)) / self.tally.n

    def factor(self, features: Sequence[str] | str) -> SufficientFactor:
        """Return any set of features, minimal or not, with its numbers."""
        members = self._numbers(features)
        return self._factor(members, self.profile.hits(members), self.profile.interval(members))

    def measures(self, features: Sequence[str] | str, upward_closure: bool = False) -> Measures:
        """Return the four measures of "just these features", or of its upward closure."""
        closed = check_bool("upward_closure", upward_closure)
        return measures_of(self.profile, self._asked(features), closed)

    def necessity_of(
        self, features: Sequence[str] | str, upward_closure: bool = True
    ) -> float | None:
        """Return the PN of any set of features, by default of its upward closure."""
        asked, closed = self._asked(features), check_bool("upward_closure", upward_closure)
        if self.tally.complete:
            return measures_of(self.profile, asked, closed).necessity
        return necessity_estimate(self.profile, asked, closed)

    def necessity_baseline_of(
        self, features: Sequence[str] | str, upward_closure: bool = True
    ) -> float:
        """Return the share of hybrids that hold the features: `necessity_of` expected by chance."""
        closed = check_bool("upward_closure", upward_closure)
        return held_share(self.profile, self._asked(features), closed)

    # -- how complete, and under which test ---------------------------------------------

    @property
    def complete(self) -> bool:
        """True if the view lists all factors there are at this τ."""
        return self.profile.complete_at(self.tau)

    @property
    def tally(self) -> Tally:
        """Counts of the view, from which all its numbers follow."""
        return self.profile.tally

    @property
    def alpha(self) -> float | None:
        """Level of the test that a factor must pass; None: shares are compared with τ untested."""
        return self.profile.alpha

    @property
    def adjust(self) -> Adjustment:
        """Sentence on the adjustment of the test for multiple factors."""
        return self.profile.adjust

    @cached_property
    def best(self) -> SufficientFactor | None:
        """The set with the highest PS, the smallest such; None where none was evaluated."""
        best = self.profile.best
        return None if best is None else self._minimal(best)

    @cached_property
    def everything(self) -> SufficientFactor | None:
        """Sufficiency of all features together; None where that was not evaluated."""
        try:
            return self.factor([player.name for player in self.players])
        except NotVisitedError:
            return None

    # -- from numbers to names ----------------------------------------------------------

    @cached_property
    def _covered(self) -> tuple[float, float]:
        """Number of the outcome's hybrids in the closure of the factors, and in all."""
        return self.profile.covered(self.tau)

    @cached_property
    def _sets(self) -> tuple[MinimalSet, ...]:
        """Minimal sets at τ as numbers of features, in the order of `factors`."""
        return tuple(self.profile.minimal_at(self.tau))

    def _minimal(self, minimal: MinimalSet) -> SufficientFactor:
        interval = minimal.low, minimal.high
        return self._factor(minimal.members, minimal.hits, interval, minimal.proof)

    def _factor(
        self,
        members: Sequence[int],
        hits: int,
        minimal_for: tuple[float, float],
        proof: Proof = "exhaustive",
    ) -> SufficientFactor:
        interval, _ = interval_and_p_value(hits, self.tally.n, self.tau)
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
        # Features left out of the search change no count, so they are dropped from the set.
        return self._asked(features).members

    def _asked(self, features: Sequence[str] | str) -> QueriedSet:
        d, left_out = len(self.players), [o.player for o in self.explanation.left_out]
        names = tuple(p.name for p in (*self.players, *left_out))
        numbers = Players(names, ()).indices(features)
        members = tuple(i for i in numbers if i < d)
        return QueriedSet(members, len(numbers) - len(members), len(left_out))

    # -- as every result ----------------------------------------------------------------

    @property
    def sheet(self) -> Sheet:
        """The view as sentences and tables."""
        sheet: Sheet = find_renderer("sheet", self)(self)
        return sheet

    def full(self) -> str:
        """Return the view as text with all values and up to a dozen sets of each view.

        `print` shortens it to one screen.
        """
        return str(find_renderer("full_text", self)(self))

    def to_frame(self) -> Any:
        """Return the factors as a pandas frame, one row per factor."""
        return factor_frame((self.outcome, factor) for factor in self.factors)

    def __repr__(self) -> str:
        does = "keeps" if self.name == "keep" else "flips to"
        return f"<View: what {does} “{format_name(self.outcome)}”, τ = {self.tau:g}>"

    def __eq__(self, other: object) -> bool:
        """Return whether it is the same view of an equal explanation."""
        return (
            isinstance(other, View)
            and self.name == other.name
            and self.explanation == other.explanation
        )

    def __hash__(self) -> int:
        return hash((self.name, self.explanation))

    def to_json(self, *, volatile: bool = True) -> str:
        """Return a versioned JSON text of the view; `volatile` as in `Explanation.to_json`."""
        from suffice.explanation.storage import split_volatile

        record, facts = split_volatile(self.explanation._record())
        given = check_bool("volatile", volatile)
        return self._json(ViewRecord(self.name, record), facts if given else None)

    def _record(self) -> ViewRecord:
        return ViewRecord(self.name, self.explanation._record())

    @classmethod
    def _read_volatile(cls, envelope: dict[str, Any]) -> None:
        from suffice.explanation.storage import join_volatile

        content = envelope.get("content")
        if isinstance(content, dict):
            join_volatile(content.get("explanation"), envelope.get("volatile"))

    @classmethod
    def _from_record(cls, record: ViewRecord) -> Self:
        from suffice.explanation.explanation import Explanation

        return cls(Explanation._from_record(record.explanation), record.view)


# Necessity by counts: of any one set, and of all minimal sets at every τ.


@dataclass(frozen=True)
class QueriedSet:
    """A set given by a caller: its players, and how many left-out features it names."""

    members: tuple[int, ...]
    idle: int
    all_idle: int
    """Number of features that were left out of the search."""

    def sets(self, closed: bool) -> int:
        """Return the number of sets of all features for each set of the players."""
        return 1 << (self.all_idle - self.idle) if closed else 1


def measures_of(profile: Profile, asked: QueriedSet, closed: bool) -> Measures:
    """Return the four measures of "just these were held"; if `closed`, "at least these were".

    They are shares of the sets of all features: a feature left out of the search changes no
    outcome, so each set of the others counts once for every way to hold those left out.
    """
    members = asked.members
    tally, weights = profile.tally, profile.weights
    if not tally.complete:
        raise NotVisitedError(
            "necessity and the contrapositives are taken over all subsets, and the search was "
            f"bounded ({tally.coverage_text}). Use sufficiency, or "
            "necessity_of for an estimate."
        )
    n, total = tally.n, tally.n << (tally.d + asked.all_idle)
    outcome = profile.outcome * (1 << asked.all_idle)
    if not closed:
        u = float(weights[len(members)])
        return Measures(u * tally.hits(members), u * n, outcome, total)
    wanted = tally.lattice.mask(members)
    above = np.flatnonzero((np.arange(1 << tally.d) & wanted) == wanted)
    each = weights[np.bitwise_count(above)] * asked.sets(closed)
    hits = float((each * tally.dense[above]).sum())
    return Measures(hits, float(each.sum()) * n, outcome, total)


def necessity_estimate(profile: Profile, asked: QueriedSet, closed: bool) -> float | None:
    """Return the PN of the factor from a sample of D; None if none was drawn."""
    if profile.draws is None:
        return None
    held = profile.draws.held[profile.draws.outcomes]
    holds = held[:, list(asked.members)].all(axis=1)
    if not closed:
        holds &= held.sum(axis=1) == len(asked.members)
    share = asked.sets(closed) / (1 << asked.all_idle)
    return float(np.mean(holds)) * share if len(held) else None


def held_share(profile: Profile, asked: QueriedSet, closed: bool) -> float:
    """Return P(c) of "just these are held" (`closed`: "at least these"), the baseline of the PN."""
    d, k = profile.tally.d, len(asked.members)
    share = asked.sets(closed) / (1 << asked.all_idle)
    likely = profile.size_weights or [comb(d, size) for size in range(d + 1)]
    # Of the sets of each size, those that hold the k members choose the rest freely. Integers are
    # divided, since 2^d is beyond a float for more than 1,023 features.
    held = [comb(d - k, size - k) / comb(d, size) for size in range(k, d + 1 if closed else k + 1)]
    total = sum(likely)
    return share * sum(each * (p / total) for each, p in zip(held, likely[k:], strict=False))


def necessity_curve(profile: Profile) -> tuple[tuple[float, float], ...]:
    """Return steps (τ, cumulative PN); each PN holds for thresholds up to and including its τ."""
    findings = profile.findings
    if findings is not None and findings.only_at_tau:
        raise NotVisitedError(
            f"this search decided every set at τ = {findings.tau:g} only: search exhaustively to "
            "have necessity at every τ"
        )
    taus, shares = profile.necessity_steps()
    pairs = zip(taus.tolist(), shares.tolist(), strict=True)
    return tuple((tau, necessity) for tau, necessity in pairs if tau > 0)


# Digest of many minimal sets: the features in all, in most and in none of them.


@dataclass(frozen=True)
class Digest:
    """Counts over the minimal sets of one view.

    >>> digest = Digest(4, (("age", 4), ("income", 1), ("debt", 2), ("job", 0)), ((2, 3), (3, 1)))
    >>> digest.everywhere, digest.mostly, digest.nowhere
    (('age',), (('debt', 2),), ('job',))
    """

    n: int
    """Number of sets."""
    counts: tuple[tuple[str, int], ...]
    """Every feature, in the features' order, with the number of sets that it is in."""
    sizes: tuple[tuple[int, int], ...]
    """Pairs (number of features, number of sets with as many), the fewest features first."""
    proofs: tuple[tuple[Proof, int], ...] = ()
    """Pairs (how minimality is known, number of such sets): see `proof` of a factor."""
    smallest: SufficientFactor | None = None
    """The set of fewest features, the most sufficient of those; None without sets."""
    surest: SufficientFactor | None = None
    """The set of highest sufficiency, the smallest of those."""

    @property
    def everywhere(self) -> tuple[str, ...]:
        """The features in every set."""
        return tuple(name for name, count in self.counts if 0 < count == self.n)

    @property
    def mostly(self) -> tuple[tuple[str, int], ...]:
        """The features in half of the sets or more, but not in all: the commonest first."""
        most = [(name, count) for name, count in self.counts if self.n <= 2 * count < 2 * self.n]
        return tuple(sorted(most, key=lambda pair: -pair[1]))

    @property
    def nowhere(self) -> tuple[str, ...]:
        """The features in no set."""
        return tuple(name for name, count in self.counts if not count)


def memberships(sets: Sequence[MinimalSet], d: int) -> list[int]:
    """Return for each of d features the number of sets that contain it.

    >>> memberships([MinimalSet((0, 2), 9, 0.5, 0.9, "exhaustive")], 3)
    [1, 0, 1]
    """
    members = np.fromiter(chain.from_iterable(s.members for s in sets), dtype=np.int64)
    return [int(n) for n in np.bincount(members, minlength=d)]
