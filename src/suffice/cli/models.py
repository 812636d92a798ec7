"""Model files of the command: opens skops, ONNX, boosters, pickles; names them; or trains a model.

Booster files hold trees and no code. A file written by a wrapper of xgboost is read as its booster,
cut at the best round, because the wrapper predicts with these rounds.

A malformed file can make a library end the process, compute for minutes or allocate all memory. So
a file is opened in a child process first, where the model predicts some rows. The child has limits
on time and memory and returns nothing but an error.
"""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np

from suffice.cli.output import print_message
from suffice.errors import InputError, MissingPackageError, one_line
from suffice.formatting import duration, percent, plural
from suffice.models import adapt, fitted_columns, wrap_model
from suffice.models.boosters import LightgbmModel, XgboostModel
from suffice.tables import as_table

_PICKLE_SUFFIXES = (".pkl", ".pickle", ".joblib")
_SAFE_FORMATS = ".skops, .onnx, .json, .ubj, .txt or .cbm"
_BOOSTER_SUFFIXES = {".ubj": "xgboost", ".txt": "lightgbm", ".cbm": "catboost"}
"""The library of a file by its suffix; the keys of a .json file show which library wrote it."""


def load_model(
    path: Path,
    trust_pickle: bool = False,
    trust_types: Sequence[str] = (),
    classes: Sequence[str] | None = None,
) -> Any:
    """Return the model of a file; .pkl and .joblib files are opened only with `trust_pickle`.

    `classes` name the classes that a booster file numbers, in the order of the numbers.
    """
    model = _open_file(path, trust_pickle, trust_types)
    return model if classes is None else name_classes(model, classes, path.name)


def _open_file(path: Path, trust_pickle: bool, trust_types: Sequence[str]) -> Any:
    suffix = path.suffix.lower()
    if suffix in _PICKLE_SUFFIXES:
        if not trust_pickle:
            raise InputError(
                "--model",
                f"{path.name}, a pickle",
                _SAFE_FORMATS,
                "Opening a pickle runs whatever code is in it. If you made this file, or trust "
                "whoever did, add --trust-pickle.",
            )
        import joblib

        return _read_with(path, joblib.load)
    if suffix not in (".skops", ".onnx", ".json", *_BOOSTER_SUFFIXES):
        allowed = "a .skops, .onnx, .json, .ubj, .txt, .cbm, .pkl or .joblib file"
        raise InputError("--model", path.name, allowed)
    if suffix == ".skops":
        _check_unpacked_size(path)
    _import_reader(path)  # a missing package is reported before the file is opened
    # Without trusted types, a .skops file builds plain arrays and objects of Python: nothing that
    # could end the process. Importing skops takes seconds, which the child would take again.
    if suffix != ".skops" or trust_types:
        _try_in_child(path, trust_types)
    return _open_without_code(path, trust_types)


def _open_without_code(path: Path, trust_types: Sequence[str]) -> Any:
    """Return the model of a file in a format that holds no code."""
    if path.suffix.lower() == ".skops":
        return _load_skops(path, trust_types)
    return _load_onnx(path) if path.suffix.lower() == ".onnx" else _load_booster(path)


def _import_reader(path: Path) -> Any:
    """Return the module that reads a file; a MissingPackageError if it is not installed."""
    suffix = path.suffix.lower()
    if suffix == ".skops":
        return _import_package("skops.io", "skops")
    library = "onnxruntime" if suffix == ".onnx" else _booster_library(path)
    return _import_package(library, library)


# -- the child process that opens a file first -----------------------------------------------


_CHILD_SECONDS = 60.0
"""Time for a file to be opened in the child process, plus a second for each megabyte."""

_CHILD_BYTES = 8 << 30
"""Address space of the child process, plus 20 bytes for each byte of the file."""

_UNPACKED_BYTES, _UNPACKED_RATIO = 200_000_000, 20
"""A .skops file may unpack to this size, plus this many times its own."""

_CHILD_CODE = "from suffice.cli.models import run_child; run_child()"


def _check_unpacked_size(path: Path) -> None:
    """Raise for a zip file that unpacks to far more than its size, before it is unpacked."""
    size = path.stat().st_size
    try:
        with zipfile.ZipFile(path) as archive:
            unpacked = sum(entry.file_size for entry in archive.infolist())
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return  # no readable archive, which skops reports
    if unpacked > _UNPACKED_BYTES + _UNPACKED_RATIO * size:
        got = f"{path.name}, which unpacks from {size:,} to {unpacked:,} bytes"
        raise InputError("--model", got, "a model file of ordinary compression")


def _try_in_child(path: Path, trust_types: Sequence[str]) -> None:
    """Open a file in a child process; raise what it reports, or how it ended."""
    size = path.stat().st_size
    seconds = _CHILD_SECONDS + size / 1e6
    limits = [math.ceil(seconds), _CHILD_BYTES + 20 * size]
    arguments = json.dumps([str(path), list(trust_types), *limits])
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "OMP_NUM_THREADS": "1",  # memory is limited, and every thread reserves some
    }
    try:
        ended = subprocess.run(
            [sys.executable, "-c", _CHILD_CODE, arguments],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            env=environment,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise _unreadable(path, f"the reader did not end within {duration(seconds)}") from error
    if ended.returncode < 0:
        raise _unreadable(path, f"the reader ended by signal {-ended.returncode}")
    if ended.returncode:
        raise _unreadable(path, f"the reader ended with exit code {ended.returncode}")
    # Libraries may print, too: the report is the last line.
    report = json.loads(ended.stdout.splitlines()[-1])
    if report is not None:
        raise InputError(*report)


def run_child() -> None:
    """Open the file named by the arguments and predict; print its error as JSON, or null."""
    path, trust_types, seconds, size = json.loads(sys.argv[1])
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_AS, (size, size))
    report = None
    try:
        predict_odd_rows(_open_without_code(Path(path), trust_types))
    except InputError as error:
        report = [error.argument, str(error.got), error.allowed, error.hint]
    print("\n" + json.dumps(report), flush=True)
    os._exit(0)  # without the clean-up of a library that read a malformed file


_ODD_CELLS = 1 << 18
"""Cells of the rows that are predicted in the child process."""


def predict_odd_rows(model: Any) -> None:
    """Predict rows with small, huge and missing numbers: some files end the process only then.

    A tree whose branches lead nowhere is read, and ends the process where a row comes that way.
    """
    import pandas as pd

    names = getattr(model, "feature_names_in_", None)
    width = getattr(model, "n_features_in_", None) or len(names if names is not None else ())
    if not width:
        return
    rows = np.random.default_rng(0).standard_cauchy((max(4, min(512, _ODD_CELLS // width)), width))
    rows[:3] = np.array([[0.0], [np.nan], [1e30]])
    with suppress(Exception):  # a model may refuse such rows; only a crash of the process counts
        model.predict(pd.DataFrame(rows, columns=names))


def _unreadable(path: Path, why: str) -> InputError:
    return InputError("--model", f"{path.name} could not be read: {why}", "a readable model file")


def _load_skops(path: Path, trusted: Sequence[str]) -> Any:
    skops = _import_package("skops.io", "skops")
    unknown = _read_with(path, lambda file: skops.get_untrusted_types(file=file))
    missing = [name for name in unknown if name not in trusted]
    if missing:
        flags = " ".join(f"--trust-type {name}" for name in missing)
        raise InputError(
            "--model",
            f"{path.name}, which holds types that skops does not vouch for",
            "types you trust",
            f"If you trust these, add: {flags}",
        )
    return _read_with(path, lambda file: skops.load(file, trusted=list(unknown)))


def _load_onnx(path: Path) -> Any:
    runtime = _import_package("onnxruntime", "onnxruntime")
    session = _read_with(
        path, lambda file: runtime.InferenceSession(file, providers=["CPUExecutionProvider"])
    )
    return _name_after_file(path, adapt(session))


_EXTERNAL_LOCATION = re.compile(rb"\x0a\x08location\x12", re.DOTALL)
"""Key of an entry of `external_data`, and the tag of its value: the name of a file."""


def model_files(path: Path) -> list[Path]:
    """Return the model file, and the files in which an ONNX model keeps its weights.

    The `onnx` package, which would list them, is not needed to run a model. An entry is found by
    its bytes: its key, and a name whose length comes first.
    """
    files = [path]
    if path.suffix.lower() != ".onnx":
        return files
    content = path.read_bytes()
    for entry in _EXTERNAL_LOCATION.finditer(content):
        length, at = content[entry.end()], entry.end() + 1
        if length > 0x7F:  # a varint of two bytes, which is enough for any file's name
            length, at = length & 0x7F | content[at] << 7, at + 1
        external = path.parent / os.fsdecode(content[at : at + length])
        if external not in files and external.is_file():
            files.append(external)
    return files


def _load_booster(path: Path) -> Any:
    library = _booster_library(path)
    module = _import_package(library, library)

    def opened(file: str) -> Any:
        if library == "catboost":
            return adapt(module.CatBoost().load_model(file, format=path.suffix.lower()[1:]))
        booster = module.Booster(model_file=file)
        if library == "xgboost" and _stops_early(booster):
            booster = booster[: booster.best_iteration + 1]
        return adapt(booster)  # reads the trees, so some damaged files are noticed only here

    return _name_after_file(path, _read_with(path, opened))


def model_code(path: Path, classes: Sequence[str] | None, trust_types: Sequence[str]) -> list[str]:
    """Return lines of Python that open the same model, as the explorer exports them."""
    suffix, file = path.suffix.lower(), repr(str(path))
    if suffix == ".skops":
        return ["import skops.io", f"model = skops.io.load({file}, {list(trust_types)!r})"]
    if suffix == ".onnx":
        return ["import onnxruntime", f"model = onnxruntime.InferenceSession({file})"]
    if suffix in _PICKLE_SUFFIXES:
        return ["import joblib", f"model = joblib.load({file})"]
    library = _booster_library(path)
    if library == "catboost":
        call = f"catboost.CatBoost().load_model({file}, {suffix[1:]!r})"
    else:
        call = f"{library}.Booster(model_file={file})"
    lines = [f"import {library}", f"model = {call}"]
    if library == "xgboost" and _stops_early(
        _import_package(library, library).Booster(model_file=str(path))
    ):
        lines += ["model = model[: model.best_iteration + 1]"]
    if classes is not None and library != "catboost":  # catboost files name their classes
        lines += [f"model = suffice.adapt(model, classes={classes!r})"]
    return lines


def _booster_library(path: Path) -> str:
    """Return the library that wrote a file; an InputError if no library did.

    Without this check, lightgbm would print about other texts on standard output.
    """
    suffix = path.suffix.lower()
    if suffix == ".txt":
        with path.open("rb") as file:
            if file.read(4) != b"tree":
                got = f"{path.name}, which is not a lightgbm model"
                raise InputError("--model", got, "what Booster.save_model writes")
    if suffix != ".json":
        return _BOOSTER_SUFFIXES[suffix]
    with path.open("rb") as file:
        kept = _read_with(path, lambda _: json.load(file))
    keys = kept.keys() if isinstance(kept, dict) else ()
    if "learner" in keys:
        return "xgboost"
    if "features_info" in keys:
        return "catboost"
    got = f"{path.name}, which is not an xgboost or catboost model"
    raise InputError("--model", got, "what their save_model writes", "A table is given by --data.")


def _stops_early(booster: Any) -> bool:
    """Return whether a wrapper wrote the file, which predicts with the rounds up to the best."""
    if not {"scikit_learn", "best_iteration"} <= booster.attributes().keys():
        return False
    kind = json.loads(booster.save_config())["learner"]["gradient_booster"]["name"]
    return bool(kind != "gblinear")  # a linear booster has rounds, but no trees to leave out


def _name_after_file(path: Path, model: Any) -> Any:
    """Return the model named after its file, which users know better than its class."""
    model.__name__ = path.name
    return model


def _import_package(module: str, package: str) -> Any:
    from importlib import import_module

    try:
        return import_module(module)
    except ImportError as error:
        raise MissingPackageError(
            f"Opening this model file needs {package}. Install it with: pip install {package}"
        ) from error


def _read_with(path: Path, open_with: Any) -> Any:
    try:
        return open_with(str(path))
    except InputError:
        raise
    except Exception as error:  # each format's reader raises its own errors for a bad file
        said = one_line(str(error).partition("\nStack trace")[0])
        raise InputError("--model", f"{path.name}: {said}", "a readable model file") from error


# -- names for the classes that a booster file numbers --------------------------------------


def unique_names(names: Sequence[str]) -> list[str]:
    """Return names for models that are served together: equal ones get a number.

    >>> unique_names(["a", "a", "a 2"])
    ['a', 'a 2', 'a 2 2']
    """
    found: list[str] = []
    for name in names:
        unique, n = name, 1
        while unique in found:  # "a 2" may be the name of another file
            n += 1
            unique = f"{name} {n}"
        found.append(unique)
    return found


def name_classes(model: Any, classes: Sequence[str], name: str) -> Any:
    """Return the booster with its classes named.

    A model that has names for its classes must have the same ones.
    """
    known = [str(label) for label in getattr(model, "classes_", ())]
    if not known:
        got = f"{', '.join(classes)} for {name}, which gives numbers or does not list its classes"
        raise InputError("--classes", got, "none")
    if _has_numbered_classes(model) and len(known) == len(classes):
        named = adapt(model.original, classes=classes)
        named.__name__ = name
        return named
    if set(known) != set(classes):
        each = "a name for each of" if _has_numbered_classes(model) else "the names in the file:"
        raise InputError("--classes", ", ".join(classes), f"{each} {', '.join(known)}")
    return model


def suggest_class_names(model: Any, data: Any, labels: Any) -> None:
    """Print the `--classes` that fits a file with numbered classes to a table that names them."""
    if not _has_numbered_classes(model):
        return
    import pandas as pd

    labels = labels.astype(str).to_numpy()
    _, answers = wrap_model(model, fitted_columns(model, as_table(data)))
    mostly = pd.crosstab(answers, labels).idxmax(axis=1).to_dict()
    names = [str(mostly.get(number)) for number in range(len(model.classes_))]
    if set(names) != set(labels) or names == list(map(str, model.classes_)):
        return
    said = ", ".join(f"{number} mostly {name!r}" for number, name in enumerate(names))
    option = quote(",".join(names))
    print_message(
        f"{model} numbers its classes. By the table's labels, {said}: --classes {option}?"
    )


def _has_numbered_classes(model: Any) -> bool:
    """Return whether the model is a booster of a library that numbers the classes."""
    return isinstance(model, LightgbmModel | XgboostModel) and hasattr(model, "classes_")


# -- models trained on a table ---------------------------------------------------------------


_MAX_CLASSES = 50


@dataclass(frozen=True)
class TrainedModel:
    """A fitted pipeline, and its score on held-out rows."""

    model: Any
    score_text: str
    """For example: "91% right on rows it has not seen"."""


def train(
    name: str, X: Any, y: Any, random_state: int = 0, numbers: bool | None = None
) -> TrainedModel:
    """Fit a pipeline on 80% of the rows, and score it on the rest.

    `numbers` is whether the target is a number to predict, and not a class. None: it is one if it
    has more than 50 distinct numbers, or a number that occurs once.
    """
    from sklearn.model_selection import train_test_split

    missing = int(y.isna().sum()) if hasattr(y, "isna") else 0
    if missing:
        raise InputError("--target", f"{missing} missing values", "a label in every row")
    labels, counts = np.unique(np.asarray(y), return_counts=True)
    is_number = np.asarray(y).dtype.kind in "iuf"
    if numbers is None:
        numbers = is_number and (len(labels) > _MAX_CLASSES or counts.min() < 2)
    if numbers and not is_number:
        raise InputError("--target", "no numbers", "numbers, with --at-least or --at-most")
    if not numbers and (not 2 <= len(labels) <= _MAX_CLASSES or counts.min() < 2):
        raise InputError(
            "--target",
            f"{len(labels)} distinct values, the rarest {plural(counts.min(), 'time')}",
            f"2 to {_MAX_CLASSES} classes of at least two rows each, or numbers, to train on",
            "For other targets pass your own model with --model.",
        )
    try:
        stratify = None if numbers else y
        split = train_test_split(X, y, test_size=0.2, random_state=random_state, stratify=stratify)
        X_train, X_test, y_train, y_test = split
        model = _pipeline(name, numbers, random_state).fit(X_train, y_train)
        score = float(model.score(X_test, y_test))
    except (TypeError, ValueError) as error:  # too few rows, a column without any value, …
        raise InputError("--train", f"{name}: {error}", "a table it can learn from") from error
    if numbers:
        share = percent(max(score, 0.0))
        return TrainedModel(model, f"explains {share} of the variance of rows not seen (R²)")
    return TrainedModel(model, f"{percent(score)} right on rows it has not seen")


def _pipeline(name: str, numbers: bool, random_state: int) -> Any:
    from sklearn import ensemble, linear_model
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

    measured = make_column_selector(dtype_include=["number", "bool"])
    others = make_column_selector(dtype_exclude=["number", "bool"])
    if name == "logistic":
        columns = make_column_transformer(
            (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), measured),
            (OneHotEncoder(handle_unknown="ignore"), others),
        )
        linear = linear_model.Ridge() if numbers else linear_model.LogisticRegression(max_iter=1000)
        return make_pipeline(columns, linear)
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    if name == "hist-gradient-boosting":
        kind = (
            ensemble.HistGradientBoostingRegressor
            if numbers
            else ensemble.HistGradientBoostingClassifier
        )
        columns = make_column_transformer(("passthrough", measured), (codes, others))
        return make_pipeline(columns, kind(random_state=random_state))
    forest = ensemble.ExtraTreesRegressor if numbers else ensemble.ExtraTreesClassifier
    columns = make_column_transformer((SimpleImputer(strategy="median"), measured), (codes, others))
    return make_pipeline(columns, forest(random_state=random_state, max_depth=15))
