"""What data alone tell about Pearl's probabilities of causation: Tian and Pearl's sharp bounds.

Without a structural causal model, nec = P(y'_x' | x, y), suf = P(y_x | x', y') and
PNS = P(y_x, y'_x') are in general not identified (Tian & Pearl 2000): data only confine them.

Every case is of one of four response types: y whatever x is ("always"), y just where x
("helped"), y just where x' ("hurt"), or y' whatever x is ("never"). Then

    PNS = P(helped),  nec = P(x, helped) / P(x, y),  suf = P(x', helped) / P(x', y').

An observed distribution fixes the four sums P(x, y) = P(x, always) + P(x, helped), and so on. A
trial adds P(y_x), which speaks only of types among the x', and P(y_x'), only among the x. So with
an observation the parts P(x, helped) and P(x', helped) are bounded apart, and PNS is their sum.

One population must be able to give both. Those who are seen with x and y are among those in whom x
brings y about: P(x, y) <= P(y_x), and so on for the other cells. Monotonicity and exogeneity add
inequalities of their own. Where one fails, no causal model fits, and bounds would mean nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from suffice.checks import number, truth
from suffice.encodings.causation.data import Arms, Joint, read_arms, read_joint
from suffice.encodings.causation.result import Assumption, CausationBounds, Data, Pair
from suffice.errors import InputError

__all__ = ["causation_bounds"]

TRACE = 1e-15
"""What sums and differences of a few probabilities may be off by."""


def causation_bounds(
    observational: Any = None,
    experimental: Any = None,
    *,
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
    Is it a cause? Bounds from observational data, assumed exogenous
      Of the cases with cause and effect, 56% to 89% needed the cause.
      Of those with neither, the cause would have been enough for 62% to 100%.
                   between
      necessity    0.556 to 0.889
      sufficiency  0.625 to 1.000
      pns          0.417 to 0.667
    """
    if observational is None and experimental is None:
        raise InputError("observational, experimental", "neither", "one of them, or both")
    joint = None if observational is None else read_joint(observational)
    trial = None if experimental is None else read_arms(experimental)
    given = _Given(
        joint,
        trial,
        truth("monotone", monotone),
        truth("exogenous", exogenous),
        number("tolerance", tolerance, "a number in [0, 1]", least=0, most=1),
    )
    arms, moved = _reconciled(given)

    if given.exogenous and arms is not None:
        necessity, sufficiency, pns = _unconfounded(arms, given.monotone)
    elif joint is not None:
        necessity, sufficiency, pns = _observed(joint, arms, given.monotone)
    else:
        assert arms is not None  # one of the two was given
        necessity, sufficiency, pns = _tried(arms, given.monotone)
    if joint is not None:
        necessity = necessity if joint.yes_yes > 0 else None
        sufficiency = sufficiency if joint.no_no > 0 else None
    data: list[Data] = [] if joint is None else ["observational"]
    data += [] if trial is None else ["experimental"]
    assumptions: list[Assumption] = ["exogenous"] if given.exogenous else []
    assumptions += ["monotone"] if given.monotone else []
    return CausationBounds(
        necessity=necessity,
        sufficiency=sufficiency,
        pns=pns,
        data=tuple(data),
        assumptions=tuple(assumptions),
        moved=moved,
    )


class _Given(NamedTuple):
    """What is known, and what is assumed."""

    joint: Joint | None
    trial: Arms | None
    monotone: bool
    exogenous: bool
    tolerance: float


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
    low, high = (_settled(a + b, 1.0) for a, b in zip(among_x, among_not_x, strict=True))
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
    high = low if monotone else min(arms.treated, 1 - arms.control)
    return _settled(low, 1.0), _settled(high, 1.0)


def _over(pair: Pair, whole: float) -> Pair | None:
    """Shares of a whole; None where there is nothing to share."""
    if whole <= 0:
        return None
    return _settled(pair[0], whole) / whole, _settled(pair[1], whole) / whole


def _settled(part: float, whole: float) -> float:
    """A part of a whole, without the traces that rounding leaves of none and of all of it."""
    return 0.0 if part < TRACE else whole if part > whole - TRACE else part


def _reconciled(given: _Given) -> tuple[Arms | None, float]:
    """P(y_x) and P(y_x') as near the trial's as the rest allows, and how far they were moved.

    None where neither a trial nor exogeneity tells them. Raises where one would have to be moved
    by more than the tolerance.
    """
    joint, trial, monotone, exogenous, tolerance = given
    arms = trial
    if exogenous and joint is not None:
        arms = _without_confounding(joint, trial, tolerance)
    elif joint is not None and trial is not None:
        arms = _beside(joint, trial, monotone, tolerance)
    if arms is None:
        return None, 0.0
    start = arms if trial is None else trial
    if monotone and arms.control > arms.treated:
        rule = "P(y_x') <= P(y_x) (monotone)"
        _require(rule, arms.control, arms.treated, tolerance, trial is None)
        arms = Arms(*[(arms.control + arms.treated) / 2] * 2)
    return arms, max(abs(arms[arm] - start[arm]) for arm in start)


def _without_confounding(joint: Joint, trial: Arms | None, tolerance: float) -> Arms | None:
    """P(y | x) and P(y | x'); the trial's share for a value of the cause that was never seen."""
    seen = (joint.cause, joint.yes_yes), (joint.no_cause, joint.no_yes)
    if trial is None and min(whole for whole, _ in seen) <= 0:
        return None  # one arm is unknown: exogeneity then adds nothing to the observation
    shares = [part / whole if whole > 0 else None for whole, part in seen]
    if trial is None:
        return Arms(*(share for share in shares if share is not None))
    tried = trial.treated, trial.control
    for share, other, value in zip(shares, tried, ("x", "x'"), strict=True):
        if share is not None:
            rule = f"P(y_{value}) = P(y | {value}) (exogenous)"
            _require(rule, max(share, other), min(share, other), tolerance)
    return Arms(*(t if s is None else s for s, t in zip(shares, tried, strict=True)))


def _beside(joint: Joint, trial: Arms, monotone: bool, tolerance: float) -> Arms:
    """The trial's shares, each held within what the observation leaves possible."""
    treated, control = trial.treated, trial.control
    _require("P(x, y) <= P(y_x)", joint.yes_yes, treated, tolerance)
    _require("P(y_x) <= 1 - P(x, y')", treated, 1 - joint.yes_no, tolerance)
    _require("P(x', y) <= P(y_x')", joint.no_yes, control, tolerance)
    _require("P(y_x') <= 1 - P(x', y')", control, 1 - joint.no_no, tolerance)
    if monotone:
        _require("P(y) <= P(y_x) (monotone)", joint.effect, treated, tolerance)
        _require("P(y_x') <= P(y) (monotone)", control, joint.effect, tolerance)
    lowest = joint.effect if monotone else joint.yes_yes
    highest = joint.effect if monotone else 1 - joint.no_no
    return Arms(
        min(max(treated, lowest), max(lowest, 1 - joint.yes_no)),
        min(max(control, joint.no_yes), max(joint.no_yes, highest)),
    )


def _require(
    rule: str, smaller: float, larger: float, tolerance: float, observed: bool = False
) -> None:
    """Raise where what should be the smaller is the larger by more than the tolerance."""
    excess = smaller - larger
    if excess > tolerance:
        raise InputError(
            "observational" if observed else "experimental",
            f"data that break {rule} by {excess:.3g}",
            "data that one population can have given, under what is assumed",
            "In finite samples this can happen by chance: a tolerance above that excess moves "
            "the shares until they agree. A large excess tells of different populations, or of a "
            "wrong assumption.",
        )
