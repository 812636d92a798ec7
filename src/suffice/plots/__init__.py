"""Figures of answers, drawn by matplotlib: each takes `ax` and returns the axes it drew into.

Every figure is made from one typed piece of data. `ax` is an `Axes`, a `Figure` or a `SubFigure`;
None makes a figure of its own. No global style is set, and inks follow the figure's background.
"""

from suffice.plots.audited import cohort, cover, reasons, reliance, roles
from suffice.plots.burden import global_recourse
from suffice.plots.causes import dag
from suffice.plots.changed import drift, stability
from suffice.plots.charted import measures, recourse, rule, shapley
from suffice.plots.comparison import compare
from suffice.plots.factors_drawing import factors
from suffice.plots.graded import grades
from suffice.plots.hasse import lattice
from suffice.plots.overlays import image, text
from suffice.plots.thresholds import barcode, curve

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
