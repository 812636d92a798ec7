"""What data alone tell about Pearl's probabilities of causation: Tian and Pearl's sharp bounds.

Without a structural causal model, nec = P(y'_x' | x, y), suf = P(y_x | x', y') and
PNS = P(y_x, y'_x') are in general not identified (Tian & Pearl 2000): data only confine them.

Every case is of one of four response types: y whatever x is ("always"), y just where x
("helped"), y just where x' ("hurt"), or y' whatever x is ("never"). Then

    PNS = P(helped),  nec = P(x, helped) / P(x, y),  suf = P(x', helped) / P(x', y').

An observed distribution fixes the four sums P(x, y) = P(x, always) + P(x, helped), and so on. A
trial adds P(y_x), which speaks only of types among the x', and P(y_x'), only among the x. So with
an observation the parts P(x, helped) and P(x', helped) are bounded apart, and PNS is their sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from suffice.encodings.consistency import reconciled
from suffice.encodings.two_by_two import Arms, Joint, read_arms, read_joint
from suffice.errors import InputError

__all__ = ["CausationBounds", "causation_bounds"]

Pair = tuple[float, float]


@dataclass(frozen=True)
class CausationBounds:
    """Sharp bounds: some causal model agrees with the data at either end, and none beyond."""

    necessity: Pair | None
    """nec = P(y'_x' | x, y); None where P(x, y) = 0."""
    sufficiency: Pair | None
    """suf = P(y_x | x', y'); None where P(x', y') = 0."""
    pns: Pair
    """P(y_x, y'_x'): the cause is both necessary and sufficient."""
    data: tuple[str, ...]
    """What was given: "observational", "experimental"."""
    assumptions: tuple[str, ...]
    """What was assumed: "exogenous", "monotone"."""
    moved: float
    """How far P(y_x) or P(y_x') was moved to agree with the rest, within the tolerance."""

    @property
    def identified(self) -> tuple[str, ...]:
        """Which of the three are points: the data and the assumptions fix them."""
        return tuple(name for name, pair in self._pairs() if pair and pair[1] - pair[0] < 1e-9)

    def _pairs(self) -> tuple[tuple[str, Pair | None], ...]:
        necessity, sufficiency = self.necessity, self.sufficiency
        return ("necessity", necessity), ("sufficiency", sufficiency), ("pns", self.pns)

    def __str__(self) -> str:
        given = " and ".join(self.data) + " data"
        assumed = f", assumed {' and '.join(self.assumptions)}" if self.assumptions else ""
        lines = [f"Probabilities of causation from {given}{assumed}"]
        for name, pair in self._pairs():
            lines.append(f"  {name:<12} {_shown(pair, name in self.identified)}")
        if self.moved > 1e-9:
            lines.append(f"  (shares of the effect were moved by {self.moved:.3g} to agree)")
        return "\n".join(lines)


def causation_bounds(
    observational: Any = None,
    experimental: Any = None,
    monotone: bool = False,
    exogenous: bool = False,
    tolerance: float = 1e-9,
) -> CausationBounds:
    """Bound nec, suf and PNS of a Boolean cause x and effect y by what data tell.

    Parameters
    ----------
    observational
        How cause and effect occur together: {(x, y): probability or count} (a cell left out is 0),
        an array of counts [cause][effect] with False before True, or a frame of two Boolean
        columns, cause first.
    experimental
        A randomised trial: {True: P(y | do(x)), False: P(y | do(x'))}, counts
        {True: (events, n), False: (events, n)}, or a frame of two Boolean columns.
    monotone
        Assume that the cause never prevents the effect: y_x' implies y_x.
    exogenous
        Assume no confounding: P(y_x) = P(y | x), so that an observation is as good as a trial.
    tolerance
        How far P(y_x) and P(y_x') may be moved where they contradict the rest. The default
        allows for rounding only.

    >>> print(causation_bounds({(True, True): 30, (True, False): 10,
    ...                         (False, True): 20, (False, False): 40}, exogenous=True))
    Probabilities of causation from observational data, assumed exogenous
      necessity    0.556 to 0.889
      sufficiency  0.625 to 1.000
      pns          0.417 to 0.667
    """
    if observational is None and experimental is None:
        raise InputError("observational, experimental", "neither", "one of them, or both")
    if not isinstance(tolerance, int | float) or not 0 <= tolerance < 1:
        raise InputError("tolerance", tolerance, "a number in [0, 1)")
    joint = None if observational is None else read_joint(observational)
    trial = None if experimental is None else read_arms(experimental)
    arms, moved = reconciled(joint, trial, monotone, exogenous, tolerance)

    if exogenous and arms is not None:
        necessity, sufficiency, pns = _unconfounded(arms, monotone)
    elif joint is not None:
        necessity, sufficiency, pns = _observed(joint, arms, monotone)
    else:
        assert arms is not None  # one of the two was given
        necessity, sufficiency, pns = _tried(arms, monotone)
    if joint is not None:
        necessity = necessity if joint.yes_yes > 0 else None
        sufficiency = sufficiency if joint.no_no > 0 else None
    data = (("observational", joint), ("experimental", trial))
    assumed = (("exogenous", exogenous), ("monotone", monotone))
    return CausationBounds(
        necessity=necessity,
        sufficiency=sufficiency,
        pns=pns,
        data=tuple(name for name, value in data if value is not None),
        assumptions=tuple(name for name, value in assumed if value),
        moved=moved,
    )


Three = tuple[Pair | None, Pair | None, Pair]


def _observed(joint: Joint, arms: Arms | None, monotone: bool) -> Three:
    """An observation, and perhaps a trial: P(x, helped) and P(x', helped), each by itself."""
    among_x, among_not_x = (0.0, joint.yes_yes), (0.0, joint.no_no)
    if arms is not None:
        # P(y_x') counts the (x', y), the "always" among (x, y) and the "hurt" among (x, y').
        low = max(0.0, joint.effect - arms.control)
        high = min(joint.yes_yes, 1 - arms.control - joint.no_no)
        among_x = (low, low if monotone else max(low, high))
        low = max(0.0, arms.treated - joint.effect)
        high = min(joint.no_no, arms.treated - joint.yes_yes)
        among_not_x = (low, low if monotone else max(low, high))
    low, high = (min(a + b, 1.0) for a, b in zip(among_x, among_not_x, strict=True))
    return _over(among_x, joint.yes_yes), _over(among_not_x, joint.no_no), (low, high)


def _unconfounded(arms: Arms, monotone: bool) -> Three:
    """x independent of the type: nec = P(helped) / P(y_x) and suf = P(helped) / P(y'_x')."""
    pns = _helped(arms, monotone)
    return _over(pns, arms.treated), _over(pns, 1 - arms.control), pns


def _tried(arms: Arms, monotone: bool) -> Three:
    """A trial alone: who would take the cause unasked is unknown, so any type may have taken it.

    nec is then confined only where no case can be "helped" (nec = 0), or none "always" (nec = 1).
    """
    pns = _helped(arms, monotone)
    top = float(pns[1] > 0)
    necessity = (min(top, float(arms.control == 0)), top) if arms.treated > 0 else None
    sufficiency = (min(top, float(arms.treated == 1)), top) if arms.control < 1 else None
    return necessity, sufficiency, pns


def _helped(arms: Arms, monotone: bool) -> Pair:
    low = max(0.0, arms.treated - arms.control)
    return low, low if monotone else min(arms.treated, 1 - arms.control)


def _over(pair: Pair, whole: float) -> Pair | None:
    return (min(pair[0] / whole, 1.0), min(pair[1] / whole, 1.0)) if whole > 0 else None


def _shown(pair: Pair | None, identified: bool) -> str:
    if pair is None:
        return "undefined: nothing observed to condition on"
    return f"{pair[0]:.3f}" if identified else f"{pair[0]:.3f} to {pair[1]:.3f}"
