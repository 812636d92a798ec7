"""Adapter of ONNX Runtime sessions, with one input array of all columns or one per column."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from suffice.errors import InputError, ModelError, short_repr
from suffice.models.adapter import Adapter, AdapterOptions
from suffice.models.input_columns import columns_as_numbers, find_columns
from suffice.models.outputs import no_scores_error
from suffice.tables.cells import label_array, labels_at
from suffice.tables.conversion import as_table
from suffice.typing import Values

_DTYPES = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(float16)": np.float16,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(int16)": np.int16,
    "tensor(int8)": np.int8,
    "tensor(uint8)": np.uint8,
    "tensor(bool)": np.bool_,
    "tensor(string)": np.object_,
}
_LABEL_TYPES = ("tensor(int64)", "tensor(int32)", "tensor(string)", "tensor(bool)")


class OnnxModel(Adapter):
    """Adapter of an `InferenceSession` with its execution providers.

    The session has one output, read like a network's, or a label and the scores of all classes, as
    scikit-learn's converter writes them.
    """

    def __init__(self, model: Any, options: AdapterOptions) -> None:
        super().__init__(model, "ONNX model", options)
        self._inputs = model.get_inputs()
        self._keys: tuple[Any, ...] | None = None
        outs = model.get_outputs()
        self._labelled = len(outs) == 2 and outs[0].type in _LABEL_TYPES
        if len(outs) > 1 and not self._labelled:
            listed = ", ".join(f"{out.name} {out.type}" for out in outs)
            raise InputError(
                "model",
                f"an ONNX model with {len(outs)} outputs ({listed})",
                "one output, or a label and the scores of all classes",
                "Pass a callable that returns the one you mean.",
            )
        if self._labelled and options.threshold is not None:
            allowed = "None for an ONNX model that gives labels"
            raise InputError("threshold", options.threshold, allowed)
        if len(self._inputs) > 1:
            self._set_fitted_columns(names=[put.name for put in self._inputs])
        elif len(shape := self._inputs[0].shape) == 2 and isinstance(shape[1], int):
            self._set_fitted_columns(width=shape[1])

    @property
    def classes_(self) -> Values:
        """Labels in the order of the scores, where the file or the user gives them."""
        if self._labelled and self._options.classes is None:
            if self._keys is None:
                raise AttributeError("the ONNX file names no classes, or they are not known yet")
            return label_array(self._keys)
        return super().classes_

    def _prepare(self, rows: Any) -> dict[str, Values]:
        preprocess = self._options.preprocess
        if preprocess is None:
            return self._columns(rows)
        made = super()._prepare(rows)
        if isinstance(made, Mapping):
            kinds = {put.name: put.type for put in self._inputs}
            return {key: _cast_input(value, kinds.get(key, "")) for key, value in made.items()}
        if len(self._inputs) > 1:
            names = ", ".join(put.name for put in self._inputs)
            got = f"a function that returns {type(made).__name__}"
            raise InputError("preprocess", got, f"a dict with an array for each of: {names}")
        return {self._inputs[0].name: _cast_input(made, self._inputs[0].type)}

    def _columns(self, rows: Any) -> dict[str, Values]:
        first = self._inputs[0]
        if isinstance(rows, np.ndarray) and rows.ndim > 2 and len(self._inputs) == 1:
            return {first.name: _cast_input(rows, first.type)}  # images
        if isinstance(rows, list) and rows and isinstance(rows[0], str):
            rows = np.array(rows, dtype=object).reshape(-1, 1)  # texts are one column
        table = as_table(rows)
        if len(self._inputs) > 1:
            places = find_columns([put.name for put in self._inputs], table.names, "data")
            return {
                put.name: _cast_input(table.column(place), put.type).reshape(-1, 1)
                for put, place in zip(self._inputs, places, strict=True)
            }
        put = first
        if put.type == "tensor(string)":
            columns = [table.column(j).astype(object) for j in range(len(table.names))]
            values = np.stack(columns, axis=1)
        else:
            values = _cast_input(np.stack(columns_as_numbers(rows), axis=1), put.type)
        if len(put.shape) == 1 and values.shape[1] == 1:
            values = values[:, 0]
        return {put.name: values}

    def _call(self, batch: Any) -> Any:
        return self.original.run(None, batch)

    def _labels(self, batch: Any, rows: int) -> Values:
        outs = self._call(batch)
        if not self._labelled:
            return self._outputs.labels(_single_output(outs, self.__name__), rows)
        labels = np.asarray(outs[0]).ravel()
        self._learn_keys(outs[1])
        given = self._options.classes
        if given is None or set(labels.tolist()) <= set(given):
            return labels
        if self._keys is not None and len(self._keys) == len(given):
            number = {key: i for i, key in enumerate(self._keys)}
            return labels_at(given, [number[label] for label in labels.tolist()])
        if self._keys is None and labels.dtype.kind in "iub":
            return self._outputs.labels(labels, rows)
        raise ModelError(
            f"{self.__name__} returned labels {sorted(set(labels.tolist()))[:5]}; "
            f"expected those of classes={given}, or as many"
        )

    def _scores(self, batch: Any, rows: int) -> Values:
        outs = self._call(batch)
        if not self._labelled:
            return self._outputs.scores(_single_output(outs, self.__name__), rows)
        self._learn_keys(outs[1])
        if isinstance(outs[1], list):
            keys = self._keys or ()
            return np.array([[row[key] for key in keys] for row in outs[1]], dtype=np.float64)
        if self._options.classes is None:
            raise InputError(
                "classes",
                None,
                "the labels in the order of the scores, which the ONNX file does not name",
                "Pass suffice.adapt(session, classes=…).",
            )
        scores = np.asarray(outs[1])
        if scores.shape != (rows, len(self._options.classes)):
            raise no_scores_error(self.__name__)
        return scores

    def _learn_keys(self, scores: Any) -> None:
        """Keep the labels and their order, where the scores are mappings of label to score."""
        if isinstance(scores, list) and scores and isinstance(scores[0], Mapping):
            self._keys = tuple(scores[0])


def _single_output(outs: list[Any], name: str) -> Values:
    if not isinstance(outs[0], np.ndarray):
        raise ModelError(f"{name} returned {type(outs[0]).__name__}; expected an array")
    return outs[0]


def _cast_input(values: Any, tensor: str) -> Values:
    array = np.asarray(values)
    kind = _DTYPES.get(tensor)
    if kind is None:
        return array
    if array.dtype.kind == "f" and np.dtype(kind).kind in "iu":
        broken = array[~(array == np.rint(array))]  # NaN among them
        if broken.size:
            allowed = f"whole numbers, which the ONNX model takes as {tensor}"
            raise InputError("data", short_repr(broken.ravel()[0].item()), allowed)
    return np.asarray(array.astype(kind))
