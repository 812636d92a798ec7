"""What a command works on: a table, a model that was saved or is trained, and the outcome."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from suffice.cli.output import tell
from suffice.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from suffice.explainer import Explainer

__all__ = [
    "asked_event",
    "asked_outcome",
    "hint_at_identifiers",
    "make_explainer",
    "model_hash",
    "open_model",
    "read_table",
    "told_of_outcome",
    "without_label",
]


def hint_at_identifiers(data: Any) -> None:
    """A column that names rows explains nothing: whoever knows it knows the row."""
    from suffice.tables import as_table, identifier_columns

    found = identifier_columns(as_table(data))
    if found:
        names = ", ".join(map(repr, found))
        tell(f"{names} seems to name rows, not to describe them: leave such columns out.")


def read_table(path: Path, target: str | None) -> tuple[Any, Any]:
    """The features and the labels; None where there is no column of labels."""
    import pandas as pd

    readers: dict[str, Any] = {
        ".csv": pd.read_csv,
        ".parquet": pd.read_parquet,
        ".json": pd.read_json,
    }
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise InputError("--data", path.name, "a .csv, .parquet or .json file")
    try:
        frame = reader(path)
    except Exception as error:  # whatever a bad file makes pandas raise
        raise InputError("--data", f"{path.name}: {error}", "a readable table") from error
    if not len(frame):
        raise InputError("--data", f"{path.name}, which has no rows", "a table with rows")
    return without_label(frame, target)


def without_label(frame: Any, target: str | None) -> tuple[Any, Any]:
    """A table's features and its labels; a first column without a name is the rows' index."""
    if len(frame.columns) and str(frame.columns[0]) == "Unnamed: 0":
        tell("The first column has no name: it is taken as the rows' index.")
        frame = frame.iloc[:, 1:]
    if target is None:
        return frame, None
    if target not in frame.columns:
        hint = did_you_mean(target, frame.columns)
        raise InputError("--target", f"unknown column {target!r}", "a column of the table", hint)
    return frame.drop(columns=target), frame[target]


def open_model(options: dict[str, Any], data: Any, labels: Any) -> Any:
    """The model in the file, or one trained on the table, as the options say."""
    if (options["model"] is None) == (options["train"] is None):
        raise InputError("--model, --train", "both or neither", "exactly one of the two")
    if options["model"] is not None:
        from suffice.cli.class_names import hint_at_classes
        from suffice.cli.model_files import load_model

        trust = options["trust_pickle"], options["trust_types"]
        model = load_model(options["model"], *trust, options["classes"])
        _check_columns(model, data)
        if labels is not None and options["classes"] is None:
            hint_at_classes(model, data, labels)
        return model
    if options["classes"] is not None:
        raise InputError("--classes", "it with --train", "it with --model")
    if labels is None:
        raise InputError("--target", "nothing", "the label's column, with --train")
    from suffice.cli.training import train

    valued = options["at_least"] is not None or options["at_most"] is not None
    trained = train(options["train"], data, labels, options["seed"], numbers=valued or None)
    tell(f"Trained {options['train']}: {trained.success}.")
    return trained.model


def _check_columns(model: Any, data: Any) -> None:
    """Texts are categories to xgboost and lightgbm only where the table's own column says so."""
    from suffice.models import fitted_columns
    from suffice.models.boosters import LightgbmModel, XgboostModel
    from suffice.tables import as_table

    if not isinstance(model, LightgbmModel | XgboostModel):
        return
    seen = fitted_columns(model, as_table(data))
    for j, name in enumerate(seen.names):
        if seen.categories(j) is None and any(isinstance(v, str) for v in seen.column(j)):
            raise InputError(
                "--data",
                f"column {name!r}, which holds text",
                f"numbers or categories for {model}",
                "A .parquet file keeps columns as categories: "
                f"data.astype({{{name!r}: 'category'}}).to_parquet('data.parquet').",
            )


def model_hash(file: Path, classes: Sequence[str] | None) -> str:
    """Of a model's file: with other names for its classes it answers otherwise."""
    from suffice.many.fingerprint import hash_of_file

    return f"file:{hash_of_file(file)}" + "".join(f":{name}" for name in classes or ())


def make_explainer(options: dict[str, Any], data: Any, labels: Any) -> Explainer:
    """The model with the data that references come from, as the options say."""
    from suffice.explainer import Explainer

    model = open_model(options, data, labels)
    return Explainer(
        model,
        data,
        outcome=asked_outcome(options, model, data),
        references=options["references"],
        n_references=options["n_references"],
        groups="auto" if options["auto_groups"] else None,
        random_state=options["seed"],
        engine=options["engine"],
    )


def told_of_outcome(error: InputError, options: dict[str, Any]) -> InputError:
    """The error for a model of numbers of which no outcome was asked, as the command says it."""
    if error.argument != "outcome" or asked_event(options) is not None:
        return error
    return InputError(
        "--at-least, --at-most", "neither, of a model that gives numbers", "one of the two"
    )


def asked_event(options: dict[str, Any]) -> Any:
    """The outcome asked about: an event, a class as it was typed, or None."""
    from suffice.target import at_least, at_most

    given = {k: options[k] for k in ("outcome", "at_least", "at_most") if options[k] is not None}
    if len(given) > 1:
        names = ", ".join("--" + k.replace("_", "-") for k in given)
        raise InputError("outcome", names, "one of them at most")
    if "at_least" in given:
        return at_least(given["at_least"])
    if "at_most" in given:
        return at_most(given["at_most"])
    return given.get("outcome")


def asked_outcome(options: dict[str, Any], model: Any, data: Any) -> Any:
    """The same, with a class as the model knows it."""
    event = asked_event(options)
    if not isinstance(event, str):
        return event
    # A class is typed as text; the model may know it as a number or a truth value.
    from suffice.models import as_model, fitted_columns
    from suffice.tables import as_table

    classes = getattr(model, "classes_", None)
    if classes is None:
        wrapped, _ = as_model(model, fitted_columns(model, as_table(data)))
        classes = wrapped.classes or ()
    label = {str(c): c for c in classes}.get(event, event)
    return label.item() if hasattr(label, "item") else label
