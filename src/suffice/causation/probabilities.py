"""Pearl's probabilities of causation as sufficiency in a context of counterfactuals (Prop. 4).

Pearl (2000, ch. 9) defines, for a cause x (rather than x') and an effect y,

    nec = P(y'_x' | x, y)     x and y were seen: would y have failed, had X been x'?
    suf = P(y_x | x', y')     neither was seen: would y have come about, had X been x?
    PNS = P(y_x, y'_x')       would y follow X, whichever way it is set?

with y_x the effect in the same world after X is set to x. Proposition 4 draws z from two spaces of
worlds, I (x and y seen, X set to x') and R (x' and y' seen, X set to x), each with probability 1/2,
and lets w distinguish the spaces. With c(z) = w, suf is PS(c, y) and nec is PS(1 - c, y').

*Departure.* The paper tags I, the "original" space, with W = 1. Then PS(c, y) would be P_I(y), that
is 1 - nec, and PS(1 - c, y') would be 1 - suf. The proposition's own proof needs suf = P_R(y), so
here W = 1 tags R: c means "X was set to x", and is named so, as in `do(A = True)`.

Where X is no cause of Y, setting X changes nothing: nec, suf and PNS are 0, where defined.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import msgspec
import numpy as np

from suffice.causation.bounds import PROBABILITY_NAMES, interval_text, require_ordered
from suffice.causation.cause_and_effect import (
    Arms,
    Cause,
    Interval,
    Joint,
    Probability,
    World,
    read_cause,
    read_effect,
)
from suffice.context.causal import CausalModel
from suffice.context.causal.model import MAX_DRAWN_ROWS
from suffice.context.hybrids import Sample
from suffice.errors import InputError
from suffice.factors.predicates import AnyFactor, Factor, equals
from suffice.factors.rule_text import format_rule
from suffice.formatting import format_integer, format_value, percent, three_digits
from suffice.inference import Share
from suffice.measures import Measures
from suffice.randomness import Stream, generator
from suffice.results import Column, Panel, Result, Sheet
from suffice.typing import BoolVector, Reals, Values
from suffice.validation import check_integer

DEFAULT_WORLDS = 100_000
"""Worlds drawn where they cannot all be enumerated."""


def probabilities_of_causation(
    scm: CausalModel,
    cause: str | tuple[str, object, object],
    effect: str | tuple[str, object] | Factor,
    *,
    n_worlds: int | None = None,
    random_state: int = 0,
) -> Causation:
    """Compute Pearl's probabilities of necessity and sufficiency from a causal model.

    Parameters
    ----------
    scm
        The structural causal model.
    cause
        A Boolean node (true rather than false), or (node, x, x').
    effect
        A Boolean node, (node, value), or a factor over nodes such as compare("score", ">=", 700).
    n_worlds
        Draw so many worlds. By default all are enumerated; where that is impossible, 100,000
        are drawn.
    random_state
        Seeds the draws.

    >>> from suffice.context.causal import CausalModel
    >>> scm = CausalModel({"fire": ["match", "oxygen"]}, mechanisms={
    ...     "match": 0.1, "oxygen": 0.9, "fire": lambda match, oxygen: match & oxygen})
    >>> print(probabilities_of_causation(scm, "match", "fire"))
    Is match = yes rather than no a cause of fire = yes?
      For fire = yes, match = yes is needed in 100% of the worlds that have both and enough in
      90% of those that have neither.
                   probability  asks
      necessity    1.000        both seen: would fire = yes have failed, had match been no?
      sufficiency  0.900        neither seen: would fire = yes have come about with match = yes?
      pns          0.900        would fire = yes follow match, whichever of the two it is set
                                to?
      Exact: all worlds were enumerated.
    """
    if not isinstance(scm, CausalModel):
        raise InputError("scm", scm, "a CausalModel", "Without one, see causation_bounds.")
    noise, weights, drawn = _worlds(scm, n_worlds, random_state)
    factual = scm.solve(noise)
    x = read_cause(cause, factual, weights > 0)
    y, check = read_effect(effect, x, factual)
    with_x, without = (scm.solve(noise, {x.node: v}) for v in (x.value, x.other))
    is_x, is_other = (equals(x.node, v)(factual) for v in (x.value, x.other))
    seen, y_x, y_other = y(factual), y(with_x), y(without)
    if check and not ((seen | y_x | y_other) & (weights > 0)).any():
        got = f"{effect!r}, a value that no world has"
        raise InputError("effect", got, "a value that the node takes")

    mass = _Mass(weights)
    space_i, space_r = is_x & seen, is_other & ~seen
    helped, everywhere = y_x & ~y_other, np.ones(len(weights), dtype=bool)
    return Causation(
        cause=x,
        effect=y,
        measures=_measures(mass.share(y_x, space_r), mass.share(y_other, space_i)),
        pns=mass(helped),
        observational=Joint(
            mass(space_i), mass(is_x & ~seen), mass(is_other & seen), mass(space_r)
        ),
        experimental=Arms(mass(y_x), mass(y_other)),
        n_worlds=drawn,
        intervals=None
        if drawn is None
        else Intervals(
            _interval(~y_other, space_i), _interval(y_x, space_r), _interval(helped, everywhere)
        ),
        sample=None if drawn is None else _sample_rows(x, with_x, space_r, without, space_i),
    )


@dataclass(frozen=True)
class _Mass:
    """Probability measure on a list of worlds."""

    weights: Reals

    def __call__(self, worlds: BoolVector) -> float:
        # Added in another order, the weights of the same worlds may sum to slightly more.
        return min(float(self.weights[worlds].sum()) / float(self.weights.sum()), 1.0)

    def share(self, part: BoolVector, of: BoolVector) -> float | None:
        """Return P(part | of); None if `of` has no mass."""
        whole = float(self.weights[of].sum())
        return min(float(self.weights[part & of].sum()) / whole, 1.0) if whole > 0 else None


def _worlds(
    scm: CausalModel, n_worlds: int | None, random_state: int
) -> tuple[Mapping[str, Values], Reals, int | None]:
    """Return noise, a weight per world, and the number drawn (None: all were enumerated)."""
    seed = check_integer("random_state", random_state, least=0)
    if n_worlds is None and scm.enumerable:
        return *scm.worlds(), None
    n = (
        DEFAULT_WORLDS
        if n_worlds is None
        else check_integer("n_worlds", n_worlds, most=MAX_DRAWN_ROWS)
    )
    return scm.draw(n, generator(seed, Stream.WORLDS)), np.ones(n), n


def _measures(y_in_r: float | None, y_in_i: float | None) -> Measures:
    """Return the measures of D, in which each of the two spaces has weight 1.

    Shares are rounded to multiples of 2^-52. Then the differences from which the contrapositive is
    counted are exact, and a share of 0 does not come out as a trace below it.
    """
    in_r, in_i = (0.0 if p is None else round(p * 2**52) / 2**52 for p in (y_in_r, y_in_i))
    spaces = [float(p is not None) for p in (y_in_r, y_in_i)]
    return Measures(both=in_r, factor=spaces[0], outcome=in_r + in_i, total=sum(spaces))


def _interval(part: BoolVector, of: BoolVector) -> tuple[float, float] | None:
    return Share(int((part & of).sum()), int(of.sum())).interval if of.any() else None


def _sample_rows(
    cause: Cause, with_x: World, space_r: BoolVector, without: World, space_i: BoolVector
) -> Sample | None:
    """Return as many rows of each space; the first ones, since worlds are exchangeable."""
    import pandas as pd

    rows_r, rows_i = np.flatnonzero(space_r), np.flatnonzero(space_i)
    size = min(len(rows_r), len(rows_i))
    if not size:
        return None
    z = {k: np.concatenate([with_x[k][rows_r[:size]], without[k][rows_i[:size]]]) for k in with_x}
    return Sample(pd.DataFrame({**z, cause.tag: np.repeat([True, False], size)}), [cause.tag])


# The result: the three probabilities with their evidence.


class Intervals(NamedTuple):
    """Exact 95% intervals of the three probabilities; None where no world was drawn."""

    necessity: Interval | None
    sufficiency: Interval | None
    pns: Interval | None


class CausationRecord(msgspec.Struct):
    """JSON form of a `Causation`, without its sample, which can be drawn again."""

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
    """Pearl's three probabilities of causation, with their evidence."""

    stored: ClassVar[type | None] = CausationRecord

    cause: Cause
    effect: AnyFactor
    measures: Measures
    """The four measures of c, "X was set to x", for y on D. Each space has weight 1; one that is
    empty has none. Our PN, P(X was set to x | y), has no counterpart among Pearl's."""
    pns: Probability
    """P(y_x, y'_x')."""
    observational: Joint
    """P(x, y), P(x, y'), P(x', y), P(x', y'): the first is [True, True]. Their sum is below 1 where
    the cause can take other values."""
    experimental: Arms
    """P(y_x) at [True], P(y_x') at [False]."""
    n_worlds: int | None
    """Number of worlds drawn; None if all were enumerated."""
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
        """True if all worlds were enumerated, False if they were sampled."""
        return self.n_worlds is None

    @property
    def tag(self) -> str:
        """Name of the auxiliary column W in `sample`."""
        return self.cause.tag

    @property
    def sheet(self) -> Sheet:
        """The question, the result in a sentence, and the three probabilities."""
        x, y = f"{self.cause.node} = {format_value(self.cause.value)}", format_rule(self.effect)
        asks = (
            f"both seen: would {y} have failed, had {self.cause.node} been "
            f"{format_value(self.cause.other)}?",
            f"neither seen: would {y} have come about with {x}?",
            f"would {y} follow {self.cause.node}, whichever of the two it is set to?",
        )
        none = "undefined: no world has both", "undefined: no world has neither", ""
        values = self.necessity, self.sufficiency, self.pns
        shown = [
            empty if value is None else three_digits(value)
            for value, empty in zip(values, none, strict=True)
        ]
        within = [interval_text(pair, "–") for pair in self.intervals or ()]
        rows = zip(
            *([PROBABILITY_NAMES, shown] + ([within] if within else []) + [asks]), strict=True
        )
        headings = ["", "probability"] + (["95% interval"] if within else []) + ["asks"]
        if self.n_worlds is None:
            how = "Exact: all worlds were enumerated."
        else:
            how = (
                f"Estimated from {format_integer(self.n_worlds)} worlds drawn, with exact 95% "
                "intervals."
            )
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
        """Return a frame with the value and interval of each probability."""
        import pandas as pd

        pairs = self.intervals or (None, None, None)
        return pd.DataFrame(
            {
                "probability": PROBABILITY_NAMES,
                "value": [self.necessity, self.sufficiency, self.pns],
                "low": [pair and pair[0] for pair in pairs],
                "high": [pair and pair[1] for pair in pairs],
            }
        ).astype({"value": float, "low": float, "high": float})

    def _record(self) -> CausationRecord:
        names = CausationRecord.__struct_fields__
        return CausationRecord(**{name: getattr(self, name) for name in names})

    @classmethod
    def _from_record(cls, record: CausationRecord) -> Causation:
        require_ordered(record.intervals or ())
        counts = record.measures
        low = max(0.0, counts.factor + counts.outcome - counts.total)
        if not low <= counts.both + 1e-9 or counts.both > min(counts.factor, counts.outcome):
            raise InputError("text", f"{counts}", "counts that can occur together")
        return cls(**{name: getattr(record, name) for name in record.__struct_fields__})
