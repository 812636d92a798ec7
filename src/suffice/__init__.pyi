# The names that the package offers, each once; `as` is how a stub says "offered".
from . import audit as audit, datasets as datasets, plots as plots, testing as testing
from .attribution import (
    ShapleyInteractions as ShapleyInteractions,
    ShapleyValues as ShapleyValues,
    shapley as shapley,
    shapley_interactions as shapley_interactions,
    shapley_values as shapley_values,
)
from .batch.load import load as load
from .causation import (
    Causation as Causation,
    CausationBounds as CausationBounds,
    causation_bounds as causation_bounds,
    probabilities_of_causation as probabilities_of_causation,
)
from .context import (
    ConditionalContext as ConditionalContext,
    Sample as Sample,
    SwapContext as SwapContext,
)
from .context.causal import (
    CausalContext as CausalContext,
    CausalModel as CausalModel,
    additive as additive,
    noisy as noisy,
)
from .context.conditional import Plausibility as Plausibility
from .errors import (
    InputError as InputError,
    LostRowsError as LostRowsError,
    ModelError as ModelError,
    NotVisitedError as NotVisitedError,
    SufficeError as SufficeError,
)
from .explainer import Explainer as Explainer
from .explanation import (
    Explanation as Explanation,
    SufficientFactor as SufficientFactor,
    View as View,
)
from .factors import (
    CostOrder as CostOrder,
    CustomOrder as CustomOrder,
    Factor as Factor,
    SubsetOrder as SubsetOrder,
    auxiliary as auxiliary,
    between as between,
    compare as compare,
    equals as equals,
    factor_from_json as factor_from_json,
    held as held,
    isin as isin,
)
from .image import ImageExplainer as ImageExplainer, overlay as overlay
from .inference import clopper_pearson as clopper_pearson, wilson as wilson
from .measures import Measures as Measures
from .models import adapt as adapt, make_target as make_target
from .prove import Proof as Proof, Verdict as Verdict
from .ranking import TopK as TopK, top_k as top_k
from .recourse import Option as Option, Recourse as Recourse
from .report.render_result import report as report
from .results import Result as Result, result_schema as result_schema
from .rules import (
    AnchorRules as AnchorRules,
    Rule as Rule,
    anchor as anchor,
    score_rule as score_rule,
)
from .search import (
    MinimalFactors as MinimalFactors,
    minimal_sufficient_factors as minimal_sufficient_factors,
)
from .search.algorithm1 import Basis as Basis
from .search.limits import Stop as Stop
from .search.plan import Plan as Plan
from .target import (
    Target as Target,
    at_least as at_least,
    at_most as at_most,
    satisfies as satisfies,
    versus as versus,
    within as within,
)
from .text import Corpus as Corpus, TextExplainer as TextExplainer

__version__: str
