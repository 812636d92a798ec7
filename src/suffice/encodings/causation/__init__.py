"""Is one thing a cause of another? Pearl's probabilities (Prop. 4), and their bounds by data."""

from suffice.encodings.causation.bounds import causation_bounds
from suffice.encodings.causation.probabilities import probabilities_of_causation
from suffice.encodings.causation.result import Causation, CausationBounds

__all__ = ["Causation", "CausationBounds", "causation_bounds", "probabilities_of_causation"]
