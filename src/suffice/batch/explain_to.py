"""Explain a table into a Parquet folder (`Explainer.explain_to`): choose workers, search, resume.

Rows flow from a source (`row_sources`) through workers (`workers`), which return Arrow tables
(`arrow`), into the folder (`store`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import Any

from suffice.errors import InputError, SufficeError, missing_package

try:
    import pyarrow as pa
except ImportError as error:
    raise missing_package("Storing explanations", "pyarrow", "parquet") from error

from suffice.batch.arrow import ChunkToArrow, id_array, read_timings
from suffice.batch.explain_many import BatchExplainer
from suffice.batch.load import Stored, load
from suffice.batch.manifest import Manifest, StorageSettings, describe_run
from suffice.batch.row_sources import RowSource, open_source
from suffice.batch.store import ExplanationStore
from suffice.batch.workers import LocalWorker, LostPiece, Piece, RunStopper, Workers, run_pieces
from suffice.formatting import plural
from suffice.progress import interrupts_say, progress_bar
from suffice.search.plan import Plan, choose_run_search
from suffice.search.strategies import STRATEGIES
from suffice.tables import Table
from suffice.validation import check_bool, check_choice, check_integer, check_number, check_string

_CELLS_PER_PART = 1 << 23
"""Largest number of counts in a part, which makes a file of some megabytes."""

_ROWS_PEEKED = 8
"""Rows tried to plan the search of all rows: the first ones may be invalid."""


def default_rows_per_part(players: int) -> int:
    """Return how many rows a part has: fewer if a row has more counts.

    >>> default_rows_per_part(4), default_rows_per_part(12), default_rows_per_part(30)
    (8192, 2048, 1024)
    """
    return 1024 if players > 12 else min(8192, _CELLS_PER_PART >> players)


class PieceToArrow:
    """The function sent to each worker: from a piece to the Arrow table of its explanations."""

    def __init__(self, chunk: ChunkToArrow) -> None:
        self.chunk = chunk

    def __call__(self, piece: Piece) -> pa.Table:
        """Return a table with one row for each row of the piece."""
        return self.chunk(piece.rows, piece.first)


def explain_to(
    explainer: BatchExplainer,
    X: Any,
    out: Any,
    *,
    id: str | None = None,
    rows: str | None = None,
    resume: bool = False,
    counts: bool | None = None,
    rows_per_part: int | None = None,
    workers: int | None = None,
    client: Any = None,
    row_time_limit: float | None = None,
    max_errors: int | None = None,
    stop_after: float | None = None,
    progress: bool | None = None,
    hashes: Mapping[str, str | None] | None = None,
    stopper: RunStopper | None = None,
    **question: Any,
) -> Stored:
    """Explain the rows of `X` into a folder: see `Explainer.explain_to`.

    `hashes` replace those computed here, for example by the hash of the file that a model was read
    from. A caller that passes its own `stopper` (in place of `stop_after` and `max_errors`) lets
    the run stop at signals, too, and finds the reason in `stopper.reason`; without one, too many
    errors raise an InputError.
    """
    folder = _check_output_folder(out)
    check_bool("resume", resume)
    counts = None if counts is None else check_bool("counts", counts)
    search = check_choice("search", question.get("search", "auto"), STRATEGIES)
    data, request = explainer.decider.data, explainer.asking(**question)
    per_part = (
        default_rows_per_part(len(explainer.decider.players))
        if rows_per_part is None
        else check_integer("rows_per_part", rows_per_part, most=10**6, also="None")
    )
    worker_options = WorkerOptions(workers, client, row_time_limit).validate()
    signals = nullcontext() if stopper is None else stopper.handle_signals()
    limits = stopper or RunStopper(stop_after=stop_after, max_errors=max_errors)
    source = open_source(X, data, id=None if id is None else check_string("id", id), rows=rows)
    first = source.peek(_ROWS_PEEKED)
    if first is None:
        raise InputError("X", f"{source.name}, which has no rows", "at least one row to explain")
    id_type = None if source.id is None else id_array(first, source.id).type
    chunk = ChunkToArrow(explainer, question, source.id, counts, id_type)
    chosen = choose_run_search(
        search, _first_plan(explainer, chunk.read(first.native)[1], question)
    )
    known_hashes = {"input": source.fingerprint()} | dict(hashes or {})
    manifest = Manifest(
        **describe_run(explainer.decider, search, request.question, known_hashes),
        storing=StorageSettings(source.id, str(id_type or pa.int64()), counts, per_part),
        repeatable=chosen.repeatable,
        search=chosen.search,
        shared=chunk.run_constants,
    )
    with ExplanationStore.open(folder, manifest, resume=resume) as store:
        # A resumed run searches as it began, even if the model is faster or slower now.
        chunk.question["search"] = store.manifest.search
        missing = MissingRows(source, store)
        store.log({"event": "begin", "time": _utc_now(), "rows": missing.total, "workers": workers})
        with signals, progress_bar("explanations", missing.total, progress) as bar:
            bar.update(missing.n_stored)
            with worker_options.open_workers(PieceToArrow(chunk)) as opened:
                completed = run_pieces(
                    missing,
                    opened,
                    failed=_lost_row_table(chunk),
                    stopper=limits,
                    errors=_count_error_rows,
                    bar=bar,
                )
                with interrupts_say(lambda: _stored_rows_text(missing, folder)):
                    for piece, table in completed:
                        store.add(table)
                        missing.n_stored += len(piece)
                        store.log(
                            {"event": "rows", "first": piece.first, "rows": len(piece)}
                            | read_timings(table)
                        )
        store.log({"event": "end", "time": _utc_now(), "stopped": limits.reason})
        if limits.reason is None:
            assert missing.total is not None  # known once all rows were taken
            store.finish(missing.total)
        elif stopper is None and limits.too_many_errors:
            got = f"{max_errors}, but {plural(limits.errors, 'row')} ended in an error"
            hint = "Finished rows are stored: resume=True continues the run."
            raise InputError("max_errors", got, "a larger number, or None", hint)
    return load(folder)


def _stored_rows_text(missing: MissingRows, folder: Path) -> str:
    total = "" if missing.total is None else f" of {missing.total:,}"
    stored = f"{plural(missing.n_stored, 'row')}{total} are stored in {folder}"
    return f"{stored}; resume=True continues the run"


@dataclass(frozen=True)
class WorkerOptions:
    """Options of the workers: this process, others on this machine, or a Dask cluster."""

    workers: int | None
    client: Any
    row_time_limit: float | None

    def validate(self) -> WorkerOptions:
        """Return these options; an InputError if they are wrong or cannot be combined."""
        if self.workers is not None:
            check_integer("workers", self.workers, most=4096, also="None")
        if self.workers is not None and self.client is not None:
            hint = "workers and client cannot be combined: give one of them."
            raise InputError("workers", f"{self.workers} and a client", "None with a client", hint)
        if self.client is not None:
            from suffice.batch.dask import check_client

            check_client(self.client)
        limit = self.row_time_limit
        if limit is not None:
            check_number("row_time_limit", limit, "None or seconds", above=0)
            if self.workers is None and self.client is None:
                hint = "row_time_limit needs worker processes: pass workers=1 or more."
                raise InputError("row_time_limit", limit, "None without workers", hint)
        return self

    def open_workers(self, function: PieceToArrow) -> Workers[pa.Table]:
        """Return workers that apply a function to pieces."""
        if self.client is not None:
            from suffice.batch.dask import DaskWorkers

            return DaskWorkers(function, client=self.client, row_time_limit=self.row_time_limit)
        if self.workers is not None:
            from suffice.batch.process_pool import ProcessPool

            return ProcessPool(function, workers=self.workers, row_time_limit=self.row_time_limit)
        return LocalWorker(function)


def _first_plan(
    explainer: BatchExplainer, rows: Sequence[Table | SufficeError], question: Mapping[str, Any]
) -> Plan | None:
    """Return the plan of the first row that can be planned; None if none can."""
    for row in rows:
        if isinstance(row, SufficeError):
            continue
        try:
            return explainer.plan(row, **question)
        except SufficeError:  # stored as the row's error later
            continue
    return None


def _lost_row_table(chunk: ChunkToArrow) -> Callable[[Piece, LostPiece], pa.Table]:
    def failed(piece: Piece, lost: LostPiece) -> pa.Table:
        kind = "LostRow" if lost.error is None else type(lost.error).__name__
        return chunk.failed_rows(piece.rows, piece.first, kind, lost.reason)

    return failed


def _count_error_rows(table: pa.Table) -> int:
    column = table["error_kind"]
    return len(column) - int(column.null_count)


def _check_output_folder(out: Any) -> Path:
    if not isinstance(out, str | PathLike) or not str(out).strip():
        raise InputError("out", out, "the path of a folder")
    return Path(out)


def _utc_now() -> str:
    return datetime.now(UTC).isoformat()


class MissingRows:
    """The rows of a source that a store lacks, as pieces, in order; rows are read when taken."""

    def __init__(self, source: RowSource, store: ExplanationStore) -> None:
        self._source = source
        self._store = store
        self._at = 0
        self.total = source.total
        """Number of rows of the source; None if it becomes known only after the last row."""
        missing = None if self.total is None else self._count_missing(self.total)
        self.n_stored = 0 if self.total is None or missing is None else self.total - missing
        """Number of rows that are stored; the caller adds those of completed pieces."""
        self.rows_left = missing
        """Number of rows that were not taken yet; None if it is unknown."""

    def _count_missing(self, total: int) -> int:
        missing, at = 0, 0
        while (gap := self._store.next_missing(at, total)) is not None:
            missing, at = missing + gap[1] - gap[0], gap[1]
        return missing

    def take(self, most: int) -> Piece | None:
        """Return the next missing rows, at most `most`; None after the last row."""
        gap = self._store.next_missing(self._at, self.total)
        if gap is None:
            return None
        first, stop = gap
        rows = self._source.rows(first, min(stop, first + most))
        if rows is None:  # the end of a source of unknown length
            self.total = first
            return None
        if self.total is None:
            self.n_stored += first - self._at
        self._at = first + len(rows)
        if self.rows_left is not None:
            self.rows_left -= len(rows)
        return Piece(first, rows.native)
