"""What is known about a cause, from a causal model or from data alone: frozen, told in words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple

import msgspec

from suffice.context.sample import Sample
from suffice.encodings.causation.data import Arms, Joint, Probability
from suffice.encodings.causation.question import Cause
from suffice.errors import InputError
from suffice.factors.kinds import AnyFactor
from suffice.factors.words import in_words
from suffice.measures import Measures
from suffice.results import Column, Panel, Result, Sheet
from suffice.wording import large, listed, percent, show, three_digits

__all__ = ["Assumption", "Causation", "CausationBounds", "Data", "Intervals", "Pair"]

Pair = tuple[Probability, Probability]
"""A lower and an upper bound."""

Data = Literal["observational", "experimental"]
Assumption = Literal["exogenous", "monotone"]

NAMES = ("necessity", "sufficiency", "pns")


class Intervals(NamedTuple):
    """Exact 95% intervals of the three probabilities; None where there is nothing to estimate."""

    necessity: Pair | None
    sufficiency: Pair | None
    pns: Pair | None


class _StoredCausation(msgspec.Struct):
    """A causation without its sample, which can be drawn again."""

    cause: Cause
    effect: AnyFactor
    measures: Measures
    pns: Probability
    observational: Joint
    experimental: Arms
    n_worlds: int | None
    intervals: Intervals | None


@dataclass(frozen=True, repr=False)
class Causation(Result):
    """Pearl's three probabilities, and all that they were read from."""

    stored: ClassVar[type | None] = _StoredCausation

    cause: Cause
    effect: AnyFactor
    measures: Measures
    """The four measures of c, "X was set to x", for y on D. Each space has weight 1; one that is
    empty has none. Our PN, P(X was set to x | y), has no counterpart among Pearl's."""
    pns: Probability
    """P(y_x, y'_x')."""
    observational: Joint
    """P(x, y), P(x, y'), P(x', y), P(x', y'): the first is [True, True]. Their sum is below 1 where
    the cause takes other values besides."""
    experimental: Arms
    """P(y_x) at [True], P(y_x') at [False]."""
    n_worlds: int | None
    """How many worlds were drawn; None where all were enumerated."""
    intervals: Intervals | None
    """Exact 95% intervals; None where there is nothing to estimate."""
    sample: Sample | None = field(default=None, compare=False)
    """A sample of D: as many rows of R as of I, the nodes after X was set, tagged by `tag`. Only
    where worlds were drawn (enumerated ones differ in weight, which rows have not) and both
    spaces have some. The more frequent space is cut to the size of the other. Not stored."""

    @property
    def necessity(self) -> float | None:
        """nec = PS(1 - c, y'); None where no world has x and y."""
        return self.measures.contrapositive.sufficiency

    @property
    def sufficiency(self) -> float | None:
        """suf = PS(c, y); None where no world has x' and y'."""
        return self.measures.sufficiency

    @property
    def exact(self) -> bool:
        """Were all worlds enumerated?"""
        return self.n_worlds is None

    @property
    def tag(self) -> str:
        """The name of the auxiliary W in `sample`."""
        return self.cause.tag

    @property
    def sheet(self) -> Sheet:
        """The question, the answer in a sentence, and the three probabilities."""
        x, y = f"{self.cause.node} = {show(self.cause.value)}", in_words(self.effect)
        asks = (
            f"both seen: would {y} have failed, had {self.cause.node} been "
            f"{show(self.cause.other)}?",
            f"neither seen: would {y} have come about with {x}?",
            f"would {y} follow {self.cause.node}, whichever of the two it is set to?",
        )
        none = "undefined: no world has both", "undefined: no world has neither", ""
        values = self.necessity, self.sufficiency, self.pns
        shown = [
            empty if value is None else three_digits(value)
            for value, empty in zip(values, none, strict=True)
        ]
        within = [_apart(pair, "–") for pair in self.intervals or ()]
        rows = zip(*([NAMES, shown] + ([within] if within else []) + [asks]), strict=True)
        headings = ["", "probability"] + (["95% interval"] if within else []) + ["asks"]
        if self.n_worlds is None:
            how = "Exact: all worlds were enumerated."
        else:
            how = f"Estimated from {large(self.n_worlds)} worlds drawn, with exact 95% intervals."
        return Sheet(
            title=f"Is {self.cause} a cause of {y}?",
            lead=(self._summary(x, y),),
            panels=(Panel(tuple(map(Column, headings)), tuple(rows)),),
            notes=(how,),
        )

    def _summary(self, x: str, y: str) -> str:
        parts = []
        if self.necessity is not None:
            parts.append(f"needed in {percent(self.necessity)} of the worlds that have both")
        if self.sufficiency is not None:
            parts.append(f"enough in {percent(self.sufficiency)} of those that have neither")
        if not parts:
            return f"No world has both {x} and {y}, and none has neither: there is nothing to ask."
        return f"For {y}, {x} is {' and '.join(parts)}."

    def to_frame(self) -> Any:
        """A row for each of the three: value, and the interval's ends (missing where exact)."""
        import pandas as pd

        pairs = self.intervals or (None, None, None)
        return pd.DataFrame(
            {
                "probability": NAMES,
                "value": [self.necessity, self.sufficiency, self.pns],
                "low": [pair and pair[0] for pair in pairs],
                "high": [pair and pair[1] for pair in pairs],
            }
        ).astype({"value": float, "low": float, "high": float})

    def _record(self) -> _StoredCausation:
        names = _StoredCausation.__struct_fields__
        return _StoredCausation(**{name: getattr(self, name) for name in names})

    @classmethod
    def _from_record(cls, record: _StoredCausation) -> Causation:
        _require_order(record.intervals or ())
        counts = record.measures
        low = max(0.0, counts.factor + counts.outcome - counts.total)
        if not low <= counts.both + 1e-9 or counts.both > min(counts.factor, counts.outcome):
            raise InputError("text", f"{counts}", "counts that can occur together")
        return cls(**{name: getattr(record, name) for name in record.__struct_fields__})


@dataclass(frozen=True, repr=False)
class CausationBounds(Result):
    """Sharp bounds: some causal model agrees with the data at either end, and none beyond."""

    necessity: Pair | None
    """nec = P(y'_x' | x, y); None where P(x, y) = 0."""
    sufficiency: Pair | None
    """suf = P(y_x | x', y'); None where P(x', y') = 0."""
    pns: Pair
    """P(y_x, y'_x'): the cause is both necessary and sufficient."""
    data: tuple[Data, ...]
    """What was given."""
    assumptions: tuple[Assumption, ...]
    """What was assumed."""
    moved: float
    """How far P(y_x) or P(y_x') was moved to agree with the rest, within the tolerance."""

    @property
    def identified(self) -> tuple[str, ...]:
        """Which of the three are points: the data and the assumptions fix them."""
        return tuple(name for name, pair in self._pairs() if pair and pair[1] - pair[0] < 1e-9)

    @property
    def sheet(self) -> Sheet:
        """Where the data come from, what they say in words, and the bounds."""
        assumed = f", assumed {listed(self.assumptions)}" if self.assumptions else ""
        nowhere = "undefined: nothing observed to condition on"
        rows = [
            (
                name,
                three_digits(pair[0])
                if pair and name in self.identified
                else _apart(pair, nowhere),
            )
            for name, pair in self._pairs()
        ]
        moved = f"Shares of the effect were moved by {self.moved:.3g} to agree."
        return Sheet(
            title=f"Is it a cause? Bounds from {listed(self.data)} data{assumed}",
            lead=tuple(self._sentences()),
            panels=(Panel((Column(""), Column("between")), tuple(rows)),),
            notes=(moved,) if self.moved > 1e-9 else (),
        )

    def _sentences(self) -> list[str]:
        out = []
        if self.necessity is not None:
            share = self._share("necessity", self.necessity)
            out.append(f"Of the cases with cause and effect, {share} needed the cause.")
        if self.sufficiency is not None:
            share = self._share("sufficiency", self.sufficiency)
            out.append(f"Of those with neither, the cause would have been enough for {share}.")
        return out

    def _shown(self, name: str, pair: Pair | None) -> str:
        if pair is not None and name in self.identified:
            return three_digits(pair[0])
        return _apart(pair, "undefined: nothing observed to condition on")

    def _share(self, name: str, pair: Pair) -> str:
        low, high = map(percent, pair)
        return low if name in self.identified else f"{low} to {high}"

    def to_frame(self) -> Any:
        """A row for each of the three: its bounds (missing where undefined); is it a point?"""
        import pandas as pd

        names, pairs = zip(*self._pairs(), strict=True)
        return pd.DataFrame(
            {
                "probability": names,
                "low": [pair and pair[0] for pair in pairs],
                "high": [pair and pair[1] for pair in pairs],
                "identified": [name in self.identified for name in names],
            }
        ).astype({"low": float, "high": float})

    def _pairs(self) -> tuple[tuple[str, Pair | None], ...]:
        return tuple(zip(NAMES, (self.necessity, self.sufficiency, self.pns), strict=True))

    @classmethod
    def _from_record(cls, record: CausationBounds) -> CausationBounds:
        _require_order(pair for _, pair in record._pairs())
        return record


def _apart(pair: Pair | None, otherwise: str) -> str:
    return otherwise if pair is None else f"{three_digits(pair[0])} to {three_digits(pair[1])}"


def _require_order(pairs: Any) -> None:
    """Raise for a stored interval that ends before it begins."""
    for pair in pairs:
        if pair is not None and pair[0] > pair[1]:
            raise InputError("text", f"an interval from {pair[0]} to {pair[1]}", "low <= high")
