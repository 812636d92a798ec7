"""`Stability`, the result of `audit.stability`: in how many retrained models sets hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal

import msgspec

from suffice.audit.decisions import DecisionSequence
from suffice.formatting import (
    format_features,
    format_name,
    number_or_none,
    percent,
    plural,
    three_digits,
)
from suffice.inference import Share
from suffice.results import Field, OmittedRows, Panel, Result, Sheet, make_frame, make_panel
from suffice.typing import NaturalNumber, NonNegative, Proportion, RoundedShare, ViewName

_SHOWN = 10
_NEARLY_ALL = 0.9
_RESAMPLE_TEXT = {
    "bootstrap": "each to rows drawn again from all of them (bootstrap)",
    "seed": "each to the same rows with another seed",
}


@dataclass(frozen=True)
class StableFactor:
    """A minimal set of the model, checked in the retrained models."""

    view: ViewName
    features: tuple[str, ...]
    sufficiency: Share
    """Sufficiency in the model itself."""
    holds: Share
    """Share of retrained models with the same outcome in which the set suffices, of those in which
    it was counted."""
    minimal: NaturalNumber
    """Number of retrained models in which the set is minimal."""
    lowest: Proportion | None
    """Smallest sufficiency over the retrained models with the same outcome; None if unknown."""
    highest: Proportion | None


@dataclass(frozen=True)
class OtherMinimalSet:
    """A set that is not minimal in the model, but in at least half of the retrained models."""

    view: ViewName
    features: tuple[str, ...]
    minimal: Share


# Stored under the name that the field had in version 0.5.0.
class StableOption(msgspec.Struct, frozen=True, rename={"text": "says"}):
    """A recourse option of the model, retested on the retrained models."""

    text: str
    """The change as text."""
    cost: NonNegative
    works: Share


@dataclass(frozen=True)
class StableDecision:
    """Stability of one decision over the retrained models."""

    name: str
    outcome: str
    same: Share
    """Share of retrained models with the same outcome."""
    factors: tuple[StableFactor, ...]
    """Minimal sets of the model, those of `keep` first."""
    others: tuple[OtherMinimalSet, ...]
    """Sets that are minimal in at least half of the retrained models, but not in the model."""
    distance: RoundedShare | None
    """Mean barcode distance of both views to the model's, over the retrained models with the same
    outcome: 0 equal at every τ, 1 nothing in common. None if unknown."""
    options: tuple[StableOption, ...]

    @property
    def sets_hold(self) -> float | None:
        """Mean share of models in which a minimal set holds; None without sets."""
        return _mean_share(f.holds for f in self.factors)

    @property
    def options_work(self) -> float | None:
        """Mean share of models in which a recourse option works; None without options."""
        return _mean_share(o.works for o in self.options)


@dataclass(frozen=True, repr=False)
class Stability(DecisionSequence[StableDecision], Result):
    """Outcomes, sets and recourse options that hold in k retrained models: see `audit.stability`.

    >>> import pandas as pd
    >>> from suffice import audit
    >>> people = pd.DataFrame({"pay": [30, 60, 45, 60, 20, 40], "debt": [20, 20, 0, 40, 10, 5]})
    >>> def fit(X, y):  # grants at the mean of those it is shown, and above
    ...     return lambda rows: rows["pay"] >= X["pay"].mean()
    >>> found = audit.stability(fit, people, [0, 1, 1, 1, 0, 0], k=5, rows=people.iloc[:3])
    >>> found.agreed
    Share(hits=2, n=3)
    >>> [(d.outcome, d.same.hits, d.sets_hold) for d in found]
    [('False', 5, 1.0), ('True', 5, 1.0), ('True', 3, 0.6)]
    """

    plots = ("stability", "measures")

    model: str
    k: NaturalNumber
    tau: Proportion
    resample: Resample
    n_rows: NaturalNumber
    """Number of rows that models are fitted to."""
    chosen: bool
    """Whether the explained rows were chosen evenly from the table, not given."""
    decisions: tuple[StableDecision, ...]

    @property
    def agreed(self) -> Share:
        """Share of decisions whose outcome is the same in every model."""
        return Share.of(d.same.hits == d.same.n for d in self.decisions)

    @property
    def factors(self) -> tuple[StableFactor, ...]:
        """Minimal sets of all decisions."""
        return tuple(f for d in self.decisions for f in d.factors)

    @property
    def options(self) -> tuple[StableOption, ...]:
        """Recourse options of all decisions."""
        return tuple(o for d in self.decisions for o in d.options)

    @property
    def sheet(self) -> Sheet:
        """Summary: how many models confirm outcomes, minimal sets and recourse options."""
        one = len(self.decisions) == 1
        what = "this decision" if one else plural(len(self), "decision")
        return Sheet(
            f"What holds for {what} in {plural(self.k, 'retrained model')}",
            lead=tuple(self._lead()),
            panels=tuple(self._panels_of_one() if one else self._panels()),
            notes=tuple(self._notes()),
        )

    def _lead(self) -> Iterator[str]:
        if len(self.decisions) == 1:
            (d,) = self.decisions
            yield f"“{format_name(d.outcome)}” in {_fraction_text(d.same)} models."
        else:
            yield (
                f"The outcome is the same in every model for {number_or_none(self.agreed.hits)} of "
                f"{plural(self.agreed.n, 'decision')}."
            )
        yield from _stability_sentence(
            "minimal set", "still suffice", [f.holds for f in self.factors]
        )
        yield from _stability_sentence("recourse option", "work", [o.works for o in self.options])

    def _panels_of_one(self) -> Iterator[Panel]:
        (d,) = self.decisions
        if d.factors:
            heading = "The model's minimal sets"
            yield make_panel(_SET_FIELDS, d.factors[:_SHOWN], heading, _rest(d.factors))
        if d.others:
            heading = "Minimal in half of the others or more"
            yield make_panel(_OTHER_FIELDS, d.others[:_SHOWN], heading, _rest(d.others))
        yield from self._option_panels()

    def _panels(self) -> Iterator[Panel]:
        order = sorted(self.decisions, key=lambda d: (d.same.hits, -(d.distance or 0.0)))
        heading = "The least stable decisions first"
        yield make_panel(_DECISION_FIELDS, order[:_SHOWN], heading, _rest(order))
        yield from self._option_panels()

    def _option_panels(self) -> Iterator[Panel]:
        options = [(d, o) for d in self.decisions for o in d.options]
        if options:
            options.sort(key=lambda option: option[1].works.hits)
            heading = "Recourse options, those that work least often first"
            yield make_panel(_OPTION_FIELDS, options[:_SHOWN], heading, _rest(options))

    def _notes(self) -> Iterator[str]:
        chosen = f" These are {len(self):,} of {self.n_rows:,} rows, evenly spread." * self.chosen
        yield (
            f"{plural(self.k, 'model')} fitted again, {_RESAMPLE_TEXT[self.resample]}. A set holds "
            "where the "
            f"model gives the same outcome and the set suffices at τ = {self.tau:g}, against "
            f"references of its own. Intervals are exact (95%), reading models as a sample.{chosen}"
        )
        unknown = sum(f.holds.n < self.k for f in self.factors)
        if unknown:
            yield (
                f"Of {plural(unknown, 'set')} it is not known of every model: searches were "
                "bounded."
            )

    def to_frame(self) -> Any:
        """Return a pandas frame with a row for each outcome, minimal set and recourse option."""
        rows: list[tuple[str, str, Any, Share, StableFactor | None]] = []
        for d in self.decisions:
            rows.append((d.name, "outcome", d.outcome, d.same, None))
            rows += [(d.name, f.view, f.features, f.holds, f) for f in d.factors]
            rows += [(d.name, "recourse", o.text, o.works, None) for o in d.options]
        return make_frame(_FRAME_FIELDS, rows)


def _rest(of: Sequence[Any]) -> OmittedRows:
    return OmittedRows(len(of) - _SHOWN, ".to_frame()")


def _fraction_text(share: Share) -> str:
    return f"{share.hits} of {share.n}"


_SET_FIELDS = (
    Field("", "set", value=lambda f: format_features(f.features)),
    Field("", "suffices", value=lambda f: f"to {f.view}"),
    Field("", "sufficiency", "share", value=lambda f: f.sufficiency.share),
    Field("", "valid in", value=lambda f: _fraction_text(f.holds)),
    Field("", "share of models", "share", value=lambda f: f.holds),
    Field("", "minimal in", "number", value=lambda f: f.minimal),
)
_OTHER_FIELDS = (
    Field("", "set", value=lambda s: format_features(s.features)),
    Field("", "suffices", value=lambda s: f"to {s.view}"),
    Field("", "minimal in", value=lambda s: _fraction_text(s.minimal)),
)
_DECISION_FIELDS = (
    Field("", "decision", value=lambda d: d.name),
    Field("", "outcome", value=lambda d: format_name(d.outcome)),
    Field("", "same in", value=lambda d: _fraction_text(d.same)),
    Field("", "share of models", "share", value=lambda d: d.same),
    Field("", "its sets suffice in", "share", value=lambda d: d.sets_hold),
    Field(
        "",
        "distance",
        "number",
        value=lambda d: None if d.distance is None else float(three_digits(d.distance)),
    ),
)
_OPTION_FIELDS = (
    Field("", "decision", value=lambda row: row[0].name),
    Field("", "change", value=lambda row: row[1].text),
    Field("", "cost", "number", value=lambda row: row[1].cost),
    Field("", "valid in", value=lambda row: _fraction_text(row[1].works)),
    Field("", "share of models", "share", value=lambda row: row[1].works),
)
_FRAME_FIELDS = (
    Field("decision", value=lambda row: row[0]),
    Field("kind", value=lambda row: row[1]),
    Field("what", value=lambda row: row[2]),
    Field("holds", value=lambda row: row[3].hits),
    Field("models", value=lambda row: row[3].n),
    Field("share", value=lambda row: row[3].share),
    Field("low", value=lambda row: row[3].interval[0]),
    Field("high", value=lambda row: row[3].interval[1]),
    Field("minimal", value=lambda row: getattr(row[4], "minimal", None)),
    Field("lowest", value=lambda row: getattr(row[4], "lowest", None)),
    Field("highest", value=lambda row: getattr(row[4], "highest", None)),
)


def _stability_sentence(thing: str, does: str, shares: Iterable[Share]) -> Iterator[str]:
    """Yield how many things hold in nearly all models, and the mean share of models."""
    known = [s.share for s in shares if s.share is not None]
    if len(known) == 1:
        yield f"The one {thing} {does}s in {percent(known[0])} of the models."
    elif known:
        mostly = sum(s >= _NEARLY_ALL for s in known)
        yield (
            f"Of {plural(len(known), thing)}, {number_or_none(mostly)} "
            f"{does}{'s' * (mostly < 2)} in "
            f"at least {percent(_NEARLY_ALL)} of the models; on average one does in "
            f"{percent(fmean(known))}."
        )


def _mean_share(shares: Iterable[Share]) -> float | None:
    known = [s.share for s in shares if s.share is not None]
    return fmean(known) if known else None


Resample = Literal["bootstrap", "seed"]
