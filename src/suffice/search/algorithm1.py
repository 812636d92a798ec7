"""Algorithm 1 of the paper (LENS), line by line, on any basis.

This is the oracle that everything faster is tested against, and the way to ask about factors that
are not sets of features. The comments give the line numbers of the paper's listing.

>>> import numpy as np, pandas as pd
>>> from suffice import Basis, Sample, Target, auxiliary, equals
>>> from suffice.target import Event
>>> class Lender:
...     classes = ("refused", "granted")
...     def predict(self, rows):
...         income = rows.column(rows.names.index("income"))
...         return np.where(income > 50, "granted", "refused")
>>> z = pd.DataFrame({"gender": ["f", "f", "m", "m"], "income": [40, 60, 60, 70],
...                   "do(income > 50)": [False, True, True, True]})
>>> granted = Event("granted", "refused", lambda labels: labels == "granted")
>>> raised, female = auxiliary("do(income > 50)"), equals("gender", "f")
>>> basis = Basis(Target(Lender(), granted), Sample(z, ["do(income > 50)"]),
...               [female, raised, female & raised])
>>> found = minimal_sufficient_factors(basis, y=True, tau=0.9)
>>> found.factors, found.sufficiency, found.necessity
((auxiliary('do(income > 50)'),), (1.0,), 1.0)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suffice.basis import Basis
from suffice.checks import level, threshold, truth
from suffice.errors import InputError
from suffice.factors.kinds import Factor
from suffice.factors.order import linear_extension
from suffice.inference import Adjustment, adjusted_p_values, check_adjustment, p_value
from suffice.measures import Measures, prob_nec, tally

__all__ = ["MinimalFactors", "minimal_sufficient_factors"]


@dataclass(frozen=True)
class MinimalFactors:
    """What Algorithm 1 returns: the τ-minimal factors with their PS, and their cumulative PN."""

    factors: tuple[Factor, ...]
    sufficiency: tuple[float, ...]
    p_values: tuple[float, ...] | None
    """The (adjusted) p-values that were compared with α; None without a test."""
    necessity: float | None
    """Cumulative PN, over the upward closure; None where no row has the outcome."""
    undefined: tuple[Factor, ...]
    """Factors that no row satisfies: their PS is undefined, so they cannot be returned."""


def minimal_sufficient_factors(
    basis: Basis,
    y: bool,
    tau: float,
    alpha: float | None = None,
    adjust: Adjustment = "none",
) -> MinimalFactors:
    """Every τ-minimal factor of the basis for outcome `y` (True: the event of the target holds).

    Without `alpha` the sample's proportions are taken as they are (oracle mode, Thm. 1); with it,
    a factor must pass the exact binomial test of PS <= τ at that level (sample mode, Thm. 2).
    """
    given: object = basis
    if not isinstance(given, Basis):
        raise InputError("basis", given, "a Basis")
    tau, alpha = threshold(tau), level(alpha)
    check_adjustment(adjust, alpha)
    has_outcome = basis.outcomes == truth("y", y)
    counts = [tally(row, has_outcome) for row in basis.satisfied]  # probSuff's n(c&y) and n(c)
    p = _p_values(counts, tau, adjust) if alpha is not None else None

    candidates: list[int] = []  # line 18
    for c in linear_extension(basis.relation):  # lines 17 and 19
        if any(basis.relation[found, c] for found in candidates):  # line 20
            continue  # line 21
        ps = counts[c].sufficiency  # line 23
        if ps is None:
            continue
        if p is not None and alpha is not None:  # line 24
            if p[c] <= alpha:  # lines 25–26
                candidates.append(c)
        elif ps >= tau:  # line 29
            candidates.append(c)
    necessity = prob_nec(basis.satisfied, candidates, has_outcome, basis.relation)  # line 33

    return MinimalFactors(
        factors=tuple(basis.factors[c] for c in candidates),
        sufficiency=tuple(counts[c].both / counts[c].factor for c in candidates),
        p_values=None if p is None else tuple(float(p[c]) for c in candidates),
        necessity=necessity,
        undefined=tuple(f for f, m in zip(basis.factors, counts, strict=True) if not m.factor),
    )


def _p_values(
    counts: list[Measures], tau: float, adjust: Adjustment
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """P-values over the family of all factors that can be tested; those with n(c) = 0 cannot."""
    out = np.full(len(counts), np.inf)
    tested = [i for i, m in enumerate(counts) if m.factor]
    hits = np.array([counts[i].both for i in tested])
    n = np.array([counts[i].factor for i in tested])
    out[tested] = adjusted_p_values(p_value(hits, n, tau), adjust)
    return out
