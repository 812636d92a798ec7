"""Models of every kind, asked as they want to be asked.

    wrapped, answers = as_model(model, table)   # what the explainer does with any model
    adapt(model, classes=("no", "yes"), …)      # the same, with options, as an estimator

No library is imported to find out whether a model is of its kind.
"""

from suffice.models.adapter import Adapter, adapt, adapted, not_a_model
from suffice.models.entry import as_model, make_target
from suffice.models.rows import fitted_columns
from suffice.models.wrapped import WrappedModel

__all__ = [
    "Adapter",
    "WrappedModel",
    "adapt",
    "adapted",
    "as_model",
    "fitted_columns",
    "make_target",
    "not_a_model",
]
