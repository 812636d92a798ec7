"""Contexts (Sect. 3): the distribution D that every probability is taken over."""

from suffice.context.frames import as_table
from suffice.context.players import Players, make_players
from suffice.context.references import choose_references
from suffice.context.sample import TableContext
from suffice.context.swap import SwapContext
from suffice.context.table import Table

__all__ = [
    "Players",
    "SwapContext",
    "Table",
    "TableContext",
    "as_table",
    "choose_references",
    "make_players",
]
