"""A model of another library, asked the way an estimator is asked.

Which library it comes from is told by its classes' names: nothing is imported to find out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import PurePath
from typing import Any, ClassVar, NamedTuple

import numpy as np

from suffice import checks
from suffice.errors import InputError
from suffice.models.outputs import Options, Outputs
from suffice.tables.labels import as_labels
from suffice.typing import Values

__all__ = ["Adapter", "adapt", "adapted", "not_a_model"]


class Adapter:
    """`predict` gives labels or numbers, `predict_proba` a score per class where there are any.

    `classes_` are the labels in the order of the scores. Where they follow from the number of
    outputs they are known once the model has been asked, and missing until then.
    """

    original: Any
    """The user's own model. Never changed."""

    rows_per_call: ClassVar[int | None] = None
    """How many rows go into one call unless the user says; None: all of them."""

    devices: ClassVar[bool] = False
    """Can its inputs be sent to a device?"""

    def __init__(
        self, model: Any, name: str, options: Options, outputs: Outputs | None = None
    ) -> None:
        if options.device is not None and not self.devices:
            hint = "Only torch modules take one; others are asked where they are."
            raise InputError("device", options.device, f"None for {name}", hint)
        self.original = model
        self.__name__ = name
        self._options = options
        self._outputs = outputs or Outputs(name, options.classes, options.threshold)

    @property
    def classes_(self) -> Values:
        """The labels in the order of the scores."""
        classes = self._outputs.classes
        if classes is None:
            raise AttributeError(f"{self.__name__} has no classes, or none are known yet")
        return as_labels(classes)

    @property
    def only_names(self) -> bool:
        """Is the model asked as it is, whatever its classes are called?"""
        return self._options.threshold is None and self._options.preprocess is None

    def predict(self, rows: Any) -> Values:
        """One label per row, or one number."""
        return self._in_batches(rows, self._labels)

    def predict_proba(self, rows: Any) -> Values:
        """(rows, classes): a score each, as the model gives them: probabilities or logits."""
        return self._in_batches(rows, self._scores)

    def _in_batches(self, rows: Any, ask: Callable[[Any, int], Values]) -> Values:
        size = self._options.batch_size or self.rows_per_call
        parts = [ask(self._prepared(part), len(part)) for part in _batches(rows, size)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _prepared(self, rows: Any) -> Any:
        """The batch as the model takes it: by the user's own function, or by `_take`."""
        preprocess = self._options.preprocess
        if preprocess is None:
            return self._take(rows)
        return checks.ran("preprocess", preprocess, "a function from rows to inputs", rows)

    def _take(self, rows: Any) -> Any:
        """Rows of the user's kind as the model takes them."""
        return rows

    def _labels(self, batch: Any, rows: int) -> Values:
        return self._outputs.labels(self._raw(batch), rows)

    def _scores(self, batch: Any, rows: int) -> Values:
        return self._outputs.scores(self._raw(batch), rows)

    def _raw(self, batch: Any) -> Any:
        """The model's raw outputs for one batch."""
        raise NotImplementedError

    def _fitted_on(self, names: Any = None, width: int | None = None) -> None:
        """Tell the columns that the model knows, unless the user's function makes them."""
        if self._options.preprocess is not None:
            return
        if names is not None:
            self.feature_names_in_ = [str(name) for name in names]
        if width is not None:
            self.n_features_in_ = int(width)

    def __repr__(self) -> str:
        return self.__name__


def adapt(
    model: Any,
    *,
    classes: Any = None,
    threshold: float | None = None,
    batch_size: int | None = None,
    device: Any = None,
    preprocess: Callable[[Any], Any] | None = None,
) -> Any:
    """Any model as an object with `predict`, `predict_proba` where it has scores, and `classes_`.

    `Explainer` does this by itself; call it to say more. A torch module, a keras model, an ONNX
    session, a booster of xgboost, lightgbm or catboost and a pipeline of transformers are known;
    any other estimator or callable is taken as it is.

    Parameters
    ----------
    classes
        Labels in the order of the model's outputs. None: its own, or 0, 1, …
    threshold
        Where one output parts two classes; above it is the second. Usually 0.0 for a logit, 0.5
        for a probability.
    batch_size
        Rows per call. None: all, or 1,024 for torch and keras.
    device
        Where inputs are sent, for torch; the module must be there. None: where it is.
    preprocess
        A function from rows to what the model takes: an array, tensors, token ids, texts.

    Examples
    --------
    >>> import numpy as np
    >>> score = adapt(lambda rows: rows.sum(axis=1), classes=("low", "high"), threshold=1.0)
    >>> score.predict(np.array([[0.2, 0.3], [0.9, 0.8]])).tolist()
    ['low', 'high']
    """
    options = Options.checked(classes, threshold, batch_size, device, preprocess)
    if isinstance(model, Adapter):
        if options.none:
            return model
        raise InputError("model", f"{model}, adapted already", "the model itself")
    if (kind := _kind(model)) is not None:
        return _load(kind)(model, options)
    if isinstance(model, type) or not (hasattr(model, "predict") or callable(model)):
        raise not_a_model(model)
    if options.none and hasattr(model, "predict"):
        return model
    from suffice.models.general import CallableModel, EstimatorModel

    return (EstimatorModel if hasattr(model, "predict") else CallableModel)(model, options)


def adapted(model: Any) -> Any:
    """The model adapted without options if it is of a known kind, else the model itself."""
    kind = None if isinstance(model, Adapter) else _kind(model)
    return model if kind is None else _load(kind)(model, Options())


_MODELS = "a fitted estimator with predict, or a callable from rows to labels or scores"


def not_a_model(model: Any, allowed: str = _MODELS) -> InputError:
    """The error for what cannot be asked; the way to open it where it is a model's file."""
    if isinstance(model, type):
        hint = f"Pass an object of it that was fitted: model = {model.__name__}(…).fit(X, y)."
        return InputError("model", f"the class {model.__name__}", allowed, hint)
    kind, call = type(model), None
    if kind.__name__ == "ModelProto" and kind.__module__.partition(".")[0] == "onnx":
        call = "onnxruntime.InferenceSession(model.SerializeToString())"
    elif isinstance(model, bytes):
        call = "onnxruntime.InferenceSession(model), if these are the bytes of an ONNX file"
    elif isinstance(model, str | PurePath):
        call = _OPENERS.get(PurePath(model).suffix.lower(), "").format(repr(str(model)))
    return InputError("model", kind.__name__, allowed, f"Open it first: {call}." if call else "")


_OPENERS = {
    ".onnx": "onnxruntime.InferenceSession({})",
    ".pkl": "joblib.load({})",
    ".pickle": "joblib.load({})",
    ".joblib": "joblib.load({})",
    ".skops": "skops.io.load({})",
    ".keras": "keras.saving.load_model({})",
    ".pt": "torch.load({})",
    ".cbm": "catboost.CatBoost().load_model({})",
    ".json": "xgboost.Booster(model_file={})",
    ".ubj": "xgboost.Booster(model_file={})",
    ".txt": "lightgbm.Booster(model_file={})",
}


class _Kind(NamedTuple):
    library: str
    base: str
    """A class of the library among the model's own."""
    file: str
    adapter: str


_KINDS = (
    # Before torch: with that backend a keras model is a torch module too.
    _Kind("keras", "Model", "keras", "KerasModel"),
    _Kind("torch", "Module", "torch", "TorchModel"),
    _Kind("onnxruntime", "InferenceSession", "onnx", "OnnxModel"),
    _Kind("xgboost", "Booster", "boosters", "XgboostModel"),
    _Kind("lightgbm", "Booster", "boosters", "LightgbmModel"),
    _Kind("catboost", "CatBoost", "boosters", "CatboostModel"),
    _Kind("transformers", "Pipeline", "pipelines", "PipelineModel"),
)


def _load(kind: _Kind) -> Any:
    return getattr(import_module(f"suffice.models.{kind.file}"), kind.adapter)


def _kind(model: Any) -> _Kind | None:
    for kind in _KINDS:
        for cls in type(model).__mro__:
            if cls.__module__.partition(".")[0] != kind.library:
                continue
            if cls.__name__ == kind.base:
                return None if _is_estimator(model, kind) else kind
            if kind.library == "catboost":
                break  # its classifiers and regressors are estimators
    return None


def _is_estimator(model: Any, kind: _Kind) -> bool:
    """A torch module with a `predict` of the user's own is asked through that."""
    return kind.library == "torch" and callable(getattr(model, "predict", None))


def _batches(rows: Any, size: int | None) -> Iterator[Any]:
    """Rows of any kind (frame, array, list), at most `size` at a time."""
    n = len(rows)
    if size is None or n <= size:
        yield rows
        return
    for start in range(0, n, size):
        if hasattr(rows, "iloc"):
            yield rows.iloc[start : start + size]
        elif hasattr(rows, "slice"):  # polars and pyarrow: from where, and how many
            yield rows.slice(start, min(size, n - start))
        else:
            yield rows[start : start + size]
