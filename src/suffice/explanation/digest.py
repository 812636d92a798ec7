"""What many minimal sets have in common: the features in all, in most and in none of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from suffice.explanation.factor import SufficientFactor
from suffice.search.findings import Proof
from suffice.search.profile import Minimal

__all__ = ["Digest", "memberships"]


@dataclass(frozen=True)
class Digest:
    """The minimal sets of one view, seen together.

    >>> digest = Digest(4, (("age", 4), ("income", 1), ("debt", 2), ("job", 0)), ((2, 3), (3, 1)))
    >>> digest.everywhere, digest.mostly, digest.nowhere
    (('age',), (('debt', 2),), ('job',))
    """

    n: int
    """How many sets there are."""
    counts: tuple[tuple[str, int], ...]
    """Every feature, in the features' order, with the number of sets that it is in."""
    sizes: tuple[tuple[int, int], ...]
    """By number of features, the fewest first: how many sets have so many."""
    proofs: tuple[tuple[Proof, int], ...] = ()
    """How minimality is known, and of how many sets so: see `proof` of a factor."""
    smallest: SufficientFactor | None = None
    """The set of fewest features, the surest of those; None where there is no set."""
    surest: SufficientFactor | None = None
    """The set of highest sufficiency, the smallest of those."""

    @property
    def everywhere(self) -> tuple[str, ...]:
        """The features in every set."""
        return tuple(name for name, count in self.counts if 0 < count == self.n)

    @property
    def mostly(self) -> tuple[tuple[str, int], ...]:
        """The features in half of the sets or more, but not in all: the commonest first."""
        most = [(name, count) for name, count in self.counts if self.n <= 2 * count < 2 * self.n]
        return tuple(sorted(most, key=lambda pair: -pair[1]))

    @property
    def nowhere(self) -> tuple[str, ...]:
        """The features in no set."""
        return tuple(name for name, count in self.counts if not count)


def memberships(sets: Sequence[Minimal], d: int) -> list[int]:
    """For each of d features, how many of the sets it is in.

    >>> memberships([Minimal((0, 2), 9, 0.5, 0.9, "exhaustive")], 3)
    [1, 0, 1]
    """
    members = np.fromiter(chain.from_iterable(s.members for s in sets), dtype=np.int64)
    return [int(n) for n in np.bincount(members, minlength=d)]
