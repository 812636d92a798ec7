"""Shares of decisions with exact intervals; tested gaps between groups (Newcombe, Fisher, Holm)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import sqrt
from typing import TypeVar

import numpy as np

from suffice.errors import InputError
from suffice.formatting import percent, percentage_points, plural
from suffice.inference import adjusted_p_values, clopper_pearson, wilson
from suffice.results import Estimate
from suffice.typing import NaturalNumber, Proportion, SignedShare

SIGNIFICANCE_LEVEL = 0.05
"""Groups are reported to differ if p, adjusted for all comparisons made, is at most this."""

Key = TypeVar("Key")


@dataclass(frozen=True)
class Share:
    """A count out of n, with its exact 95% interval."""

    hits: NaturalNumber
    n: NaturalNumber

    def __post_init__(self) -> None:
        if not 0 <= self.hits <= self.n:
            raise InputError("hits", self.hits, f"0 to {self.n}")

    @classmethod
    def of(cls, flags: Iterable[bool | None]) -> Share:
        """Return the share of true flags among those that are not None.

        >>> Share.of([True, None, False, True])
        Share(hits=2, n=3)
        """
        known = [bool(flag) for flag in flags if flag is not None]
        return cls(sum(known), len(known))

    @property
    def share(self) -> float | None:
        """The share itself; None if n is 0."""
        return self.hits / self.n if self.n else None

    @property
    def interval(self) -> tuple[float, float]:
        """Clopper–Pearson interval; (0, 1) if n is 0."""
        if not self.n:
            return 0.0, 1.0
        low, high = clopper_pearson(self.hits, self.n)
        return float(low), float(high)

    @property
    def estimate(self) -> Estimate | None:
        """The share with its interval; None if n is 0."""
        return Estimate(self.share, *self.interval) if self.n else None

    @property
    def within(self) -> str:
        """The interval as text.

        >>> Share(3, 10).within
        '7% to 65%'
        """
        return " to ".join(map(percent, self.interval))


@dataclass(frozen=True)
class Shift:
    """A difference of two shares with Newcombe's 95% interval."""

    difference: SignedShare
    low: SignedShare
    high: SignedShare

    @property
    def estimate(self) -> Estimate:
        """The difference with its interval."""
        return Estimate(self.difference, self.low, self.high)

    @property
    def surely(self) -> bool:
        """True if 0 is outside the interval."""
        return not self.low <= 0 <= self.high

    def __str__(self) -> str:
        ends = map(percentage_points, (self.low, self.high))
        return f"{percentage_points(self.difference)} ({' to '.join(ends)})"


@dataclass(frozen=True)
class Gap(Shift):
    """A difference of two groups' shares with Newcombe's 95% interval and Fisher's exact p-value.

    >>> print(Gap(-0.034, -0.5, 0.0, p_value=0.2))
    −3 (−50 to 0)
    """

    p_value: Proportion


@lru_cache(maxsize=1 << 14)
def compare_shares(one: Share, other: Share) -> Gap:
    """Return the first share minus the second, with interval and p-value.

    >>> found = compare_shares(Share(30, 100), Share(10, 100))
    >>> round(found.difference, 3), round(found.low, 3), round(found.high, 3)
    (0.2, 0.09, 0.306)
    >>> found.p_value < 0.001
    True
    """
    from scipy.stats import fisher_exact

    table = [[one.hits, one.n - one.hits], [other.hits, other.n - other.hits]]
    # Exact, since groups may have a handful of decisions.
    return Gap(*newcombe_interval(one, other), p_value=float(fisher_exact(table).pvalue))


@lru_cache(maxsize=1 << 14)
def newcombe_interval(
    one: Share, other: Share, confidence: float = 0.95
) -> tuple[float, float, float]:
    """Return the first share minus the second with the ends of Newcombe's interval.

    The interval combines Wilson's intervals of the two shares (Newcombe 1998, method 10).

    >>> [round(end, 3) for end in newcombe_interval(Share(56, 70), Share(48, 80))]
    [0.2, 0.052, 0.334]
    """
    p, q = one.hits / one.n, other.hits / other.n
    (low1, high1), (low2, high2) = (
        (float(a), float(b)) for a, b in (wilson(s.hits, s.n, confidence) for s in (one, other))
    )
    # Newcombe's "square and add": Wilson's limits, unlike a normal approximation, stay within 0 and
    # 1, so the interval holds for shares of 0 and 1 and for small groups.
    below = sqrt((p - low1) ** 2 + (high2 - q) ** 2)
    above = sqrt((high1 - p) ** 2 + (q - low2) ** 2)
    return p - q, p - q - below, p - q + above


@dataclass(frozen=True, kw_only=True)
class GroupGap:
    """Two groups compared on one question, with p-value and interval for all comparisons made."""

    groups: tuple[str, str]
    shares: tuple[Share, Share]
    gap: Gap
    """The first group's share minus the second's, with the interval of this comparison alone."""
    adjusted: Shift
    """The same difference. Its interval is wider: with 95% confidence all such intervals hold
    together (Newcombe's, by Bonferroni's method)."""
    p_adjusted: Proportion
    """p-value by Holm's method, over all comparisons made."""

    @property
    def found(self) -> bool:
        """True if the difference is significant after Holm's adjustment."""
        return self.p_adjusted <= SIGNIFICANCE_LEVEL


def compare_groups(
    families: Iterable[tuple[Key, Sequence[tuple[str, Share]]]],
) -> list[tuple[Key, GroupGap]]:
    """Compare every two groups within each family of labelled shares, and yield the family's key.

    Groups without decisions are not compared. All families are adjusted for together.

    >>> shares = [("f", Share(1, 9)), ("m", Share(8, 9)), ("none", Share(0, 0))]
    >>> ((key, found),) = compare_groups([("sex", shares)])
    >>> key, found.groups, round(found.p_adjusted, 4)
    ('sex', ('f', 'm'), 0.0034)
    """
    pairs = [
        (key, (group, other), (share, share2))
        for key, labelled in families
        for (group, share), (other, share2) in combinations(labelled, 2)
        if share.n and share2.n
    ]
    if not pairs:
        return []
    gaps = [compare_shares(*shares) for _, _, shares in pairs]
    holm = adjusted_p_values(np.array([gap.p_value for gap in gaps]), "holm")
    # Holm's method gives p-values but no intervals, so the intervals are by Bonferroni's, which is
    # at most wider.
    confidence = 1 - SIGNIFICANCE_LEVEL / len(pairs)
    return [
        (
            key,
            GroupGap(
                groups=groups,
                shares=shares,
                gap=gap,
                adjusted=Shift(*newcombe_interval(*shares, confidence)),
                p_adjusted=float(p),
            ),
        )
        for (key, groups, shares), gap, p in zip(pairs, gaps, holm, strict=True)
    ]


def group_differences_sentence(found: int, decisions: int) -> str:
    """Return a sentence that so many differences between groups were found.

    >>> group_differences_sentence(0, 60), group_differences_sentence(2, 60)
    ('No difference between groups could be shown with 60 decisions', '2 differences between ...
    """
    if not found:
        return f"No difference between groups could be shown with {plural(decisions, 'decision')}"
    verb = "is" if found == 1 else "are"
    return (
        f"{plural(found, 'difference')} between groups {verb} larger than chance explains "
        f"(adjusted p ≤ {SIGNIFICANCE_LEVEL:g})"
    )


def adjustment_note(comparisons: int) -> str:
    """Return a sentence on how intervals and p-values of comparisons of groups are adjusted."""
    return (
        "Differences between groups have Newcombe's intervals, and p by Fisher's exact test, both "
        f"adjusted for {plural(comparisons, 'comparison')} (Bonferroni, Holm): that a difference "
        "could not be shown does not mean that there is none."
    )
