"""Pearl's probabilities of causation as sufficiency in a context of counterfactuals (Prop. 4).

Pearl (2000, ch. 9) asks of a cause x (rather than x') and an effect y

    nec = P(y'_x' | x, y)     x and y were seen: would y have failed, had X been x'?
    suf = P(y_x | x', y')     neither was seen: would y have come about, had X been x?
    PNS = P(y_x, y'_x')       would y follow X, whichever way it is set?

with y_x the effect in the same world after X is set to x. Proposition 4 draws z from two spaces of
worlds, I (x and y seen, X set to x') and R (x' and y' seen, X set to x), each with probability 1/2,
and lets w tell the spaces apart. With c(z) = w, suf is PS(c, y) and nec is PS(1 - c, y').

*Departure.* The paper tags I, the "original" space, with W = 1. Then PS(c, y) would be P_I(y), that
is 1 - nec, and PS(1 - c, y') would be 1 - suf. The proposition's own proof needs suf = P_R(y), so
here W = 1 tags R: c says "X was set to x", and its name is that, as in `do(A = True)`.

Where X is no cause of Y, setting X changes nothing: nec, suf and PNS are 0, where defined.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from suffice.checks import whole
from suffice.context.causal import CausalModel
from suffice.context.causal.equations import MOST_ROWS
from suffice.context.sample import Sample
from suffice.encodings.causation.data import Arms, Joint
from suffice.encodings.causation.question import Cause, World, read_cause, read_effect
from suffice.encodings.causation.result import Causation, Intervals
from suffice.errors import InputError
from suffice.factors.kinds import Factor
from suffice.factors.predicates import equals
from suffice.inference import clopper_pearson
from suffice.measures import Measures
from suffice.randomness import Stream, generator
from suffice.typing import BoolVector, Reals, Values

__all__ = ["probabilities_of_causation"]

DRAWS = 100_000
"""Worlds drawn where they cannot all be enumerated."""


def probabilities_of_causation(
    scm: CausalModel,
    cause: str | tuple[str, object, object],
    effect: str | tuple[str, object] | Factor,
    *,
    n_worlds: int | None = None,
    random_state: int = 0,
) -> Causation:
    """Is x a necessary, and a sufficient, cause of y? Pearl's answers, from a causal model.

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
        sample=None if drawn is None else _rows(x, with_x, space_r, without, space_i),
    )


@dataclass(frozen=True)
class _Mass:
    """The probability of a set of worlds."""

    weights: Reals

    def __call__(self, worlds: BoolVector) -> float:
        # The same worlds added in another order may come to a trace more than all of them.
        return min(float(self.weights[worlds].sum()) / float(self.weights.sum()), 1.0)

    def share(self, part: BoolVector, of: BoolVector) -> float | None:
        """P(part | of)."""
        whole = float(self.weights[of].sum())
        return min(float(self.weights[part & of].sum()) / whole, 1.0) if whole > 0 else None


def _worlds(
    scm: CausalModel, n_worlds: int | None, random_state: int
) -> tuple[Mapping[str, Values], Reals, int | None]:
    """Noise, a weight per world, and how many were drawn (None: these are all there are)."""
    seed = whole("random_state", random_state, least=0)
    if n_worlds is None and scm.enumerable:
        return *scm.worlds(), None
    n = DRAWS if n_worlds is None else whole("n_worlds", n_worlds, most=MOST_ROWS)
    return scm.draw(n, generator(seed, Stream.WORLDS)), np.ones(n), n


def _measures(y_in_r: float | None, y_in_i: float | None) -> Measures:
    """Counts on D, where each space weighs 1.

    Shares are rounded to multiples of 2^-52. Then the differences from which the contrapositive is
    counted are exact, and a share of 0 does not come out as a trace below it.
    """
    in_r, in_i = (0.0 if p is None else round(p * 2**52) / 2**52 for p in (y_in_r, y_in_i))
    spaces = [float(p is not None) for p in (y_in_r, y_in_i)]
    return Measures(both=in_r, factor=spaces[0], outcome=in_r + in_i, total=sum(spaces))


def _interval(part: BoolVector, of: BoolVector) -> tuple[float, float] | None:
    if not of.any():
        return None
    low, high = clopper_pearson((part & of).sum(), of.sum())
    return float(low), float(high)


def _rows(
    cause: Cause, with_x: World, space_r: BoolVector, without: World, space_i: BoolVector
) -> Sample | None:
    """As many rows of either space, in the order drawn: worlds are alike, so any will do."""
    import pandas as pd

    rows_r, rows_i = np.flatnonzero(space_r), np.flatnonzero(space_i)
    size = min(len(rows_r), len(rows_i))
    if not size:
        return None
    z = {k: np.concatenate([with_x[k][rows_r[:size]], without[k][rows_i[:size]]]) for k in with_x}
    return Sample(pd.DataFrame({**z, cause.tag: np.repeat([True, False], size)}), [cause.tag])
