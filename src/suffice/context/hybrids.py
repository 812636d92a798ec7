"""`Context`, `Hybrids` (mixtures of input and references, with keys), the default `SwapContext`.

A hybrid is a row made of the input and one reference. Contexts differ in how the two are combined:
values are swapped (`SwapContext`), drawn near the values held (`ConditionalContext`), or follow
from an intervention (`CausalContext`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, Protocol

import numpy as np

from suffice.context.players import Players
from suffice.context.references import Pool
from suffice.errors import InputError
from suffice.factors.lattice import masks_of_held
from suffice.factors.predicates import HELD_PREFIX
from suffice.tables.cells import MAX_EXACT_INTEGER, distinct_rows, joint_codes
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
        """Number of players d, features or groups that are replaced together."""
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
        """True if effects of a change have fresh noise, so that the change may flip by chance."""
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

    @classmethod
    def of_hybrids(cls, x: Table, held: Mapping[str, Values]) -> Sample:
        """Return a sample of hybrids, with an auxiliary column per player: whether it was held."""
        sample = cls.__new__(cls)
        sample.x = x
        sample.w = {HELD_PREFIX + player: values for player, values in held.items()}
        return sample

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


# The swap context, which is the default: hybrids that swap values of an input and a reference.
#
# For a reference r and a set S of players, the hybrid h(S, r) has the input's values on S and those
# of r elsewhere (Sect. 5, "Contexts"). Drawing r uniformly from the references and S from all
# subsets, with S recorded in W, gives D. Reading S as held is R2I; reading its complement as
# replaced is I2R. Both are views of the same hybrids.


@dataclass(frozen=True, eq=False)
class PooledHybrids:
    """Base class of hybrids in which every subset takes new values from the same references.

    `pool` has the input in row 0 and the references below.
    """

    pool: Table
    players: Players

    @property
    def d(self) -> int:
        """Number of players d, features or groups that are replaced together."""
        return len(self.players.names)

    @property
    def n(self) -> int:
        """Number of references n, one hybrid each per subset."""
        return len(self.pool) - 1

    def rows(self, held: HeldSets, references: Counts) -> Table:
        """Return hybrids: row i has the input's values on held[i], else those of references[i]."""
        if len(self.players) < len(self.pool.names):
            held = held[:, self.players.of_column]
        return self.pool.splice(held, references + 1)

    def donors(self, held: HeldSets) -> Counts | None:
        """Return (subsets, n): the rows of the pool that new values come from: all references."""
        return np.broadcast_to(np.arange(1, self.n + 1), (len(held), self.n))


@dataclass(frozen=True, eq=False)
class SwapHybrids(PooledHybrids, KeyedHybrids):
    """Hybrids that swap values, with keys that identify equal rows before they are built."""

    @cached_property
    def codes(self) -> Counts:
        """Codes (1 + n, d): integers, equal where two rows agree on all columns of a player."""
        if isinstance(self.pool, Pool):  # the same codes, from those cached with the references
            return self.pool.player_codes(self.players)
        return self.players.codes(self.pool.codes())

    def keys(self, held: HeldSets) -> Counts:
        """Return (subsets, n): integers, equal exactly where two hybrids are the same row.

        A key is a mixed-radix number with one digit per player. It differs from the input's by a
        sum over the players not held, so all keys are one matrix product. BLAS computes it in
        float64, which is exact up to 2^53: players beyond that form another block.
        """
        freed = (~held).astype(np.float64)
        keys = np.zeros((len(held), self.n), dtype=np.int64)
        for block, radix in self._radix_blocks:
            digits = (self.codes[1:, block] - self.codes[0, block]) * radix
            part = (freed[:, block] @ digits.T.astype(np.float64)).astype(np.int64)
            if block[0] > 0:
                part = joint_codes([keys.ravel(), part.ravel()], keys.size).reshape(part.shape)
            keys = part
        return keys

    def distinct(self, held: HeldSets, references: Counts) -> tuple[Counts, Counts]:
        """Return the number of each hybrid among the distinct ones, and where each is first."""
        return distinct_rows(np.where(held, self.codes[0], self.codes[references + 1]))

    @property
    def stable_keys(self) -> bool:
        """True if keys are comparable between calls: all players fit one block."""
        return len(self._radix_blocks) == 1

    def lasting_keys(self, held: HeldSets, references: Counts) -> Counts | None:
        """Return (rows,): keys of single hybrids that are comparable between calls, else None.

        Without stable keys, a key consists of the players that differ from the input and the
        reference. Two references may then give one row under two keys, which is rare in data so
        varied that keys need several blocks.
        """
        if self.stable_keys:
            return np.asarray(np.einsum("ij,ij->i", ~held, self._digits[references]))
        if self.d + int(self.n).bit_length() > 62:
            return None  # too many players for such a key as well
        like_input = held | (self.codes[references + 1] == self.codes[0])
        other = np.where(like_input.all(axis=1), 0, references)  # the input itself is one row
        return masks_of_held(like_input) * self.n + other

    @cached_property
    def _digits(self) -> Counts:
        """Changes (n, d) of the key when a player is replaced; for keys of one block."""
        return np.asarray((self.codes[1:] - self.codes[0]) * self._radix_blocks[0][1])

    @cached_property
    def _radix_blocks(self) -> list[tuple[list[int], Counts]]:
        """Runs of players and the weights of their digits, each run exact in float64."""
        sizes = [int(s) for s in self.codes.max(axis=0) + 1]
        blocks: list[tuple[list[int], list[int]]] = []
        room = 0
        for player, size in enumerate(sizes):
            if not blocks or room * size >= MAX_EXACT_INTEGER:
                blocks.append(([], []))
                room = 1
            blocks[-1][0].append(player)
            blocks[-1][1].append(room)
            room *= size
        return [(players, np.array(radix, dtype=np.int64)) for players, radix in blocks]

    def restrict_to(self, numbers: Sequence[int]) -> SwapHybrids:
        """Return hybrids of some players only; the others have the input's values in every row.

        The references get the input's values in the columns of the other players. It then makes no
        difference which player those columns belong to, and the first player gets them.
        """
        some = self.players.take(numbers)
        fixed = np.ones(len(self.pool.names), dtype=bool)
        fixed[[j for columns in some.columns for j in columns]] = False
        rows = len(self.pool)
        like_input = self.pool.splice(np.broadcast_to(fixed, (rows, len(fixed))), np.arange(rows))
        first = (*some.columns[0], *np.flatnonzero(fixed).tolist())
        return SwapHybrids(like_input, Players(some.names, (first, *some.columns[1:])))


@dataclass(frozen=True)
class SwapContext(Context):
    """Context that swaps values, the paper's R2I and I2R: a change has no further effects.

    >>> import numpy as np
    >>> import pandas as pd
    >>> from suffice import Explainer
    >>> people = pd.DataFrame({"income": [20, 30, 60, 70], "debt": [9, 2, 8, 1]})
    >>> def grant(rows):
    ...     return np.where(rows["income"] - 4 * rows["debt"] > 20, "granted", "refused")
    >>> from suffice import SwapContext
    >>> swapped = Explainer(grant, people, context=SwapContext())
    >>> swapped.explain({"income": 25, "debt": 8}).provenance.context.words
    'values swapped'
    """

    kind = "swap"
    is_swap = True

    def bind(self, pool: Table, players: Players, seed: int) -> tuple[SwapHybrids, SwapHybrids]:
        """Return the same hybrids for both views: replacing a set is holding its complement."""
        hybrids = SwapHybrids(pool, players)
        return hybrids, hybrids

    def describe(self) -> str:
        """Return the context's description, "values swapped"."""
        return "values swapped"
