"""Explanations: the frozen result with two views, its changes, its storage and its schema."""

from suffice.explanation.explanation import Explanation, Explanations, all_players, as_views
from suffice.explanation.schema import ContextRecord, Provenance, ReferencesRecord
from suffice.explanation.sufficient_factor import Change, Player, SufficientFactor
from suffice.explanation.view import View

__all__ = [
    "Change",
    "ContextRecord",
    "Explanation",
    "Explanations",
    "Player",
    "Provenance",
    "ReferencesRecord",
    "SufficientFactor",
    "View",
    "all_players",
    "as_views",
]
