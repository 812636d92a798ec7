"""Inputs of a command: table, model, outcome, explainer, from its options; warns of id columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.cli.options import changes_from_options, contrast_from_options
from suffice.cli.output import print_message
from suffice.errors import InputError, did_you_mean
from suffice.question_fields import DEFAULT_N_REFERENCES

if TYPE_CHECKING:
    from suffice.explainer import Explainer
    from suffice.tables.table import Table
    from suffice.typing import Values


# -- the table ---------------------------------------------------------------------------


def read_table(path: Path, target: str | None) -> tuple[Any, Any]:
    """Return the features and the labels of a file; labels are None without a target."""
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
    return split_target(frame, target)


def split_target(frame: Any, target: str | None) -> tuple[Any, Any]:
    """Return features and labels; a first column without a name is dropped as the row index."""
    if len(frame.columns) and str(frame.columns[0]) == "Unnamed: 0":
        print_message("The first column has no name: it is taken as the rows' index.")
        frame = frame.iloc[:, 1:]
    if target is None:
        return frame, None
    check_columns(frame, [target], "--target")
    return frame.drop(columns=target), frame[target]


def check_columns(frame: Any, names: Any, argument: str) -> list[str]:
    """Return column names; an InputError about `argument` if the frame lacks one of them."""
    for name in names:
        if name not in frame.columns:
            hint = did_you_mean(name, frame.columns)
            raise InputError(argument, f"unknown column {name!r}", "a column of the table", hint)
    return list(names)


def leave_columns_out(data: Any, names: Sequence[str] | None) -> Any:
    """Return the table without the columns of `--leave-out`."""
    return data.drop(columns=check_columns(data, names or (), "--leave-out"))


# -- identifiers: whoever knows an account number knows the row, so it explains everything ----


_MIN_ROWS = 20
"""With fewer rows, the values of any column may all differ by chance."""

_MAX_NAME_LENGTH = 60
"""Longer texts are prose, which rarely repeats either."""

_ID_NAME = re.compile(
    r"^(id|ids|uid|uuid|guid|index|row|unnamed: \d+)$"
    r"|[ _.-](id|uid|uuid|guid|no|nr|number|key)$"
    r"|(?-i:[a-z](ID|Id|UUID)$)",
    re.IGNORECASE,
)


def warn_about_identifiers(data: Any, argument: str = "--leave-out") -> None:
    """Print a message if a column of the data seems to identify rows; `argument` leaves it out."""
    from suffice.tables import as_table

    found = identifier_columns(as_table(data))
    if found:
        names = ", ".join(map(repr, found))
        print_message(
            f"{names} seems to name rows, not to describe them: {argument} takes such columns out."
        )


def identifier_columns(table: Table) -> tuple[str, ...]:
    """Return the names of columns that seem to identify rows: an account number, a name.

    >>> from suffice.tables import as_table
    >>> rows = [[i, i / 7, f"A. No. {i}", "own"] for i in range(30)]
    >>> identifier_columns(as_table(rows, names=["account_id", "debt", "who", "home"]))
    ('account_id', 'who')
    """
    if len(table) < _MIN_ROWS:
        return ()
    return tuple(
        name for j, name in enumerate(table.names) if _is_identifier(name, table.column(j))
    )


def _is_identifier(name: str, values: Values) -> bool:
    has_id_name = _ID_NAME.search(name) is not None
    if values.dtype.kind in "iuf":
        if not has_id_name or not np.isfinite(values).all() or (values != np.rint(values)).any():
            return False
        return len(np.unique(values)) == len(values)
    if values.dtype.kind not in "OUS":
        return False
    cells = values.tolist()
    kinds = set(map(type, cells))
    short = kinds <= {str, bytes, np.str_} and max(map(len, cells)) <= _MAX_NAME_LENGTH
    if not (short or (has_id_name and kinds <= {int})):
        return False
    return len(set(cells)) == len(cells)


# -- the model and the explainer -------------------------------------------------------------


def open_model(options: Mapping[str, Any], data: Any, labels: Any) -> Any:
    """Return the model of `--model`, or one trained on the table (`--train`)."""
    if (options["model"] is None) == (options["train"] is None):
        raise InputError("--model, --train", "both or neither", "exactly one of the two")
    if options["model"] is not None:
        from suffice.cli.models import load_model, suggest_class_names

        trust = options["trust_pickle"], options["trust_types"]
        model = load_model(options["model"], *trust, options["classes"])
        _check_text_columns(model, data)
        if labels is not None and options["classes"] is None:
            suggest_class_names(model, data, labels)
        return model
    if options["classes"] is not None:
        raise InputError("--classes", "class names with --train", "class names with --model")
    if labels is None:
        raise InputError("--target", "nothing", "the label's column, with --train")
    from suffice.cli.models import train

    numbers = options["at_least"] is not None or options["at_most"] is not None
    trained = train(options["train"], data, labels, options["seed"], numbers=numbers or None)
    print_message(f"Trained {options['train']}: {trained.score_text}.")
    return trained.model


def _check_text_columns(model: Any, data: Any) -> None:
    """Raise for text columns of a booster: only the table's dtype can say they are categories."""
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


def hash_of_model(options: Mapping[str, Any], table_hash: Callable[[], str]) -> str:
    """Return the hash of the model's files, or of how the model is trained on a table.

    The hash is that of the files, not of the model: an object that is read from a file may differ
    in its bytes between processes. Other names for the classes give other answers, so they count.
    """
    from suffice.batch.hashing import hash_file
    from suffice.cli.models import model_files

    if options["model"] is None:
        return f"trained:{options['train']}:{options['target']}:{table_hash()}"
    names = "".join(f":{name}" for name in options["classes"] or ())
    return f"file:{hash_file(*model_files(options['model']))}{names}"


def make_explainer(
    options: Mapping[str, Any], model: Any, data: Any, groups: Any = None
) -> Explainer:
    """Return the explainer of a model, with references from the data, as the options say."""
    from suffice.explainer import Explainer

    contrast = contrast_from_options(options)
    return Explainer(
        model,
        data,
        outcome=outcome_from_options(options, model, data),
        references=contrast.references,
        n_references=DEFAULT_N_REFERENCES
        if contrast.n_references is None
        else contrast.n_references,
        groups="auto" if options.get("auto_groups") else groups,
        random_state=options["seed"],
        engine=options["engine"],
        **changes_from_options(options),
    )


def outcome_option_error(error: InputError, options: Mapping[str, Any]) -> InputError:
    """Return the error with option names if a model of numbers lacks an outcome."""
    if error.argument != "outcome" or contrast_from_options(options).event() is not None:
        return error
    return InputError(
        "--at-least, --at-most", "neither, of a model that gives numbers", "one of the two"
    )


def outcome_from_options(options: Mapping[str, Any], model: Any, data: Any) -> Any:
    """Return the outcome to explain: an event, a class as the model labels it, or None."""
    contrast = contrast_from_options(options)
    if contrast.outcome is None:
        return contrast.event()
    from suffice.models import fitted_columns, wrap_model
    from suffice.tables import as_table

    # Without `classes_` the labels are those that the wrapped model gives for the data.
    classes = getattr(model, "classes_", None)
    if classes is None:
        wrapped, _ = wrap_model(model, fitted_columns(model, as_table(data)))
        classes = wrapped.classes or ()
    return contrast.event(classes)
