"""Options that several commands share, and the option name of every Python argument.

The options of a question come from `question_fields`, which audit files and the explorer read, too.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec

from suffice.question_fields import (
    DEFAULT_N_REFERENCES,
    ContrastFields,
    ExplainerFields,
    FieldInfo,
    QuestionFields,
    describe_fields,
)

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
    # Click checks the type, and the struct is not asked again.
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
