"""Readers of models that come from elsewhere, each known by the exact class it reads.

A reader that is registered is believed no more than one of our own: its engine asks the model
wherever rounding could decide, and checks a few hybrids besides. Where no reader is found, as in a
process that never registered it, the black box gives the same outcomes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from suffice.errors import InputError
from suffice.evaluate.columns import is_tampered
from suffice.typing import Reals

if TYPE_CHECKING:
    from suffice.evaluate.additive import AdditiveReading
    from suffice.evaluate.trees import Ensemble

__all__ = ["Shape", "find_reader", "register_reader"]

Shape = Literal["additive", "trees"]
"""What a reader makes of a model: terms that it adds up, or the trees that it consists of."""

_READERS: dict[tuple[Shape, type], Callable[..., Any]] = {}


def register_reader(
    kind: type,
    *,
    additive: Callable[[Any, Reals], AdditiveReading] | None = None,
    trees: Callable[[Any], Ensemble] | None = None,
) -> None:
    """Tell how to read fitted models of a class: as a sum of terms, or as trees.

    Say it in the module that defines the class, so that every process that has the one has the
    other. Objects of a subclass are not read, since a subclass may predict as it likes.

    Parameters
    ----------
    kind
        The class of the fitted models, or of the last step of a pipeline.
    additive
        (model, X) -> `AdditiveReading`: the terms of rows X, in float64, as the model sees them.
    trees
        (model) -> `Ensemble`: see `suffice.evaluate.trees.reading.join_trees`.

    Examples
    --------
    >>> import numpy as np
    >>> from suffice import Explainer
    >>> from suffice.evaluate import register_reader
    >>> from suffice.evaluate.additive import AdditiveReading
    >>> class Points:
    ...     classes_ = 0, 1
    ...     def predict(self, rows):
    ...         return (rows @ [2.0, -1.0] - 1.0 > 0).astype(int)
    >>> def read_points(model, X):
    ...     terms = X * np.array([2.0, -1.0])
    ...     return AdditiveReading(iter([(terms, None)]), np.array([-1.0]), "sign")
    >>> register_reader(Points, additive=read_points)
    >>> e = Explainer(Points(), np.array([[0.0, 1.0], [0.2, 0.0]])).explain([2.0, 1.0])
    >>> e.provenance.evaluator
    'additive'
    """
    given: object = kind
    if not isinstance(given, type):
        raise InputError("kind", given, "the class of the models that the reader reads")
    readers: dict[Shape, Any] = {"additive": additive, "trees": trees}
    said = {shape: read for shape, read in readers.items() if read is not None}
    if len(said) != 1:
        got = "both" if said else "neither"
        raise InputError("additive, trees", got, "one of the two: what the model consists of")
    for shape, read in said.items():
        if not callable(read):
            raise InputError(shape, read, "a function that reads a fitted model")
        _READERS[shape, kind] = read


def find_reader(shape: Shape, model: Any) -> Callable[..., Any] | None:
    """The reader that was registered for a model's very class; None for a tampered instance."""
    return None if is_tampered(model) else _READERS.get((shape, type(model)))
