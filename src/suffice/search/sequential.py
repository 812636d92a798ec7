"""Verdicts that stop asking early: curtailment, and sequential tests with α spending.

A subset that is clearly sufficient or clearly not needs few references to show it. References are
looked at in one seeded random order, at an eighth, a quarter, a half and all of them; after each
look the subsets whose verdict is fixed drop out.

*Curtailed* verdicts are those of the full test, always: a subset passes once its hits reach the
count that the full test asks for, and fails once the references left cannot bring it there.

*Sequential* verdicts (Lan & DeMets, *Discrete sequential boundaries for clinical trials*,
Biometrika 1983) may pass at any look i whose exact p-value is at most α_i, where the α_i add up to
α. By the union bound a subset with PS <= τ then passes with probability at most α, however the
looks depend on each other. There is no stopping for futility except by curtailment, when no later
look could pass any more; that can only lose passes, so it adds no error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np

from suffice.inference import p_value
from suffice.randomness import Stream, generator
from suffice.typing import BoolVector, Counts, Held, Reals

__all__ = [
    "Boundary",
    "Spending",
    "Verdicts",
    "curtailed_boundary",
    "curtailed_verdicts",
    "sequential_boundary",
    "sequential_verdicts",
    "spent",
]

Spending = Literal["pocock", "obrien-fleming"]
"""How α is spent: about evenly over the looks, or nearly all of it at the last."""

OutcomesOf = Callable[[Held, Counts], BoolVector]
"""(subsets (rows, d), references (rows,)) -> is it a hit?"""

_LOOKS = (0.125, 0.25, 0.5, 1.0)
_ROWS_AT_ONCE = 1 << 17


class Boundary(NamedTuple):
    """At each look: the references seen, and the hits from and below which a verdict is fixed."""

    seen: Counts
    passes: Counts
    fails: Counts


class Verdicts(NamedTuple):
    """For each subset, did it pass and after how many looks; and the rows asked for in all."""

    passed: BoolVector
    looks: Counts
    rows: int


def sequential_verdicts(
    outcomes_of: OutcomesOf,
    held: Held,
    n: int,
    tau: float,
    alpha: float,
    seed: int = 0,
    spending: Spending = "pocock",
) -> Verdicts:
    """Test PS > τ for each subset at level α, on no more of the n references than it takes.

    >>> def rare(held, references):  # no reference keeps the outcome unless all is held
    ...     return held.all(axis=1)
    >>> held = np.array([[True, True], [True, False]])
    >>> sequential_verdicts(rare, held, n=400, tau=0.9, alpha=0.05)
    Verdicts(passed=array([ True, False]), looks=array([1, 1]), rows=100)
    """
    boundary = sequential_boundary(n, tau, alpha, spending)
    return _by_looks(outcomes_of, held, boundary, _order(n, seed))


def curtailed_verdicts(
    outcomes_of: OutcomesOf, held: Held, n: int, need: int, seed: int = 0
) -> Verdicts:
    """Do at least `need` of the n references hit? The full answer, without the idle questions."""
    return _by_looks(outcomes_of, held, curtailed_boundary(n, need), _order(n, seed))


def sequential_boundary(
    n: int, tau: float, alpha: float, spending: Spending = "pocock"
) -> Boundary:
    """The looks at n references, and the hits that decide at each."""
    seen = _looks(n)
    levels = np.diff(spent(seen / n, alpha, spending), prepend=0.0)
    passes = np.array(
        [
            _first(p_value(np.arange(k + 1), k, tau) <= level, n)
            for k, level in zip(seen.tolist(), levels.tolist(), strict=True)
        ]
    )
    return _with_curtailment(seen, passes)


def curtailed_boundary(n: int, need: int) -> Boundary:
    """The same for a count that is needed of all n."""
    seen = _looks(n)
    return _with_curtailment(seen, np.full(len(seen), need))


def spent(time: Reals, alpha: float, spending: Spending = "pocock") -> Reals:
    """How much of α may be spent once this share of the references was looked at.

    "pocock": α ln(1 + (e - 1) t), so that clear cases are seen early, which is what saves rows.
    "obrien-fleming": 2 - 2 Φ(z / √t), which keeps the last look close to the full test.

    >>> spent(np.array([0.125, 0.5, 1.0]), 0.05).round(4).tolist()
    [0.0097, 0.031, 0.05]
    """
    if spending == "pocock":
        return np.asarray(alpha * np.log1p((np.e - 1) * time))
    from scipy.special import ndtr, ndtri  # slow to import, so not at start-up

    return np.asarray(2 * ndtr(ndtri(alpha / 2) / np.sqrt(time)))


def _looks(n: int) -> Counts:
    return np.unique(np.ceil(n * np.array(_LOOKS)).astype(np.int64))


def _first(allowed: BoolVector, n: int) -> int:
    """The smallest count that passes; one more than can be had where none does."""
    return int(np.argmax(allowed)) if allowed.any() else n + 1


def _with_curtailment(seen: Counts, passes: Counts) -> Boundary:
    # With h hits now, h + (seen[j] - seen[i]) is the most that look j can find.
    fails = np.array(
        [np.min(passes[i + 1 :] - seen[i + 1 :] + seen[i]) for i in range(len(seen) - 1)]
        + [passes[-1]]
    )
    return Boundary(seen, passes, fails)


def _order(n: int, seed: int) -> Counts:
    return generator(seed, Stream.TESTS).permutation(n)


def _by_looks(outcomes_of: OutcomesOf, held: Held, boundary: Boundary, order: Counts) -> Verdicts:
    passed = np.zeros(len(held), dtype=bool)
    looks = np.zeros(len(held), dtype=np.int64)
    rows = 0
    step = max(1, _ROWS_AT_ONCE // len(order))
    for start in range(0, len(held), step):
        undecided = np.arange(start, min(start + step, len(held)))
        hits = np.zeros(len(held), dtype=np.int64)
        before = 0
        for look, (seen, passes, fails) in enumerate(zip(*boundary, strict=True), start=1):
            references = np.tile(order[before:seen], len(undecided))
            asked = np.repeat(held[undecided], seen - before, axis=0)
            rows += len(references)
            found = outcomes_of(asked, references).reshape(len(undecided), -1)
            hits[undecided] += found.sum(axis=1)
            looks[undecided] = look
            before = seen
            passed[undecided] = hits[undecided] >= passes
            undecided = undecided[(hits[undecided] < passes) & (hits[undecided] >= fails)]
            if not len(undecided):
                break
    return Verdicts(passed, looks, rows)
