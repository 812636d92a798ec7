"""In how many retrained models an explanation still holds: set by set, way out by way out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from suffice.audit.decisions import ViewName, set_words
from suffice.audit.gaps import Share
from suffice.audit.stability.models import Resample
from suffice.results import Column, Panel, Rest, Result, Sheet
from suffice.wording import count, named, or_none, percent, three_digits

__all__ = ["OtherSet", "Stability", "StableDecision", "StableFactor", "StableOption"]

_SHOWN = 10
_MOSTLY = 0.9
_HOW = {
    "bootstrap": "each to rows drawn anew from all of them (bootstrap)",
    "seed": "each to the same rows with another seed",
}


@dataclass(frozen=True)
class StableFactor:
    """A minimal set of the model's, in those fitted again."""

    view: ViewName
    features: tuple[str, ...]
    sufficiency: Share
    """In the model itself."""
    holds: Share
    """Models fitted again in which the outcome is the same and it suffices, of those in which that
    is known."""
    minimal: int
    """And in which it is minimal, too."""
    lowest: float | None
    """Its smallest sufficiency in models with the same outcome; None where it is known of none."""
    highest: float | None


@dataclass(frozen=True)
class OtherSet:
    """A set that is not minimal in the model, but in half or more of those fitted again."""

    view: ViewName
    features: tuple[str, ...]
    minimal: Share


@dataclass(frozen=True)
class StableOption:
    """A way out of the model's, tried on those fitted again."""

    says: str
    cost: float
    works: Share


@dataclass(frozen=True)
class StableDecision:
    """One decision, in the model and in those fitted again."""

    name: str
    outcome: str
    same: Share
    """Models fitted again that give it the same outcome."""
    factors: tuple[StableFactor, ...]
    """The model's minimal sets, keep first."""
    others: tuple[OtherSet, ...]
    """Sets that are minimal in half or more of the models fitted again, but not in this one."""
    distance: float | None
    """How far the barcodes of both views are from the model's, on average over the models with the
    same outcome: 0 the same at every τ, 1 nothing in common. None where it is known of none."""
    options: tuple[StableOption, ...]

    @property
    def sets_hold(self) -> float | None:
        """The share of models in which one of its minimal sets holds, on average; None: no set."""
        return _mean(f.holds for f in self.factors)

    @property
    def options_work(self) -> float | None:
        """The share of models in which one of its ways out works, on average; None: no way."""
        return _mean(o.works for o in self.options)


@dataclass(frozen=True, repr=False)
class Stability(Result):
    """In how many of k retrained models things hold: see `suffice.audit.stability`.

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
    k: int
    tau: float
    resample: Resample
    n_rows: int
    """Of the table that models are fitted to."""
    chosen: bool
    """Were the rows to explain chosen here, evenly spread over the table?"""
    decisions: tuple[StableDecision, ...]

    def __len__(self) -> int:
        return len(self.decisions)

    def __getitem__(self, at: int) -> StableDecision:
        return self.decisions[at]

    def __iter__(self) -> Iterator[StableDecision]:
        return iter(self.decisions)

    @property
    def agreed(self) -> Share:
        """Decisions whose outcome is the same in every model."""
        return Share.of(d.same.hits == d.same.n for d in self.decisions)

    @property
    def factors(self) -> tuple[StableFactor, ...]:
        """Every minimal set of the model's, of all decisions."""
        return tuple(f for d in self.decisions for f in d.factors)

    @property
    def options(self) -> tuple[StableOption, ...]:
        """Every way out, of all decisions."""
        return tuple(o for d in self.decisions for o in d.options)

    # -- in words -----------------------------------------------------------------------

    @property
    def sheet(self) -> Sheet:
        """What holds in how many models."""
        one = len(self.decisions) == 1
        what = "this decision" if one else count(len(self), "decision")
        return Sheet(
            f"What holds for {what} in {count(self.k, 'retrained model')}",
            lead=tuple(self._lead()),
            panels=tuple(self._panels_of_one() if one else self._panels()),
            notes=tuple(self._notes()),
        )

    def _lead(self) -> Iterator[str]:
        if len(self.decisions) == 1:
            (d,) = self.decisions
            yield f"“{named(d.outcome)}” in {_valid(d.same)} models."
        else:
            yield (
                f"The outcome is the same in every model for {or_none(self.agreed.hits)} of "
                f"{count(self.agreed.n, 'decision')}."
            )
        yield from _mostly("minimal set", "still suffice", [f.holds for f in self.factors])
        yield from _mostly("way", "work", [o.works for o in self.options], " out")

    def _panels_of_one(self) -> Iterator[Panel]:
        (d,) = self.decisions
        columns = (
            Column("set"),
            Column("suffices"),
            Column("sufficiency", "share"),
            Column("valid in"),
            Column("95% interval"),
            Column("minimal in", "number"),
        )
        rows = tuple(
            (
                set_words(f.features),
                f"to {f.view}",
                f.sufficiency.share,
                _valid(f.holds),
                f.holds.within,
                f.minimal,
            )
            for f in d.factors[:_SHOWN]
        )
        if rows:
            yield Panel(columns, rows, "The model's minimal sets", _more(d.factors))
        if d.others:
            heads = Column("set"), Column("suffices"), Column("minimal in")
            cells = tuple(
                (set_words(s.features), f"to {s.view}", _valid(s.minimal))
                for s in d.others[:_SHOWN]
            )
            yield Panel(heads, cells, "Minimal in half of the others or more", _more(d.others))
        yield from self._ways()

    def _panels(self) -> Iterator[Panel]:
        columns = (
            Column("decision"),
            Column("outcome"),
            Column("same in"),
            Column("95% interval"),
            Column("its sets suffice in", "share"),
            Column("distance", "number"),
        )
        order = sorted(self.decisions, key=lambda d: (d.same.hits, -(d.distance or 0.0)))
        rows = tuple(
            (
                d.name,
                named(d.outcome),
                _valid(d.same),
                d.same.within,
                d.sets_hold,
                None if d.distance is None else float(three_digits(d.distance)),
            )
            for d in order[:_SHOWN]
        )
        yield Panel(columns, rows, "The least stable decisions first", _more(order))
        yield from self._ways()

    def _ways(self) -> Iterator[Panel]:
        ways = [(d, o) for d in self.decisions for o in d.options]
        if not ways:
            return
        columns = (
            Column("decision"),
            Column("change"),
            Column("cost", "number"),
            Column("valid in"),
            Column("95% interval"),
        )
        ways.sort(key=lambda way: way[1].works.hits)
        rows = tuple(
            (d.name, o.says, o.cost, _valid(o.works), o.works.within) for d, o in ways[:_SHOWN]
        )
        yield Panel(columns, rows, "Ways out, those that work least often first", _more(ways))

    def _notes(self) -> Iterator[str]:
        chosen = f" These are {len(self):,} of {self.n_rows:,} rows, evenly spread." * self.chosen
        yield (
            f"{count(self.k, 'model')} fitted again, {_HOW[self.resample]}. A set holds where the "
            f"model gives the same outcome and the set suffices at τ = {self.tau:g}, against "
            f"references of its own. Intervals are exact (95%), reading models as a sample.{chosen}"
        )
        unknown = sum(f.holds.n < self.k for f in self.factors)
        if unknown:
            yield (
                f"Of {count(unknown, 'set')} it is not known of every model: searches were bounded."
            )

    def to_frame(self) -> Any:
        """A row for each outcome, minimal set and way out, with how many models it holds in."""
        import pandas as pd

        names = "decision kind what holds models share low high minimal lowest highest"
        rows: list[tuple[Any, ...]] = []
        for d in self.decisions:
            rows.append((d.name, "outcome", d.outcome, *_numbers(d.same), None, None, None))
            rows += [
                (d.name, f.view, f.features, *_numbers(f.holds), f.minimal, f.lowest, f.highest)
                for f in d.factors
            ]
            rows += [
                (d.name, "recourse", o.says, *_numbers(o.works), None, None, None)
                for o in d.options
            ]
        return pd.DataFrame(rows, columns=names.split())


def _mostly(thing: str, does: str, shares: Iterable[Share], tail: str = "") -> Iterator[str]:
    """How many of these hold in nearly all models, and in how many one does on average."""
    known = [s.share for s in shares if s.share is not None]
    if len(known) == 1:
        yield f"The one {thing}{tail} {does}s in {percent(known[0])} of the models."
    elif known:
        mostly = sum(s >= _MOSTLY for s in known)
        yield (
            f"Of {count(len(known), thing)}{tail}, {or_none(mostly)} {does}{'s' * (mostly < 2)} in "
            f"at least {percent(_MOSTLY)} of the models; on average one does in "
            f"{percent(fmean(known))}."
        )


def _more(of: Sequence[Any]) -> Rest:
    return Rest(len(of) - _SHOWN, ".to_frame()")


def _valid(share: Share) -> str:
    return f"{share.hits} of {share.n}"


def _mean(shares: Iterable[Share]) -> float | None:
    known = [s.share for s in shares if s.share is not None]
    return fmean(known) if known else None


def _numbers(share: Share) -> tuple[int, int, float | None, float, float]:
    return share.hits, share.n, share.share, *share.interval
