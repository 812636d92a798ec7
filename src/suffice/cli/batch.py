"""`suffice batch`: every row of a table explained into a folder, which outlives interruptions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import click

from suffice.cli.inputs import (
    hint_at_identifiers,
    make_explainer,
    model_hash,
    told_of_outcome,
    without_label,
)
from suffice.cli.options import contrast_options, model_options, question_options, trust_options
from suffice.cli.output import tell, tell_of_stop
from suffice.errors import InputError
from suffice.wording import count, duration

if TYPE_CHECKING:
    from suffice.explainer import Explainer
    from suffice.many.background import Background
    from suffice.many.brake import Brake
    from suffice.many.files import TableFile
    from suffice.many.load import Stored

__all__ = ["batch"]

_TABLE = click.Path(exists=True, path_type=Path)
_PATIENCE = "10s"
"""For a scheduler to answer."""
_SIGNALS = {"SIGINT": 130, "SIGTERM": 143}
"""Exit codes as shells know them: 128 and the signal's number."""


@click.command()
@click.option(
    "--data",
    type=_TABLE,
    required=True,
    help="The table: .parquet or .csv, or a folder of .parquet files. It is read bit by bit.",
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
    help="Which rows, from 0: '0:1000', '5,9,12', or 'COLUMN=VALUE'. Default: all.",
)
@click.option("--id", "id_column", metavar="COL", help="The column that names the rows.")
@click.option(
    "--background",
    type=_TABLE,
    metavar="FILE",
    help="Draw references from this table, not from --data. Of more than 100,000 rows of either, "
    "so many are drawn (--seed).",
)
@contrast_options(n_references=100)
@question_options
@click.option("--workers", type=click.IntRange(min=1), metavar="N", help="Processes. Default: 1.")
@click.option("--dask", metavar="ADDRESS", help="Or the scheduler of a Dask cluster.")
@click.option("--resume", is_flag=True, help="Go on with the run that wrote to --out.")
@click.option(
    "--time-limit", type=float, metavar="S", help="Stop after about S seconds; --resume goes on."
)
@click.option(
    "--row-time-limit",
    type=float,
    metavar="S",
    help="A row that takes longer is an error (needs --workers or --dask).",
)
@click.option("--max-errors", type=int, metavar="N", help="Stop once more than N rows are errors.")
@click.option(
    "--no-counts",
    is_flag=True,
    help="Do not keep the counts of all sets: smaller files, but no other tau can be asked later.",
)
@click.option("--rows-per-part", type=int, metavar="N", help="Rows of a file of the result.")
@trust_options
@click.pass_context
def batch(context: click.Context, /, **options: Any) -> None:
    """Explain every row of a table, into a folder of Parquet files.

    Rows that cannot be explained are kept as errors, with the reason. Ctrl-C finishes what is in
    hand; --resume goes on from there, whatever stopped the run. The result is the same, byte for
    byte, whatever the number of workers and the interruptions.
    """
    if options["workers"] and options["dask"]:
        raise InputError("--workers, --dask", "both", "one of the two")
    if options["row_time_limit"] is not None and not (options["workers"] or options["dask"]):
        hint = "This process cannot end itself and go on."
        raise InputError("--row-time-limit", "it without workers", "it with --workers", hint)
    _check_limits(options)
    from suffice.cli.counting import counted
    from suffice.many.background import read_background
    from suffice.many.brake import Brake
    from suffice.many.files import open_file

    table = open_file(options["data"], "--data")
    other = options["background"]
    whence = table if other is None else open_file(other, "--background")
    background = read_background(whence, options["seed"])
    _check_columns(table, options)
    data, labels = without_label(background.frame, options["target"])
    data = data.drop(columns=[options["id_column"]], errors="ignore")
    hint_at_identifiers(data)
    explainer = make_explainer(options, data, labels)
    try:
        explainer.decide(data.iloc[[0]])
    except InputError as error:
        if error.argument == "outcome":
            raise told_of_outcome(error, options) from error
    _tell_of_data(background, options)
    brake = Brake(time_limit=options["time_limit"], max_errors=options["max_errors"], say=tell)
    started = monotonic()
    with _cluster(options["dask"]) as client, counted(lambda: brake.errors) as counter:
        stored = _run(explainer, options, brake, client, whence)
    if brake.reason is not None:
        tell_of_stop(f"Stopped: {brake.reason}. What is done is kept.")
        context.exit(_SIGNALS.get(brake.reason.partition(" ")[0], 1))
    _tell_of_result(stored, options["out"], counter.rows, monotonic() - started)


def _check_limits(options: dict[str, Any]) -> None:
    """Limits that make sense, before anything is read."""
    from suffice.checks import number, whole

    if options["time_limit"] is not None:
        number("time_limit", options["time_limit"], "a number of seconds > 0", above=0)
    if options["max_errors"] is not None:
        whole("max_errors", options["max_errors"], least=0)


def _check_columns(table: TableFile, options: dict[str, Any]) -> None:
    """Columns that were named, and whether the ids tell rows apart, before anything is made."""
    from suffice.many.ids import shared_ids

    column = options["id_column"]
    if column is None:
        return
    if column == options["target"]:
        raise InputError("--id", f"{column!r}, which is the label too", "a column of its own")
    shared = shared_ids(table, column)
    if shared is not None:
        tell(f"Note: {column!r} has {shared}. The column row of the result tells them apart.")


def _tell_of_data(background: Background, options: dict[str, Any]) -> None:
    """Which rows references come from, and what is odd about them."""
    name = (options["background"] or options["data"]).name
    rows, most = len(background.frame), options["n_references"]
    drawn = f"{rows:,} rows drawn from the {background.total:,} of {name} (seed {options['seed']})"
    whence = drawn if background.sampled else f"the {rows:,} rows of {name}"
    many = "all" if most is None else f"at most {most:,}"
    kind = "predicted otherwise" if options["references"] == "opposite" else "of any outcome"
    tell(f"References: {many} for each row, {kind}, from {whence}.")
    for odd in background.spoiled:
        tell(
            f"Note: {odd.column!r} is a column of numbers, of which {count(odd.cells, 'cell')} "
            f"{'is' if odd.cells == 1 else 'are'} none ({odd.example!r} in row {odd.row}): rows "
            "with such a cell are errors."
        )


def _run(
    explainer: Explainer, options: dict[str, Any], brake: Brake, client: Any, whence: TableFile
) -> Stored:
    from suffice.many.to import explain_to

    asked = ("tau", "alpha", "adjust", "search", "max_size", "budget")
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
        brake=brake,
        hashes={"model": _model_hash(options, whence)},
        **{name: options[name] for name in asked},
    )


def _model_hash(options: dict[str, Any], whence: TableFile) -> str:
    """Of the file: what is read from it need not be the same, bit by bit, in every process."""
    if options["model"] is None:
        return f"trained:{options['train']}:{options['target']}:{whence.fingerprint()}"
    return model_hash(options["model"], options["classes"])


@contextmanager
def _cluster(address: str | None) -> Iterator[Any]:
    if address is None:
        yield None
        return
    try:
        import distributed
    except ImportError as error:
        hint = "pip install suffice[dask]"
        raise InputError("--dask", "it without distributed", "it with distributed", hint) from error
    try:
        client: Any = distributed.Client(address, timeout=_PATIENCE)  # type: ignore[no-untyped-call]
    except (OSError, ValueError, TimeoutError) as error:
        allowed = "the address of a scheduler, such as tcp://10.0.0.1:8786"
        raise InputError("--dask", f"{address} ({error})", allowed) from error
    with client:
        yield client


def _tell_of_result(stored: Stored, out: Path, rows: int, seconds: float) -> None:
    """What was written, how fast, what went wrong, and how to read it."""
    failed = stored.errors
    total = len(stored) + len(failed)
    errors = "no errors"
    if len(failed):
        kinds = failed["kind"].value_counts().items()
        errors = (
            f"{count(len(failed), 'error')} ({', '.join(f'{kind}: {n:,}' for kind, n in kinds)})"
        )
    click.echo(f"{count(total, 'row')} in {out}: {count(len(stored), 'explanation')}, {errors}.")
    if rows:
        pace = f"{rows / seconds:,.0f}" if rows >= 10 * seconds else f"{rows / seconds:.1f}"
        click.echo(f"{count(rows, 'row')} in {duration(seconds)}: {pace} a second.")
    files = [path for path in out.rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files)
    click.echo(f"On disk: {count(len(files), 'file')}, {size / 1e6:,.1f} MB.")
    query = (
        "SELECT view, features, count(*) AS rows, avg(sufficiency) AS sufficiency "
        f"FROM '{out}/factors/*.parquet' GROUP BY ALL ORDER BY rows DESC LIMIT 10"
    )
    load = f"import suffice; print(suffice.load({str(out)!r})[0])"
    click.echo(f"Read it, in DuckDB: {query}")
    click.echo(f"     or in Python: {load}")
    if len(failed):
        click.echo(f"     the errors: SELECT row, kind, message FROM '{out}/errors/*.parquet'")
