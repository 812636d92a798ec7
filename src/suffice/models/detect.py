"""Which library a model comes from, told by its classes' names: nothing is imported to find out."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from suffice.errors import InputError
from suffice.models.adapter import Adapter, Options

__all__ = ["adapt", "adapted"]


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
    if options.none and hasattr(model, "predict"):
        return model
    from suffice.models.general import CallableModel, EstimatorModel

    if hasattr(model, "predict"):
        return EstimatorModel(model, options)
    if not callable(model):
        raise InputError("model", type(model).__name__, "a model with predict, or a callable")
    return CallableModel(model, options)


def adapted(model: Any) -> Any:
    """The model adapted without options if it is of a known kind, else the model itself."""
    kind = None if isinstance(model, Adapter) else _kind(model)
    return model if kind is None else _load(kind)(model, Options())


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
