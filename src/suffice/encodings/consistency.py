"""Can one population have given both the observation and the trial, under what is assumed?

Those who are seen with x and y are among those in whom x brings y about: P(x, y) <= P(y_x), and
so on for the other cells. Monotonicity and exogeneity add inequalities of their own. Where one
fails, no causal model fits, and bounds from such data would mean nothing.
"""

from __future__ import annotations

from suffice.encodings.two_by_two import Arms, Joint
from suffice.errors import InputError

__all__ = ["reconciled"]


def reconciled(
    joint: Joint | None,
    trial: Arms | None,
    monotone: bool,
    exogenous: bool,
    tolerance: float,
) -> tuple[Arms | None, float]:
    """P(y_x) and P(y_x') as near the trial's as the rest allows, and how far they were moved.

    None where neither a trial nor exogeneity tells them. Raises where one would have to be moved
    by more than the tolerance.
    """
    arms = trial
    if exogenous and joint is not None:
        arms = _without_confounding(joint, trial, tolerance)
    elif joint is not None and trial is not None:
        arms = _beside(joint, trial, monotone, tolerance)
    if arms is None:
        return None, 0.0
    start = trial or arms
    if monotone and arms.control > arms.treated:
        rule = "P(y_x') <= P(y_x) (monotone)"
        _require(rule, arms.control, arms.treated, tolerance, trial is None)
        arms = Arms(*[(arms.control + arms.treated) / 2] * 2)
    return arms, max(abs(a - b) for a, b in zip(arms, start, strict=True))


def _without_confounding(joint: Joint, trial: Arms | None, tolerance: float) -> Arms | None:
    """P(y | x) and P(y | x'); the trial's share for a value of the cause that was never seen."""
    seen = (joint.cause, joint.yes_yes), (joint.no_cause, joint.no_yes)
    if trial is None and min(whole for whole, _ in seen) <= 0:
        return None  # one arm is unknown: exogeneity then adds nothing to the observation
    shares = [part / whole if whole > 0 else None for whole, part in seen]
    if trial is None:
        return Arms(*(share for share in shares if share is not None))
    for share, tried, value in zip(shares, trial, ("x", "x'"), strict=True):
        if share is not None:
            rule = f"P(y_{value}) = P(y | {value}) (exogenous)"
            _require(rule, max(share, tried), min(share, tried), tolerance)
    return Arms(*(t if s is None else s for s, t in zip(shares, trial, strict=True)))


def _beside(joint: Joint, trial: Arms, monotone: bool, tolerance: float) -> Arms:
    """The trial's shares, each held within what the observation leaves possible."""
    treated, control = trial
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
