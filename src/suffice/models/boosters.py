"""Adapters of xgboost, lightgbm and catboost boosters without their scikit-learn wrappers.

Outputs are read by the booster's objective, as its wrapper does: two classes are separated at the
same threshold, and a regression returns numbers.
"""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any

import numpy as np

from suffice.errors import InputError
from suffice.models.adapter import AdapterOptions, NumericAdapter
from suffice.models.input_columns import as_numbers, to_pandas
from suffice.models.outputs import OutputReader
from suffice.tables.cells import labels_at
from suffice.typing import Values

_XGBOOST_BINARY_THRESHOLDS = {"binary:logistic": 0.5, "binary:logitraw": 0.0, "binary:hinge": 0.5}
"""Threshold of the second class, by objective."""

_CATBOOST_CLASS_LOSSES = {"Logloss", "CrossEntropy", "MultiClass", "MultiClassOneVsAll"}


class XgboostModel(NumericAdapter):
    """Adapter of an `xgboost.Booster` with all its rounds, as its own `predict` does."""

    def __init__(self, model: Any, options: AdapterOptions) -> None:
        learner = json.loads(model.save_config())["learner"]
        self._objective = str(learner["objective"]["name"])
        count = int(learner["learner_model_param"]["num_class"])
        targets = int(learner["learner_model_param"].get("num_target", 1))
        if targets > 1:
            raise InputError(
                "model",
                f"an xgboost Booster with {targets} targets",
                "one",
                "Pass a callable that returns the one you mean.",
            )
        two = _XGBOOST_BINARY_THRESHOLDS.get(self._objective)
        likely = self._objective == "binary:logistic"
        name = "xgboost Booster"
        super().__init__(model, name, options, _booster_outputs(name, options, two, count, likely))
        self._set_fitted_columns(names=model.feature_names, width=model.num_features())

    def _to_input(self, rows: Any) -> Any:
        xgboost = import_module("xgboost")
        names = self.original.feature_names
        if names is None:
            return xgboost.DMatrix(as_numbers(rows), feature_types=self.original.feature_types)
        # The frame itself, since xgboost reads its categorical dtypes.
        return xgboost.DMatrix(to_pandas(rows), feature_names=names, enable_categorical=True)

    def _matrix(self, batch: Any) -> Any:
        """Return a DMatrix, made of the result of `preprocess` if that is none."""
        xgboost = import_module("xgboost")
        if isinstance(batch, xgboost.DMatrix):
            return batch
        return xgboost.DMatrix(batch, enable_categorical=True)

    def _call(self, batch: Any) -> Values:
        out = np.asarray(self.original.predict(self._matrix(batch)))
        return out.astype(np.int64) if self._objective == "multi:softmax" else out

    def _labels(self, batch: Any, rows: int) -> Values:
        if self._objective != "multi:softmax":
            return super()._labels(batch, rows)
        numbers = np.asarray(self._call(batch))
        return labels_at(self._outputs.classes, numbers)

    def _scores(self, batch: Any, rows: int) -> Values:
        if self._objective == "multi:softmax":  # returns the winner only; margins rank all
            margins = self.original.predict(self._matrix(batch), output_margin=True)
            return self._outputs.scores(margins, rows)
        return super()._scores(batch, rows)


class LightgbmModel(NumericAdapter):
    """Adapter of a `lightgbm.Booster`, up to its best iteration, as its own `predict` does."""

    def __init__(self, model: Any, options: AdapterOptions) -> None:
        head = model.model_to_string(num_iteration=1).split("\nTree=")[0]
        about = dict(line.partition("=")[::2] for line in head.splitlines())
        two = 0.5 if about.get("objective", "").partition(" ")[0] == "binary" else None
        count = int(about["num_tree_per_iteration"])
        name = "lightgbm Booster"
        super().__init__(model, name, options, _booster_outputs(name, options, two, count, True))
        names = model.feature_name()
        default_names = names == [f"Column_{j}" for j in range(len(names))]
        self._set_fitted_columns(names=None if default_names else names, width=model.num_feature())

    def _to_input(self, rows: Any) -> Any:
        return to_pandas(rows)

    def _call(self, batch: Any) -> Values:
        return np.asarray(self.original.predict(batch))


class CatboostModel(NumericAdapter):
    """Adapter of a plain `catboost.CatBoost`, whose loss function decides if it has classes."""

    def __init__(self, model: Any, options: AdapterOptions) -> None:
        loss = str(model.get_all_params().get("loss_function", "")).partition(":")[0]
        self._model_classes: tuple[Any, ...] = ()
        if loss in _CATBOOST_CLASS_LOSSES:
            self._model_classes = tuple(np.asarray(model.classes_).tolist())
        given, name = options.classes, "CatBoost"
        if self._model_classes and given is not None and len(given) != len(self._model_classes):
            allowed = f"as many as the model's own: {', '.join(map(repr, self._model_classes))}"
            raise InputError("classes", given, allowed)
        outputs = OutputReader(name, given or self._model_classes or None, options.threshold)
        super().__init__(model, name, options, outputs)
        names = model.feature_names_
        default_names = list(names) == [str(j) for j in range(len(names))]
        self._set_fitted_columns(names=None if default_names else names, width=len(names))

    def _to_input(self, rows: Any) -> Any:
        return to_pandas(rows)

    def _call(self, batch: Any) -> Values:
        if not self._model_classes:
            return np.asarray(self.original.predict(batch))
        shares = np.asarray(self.original.predict(batch, prediction_type="Probability"))
        return shares if self._options.threshold is None else shares[:, 1]

    def _labels(self, batch: Any, rows: int) -> Values:
        if not self._model_classes or self._options.threshold is not None:
            return super()._labels(batch, rows)
        found = np.asarray(self.original.predict(batch, prediction_type="Class")).ravel()
        if self._options.classes is None:
            return found
        number = {label: i for i, label in enumerate(self._model_classes)}
        return labels_at(self._options.classes, [number[label] for label in found.tolist()])


def _booster_outputs(
    name: str, options: AdapterOptions, two: float | None, count: int, probability: bool
) -> OutputReader:
    """Return the reader of two classes with threshold `two`, of `count` classes, or of a number."""
    classes, threshold = options.classes, options.threshold
    if two is not None:
        if classes is not None and len(classes) != 2:
            raise InputError("classes", classes, f"two for {name}, whose objective has two")
        at = two if threshold is None else threshold
        return OutputReader(name, classes or (0, 1), at, 1, probability)
    if count > 1:
        if classes is not None and len(classes) != count:
            raise InputError("classes", classes, f"{count} for {name}")
        if threshold is not None:
            raise InputError("threshold", threshold, f"None for {name} with {count} classes")
        return OutputReader(name, classes or tuple(range(count)), None, count)
    return OutputReader(name, classes, threshold, 1)
