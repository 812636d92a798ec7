"""Structural causal models: from a DAG and a table to interventions and counterfactuals."""

from suffice.context.causal.context import CausalContext, CausalHybrids
from suffice.context.causal.dowhy import from_dowhy
from suffice.context.causal.mechanisms import Mechanism, additive, noisy
from suffice.context.causal.model import CausalModel

__all__ = [
    "CausalContext",
    "CausalHybrids",
    "CausalModel",
    "Mechanism",
    "additive",
    "from_dowhy",
    "noisy",
]
