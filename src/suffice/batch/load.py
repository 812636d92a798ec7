"""`suffice.load`: stored explanations as a sequence, read from Parquet files on demand."""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from os import PathLike
from pathlib import Path
from typing import Any, SupportsIndex, overload

import msgspec
import numpy as np

from suffice.errors import InputError, SufficeError, missing_package

try:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq
except ImportError as error:
    raise missing_package("Reading stored explanations", "pyarrow", "parquet") from error

from suffice.batch.manifest import Manifest, read_manifest
from suffice.batch.store import (
    ROWS_PER_ROW_GROUP,
    SCHEMA_VERSION,
    SUCCESS_FILE,
    TABLE_FOLDERS,
    FileDigest,
    PartLabel,
    RunTotals,
    part_path,
    read_digests,
    read_part_label,
    read_totals,
)
from suffice.batch.stored_row import explanation_from_cells
from suffice.explanation import Explanation
from suffice.formatting import format_value, plural

_MAX_CACHED_GROUPS = 4
"""Parquet row groups kept in memory: reading one takes some milliseconds."""


def load(folder: str | Path) -> Stored:
    """Return the explanations that `Explainer.explain_to` or `suffice batch` wrote to a folder.

    Each explanation is read when it is accessed, so the folder may be larger than memory. It
    answers every τ without the model, as it did when it was made, unless its counts were not
    stored. An unfinished run gives the explanations stored so far.

    Parameters
    ----------
    folder
        The folder of the run.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import suffice
    >>> X, y = suffice.datasets.loans(200)
    >>> X = X[["age", "income", "debt"]]
    >>> explainer = suffice.Explainer(DecisionTreeClassifier(random_state=0).fit(X, y), X)
    >>> folder = mkdtemp()
    >>> _ = explainer.explain_to(X.iloc[:20], folder)
    >>> stored = suffice.load(folder)
    >>> len(stored), stored[8].prediction
    (20, 'refused')
    >>> stored[8].keep.at(0.7).factors == explainer.explain(X.iloc[8]).keep.at(0.7).factors
    True
    """
    if not isinstance(folder, str | PathLike):
        raise InputError("folder", folder, "the path of a folder")
    return Stored(Path(folder), read_manifest(Path(folder)))


class Stored(Sequence[Explanation]):
    """Stored explanations, in the order of the rows that they explain."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder = folder
        self.manifest = manifest
        """The question, the explainer, and hashes of model and data."""
        self._cache: OrderedDict[tuple[int, int], pa.Table] = OrderedDict()
        self._parts = sorted((folder / "explanations").glob("*.parquet"))
        try:
            totals = read_totals(folder)
        except OSError as error:
            raise _broken_part_error(folder / SUCCESS_FILE, error) from error
        self.finished = totals is not None
        """Whether all rows were stored when the folder was loaded; a run may still be adding
        rows."""
        self._digests = read_digests(folder) if totals is None else totals.files
        self._verified: set[Path] = set()
        labels = [self._label(path) for path in self._parts]
        footers = [footer for _, footer in labels]
        if totals is not None:
            self._check_totals(totals, [label.rows for label, _ in labels])
        self._ends = list(accumulate(footer.num_rows for footer in footers))
        self._groups = [
            list(accumulate(f.row_group(i).num_rows for i in range(f.num_row_groups)))
            for f in footers
        ]

    # -- a sequence ---------------------------------------------------------------------

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    @overload
    def __getitem__(self, at: SupportsIndex) -> Explanation: ...

    @overload
    def __getitem__(self, at: slice) -> list[Explanation]: ...

    def __getitem__(self, at: SupportsIndex | slice) -> Explanation | list[Explanation]:
        """Return one explanation, or a list of them for a slice."""
        if isinstance(at, slice):
            return [self[i] for i in range(*at.indices(len(self)))]
        number = range(len(self))[at]
        # Parts may be of different lengths: the last one, and those with errors.
        part = bisect_right(self._ends, number)
        within = number - (self._ends[part - 1] if part else 0)
        return self._read(part, within)

    def __iter__(self) -> Iterator[Explanation]:
        return (self[i] for i in range(len(self)))

    def by_id(self, id: Any) -> Explanation:
        """Return the explanation of the row with an id."""
        found = self._positions(id)
        if len(found) != 1:
            failed = self._find_error(id)
            got = f"{id!r}, which {plural(len(found), 'explanation')} have" if found else repr(id)
            why = f" (row {failed[0]}: {failed[1]})" if failed else ""
            raise InputError("id", f"{got}{why}", "the id of one explained row")
        return self[found[0]]

    @cached_property
    def ids(self) -> list[Any]:
        """The id of each explanation's row, in order; without an id column, its number."""
        columns = [self._column(path, "id") for path in self._parts]
        return [id for column in columns for id in column.to_pylist()]

    def tables(self) -> Iterator[pa.Table]:
        """Yield the stored rows in order, as Arrow tables of a few hundred rows."""
        for part, ends in enumerate(self._groups):
            for group in range(len(ends)):
                yield self._row_group(part, group)

    # -- other contents of the folder ----------------------------------------------------

    @cached_property
    def errors(self) -> Any:
        """The rows that could not be explained, as a pandas frame: id, row, kind, message."""
        return self._frame("errors")

    @property
    def explanations(self) -> Path:
        """The folder with a row for each explanation, which pandas, polars and DuckDB read."""
        return self._verified_folder("explanations")

    @property
    def factors(self) -> Path:
        """The folder with a row for each factor."""
        return self._verified_folder("factors")

    def to_frame(self) -> Any:
        """Return a pandas frame with one row for each explanation, without the counts."""
        columns = pq.read_schema(self._parts[0]).names if self._parts else []
        # Columns of counts are far larger than all others together.
        omitted = ("counts", "flip_counts", "changes", "donors", "record")
        return self._frame("explanations", [name for name in columns if name not in omitted])

    def __repr__(self) -> str:
        state = "finished" if self.finished else "not finished: continue with resume=True"
        return f"<Stored: {self._summary_text()} in {self.folder} ({state})>"

    def __str__(self) -> str:
        m = self.manifest
        asked = {name: v for name, v in m.question.items() if v not in (None, "none", "auto")}
        lines = [
            f"{self._summary_text()} in {self.folder}",
            f"  {m.explainer['model']}, "
            f"{', '.join(f'{n} = {format_value(v)}' for n, v in asked.items())}",
        ]
        if not self.finished:
            lines.append("  Not finished: continue with resume=True or `suffice batch … --resume`.")
        if not m.repeatable:
            lines.append("  Searches had a time limit: another run may differ a little.")
        return "\n".join(lines)

    def _summary_text(self) -> str:
        failed = sum(self._label(path)[1].num_rows for path in self._paths("errors"))
        return f"{plural(len(self), 'explanation')}, {plural(failed, 'error')}"

    # -- reading ------------------------------------------------------------------------

    def _read(self, part: int, within: int) -> Explanation:
        ends = self._groups[part]
        group = bisect_right(ends, within)
        rows = self._row_group(part, group)
        row = rows.slice(within - (ends[group - 1] if group else 0), 1)
        try:
            cells = {
                name: row[name][0].as_py()
                for name in row.column_names
                if name not in _ARRAY_COLUMNS
            }
            cells |= {name: _read_number_list(row[name]) for name in _ARRAY_COLUMNS}
            return explanation_from_cells(cells, self.manifest.shared)
        except _UNREADABLE as error:
            raise _broken_part_error(self._parts[part], error) from error

    def _row_group(self, part: int, group: int) -> pa.Table:
        """Return a row group of a part, from the cache of the last ones used or from its file."""
        key = part, group
        if key not in self._cache:
            self._verify(self._parts[part])
            try:
                with self._parts[part].open("rb") as file:
                    self._cache[key] = _read_row_group(file, group, self.manifest)
            except (OSError, *_UNREADABLE) as error:
                raise _broken_part_error(self._parts[part], error) from error
            # The least recently used row group goes first.
            while len(self._cache) > _MAX_CACHED_GROUPS:
                self._cache.popitem(last=False)
        self._cache.move_to_end(key)
        return self._cache[key]

    def _check_totals(self, totals: RunTotals, rows: list[int]) -> None:
        """Raise if a finished folder lacks a file, has one too many, or lost rows."""
        names = {
            path.relative_to(self.folder).as_posix()
            for folder in TABLE_FOLDERS
            for path in (self.folder / folder).glob("*.parquet")
        }
        if totals.files and (changed := sorted(names ^ totals.files.keys())):
            why = "is missing" if changed[0] in totals.files else "is not of this run"
            raise _broken_part_error(self.folder / changed[0], why)
        for name, digest in totals.files.items():
            if (size := (self.folder / name).stat().st_size) != digest.size:
                raise _broken_part_error(self.folder / name, f"{size} of {digest.size} bytes")
        if sum(rows) != totals.rows:
            why = f"its parts have {sum(rows):,} of {plural(totals.rows, 'row')}"
            raise _broken_part_error(self.folder / "explanations", why)

    def _verify(self, path: Path) -> None:
        """Raise if a file differs from its digest; it is read for this once."""
        digest = self._digests.get(path.relative_to(self.folder).as_posix())
        if digest is None or path in self._verified:  # a folder of version 0.5.0 has no digests
            return
        try:
            found = FileDigest.of_file(path)
        except OSError as error:
            raise _broken_part_error(path, error) from error
        if found != digest:
            raise _broken_part_error(path, "its content differs from the digest of the run")
        self._verified.add(path)

    def _verified_folder(self, name: str) -> Path:
        for path in self._paths(name):
            self._verify(path)
        return self.folder / name

    def _paths(self, name: str) -> list[Path]:
        """Return the files of one table, as they were when the folder was loaded."""
        return [self.folder / name / path.name for path in self._parts]

    def _label(self, path: Path) -> tuple[PartLabel, Any]:
        """Return the label and the footer of a part; an InputError for any other file."""
        try:
            label, footer = read_part_label(path)
        except OSError as error:
            raise _broken_part_error(path, error) from error
        if (label.schema, label.run) != (SCHEMA_VERSION, self.manifest.check):
            raise _broken_part_error(path, "a part of another run")
        if path != part_path(self.folder, path.parent.name, label.first):
            raise _broken_part_error(path, f"the part that starts with row {label.first}")
        most = min(label.rows, self.manifest.storing.rows_per_part)
        if path.parent.name != "factors" and footer.num_rows > most:
            raise _broken_part_error(path, f"{footer.num_rows:,} rows in a part of {most:,}")
        return label, footer

    def _frame(self, folder: str, columns: list[str] | None = None) -> Any:
        import pandas as pd

        self._verified_folder(folder)
        paths = self._paths(folder)
        try:
            tables = [pq.read_table(path, columns=columns, partitioning=None) for path in paths]
            whole = pa.concat_tables(tables) if tables else None
        except (OSError, pa.ArrowException) as error:
            raise _broken_part_error(self.folder / folder, error) from error
        return pd.DataFrame() if whole is None else whole.to_pandas()

    def _column(self, path: Path, name: str) -> Any:
        self._verify(path)
        try:
            return pq.read_table(path, columns=[name], partitioning=None)[name]
        except (OSError, pa.ArrowException) as error:
            raise _broken_part_error(path, error) from error

    def _positions(self, id: Any) -> list[int]:
        """Return the positions of the explanations with an id; reads the id column of each part."""
        found: list[int] = []
        for i, path in enumerate(self._parts):
            found += (
                _find_id(self._column(path, "id"), id) + (self._ends[i - 1] if i else 0)
            ).tolist()
        return found

    def _find_error(self, id: Any) -> tuple[int, str] | None:
        """Return the row number and the message of the first error with an id."""
        self._verified_folder("errors")
        for path in self._paths("errors"):
            errors = pq.read_table(path, partitioning=None)
            for at in _find_id(errors["id"], id).tolist():
                return errors["row"][at].as_py(), errors["message"][at].as_py()
        return None


_ARRAY_COLUMNS = ("counts", "flip_counts")

_UNREADABLE = (
    *(SufficeError, msgspec.MsgspecError, pa.ArrowException),
    *(AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError),
)
"""Errors of cells that no run can have written: a column of another type, a list too short."""


# -- a small file that unpacks to a large one is refused before it is unpacked ----------------


_UNPACKED_BYTES, _UNPACKED_RATIO = 256_000_000, 1000
"""A row group may unpack to this size, plus this many times its own: stored explanations of equal
rows compress well, but a file of some kilobytes that unpacks to gigabytes is no file of a run."""


def _read_row_group(file: Any, group: int, manifest: Manifest) -> pa.Table:
    """Return a row group of a part; a ValueError if it is larger than a run can have written it."""
    texts = ["record", "values", "donors.list.element"]
    whole = pq.ParquetFile(file, page_checksum_verification=True, read_dictionary=texts)
    about = whole.metadata.row_group(group)
    if about.num_rows > ROWS_PER_ROW_GROUP:
        raise ValueError(f"{about.num_rows:,} rows in a group of {ROWS_PER_ROW_GROUP}")
    columns = [about.column(i) for i in range(about.num_columns)]
    sets = 1 << min(manifest.shared.n_players, 40)
    for column in columns:
        by_set = column.path_in_schema.partition(".")[0] in (*_ARRAY_COLUMNS, "changes")
        if by_set and column.num_values > about.num_rows * sets:
            raise ValueError(f"{column.num_values:,} counts of {about.num_rows} explanations")
    most = _UNPACKED_BYTES + _UNPACKED_RATIO * sum(c.total_compressed_size for c in columns)
    _check_size(sum(column.total_uncompressed_size for column in columns), most)
    table = whole.read_row_group(group)
    # A text that many rows share is in memory once until here.
    for at, field in enumerate(table.schema):
        column = table.column(at)
        lists = pa.types.is_list(field.type)
        inner = pc.list_flatten(column) if lists else column
        if pa.types.is_dictionary(inner.type):
            _check_size(sum(map(_decoded_size, inner.chunks)), most)
            plain = pa.list_(pa.string()) if lists else pa.string()
            table = table.set_column(at, field.name, column.cast(plain))
    return table


def _decoded_size(chunk: Any) -> int:
    lengths = pc.take(pc.binary_length(chunk.dictionary), chunk.indices)
    return int(pc.sum(lengths).as_py() or 0)


def _check_size(size: int, most: int) -> None:
    if size > most:
        raise ValueError(f"{size:,} bytes in a row group of at most {most:,}")


def _read_number_list(column: Any) -> Any:
    """Return the list of numbers in a column's only cell as an array; None if it is null."""
    return None if column[0].values is None else np.asarray(column[0].values)


def _find_id(ids: Any, id: Any) -> Any:
    try:
        wanted = pa.scalar(id, ids.type)
    except (pa.ArrowException, TypeError, OverflowError) as error:
        raise InputError("id", id, f"an id of the folder's type, {ids.type}") from error
    return np.flatnonzero(np.asarray(pc.fill_null(pc.equal(ids, wanted), False)))


def _broken_part_error(path: Path, error: Exception | str) -> InputError:
    hint = "Running again with resume=True, or `suffice batch … --resume`, replaces a broken part."
    return InputError("folder", f"{path} ({error})", "a complete part of this run", hint)
