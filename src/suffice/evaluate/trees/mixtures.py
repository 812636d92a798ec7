"""Two classes told by a mean of probabilities that are functions of sums, not sums themselves.

A calibrated classifier, or a vote of boosted models, says class 1 where Σ w_k g_k(s_k) exceeds
half of Σ w_k: s_k is a sum of leaves, and g_k (a logistic function, a calibration) never turns.
The engine knows sums only. So it is given one sum, u = Σ c_k s_k with c_k about as steep as
w_k g_k, and told for which u the answer is certain whatever the s_k that make it up: below `unsure`
class 0, above it class 1. In between the model is asked, so that every outcome is its own.

With one member, g(s) crosses one half at one place and hardly anything lies in between. With
several it is what their curvature leaves open: the least and the greatest Σ w_k g_k are found for
every u of a grid, one member after another (a min-plus convolution). Where most of the range of u
is left open nothing would be gained, and the reason says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from suffice.evaluate.columns import kind_of
from suffice.evaluate.protocol import Unreadable
from suffice.evaluate.trees.ensemble import Ensemble
from suffice.evaluate.trees.joining import Member, Part, combine
from suffice.evaluate.trees.reading import labels_of
from suffice.tables.table import Table
from suffice.typing import Reals

__all__ = ["calibrated", "mean_of_links"]

_CELLS = 1 << 11
"""Of the grid, for all members together; a single member affords more."""
_CELLS_OF_ONE = 1 << 18
_MOST_UNSURE = 0.4
"""Of the range of u."""
_ROUNDING = 1e-9
"""Far more than what a mean of probabilities in float64 is rounded by."""

_Curve = Callable[[Reals, float], Reals]
"""From sums to the second class's probability, with an error in the number that a calibration is
given; it never turns."""


class _Term(NamedTuple):
    member: Member
    weight: float
    curve: _Curve

    @property
    def sums(self) -> tuple[Reals, float]:
        """By node, what it adds to the sum that the curve is a function of; and its constant."""
        trees = self.member.trees
        at = 1 if trees.shares else 0
        return trees.values[:, at] / trees.divisor, float(trees.base[at])

    @property
    def range(self) -> tuple[float, float]:
        """The least and the greatest sum."""
        trees, (values, base) = self.member.trees, self.sums
        leaf = trees.test < 0
        least = np.minimum.reduceat(np.where(leaf, values, np.inf), trees.roots)
        most = np.maximum.reduceat(np.where(leaf, values, -np.inf), trees.roots)
        return base + float(least.sum()), base + float(most.sum())

    @property
    def rounding(self) -> float:
        """How far from the true sum the library's may be."""
        trees, (values, base) = self.member.trees, self.sums
        largest = np.maximum.reduceat(np.abs(values), trees.roots).sum() + abs(base)
        return float(2 * (len(trees.roots) + 8) * trees.unit * largest)

    def bounds(self, low: Reals, high: Reals) -> tuple[Reals, Reals]:
        """The least and the greatest that sums from `low` to `high` add to the mean."""
        error = 64 * self.member.trees.unit
        ends = [self.curve(end, e) for end in (low, high) for e in (-error, error)]
        return self.weight * np.minimum.reduce(ends), self.weight * np.maximum.reduce(ends)


def mean_of_links(
    model: Any,
    members: Sequence[Member],
    weights: Reals,
    classes: tuple[Any, ...],
    prepare: Callable[[Table], Table] | None = None,
) -> Ensemble:
    """A mean of probabilities, of which some are logistic functions of sums."""
    linked = next(member for member in members if not member.trees.shares)
    if any(len(member.trees.classes or ()) != 2 for member in members) or len(classes) != 2:
        raise Unreadable(
            f"{kind_of(model)} averages the probabilities of {len(classes)} classes, and those of "
            f"{kind_of(linked.model)} are no sums of leaves: that is read for two classes"
        )
    terms = [
        _Term(member, float(weight), _probability(model, member))
        for member, weight in zip(members, weights, strict=True)
    ]
    return _mix(model, terms, classes, prepare)


def calibrated(model: Any, members: Sequence[Member]) -> Ensemble:
    """CalibratedClassifierCV: the mean of what its calibrations make of its members' answers."""
    classes, kept = labels_of(model.classes_), model.calibrated_classifiers_
    if len(classes) != 2:
        return _one_sigmoid(model, members, classes)
    terms = []
    for member, one in zip(members, kept, strict=True):
        if member.trees.classes is None or len(member.trees.classes) != 2:
            raise Unreadable(f"a member of {kind_of(model)} was fitted on one class")
        margin = hasattr(member.model, "decision_function")
        answer = _itself if margin else _probability(model, member)
        if margin and (member.trees.shares or member.trees.unsure != (0.0, 0.0)):
            raise _nested(model, member)
        terms.append(_Term(member, 1.0, partial(_calibration, one, answer, margin)))
    return _mix(model, terms, classes, None)


def _probability(model: Any, member: Member) -> _Curve:
    """The second class's probability, as the member itself gives it."""
    trees = member.trees
    if trees.shares:
        return _itself
    if not trees.margin or trees.unsure != (0.0, 0.0):
        raise _nested(model, member)
    return partial(_logistic, trees.steepness)


def _nested(model: Any, member: Member) -> Unreadable:
    return Unreadable(
        f"{kind_of(model)} averages what {kind_of(member.model)} has averaged or calibrated before"
    )


def _itself(sums: Reals, error: float) -> Reals:
    return sums + error


def _logistic(steepness: float, sums: Reals, error: float) -> Reals:
    from scipy.special import expit

    return np.asarray(expit(steepness * sums)) + error


def _calibration(one: Any, answer: _Curve, margin: bool, sums: Reals, error: float) -> Reals:
    """What a fitted calibration of two classes makes of a member's answers."""
    given = answer(sums, error)
    calibration = one.calibrators[0]
    if one.method != "temperature":
        return np.asarray(calibration.predict(given))
    if margin:
        return np.asarray(calibration.predict(given[:, None])[:, 1])
    shares = np.clip(given, 0.0, 1.0)
    return np.asarray(calibration.predict(np.stack([1.0 - shares, shares], axis=1))[:, 1])


def _mix(
    model: Any,
    terms: Sequence[_Term],
    classes: tuple[Any, ...],
    prepare: Callable[[Table], Table] | None,
) -> Ensemble:
    # Slopes over the whole range of sums suit gentle curves, those near one half steep ones.
    tried = [(_unsure(terms, slopes), slopes) for slopes in _slopes(terms)]
    (share, unsure), slopes = min(tried, key=lambda found: found[0][0])
    if share > _MOST_UNSURE:
        raise Unreadable(
            f"{kind_of(model)} averages {len(terms)} probabilities that are no sums of leaves, and "
            f"{share:.0%} of what their sums can be would leave the class open"
        )
    parts = []
    for term, slope in zip(terms, slopes, strict=True):
        values, base = term.sums
        member = term.member
        leaves = np.array([base * slope])
        parts.append(Part(member.trees, slope * values[:, None], leaves, member.given))
    return combine(parts, prepare, classes=classes, unsure=unsure)


def _slopes(terms: Sequence[_Term]) -> list[list[float]]:
    out = []
    for share in (1.0, 0.5, 0.25, 0.125) if len(terms) > 1 else (1.0,):
        slopes = []
        for term in terms:
            low, high = term.range
            grid = np.linspace(low, high, 1001)
            middle = float(grid[np.abs(term.curve(grid, 0.0) - 0.5).argmin()])
            half = max((high - low) * share / 2, np.finfo(float).tiny)
            start, end = max(low, middle - half), min(high, middle + half)
            ends = term.weight * term.curve(np.array([start, end]), 0.0)
            slopes.append(float(ends[1] - ends[0]) / (end - start) if end > start else 0.0)
        out.append(slopes)
    return out


def _unsure(terms: Sequence[_Term], slopes: Sequence[float]) -> tuple[float, tuple[float, float]]:
    """The sums u for which nothing is certain: their share of all, and from where to where."""
    ranges = [
        sorted(slope * end for end in term.range) for term, slope in zip(terms, slopes, strict=True)
    ]
    whole = sum(high - low for low, high in ranges)
    step = whole / (_CELLS_OF_ONE if len(terms) == 1 else _CELLS) or 1.0
    least = most = np.zeros(1)
    for term, slope, (low, high) in zip(terms, slopes, ranges, strict=True):
        edges: Reals = low + step * np.arange(int((high - low) / step) + 2, dtype=np.float64)
        if slope:  # a cell more to either side, which covers what is rounded
            wider = max(step, abs(slope) * term.rounding)
            lower, upper = term.bounds((edges[:-1] - wider) / slope, (edges[1:] + wider) / slope)
        else:
            lower, upper = term.bounds(*(np.array([end]) for end in term.range))
        least, most = _added(least, lower, np.minimum), _added(most, upper, np.maximum)
    half = sum(term.weight for term in terms) / 2
    slack = _ROUNDING + 64 * half * max(term.member.trees.unit for term in terms)
    first_open = _first(most > half - slack, len(most))
    last_open = len(least) - 1 - _first((least <= half + slack)[::-1], len(least))
    bottom = sum(low for low, _ in ranges)
    # The sum of members in cells i, j, … lies up to as many cells above i + j + … as there are.
    unsure = bottom + step * first_open, bottom + step * (last_open + 1 + len(terms))
    open_range = min(unsure[1], bottom + whole) - max(unsure[0], bottom)
    return max(0.0, open_range) / (whole or 1.0), unsure


def _first(holds: Any, otherwise: int) -> int:
    return int(holds.argmax()) if holds.any() else otherwise


def _added(all_before: Reals, one: Reals, best: Any) -> Reals:
    """(i + j): the best all_before[i] + one[j]."""
    worst = np.inf if best is np.minimum else -np.inf
    out = np.full(len(all_before) + len(one) - 1, worst)
    for i, before in enumerate(all_before):
        here = out[i : i + len(one)]
        best(here, before + one, out=here)
    return out


def _one_sigmoid(model: Any, members: Sequence[Member], classes: tuple[Any, ...]) -> Ensemble:
    """Of several classes that wins whose sigmoid is given the most: a sum for each, a x + b."""
    kept = model.calibrated_classifiers_
    why = f"{kind_of(model)} of {len(classes)} classes"
    if len(kept) > 1:
        raise Unreadable(f"{why} averages {len(kept)} calibrations: ensemble=False fits one")
    one, member = kept[0], members[0]
    if one.method != "sigmoid":
        raise Unreadable(f"{why} is read with method='sigmoid', not with {one.method!r}")
    trees, count = member.trees, len(classes)
    if not (trees.shares or hasattr(member.model, "decision_function")) or trees.margin:
        raise Unreadable(f"{why} calibrates {kind_of(member.model)}, whose softmax is no sum")
    if len(one.calibrators) != count or trees.values.shape[1] != count:
        raise Unreadable(f"{why} has a member that was fitted on fewer")
    slope, shift = (np.array([getattr(c, name) for c in one.calibrators]) for name in ("a_", "b_"))
    leaves = -slope * trees.values / trees.divisor
    base = -(slope * trees.base + shift)
    largest = np.maximum.reduceat(np.abs(leaves).max(axis=1), trees.roots).sum()
    # Near one, sigmoids that differ round to the same number.
    slack = 1e-12 + 1e-15 * float(np.exp(min(700.0, largest + np.abs(base).max())))
    return combine([Part(trees, leaves, base, member.given)], classes=classes, link_slack=slack)
