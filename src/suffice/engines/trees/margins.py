"""Margins of an outcome: integer sums over trees, and the intervals of them that decide it.

An event is read as margins: sums over the trees that must lie in given intervals, all of them at
once. A class c is predicted when its lead over each other class is positive; a threshold bounds one
sum; a band bounds it on both sides.

Sums over the lattice are made in 32-bit integers, because the signed terms of a subset-sum cancel
exactly there (even where one overflows: arithmetic modulo 2^32 is a ring, and only the final sum
has to fit) and nowhere else. Write s = Σ v_t for the true sum of one leaf value per tree, m_t for
the middle of tree t's range and h_t for half its width. With scale k = (2^30 - 2n) / Σ h_t, the
integer q = Σ rint(k (v_t - m_t)) fits, and

    |q - k (s - Σ m_t)| <= n/2 + 1.

The library itself rounds: adding n numbers of absolute values at most a_t one after another, in
any order, and then a base, is off by at most (n + 1) u (Σ a_t + |base|), u being half a unit in the
last place of its floats. Twice that (leaves and bounds are rounded too) and the rounding of q are
the slack: beyond it the integer tells the library's own answer, within it the library is asked.

Two common cases need no slack. A single tree's leaves are read by the event itself. And leaves that
are whole multiples of 2^-20 (the shares 0 and 1 of a fully grown forest) sum without any rounding,
in integers and in the library alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, fsum, inf

import numpy as np

from suffice.engines.evaluator import Unreadable
from suffice.engines.trees.ensemble import Ensemble, Ints
from suffice.tables.cells import label_array
from suffice.target import Event
from suffice.typing import BoolVector, Reals

_INT32_MAX = 2**31 - 1
_LARGEST_SUM = 2**30
_DYADIC = 2.0**20


@dataclass(frozen=True, eq=False)
class IntegerMargin:
    """Integers by leaf; a sum from `yes_from` to `yes_to` means yes, one beyond `no_below` or
    `no_above` no."""

    roots: Ints
    value: Ints
    no_below: int
    yes_from: int
    yes_to: int
    no_above: int


@dataclass(frozen=True)
class EventMargins:
    """Margins of which all must say yes for the event to hold; the opposite if `reverse`."""

    margins: tuple[IntegerMargin, ...]
    reverse: bool = False


def read_event_margins(ensemble: Ensemble, event: Event) -> EventMargins:
    """The margins of an event; Unreadable where the score does not tell it."""
    if event.kind == "custom":
        raise Unreadable("an outcome given as a function can only be asked of the model")
    if ensemble.leaf_answers:
        return EventMargins((_single_tree(ensemble, event),))
    if event.kind == "versus":
        first, second = event.parameters
        if not ensemble.margin and not ensemble.shares and len(ensemble.base) > 2:
            raise Unreadable("versus compares probabilities, which softmax may round to equal ones")
        return EventMargins((_class_lead(ensemble, first, second),))
    if ensemble.classes is None:
        return EventMargins((_value_range(ensemble, event),))
    accepted = np.asarray(event.holds(label_array(ensemble.classes)), dtype=bool)
    if accepted.sum() not in (1, len(accepted) - 1):
        raise Unreadable(f"the outcome {event.says!r} does not set one class against the rest")
    # One class wins if it leads each of the others. Where all classes but one are accepted, the
    # margins are those of that one, and the event is their negation.
    reverse = accepted.sum() != 1
    winner = int(np.flatnonzero(accepted ^ reverse)[0])
    others = [k for k in range(len(accepted)) if k != winner]
    return EventMargins(tuple(_class_lead(ensemble, winner, other) for other in others), reverse)


def _single_tree(ensemble: Ensemble, event: Event) -> IntegerMargin:
    """Return the margin of a single tree, whose leaves are read by the event itself."""
    answers = ensemble.values if ensemble.classes is not None else ensemble.values[:, 0]
    if ensemble.classes is not None and not event.needs_scores:
        answers = label_array(ensemble.classes)[ensemble.values.argmax(axis=1)]
    holds = np.asarray(event.holds(answers), dtype=bool) & (ensemble.test < 0)
    return IntegerMargin(ensemble.roots, holds.astype(np.int32), 1, 1, _INT32_MAX, _INT32_MAX)


def _class_lead(ensemble: Ensemble, winner: int, other: int) -> IntegerMargin:
    """The winner's score less the other's; equal scores go to one of the two."""
    unsure = 0.0, 0.0
    if ensemble.margin:
        sign = 1.0 if winner == 1 else -1.0
        values, base = sign * ensemble.values[:, 0], sign * float(ensemble.base[0])
        unsure = ensemble.unsure if winner == 1 else (-ensemble.unsure[1], -ensemble.unsure[0])
    else:
        values = ensemble.values[:, winner] - ensemble.values[:, other]
        base = float(ensemble.base[winner] - ensemble.base[other])
    # Libraries give equal scores to the first or to the last class: a lead of 0 may be enough.
    ties = (winner < other) == ensemble.tie_to_first
    exact = _dyadic_leaves(ensemble, values, base)
    if exact is not None and unsure == (0.0, 0.0):
        first = 0 if ties else 1
        return IntegerMargin(ensemble.roots, exact, first, first, _INT32_MAX, _INT32_MAX)
    largest = float(np.abs(ensemble.base).max())
    start, sure = ((bound - base) * ensemble.divisor for bound in unsure)
    return _scaled_margin(ensemble, values, start, inf, largest, sure - start)


def _value_range(ensemble: Ensemble, event: Event) -> IntegerMargin:
    if event.kind not in ("within", "at_least", "at_most"):
        raise Unreadable(f"the trees give a number, which does not tell the outcome {event.says!r}")
    if event.kind == "within":
        centre, delta = event.parameters
        bounds = centre - delta, centre + delta
    else:
        bounds = (
            (event.parameters[0], inf) if event.kind == "at_least" else (-inf, event.parameters[0])
        )
    base = float(ensemble.base[0])
    low, high = ((bound - base) * ensemble.divisor for bound in bounds)
    largest = max(abs(term) for term in (base, *event.parameters))
    return _scaled_margin(ensemble, ensemble.values[:, 0], low, high, largest)


def _dyadic_leaves(ensemble: Ensemble, values: Reals, base: float) -> Ints | None:
    """Leaves as multiples of 2^-20, where each is one and no sum of them is rounded."""
    whole = values * _DYADIC
    bound = len(ensemble.roots) * float(np.abs(ensemble.values).max())
    if base or ensemble.link_slack or bound >= 2**10 or (whole != np.rint(whole)).any():
        return None
    if (ensemble.values * _DYADIC != np.rint(ensemble.values * _DYADIC)).any():
        return None
    return whole.astype(np.int32)


def _scaled_margin(
    ensemble: Ensemble,
    values: Reals,
    low: float,
    high: float,
    largest: float,
    unsure: float = 0.0,
) -> IntegerMargin:
    """The margin of sums from `low` to `high`, of which the first `unsure` tell nothing."""
    leaf = ensemble.test < 0
    # With the leaves of each tree centred on 0 their sums are smaller, and the scale finer. The
    # centres move the bounds instead, and trees whose leaves are equal drop out.
    lowest, highest = _tree_ranges(ensemble, values, leaf)
    middle, half = (highest + lowest) / 2, (highest - lowest) / 2
    active = half > 0
    n = int(active.sum())
    scale = (_LARGEST_SUM - 2 * n) / max(fsum(half), np.finfo(float).tiny * _LARGEST_SUM)
    size = np.diff(np.append(ensemble.roots, len(leaf)))
    value = np.where(leaf, np.rint((values - np.repeat(middle, size)) * scale), 0)
    # A library may add what cancels in a lead (two classes' scores), so bound all outputs.
    biggest = np.maximum.reduceat(np.abs(ensemble.values).max(axis=1), ensemble.roots)
    total = fsum(biggest) + ensemble.divisor * largest
    rounding = 2 * (len(ensemble.roots) + 8) * ensemble.unit * total
    # Each integer leaf is off by up to 1/2, the ends are rounded outwards, and the library's own
    # sum has rounding errors: between the ends moved in and out by this nothing is certain.
    slack = n / 2 + 2 + scale * (rounding + ensemble.divisor * ensemble.link_slack)
    at, to = ((bound - fsum(middle)) * scale for bound in (low, high))
    return IntegerMargin(
        ensemble.roots[active],
        value.astype(np.int32),
        _round_to_int32(at - slack, up=False),
        _round_to_int32(at + scale * unsure + slack, up=True),
        _round_to_int32(to - slack, up=False),
        _round_to_int32(to + slack, up=True),
    )


def _tree_ranges(ensemble: Ensemble, values: Reals, leaf: BoolVector) -> tuple[Reals, Reals]:
    """Return the smallest and the largest leaf of each tree."""
    least = np.minimum.reduceat(np.where(leaf, values, inf), ensemble.roots)
    return least, np.maximum.reduceat(np.where(leaf, values, -inf), ensemble.roots)


def _round_to_int32(bound: float, up: bool) -> int:
    if abs(bound) >= _INT32_MAX:
        return _INT32_MAX if bound > 0 else -_INT32_MAX - 1
    return ceil(bound) if up else floor(bound)
