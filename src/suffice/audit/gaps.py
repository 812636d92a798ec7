"""Two groups' shares beside each other: how far apart, how surely, and whether by chance."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from math import sqrt

import numpy as np

from suffice.errors import InputError
from suffice.inference import adjusted_p_values, clopper_pearson, wilson
from suffice.wording import count, percent

__all__ = [
    "LEVEL",
    "Gap",
    "Share",
    "adjusted",
    "differing",
    "gap",
    "newcombe",
    "points",
    "points_within",
]

LEVEL = 0.05
"""Groups are said to differ where p, adjusted for all comparisons made, is not above this."""


@dataclass(frozen=True)
class Share:
    """So many of so many, with an exact 95% interval."""

    hits: int
    n: int

    def __post_init__(self) -> None:
        if not 0 <= self.hits <= self.n:
            raise InputError("hits", self.hits, f"0 to {self.n}")

    @classmethod
    def of(cls, truths: Iterable[bool | None]) -> Share:
        """Of what is known, that which is true.

        >>> Share.of([True, None, False, True])
        Share(hits=2, n=3)
        """
        known = [bool(truth) for truth in truths if truth is not None]
        return cls(sum(known), len(known))

    @property
    def share(self) -> float | None:
        """None of none."""
        return self.hits / self.n if self.n else None

    @property
    def interval(self) -> tuple[float, float]:
        """Clopper–Pearson; of none it is everything."""
        if not self.n:
            return 0.0, 1.0
        low, high = clopper_pearson(self.hits, self.n)
        return float(low), float(high)

    @property
    def within(self) -> str:
        """The interval in words.

        >>> Share(3, 10).within
        '7% to 65%'
        """
        return " to ".join(map(percent, self.interval))


@dataclass(frozen=True)
class Gap:
    """A difference of two shares, with Newcombe's 95% interval and Fisher's exact p-value."""

    difference: float
    low: float
    high: float
    p_value: float


def gap(one: Share, other: Share) -> Gap:
    """The first share less the second.

    >>> found = gap(Share(30, 100), Share(10, 100))
    >>> round(found.difference, 3), round(found.low, 3), round(found.high, 3)
    (0.2, 0.09, 0.306)
    >>> found.p_value < 0.001
    True
    """
    from scipy.stats import fisher_exact

    table = [[one.hits, one.n - one.hits], [other.hits, other.n - other.hits]]
    return Gap(*newcombe(one, other), p_value=float(fisher_exact(table).pvalue))


@lru_cache(maxsize=1 << 14)
def newcombe(one: Share, other: Share) -> tuple[float, float, float]:
    """The first share less the second, from where to where: Newcombe's 95% interval, from Wilson's
    of each.

    >>> [round(end, 3) for end in newcombe(Share(56, 70), Share(48, 80))]
    [0.2, 0.052, 0.334]
    """
    p, q = one.hits / one.n, other.hits / other.n
    (low1, high1), (low2, high2) = (
        (float(a), float(b)) for a, b in (wilson(s.hits, s.n) for s in (one, other))
    )
    below = sqrt((p - low1) ** 2 + (high2 - q) ** 2)
    above = sqrt((high1 - p) ** 2 + (q - low2) ** 2)
    return p - q, p - q - below, p - q + above


def adjusted(gaps: list[Gap]) -> list[float]:
    """Their p-values by Holm's method: so many were looked at together."""
    if not gaps:
        return []
    found = adjusted_p_values(np.array([g.p_value for g in gaps]), "holm")
    return [float(p) for p in found]


def points(share: float) -> str:
    """A difference of shares, in points.

    >>> points(0.034), points(-0.5), points(0.0)
    ('+3', '−50', '0')
    """
    found = round(100 * share)
    return f"+{found}" if found > 0 else f"−{-found}" if found else "0"


def points_within(difference: float, low: float, high: float) -> str:
    """A difference of shares with its interval, in points.

    >>> points_within(-0.034, -0.5, 0.0)
    '−3 (−50 to 0)'
    """
    return f"{points(difference)} ({points(low)} to {points(high)})"


def differing(n: int) -> str:
    """How many differences between groups were found, in a sentence.

    >>> differing(0), differing(2)
    ('No difference between groups is more than chance gives', '2 differences between groups are ...
    """
    some = count(n, "difference") if n else "No difference"
    return f"{some} between groups {'is' if n < 2 else 'are'} more than chance gives"
