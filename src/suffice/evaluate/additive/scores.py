"""Additive scores of the pool, and the margins by which hybrids have an event.

A model is additive where score_k(z) = base_k + Σ_j a_kj(z_j), one term per player j. A hybrid takes
each player's values from the input x or from a reference r, so

    score_k(h(S, r)) = base_k + Σ_j a_kj(r_j) + Σ_{j in S} (a_kj(x_j) - a_kj(r_j)),

a start that depends on r alone and a subset sum of d deltas: nothing more need be known of the
model than its terms on the 1 + n rows of the pool.

Every event that can be read from such scores is a conjunction of margins > 0 (`Margins`): one for
the sign of a decision function or a threshold, two for a band, K - 1 for one of K classes. What
happens at a margin of exactly 0 is never decided here: rounding makes the neighbourhood of 0 the
model's own business, and `slack` says how wide that neighbourhood is.

The bound. Floating-point summation of m terms, in any order, with or without fused
multiply-adds, is off by at most γ_m Σ|terms|, γ_m = m ε / (1 - m ε) (Higham, Accuracy and Stability
of Numerical Algorithms, 2nd ed., Sect. 3.1 and 4.2). The model sums p products and an intercept;
we sum the same products by player, subtract, and add up again. With at most `roundings` + 4d + 32
operations along any path and Σ|terms| of the model's sum and ours together below
mass(x) + 2 mass(r) (the base is part of either), γ times that is a slack which both errors, added
up, cannot exceed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from suffice.evaluate.protocol import Unreadable
from suffice.tables.labels import find
from suffice.target import Event
from suffice.typing import Reals, Values

__all__ = ["AdditiveScores", "Combination", "Margins", "combinations", "gamma", "margins_of"]

Decision = Literal["sign", "argmax", "value"]


@dataclass(frozen=True, eq=False)
class AdditiveScores:
    """Terms of K scores on the pool's rows (the input first), by player."""

    terms: Reals
    """(K, 1 + n, d)"""
    mass: Reals
    """(K, 1 + n): the sum of absolute values of all that the model adds up, the base included."""
    base: Reals
    """(K,)"""
    decision: Decision
    """`predict` gives: the second class where the one score is > 0; the class whose score is the
    largest; or the one score itself."""
    roundings: int
    """How many operations the model's own sum takes, at most."""
    eps: float
    """The coarsest machine epsilon among the numbers involved."""


@dataclass(frozen=True, eq=False)
class Margins:
    """The event holds for h(S, r) if all M margins start + Σ_{j in S} delta are > slack.

    It does not if one of them is < -slack. Otherwise only the model can tell.
    """

    starts: Reals
    """(M, n)"""
    deltas: Reals
    """(M, n, d)"""
    slack: Reals
    """(M, n)"""

    def __len__(self) -> int:
        return len(self.starts)

    def decide(self, sums: Reals) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """From sums of deltas, (M, n, …): where does the event hold, and where is it in doubt?"""
        shape = (*self.starts.shape, *[1] * (sums.ndim - 2))
        totals = sums + self.starts.reshape(shape)
        slack = self.slack.reshape(shape)
        holds = np.logical_and.reduce(totals > slack, axis=0)
        return holds, np.logical_and.reduce(totals >= -slack, axis=0) & ~holds


Combination = tuple[dict[int, float], float, float]
"""Signs of the scores in a margin, a constant, and what else was rounded on the way to it."""


def margins_of(
    event: Event, scores: AdditiveScores, classes: tuple[object, ...], scores_are: str | None
) -> Margins:
    """Read an event from additive scores; `Unreadable` where they do not tell it.

    `scores_are` names the method that a comparison of two classes would ask for their scores.
    """
    return _margins(scores, combinations(event, scores.decision, classes, scores_are))


def combinations(
    event: Event, decision: Decision, classes: tuple[object, ...], scores_are: str | None
) -> list[Combination]:
    """The margins that an event is a conjunction of; `Unreadable` where scores do not tell it."""
    kind, parameters = event.kind, event.parameters
    label = find(classes, parameters[0]) if kind == "class" else None
    if label is not None and decision != "value":
        if decision == "sign":
            return [_signed(label == 1)]
        others = [k for k in range(len(classes)) if k != label]
        return [({label: 1.0, k: -1.0}, 0.0, 0.0) for k in others]
    if kind == "versus" and decision != "value":
        label, foil = parameters
        # Probabilities of three classes and more may underflow or saturate to equal numbers
        # where the scores behind them differ.
        if scores_are != "decision_function" and len(classes) > 2:
            raise Unreadable(f"versus compares {scores_are}, which rounds what scores tell apart")
        # expit and softmax keep the order of two scores unless they differ by less than this.
        blur = 0.0 if scores_are == "decision_function" else 64.0
        if decision == "sign":
            positive, _, _ = _signed(label == 1)
            return [(positive, 0.0, blur)]
        return [({label: 1.0, foil: -1.0}, 0.0, blur)]
    if decision == "value" and kind in ("at_least", "at_most"):
        (threshold,) = map(float, parameters)
        sign = 1.0 if kind == "at_least" else -1.0
        return [({0: sign}, -sign * threshold, 0.0)]
    if decision == "value" and kind == "within":
        at, delta = map(float, parameters)
        blur = abs(at) + abs(delta)
        return [({0: 1.0}, delta - at, blur), ({0: -1.0}, delta + at, blur)]
    raise Unreadable(f"the outcome {event.says!r} cannot be read from the model's scores")


def gamma(roundings: int, eps: float) -> float:
    """What a sum of that many operations may be off by, as a part of its terms' sizes."""
    steps = roundings * eps
    return 1.01 * steps / (1 - steps) if steps < 0.5 else np.inf


def _signed(positive: bool) -> Combination:
    return {0: 1.0 if positive else -1.0}, 0.0, 0.0


def _margins(scores: AdditiveScores, margins: list[Combination]) -> Margins:
    _, rows, d = scores.terms.shape
    starts = np.empty((len(margins), rows - 1))
    deltas = np.empty((len(margins), rows - 1, d))
    slack = np.empty_like(starts)
    part = gamma(scores.roundings + 4 * d + 32, scores.eps)
    for m, (signs, constant, blur) in enumerate(margins):
        terms = sum(sign * scores.terms[k] for k, sign in signs.items())
        assert isinstance(terms, np.ndarray)
        base = sum(sign * scores.base[k] for k, sign in signs.items()) + constant
        mass: Values = sum(scores.mass[k] for k in signs)
        size = abs(constant) + blur
        starts[m] = base + terms[1:].sum(axis=1)
        deltas[m] = terms[0] - terms[1:]
        slack[m] = part * (size + mass[0] + 2 * mass[1:]) + np.finfo(float).tiny
    if not (np.isfinite(slack).all() and np.isfinite(starts).all() and np.isfinite(deltas).all()):
        raise Unreadable("the model's terms are not all finite on these rows")
    return Margins(starts, deltas, slack)
