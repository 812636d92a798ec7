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

from suffice.checks import ran, whole
from suffice.context.cost import LARGEST, change_costs
from suffice.context.hybrids import Context
from suffice.context.players import Players
from suffice.context.references import with_columns_of
from suffice.errors import InputError
from suffice.randomness import Stream, generator
from suffice.tables.cells import distinct_rows
from suffice.tables.frames import as_table
from suffice.tables.table import Table
from suffice.typing import Counts, Held, Reals

__all__ = ["ConditionalContext", "Sampler"]

Sampler = Callable[[Any, tuple[str, ...], int, np.random.Generator], Any]
"""(the input as a one-row table, the names of the held columns, n, rng) -> n rows like the data."""

_SAMPLER = "a function (x, held, n, rng) -> n rows"


@dataclass(frozen=True, kw_only=True)
class ConditionalContext(Context):
    """Draw what is not held from rows like the input on what is held.

    Parameters
    ----------
    n_drawn
        How many rows are drawn for each set of features: the nearest references, by the distance
        that also measures cost (deviations for numbers, 0 or 1 for the rest), ties by chance.
        As many as there are references makes it the marginal context again.
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
    sampler: Sampler | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_drawn", whole("n_drawn", self.n_drawn))
        if not (self.sampler is None or callable(self.sampler)):
            raise InputError("sampler", self.sampler, f"None or {_SAMPLER}")

    def bind(self, pool: Table, players: Players, seed: int) -> tuple[Any, Any]:
        """The same hybrids for both views."""
        made: NearHybrids | SampledHybrids
        if self.sampler is not None:
            made = SampledHybrids(pool, players, self.sampler, self.n_drawn, seed)
        else:
            made = NearHybrids(pool, players, min(self.n_drawn, len(pool) - 1), seed)
        return made, made

    def describe(self) -> str:
        """How the rest is drawn."""
        if self.sampler is not None:
            name = getattr(self.sampler, "__name__", type(self.sampler).__name__)
            return f"{self.n_drawn} rows drawn by {name} given what is held"
        return f"the references nearest to what is held, at most {self.n_drawn}"


@dataclass(frozen=True, eq=False)
class NearHybrids:
    """Each subset's hybrids take their values from the n references nearest on what it holds."""

    pool: Table
    players: Players
    n: int
    seed: int

    @property
    def d(self) -> int:
        """How many players there are."""
        return len(self.players)

    def rows(self, held: Held, references: Counts) -> Table:
        """Row i: the input on held[i], and elsewhere its near reference number references[i]."""
        which, first = distinct_rows(held.astype(np.int64))
        rows = self.donors(held[first])[which, references]
        return self.pool.splice(held[:, self.players.of_column], rows)

    def donors(self, held: Held) -> Counts:
        """The nearest references, which of equally near ones is left to chance; in pool order.

        That order, so that of equally cheap changes the same one is reported as by a swap.
        """
        away = held.astype(float) @ self._away[self._shuffled].T
        nearest = np.argsort(away, axis=1, kind="stable")[:, : self.n]
        return np.sort(1 + self._shuffled[nearest], axis=1)

    @cached_property
    def _away(self) -> Reals:
        """(references, d): how far each is from the input on each player."""
        # Infinitely far is far: what is not held counts 0 times that, which must not be NaN.
        return np.minimum(change_costs(self.pool, self.pool, self.players), LARGEST)

    @cached_property
    def _shuffled(self) -> Counts:
        return generator(self.seed, Stream.NEAREST).permutation(len(self.pool) - 1)


@dataclass(frozen=True, eq=False)
class SampledHybrids:
    """Each subset's hybrids take their values from rows that the user's sampler draws."""

    pool: Table
    players: Players
    sampler: Sampler
    n: int
    seed: int

    @property
    def d(self) -> int:
        """How many players there are."""
        return len(self.players)

    def rows(self, held: Held, references: Counts) -> Table:
        """Row i: the input on held[i], and elsewhere row references[i] of that subset's sample."""
        which, first = distinct_rows(held.astype(np.int64))
        input_row = self.pool.take(np.array([0]))
        drawn = input_row
        for rows in self._samples(held[first]):
            drawn = drawn.stack(rows)
        return drawn.splice(held[:, self.players.of_column], 1 + which * self.n + references)

    def donors(self, held: Held) -> None:
        """The rows are made, not taken from the references: no observed change to put a cost on."""

    def _samples(self, subsets: Held) -> Iterator[Table]:
        """Each subset has a seed of its own: the same rows in whatever order it is asked for."""
        of_column = self.players.of_column
        x = self.pool.take(np.array([0])).native
        for held in subsets:
            names = tuple(
                name for name, kept in zip(self.pool.names, held[of_column], strict=True) if kept
            )
            rng = generator(self.seed, Stream.SAMPLER, *np.packbits(held).tolist())
            given = ran("sampler", self.sampler, _SAMPLER, x, names, self.n, rng)
            rows = as_table(given, names=self.pool.names, argument="sampler")
            if len(rows) != self.n:
                raise InputError("sampler", f"{len(rows)} rows", f"{self.n} rows, as asked for")
            yield with_columns_of(self.pool, rows, "sampler")
