# Lazy exports of suffice.plots; `X as X` is how a stub marks a re-export.
from .audit_charts import (
    cohort as cohort,
    cover as cover,
    drift as drift,
    reasons as reasons,
    reliance as reliance,
    roles as roles,
    stability as stability,
)
from .diagrams import dag as dag, lattice as lattice
from .highlights import image as image, text as text
from .recourse_costs import global_recourse as global_recourse
from .result_charts import (
    measures as measures,
    recourse as recourse,
    rule as rule,
    shapley as shapley,
)
from .signature import factors as factors
from .thresholds import barcode as barcode, curve as curve
from .tool_comparison import compare as compare, grades as grades
