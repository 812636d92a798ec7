"""Figures of answers, drawn by matplotlib: each takes `ax` and returns the axes it drew into.

Every figure is made from one typed piece of data. `ax` is an `Axes`, a `Figure` or a `SubFigure`;
None makes a figure of its own. No global style is set, and inks follow the figure's background.
"""

from suffice.plots.audit_charts import cohort, cover, drift, reasons, reliance, roles, stability
from suffice.plots.causal_graph import dag
from suffice.plots.hasse import lattice
from suffice.plots.highlights import image, text
from suffice.plots.recourse_costs import global_recourse
from suffice.plots.result_charts import measures, recourse, rule, shapley
from suffice.plots.signature import factors
from suffice.plots.thresholds import barcode, curve
from suffice.plots.tool_comparison import compare, grades

__all__ = [
    "barcode",
    "cohort",
    "compare",
    "cover",
    "curve",
    "dag",
    "drift",
    "factors",
    "global_recourse",
    "grades",
    "image",
    "lattice",
    "measures",
    "reasons",
    "recourse",
    "reliance",
    "roles",
    "rule",
    "shapley",
    "stability",
    "text",
]
