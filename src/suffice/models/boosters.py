"""Boosters without their scikit-learn wrappers, read as the wrappers read them.

Each tells its own objective: two classes part where the wrapper parts them, and a regression stays
a number.
"""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any

import numpy as np

from suffice.errors import InputError
from suffice.models.adapter import Adapter
from suffice.models.outputs import Options, Outputs, named
from suffice.models.rows import as_numbers, to_pandas
from suffice.typing import Values

__all__ = ["CatboostModel", "LightgbmModel", "XgboostModel"]

_XGBOOST_TWO = {"binary:logistic": 0.5, "binary:logitraw": 0.0, "binary:hinge": 0.5}
"""Objectives of two classes, and where the second begins."""

_CATBOOST_CLASSES = {"Logloss", "CrossEntropy", "MultiClass", "MultiClassOneVsAll"}


class XgboostModel(Adapter):
    """`xgboost.Booster`: every round of it, as its own `predict` does."""

    def __init__(self, model: Any, options: Options) -> None:
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
        two = _XGBOOST_TWO.get(self._objective)
        likely = self._objective == "binary:logistic"
        name = "xgboost Booster"
        super().__init__(model, name, options, _booster_outputs(name, options, two, count, likely))
        self._fitted_on(names=model.feature_names, width=model.num_features())

    def _take(self, rows: Any) -> Any:
        xgboost = import_module("xgboost")
        names = self.original.feature_names
        if names is None:
            return xgboost.DMatrix(as_numbers(rows), feature_types=self.original.feature_types)
        # A frame as it is, for the sake of its categories.
        return xgboost.DMatrix(to_pandas(rows), feature_names=names, enable_categorical=True)

    def _matrix(self, batch: Any) -> Any:
        """What a user's own function made may be anything that a DMatrix is made of."""
        xgboost = import_module("xgboost")
        if isinstance(batch, xgboost.DMatrix):
            return batch
        return xgboost.DMatrix(batch, enable_categorical=True)

    def _raw(self, batch: Any) -> Values:
        out = np.asarray(self.original.predict(self._matrix(batch)))
        return out.astype(np.int64) if self._objective == "multi:softmax" else out

    def _labels(self, batch: Any, rows: int) -> Values:
        if self._objective != "multi:softmax":
            return super()._labels(batch, rows)
        numbers = np.asarray(self._raw(batch))
        return named(self._outputs.classes, numbers)

    def _scores(self, batch: Any, rows: int) -> Values:
        if self._objective == "multi:softmax":  # which tells the winner only; margins tell all
            margins = self.original.predict(self._matrix(batch), output_margin=True)
            return self._outputs.scores(margins, rows)
        return super()._scores(batch, rows)


class LightgbmModel(Adapter):
    """`lightgbm.Booster`, up to its best iteration where it has one, as its own `predict` does."""

    def __init__(self, model: Any, options: Options) -> None:
        head = model.model_to_string(num_iteration=1).split("\nTree=")[0]
        about = dict(line.partition("=")[::2] for line in head.splitlines())
        two = 0.5 if about.get("objective", "").partition(" ")[0] == "binary" else None
        count = int(about["num_tree_per_iteration"])
        name = "lightgbm Booster"
        super().__init__(model, name, options, _booster_outputs(name, options, two, count, True))
        names = model.feature_name()
        made_up = names == [f"Column_{j}" for j in range(len(names))]
        self._fitted_on(names=None if made_up else names, width=model.num_feature())

    def _take(self, rows: Any) -> Any:
        return to_pandas(rows)

    def _raw(self, batch: Any) -> Values:
        return np.asarray(self.original.predict(batch))


class CatboostModel(Adapter):
    """A plain `catboost.CatBoost`, whose `predict` gives raw sums; classes come from its loss."""

    def __init__(self, model: Any, options: Options) -> None:
        loss = str(model.get_all_params().get("loss_function", "")).partition(":")[0]
        self._own: tuple[Any, ...] = ()
        if loss in _CATBOOST_CLASSES:
            self._own = tuple(np.asarray(model.classes_).tolist())
        given, name = options.classes, "CatBoost"
        if self._own and given is not None and len(given) != len(self._own):
            allowed = f"as many as the model's own: {', '.join(map(repr, self._own))}"
            raise InputError("classes", given, allowed)
        outputs = Outputs(name, given or self._own or None, options.threshold)
        super().__init__(model, name, options, outputs)
        names = model.feature_names_
        made_up = list(names) == [str(j) for j in range(len(names))]
        self._fitted_on(names=None if made_up else names, width=len(names))

    def _take(self, rows: Any) -> Any:
        return to_pandas(rows)

    def _raw(self, batch: Any) -> Values:
        if not self._own:
            return np.asarray(self.original.predict(batch))
        shares = np.asarray(self.original.predict(batch, prediction_type="Probability"))
        return shares if self._options.threshold is None else shares[:, 1]

    def _labels(self, batch: Any, rows: int) -> Values:
        if not self._own or self._options.threshold is not None:
            return super()._labels(batch, rows)
        found = np.asarray(self.original.predict(batch, prediction_type="Class")).ravel()
        if self._options.classes is None:
            return found
        number = {label: i for i, label in enumerate(self._own)}
        return named(self._options.classes, [number[label] for label in found.tolist()])


def _booster_outputs(
    name: str, options: Options, two: float | None, count: int, probability: bool
) -> Outputs:
    """For two classes parted at `two`, for `count` of them, or for a number."""
    classes, threshold = options.classes, options.threshold
    if two is not None:
        if classes is not None and len(classes) != 2:
            raise InputError("classes", classes, f"two for {name}, whose objective has two")
        at = two if threshold is None else threshold
        return Outputs(name, classes or (0, 1), at, 1, probability)
    if count > 1:
        if classes is not None and len(classes) != count:
            raise InputError("classes", classes, f"{count} for {name}")
        if threshold is not None:
            raise InputError("threshold", threshold, f"None for {name} with {count} classes")
        return Outputs(name, classes or tuple(range(count)), None, count)
    return Outputs(name, classes, threshold, 1)
