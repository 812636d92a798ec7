"""Models of all libraries behind one interface: adapters, input columns, outputs, classes.

    wrapped, answers = wrap_model(model, table)  # as the explainer does with every model
    adapt(model, classes=("no", "yes"), …)       # with options, as a scikit-learn estimator

A model's library is recognised by the names of its classes: none is imported for that.
"""

from suffice.models.adapter import Adapter, adapt, adapt_if_known, require_model
from suffice.models.input_columns import fitted_columns
from suffice.models.wrapped_model import WrappedModel, make_target, wrap_model

__all__ = [
    "Adapter",
    "WrappedModel",
    "adapt",
    "adapt_if_known",
    "fitted_columns",
    "make_target",
    "require_model",
    "wrap_model",
]
