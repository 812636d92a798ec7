"""From many rows to a folder: source → chunks → explanations → parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from suffice.checks import choice, number, text, truth, whole
from suffice.errors import InputError
from suffice.many.arrow import ChunkToArrow, ExplainsRows, id_array, pace
from suffice.many.brake import Brake
from suffice.many.drive import drive
from suffice.many.load import Stored, load
from suffice.many.manifest import Manifest, Storing, describe
from suffice.many.missing import MissingRows
from suffice.many.settle import Plans, settle
from suffice.many.source import open_source
from suffice.many.store import Store
from suffice.many.team import Here, Lost, Piece, Team
from suffice.progress import progress_bar
from suffice.search.strategy import STRATEGIES

__all__ = ["explain_to", "rows_per_part_of"]

_CELLS_PER_PART = 1 << 23
"""Counts of a part: about what is handled in a moment, and a file of some megabytes."""

_LOOKED_AT = 8
"""Rows that are looked at to settle how all are searched: the first may be no good."""


class ExplainsMany(ExplainsRows, Plans, Protocol):
    """What an explainer is to those who have it explain a whole table."""


def rows_per_part_of(players: int) -> int:
    """How many rows a part has: fewer where a row has more counts.

    >>> rows_per_part_of(4), rows_per_part_of(12), rows_per_part_of(30)
    (8192, 2048, 1024)
    """
    return 1024 if players > 12 else min(8192, _CELLS_PER_PART >> players)


class PieceToArrow:
    """What is sent to each worker: from a piece to the table of its explanations."""

    def __init__(self, chunk: ChunkToArrow) -> None:
        self.chunk = chunk

    def __call__(self, piece: Piece) -> pa.Table:
        """One row for each of its rows."""
        return self.chunk(piece.rows, piece.first)


def explain_to(
    explainer: ExplainsMany,
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
    brake: Brake | None = None,
    **question: Any,
) -> Stored:
    """Explain the rows of `X` into a folder: see `Explainer.explain_to`.

    `hashes` are of what the caller knows better, such as the file that a model was read from. A
    `brake` of the caller's stops at signals, too, and where it did the run is not finished; without
    one too many errors are an error.
    """
    folder = _read_out(out)
    truth("resume", resume)
    counts = None if counts is None else truth("counts", counts)
    asked = {name: value for name, value in question.items() if name != "progress"}
    search = choice("search", asked.get("search", "auto"), STRATEGIES)
    data, question_asked = explainer.decider.data, explainer.asking(**asked).question
    per_part = (
        rows_per_part_of(len(explainer.decider.players))
        if rows_per_part is None
        else whole("rows_per_part", rows_per_part, most=10**6, also="None")
    )
    at_work = AtWork(workers, client, row_time_limit).checked()
    stops = brake or Brake(time_limit=_seconds(stop_after), max_errors=_most_errors(max_errors))
    source = open_source(X, data, id=None if id is None else text("id", id), rows=rows)
    first = source.peek(_LOOKED_AT)
    if first is None:
        raise InputError("X", f"{source.name}, which has no rows", "at least one row to explain")
    id_type = None if source.id is None else id_array(first, source.id).type
    chunk = ChunkToArrow(explainer, asked, source.id, counts, id_type)
    settled = settle(explainer, chunk.read(first.native)[1], asked)
    known = {"input": source.fingerprint()} | dict(hashes or {})
    manifest = Manifest(
        **describe(explainer.decider, search, question_asked, known),
        storing=Storing(source.id, str(id_type or pa.int64()), counts, per_part),
        repeatable=settled.repeatable,
        search=settled.search,
        shared=chunk.shared,
    )
    with Store.open(folder, manifest, resume=resume) as store:
        chunk.question["search"] = store.manifest.search
        missing = MissingRows(source, store)
        store.log({"event": "begin", "time": _now(), "rows": missing.total, "workers": workers})
        heeding = nullcontext() if brake is None else brake.heeding_signals()
        with heeding, progress_bar("explanations", missing.total, progress) as bar:
            bar.update(missing.there)
            with at_work.team(PieceToArrow(chunk)) as team:
                done = drive(
                    missing, team, failed=_failed(chunk), brake=stops, errors=_errors, bar=bar
                )
                for piece, table in done:
                    store.put(table)
                    store.log(
                        {"event": "rows", "first": piece.first, "rows": len(piece)} | pace(table)
                    )
        store.log({"event": "end", "time": _now(), "stopped": stops.reason})
        if stops.reason is None:
            assert missing.total is not None
            store.finish(missing.total)
        elif brake is None and max_errors is not None and stops.errors > max_errors:
            hint = "What is done is kept: resume=True goes on."
            raise InputError("max_errors", stops.reason, "fewer errors, or None", hint)
    return load(folder)


@dataclass(frozen=True)
class AtWork:
    """Who explains: this process, others on this machine, or a Dask cluster."""

    workers: int | None
    client: Any
    row_time_limit: float | None

    def checked(self) -> AtWork:
        """An error where that cannot be."""
        if self.workers is not None:
            whole("workers", self.workers, most=4096, also="None")
        if self.workers is not None and self.client is not None:
            raise InputError("workers", "both workers and a client", "one of the two")
        if self.client is not None and not _is_client(self.client):
            raise InputError("client", self.client, "None or a distributed.Client")
        limit = self.row_time_limit
        if limit is not None:
            number("row_time_limit", limit, "None or seconds", above=0)
            if self.workers is None and self.client is None:
                hint = "This process cannot end itself and go on."
                raise InputError("row_time_limit", limit, "None without workers", hint)
        return self

    def team(self, function: PieceToArrow) -> Team[pa.Table]:
        """Those who do pieces by a function."""
        if self.client is not None:
            from suffice.many.dask import DaskTeam

            return DaskTeam(function, client=self.client, row_time_limit=self.row_time_limit)
        if self.workers is not None:
            from suffice.many.processes import Processes

            return Processes(function, workers=self.workers, row_time_limit=self.row_time_limit)
        return Here(function)


def _is_client(given: Any) -> bool:
    try:
        from distributed import Client
    except ImportError:
        return False
    return isinstance(given, Client)


def _failed(chunk: ChunkToArrow) -> Callable[[Piece, Lost], pa.Table]:
    def failed(piece: Piece, lost: Lost) -> pa.Table:
        kind = "LostRow" if lost.error is None else type(lost.error).__name__
        return chunk.failed(piece.rows, piece.first, kind, lost.reason)

    return failed


def _errors(table: pa.Table) -> int:
    column = table["error_kind"]
    return len(column) - int(column.null_count)


def _most_errors(given: int | None) -> int | None:
    return None if given is None else whole("max_errors", given, least=0, also="None")


def _seconds(given: float | None) -> float | None:
    if given is None:
        return None
    return number("stop_after", given, "None or seconds", above=0)


def _read_out(given: Any) -> Path:
    if not isinstance(given, str | PathLike) or not str(given).strip():
        raise InputError("out", given, "the path of a folder")
    return Path(given)


def _now() -> str:
    return datetime.now(UTC).isoformat()
