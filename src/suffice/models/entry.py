"""Where the user's model comes in: adapted, wrapped, and asked about the data once."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from inspect import ismethod
from time import perf_counter
from typing import Any, Protocol, runtime_checkable

import numpy as np

from suffice.errors import InputError, ModelError, shorten
from suffice.models.adapter import Adapter, adapted, not_a_model
from suffice.models.rows import fitted_columns
from suffice.models.wrapped import WrappedModel, ask
from suffice.tables.frames import as_table
from suffice.tables.labels import own
from suffice.tables.table import Table
from suffice.target import Target, event_for, needs_input
from suffice.typing import Values

__all__ = ["as_model", "make_target"]


@runtime_checkable
class Paced(Protocol):
    """A model of ours around a user's, which was asked about many rows at once before."""

    seconds_per_row: float | None
    """What a row took then: one by itself takes longer. None: it was not asked."""


def as_model(model: Any, data: Table) -> tuple[WrappedModel, Values]:
    """Wrap a fitted estimator or a callable; also give its answers on `data`, asked for once.

    Models of the libraries that `adapt` knows are adapted first, with no options.
    """
    asked = adapted(model)
    predict = getattr(asked, "predict", None)
    if isinstance(asked, type) or (predict is None and not callable(asked)):
        raise not_a_model(model)
    scores = getattr(asked, "predict_proba", None) or getattr(asked, "decision_function", None)
    original = asked.original if isinstance(asked, Adapter) else model
    name = _name(asked)
    if predict is None:
        wrapped = WrappedModel(name, asked, asked, original)
    else:
        wrapped = WrappedModel(name, predict, scores, original)
    started = perf_counter()
    # A copy, since some models write into the frame that they are given.
    answers = ask(name, predict or asked, data.take(np.arange(len(data))))
    known = asked.seconds_per_row if isinstance(asked, Paced) else None
    wrapped.seconds_per_row = known or (perf_counter() - started) / len(data)
    wrapped.rows_timed = len(data)
    # Only now, since an adapter may learn from the first answer how many classes there are.
    return wrapped, wrapped.learn(answers, _classes_listed(asked, answers))


def make_target(model: Any, data: Any, outcome: Any) -> Target:
    """A target f for a basis: any model that `Explainer` takes, and an outcome.

    `data` is a table like the one that the model will be asked about; `outcome` a class,
    `versus(…)`, `at_least(t)`, `at_most(t)` or `satisfies(…)`.

    >>> import pandas as pd
    >>> from suffice import at_least, make_target
    >>> data = pd.DataFrame({"income": [20, 60, 80]})
    >>> make_target(lambda rows: rows["income"] / 10, data, at_least(5)).event.says
    'prediction ≥ 5'
    """
    if needs_input(outcome):
        allowed = "a class or an event: there is no input to take it from"
        raise InputError("outcome", outcome, allowed)
    model = adapted(model)  # once, not for each table
    wrapped, answers = as_model(model, fitted_columns(model, as_table(data)))
    wrapped.prepare = partial(fitted_columns, model)
    return Target(wrapped, event_for(outcome, wrapped, answers[0]))


def _classes_listed(asked: Any, answers: Values) -> tuple[Any, ...] | None:
    """The classes that a model names, or of a method such as `model.predict_proba` its owner."""
    owner = asked.__self__ if ismethod(asked) else asked
    known = getattr(owner, "classes_", None)
    if known is None:
        return None
    if isinstance(known, str | bytes) or not isinstance(known, Collection | np.ndarray):
        raise ModelError(f"{_name(owner)} has classes_ that are no labels: {shorten(known)}")
    if not len(known):  # a regressor of catboost has none of them
        return None
    if owner is not asked and asked.__name__ != "predict" and answers.shape[1:] != (len(known),):
        return None  # what else a method gives need not be one of the classes
    return tuple(own(label) for label in (known.ravel() if hasattr(known, "ravel") else known))


def _name(model: Any) -> str:
    """What to call the model; a pipeline is called by its last step."""
    steps = getattr(model, "steps", None)
    if isinstance(steps, list) and steps:
        return f"{type(model).__name__} with {_name(steps[-1][-1])}"
    return str(getattr(model, "__name__", type(model).__name__))
