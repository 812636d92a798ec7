"""The conditional context: references drawn near the values that are held.

Swapping can pair values that never occur together. Here the features that are not held are drawn
from P(rest | held = the input's), as in conditional Shapley values (Aas et al., 2019): from the
references nearest to the input on the held features, or by a sampler of the user's own.

Holding a set still is replacing its complement, so one sweep answers both views. To flip by T then
reads: had T come out otherwise *given all the rest*.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from suffice.context.cost import MAX_COST, CostSpec, change_costs
from suffice.context.hybrids import Context
from suffice.context.players import Players
from suffice.context.references import select_columns_like
from suffice.errors import InputError
from suffice.randomness import Stream, generator
from suffice.tables.cells import distinct_rows
from suffice.tables.conversion import as_table
from suffice.tables.table import Table
from suffice.typing import Counts, HeldSets, Reals
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
        """Number of players."""
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
        """Number of players."""
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
