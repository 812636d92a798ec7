"""Plausibility: the share of hybrids that lie unusually far from the data.

A model was never asked to be right about rows that cannot occur, and hybrids can be such rows. So a
sample of D is compared with the data: a hybrid is *far* if its nearest row of the data is farther
off than that of 19 in 20 of the data's own rows (each compared with the others).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from suffice.context.cost import scale_by_deviation
from suffice.context.hybrids import Hybrids
from suffice.context.references import canonical_order
from suffice.formatting import percent, plural
from suffice.randomness import Stream, generator
from suffice.results import Column, Panel, Result, Sheet
from suffice.tables import Table, column_codes
from suffice.typing import NaturalNumber, Proportion, Reals, Values

FAR_SHARE = 0.05
"""The share of the data's own rows that would be called far."""

_MAX_SAMPLED_ROWS = 1000
"""The data's own distances are learned from so many of its rows: a share of 5% ± 1.4%."""
_COMPARISONS = 2 * 10**9
"""About so many pairs of cells are compared, a few seconds; of larger data a sample is drawn."""
_FEWEST_ROWS = 500
_PAIRS_AT_ONCE = 1 << 20


@dataclass(frozen=True, repr=False)
class Plausibility(Result):
    """Share of hybrids that are farther from the data than 95% of its own rows are.

    >>> print(Plausibility(far=0.35, n_hybrids=1000, context="values swapped"))
    35% of 1,000 hybrids (values swapped) are far from the data
      Of the data's own rows 5% are: the model predicts combinations that hardly occur.
      ConditionalContext draws values that go together; groups keep columns together that belong
      together.
                         far from the data
      hybrids                          35%
      rows of the data                  5%
    """

    far: Proportion
    n_hybrids: NaturalNumber
    """How many hybrids were drawn."""
    context: str
    """How they are made of the input and the references."""

    @property
    def sheet(self) -> Sheet:
        """The share, the share expected of real rows, and advice."""
        drawn = f"{plural(self.n_hybrids, 'hybrid')} ({self.context})"
        lead = f"Of the data's own rows {percent(FAR_SHARE)} are"
        if self.far <= 2 * FAR_SHARE:
            lead += "."
        else:
            lead += (
                ": the model predicts combinations that hardly occur. ConditionalContext "
                "draws values that go together; groups keep columns together that belong together."
            )
        return Sheet(
            title=f"{percent(self.far)} of {drawn} are far from the data",
            lead=(lead,),
            panels=(
                Panel(
                    (Column(""), Column("far from the data", "share")),
                    (("hybrids", self.far), ("rows of the data", FAR_SHARE)),
                ),
            ),
        )

    def to_frame(self) -> Any:
        """Return the share and its counts as a frame of one row."""
        import pandas as pd

        row = {"far": self.far, "n_hybrids": self.n_hybrids, "context": self.context}
        return pd.DataFrame([row])


def measure_plausibility(
    views: Sequence[Hybrids], data: Table, describe: str, n_hybrids: int, seed: int
) -> Plausibility:
    """Draw as many hybrids from each view and measure their distances from the data."""
    rng = generator(seed, Stream.PLAUSIBILITY)
    drawn = []
    for part, hybrids in zip(np.array_split(np.arange(n_hybrids), len(views)), views, strict=True):
        held = rng.random((len(part), hybrids.d)) < 0.5
        drawn.append(hybrids.rows(held, rng.integers(hybrids.n, size=len(part))))
    rows = drawn[0].stack(*drawn[1:])
    most = max(_FEWEST_ROWS, _COMPARISONS // (len(data.names) * (n_hybrids + _MAX_SAMPLED_ROWS)))
    if len(data) > min(most, _MAX_SAMPLED_ROWS):
        # Sampled from the canonical order: the same rows however the data was sorted.
        chosen = np.sort(rng.permutation(len(data))[:most])
        data = data.take(canonical_order(data)[chosen])
    there, here = _to_points(data, rows)
    own = rng.permutation(len(data))[:_MAX_SAMPLED_ROWS]
    # A row is nearest to itself: the next one counts.
    apart = _nearest(there.take(own), there, min(1, len(data) - 1))
    usual = np.quantile(apart, 1 - FAR_SHARE, method="higher")
    # A hair of slack: equal distances must not differ by how they were added up.
    far = _nearest(here, there, 0) > usual * (1 + 1e-9) + 1e-12
    return Plausibility(float(far.mean()), n_hybrids, describe)


class _Points(NamedTuple):
    """Rows as numbers, whose differences count, and as codes, which differ or do not."""

    numbers: Reals
    codes: Reals

    def take(self, rows: Values | slice) -> _Points:
        return _Points(self.numbers[rows], self.codes[rows])


def _nearest(points: _Points, others: _Points, rank: int) -> Reals:
    """Return the distance of each point to its nearest other point, or to a later rank."""
    from scipy.spatial.distance import cdist

    found = []
    step = max(1, _PAIRS_AT_ONCE // len(others.numbers))
    for start in range(0, len(points.numbers), step):
        part = points.take(slice(start, start + step))
        away = np.zeros((len(part.numbers), len(others.numbers)))
        if part.numbers.shape[1]:
            away += cdist(part.numbers, others.numbers, "cityblock")
        if part.codes.shape[1]:
            away += cdist(part.codes, others.codes, "hamming") * part.codes.shape[1]
        found.append(np.partition(away, rank, axis=1)[:, rank])
    return np.concatenate(found)


def _to_points(data: Table, rows: Table) -> tuple[_Points, _Points]:
    """Return both tables as points whose distance is the measure of cost."""
    both = data.stack(rows)
    numbers: list[Reals] = []
    codes: list[Values] = []
    for j in range(len(data.names)):
        values = both.column(j)
        if values.dtype.kind not in "iuf":
            codes.append(column_codes(values))
            continue
        values = values.astype(float)
        finite = np.isfinite(values)
        if not finite.all():  # nothing is a distance from a missing or an infinite number
            codes.append(column_codes(np.where(finite, 0.0, values)))
            centre = np.median(values[finite]) if finite.any() else 0.0
            values = np.where(finite, values, centre)
        numbers.append(scale_by_deviation(values, data.column(j)))
    points = _Points(_stack_columns(numbers, len(both)), _stack_columns(codes, len(both)))
    n = len(data)
    return points.take(slice(n)), points.take(slice(n, None))


def _stack_columns(columns: Sequence[Values], rows: int) -> Reals:
    return np.stack(columns, axis=1).astype(float) if columns else np.empty((rows, 0))
