"""`suffice serve`: open the explorer on a table, its models and the file of a causal graph."""

from __future__ import annotations

import csv
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from suffice.cli.options import (
    CLASSES_OPTION,
    FILE_PATH,
    LEAVE_OUT_OPTION,
    MODEL_FORMATS,
    TARGET_OPTION,
    TRAINABLE_MODELS,
    change_options,
    changes_from_options,
    check_columns,
    leave_columns_out,
    open_model,
    outcome_from_options,
    outcome_options,
    read_table,
    trust_options,
    warn_about_identifiers,
)
from suffice.cli.output import print_message
from suffice.errors import InputError, missing_package
from suffice.question_fields import DEFAULT_N_REFERENCES
from suffice.validation import read_text_file


@click.command()
@click.option("--data", type=FILE_PATH, required=True, help="The table: .csv, .parquet or .json.")
@TARGET_OPTION
@LEAVE_OUT_OPTION
@click.option(
    "--model",
    "models",
    type=FILE_PATH,
    multiple=True,
    help=f"A fitted model: {MODEL_FORMATS}; repeat to compare models.",
)
@CLASSES_OPTION
@click.option(
    "--train",
    "trains",
    type=click.Choice(TRAINABLE_MODELS),
    multiple=True,
    help="Or train a model on the table; repeat to compare models.",
)
@click.option("--text", metavar="COL", help="For a model of texts: the column that holds them.")
@click.option(
    "--graph",
    type=FILE_PATH,
    help="A causal graph of the columns: a line 'cause -> effect' for each arrow.",
)
@outcome_options
@change_options
@click.option(
    "--n-references",
    type=click.IntRange(min=1),
    default=DEFAULT_N_REFERENCES,
    show_default=True,
    metavar="N",
    help="Use at most N references, unless a request names another number.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Seed of training and of drawing references.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at.")
@click.option(
    "--allow-host",
    "allow_hosts",
    multiple=True,
    metavar="NAME",
    help="A name or address that visitors open; needed with --host 0.0.0.0. May be repeated.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    help="The port to listen at [default: any free port].",
)
@trust_options
def serve(**options: Any) -> None:
    """Explore a table and its model in the browser: rows, reasons, what-ifs, recourse.

    Unless --host says otherwise, only this machine can open the page. The printed address holds a
    key: everyone who has the address can see the data.
    """
    data, labels = read_table(options["data"], options["target"])
    data = leave_columns_out(data, options["leave_out"])
    if options["text"] is None:
        warn_about_identifiers(data)
    else:
        check_columns(data, [options["text"]], "--text")
        if options["trains"]:
            hint = "A model that is trained here reads the columns of a table, not texts."
            got = f"{options['trains'][0]} with --text"
            raise InputError("--train", got, "--model FILE, of a model that reads texts", hint)
    models, sources = _open_models(options, data, labels)
    # A class is read with the labels of the first model; others must have it, too.
    first = next(iter(models.values()))
    run_explorer(
        models,
        data,
        host=options["host"],
        port=options["port"],
        allow_hosts=options["allow_hosts"],
        outcome=outcome_from_options(options, first, data),
        n_references=options["n_references"],
        random_state=options["seed"],
        graph=None if options["graph"] is None else _read_graph(options["graph"], data),
        text=options["text"],
        **changes_from_options(options),
        opening=_opening_code(options, sources),
    )


def run_explorer(
    models: Mapping[str, Any],
    data: Any,
    *,
    host: str,
    port: int,
    allow_hosts: Sequence[str] = (),
    **session_options: Any,
) -> None:
    """Serve the explorer until it is interrupted."""
    for package in ("starlette", "uvicorn"):
        # Looked for, not imported: the message must come before the table is read.
        if find_spec(package) is None:
            raise missing_package("The explorer", package, "web")
    from suffice.web.server import run_server
    from suffice.web.session import Session

    print_message(f"Reading {len(data):,} rows …")
    session = Session(models, data, **session_options)
    if host not in ("127.0.0.1", "localhost", "::1"):
        print_message(f"Others who reach {host} and have the address can see the data.")
    # Ctrl-C is the way to stop the server, so it must not end the process as in other commands.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with suppress(KeyboardInterrupt):
        run_server(session, host=host, port=port, allow_hosts=allow_hosts, ready=_print_address)
    print_message("The explorer has stopped.")


def _print_address(address: str) -> None:
    click.echo(f"Explorer: {address}")
    print_message("Open this address in a browser. Ctrl-C stops.")


_Source = dict[str, Any]
"""Where a model is from: the options `model` (a path or None) and `train` (a name or None)."""


def _open_models(
    options: dict[str, Any], data: Any, labels: Any
) -> tuple[dict[str, Any], dict[str, _Source]]:
    """Return the models by unique names, and by the same names the options that opened each."""
    # `classes` name the classes of files: a model that is trained takes them from the table.
    trained = {"classes": None} if options["models"] else {}
    given: list[tuple[str, _Source]] = [
        *((path.stem, {"model": path, "train": None}) for path in options["models"]),
        *((name, {"model": None, "train": name} | trained) for name in options["trains"]),
    ]
    if not given:
        raise InputError("--model, --train", "neither", "at least one of the two")
    from suffice.cli.models import unique_names

    sources = dict(zip(unique_names([n for n, _ in given]), [s for _, s in given], strict=True))
    return {n: open_model(options | s, data, labels) for n, s in sources.items()}, sources


def _read_graph(path: Path, data: Any) -> Any:
    from suffice.context.causal import CausalModel

    return CausalModel(_read_edges(path), data)


def _read_edges(path: Path) -> list[tuple[str, str]]:
    edges = []
    for number, line in enumerate(read_text_file("--graph", path).splitlines(), 1):
        # A comment may follow an arrow.
        words = line.partition("#")[0].strip()
        if not words:
            continue
        cause, arrow, effect = (part.strip() for part in words.partition("->"))
        if not (cause and arrow and effect):
            got = f"line {number} of {path.name}: {words!r}"
            raise InputError("--graph", got, "lines such as 'age -> income'")
        edges.append((cause, effect))
    return edges


def _has_unnamed_index(path: Path) -> bool:
    """Return whether `read_table` dropped the first column of a CSV file, which has no name."""
    if path.suffix.lower() != ".csv":
        return False
    with path.open(encoding="utf-8", newline="") as file:
        return next(csv.reader(file), ["a"])[:1] == [""]


def _opening_code(
    options: dict[str, Any], sources: Mapping[str, _Source]
) -> Callable[[str], Sequence[str]]:
    """Return a function from a model's name to Python code that opens the data and the model."""
    path: Path = options["data"]
    reader = {".csv": "read_csv", ".json": "read_json"}.get(path.suffix.lower(), "read_parquet")
    table = [f"data = pd.{reader}({str(path)!r})"]
    if _has_unnamed_index(path):
        table += ["data = data.iloc[:, 1:]  # the rows' index, which has no name"]
    if options["target"] is not None:
        # The label leaves the table before a model sees it, as in the explorer.
        table += [f"labels = data.pop({options['target']!r})"]
    if options["leave_out"]:
        table += [f"data = data.drop(columns={options['leave_out']!r})"]
    if options["graph"] is not None:
        edges = _read_edges(options["graph"])
        table += [f"causes = suffice.CausalModel({edges!r}, data)"]

    def code(name: str) -> Sequence[str]:
        file: Path | None = sources[name]["model"]
        if file is None:
            call = f"train({sources[name]['train']!r}, data, labels, {options['seed']}).model"
            return [*table, "from suffice.cli.models import train", f"model = {call}"]
        from suffice.cli.models import model_code

        trusted = list(options["trust_types"])
        return [*table, *model_code(file, options["classes"], trusted)]

    return code
