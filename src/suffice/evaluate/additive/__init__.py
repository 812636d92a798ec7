"""Additive models, exact: linear models, naive Bayes, and per-column pipelines before them.

    read = read_additive(model, columns)             # once per model
    engine = AdditiveEngine(read, target, hybrids, y)  # once per input

A model that is not known to be additive, or an event that its scores do not tell, raises
`Unreadable`.
"""

from suffice.evaluate.additive.engine import AdditiveEngine
from suffice.evaluate.additive.readers import AdditiveModel, read_additive

__all__ = ["AdditiveEngine", "AdditiveModel", "read_additive"]
