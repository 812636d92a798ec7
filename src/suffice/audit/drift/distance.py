"""How far apart two barcodes are: one number for every threshold at once.

At a threshold τ a barcode is a family of minimal sets, and the sets that contain one of them are
its closure: two families are equal exactly when their closures are. Jaccard's distance of the
closures, 1 − |both| / |either|, is the share of the sets covered by either that only one of them
covers. The distance of two barcodes is its mean over all τ in (0, 1].

It is a metric, as a mean of metrics is: 0 exactly where both have the same sets for the same τ, 1
where they have nothing in common at any τ, the same both ways round, and no detour is shorter.
Features that one side does not know, or that cannot matter there, change nothing: they double both
counts.

A set is in the closure exactly for τ up to its reach, so both counts are those of reaches, and the
mean is a finite sum over the thresholds at which something changes.
"""

from __future__ import annotations

import numpy as np

from suffice.errors import InputError
from suffice.explanation import View
from suffice.search.limits import EXHAUSTIVE_PLAYERS
from suffice.typing import Counts, Reals, SmallCounts

__all__ = ["barcode_distance"]


def barcode_distance(one: View, other: View) -> float | None:
    """How far apart the barcodes of two views are, from 0 (the same) to 1 (nothing in common).

    The mean, over all thresholds, of the share of sets that contain a minimal set of one view and
    not of the other, among those that contain one of either. None where not every set was counted.

    >>> import pandas as pd
    >>> from suffice import Explainer, audit
    >>> people = pd.DataFrame({"pay": [30, 60, 45, 60], "debt": [20, 20, 0, 40]})
    >>> before = Explainer(lambda rows: rows["pay"] >= 40, people).explain([30, 20])
    >>> after = Explainer(lambda rows: rows["pay"] - rows["debt"] >= 40, people).explain([30, 20])
    >>> audit.barcode_distance(before.keep, before.keep)
    0.0
    >>> round(audit.barcode_distance(before.keep, after.keep), 3)
    0.167
    """
    for argument, view in (("one", one), ("other", other)):
        given: object = view
        if not isinstance(given, View):
            raise InputError(argument, given, "a view of an explanation: e.keep or e.flip")
    if not all(view.tally.complete and view.profile.findings is None for view in (one, other)):
        return None
    features = tuple(dict.fromkeys(player.name for view in (one, other) for player in view.players))
    if len(features) > EXHAUSTIVE_PLAYERS:
        return None
    (taus, first), (others, second) = (_reaches(view, features) for view in (one, other))
    return _distance(taus, first, others, second)


def _reaches(view: View, features: tuple[str, ...]) -> tuple[Reals, SmallCounts]:
    """The thresholds there are; by bit mask of `features`, which of them each set reaches."""
    steps, own = view.profile.steps, [player.name for player in view.players]
    if own == list(features):
        return steps.taus, steps.reach
    masks = np.arange(1 << len(features), dtype=np.int32)
    mine = np.zeros_like(masks)
    for bit, name in enumerate(own):
        mine |= (masks >> features.index(name) & 1) << bit
    return steps.taus, steps.reach[mine]


def _distance(taus: Reals, first: SmallCounts, others: Reals, second: SmallCounts) -> float:
    every = np.union1d(taus, others)  # both begin with 0
    one, other = np.searchsorted(every, taus)[first], np.searchsorted(every, others)[second]
    both = _reaching(np.minimum(one, other), len(every))
    either = _reaching(np.maximum(one, other), len(every))
    apart = np.where(either > 0, 1 - both / np.maximum(either, 1), 0.0)
    return float(np.diff(every) @ apart[1:])


def _reaching(numbers: Counts, n: int) -> Counts:
    """How many sets reach each threshold."""
    return np.asarray(np.bincount(numbers, minlength=n)[::-1].cumsum()[::-1])
