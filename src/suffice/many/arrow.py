"""From a chunk of rows to one Arrow table: a pure function that can be sent anywhere.

One row of the table for each row of the chunk, whatever became of it: `schema` says what it holds.
The same object serves processes, Dask, Spark's `mapInPandas` (`.pandas`) and Ray's `map_batches`
(`.batch`). What it gives depends on the rows alone: not on the time, the machine or the chunk.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import msgspec
import numpy as np
import pyarrow as pa

from suffice.context.pool import Rows
from suffice.errors import InputError, SufficeError
from suffice.explanation import Explanation
from suffice.many.factor_rows import FACTOR, factor_columns
from suffice.many.kept import Kept, Written, keep_of, scalar_cells, to_json
from suffice.many.lists import count_lists, lists
from suffice.many.rows import Explains, explain_rows
from suffice.many.shared import Shared, Tells
from suffice.tables import Table, as_table

__all__ = ["CHUNK_SCHEMA", "SCHEMA_VERSION", "ChunkToArrow", "chunk_schema", "id_array", "pace"]

SCHEMA_VERSION = 1
"""Raised when a table of an older version could no longer be read."""

_CHANGE = pa.struct([("set", pa.int64()), ("cost", pa.float64()), ("donor", pa.int32())])

CHUNK_SCHEMA = pa.schema(
    [
        # Which row: as its column `id` calls it, and its number from 0.
        ("id", pa.int64()),
        ("row", pa.int64()),
        # What the model says. Kinds: text, truth, whole, number, missing; those of `OwnScore`.
        ("prediction", pa.string()),
        ("prediction_kind", pa.string()),
        ("score", pa.float64()),
        ("score_kind", pa.string()),
        ("outcome", pa.string()),
        ("other_outcome", pa.string()),
        # What was asked, and how far that was answered.
        ("tau", pa.float64()),
        ("n_references", pa.int32()),
        ("complete", pa.bool_()),
        # The answer; the bounds are those of an estimate, and null where necessity is exact.
        ("keep_necessity", pa.float64()),
        ("keep_necessity_low", pa.float64()),
        ("keep_necessity_high", pa.float64()),
        ("flip_necessity", pa.float64()),
        ("flip_necessity_low", pa.float64()),
        ("flip_necessity_high", pa.float64()),
        ("keep_factors", pa.int32()),
        ("flip_factors", pa.int32()),
        ("cheapest_features", pa.list_(pa.string())),
        ("cheapest_change", pa.string()),
        ("cheapest_cost", pa.float64()),
        # The input's values by column, as JSON.
        ("values", pa.string()),
        # What gives the whole explanation back: see `kept.py`.
        ("counts", pa.list_(pa.int32())),
        ("flip_counts", pa.list_(pa.int32())),
        ("changes", pa.list_(_CHANGE)),
        ("donors", pa.list_(pa.string())),
        ("record", pa.string()),
        # Every τ-minimal factor of both views.
        ("factors", pa.list_(FACTOR)),
        # What went wrong, for a row that could not be explained: all else is null.
        ("error_kind", pa.string()),
        ("error_message", pa.string()),
    ]
)
"""The table that a chunk becomes; `id` has the type of the column that it was read from."""


def chunk_schema(id_type: pa.DataType | None = None) -> pa.Schema:
    """The schema of chunks whose ids are of this type; None: row numbers."""
    return CHUNK_SCHEMA.set(0, pa.field("id", id_type or pa.int64()))


class ExplainsRows(Explains, Tells, Protocol):
    """What an explainer is to those who keep what it says of many rows."""

    def read_rows(self, X: Any) -> Sequence[Table | SufficeError]:
        """Each row as one of the data's kind, or what is wrong with it."""
        ...


class ChunkToArrow:
    """Explains the rows of a chunk, as one Arrow table.

    `question` is what `Explainer.explain` is asked about each, `id_column` names a column that
    tells rows apart (None: their numbers do), and `counts` whether the counts of all sets are kept,
    so that every τ can be asked later (None: those of up to 12 features).

    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from suffice import Explainer, datasets
    >>> X, y = datasets.loans(200)
    >>> X = X[["age", "income", "debt"]]
    >>> explainer = Explainer(DecisionTreeClassifier(random_state=0).fit(X, y), X)
    >>> chunk = ChunkToArrow(explainer, {"tau": 0.8})(X.iloc[:3])
    >>> chunk.select(["row", "prediction", "keep_factors"]).to_pylist()[0]
    {'row': 0, 'prediction': 'refused', 'keep_factors': 2}
    """

    def __init__(
        self,
        explainer: ExplainsRows,
        question: Mapping[str, Any],
        id_column: str | None = None,
        counts: bool | None = None,
        id_type: pa.DataType | None = None,
    ) -> None:
        self.explainer = explainer
        self.question = dict(question) | {"progress": False}
        self.id_column = id_column
        self.id_type = id_type
        self.counts = counts
        self.shared = Shared.of(explainer, self.question)

    @property
    def schema(self) -> pa.Schema:
        """Of the tables that it gives."""
        return chunk_schema(self.id_type)

    def __call__(self, rows: Any, first: int = 0) -> pa.Table:
        """The explanations of some rows, the first of which has the number `first`."""
        ids, read = self.read(rows, first)
        if isinstance(read, Rows):
            return self.table(explain_rows(self.explainer, read, self.question), ids, first)
        fine = [row for row in read if not isinstance(row, SufficeError)]
        found = iter(explain_rows(self.explainer, fine, self.question))
        answers = [row if isinstance(row, SufficeError) else next(found) for row in read]
        return self.table(answers, ids, first)

    def read(self, rows: Any, first: int = 0) -> tuple[pa.Array, Sequence[Table | SufficeError]]:
        """The ids of some rows, and each as a row of the data's kind, or what is wrong with it."""
        ids, rows = self._apart(rows, first)
        return ids, self.explainer.read_rows(rows)

    def table(
        self, answers: list[Explanation | SufficeError], ids: pa.Array, first: int
    ) -> pa.Table:
        """The same of answers that are there already."""
        explained = [e for e in answers if isinstance(e, Explanation)]
        columns = self._columns(explained)
        at = np.array([isinstance(e, Explanation) for e in answers], dtype=bool)
        if not at.all():  # rows that failed have no cells
            where = pa.array(np.where(at, np.cumsum(at) - 1, 0), mask=~at)
            columns = {name: column.take(where) for name, column in columns.items()}
        failed = [None if isinstance(e, Explanation) else e for e in answers]
        columns |= {
            "id": ids,
            "row": pa.array(np.arange(first, first + len(answers), dtype=np.int64)),
            "error_kind": pa.array([e and _kind(e) for e in failed], pa.string()),
            "error_message": pa.array([e and str(e) for e in failed], pa.string()),
        }
        schema = chunk_schema(ids.type)
        made = pa.table([columns[name] for name in schema.names], schema=schema)
        return made.replace_schema_metadata({_PACE: msgspec.json.encode(_pace_of(explained))})

    def pandas(self, frames: Iterable[Any]) -> Iterator[Any]:
        """For Spark's `mapInPandas`: a frame of explanations for each frame of rows.

        Spark does not number rows: `row` counts those of the partition.
        """
        first = 0
        for frame in frames:
            yield self(frame, first).to_pandas()
            first += len(frame)

    def batch(self, rows: Any) -> pa.Table:
        """For Ray's `map_batches`, with `batch_format` "pyarrow" or "pandas"."""
        return self(rows)

    def failed(self, rows: Any, first: int, kind: str, message: str) -> pa.Table:
        """The table of rows that nobody could explain: each killed its worker, or took too long."""
        ids, _ = self._apart(rows, first)
        return self.table([LostRowError(kind, message) for _ in range(len(ids))], ids, first)

    def _apart(self, rows: Any, first: int) -> tuple[pa.Array, Any]:
        """The ids, and the rows without them unless they are a column of the data."""
        data = self.explainer.decider.data
        table = as_table(_as_read(rows, data), names=data.names, argument="X")
        name = self.id_column
        if name is None:
            return pa.array(np.arange(first, first + len(table), dtype=np.int64)), table.native
        ids = id_array(table, name, self.id_type)
        if name not in data.names:
            table = table.select([j for j, other in enumerate(table.names) if other != name])
        return ids, table.native

    def _columns(self, explained: list[Explanation]) -> dict[str, pa.Array]:
        written: Written = {}
        kept = [keep_of(e, self.shared, self.counts, written) for e in explained]
        factors = factor_columns(explained, kept)
        predictions = [scalar_cells(e.prediction) for e in explained]
        cheapest = [e.cheapest for e in explained]
        values = [{c: v for p in e.players for c, v in p.values.items()} for e in explained]
        cells: dict[str, list[Any]] = {
            "prediction": [text for text, _ in predictions],
            "prediction_kind": [kind for _, kind in predictions],
            "score": [None if e.score is None else e.score.value for e in explained],
            "score_kind": [None if e.score is None else e.score.kind for e in explained],
            "outcome": [e.outcome for e in explained],
            "other_outcome": [e.other_outcome for e in explained],
            "tau": [e.tau for e in explained],
            "n_references": [e.provenance.n_references for e in explained],
            "complete": [e.complete for e in explained],
            "cheapest_features": [None if c is None else c.features for c in cheapest],
            "cheapest_change": [None if c is None else to_json(c.values) for c in cheapest],
            "cheapest_cost": [None if c is None else c.cost for c in cheapest],
            "values": [to_json(v) for v in values],
            "donors": [k.donors for k in kept],
            "record": [k.record for k in kept],
        }
        columns = {
            name: pa.array(cell, CHUNK_SCHEMA.field(name).type) for name, cell in cells.items()
        }
        columns["changes"] = _change_lists(kept)
        columns["counts"] = count_lists([k.counts for k in kept])
        columns["flip_counts"] = count_lists([k.flip_counts for k in kept])
        return columns | factors


class LostRowError(SufficeError):
    """A row whose worker did not come back."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


_PACE = b"pace"


def pace(chunk: pa.Table) -> dict[str, Any]:
    """How fast a chunk was explained, and by what: said beside its rows, and never among them."""
    found: dict[str, Any] = msgspec.json.decode((chunk.schema.metadata or {}).get(_PACE, b"{}"))
    return found


def _pace_of(explained: list[Explanation]) -> dict[str, Any]:
    told = [e.provenance for e in explained]
    return {
        "seconds": round(sum(p.seconds for p in told), 6),
        "model_seconds": round(sum(p.model_seconds for p in told), 6),
        "rows_predicted": sum(p.rows_predicted for p in told),
        "evaluators": dict(Counter(p.evaluator for p in told)),
    }


def _kind(error: SufficeError) -> str:
    return error.kind if isinstance(error, LostRowError) else type(error).__name__


def _as_read(rows: Any, data: Table) -> Any:
    """Arrow tables as frames of pandas, unless the data is one: models were fitted on these."""
    if isinstance(rows, pa.Table) and not isinstance(data.native, pa.Table):
        return rows.to_pandas()
    return rows


def id_array(table: Table, name: str, wanted: pa.DataType | None = None) -> pa.Array:
    """The ids of a table's rows, with their own type."""
    native: Any = table.native
    at = table.position(name, "id")
    if isinstance(native, pa.Table):
        ids: Any = native.column(at)
    elif isinstance(native, np.ndarray):
        ids = pa.array(native[:, at])
    else:
        try:
            ids = pa.array(native[native.columns[at]], from_pandas=True)
        except pa.ArrowException as error:
            raise _mixed(name, error) from error
    if isinstance(ids, pa.ChunkedArray):
        ids = ids.combine_chunks()
    if pa.types.is_dictionary(ids.type):
        ids = ids.dictionary_decode()
    if pa.types.is_large_string(ids.type) or pa.types.is_string_view(ids.type):
        ids = ids.cast(pa.string())
    try:
        return ids if wanted is None else ids.cast(wanted)
    except pa.ArrowException as error:
        raise _mixed(name, error) from error


def _mixed(name: str, error: Exception) -> InputError:
    got = f"{name!r}, whose values are of several types ({error})"
    return InputError("id", got, "a column of one type", f"Turn {name!r} into text.")


def _change_lists(kept: list[Kept]) -> pa.Array:
    lengths = np.array([len(k.changes.masks) for k in kept], dtype=np.int64)
    columns = [[cell for k in kept for cell in k.changes[i]] for i in range(3)]
    values = [pa.array(c, _CHANGE.field(i).type) for i, c in enumerate(columns)]
    return lists(lengths, pa.StructArray.from_arrays(values, fields=list(_CHANGE)))
