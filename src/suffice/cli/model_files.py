"""Model files: formats that are safe to open, and pickle only when the user vouches for it.

The boosters' own formats hold trees and no code. A file that a wrapper of xgboost's wrote is read
as its booster, up to the best round, which is what the wrapper predicts with.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from suffice.cli.class_names import with_classes
from suffice.errors import InputError, one_line
from suffice.models import adapt

__all__ = ["load_model", "opening_booster"]

_PICKLES = (".pkl", ".pickle", ".joblib")
_SAFE = ".skops, .onnx, .json, .ubj, .txt or .cbm"
_BOOSTERS = {".ubj": "xgboost", ".txt": "lightgbm", ".cbm": "catboost"}
"""By what a file's name ends in; a .json is told by its keys."""


def load_model(
    path: Path,
    trust_pickle: bool = False,
    trust_types: Sequence[str] = (),
    classes: Sequence[str] | None = None,
) -> Any:
    """Open a .skops, .onnx or booster's file; .pkl and .joblib only with `trust_pickle`.

    `classes` name those that a booster's file numbers, in the order of their numbers.
    """
    model = _opened(path, trust_pickle, trust_types)
    return model if classes is None else with_classes(model, classes, path.name)


def _opened(path: Path, trust_pickle: bool, trust_types: Sequence[str]) -> Any:
    suffix = path.suffix.lower()
    if suffix == ".skops":
        return _load_skops(path, trust_types)
    if suffix == ".onnx":
        return _load_onnx(path)
    if suffix == ".json" or suffix in _BOOSTERS:
        return _load_booster(path)
    if suffix in _PICKLES:
        if not trust_pickle:
            raise InputError(
                "--model",
                f"{path.name}, a pickle",
                _SAFE,
                "Opening a pickle runs whatever code is in it. If you made this file or trust "
                "who did, add --trust-pickle.",
            )
        import joblib

        return _read(path, joblib.load)
    allowed = "a .skops, .onnx, .json, .ubj, .txt, .cbm, .pkl or .joblib file"
    raise InputError("--model", path.name, allowed)


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
    return _called(path, adapt(session))


def _load_booster(path: Path) -> Any:
    library = _library(path)
    module = _need(library, library)

    def opened(file: str) -> Any:
        if library == "catboost":
            return adapt(module.CatBoost().load_model(file, format=path.suffix.lower()[1:]))
        booster = module.Booster(model_file=file)
        if library == "xgboost" and _stops_early(booster):
            booster = booster[: booster.best_iteration + 1]
        return adapt(booster)  # which looks into it: a damaged file may be noticed only here

    return _called(path, _read(path, opened))


def opening_booster(path: Path, classes: Sequence[str] | None) -> list[str]:
    """Code that does the same."""
    library, file = _library(path), repr(str(path))
    if library == "catboost":
        call = f"catboost.CatBoost().load_model({file}, {path.suffix.lower()[1:]!r})"
    else:
        call = f"{library}.Booster(model_file={file})"
    lines = [f"import {library}", f"model = {call}"]
    if library == "xgboost" and _stops_early(_need(library, library).Booster(model_file=str(path))):
        lines += ["model = model[: model.best_iteration + 1]"]
    if classes is not None and library != "catboost":  # which keeps their names
        lines += [f"model = suffice.adapt(model, classes={classes!r})"]
    return lines


def _library(path: Path) -> str:
    """Whose file it is; an error for another kind of text, of which lightgbm would tell stdout."""
    suffix = path.suffix.lower()
    if suffix == ".txt":
        with path.open("rb") as file:
            if file.read(4) != b"tree":
                got = f"{path.name}, which is no model of lightgbm's"
                raise InputError("--model", got, "what Booster.save_model writes")
    if suffix != ".json":
        return _BOOSTERS[suffix]
    with path.open("rb") as file:
        kept = _read(path, lambda _: json.load(file))
    keys = kept.keys() if isinstance(kept, dict) else ()
    if "learner" in keys:
        return "xgboost"
    if "features_info" in keys:
        return "catboost"
    got = f"{path.name}, which is no model of xgboost's or catboost's"
    raise InputError("--model", got, "what their save_model writes", "A table is given by --data.")


def _stops_early(booster: Any) -> bool:
    """Did a wrapper write it, which predicts with the rounds up to the best alone?"""
    if not {"scikit_learn", "best_iteration"} <= booster.attributes().keys():
        return False
    kind = json.loads(booster.save_config())["learner"]["gradient_booster"]["name"]
    return bool(kind != "gblinear")  # which has rounds, but no trees to leave out


def _called(path: Path, model: Any) -> Any:
    """By its file, where its class would say little."""
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
    except InputError:
        raise
    except Exception as error:  # each format's reader raises its own errors for a bad file
        said = one_line(str(error).partition("\nStack trace")[0])
        raise InputError("--model", f"{path.name}: {said}", "a readable model file") from error
