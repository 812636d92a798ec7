"""The explanation of one decision: what keeps it, what flips it, how sure and complete that is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, Self

from suffice.checks import level_or_same, threshold
from suffice.explanation.factor import Change, LeftOut, Player, factor_frame
from suffice.explanation.record import ExplanationRecord, Provenance
from suffice.explanation.subject import Subject
from suffice.explanation.view import View
from suffice.inference import check_adjustment
from suffice.results import Result, Sheet, renderer
from suffice.search.findings import Findings
from suffice.search.profile import Profile
from suffice.search.stop import Stop
from suffice.search.sweep import Draws
from suffice.target import OwnScore
from suffice.typing import Scalar
from suffice.wording import count, named

__all__ = ["Explanation", "Provenance", "mirrored"]


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Result):
    """Two views of one sweep over the hybrids of an input and its references.

    >>> import numpy as np
    >>> import pandas as pd
    >>> from suffice import Explainer
    >>> people = pd.DataFrame({"income": [20, 30, 60, 70], "debt": [9, 2, 8, 1]})
    >>> def grant(rows):
    ...     return np.where(rows["income"] - 4 * rows["debt"] > 20, "granted", "refused")
    >>> e = Explainer(grant, people).explain({"income": 25, "debt": 8}, tau=0.6)
    >>> e.outcome, e.complete
    ('refused', True)
    >>> [f.features for f in e.keep], [f.features for f in e.flip]
    ([('income',)], [('income',)])
    """

    faces = "suffice.report.explanation"
    plots = View.plots
    stored = ExplanationRecord

    prediction: Scalar
    outcome: str
    """The outcome that the input has, in words."""
    other_outcome: str
    """The outcome that a flip gives, in words."""
    players: tuple[Player, ...]
    tau: float
    """The threshold asked for."""
    keep_profile: Profile
    """What the counts say of every set that is held."""
    flip_profile: Profile
    """What they say of every set that is replaced."""
    provenance: Provenance
    score: OwnScore | None = None
    """How sure the model is of its prediction, or the value that it gives; None if it says not."""
    stopped: Stop | None = None
    """What ended the search early; None where every subset was visited."""
    changes: Mapping[int, Change] = field(default_factory=dict)
    """By bit mask of replaced features: the cheapest change of that very set that flips."""
    cheapest: Change | None = None
    """The cheapest change of any set that was evaluated; None where nothing affordable flips."""
    one_sweep: bool = True
    """Do both views read the same hybrids? Not where interventions have consequences."""
    left_out: tuple[LeftOut, ...] = ()
    """Features that cannot matter for this input and these references. They are not among the
    players, and every count, necessity and completeness is what it would be with them."""
    subject: Subject | None = None
    """The text or picture that was explained; None for a row of a table."""

    def __post_init__(self) -> None:
        threshold(self.tau)

    @cached_property
    def keep(self) -> View:
        """What suffices to keep the outcome (the paper's R2I)."""
        return View(self, "keep")

    @cached_property
    def flip(self) -> View:
        """What suffices to flip it (I2R)."""
        return View(self, "flip")

    @property
    def complete(self) -> bool:
        """Is this every τ-minimal factor there is? True only if all subsets were evaluated."""
        return self.keep_profile.complete and self.flip_profile.complete

    @property
    def unvisited(self) -> int:
        """How many subsets were never evaluated."""
        tallies = self.keep_profile.tally, self.flip_profile.tally
        return (1 << len(self.players)) - min(tally.visited for tally in tallies)

    def at(
        self,
        tau: float | None = None,
        *,
        alpha: float | Literal["same"] | None = "same",
        adjust: str | None = None,
    ) -> Explanation:
        """The same explanation at another τ, or with another test; no model call."""
        profile = self.keep_profile
        tested = level_or_same(alpha, profile.alpha)
        given = profile.adjust if adjust is None else adjust
        unasked = tested is None and adjust is None
        adjustment = check_adjustment("none" if unasked else given, tested)
        return replace(
            self,
            tau=self.tau if tau is None else threshold(tau),
            keep_profile=profile.tested(tested, adjustment),
            flip_profile=self.flip_profile.tested(tested, adjustment),
        )

    @property
    def sheet(self) -> Sheet:
        """The answer in words and tables."""
        sheet: Sheet = renderer("sheet", self)(self)
        return sheet

    def to_frame(self) -> Any:
        """Both views' factors as a pandas frame, a row each."""
        return factor_frame((v.outcome, factor) for v in (self.keep, self.flip) for factor in v)

    def __repr__(self) -> str:
        features = count(len(self.players), "feature")
        references = count(self.keep_profile.tally.n, "reference")
        about = f"{features}, {references}, τ = {self.tau:g}"
        return f"<Explanation: Why “{named(self.outcome)}”? {about}>"

    def __eq__(self, other: object) -> bool:
        """The same question with the same answer; when and how it was found does not matter."""
        return isinstance(other, Explanation) and self._timeless() == other._timeless()

    def __hash__(self) -> int:
        return hash((self.outcome, self.tau, self.players[0].name, self.keep_profile.tally.visited))

    def _timeless(self) -> ExplanationRecord:
        from suffice.explanation.storing import record_of, without_pace

        # How many hybrids are known follows from the counts, or else from what was asked.
        timeless = without_pace(self.provenance, hybrids=0)
        return record_of(replace(self, provenance=timeless))

    def _record(self) -> ExplanationRecord:
        from suffice.explanation.storing import record_of

        return record_of(self)

    @classmethod
    def _from_record(cls, record: ExplanationRecord) -> Self:
        from suffice.explanation.storing import read_record

        return cls(**read_record(record))


def mirrored(profile: Profile, findings: Findings | None = None) -> Profile:
    """What the same hybrids say in the other view: what was held becomes what is replaced."""
    draws, weights = profile.draws, profile.size_weights
    return replace(
        profile,
        tally=profile.tally.other_view(),
        size_weights=None if weights is None else weights[::-1],
        draws=None if draws is None else Draws(~draws.held, ~draws.outcomes),
        findings=findings,
    )
