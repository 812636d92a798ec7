"""Binomial tests, confidence intervals, adjusted p-values (Thm. 2); shares, gaps between groups.

A factor with k hits in n draws passes at (τ, α) when the exact one-sided binomial test of
H0: PS <= τ gives p <= α. Because p grows with τ, that is the same as τ <= L, with L the one-sided
Clopper–Pearson lower bound at level α: one number per factor answers the test at every τ.

What the adjustments control. The family is every factor that the search evaluated, and it is
fixed before any test is looked at. Algorithm 1 then reports only the minimal factors among those
that pass and skips the dominated ones. Skipping removes rejections and adds none, so Bonferroni
and Holm keep the probability of *any* falsely reported factor below α. Benjamini–Hochberg keeps
the expected share of false ones below α among all factors that pass; the minimal ones are a
selection from those, and for a selection that share is not guaranteed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import sqrt
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from suffice.errors import InputError
from suffice.formatting import percent, percentage_points, plural
from suffice.results import Estimate
from suffice.typing import Adjustment, Counts, NaturalNumber, Proportion, Reals, SignedShare
from suffice.validation import check_number


def p_value(hits: ArrayLike, n: ArrayLike, tau: float) -> Reals:
    """Return P(X >= hits) for X ~ Binomial(n, τ): the exact one-sided test of PS <= τ.

    >>> float(p_value(9, 10, 0.5).round(6))
    0.010742
    """
    from scipy.special import betainc  # slow to import, so not at start-up

    k, m = np.asarray(hits, dtype=float), np.asarray(n, dtype=float)
    # betainc(k, n-k+1, τ) is that tail; at k = 0 its first argument is not allowed and p is 1.
    return np.where(k > 0, betainc(np.maximum(k, 1), m - k + 1, tau), 1.0)


def lower_bound(hits: ArrayLike, n: ArrayLike, alpha: ArrayLike) -> Reals:
    """Return L, the one-sided Clopper–Pearson lower bound: the largest τ at which p <= α.

    >>> float(lower_bound(10, 10, 0.05).round(6))
    0.741134
    """
    from scipy.special import betaincinv

    k, m = np.asarray(hits, dtype=float), np.asarray(n, dtype=float)
    return np.where(k > 0, betaincinv(np.maximum(k, 1), m - k + 1, alpha), 0.0)


def clopper_pearson(hits: ArrayLike, n: ArrayLike, level: float = 0.95) -> tuple[Reals, Reals]:
    """Return the exact two-sided interval: at least `level` coverage, whatever the true share.

    >>> low, high = clopper_pearson(0, 10)
    >>> float(low), float(high.round(4))
    (0.0, 0.3085)
    """
    from scipy.special import betaincinv

    k, m = _check_counts(hits, n)
    half = (1 - _check_coverage(level)) / 2
    high = np.where(k < m, betaincinv(k + 1, np.maximum(m - k, 1), 1 - half), 1.0)
    return lower_bound(k, m, half), high


def interval_and_p_value(hits: int, n: int, tau: float) -> tuple[tuple[float, float], float]:
    """Return the exact 95% interval of hits among n, and the p-value at τ (see `p_value`).

    Explanations with the same n and τ need the same few values again and again: unless n is large,
    they are computed for all counts at once and cached.

    >>> (interval_and_p_value(0, 10, 0.9)[1],
    ...  interval_and_p_value(9, 10, 0.5)[1] == p_value(9, 10, 0.5))
    (1.0, np.True_)
    """
    if n > _MOST_TABULATED:
        return _interval_and_p_value(hits, n, tau)
    return _interval_table(n)[hits], _p_value_table(n, tau)[hits]


_MOST_TABULATED = 1 << 12
"""Largest n for which intervals and p-values of all counts are computed at once."""


@lru_cache(maxsize=1 << 12)
def _interval_and_p_value(hits: int, n: int, tau: float) -> tuple[tuple[float, float], float]:
    low, high = clopper_pearson(hits, n)
    return (float(low), float(high)), float(p_value(hits, n, tau))


@lru_cache(maxsize=64)
def _interval_table(n: int) -> list[tuple[float, float]]:
    low, high = clopper_pearson(np.arange(n + 1), n)
    return list(zip(low.tolist(), high.tolist(), strict=True))


@lru_cache(maxsize=64)
def _p_value_table(n: int, tau: float) -> list[float]:
    values: list[float] = p_value(np.arange(n + 1), n, tau).tolist()
    return values


def wilson(hits: ArrayLike, n: ArrayLike, level: float = 0.95) -> tuple[Reals, Reals]:
    """Return Wilson's score interval: shorter than the exact one, its mean coverage near `level`.

    >>> low, high = wilson(5, 10)
    >>> float(low.round(4)), float(high.round(4))
    (0.2366, 0.7634)
    """
    from scipy.special import ndtri

    k, m = _check_counts(hits, n)
    z = ndtri(1 - (1 - _check_coverage(level)) / 2)
    middle = (k + z**2 / 2) / (m + z**2)
    reach = z / (m + z**2) * np.sqrt(k * (1 - k / m) + z**2 / 4)
    return np.maximum(middle - reach, 0.0), np.minimum(middle + reach, 1.0)


def adjusted_p_values(p: ArrayLike, adjustment: Adjustment = "none") -> Reals:
    """Return p-values that can be compared with α, adjusted for the whole family.

    >>> adjusted_p_values([0.01, 0.02, 0.5], "holm").tolist()
    [0.03, 0.04, 0.5]
    """
    values = np.asarray(p, dtype=float)
    if adjustment == "none" or not len(values):
        return values
    distinct, which, times = np.unique(values, return_inverse=True, return_counts=True)
    return adjust_tied_p_values(distinct, times, adjustment)[which]


def adjust_tied_p_values(p: Reals, times: Counts, adjustment: Adjustment) -> Reals:
    """Adjust ascending p-values, each of which may be that of several factors."""
    m = times.sum()
    last = times.cumsum()  # number of factors whose p-value is at most this one
    if adjustment == "none":
        return p
    if adjustment == "bonferroni":
        return np.asarray(np.minimum(p * m, 1.0))
    if adjustment == "holm":
        steps = np.maximum.accumulate(p * (m - (last - times)))
    else:
        steps = np.minimum.accumulate((p * m / last)[::-1])[::-1]
    return np.asarray(np.minimum(steps, 1.0))


def passing_taus(
    hits: Counts, n: int, alpha: float | None, adjustment: Adjustment, family: int
) -> Reals:
    """Return the largest τ at which each factor passes: PS itself, or L at the adjusted level.

    All factors have the same n here, so more hits mean a smaller p at every τ: the order in which
    Holm and Benjamini–Hochberg step through the family is the same for all τ, and each factor's
    passing τ has a closed form. `family` counts the factors tested, those given here and others.
    """
    if alpha is None:
        return np.asarray(hits / n, dtype=float)
    if adjustment in ("none", "bonferroni"):
        m = min(family, 10**300)  # a larger family overflows a float, and gives the same bound
        return lower_bound(hits, n, alpha / m if adjustment == "bonferroni" else alpha)
    counts, which, times = np.unique(hits, return_inverse=True, return_counts=True)
    return passing_taus_by_count(counts, times, n, alpha, adjustment, family)[which]


def passing_taus_by_count(
    counts: Counts, times: Counts, n: int, alpha: float, adjustment: Adjustment, family: int
) -> Reals:
    """Return passing thresholds by count, for ascending counts that `times` factors have each.

    Factors with equal hits pass at the same τ. In the order of the family, Holm tests all of them
    at the level of the first of them, Benjamini–Hochberg at that of the last.

    >>> few = passing_taus_by_count(np.array([3, 9]), np.array([2, 1]), 10, 0.05, "holm", 3)
    >>> (few == [lower_bound(3, 10, 0.05 / 2), lower_bound(9, 10, 0.05 / 3)]).all()
    np.True_
    """
    m = min(family, 10**300)  # a larger family overflows a float, and gives the same bound
    if adjustment == "none":
        return lower_bound(counts, n, alpha)
    if adjustment == "bonferroni":
        return lower_bound(counts, n, alpha / m)
    last = times[::-1].cumsum()[::-1]  # number of factors with at least as many hits
    if adjustment == "holm":
        judged = lower_bound(counts, n, alpha / (m - (last - times)))
        return np.minimum.accumulate(judged[::-1])[::-1]
    return np.maximum.accumulate(lower_bound(counts, n, alpha * last / m))


def fewest_hits(
    n: int,
    tau: float,
    alpha: float | None = None,
    adjustment: Literal["none", "bonferroni"] = "none",
    family: int = 1,
) -> int:
    """Return the fewest hits among n that pass at τ; n + 1 where not even n do.

    >>> fewest_hits(700, 0.9), fewest_hits(700, 0.9, alpha=0.05), fewest_hits(10, 0.9, alpha=0.05)
    (630, 644, 11)
    """

    def passes(hits: int) -> bool:
        return bool(passing_taus(np.array([hits]), n, alpha, adjustment, family)[0] >= tau)

    # Passing is monotone in the number of hits, so a binary search finds the first that passes.
    return bisect_left(range(n + 1), True, key=passes)


def _check_counts(hits: ArrayLike, n: ArrayLike) -> tuple[Reals, Reals]:
    """Return hits and trials as floats; raise unless 0 <= hits <= n and n > 0 for each pair."""
    k, m = (_as_floats(name, given) for name, given in (("hits", hits), ("n", n)))
    if not (np.isfinite(m) & (m > 0)).all():
        raise InputError("n", n, "numbers of trials, above 0")
    try:
        sound = (k >= 0) & (k <= m)
    except ValueError as error:
        got = f"{k.shape} beside n of shape {m.shape}"
        raise InputError("hits", f"shape {got}", "as many hits as numbers of trials") from error
    if not sound.all():
        raise InputError("hits", hits, "from 0 to n of them")
    return k, m


def _as_floats(argument: str, given: ArrayLike) -> Reals:
    allowed = "a number, or an array of numbers"
    try:
        found = np.asarray(given)
        if found.dtype == object and all(type(value) is int for value in found.flat):
            found = found.astype(float)  # whole numbers beyond 2^63
    except (ValueError, OverflowError) as error:  # ragged lists, or beyond all floats
        raise InputError(argument, given, allowed) from error
    if found.dtype.kind not in "iuf":
        raise InputError(argument, repr(given) if isinstance(given, str) else given, allowed)
    return found.astype(float)


def _check_coverage(level: float) -> float:
    allowed = "a number in (0, 1)"
    value = check_number("level", level, allowed, above=0, most=1)
    if value == 1:
        raise InputError("level", level, allowed)
    return value


# Shares of decisions with exact intervals, and tested gaps between groups (Newcombe, Fisher, Holm).


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
    """The difference with a wider interval: with 95% confidence all such intervals hold
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
    verb = "was" if found == 1 else "were"
    return (
        f"{plural(found, 'difference')} between groups {verb} found "
        f"(adjusted p ≤ {SIGNIFICANCE_LEVEL:g})"
    )


def adjustment_note(comparisons: int) -> str:
    """Return a sentence on how intervals and p-values of comparisons of groups are adjusted."""
    return (
        "Differences between groups have Newcombe's intervals, and p by Fisher's exact test, both "
        f"adjusted for {plural(comparisons, 'comparison')} (Bonferroni, Holm). Where the two "
        "disagree, p decides. That a difference could not be shown does not mean that there is "
        "none."
    )
