"""Pearl's probabilities of causation (Prop. 4), and their bounds from data alone."""

from suffice.causation.bounds import CausationBounds, causation_bounds
from suffice.causation.probabilities import Causation, probabilities_of_causation

__all__ = ["Causation", "CausationBounds", "causation_bounds", "probabilities_of_causation"]
