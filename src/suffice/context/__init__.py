"""Contexts (Sect. 3): how an input and references are combined into the distribution D."""

from suffice.context.conditional import ConditionalContext
from suffice.context.hybrids import Context, Hybrids, Sample, SwapContext, SwapHybrids
from suffice.context.players import Players, make_players
from suffice.context.references import choose_references

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
