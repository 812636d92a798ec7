"""The conditional context (references near the held values), and plausibility of hybrids.

Swapping can pair values that never occur together. Here the features that are not held are drawn
from P(rest | held = the input's), as in conditional Shapley values (Aas et al., 2019): from the
references nearest to the input on the held features, or by a sampler of the user's own.

Holding a set still is replacing its complement, so one sweep answers both views. To flip by T then
reads: had T come out otherwise *given all the rest*.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from suffice.context.cost import MAX_COST, CostSpec, change_costs, scale_by_deviation
from suffice.context.hybrids import Context, Hybrids
from suffice.context.players import Players
from suffice.context.references import canonical_order, select_columns_like
from suffice.errors import InputError
from suffice.formatting import percent, plural
from suffice.randomness import Stream, generator
from suffice.results import Column, Panel, Result, Sheet
from suffice.tables import column_codes
from suffice.tables.cells import distinct_rows
from suffice.tables.conversion import as_table
from suffice.tables.table import Table
from suffice.typing import Counts, HeldSets, NaturalNumber, Proportion, Reals, Values
from suffice.validation import call_user_function, check_integer

ConditionalSampler = Callable[[Any, tuple[str, ...], int, np.random.Generator], Any]
"""(the input as a one-row table, the names of the held columns, n, rng) -> n rows like the data."""

_SAMPLER_SIGNATURE = "a function (x, held, n, rng) -> n rows"


@dataclass(frozen=True, kw_only=True)
class ConditionalContext(Context):
    """Context that draws values not held from rows that are like the input on those held.

    Parameters
    ----------
    n_drawn
        How many rows are drawn for each set of features: the nearest references, by the cost of a
        change (`Explainer(cost=…)`; by default deviations of the data for numbers, 0 or 1 for the
        rest), ties by chance. As many as there are references makes it the marginal context again.
    sampler
        The user's own conditional distribution instead: a function (x, held, n, rng) -> n rows.
        Only their columns that are not held are used.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from suffice import ConditionalContext, Explainer, datasets
    >>> X, y = datasets.loans()
    >>> X = X[["age", "income", "debt", "late payments"]]
    >>> model = RandomForestClassifier(random_state=0).fit(X, y)
    >>> near = Explainer(model, X, references="all", context=ConditionalContext(n_drawn=60))
    >>> near.explain(X.iloc[8]).provenance.context.words
    'the references nearest to what is held, at most 60'
    """

    kind = "conditional"

    n_drawn: int = 100
    sampler: ConditionalSampler | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_drawn", check_integer("n_drawn", self.n_drawn))
        if not (self.sampler is None or callable(self.sampler)):
            raise InputError("sampler", self.sampler, f"None or {_SAMPLER_SIGNATURE}")

    def bind(self, pool: Table, players: Players, seed: int) -> tuple[Any, Any]:
        """Return the same hybrids for both views, with distances in deviations of the pool."""
        return self.bind_with_costs(pool, players, seed, pool, None)

    def bind_with_costs(
        self, pool: Table, players: Players, seed: int, data: Table, cost: CostSpec
    ) -> tuple[Any, Any]:
        """Return the same hybrids for both views; `cost` measures which references are near."""
        made: NearestHybrids | SampledHybrids
        if self.sampler is not None:
            made = SampledHybrids(pool, players, self.sampler, self.n_drawn, seed)
        else:
            n = min(self.n_drawn, len(pool) - 1)
            made = NearestHybrids(pool, players, n, seed, data, cost)
        return made, made

    def describe(self) -> str:
        """Describe how values that are not held are drawn."""
        if self.sampler is not None:
            name = getattr(self.sampler, "__name__", type(self.sampler).__name__)
            return f"{self.n_drawn} rows drawn by {name} given what is held"
        return f"the references nearest to what is held, at most {self.n_drawn}"


@dataclass(frozen=True, eq=False)
class NearestHybrids:
    """Hybrids that take new values from the n references nearest on the players held."""

    pool: Table
    players: Players
    n: int
    seed: int
    data: Table
    cost: CostSpec

    @property
    def d(self) -> int:
        """Number of players d, features or groups that are replaced together."""
        return len(self.players)

    def rows(self, held: HeldSets, references: Counts) -> Table:
        """Return hybrids: row i has the input's values on held[i], else a near reference's."""
        which, first = distinct_rows(held.astype(np.int64))
        rows = self.donors(held[first])[which, references]
        return self.pool.splice(held[:, self.players.of_column], rows)

    def donors(self, held: HeldSets) -> Counts:
        """Return (subsets, n): the nearest references of each subset, in pool order.

        That order, so that of equally cheap changes the same one is reported as by a swap.
        """
        away = held.astype(float) @ self._distances[self._tie_order].T
        nearest = np.argsort(away, axis=1, kind="stable")[:, : self.n]
        return np.sort(1 + self._tie_order[nearest], axis=1)

    @cached_property
    def _distances(self) -> Reals:
        """Distances (references, d) from the input on each player."""
        # Capped, since a player that is not held counts 0 times its distance: 0 · inf is NaN.
        return np.minimum(change_costs(self.pool, self.data, self.players, self.cost), MAX_COST)

    @cached_property
    def _tie_order(self) -> Counts:
        return generator(self.seed, Stream.NEAREST).permutation(len(self.pool) - 1)


@dataclass(frozen=True, eq=False)
class SampledHybrids:
    """Hybrids that take new values from rows that the user's sampler draws for each subset."""

    pool: Table
    players: Players
    sampler: ConditionalSampler
    n: int
    seed: int

    @property
    def d(self) -> int:
        """Number of players d, features or groups that are replaced together."""
        return len(self.players)

    def rows(self, held: HeldSets, references: Counts) -> Table:
        """Return hybrids: row i has the input's values on held[i], else those of a sampled row."""
        which, first = distinct_rows(held.astype(np.int64))
        input_row = self.pool.take(np.array([0]))
        drawn = input_row.stack(*self._samples(held[first]))
        return drawn.splice(held[:, self.players.of_column], 1 + which * self.n + references)

    def donors(self, held: HeldSets) -> None:
        """Return None: sampled rows are not references, so no observed change has a cost."""

    def _samples(self, subsets: HeldSets) -> Iterator[Table]:
        """Yield the sample of each subset, whose seed is its own: independent of other subsets."""
        of_column = self.players.of_column
        x = self.pool.take(np.array([0])).native
        for held in subsets:
            names = tuple(
                name for name, kept in zip(self.pool.names, held[of_column], strict=True) if kept
            )
            rng = generator(self.seed, Stream.SAMPLER, *np.packbits(held).tolist())
            given = call_user_function(
                "sampler", self.sampler, _SAMPLER_SIGNATURE, x, names, self.n, rng
            )
            rows = as_table(given, names=self.pool.names, argument="sampler")
            if len(rows) != self.n:
                raise InputError("sampler", f"{len(rows)} rows", f"{self.n} rows, as asked for")
            yield select_columns_like(self.pool, rows, "sampler")


# Plausibility: the share of hybrids that lie unusually far from the data.
#
# Hybrids can be rows that cannot occur, about which a model's predictions mean little. So a sample
# of D is compared with the data: a hybrid is *far* if its nearest row of the data is farther away
# than that of 19 in 20 of the data's own rows (each compared with the others).


FAR_SHARE = 0.05
"""The share of the data's own rows that count as far."""

_MAX_SAMPLED_ROWS = 1000
"""Rows of the data whose distances set the limit of "far": their share is then 5% ± 1.4%."""
_COMPARISONS = 2 * 10**9
"""Most pairs of cells compared, which takes a few seconds; larger data are sampled."""
_FEWEST_ROWS = 500
_PAIRS_AT_ONCE = 1 << 20


@dataclass(frozen=True, repr=False)
class Plausibility(Result):
    """Share of hybrids that are farther from the data than 95% of the data's rows are.

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
