"""The frozen answer: two views of one sweep, how complete they are, and where they came from."""

from suffice.explanation.explanation import Explanation
from suffice.explanation.explanations import Explanations
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
]
