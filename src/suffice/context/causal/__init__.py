"""Structural causal models: from a DAG and a table to interventions and counterfactuals."""

from suffice.context.causal.assign import additive
from suffice.context.causal.functions import noisy
from suffice.context.causal.mechanisms import Mechanism
from suffice.context.causal.model import CausalModel

__all__ = ["CausalModel", "Mechanism", "additive", "noisy"]
