"""Interfaces `Context` and `Hybrids` (mixtures of input and references); `Sample` of D.

A hybrid is a row made of the input and one reference. Contexts differ in how the two are combined:
values are swapped (`SwapContext`), drawn near the values held (`ConditionalContext`), or follow
from an intervention (`CausalContext`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, Protocol

import numpy as np

from suffice.context.players import Players
from suffice.errors import InputError
from suffice.tables.conversion import as_table
from suffice.tables.table import Table
from suffice.typing import Counts, HeldSets, Values
from suffice.validation import check_name_list

ContextKind = Literal["swap", "conditional", "causal", "text", "parts", "other"]
"""Kind of a context, for reports; "parts" are parts of the regions of an image."""


class Hybrids(Protocol):
    """Protocol of the rows made of one input and n references."""

    @property
    def pool(self) -> Table:
        """A table with the input in row 0 and the rows that values are taken from below."""
        ...

    @property
    def players(self) -> Players:
        """The columns or groups of columns that are held or replaced."""
        ...

    @property
    def d(self) -> int:
        """Number of players."""
        ...

    @property
    def n(self) -> int:
        """Number of hybrids per subset."""
        ...

    def rows(self, held: HeldSets, references: Counts) -> Table:
        """Return hybrids: row i is made of subset held[i] and reference references[i]."""
        ...

    def donors(self, held: HeldSets) -> Counts | None:
        """Return (subsets, n): rows of the pool that new values come from; None if computed."""
        ...


@dataclass(frozen=True, eq=False)
class RestrictedHybrids:
    """Hybrids of some players only; the others are held. For the hybrids of any context.

    Swapped values have `SwapHybrids.restrict_to`, whose rows keep their keys.
    """

    whole: Hybrids
    numbers: tuple[int, ...]
    """Numbers of the players, among those of all hybrids."""

    @property
    def pool(self) -> Table:
        """The table of all hybrids."""
        return self.whole.pool

    @cached_property
    def players(self) -> Players:
        """The players that are held or replaced."""
        return self.whole.players.take(self.numbers)

    @property
    def d(self) -> int:
        """Number of these players."""
        return len(self.numbers)

    @property
    def n(self) -> int:
        """Number of hybrids per subset."""
        return self.whole.n

    def rows(self, held: HeldSets, references: Counts) -> Table:
        """Return hybrids: row i holds held[i] and every other player."""
        return self.whole.rows(self._with_others(held), references)

    def donors(self, held: HeldSets) -> Counts | None:
        """Return (subsets, n): rows of the pool that new values come from; None if computed."""
        return self.whole.donors(self._with_others(held))

    def _with_others(self, held: HeldSets) -> HeldSets:
        out = np.ones((len(held), self.whole.d), dtype=bool)
        out[:, list(self.numbers)] = held
        return out


class KeyedHybrids(ABC):
    """Base class of hybrids that have an integer key each, known before rows are built."""

    @abstractmethod
    def keys(self, held: HeldSets) -> Counts:
        """Return (subsets, n): integers that are equal only where two hybrids are the same row."""

    @property
    @abstractmethod
    def stable_keys(self) -> bool:
        """True if keys are comparable between calls."""

    def lasting_keys(self, held: HeldSets, references: Counts) -> Counts | None:
        """Return (rows,): keys of single hybrids that are comparable between calls; None without.

        Equal keys are equal rows here too, but two equal rows may have different keys.
        """
        return None


class Context(ABC):
    """Base class of contexts: how the values of an input and its references are combined."""

    kind: ClassVar[ContextKind] = "other"
    is_causal: ClassVar[bool] = False
    """True if changes have effects, so that columns that are not replaced may change too."""
    is_swap: ClassVar[bool] = False
    """True if values are swapped and nothing else changes, as in the default context."""

    @property
    def draws_effects(self) -> bool:
        """Whether effects of a change have fresh noise, so that it may flip by chance."""
        return False

    @abstractmethod
    def bind(self, pool: Table, players: Players, seed: int) -> tuple[Hybrids, Hybrids]:
        """Return the hybrids of the keep view and of the flip view.

        Both are the same object where replacing a set is holding its complement: one sweep then
        serves both views. Otherwise, `held` names the players that the flip view does *not*
        replace.
        """

    def bind_with_costs(
        self, pool: Table, players: Players, seed: int, data: Table, cost: Any
    ) -> tuple[Hybrids, Hybrids]:
        """Return what `bind` returns; contexts that measure distances use those of `cost`.

        `data` are all rows, whose deviations scale distances; `cost` is `Explainer`'s argument.
        """
        return self.bind(pool, players, seed)

    @abstractmethod
    def describe(self) -> str:
        """Return a short description of the context, for reports."""


class Sample(Mapping[str, Values]):
    """A sample of D: rows of z = (x, w), with f(z) := f(x) (Sect. 3, "Context").

    The columns named in `auxiliaries` are W; the others are the model's x.

    >>> import pandas as pd
    >>> z = pd.DataFrame({"income": [20, 60], "do(income > 50k)": [False, True]})
    >>> sample = Sample(z, auxiliaries=["do(income > 50k)"])
    >>> sample.x.names, sample.auxiliaries
    (('income',), ('do(income > 50k)',))
    """

    def __init__(self, sample: Any, auxiliaries: Iterable[str] = ()) -> None:
        table = as_table(sample, argument="sample")
        chosen = check_name_list("auxiliaries", auxiliaries)
        positions = [table.position(name, "auxiliaries") for name in chosen]
        predictors = [j for j in range(len(table.names)) if j not in positions]
        if not predictors:
            raise InputError(
                "auxiliaries", "every column", "at least one column left for the model"
            )
        self.x: Table = table.select(predictors)
        self.w: dict[str, Values] = {table.names[j]: table.column(j) for j in positions}

    @property
    def auxiliaries(self) -> tuple[str, ...]:
        """Names of the columns of W."""
        return tuple(self.w)

    @property
    def n(self) -> int:
        """Number of rows of the sample."""
        return len(self.x)

    def __getitem__(self, name: str) -> Values:
        if name in self.w:
            return self.w[name]
        if name in self.x.names:
            return self.x.column(self.x.names.index(name))
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter((*self.x.names, *self.w))

    def __len__(self) -> int:
        return len(self.x.names) + len(self.w)

    def __repr__(self) -> str:
        return f"Sample({self.n} rows of x{list(self.x.names)}, w{list(self.w)})"
