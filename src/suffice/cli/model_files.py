"""Model files: formats that are safe to open, and pickle only when the user vouches for it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from suffice.errors import InputError
from suffice.models import adapt

__all__ = ["load_model"]

_PICKLES = (".pkl", ".pickle", ".joblib")


def load_model(path: Path, trust_pickle: bool = False, trust_types: Sequence[str] = ()) -> Any:
    """Open a .skops or .onnx model; .pkl and .joblib only with `trust_pickle`."""
    suffix = path.suffix.lower()
    if suffix == ".skops":
        return _load_skops(path, trust_types)
    if suffix == ".onnx":
        return _load_onnx(path)
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


def _load_onnx(path: Path) -> Any:
    runtime = _need("onnxruntime", "onnxruntime")
    session = _read(
        path, lambda file: runtime.InferenceSession(file, providers=["CPUExecutionProvider"])
    )
    model = adapt(session)
    model.__name__ = path.name
    return model


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
