"""Figures of answers, drawn by matplotlib: each takes `ax` and returns the axes it drew into.

Every figure is made from one typed piece of data. `ax` is an `Axes`, a `Figure` or a `SubFigure`;
None makes a figure of its own. No global style is set, and inks follow the figure's background.
"""

from suffice.plots.audit.cohort import cohort
from suffice.plots.audit.cover import cover
from suffice.plots.audit.drift import drift
from suffice.plots.audit.grades import grades
from suffice.plots.audit.reasons import reasons
from suffice.plots.audit.recourse import global_recourse
from suffice.plots.audit.reliance import reliance
from suffice.plots.audit.roles import roles
from suffice.plots.audit.stability import stability
from suffice.plots.causes import dag
from suffice.plots.charted import measures, recourse, rule, shapley
from suffice.plots.comparison import compare
from suffice.plots.factors_drawing import factors
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
