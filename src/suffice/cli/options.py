"""Options that commands share, and what they open: table, model, outcome, explainer.

The options of a question come from `question_fields`, which audit files and the explorer read, too.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec
import numpy as np

from suffice.cli.output import print_message
from suffice.errors import InputError, did_you_mean
from suffice.question_fields import (
    DEFAULT_N_REFERENCES,
    ContrastFields,
    ExplainerFields,
    FieldInfo,
    QuestionFields,
    describe_fields,
)

if TYPE_CHECKING:
    from suffice.explainer import Explainer
    from suffice.tables.table import Table
    from suffice.typing import Values

F = TypeVar("F", bound=Callable[..., Any])

FILE_PATH = click.Path(exists=True, dir_okay=False, path_type=Path)

MODEL_FORMATS = ".skops, .onnx, .json or .ubj (xgboost), .txt (lightgbm), .cbm (catboost)"

TRAINABLE_MODELS = ("extra-trees", "logistic", "hist-gradient-boosting")

QUESTION_NAMES = QuestionFields.__struct_fields__
"""The names of the options that are arguments of `Explainer.explain`."""

CONTRAST_NAMES = ContrastFields.__struct_fields__


def _split_names(_: click.Context, __: click.Parameter, given: str | None) -> list[str] | None:
    return None if given is None else [name.strip() for name in next(csv.reader([given]), [])]


TARGET_OPTION: Callable[[F], F] = click.option(
    "--target", metavar="COL", help="The column with the label, which the model does not get."
)
CLASSES_OPTION: Callable[[F], F] = click.option(
    "--classes",
    metavar="NAME,NAME",
    callback=_split_names,
    help="Names of the classes that a booster file numbers, in the order of the numbers.",
)


def _combine_options(*options: Callable[[F], F]) -> Callable[[F], F]:
    def decorate(command: F) -> F:
        for option in reversed(options):  # as decorators one below the other
            command = option(command)
        return command

    return decorate


def option_name(argument: str) -> str:
    """Return the option of an argument.

    >>> option_name("max_size")
    '--max-size'
    """
    return "--" + argument.replace("_", "-")


def _field_option(field: FieldInfo) -> Callable[[F], F]:
    # Click checks the type, so the struct does not validate it again.
    kind: Any = {"number": float, "integer": int, "text": str}.get(field.kind)
    if field.kind == "choice":
        kind = click.Choice(field.choices)
    elif field.least is not None:
        kind = click.IntRange(min=field.least)
    return click.option(
        option_name(field.name),
        type=kind,
        default=field.default,
        show_default=field.default is not None,
        help=field.help,
    )


def _field_options(struct: type[msgspec.Struct], *names: str) -> list[Callable[[F], F]]:
    return [_field_option(field) for field in describe_fields(struct) if field.name in names]


outcome_options = _combine_options(
    *_field_options(ContrastFields, "outcome", "at_least", "at_most")
)
"""Options that choose the outcome to explain."""

contrast_options = _combine_options(
    outcome_options,
    *_field_options(ContrastFields, "references"),
    click.option(
        "--n-references",
        type=int,
        metavar="N",
        help=f"Use at most N references. Default: {DEFAULT_N_REFERENCES} for a table.",
    ),
)
"""Options that choose the outcome and the references."""

question_options = _combine_options(
    *_field_options(QuestionFields, *QUESTION_NAMES),
    *_field_options(ExplainerFields, "engine"),
    click.option(
        "--auto-groups", is_flag=True, help="Join correlated columns into one feature each."
    ),
    *_field_options(ExplainerFields, "seed"),
)
"""Options about the search, the engine and the seed."""

model_options = _combine_options(
    TARGET_OPTION,
    click.option("--model", type=FILE_PATH, help=f"A fitted model: {MODEL_FORMATS}."),
    CLASSES_OPTION,
    click.option(
        "--train",
        type=click.Choice(TRAINABLE_MODELS),
        help="Or train a model on the table, to predict classes or numbers.",
    ),
)
"""Options that choose the model and the column of labels."""

LEAVE_OUT_OPTION: Callable[[F], F] = click.option(
    "--leave-out",
    metavar="COL,COL",
    callback=_split_names,
    help="Columns that the model does not get, such as one that identifies rows.",
)

CHANGE_NAMES = ("immutable", "actionable", "increasing", "decreasing")

change_options = _combine_options(
    *(
        click.option(option_name(name), metavar="COL,COL", callback=_split_names, help=text)
        for name, text in zip(
            CHANGE_NAMES,
            (
                "Columns that cannot change.",
                "The only columns that can change.",
                "Columns that may only increase.",
                "Columns that may only decrease.",
            ),
            strict=True,
        )
    )
)
"""Options on what may change, which the cheapest change and recourse keep to."""

trust_options = _combine_options(
    click.option(
        "--trust-pickle", is_flag=True, help="Open a pickled model, which can run any code."
    ),
    click.option(
        "--trust-type", "trust_types", multiple=True, help="Trust a type in a .skops file."
    ),
)
"""Options that allow a model file to be opened."""


def changes_from_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `Explainer` on what may change, as far as they are given."""
    return {n: options[n] for n in CHANGE_NAMES if options.get(n) is not None}


def contrast_from_options(options: Mapping[str, Any]) -> ContrastFields:
    """Return the contrast that a command's options choose."""
    return ContrastFields(**{n: options[n] for n in CONTRAST_NAMES if options.get(n) is not None})


OPTION_NAMES = {
    **{
        name: option_name(name)
        for name in (
            *QUESTION_NAMES,
            *ExplainerFields.__struct_fields__,
            *("data", "model", "classes", "text", "unit", "mask", "time_limit"),
            *("out", "rows", "id", "resume", "workers", "row_time_limit", "max_errors"),
            "rows_per_part",
            "leave_out",
            *CHANGE_NAMES,
        )
    },
    "x": "--row",
    "X": "--data",
    "groups": "--auto-groups",
    "random_state": "--seed",
    "stop_after": "--time-limit",
    "client": "--dask",
}
"""The option of each Python argument: errors name what the user typed."""


# Inputs of a command: table, model, outcome, explainer, from its options; warns of id columns.


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


# -- identifiers: an account number determines the row, so it would explain every decision -----


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
