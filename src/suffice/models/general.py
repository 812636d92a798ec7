"""Callables and estimators, where the user has something to say about them."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.errors import InputError
from suffice.models.adapter import Adapter
from suffice.models.outputs import Options, Outputs, named, no_scores
from suffice.models.pipelines import best_labels, is_labelled, require_known, score_table
from suffice.models.wrapped import as_answers
from suffice.tables.labels import own
from suffice.typing import Values

__all__ = ["CallableModel", "EstimatorModel"]


class CallableModel(Adapter):
    """A function of rows: its numbers are read like those of any network.

    One that answers with labels and scores, as pipelines of transformers do, gives those labels.
    """

    def __init__(self, model: Any, options: Options) -> None:
        super().__init__(model, str(getattr(model, "__name__", type(model).__name__)), options)

    def _labels(self, batch: Any, rows: int) -> Values:
        answers = self.original(batch)
        if is_labelled(answers):
            self._no_threshold()
            return best_labels(answers, self._options.classes, self.__name__)
        out = as_answers(self.__name__, answers)
        if out.dtype.kind in "biuf":
            return self._outputs.labels(out, rows)
        require_known(out.ravel().tolist(), self._options.classes, self.__name__)
        return out  # labels as they are

    def _scores(self, batch: Any, rows: int) -> Values:
        answers = self.original(batch)
        if not is_labelled(answers):
            return self._outputs.scores(answers, rows)
        self._no_threshold()
        return score_table(answers, self._options.classes, self.__name__)

    def _no_threshold(self) -> None:
        if self._options.threshold is not None:
            allowed = f"None for {self.__name__}, which gives labels"
            raise InputError("threshold", self._options.threshold, allowed)


class EstimatorModel(Adapter):
    """An estimator whose classes are renamed, whose threshold is moved, or which is fed otherwise.

    `classes` rename its own, in their order; a `threshold` is for the second one's probability.
    """

    def __init__(self, model: Any, options: Options) -> None:
        self._own = tuple(own(label) for label in getattr(model, "classes_", ()))
        given, threshold = options.classes, options.threshold
        if given is not None and len(given) != len(self._own):
            has = f"{len(self._own)} classes" if self._own else "no classes"
            raise InputError("classes", given, f"as many as the model's own: it has {has}")
        if threshold is not None and not hasattr(model, "predict_proba"):
            raise InputError("threshold", threshold, "None for a model without predict_proba")
        name = type(model).__name__
        super().__init__(model, name, options, Outputs(name, given or self._own or None, threshold))
        self._fitted_on(
            getattr(model, "feature_names_in_", None), getattr(model, "n_features_in_", None)
        )

    def _labels(self, batch: Any, rows: int) -> Values:
        if self._options.threshold is not None:
            return self._outputs.labels(self._second(batch), rows)
        labels = np.asarray(self.original.predict(batch))
        if self._options.classes is None:
            return labels
        number = {label: i for i, label in enumerate(self._own)}
        return named(self._options.classes, [number[own(label)] for label in labels.ravel()])

    def _scores(self, batch: Any, rows: int) -> Values:
        if self._options.threshold is not None:
            return self._outputs.scores(self._second(batch), rows)
        ask = getattr(self.original, "predict_proba", None)
        ask = ask or getattr(self.original, "decision_function", None)
        if ask is None:
            raise no_scores(self.__name__)
        scores = np.asarray(ask(batch))
        return scores if scores.ndim == 2 else np.stack([-scores, scores], axis=1)

    def _second(self, batch: Any) -> Values:
        return np.asarray(self.original.predict_proba(batch))[:, 1]
