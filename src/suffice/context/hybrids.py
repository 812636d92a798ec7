"""A context says how an input and references mix; bound to them, it is their hybrids.

A hybrid is a row made of the input and one reference. How the two mix is what tells contexts apart:
values are swapped (`SwapContext`), drawn near what is held (`ConditionalContext`), or follow from
an intervention (`CausalContext`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Literal, Protocol

from suffice.context.players import Players
from suffice.tables.table import Table
from suffice.typing import Counts, Held

__all__ = ["Context", "ContextKind", "Hybrids", "KeyedHybrids"]

ContextKind = Literal["swap", "conditional", "causal", "text", "parts", "other"]
"""Which way of mixing it is, for those who tell of it; "parts" are those of a picture's regions."""


class Hybrids(Protocol):
    """Rows made of one input and n references."""

    @property
    def pool(self) -> Table:
        """The input in row 0, and below it the rows that values are taken from."""
        ...

    @property
    def players(self) -> Players:
        """What is held or replaced."""
        ...

    @property
    def d(self) -> int:
        """How many players there are."""
        ...

    @property
    def n(self) -> int:
        """How many hybrids there are of each subset."""
        ...

    def rows(self, held: Held, references: Counts) -> Table:
        """Build row i from subset held[i] and reference references[i]."""
        ...

    def donors(self, held: Held) -> Counts | None:
        """(subsets, n): the rows of the pool that new values come from; None if they are made."""
        ...


class KeyedHybrids(ABC):
    """Inherited by hybrids that can be told apart by a number each, without being built."""

    @abstractmethod
    def keys(self, held: Held) -> Counts:
        """(subsets, n): equal numbers only where two hybrids are the same row."""

    @property
    @abstractmethod
    def stable_keys(self) -> bool:
        """Are keys comparable between calls?"""

    def lasting_keys(self, held: Held, references: Counts) -> Counts | None:
        """(rows,): keys of single hybrids that are comparable between calls; None: there are none.

        Here too equal numbers are equal rows, but two equal rows may have two numbers.
        """
        return None


class Context(ABC):
    """How an input and references mix, said before either is known."""

    kind: ClassVar[ContextKind] = "other"
    is_causal: ClassVar[bool] = False
    """Do changes have consequences, so that what is not replaced may change too?"""
    is_swap: ClassVar[bool] = False
    """Are values swapped and nothing else, as where no context is given?"""

    @abstractmethod
    def bind(self, pool: Table, players: Players, seed: int) -> tuple[Hybrids, Hybrids]:
        """The hybrids of the keep view and of the flip view.

        They are one and the same object where replacing a set is holding its complement: then one
        sweep answers both views. Otherwise `held` still says what the flip view does *not* replace.
        """

    @abstractmethod
    def describe(self) -> str:
        """The context in a few words."""
