"""`adapt`: give models of any library `predict`, `predict_proba`, classes, a threshold and batches.

Adapters of callables and estimators are here; those of torch, keras, ONNX, boosters and
transformers are loaded when a model of theirs comes. The library of a model is recognised by the
names of its classes, so nothing is imported to find out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import PurePath
from typing import Any, ClassVar, NamedTuple

import numpy as np

from suffice import validation as checks
from suffice.errors import InputError
from suffice.models.outputs import (
    OutputReader,
    answer_array,
    best_labels,
    check_known_labels,
    is_label_scores,
    no_scores_error,
    score_table,
)
from suffice.tables.cells import is_label, label_array, labels_at, unwrap_label
from suffice.typing import Values


class Adapter(ABC):
    """A user's model with the interface of a scikit-learn estimator.

    `predict` returns labels or numbers, `predict_proba` a score per class where the model has
    scores. `classes_` are the labels in the order of the scores. Where they follow from the number
    of outputs, the attribute exists after the first prediction only.
    """

    original: Any
    """The user's own model, which is never changed."""

    default_batch_size: ClassVar[int | None] = None
    """Rows per call unless the user sets `batch_size`; None: all of them."""

    accepts_device: ClassVar[bool] = False
    """Whether the `device` option is allowed."""

    def __init__(
        self, model: Any, name: str, options: AdapterOptions, outputs: OutputReader | None = None
    ) -> None:
        if options.device is not None and not self.accepts_device:
            hint = "Only torch modules have one."
            raise InputError("device", options.device, f"None for {name}", hint)
        self.original = model
        self.__name__ = name
        self._options = options
        self._outputs = outputs or OutputReader(name, options.classes, options.threshold)

    @property
    def classes_(self) -> Values:
        """Labels in the order of the scores."""
        classes = self._outputs.classes
        if classes is None:
            raise AttributeError(f"{self.__name__} has no classes, or none are known yet")
        return label_array(classes)

    @property
    def only_renames_classes(self) -> bool:
        """True if the adapter changes nothing but the names of classes."""
        return self._options.threshold is None and self._options.preprocess is None

    def predict(self, rows: Any) -> Values:
        """Return one label or one number per row."""
        return self._in_batches(rows, self._labels)

    def predict_proba(self, rows: Any) -> Values:
        """Return (rows, classes): the model's scores, be they probabilities or logits."""
        return self._in_batches(rows, self._scores)

    def _in_batches(self, rows: Any, predict: Callable[[Any, int], Values]) -> Values:
        size = self._options.batch_size or self.default_batch_size
        # Batches bound memory; `preprocess` sees a batch, not all rows.
        parts = [predict(self._prepare(part), len(part)) for part in _batches(rows, size)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _prepare(self, rows: Any) -> Any:
        """Return a batch as the model takes it: by `preprocess` if given, else by `_to_input`."""
        preprocess = self._options.preprocess
        if preprocess is None:
            return self._to_input(rows)
        return checks.call_user_function(
            "preprocess", preprocess, "a function from rows to inputs", rows
        )

    def _to_input(self, rows: Any) -> Any:
        """Return rows of the user's library as the model takes them."""
        return rows

    @abstractmethod
    def _labels(self, batch: Any, rows: int) -> Values:
        """Return one label or number for each row of a prepared batch."""

    @abstractmethod
    def _scores(self, batch: Any, rows: int) -> Values:
        """Return (rows, classes): the scores of a prepared batch."""

    def _set_fitted_columns(self, names: Any = None, width: int | None = None) -> None:
        """Set the columns that the model was fitted on, unless `preprocess` makes them."""
        if self._options.preprocess is not None:
            return
        if names is not None:
            self.feature_names_in_ = [str(name) for name in names]
        if width is not None:
            self.n_features_in_ = int(width)

    def __repr__(self) -> str:
        return self.__name__


class NumericAdapter(Adapter):
    """Adapter of a model that returns numbers, from which labels and scores are read."""

    def _labels(self, batch: Any, rows: int) -> Values:
        return self._outputs.labels(self._call(batch), rows)

    def _scores(self, batch: Any, rows: int) -> Values:
        return self._outputs.scores(self._call(batch), rows)

    @abstractmethod
    def _call(self, batch: Any) -> Values:
        """Return the model's raw outputs for a prepared batch."""


def adapt(
    model: Any,
    *,
    classes: Any = None,
    threshold: float | None = None,
    batch_size: int | None = None,
    device: Any = None,
    preprocess: Callable[[Any], Any] | None = None,
) -> Any:
    """Return a model with `predict`, `predict_proba` where it has scores, and `classes_`.

    `Explainer` adapts models without options; call `adapt` to set options. Torch modules, keras
    models, ONNX sessions, boosters of xgboost, lightgbm or catboost and pipelines of transformers
    are recognised; any other estimator or callable is used as it is.

    Parameters
    ----------
    classes
        Labels in the order of the model's outputs. None: the model's own, or 0, 1, …
    threshold
        For a model with one output and two classes: outputs above it mean the second class.
        Usually 0.0 for a logit, 0.5 for a probability.
    batch_size
        Rows per call. None: all, or 1,024 for torch and keras.
    device
        The torch device that inputs are sent to, on which the module must be. None: its device.
    preprocess
        A function from rows to the model's inputs: an array, tensors, token ids, texts.

    Examples
    --------
    >>> import numpy as np
    >>> score = adapt(lambda rows: rows.sum(axis=1), classes=("low", "high"), threshold=1.0)
    >>> score.predict(np.array([[0.2, 0.3], [0.9, 0.8]])).tolist()
    ['low', 'high']
    """
    options = AdapterOptions.from_arguments(classes, threshold, batch_size, device, preprocess)
    if isinstance(model, Adapter):
        if options.is_default:
            return model
        raise InputError("model", f"{model}, adapted already", "the model itself")
    if (kind := _find_library_model(model)) is not None:
        return _load_adapter(kind)(model, options)
    require_model(model)
    # Nothing to adapt: the user's own object keeps its speed and its engines.
    if options.is_default and hasattr(model, "predict"):
        return model
    return (EstimatorModel if hasattr(model, "predict") else CallableModel)(model, options)


def adapt_if_known(model: Any) -> Any:
    """Return the model adapted without options if its library is known, else the model itself."""
    kind = None if isinstance(model, Adapter) else _find_library_model(model)
    return model if kind is None else _load_adapter(kind)(model, AdapterOptions())


_MODEL_FORMS = "a fitted estimator with predict, or a callable from rows to labels or scores"


def require_model(model: Any, allowed: str = _MODEL_FORMS) -> Any:
    """Return the model, adapted if its library is known; an error for what is no model."""
    known = model if isinstance(model, type) else adapt_if_known(model)
    if isinstance(known, type) or not (callable(known) or hasattr(known, "predict")):
        raise _not_a_model_error(model, allowed)
    return known


def _not_a_model_error(model: Any, allowed: str) -> InputError:
    """Return the error for an object that is no model; with the call that loads a model's file."""
    if isinstance(model, type):
        hint = f"Pass an object of it that was fitted: model = {model.__name__}(…).fit(X, y)."
        return InputError("model", f"the class {model.__name__}", allowed, hint)
    kind, call = type(model), None
    if kind.__name__ == "ModelProto" and kind.__module__.partition(".")[0] == "onnx":
        call = "onnxruntime.InferenceSession(model.SerializeToString())"
    elif isinstance(model, bytes):
        call = "onnxruntime.InferenceSession(model), if these are the bytes of an ONNX file"
    elif isinstance(model, str | PurePath):
        call = _LOAD_CALLS.get(PurePath(model).suffix.lower(), "").format(repr(str(model)))
    return InputError("model", kind.__name__, allowed, f"Open it first: {call}." if call else "")


_LOAD_CALLS = {
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


class _LibraryModel(NamedTuple):
    """A library, the base class that marks its models, and the adapter's module and class."""

    library: str
    base_class: str
    """A class of the library that the model's class inherits."""
    module: str
    adapter_class: str


_LIBRARY_MODELS = (
    # Before torch: with that backend a keras model is a torch module too.
    _LibraryModel("keras", "Model", "neural_networks", "KerasModel"),
    _LibraryModel("torch", "Module", "neural_networks", "TorchModel"),
    _LibraryModel("onnxruntime", "InferenceSession", "onnx", "OnnxModel"),
    _LibraryModel("xgboost", "Booster", "boosters", "XgboostModel"),
    _LibraryModel("lightgbm", "Booster", "boosters", "LightgbmModel"),
    _LibraryModel("catboost", "CatBoost", "boosters", "CatboostModel"),
    _LibraryModel("transformers", "Pipeline", "neural_networks", "TransformersModel"),
)


def _load_adapter(kind: _LibraryModel) -> Any:
    return getattr(import_module(f"suffice.models.{kind.module}"), kind.adapter_class)


def _find_library_model(model: Any) -> _LibraryModel | None:
    for kind in _LIBRARY_MODELS:
        for cls in type(model).__mro__:
            # By name: importing the library of a model that is not used would take seconds.
            if cls.__module__.partition(".")[0] != kind.library:
                continue
            if cls.__name__ == kind.base_class:
                return None if _has_own_predict(model, kind) else kind
            if kind.library == "catboost":
                break  # its classifiers and regressors are estimators
    return None


def _has_own_predict(model: Any, kind: _LibraryModel) -> bool:
    """Return whether a torch module has a `predict` of the user's, which is then called."""
    return kind.library == "torch" and callable(getattr(model, "predict", None))


def _batches(rows: Any, size: int | None) -> Iterator[Any]:
    """Yield parts of a frame, array or list with at most `size` rows each."""
    n = len(rows)
    if size is None or n <= size:
        yield rows
        return
    for start in range(0, n, size):
        if hasattr(rows, "iloc"):
            yield rows.iloc[start : start + size]
        elif hasattr(rows, "slice"):  # polars and pyarrow: offset and length
            yield rows.slice(start, min(size, n - start))
        else:
            yield rows[start : start + size]


@dataclass(frozen=True)
class AdapterOptions:
    """The options of `adapt`."""

    classes: tuple[Any, ...] | None = None
    threshold: float | None = None
    batch_size: int | None = None
    device: Any = None
    preprocess: Callable[[Any], Any] | None = None

    @classmethod
    def from_arguments(
        cls, classes: Any, threshold: Any, batch_size: Any, device: Any, preprocess: Any
    ) -> AdapterOptions:
        """Return the options after validation; an error names a wrong one."""
        if threshold is not None:
            threshold = checks.check_number("threshold", threshold, "a finite number")
        if batch_size is not None:
            batch_size = checks.check_integer("batch_size", batch_size, also="None")
        if preprocess is not None and not callable(preprocess):
            raise InputError("preprocess", preprocess, "a function of rows")
        return cls(_check_classes(classes), threshold, batch_size, device, preprocess)

    @property
    def is_default(self) -> bool:
        """True if no option was given."""
        return self == AdapterOptions()


def _check_classes(classes: Any) -> tuple[Any, ...] | None:
    """Return labels in the order of the model's scores: at least two, all different."""
    if classes is None:
        return None
    allowed = "two or more different labels, in the order of the model's outputs"
    if isinstance(classes, str) or not np.iterable(classes):
        raise InputError("classes", classes, allowed)
    names = tuple(unwrap_label(c) for c in classes)
    if not all(map(is_label, names)) or len(set(names)) != len(names) or len(names) < 2:
        raise InputError("classes", names, allowed)
    return names


class CallableModel(Adapter):
    """Adapter of a function of rows that returns numbers, labels, or labels with scores.

    Numbers are read like those of a network; lists of {"label": …, "score": …} like those of a
    transformers pipeline.
    """

    def __init__(self, model: Any, options: AdapterOptions) -> None:
        super().__init__(model, str(getattr(model, "__name__", type(model).__name__)), options)

    def _labels(self, batch: Any, rows: int) -> Values:
        answers = self.original(batch)
        if is_label_scores(answers):
            self._no_threshold()
            return best_labels(answers, self._options.classes, self.__name__)
        out = answer_array(self.__name__, answers)
        # Labels may be texts or objects; numbers are scores or values.
        if out.dtype.kind in "biuf":
            return self._outputs.labels(out, rows)
        check_known_labels(out.ravel().tolist(), self._options.classes, self.__name__)
        return out

    def _scores(self, batch: Any, rows: int) -> Values:
        answers = self.original(batch)
        if not is_label_scores(answers):
            return self._outputs.scores(answers, rows)
        self._no_threshold()
        return score_table(answers, self._options.classes, self.__name__)

    def _no_threshold(self) -> None:
        if self._options.threshold is not None:
            allowed = f"None for {self.__name__}, which gives labels"
            raise InputError("threshold", self._options.threshold, allowed)


class EstimatorModel(Adapter):
    """Adapter of an estimator with other class names, another threshold or preprocessing.

    `classes` rename the estimator's own, in their order; `threshold` is compared with the second
    class's probability.
    """

    def __init__(self, model: Any, options: AdapterOptions) -> None:
        self._model_classes = tuple(unwrap_label(label) for label in getattr(model, "classes_", ()))
        given, threshold = options.classes, options.threshold
        if given is not None and len(given) != len(self._model_classes):
            has = f"{len(self._model_classes)} classes" if self._model_classes else "no classes"
            raise InputError("classes", given, f"as many as the model's own: it has {has}")
        if threshold is not None and not hasattr(model, "predict_proba"):
            raise InputError("threshold", threshold, "None for a model without predict_proba")
        name = type(model).__name__
        super().__init__(
            model,
            name,
            options,
            OutputReader(name, given or self._model_classes or None, threshold),
        )
        self._set_fitted_columns(
            getattr(model, "feature_names_in_", None), getattr(model, "n_features_in_", None)
        )

    def _labels(self, batch: Any, rows: int) -> Values:
        if self._options.threshold is not None:
            return self._outputs.labels(self._second_class(batch), rows)
        # The estimator's own labels: its `predict` need not be the argmax of its probabilities.
        labels = np.asarray(self.original.predict(batch))
        if self._options.classes is None:
            return labels
        number = {label: i for i, label in enumerate(self._model_classes)}
        return labels_at(
            self._options.classes, [number[unwrap_label(label)] for label in labels.ravel()]
        )

    def _scores(self, batch: Any, rows: int) -> Values:
        if self._options.threshold is not None:
            return self._outputs.scores(self._second_class(batch), rows)
        score = getattr(self.original, "predict_proba", None)
        score = score or getattr(self.original, "decision_function", None)
        if score is None:
            raise no_scores_error(self.__name__)
        scores = np.asarray(score(batch))
        # A decision function of two classes is one column: the second class where it is positive.
        return scores if scores.ndim == 2 else np.stack([-scores, scores], axis=1)

    def _second_class(self, batch: Any) -> Values:
        return np.asarray(self.original.predict_proba(batch))[:, 1]
