"""`Explanation`: the result for one decision, with two views; `Explanations`, a list of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, Self, SupportsIndex, overload

from suffice.context.players import Players
from suffice.errors import InputError
from suffice.explanation.schema import (
    Direction,
    ExplanationRecord,
    Provenance,
    Subject,
    VolatileRecord,
)
from suffice.explanation.sufficient_factor import Change, LeftOutFeature, Player, factor_frame
from suffice.explanation.view import View
from suffice.formatting import format_features, format_name, plural
from suffice.results import (
    Column,
    OmittedRows,
    Panel,
    Rendered,
    RenderFormat,
    Result,
    Sheet,
    find_renderer,
)
from suffice.search.limits import Stop
from suffice.search.profile import Profile
from suffice.target import PredictionScore
from suffice.typing import Scalar, ViewName
from suffice.validation import check_adjustment, check_alpha_or_same, check_bool, check_tau


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

    faces = "suffice.report.render_explanation"
    plots = View.plots
    stored = ExplanationRecord
    stored_volatile = VolatileRecord

    prediction: Scalar
    outcome: str
    """The input's outcome as text."""
    other_outcome: str
    """The outcome after a flip, as text."""
    players: tuple[Player, ...]
    tau: float
    """The threshold at which the views list factors."""
    keep_profile: Profile
    """Counts of every set that is held, and what follows from them at each τ."""
    flip_profile: Profile
    """Counts of every set that is replaced, and what follows from them at each τ."""
    provenance: Provenance
    score: PredictionScore | None = None
    """The model's probability or score of its prediction, or the value of a regression; None if it
    gives none."""
    stopped: Stop | None = None
    """What ended the search early; None where every subset was visited."""
    changes: Mapping[int, Change] = field(default_factory=dict)
    """By bit mask of replaced features: the cheapest change of exactly this set that flips."""
    cheapest: Change | None = None
    """The cheapest change of any set that was evaluated: the first option of `Explainer.recourse`
    without further constraints. None where no allowed change flips, or where effects are random and
    no change was found to flip in half of the draws."""
    cheapest_ties: tuple[Change, ...] = ()
    """Up to eight other changes of the same cost, to other values or of other features."""
    directions: Mapping[str, Direction] = field(default_factory=dict)
    """By numeric feature of one column: the direction in which the cheapest changes that need it
    move it. Features that no change needs have none. Empty where not every set was counted, or
    where effects are random."""
    one_sweep: bool = True
    """Whether both views read the same hybrids: false where changes have effects (causal)."""
    left_out: tuple[LeftOutFeature, ...] = ()
    """Features that cannot matter for this input and these references. They are not among the
    players, and every count, necessity and completeness is what it would be with them."""
    subject: Subject | None = None
    """The text or picture that was explained; None for a row of a table."""

    @cached_property
    def keep(self) -> View:
        """View of the sets that suffice to keep the outcome (the paper's R2I)."""
        return View(self, "keep")

    @cached_property
    def flip(self) -> View:
        """View of the sets that suffice to flip the outcome (the paper's I2R)."""
        return View(self, "flip")

    @property
    def complete(self) -> bool:
        """True if both views list every τ-minimal factor there is."""
        return self.keep.complete and self.flip.complete

    @property
    def unvisited(self) -> int:
        """Number of subsets that were never evaluated."""
        tallies = self.keep_profile.tally, self.flip_profile.tally
        return (1 << len(self.players)) - min(tally.visited for tally in tallies)

    def at(
        self,
        tau: float | None = None,
        *,
        alpha: float | Literal["same"] | None = "same",
        adjust: str | None = None,
    ) -> Explanation:
        """Return the explanation at another τ, or with another test, without calling the model.

        Where the search counted only some sets, the factors are those known at that τ, and
        `complete` says whether there are others.
        """
        profile = self.keep_profile
        tested = check_alpha_or_same(alpha, profile.alpha)
        given = profile.adjust if adjust is None else adjust
        unasked = tested is None and adjust is None
        adjustment = check_adjustment("none" if unasked else given, tested)
        return replace(
            self,
            tau=self.tau if tau is None else check_tau(tau),
            keep_profile=profile.with_test(tested, adjustment),
            flip_profile=self.flip_profile.with_test(tested, adjustment),
        )

    @property
    def sheet(self) -> Sheet:
        """The explanation as sentences and tables."""
        sheet: Sheet = find_renderer("sheet", self)(self)
        return sheet

    def full(self) -> str:
        """Return the explanation as text with all values and up to a dozen sets of each view.

        `print` shortens it to one screen.
        """
        return str(find_renderer("full_text", self)(self))

    def to_json(self, *, volatile: bool = True) -> str:
        """Return a versioned JSON text that holds the whole answer (see `result_schema`).

        The same question gives the same text, but for the block "volatile" at its end: time, rows
        predicted and the state of the engines. Without it the text is the same to the byte, and is
        read back with neutral values in its place.
        """
        from suffice.explanation.storage import split_volatile

        record, facts = split_volatile(self._record())
        return self._json(record, facts if check_bool("volatile", volatile) else None)

    def to_frame(self) -> Any:
        """Return the factors of both views as a pandas frame, one row per factor."""
        return factor_frame((v.outcome, factor) for v in (self.keep, self.flip) for factor in v)

    def __repr__(self) -> str:
        features = plural(len(self.players), "feature")
        references = plural(self.keep_profile.tally.n, "reference")
        about = f"{features}, {references}, τ = {self.tau:g}"
        return f"<Explanation: Why “{format_name(self.outcome)}”? {about}>"

    def __eq__(self, other: object) -> bool:
        """Return whether question and answer are equal, however and whenever they were computed."""
        return isinstance(other, Explanation) and self._timeless() == other._timeless()

    def __hash__(self) -> int:
        return hash((self.outcome, self.tau, self.players[0].name, self.keep_profile.tally.visited))

    def _timeless(self) -> ExplanationRecord:
        from suffice.explanation.storage import to_record, without_timing

        # The number of hybrids follows from the counts or from the question, which are compared.
        timeless = without_timing(self.provenance, hybrids=0)
        return to_record(replace(self, provenance=timeless))

    def _record(self) -> ExplanationRecord:
        from suffice.explanation.storage import to_record

        return to_record(self)

    @classmethod
    def _read_volatile(cls, envelope: dict[str, Any]) -> None:
        from suffice.explanation.storage import join_volatile

        join_volatile(envelope.get("content"), envelope.get("volatile"))

    @classmethod
    def _from_record(cls, record: ExplanationRecord) -> Self:
        from suffice.explanation.storage import from_record

        return cls(**from_record(record))


# Features to refine: those that the user names, or else those of each view's best factor.


def features_to_refine(
    explanation: Explanation, named: Sequence[str] | str | None
) -> tuple[int, ...]:
    """Return the numbers of the features to refine: those named, or those of the best factors."""
    players = Players(tuple(player.name for player in explanation.keep.players), ())
    if named is not None:
        return players.indices(named)
    if not (explanation.keep.factors or explanation.flip.factors):
        raise InputError(
            "explanation",
            f"one without a factor to look into at τ = {explanation.tau:g}",
            "one that has factors, or names of features",
            "Lower its threshold with .at(tau), or name features.",
        )
    best = (*_best_features(explanation.keep), *_best_features(explanation.flip))
    if not best:
        hint = "The outcome comes about anyway: no feature can be refined."
        raise InputError("explanation", "one whose best factor names no feature", "another", hint)
    return players.indices(best)


def _best_features(view: View) -> tuple[str, ...]:
    """Return the features of the smallest factor; of equally small ones, of the most sufficient."""
    factors = sorted(view.factors, key=lambda f: (f.size, -f.sufficiency))
    return factors[0].features if factors else ()


# List of explanations with a summary of its own: outcomes, commonest sets, incomplete searches.


_SETS_SHOWN = 5

_HEADINGS: dict[ViewName, str] = {
    "keep": "Feature sets that most often suffice to keep the outcome",
    "flip": "Feature sets that most often suffice to flip the outcome",
}


def all_players(e: Explanation) -> tuple[Player, ...]:
    """Return all features of an explanation, those left out as irrelevant last."""
    return (*e.players, *(left.player for left in e.left_out))


def as_views(result: object, argument: str = "result") -> tuple[View, ...]:
    """Return both views of an explanation, or the given view; raise for anything else."""
    if isinstance(result, Explanation):
        return result.keep, result.flip
    if isinstance(result, View):
        return (result,)
    raise InputError(argument, result, "an explanation, or one of its views (e.keep, e.flip)")


class Explanations(Rendered, list[Explanation]):
    """A list of explanations; `print` and a notebook show what they have in common.

    `Explainer.explain_many` returns it. It does everything that a list does, and a slice of it has
    a summary, too.

    >>> import pandas as pd
    >>> from suffice import Explainer
    >>> people = pd.DataFrame({"income": [20, 30, 60, 70], "debt": [9, 2, 8, 1]})
    >>> def grant(rows):
    ...     return (rows["income"] - 4 * rows["debt"] > 20).map({True: "granted", False: "refused"})
    >>> explained = Explainer(grant, people).explain_many(people)
    >>> explained
    <Explanations: Why? 4 decisions: 3 granted, 1 refused>
    >>> print(explained[:3])
    Why? 3 decisions: 2 granted, 1 refused
      Every minimal set at τ = 0.9 was found for all of them.
    Feature sets that most often suffice to keep the outcome
      decisions  share  of those with  feature set
              1   100%  refused        income
              1    50%  granted        income, debt
              1    50%  granted        income
    Feature sets that most often suffice to flip the outcome
      decisions  share  of those with  feature set
              2   100%  granted        income
              1   100%  refused        income, debt
              1    50%  granted        debt
      Decisions: those that have the set among their minimal sets. [0] is the first explanation,
      to_frame() has every set of each, to_html("why.html") writes them as one page.
    """

    page_face: ClassVar[RenderFormat] = "report"

    @property
    def sheet(self) -> Sheet:
        """Sentences and tables that summarise the explanations."""
        outcomes = Counter(e.outcome for e in self)
        counted = ", ".join(f"{n:,} {format_name(o)}" for o, n in outcomes.most_common())
        title = f"Why? {plural(len(self), 'decision')}" + (f": {counted}" if counted else "")
        if not self:
            return Sheet(title)
        panels = [
            _set_panel("keep", ((e.outcome, e.keep_profile, e) for e in self), outcomes),
            _set_panel("flip", ((e.outcome, e.flip_profile, e) for e in self), outcomes),
        ]
        note = (
            "Decisions: those that have the set among their minimal sets. [0] is the first "
            "explanation, to_frame() has every set of each, "
            'to_html("why.html") writes them as one page.'
        )
        return Sheet(title, (self._completeness(),), tuple(p for p in panels if p.rows), (note,))

    def _completeness(self) -> str:
        taus = sorted({e.tau for e in self})
        at = f" at τ = {taus[0]:g}" if len(taus) == 1 else ""
        unfinished = sum(not e.complete for e in self)
        if not unfinished:
            return f"Every minimal set{at} was found for all of them."
        return (
            f"Every minimal set{at} was found for {len(self) - unfinished:,} of "
            f"{plural(len(self), 'decision')}; the other searches may have missed some."
        )

    def to_frame(self) -> Any:
        """Return the sets of every explanation as a pandas frame; `decision` counts from 0."""
        import pandas as pd

        frames = []
        for number, e in enumerate(self):
            frame = e.to_frame()
            frame.insert(0, "decision", number)
            frames.append(frame)
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()

    @overload
    def __getitem__(self, at: SupportsIndex) -> Explanation: ...

    @overload
    def __getitem__(self, at: slice) -> Explanations: ...

    def __getitem__(self, at: SupportsIndex | slice) -> Explanation | Explanations:
        """Return one explanation, or those of a slice with a summary of their own."""
        found = super().__getitem__(at)
        return Explanations(found) if isinstance(found, list) else found


def _set_panel(
    view: ViewName,
    decisions: Iterable[tuple[str, Profile, Explanation]],
    outcomes: Counter[str],
) -> Panel:
    """Return the sets of features that are minimal in most decisions of one view."""
    counts: Counter[tuple[str, tuple[str, ...]]] = Counter()
    for outcome, profile, e in decisions:
        names = [player.name for player in e.players]
        for found in profile.minimal_at(e.tau):
            counts[outcome, tuple(names[j] for j in found.members)] += 1
    # `most_common` keeps ties in the order in which they were first met, which is that of the rows.
    rows = tuple(
        (
            n,
            n / outcomes[outcome],
            format_name(outcome),
            format_features(features) if features else "no feature",
        )
        for (outcome, features), n in counts.most_common(_SETS_SHOWN)
    )
    columns = (
        Column("decisions", "number"),
        Column("share", "share"),
        Column("of those with"),
        Column("feature set"),
    )
    more = OmittedRows(len(counts) - len(rows), "to_frame()", "set")
    return Panel(columns, rows, _HEADINGS[view], more)
