"""Contexts (Sect. 3): the distribution D that every probability is taken over."""

from suffice.context.conditional import ConditionalContext
from suffice.context.frames import as_table
from suffice.context.hybrids import Hybrids, Mixing
from suffice.context.players import Players, make_players
from suffice.context.references import choose_references
from suffice.context.sample import TableContext
from suffice.context.swap import Swap, SwapContext
from suffice.context.table import Table

__all__ = [
    "ConditionalContext",
    "Hybrids",
    "Mixing",
    "Players",
    "Swap",
    "SwapContext",
    "Table",
    "TableContext",
    "as_table",
    "choose_references",
    "make_players",
]
