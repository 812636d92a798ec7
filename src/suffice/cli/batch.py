"""`suffice batch`: explain every row of a table into a folder; an interrupted run can continue."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import click

from suffice.cli.options import (
    LEAVE_OUT_OPTION,
    QUESTION_NAMES,
    change_options,
    contrast_options,
    hash_of_model,
    leave_columns_out,
    make_explainer,
    model_options,
    open_model,
    outcome_option_error,
    question_options,
    split_target,
    trust_options,
    warn_about_identifiers,
)
from suffice.cli.output import folder_size, print_message, print_resume_command
from suffice.errors import InputError, missing_package
from suffice.formatting import duration, plural
from suffice.question_fields import DEFAULT_N_REFERENCES

if TYPE_CHECKING:
    from suffice.batch.load import Stored
    from suffice.batch.reference_data import Background
    from suffice.batch.table_files import TableFile
    from suffice.batch.workers import RunStopper
    from suffice.explainer import Explainer


_TABLE_PATH = click.Path(exists=True, path_type=Path)

_CONNECT_TIMEOUT = "10s"
"""Time for a Dask scheduler to answer."""


@click.command()
@click.option(
    "--data",
    type=_TABLE_PATH,
    required=True,
    help="The table: .parquet or .csv, or a folder of .parquet files. It may exceed memory.",
)
@model_options
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    metavar="DIR",
    help="The folder to write: a new one, or with --resume the one of an earlier run.",
)
@click.option(
    "--rows",
    metavar="WHICH",
    help="Rows to explain, from 0: '0:1000', '5,9,12', or 'COLUMN=VALUE'. Default: all.",
)
@click.option("--id", "id_column", metavar="COL", help="The column that identifies the rows.")
@LEAVE_OUT_OPTION
@click.option(
    "--background",
    type=_TABLE_PATH,
    metavar="FILE",
    help="Draw references from this table, not from --data. Of a table with more than 100,000 "
    "rows, a sample of as many is used (--seed).",
)
@contrast_options
@change_options
@question_options
@click.option("--workers", type=click.IntRange(min=1), metavar="N", help="Processes. Default: 1.")
@click.option("--dask", metavar="ADDRESS", help="Use a Dask cluster: the scheduler's address.")
@click.option("--resume", is_flag=True, help="Continue the run that wrote to --out.")
@click.option(
    "--time-limit", type=float, metavar="S", help="Stop after about S seconds; --resume continues."
)
@click.option(
    "--row-time-limit",
    type=float,
    metavar="S",
    help="A row that takes longer is an error (needs --workers or --dask).",
)
@click.option("--max-errors", type=int, metavar="N", help="Stop after more than N errors.")
@click.option(
    "--no-counts",
    is_flag=True,
    help="Do not store the counts of all sets: files are smaller, and answer this tau only.",
)
@click.option("--rows-per-part", type=int, metavar="N", help="Rows of each file of the result.")
@trust_options
@click.pass_context
def batch(context: click.Context, /, **options: Any) -> None:
    """Explain every row of a table, into a folder of Parquet files.

    Rows that cannot be explained are stored as errors, with the reason. Ctrl-C finishes the rows
    that are running; --resume continues from there, whatever stopped the run. The result is the
    same, byte for byte, whatever the number of workers and the interruptions.
    """
    if options["workers"] and options["dask"]:
        raise InputError("--workers, --dask", "both", "one of the two")
    if options["row_time_limit"] is not None and not (options["workers"] or options["dask"]):
        hint = "--row-time-limit needs worker processes: add --workers 1 or more."
        raise InputError("--row-time-limit", "a limit without workers", "none", hint)
    from suffice.batch.reference_data import read_background
    from suffice.batch.table_files import open_file
    from suffice.batch.workers import RunStopper
    from suffice.cli.output import show_progress

    stopper = RunStopper(
        stop_after=options["time_limit"], max_errors=options["max_errors"], on_signal=print_message
    )
    table = open_file(options["data"], "--data")
    other = options["background"]
    reference_table = table if other is None else open_file(other, "--background")
    background = read_background(reference_table, options["seed"])
    _check_id_column(table, options)
    data, labels = split_target(background.frame, options["target"])
    data = leave_columns_out(data, options["leave_out"])
    # An id is no feature, but it may be missing from the table of references.
    data = data.drop(columns=[options["id_column"]], errors="ignore")
    warn_about_identifiers(data)
    explainer = make_explainer(options, open_model(options, data, labels), data)
    try:
        # One row, so that a model of numbers without an event fails here and not in every row.
        explainer.decide(data.iloc[[0]])
    except InputError as error:
        if error.argument == "outcome":
            raise outcome_option_error(error, options) from error
    _print_data(background, options)
    started = monotonic()
    try:
        with (
            _dask_client(options["dask"]) as client,
            show_progress(lambda: stopper.errors) as counter,
        ):
            stored = _run(explainer, options, stopper, client, reference_table)
    except KeyboardInterrupt as error:  # the second signal, which does not wait for running rows
        if stopper.signal is None:
            raise
        print_resume_command(f"Stopped: {error}.", sys.argv[1:])
        context.exit(128 + stopper.signal)
    if stopper.reason is not None:
        done = f"{plural(len(stored) + len(stored.errors), 'row')} are stored"
        print_resume_command(f"Stopped: {stopper.reason}. {done}.", sys.argv[1:])
        # Shells expect 128 plus the number of the signal.
        context.exit(1 if stopper.signal is None else 128 + stopper.signal)
    _print_result(stored, options["out"], counter.rows, monotonic() - started)


def _check_id_column(table: TableFile, options: dict[str, Any]) -> None:
    """Raise for an unknown id column, and print a message about repeated ids, before any work."""
    from suffice.batch.table_files import find_repeated_ids

    column = options["id_column"]
    if column is None:
        return
    if column == options["target"]:
        raise InputError("--id", f"{column!r}, which is the label too", "a column of its own")
    repeated = find_repeated_ids(table, column)
    if repeated is not None:
        print_message(
            f"Note: {column!r} has {repeated}. The result's column “row” has their numbers."
        )


def _print_data(background: Background, options: dict[str, Any]) -> None:
    """Print which rows references are drawn from, and which cells are not numbers."""
    name = (options["background"] or options["data"]).name
    rows, most = len(background.frame), options["n_references"] or DEFAULT_N_REFERENCES
    if background.sampled:
        table = (
            f"{rows:,} rows drawn from the {background.total:,} of {name} (seed {options['seed']})"
        )
    elif rows < background.total:
        table = f"the {rows:,} of {background.total:,} rows of {name} whose numbers are all numbers"
    else:
        table = f"the {rows:,} rows of {name}"
    kind = "predicted otherwise" if options["references"] == "opposite" else "of any outcome"
    print_message(f"References: at most {most:,} for each row, {kind}, from {table}.")
    for column in background.non_numeric:
        print_message(
            f"Note: {column.column!r} is a column of numbers, but {plural(column.cells, 'cell')} "
            f"{'is' if column.cells == 1 else 'are'} not ({column.example!r} in row {column.row}): "
            "rows with such a cell are errors."
        )


def _run(
    explainer: Explainer,
    options: dict[str, Any],
    stopper: RunStopper,
    client: Any,
    reference_table: TableFile,
) -> Stored:
    from suffice.batch.explain_to import explain_to

    return explain_to(
        explainer,
        options["data"],
        options["out"],
        id=options["id_column"],
        rows=options["rows"],
        resume=options["resume"],
        counts=False if options["no_counts"] else None,
        rows_per_part=options["rows_per_part"],
        workers=options["workers"],
        client=client,
        row_time_limit=options["row_time_limit"],
        stopper=stopper,
        hashes={"model": hash_of_model(options, reference_table.fingerprint)},
        **{name: options[name] for name in QUESTION_NAMES},
    )


@contextmanager
def _dask_client(address: str | None) -> Iterator[Any]:
    if address is None:
        yield None
        return
    try:
        import distributed
    except ImportError as error:
        raise missing_package("--dask", "distributed", "dask") from error
    try:
        # Fails within seconds if no scheduler is there; without a timeout dask waits half a minute.
        client: Any = distributed.Client(address, timeout=_CONNECT_TIMEOUT)  # type: ignore[no-untyped-call]
    except (OSError, ValueError, TimeoutError) as error:
        allowed = "the address of a scheduler, such as tcp://10.0.0.1:8786"
        raise InputError("--dask", f"{address} ({error})", allowed) from error
    with client:
        yield client


def _print_result(stored: Stored, out: Path, rows: int, seconds: float) -> None:
    """Print numbers of explanations and errors, the speed, the size, and how to read the folder."""
    failed = stored.errors
    total = len(stored) + len(failed)
    errors = "no errors"
    if len(failed):
        kinds = failed["kind"].value_counts().items()
        errors = (
            f"{plural(len(failed), 'error')} ({', '.join(f'{kind}: {n:,}' for kind, n in kinds)})"
        )
    click.echo(f"{plural(total, 'row')} in {out}: {plural(len(stored), 'explanation')}, {errors}.")
    if rows:
        rate = f"{rows / seconds:,.0f}" if rows >= 10 * seconds else f"{rows / seconds:.1f}"
        click.echo(f"{plural(rows, 'row')} in {duration(seconds)}: {rate} a second.")
    click.echo(f"On disk: {folder_size(out)}.")
    query = (
        "SELECT view, features, count(*) AS rows, avg(sufficiency) AS sufficiency "
        f"FROM '{out}/factors/*.parquet' GROUP BY ALL ORDER BY rows DESC LIMIT 10"
    )
    load = f"import suffice; print(suffice.load({str(out)!r})[0])"
    click.echo(f"Read it, in DuckDB: {query}")
    click.echo(f"     or in Python: {load}")
    if len(failed):
        click.echo(f"     the errors: SELECT row, kind, message FROM '{out}/errors/*.parquet'")
