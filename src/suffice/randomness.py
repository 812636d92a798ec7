"""Random streams of a seed (`random_state`): one per use, so that no two draw the same numbers.

The one exception is the sample of references (`n_references`), drawn from `default_rng(seed)`
itself: another generator would change every stored answer.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np


class Stream(IntEnum):
    """Uses of random numbers; each draws from a separate stream."""

    NECESSITY = 1
    """Hybrids drawn from D, to estimate necessity."""
    NOISE = 2
    """Noise of a causal model."""
    NEAREST = 3
    """Ties among equally near references."""
    PLAUSIBILITY = 4
    """Hybrids whose distance from the data is measured."""
    SLOTS = 5
    """Choice among the values that satisfy a condition, for a row that is made to satisfy it."""
    PERTURBED = 6
    """Rows that a rule is judged on."""
    TESTS = 7
    """The order in which a sequential test looks at references."""
    STARTS = 8
    """Where a greedy search starts."""
    MASKS = 9
    """Words that replace words."""
    SAMPLER = 10
    """The seed given to a user's own sampler."""
    CHECKS = 11
    """Hybrids that an engine puts to the model to check itself."""
    WORLDS = 12
    """Worlds of a causal model in which a cause is judged."""
    ROWS = 13
    """Rows drawn from a causal model."""
    FOLDS = 14
    """Rows on which methods to fit a mechanism are compared."""
    BACKGROUND = 16
    """Sample of a large table, from which references are drawn."""
    CANDIDATES = 17
    """Rows whose own recourse is searched, and changes that are tried on all rows."""
    AUDITED = 20
    """Decisions that are audited, where there are more."""
    VERIFIED = 21
    """Decisions of a record that are explained again."""
    RETRAINED = 22
    """Rows and seeds of models that are fitted again."""


def generator(seed: int, stream: Stream, *more: int) -> np.random.Generator:
    """Return the generator of one stream; `more` separates uses within it.

    >>> generator(0, Stream.STARTS).integers(100) == generator(0, Stream.STARTS).integers(100)
    np.True_
    """
    return np.random.default_rng([seed, int(stream), *more])
