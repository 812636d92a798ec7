"""How far hybrids stray from the data: a warning before their outcomes are believed.

A model was never asked to be right about rows that cannot occur, and hybrids can be such rows. So a
sample of D is compared with the data: a hybrid is *far* if its nearest row of the data is farther
off than that of 19 in 20 of the data's own rows (each compared with the others).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from suffice.context.cost import scale_of
from suffice.context.hybrids import Hybrids
from suffice.randomness import Stream, generator
from suffice.tables.table import Table, column_codes
from suffice.typing import Reals, Values

__all__ = ["FAR", "Plausibility", "plausibility"]

FAR = 0.05
"""The share of the data's own rows that would be called far."""

_ROWS_COMPARED = 2000
"""The data's own distances are learned from so many of its rows."""


@dataclass(frozen=True)
class Plausibility:
    """The share of hybrids that are farther from the data than 95% of its own rows are."""

    far: float
    n: int
    """How many hybrids were drawn."""
    context: str

    def __str__(self) -> str:
        lead = f"{self.far:.0%} of {self.n:,} hybrids ({self.context}) are far from the data"
        if self.far <= 2 * FAR:
            return f"{lead}; of its own rows {FAR:.0%} are."
        return (
            f"{lead}, against {FAR:.0%} of its own rows: the model is asked about combinations "
            "that hardly occur. ConditionalContext draws values that go together; groups keep "
            "columns together that belong together."
        )


def plausibility(
    views: Sequence[Hybrids], data: Table, describe: str, n: int, seed: int
) -> Plausibility:
    """Draw n hybrids, from each view alike, and measure how far they are."""
    from sklearn.neighbors import NearestNeighbors

    rng = generator(seed, Stream.PLAUSIBILITY)
    drawn = []
    for part, hybrids in zip(np.array_split(np.arange(n), len(views)), views, strict=True):
        held = rng.random((len(part), hybrids.d)) < 0.5
        drawn.append(hybrids.rows(held, rng.integers(hybrids.n, size=len(part))))
    rows = drawn[0].stack(drawn[1]) if len(drawn) == 2 else drawn[0]
    there, here = _coordinates(data, rows)
    near = NearestNeighbors(n_neighbors=1, metric="manhattan").fit(there)
    own = rng.permutation(len(there))[:_ROWS_COMPARED]
    apart = near.kneighbors(there[own], n_neighbors=min(2, len(there)))[0][:, -1]
    usual = np.quantile(apart, 1 - FAR, method="higher")
    # A hair of slack: equal distances must not differ by how they were added up.
    far = near.kneighbors(here)[0][:, 0] > usual * (1 + 1e-9) + 1e-12
    return Plausibility(float(far.mean()), n, describe)


def _coordinates(data: Table, rows: Table) -> tuple[Reals, Reals]:
    """Both tables in coordinates whose Manhattan distance is the measure of cost."""
    both = data.stack(rows)
    columns = [_column(both.column(j), data.column(j)) for j in range(len(data.names))]
    everything = np.concatenate(columns, axis=1)
    return everything[: len(data)], everything[len(data) :]


def _column(values: Values, observed: Values) -> Reals:
    if observed.dtype.kind not in "iuf":
        # Two rows of another category differ in two places by a half: 1 in all.
        return np.eye(int((codes := column_codes(values)).max()) + 1)[codes] / 2
    numbers = values.astype(float)
    missing = np.isnan(numbers)
    if not missing.any():  # one coordinate is enough, and half the work for the neighbours
        return (numbers / scale_of(observed))[:, None]
    centre = np.nanmedian(numbers) if not missing.all() else 0.0
    return np.stack([np.where(missing, centre, numbers) / scale_of(observed), missing], axis=1)
