"""From many rows to a folder: source → chunks → explanations → parts."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from suffice.checks import choice, text, truth, whole
from suffice.errors import InputError
from suffice.many.arrow import ChunkToArrow, ExplainsRows, id_array
from suffice.many.fingerprint import hash_of_table
from suffice.many.load import Stored, load
from suffice.many.manifest import Manifest, Storing, describe
from suffice.many.settle import Plans, settle
from suffice.many.store import Store
from suffice.progress import progress_bar
from suffice.search.strategy import STRATEGIES
from suffice.tables import Table, as_table

__all__ = ["explain_to", "rows_per_part_of"]

_CELLS_PER_PART = 1 << 23
"""Counts of a part: about what is handled in a moment, and a file of some megabytes."""

_CHUNK_SECONDS = 2.0

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


def explain_to(
    explainer: ExplainsMany,
    X: Any,
    out: Any,
    *,
    id: str | None = None,
    resume: bool = False,
    counts: bool | None = None,
    rows_per_part: int | None = None,
    progress: bool | None = None,
    hashes: Mapping[str, str | None] | None = None,
    **question: Any,
) -> Stored:
    """Explain the rows of `X` into a folder: see `Explainer.explain_to`.

    `hashes` are of what the caller knows better, such as the file that a model was read from.
    """
    folder = _read_out(out)
    truth("resume", resume)
    counts = None if counts is None else truth("counts", counts)
    table = as_table(X, names=explainer.decider.data.names, argument="X")
    ids = None if id is None else _ids(table, text("id", id))
    asked = {name: value for name, value in question.items() if name != "progress"}
    search = choice("search", asked.get("search", "auto"), STRATEGIES)
    per_part = (
        rows_per_part_of(len(explainer.decider.players))
        if rows_per_part is None
        else whole("rows_per_part", rows_per_part, most=10**6, also="None")
    )
    known = {"input": hash_of_table(table)} | dict(hashes or {})
    chunk = ChunkToArrow(explainer, asked, id, counts, None if ids is None else ids.type)
    _, looked_at = chunk.read(table.take(np.arange(min(len(table), _LOOKED_AT))).native)
    settled = settle(explainer, looked_at, asked)
    manifest = Manifest(
        **describe(explainer.decider, search, explainer.asking(**asked).question, known),
        storing=Storing(id, str(pa.int64() if ids is None else ids.type), counts, per_part),
        repeatable=settled.repeatable,
        search=settled.search,
        shared=chunk.shared,
    )
    with Store.open(folder, manifest, resume=resume) as store:
        chunk.question["search"] = store.manifest.search
        store.log({"event": "begin", "time": _now(), "rows": len(table)})
        rows, at = 2, 0
        with progress_bar("explanations", len(table), progress) as bar:
            while (gap := store.gap(at, len(table))) is not None:
                at, stop = gap[0], min(gap[1], gap[0] + rows)
                started = perf_counter()
                store.put(chunk(table.take(np.arange(at, stop)).native, at))
                took = perf_counter() - started
                bar.update(stop - at)
                rows = max(1, min(4 * rows, int(rows * _CHUNK_SECONDS / max(took, 1e-6))))
                at = stop
        store.finish(len(table))
        store.log({"event": "end", "time": _now()})
    return load(folder)


def _read_out(given: Any) -> Path:
    if not isinstance(given, str | PathLike) or not str(given).strip():
        raise InputError("out", given, "the path of a folder")
    return Path(given)


def _ids(table: Table, name: str) -> pa.Array:
    return id_array(table, name)


def _now() -> str:
    return datetime.now(UTC).isoformat()
