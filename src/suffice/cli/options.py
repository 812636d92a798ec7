"""Options that several commands share: one name, one meaning, one line of help."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from suffice.cli.choices import ADJUSTMENTS, ENGINES, REFERENCES, SEARCHES
from suffice.cli.training import MODELS

__all__ = [
    "CLASSES",
    "FILE",
    "FORMATS",
    "TARGET",
    "contrast_options",
    "model_options",
    "outcome_options",
    "question_options",
    "trust_options",
]

F = TypeVar("F", bound=Callable[..., Any])

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)

FORMATS = ".skops, .onnx, .json or .ubj (xgboost), .txt (lightgbm), .cbm (catboost)"


def _read_names(_: click.Context, __: click.Parameter, given: str | None) -> list[str] | None:
    return None if given is None else [name.strip() for name in next(csv.reader([given]), [])]


TARGET: Callable[[F], F] = click.option(
    "--target", metavar="COL", help="The label's column: kept from the model."
)
CLASSES: Callable[[F], F] = click.option(
    "--classes",
    metavar="NAME,NAME",
    callback=_read_names,
    help="Names of the classes that a booster's file numbers, in the order of the numbers.",
)


def _joined(*options: Callable[[F], F]) -> Callable[[F], F]:
    def decorate(command: F) -> F:
        for option in reversed(options):  # as decorators one below the other
            command = option(command)
        return command

    return decorate


def model_options(command: F) -> F:
    """Which model is asked, and which column it must not see."""
    return _joined(
        TARGET,
        click.option("--model", type=FILE, help=f"A fitted model: {FORMATS}."),
        CLASSES,
        click.option(
            "--train",
            type=click.Choice(MODELS),
            help="Or train one on the table: on classes, or on numbers.",
        ),
    )(command)


def trust_options(command: F) -> F:
    """What may be opened."""
    return _joined(
        click.option(
            "--trust-pickle", is_flag=True, help="Open a pickled model: it can run any code."
        ),
        click.option(
            "--trust-type", "trust_types", multiple=True, help="Trust a type in a .skops file."
        ),
    )(command)


def outcome_options(command: F) -> F:
    """What is asked about."""
    return _joined(
        click.option(
            "--outcome", metavar="CLASS", help="The class to ask about; else the predicted one."
        ),
        click.option(
            "--at-least", type=float, metavar="T", help="For numbers: the outcome is >= T."
        ),
        click.option(
            "--at-most", type=float, metavar="T", help="For numbers: the outcome is <= T."
        ),
    )(command)


def contrast_options(n_references: int | None = None) -> Callable[[F], F]:
    """What is asked about, and what it is contrasted with; at most so many, unless said."""
    return _joined(
        outcome_options,
        click.option(
            "--references",
            type=click.Choice(REFERENCES),
            default="opposite",
            show_default=True,
            help="Rows predicted otherwise, or all.",
        ),
        click.option(
            "--n-references",
            type=int,
            metavar="N",
            default=n_references,
            show_default=n_references is not None,
            help="Use at most N of them.",
        ),
    )


def question_options(command: F) -> F:
    """What is asked, and how it is searched."""
    return _joined(
        click.option("--tau", default=0.9, show_default=True, help="The share a set must reach."),
        click.option("--alpha", type=float, help="Test each share at this level."),
        click.option(
            "--adjust",
            type=click.Choice(ADJUSTMENTS),
            default="none",
            help="Multiple testing, with --alpha.",
        ),
        click.option(
            "--search",
            type=click.Choice(SEARCHES),
            default="auto",
            show_default=True,
            help="Every set where that takes seconds, else the best found in time; or as named: "
            "count every set; decide sets in bulk; decide each with few rows; look greedily for "
            "larger ones.",
        ),
        click.option(
            "--engine",
            type=click.Choice(ENGINES),
            default="auto",
            show_default=True,
            help="How outcomes are worked out.",
        ),
        click.option(
            "--auto-groups", is_flag=True, help="Join correlated columns into one feature each."
        ),
        click.option("--max-size", type=int, help="Search sets of at most this many features."),
        click.option("--budget", type=int, help="Ask the model about at most this many rows."),
        click.option(
            "--seed",
            type=click.IntRange(min=0),
            default=0,
            show_default=True,
            help="Of whatever is drawn by chance.",
        ),
    )(command)
