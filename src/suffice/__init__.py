"""suffice: what is sufficient, and what is necessary, for a model's decision.

An implementation of LENS, *Local Explanations via Necessity and Sufficiency* (UAI 2021).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from suffice import datasets
    from suffice.basis import Basis
    from suffice.context import ConditionalContext, Sample, SwapContext
    from suffice.context.causal import CausalContext, CausalModel, additive, noisy
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
    from suffice.image import ImageExplainer, overlay
    from suffice.inference import clopper_pearson, wilson
    from suffice.measures import Measures
    from suffice.models import adapt, make_target
    from suffice.search import MinimalFactors, minimal_sufficient_factors
    from suffice.target import Target, at_least, at_most, satisfies, versus, within
    from suffice.text import Corpus, TextExplainer

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
    "Sample",
    "SubsetOrder",
    "SufficeError",
    "SufficientFactor",
    "SwapContext",
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
    "suffice.basis": ("Basis",),
    "suffice.context": (
        "ConditionalContext",
        "SwapContext",
        "Sample",
    ),
    "suffice.context.causal": (
        "CausalContext",
        "CausalModel",
        "additive",
        "noisy",
    ),
    "suffice.encodings.anchors": (
        "AnchorRules",
        "Rule",
        "anchor",
        "score_rule",
    ),
    "suffice.encodings.bounds": (
        "CausationBounds",
        "causation_bounds",
    ),
    "suffice.encodings.causation": ("Causation",),
    "suffice.encodings.pearl": ("probabilities_of_causation",),
    "suffice.encodings.ranking": (
        "TopK",
        "top_k",
    ),
    "suffice.encodings.recourse": (
        "Option",
        "Recourse",
    ),
    "suffice.encodings.shapley": (
        "shapley_interactions",
        "shapley_values",
    ),
    "suffice.errors": (
        "InputError",
        "ModelError",
        "NotVisitedError",
        "SufficeError",
    ),
    "suffice.explainer": ("Explainer",),
    "suffice.explanation": (
        "Explanation",
        "SufficientFactor",
        "View",
        "explanation_schema",
    ),
    "suffice.factors": (
        "CostOrder",
        "CustomOrder",
        "Factor",
        "SubsetOrder",
        "auxiliary",
        "between",
        "compare",
        "equals",
        "factor_from_json",
        "held",
        "isin",
    ),
    "suffice.image": (
        "ImageExplainer",
        "overlay",
    ),
    "suffice.inference": (
        "clopper_pearson",
        "wilson",
    ),
    "suffice.measures": ("Measures",),
    "suffice.models": (
        "adapt",
        "make_target",
    ),
    "suffice.search": (
        "MinimalFactors",
        "minimal_sufficient_factors",
    ),
    "suffice.target": (
        "Target",
        "at_least",
        "at_most",
        "satisfies",
        "versus",
        "within",
    ),
    "suffice.text": (
        "Corpus",
        "TextExplainer",
    ),
}
"""Where each name comes from. Loaded when first asked for: a command that only prints its options,
or a program that needs one of them, is not kept waiting for the rest."""


def __getattr__(name: str) -> Any:
    if name == "datasets":
        return import_module("suffice.datasets")
    for module, names in _LATE.items():
        if name in names:
            return getattr(import_module(module), name)
    raise AttributeError(f"module 'suffice' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
