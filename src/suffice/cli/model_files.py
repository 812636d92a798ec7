"""Model files: formats that are safe to open, and pickle only when the user vouches for it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from suffice.errors import InputError

__all__ = ["OnnxModel", "load_model"]

_PICKLES = (".pkl", ".pickle", ".joblib")


def load_model(path: Path, trust_pickle: bool = False, trust_types: Sequence[str] = ()) -> Any:
    """Open a .skops or .onnx model; .pkl and .joblib only with `trust_pickle`."""
    suffix = path.suffix.lower()
    if suffix == ".skops":
        return _load_skops(path, trust_types)
    if suffix == ".onnx":
        return OnnxModel(path)
    if suffix in _PICKLES:
        if not trust_pickle:
            raise InputError(
                "--model",
                f"{path.name}, a pickle",
                ".skops or .onnx",
                "Opening a pickle runs whatever code is in it. If you made this file or trust "
                "who did, add --trust-pickle.",
            )
        import joblib

        return _read(path, joblib.load)
    raise InputError("--model", path.name, "a .skops, .onnx, .pkl or .joblib file")


def _load_skops(path: Path, trusted: Sequence[str]) -> Any:
    skops = _need("skops.io", "skops")
    unknown = _read(path, lambda file: skops.get_untrusted_types(file=file))
    missing = [name for name in unknown if name not in trusted]
    if missing:
        flags = " ".join(f"--trust-type {name}" for name in missing)
        raise InputError(
            "--model",
            f"{path.name}, which holds types that skops does not vouch for",
            "types you trust",
            f"If you trust these, add: {flags}",
        )
    return _read(path, lambda file: skops.load(file, trusted=list(unknown)))


class OnnxModel:
    """An ONNX file as a callable from rows to labels or values.

    The file takes either one tensor of all columns, or one tensor per column by name; the first
    output is the label or the value, as scikit-learn's converter writes it.
    """

    def __init__(self, path: Path) -> None:
        runtime = _need("onnxruntime", "onnxruntime")
        self._session = _read(
            path, lambda file: runtime.InferenceSession(file, providers=["CPUExecutionProvider"])
        )
        self._inputs = self._session.get_inputs()
        self.__name__ = path.name
        if len(self._inputs) > 1:
            self.feature_names_in_ = [put.name for put in self._inputs]

    def predict(self, rows: Any) -> np.ndarray[Any, Any]:
        """One label or value per row."""
        if len(self._inputs) == 1:
            put = self._inputs[0]
            feed = {put.name: np.asarray(rows).astype(_dtype(put.type))}
        else:
            feed = {
                put.name: np.asarray(rows[put.name]).astype(_dtype(put.type)).reshape(-1, 1)
                for put in self._inputs
            }
        return np.asarray(self._session.run(None, feed)[0])


def _dtype(tensor: str) -> Any:
    known = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(int64)": np.int64}
    return known.get(tensor, object)


def _need(module: str, package: str) -> Any:
    from importlib import import_module

    try:
        return import_module(module)
    except ImportError as error:
        hint = f"pip install {package}"
        raise InputError(
            "--model", f"a file that needs {package}", "installed formats", hint
        ) from error


def _read(path: Path, open_with: Any) -> Any:
    try:
        return open_with(str(path))
    except Exception as error:  # each format's reader raises its own errors for a bad file
        raise InputError("--model", f"{path.name}: {error}", "a readable model file") from error
