"""suffice: what is sufficient, and what is necessary, for a model's decision.

An implementation of LENS, *Local Explanations via Necessity and Sufficiency* (UAI 2021).
"""

from importlib import import_module
from typing import Any

from suffice import datasets
from suffice.basis import Basis
from suffice.context import (
    CausalContext,
    CausalModel,
    ConditionalContext,
    SwapContext,
    TableContext,
)
from suffice.context.causal import additive, noisy
from suffice.encodings.anchors import AnchorRules, Rule, anchor, score_rule
from suffice.encodings.bounds import CausationBounds, causation_bounds
from suffice.encodings.causation import Causation
from suffice.encodings.pearl import probabilities_of_causation
from suffice.encodings.ranking import TopK, top_k
from suffice.encodings.recourse import Option, Recourse
from suffice.encodings.shapley import shapley_interactions, shapley_values
from suffice.errors import InputError, ModelError, NotVisitedError, SufficeError
from suffice.explainer import Explainer
from suffice.explanation import Explanation, SufficientFactor, View, explanation_schema
from suffice.factors import (
    CostOrder,
    CustomOrder,
    Factor,
    SubsetOrder,
    auxiliary,
    between,
    compare,
    equals,
    factor_from_json,
    held,
    isin,
)
from suffice.inference import clopper_pearson, wilson
from suffice.measures import Measures
from suffice.models import adapt, make_target
from suffice.search import MinimalFactors, minimal_sufficient_factors
from suffice.target import Target, at_least, at_most, satisfies, versus, within

__version__ = "0.1.0"

__all__ = [
    "AnchorRules",
    "Basis",
    "CausalContext",
    "CausalModel",
    "Causation",
    "CausationBounds",
    "ConditionalContext",
    "Corpus",
    "CostOrder",
    "CustomOrder",
    "Explainer",
    "Explanation",
    "Factor",
    "ImageExplainer",
    "InputError",
    "Measures",
    "MinimalFactors",
    "ModelError",
    "NotVisitedError",
    "Option",
    "Recourse",
    "Rule",
    "SubsetOrder",
    "SufficeError",
    "SufficientFactor",
    "SwapContext",
    "TableContext",
    "Target",
    "TextExplainer",
    "TopK",
    "View",
    "adapt",
    "additive",
    "anchor",
    "at_least",
    "at_most",
    "auxiliary",
    "between",
    "causation_bounds",
    "clopper_pearson",
    "compare",
    "datasets",
    "equals",
    "explanation_schema",
    "factor_from_json",
    "held",
    "isin",
    "make_target",
    "minimal_sufficient_factors",
    "noisy",
    "overlay",
    "probabilities_of_causation",
    "satisfies",
    "score_rule",
    "shapley_interactions",
    "shapley_values",
    "top_k",
    "versus",
    "wilson",
    "within",
]

_LATE = {
    "Corpus": "suffice.text",
    "ImageExplainer": "suffice.image",
    "TextExplainer": "suffice.text",
    "overlay": "suffice.image",
}
"""Loaded when first asked for: most users bring a table."""


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module 'suffice' has no attribute {name!r}")
    return getattr(import_module(_LATE[name]), name)
