"""Contexts (Sect. 3): how input and references mix into the distribution D of every probability."""

from suffice.context.conditional import ConditionalContext
from suffice.context.hybrids import Context, Hybrids
from suffice.context.players import Players, make_players
from suffice.context.references import choose_references
from suffice.context.sample import Sample
from suffice.context.swap import SwapContext, SwapHybrids

__all__ = [
    "ConditionalContext",
    "Context",
    "Hybrids",
    "Players",
    "Sample",
    "SwapContext",
    "SwapHybrids",
    "choose_references",
    "make_players",
]
