"""Arrow schema of stored explanations, and `ChunkToArrow`, from a chunk of rows to an Arrow table.

`ChunkToArrow` is a pure function that can be pickled. The table has one row for each row of the
chunk, with an explanation or an error. The same object serves processes, Dask, Spark's
`mapInPandas` (`.pandas`) and Ray's `map_batches` (`.batch`). The table depends on the rows only,
not on the time, the machine or the chunk.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from suffice.errors import InputError, SufficeError, missing_package

try:
    import pyarrow as pa
except ImportError as error:
    raise missing_package("An Arrow table of explanations", "pyarrow", "parquet") from error

from suffice.batch.explain_many import BatchExplainer, explain_rows
from suffice.batch.factor_columns import FACTOR_TYPE, count_list_array, factor_columns, list_array
from suffice.batch.manifest import RunConstants
from suffice.batch.stored_row import (
    JsonCache,
    StoredCells,
    directions_to_json,
    explanation_to_cells,
    scalar_to_cells,
    ties_to_json,
    values_to_json,
)
from suffice.context.references import CachedRows
from suffice.explanation import Explanation
from suffice.tables import Table, as_table

_CHANGE_TYPE = pa.struct([("set", pa.int64()), ("cost", pa.float64()), ("donor", pa.int32())])

CHUNK_SCHEMA = pa.schema(
    [
        # The row: its id, and its number from 0.
        ("id", pa.int64()),
        ("row", pa.int64()),
        # The prediction, whose kind is text, truth, whole, number or missing; the score, whose
        # kinds are those of `PredictionScore`.
        ("prediction", pa.string()),
        ("prediction_kind", pa.string()),
        ("score", pa.float64()),
        ("score_kind", pa.string()),
        ("outcome", pa.string()),
        ("other_outcome", pa.string()),
        # The question, and whether the search was complete.
        ("tau", pa.float64()),
        ("n_references", pa.int32()),
        ("complete", pa.bool_()),
        # The answer. Bounds (low, high) are null if necessity is exact and not an estimate.
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
        ("cheapest_reliability", pa.float64()),
        # Other changes of the same cost, as JSON: features and values of each; null: none.
        ("cheapest_ties", pa.string()),
        # By feature, as JSON: where the cheapest changes that need it move it; null: nowhere known.
        ("directions", pa.string()),
        # The input's values by column, as JSON.
        ("values", pa.string()),
        # The cells from which `stored_row` restores the whole explanation.
        ("counts", pa.list_(pa.int32())),
        ("flip_counts", pa.list_(pa.int32())),
        ("changes", pa.list_(_CHANGE_TYPE)),
        ("donors", pa.list_(pa.string())),
        ("record", pa.string()),
        # Every τ-minimal factor of both views.
        ("factors", pa.list_(FACTOR_TYPE)),
        # The error of a row that could not be explained: all other cells are null.
        ("error_kind", pa.string()),
        ("error_message", pa.string()),
    ]
)
"""Schema of the table of a chunk; `id` has the type of the column that it was read from."""


def chunk_schema(id_type: pa.DataType | None = None) -> pa.Schema:
    """Return the schema of chunks whose ids have this type; None: row numbers."""
    return CHUNK_SCHEMA.set(0, pa.field("id", id_type or pa.int64()))


class ChunkToArrow:
    """Explains the rows of a chunk and returns one Arrow table.

    `question` holds the arguments of `Explainer.explain`, and `id_column` the name of the column
    that identifies rows (None: the row number does). `counts` is whether to store the counts of all
    sets, which later answer every τ (None: those of up to 12 features).

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
        explainer: BatchExplainer,
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
        self.run_constants = RunConstants.from_explainer(explainer, self.question)

    @property
    def schema(self) -> pa.Schema:
        """The schema of the tables that a call returns."""
        return chunk_schema(self.id_type)

    def __call__(self, rows: Any, first: int = 0) -> pa.Table:
        """Return the explanations of rows, the first of which has the number `first`."""
        ids, read = self.read(rows, first)
        if isinstance(read, CachedRows):
            return self.table(explain_rows(self.explainer, read, self.question), ids, first)
        valid = [row for row in read if not isinstance(row, SufficeError)]
        found = iter(explain_rows(self.explainer, valid, self.question))
        answers = [row if isinstance(row, SufficeError) else next(found) for row in read]
        return self.table(answers, ids, first)

    def read(self, rows: Any, first: int = 0) -> tuple[pa.Array, Sequence[Table | SufficeError]]:
        """Return the ids of rows, and each row in the dtypes of the data, or its error."""
        ids, rows = self._split_ids(rows, first)
        return ids, self.explainer.read_rows(rows)

    def table(
        self, answers: list[Explanation | SufficeError], ids: pa.Array, first: int
    ) -> pa.Table:
        """Return the table of explanations and errors that were computed before."""
        explained = [e if isinstance(e, Explanation) else None for e in answers]
        errors = [
            None if isinstance(e, Explanation) else (type(e).__name__, str(e)) for e in answers
        ]
        return self._table(explained, errors, ids, first)

    def _table(
        self,
        answers: list[Explanation | None],
        errors: list[tuple[str, str] | None],
        ids: pa.Array,
        first: int,
    ) -> pa.Table:
        """Return the table of rows, each with an explanation or the kind and text of an error."""
        explained = [e for e in answers if e is not None]
        columns = self._columns(explained)
        has_cells = np.array([e is not None for e in answers], dtype=bool)
        if not has_cells.all():  # the cells of rows with an error are null
            where = pa.array(np.where(has_cells, np.cumsum(has_cells) - 1, 0), mask=~has_cells)
            columns = {name: column.take(where) for name, column in columns.items()}
        columns |= {
            "id": ids,
            "row": pa.array(np.arange(first, first + len(answers), dtype=np.int64)),
            "error_kind": pa.array([e and e[0] for e in errors], pa.string()),
            "error_message": pa.array([e and e[1] for e in errors], pa.string()),
        }
        schema = chunk_schema(ids.type)
        made = pa.table([columns[name] for name in schema.names], schema=schema)
        return made.replace_schema_metadata(
            {_TIMINGS_KEY: msgspec.json.encode(_sum_timings(explained))}
        )

    def pandas(self, frames: Iterable[Any]) -> Iterator[Any]:
        """Yield a frame of explanations for each frame of rows: for Spark's `mapInPandas`.

        Spark does not number rows: `row` counts the rows of the partition, and so does `id` without
        `id_column`.
        """
        first = 0
        for frame in frames:
            yield self(frame, first).to_pandas()
            first += len(frame)

    def batch(self, rows: Any) -> pa.Table:
        """Return the explanations of a batch: for Ray's `map_batches`, of Arrow tables or frames.

        Ray does not number rows: `row` counts the rows of the batch, so `id_column` is required.
        """
        if self.id_column is None:
            hint = "Ray does not number rows: without a column, ids would repeat in every batch."
            raise InputError("id_column", None, "the name of a column with ids", hint)
        return self(rows)

    def failed_rows(self, rows: Any, first: int, kind: str, message: str) -> pa.Table:
        """Return the table of rows without an explanation, for example because workers died."""
        ids, _ = self._split_ids(rows, first)
        return self._table([None] * len(ids), [(kind, message)] * len(ids), ids, first)

    def _split_ids(self, rows: Any, first: int) -> tuple[pa.Array, Any]:
        """Return the ids, and the rows without the id column unless the data has it, too."""
        data = self.explainer.decider.data
        table = as_table(_to_pandas(rows, data), names=data.names, argument="X")
        name = self.id_column
        if name is None:
            return pa.array(np.arange(first, first + len(table), dtype=np.int64)), table.native
        ids = id_array(table, name, self.id_type)
        if name not in data.names:
            table = table.select([j for j, other in enumerate(table.names) if other != name])
        return ids, table.native

    def _columns(self, explained: list[Explanation]) -> dict[str, pa.Array]:
        """Return the columns of rows that were explained, without ids and errors."""
        cache: JsonCache = {}
        kept = [explanation_to_cells(e, self.run_constants, self.counts, cache) for e in explained]
        factors = factor_columns(explained, kept)
        predictions = [scalar_to_cells(e.prediction) for e in explained]
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
            "cheapest_change": [None if c is None else values_to_json(c.values) for c in cheapest],
            "cheapest_cost": [None if c is None else c.cost for c in cheapest],
            "cheapest_reliability": [None if c is None else c.reliability for c in cheapest],
            "cheapest_ties": [ties_to_json(e.cheapest_ties) for e in explained],
            "directions": [directions_to_json(e.directions) for e in explained],
            "values": [values_to_json(v) for v in values],
            "donors": [k.donors for k in kept],
            "record": [k.record for k in kept],
        }
        columns = {
            name: pa.array(cell, CHUNK_SCHEMA.field(name).type) for name, cell in cells.items()
        }
        columns["changes"] = _change_lists(kept)
        columns["counts"] = count_list_array([k.counts for k in kept])
        columns["flip_counts"] = count_list_array([k.flip_counts for k in kept])
        return columns | factors


_TIMINGS_KEY = b"pace"
"""Key of the timings in a chunk's metadata: as a column they would make stored bytes vary."""


def read_timings(chunk: pa.Table) -> dict[str, Any]:
    """Return the seconds, predicted rows and evaluators of a chunk, from its metadata."""
    found: dict[str, Any] = msgspec.json.decode(
        (chunk.schema.metadata or {}).get(_TIMINGS_KEY, b"{}")
    )
    return found


def _sum_timings(explained: list[Explanation]) -> dict[str, Any]:
    provenances = [e.provenance for e in explained]
    return {
        "seconds": round(sum(p.seconds for p in provenances), 6),
        "model_seconds": round(sum(p.model_seconds for p in provenances), 6),
        "rows_predicted": sum(p.rows_predicted for p in provenances),
        "evaluators": dict(Counter(p.evaluator for p in provenances)),
    }


def _to_pandas(rows: Any, data: Table) -> Any:
    """Return Arrow tables as pandas frames, unless the data, too, is an Arrow table."""
    if isinstance(rows, pa.Table) and not isinstance(data.native, pa.Table):
        return rows.to_pandas()
    return rows


def id_array(table: Table, name: str, wanted: pa.DataType | None = None) -> pa.Array:
    """Return the ids of a table's rows, in their own type or cast to `wanted`."""
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
            raise _mixed_id_types(name, error) from error
    if isinstance(ids, pa.ChunkedArray):
        ids = ids.combine_chunks()
    if pa.types.is_dictionary(ids.type):
        ids = ids.dictionary_decode()
    if pa.types.is_large_string(ids.type) or pa.types.is_string_view(ids.type):
        ids = ids.cast(pa.string())
    try:
        return ids if wanted is None else ids.cast(wanted)
    except pa.ArrowException as error:
        raise _mixed_id_types(name, error) from error


def _mixed_id_types(name: str, error: Exception) -> InputError:
    got = f"{name!r}, whose values have several types ({error})"
    return InputError("id", got, "a column of one type", f"Convert {name!r} to text.")


def _change_lists(kept: list[StoredCells]) -> pa.Array:
    lengths = np.array([len(k.changes.masks) for k in kept], dtype=np.int64)
    columns = [[cell for k in kept for cell in k.changes[i]] for i in range(3)]
    values = [pa.array(c, _CHANGE_TYPE.field(i).type) for i, c in enumerate(columns)]
    return list_array(lengths, pa.StructArray.from_arrays(values, fields=list(_CHANGE_TYPE)))
