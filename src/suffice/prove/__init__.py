"""Proofs that feature sets keep an outcome for every row of a domain."""

from suffice.prove.cheapest_change import find_cheapest_change
from suffice.prove.proof import Proof, Verdict, prove

__all__ = ["Proof", "Verdict", "find_cheapest_change", "prove"]
