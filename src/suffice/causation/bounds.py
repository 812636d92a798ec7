"""Tian and Pearl's sharp bounds on Pearl's probabilities of causation, from data alone.

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

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from suffice.causation.cause_and_effect import Arms, Interval, Joint, read_arms, read_joint
from suffice.errors import InputError
from suffice.formatting import join_words, percent, three_digits
from suffice.results import Column, Panel, Result, Sheet
from suffice.typing import NonNegative
from suffice.validation import check_bool, check_number

ROUNDING_ERROR = 1e-15
"""What sums and differences of a few probabilities may be off by."""


def causation_bounds(
    observational: Any = None,
    experimental: Any = None,
    *,
    monotone: bool = False,
    exogenous: bool = False,
    tolerance: float = 1e-9,
) -> CausationBounds:
    """Bound nec, suf and PNS of a Boolean cause x and effect y from data.

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
    given = _Evidence(
        joint,
        trial,
        check_bool("monotone", monotone),
        check_bool("exogenous", exogenous),
        check_number("tolerance", tolerance, "a number in [0, 1]", least=0, most=1),
    )
    arms, moved = _reconcile(given)

    if given.exogenous and arms is not None:
        necessity, sufficiency, pns = _bounds_without_confounding(arms, given.monotone)
    elif joint is not None:
        necessity, sufficiency, pns = _bounds_from_observation(joint, arms, given.monotone)
    else:
        assert arms is not None  # one of the two was given
        necessity, sufficiency, pns = _bounds_from_trial(arms, given.monotone)
    if joint is not None:
        necessity = necessity if joint.yes_yes > 0 else None
        sufficiency = sufficiency if joint.no_no > 0 else None
    data: list[DataSource] = [] if joint is None else ["observational"]
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


class _Evidence(NamedTuple):
    """Evidence and assumptions that the bounds follow from."""

    joint: Joint | None
    trial: Arms | None
    monotone: bool
    exogenous: bool
    tolerance: float


_ThreeIntervals = tuple[Interval | None, Interval | None, Interval]


def _bounds_from_observation(joint: Joint, arms: Arms | None, monotone: bool) -> _ThreeIntervals:
    """Return bounds from observation, and a trial if given, on P(x, helped) and P(x', helped)."""
    among_x, among_not_x = (0.0, joint.yes_yes), (0.0, joint.no_no)
    if arms is not None:
        # P(y_x') counts the (x', y), the "always" among (x, y) and the "hurt" among (x, y').
        # So at least P(y) - P(y_x') of those with x and y are "helped", and at most what is left
        # of all y' under x' once those with x' and y' are taken away.
        low = max(0.0, joint.effect - arms.control)
        high = min(joint.yes_yes, 1 - arms.control - joint.no_no)
        among_x = (low, low if monotone else max(low, high))
        low = max(0.0, arms.treated - joint.effect)
        high = min(joint.no_no, arms.treated - joint.yes_yes)
        among_not_x = (low, low if monotone else max(low, high))
    low, high = (_snap_to_ends(a + b, 1.0) for a, b in zip(among_x, among_not_x, strict=True))
    return _share_of(among_x, joint.yes_yes), _share_of(among_not_x, joint.no_no), (low, high)


def _bounds_without_confounding(arms: Arms, monotone: bool) -> _ThreeIntervals:
    """Return bounds without confounding: nec = P(helped)/P(y_x), suf = P(helped)/P(y'_x')."""
    pns = _pns_interval(arms, monotone)
    return _share_of(pns, arms.treated), _share_of(pns, 1 - arms.control), pns


def _bounds_from_trial(arms: Arms, monotone: bool) -> _ThreeIntervals:
    """Return bounds from a trial alone, in which any type may take the cause.

    nec is then confined only where no case can be "helped" (nec = 0), or none "always" (nec = 1).
    """
    pns = _pns_interval(arms, monotone)
    top = float(pns[1] > 0)
    necessity = (min(top, float(arms.control == 0)), top) if arms.treated > 0 else None
    sufficiency = (min(top, float(arms.treated == 1)), top) if arms.control < 1 else None
    return necessity, sufficiency, pns


def _pns_interval(arms: Arms, monotone: bool) -> Interval:
    # Fréchet's bounds of P(y_x, y'_x'); without harm, "helped" is the difference itself.
    low = max(0.0, arms.treated - arms.control)
    high = low if monotone else min(arms.treated, 1 - arms.control)
    return _snap_to_ends(low, 1.0), _snap_to_ends(high, 1.0)


def _share_of(pair: Interval, whole: float) -> Interval | None:
    """Return an interval as shares of a whole; None if the whole is 0."""
    if whole <= 0:
        return None
    return _snap_to_ends(pair[0], whole) / whole, _snap_to_ends(pair[1], whole) / whole


def _snap_to_ends(part: float, whole: float) -> float:
    """Return a part of a whole, 0 or the whole if it differs from these by rounding only."""
    return 0.0 if part < ROUNDING_ERROR else whole if part > whole - ROUNDING_ERROR else part


def _reconcile(given: _Evidence) -> tuple[Arms | None, float]:
    """Return P(y_x) and P(y_x') nearest to the trial that the rest allows, and the distance.

    None if neither a trial nor exogeneity determines them. Raises if one would have to be moved by
    more than the tolerance.
    """
    joint, trial, monotone, exogenous, tolerance = given
    arms = trial
    if exogenous and joint is not None:
        arms = _arms_without_confounding(joint, trial, tolerance)
    elif joint is not None and trial is not None:
        arms = _arms_within_observation(joint, trial, monotone, tolerance)
    if arms is None:
        return None, 0.0
    start = arms if trial is None else trial
    if monotone and arms.control > arms.treated:
        rule = "P(y_x') <= P(y_x) (monotone)"
        _require_at_most(rule, arms.control, arms.treated, tolerance, trial is None)
        # The nearest pair without harm: both move to their mean.
        arms = Arms(*[(arms.control + arms.treated) / 2] * 2)
    return arms, max(abs(arms[arm] - start[arm]) for arm in start)


def _arms_without_confounding(joint: Joint, trial: Arms | None, tolerance: float) -> Arms | None:
    """Return P(y | x) and P(y | x'), from the trial where a value of x was never observed."""
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
            _require_at_most(rule, max(share, other), min(share, other), tolerance)
    return Arms(*(t if s is None else s for s, t in zip(shares, tried, strict=True)))


def _arms_within_observation(joint: Joint, trial: Arms, monotone: bool, tolerance: float) -> Arms:
    """Return the trial's shares, clipped to what the observation allows."""
    treated, control = trial.treated, trial.control
    _require_at_most("P(x, y) <= P(y_x)", joint.yes_yes, treated, tolerance)
    _require_at_most("P(y_x) <= 1 - P(x, y')", treated, 1 - joint.yes_no, tolerance)
    _require_at_most("P(x', y) <= P(y_x')", joint.no_yes, control, tolerance)
    _require_at_most("P(y_x') <= 1 - P(x', y')", control, 1 - joint.no_no, tolerance)
    if monotone:
        _require_at_most("P(y) <= P(y_x) (monotone)", joint.effect, treated, tolerance)
        _require_at_most("P(y_x') <= P(y) (monotone)", control, joint.effect, tolerance)
    # Consistency: who took x and has y also has y under x, so P(x, y) <= P(y_x) <= 1 - P(x, y').
    lowest = joint.effect if monotone else joint.yes_yes
    highest = joint.effect if monotone else 1 - joint.no_no
    return Arms(
        min(max(treated, lowest), max(lowest, 1 - joint.yes_no)),
        min(max(control, joint.no_yes), max(joint.no_yes, highest)),
    )


def _require_at_most(
    rule: str, smaller: float, larger: float, tolerance: float, observed: bool = False
) -> None:
    """Raise if `smaller` exceeds `larger` by more than the tolerance."""
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


DataSource = Literal["observational", "experimental"]


Assumption = Literal["exogenous", "monotone"]


PROBABILITY_NAMES = ("necessity", "sufficiency", "pns")


@dataclass(frozen=True, repr=False)
class CausationBounds(Result):
    """Sharp bounds: some causal model agrees with the data at either end, and none beyond."""

    necessity: Interval | None
    """nec = P(y'_x' | x, y); None where P(x, y) = 0."""
    sufficiency: Interval | None
    """suf = P(y_x | x', y'); None where P(x', y') = 0."""
    pns: Interval
    """P(y_x, y'_x'): the cause is both necessary and sufficient."""
    data: tuple[DataSource, ...]
    """What was given."""
    assumptions: tuple[Assumption, ...]
    """What was assumed."""
    moved: NonNegative
    """How far P(y_x) or P(y_x') was moved to agree with the rest, within the tolerance."""

    @property
    def identified(self) -> tuple[str, ...]:
        """Names of the probabilities whose bounds coincide."""
        return tuple(name for name, pair in self._pairs() if pair and pair[1] - pair[0] < 1e-9)

    @property
    def sheet(self) -> Sheet:
        """The data's sources, a sentence on what they show, and the bounds."""
        assumed = f", assumed {join_words(self.assumptions)}" if self.assumptions else ""
        nowhere = "undefined: nothing observed to condition on"
        rows = [
            (
                name,
                three_digits(pair[0])
                if pair and name in self.identified
                else interval_text(pair, nowhere),
            )
            for name, pair in self._pairs()
        ]
        moved = f"Shares of the effect were moved by {self.moved:.3g} to agree."
        return Sheet(
            title=f"Is it a cause? Bounds from {join_words(self.data)} data{assumed}",
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

    def _share(self, name: str, pair: Interval) -> str:
        low, high = map(percent, pair)
        return low if name in self.identified else f"{low} to {high}"

    def to_frame(self) -> Any:
        """Return a frame with the bounds of each probability, and whether they coincide."""
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

    def _pairs(self) -> tuple[tuple[str, Interval | None], ...]:
        return tuple(
            zip(PROBABILITY_NAMES, (self.necessity, self.sufficiency, self.pns), strict=True)
        )

    @classmethod
    def _from_record(cls, record: CausationBounds) -> CausationBounds:
        require_ordered(pair for _, pair in record._pairs())
        return record


def interval_text(pair: Interval | None, otherwise: str) -> str:
    """Return an interval as "low to high", or `otherwise` where there is none."""
    return otherwise if pair is None else f"{three_digits(pair[0])} to {three_digits(pair[1])}"


def require_ordered(pairs: Any) -> None:
    """Raise for a stored interval that ends before it begins."""
    for pair in pairs:
        if pair is not None and pair[0] > pair[1]:
            raise InputError("text", f"an interval from {pair[0]} to {pair[1]}", "low <= high")
