"""Search (Sect. 3.2, Alg. 1): which factors are τ-minimal, for one τ or for all of them."""

from suffice.factors.lattice import Ladder, climb
from suffice.search.algorithm1 import MinimalFactors, minimal_sufficient_factors
from suffice.search.exhaustive import Sweep, Tally, exhaustive_search
from suffice.search.limits import LimitKeeper, Limits, Stop
from suffice.search.pruned import pruned_search
from suffice.search.question import Question

__all__ = [
    "Ladder",
    "LimitKeeper",
    "Limits",
    "MinimalFactors",
    "Question",
    "Stop",
    "Sweep",
    "Tally",
    "climb",
    "exhaustive_search",
    "minimal_sufficient_factors",
    "pruned_search",
]
