"""Stored explanations as a sequence: each is read when it is asked for, and few are held."""

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
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from suffice.errors import InputError, SufficeError
from suffice.explanation import Explanation
from suffice.many.arrow import SCHEMA_VERSION
from suffice.many.kept import read_kept
from suffice.many.manifest import Manifest, read_manifest
from suffice.many.parts import read_label
from suffice.many.store import SUCCESS
from suffice.wording import count, show

__all__ = ["Stored", "load"]

_GROUPS_HELD = 4
"""Groups of rows that are held: reading one takes some milliseconds."""


def load(folder: str | Path) -> Stored:
    """The explanations that `Explainer.explain_to` or `suffice batch` wrote to a folder.

    They are read when they are asked for, however many there are. One that is read back answers
    whatever the explanation did when it was made, at every τ, without the model, unless its counts
    were not kept. Of a run that did not end, what is there is given.

    Parameters
    ----------
    folder
        Where they were written to.

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
        """What was asked, of what."""
        self._held: OrderedDict[tuple[int, int], pa.Table] = OrderedDict()
        self._parts = sorted((folder / "explanations").glob("*.parquet"))
        footers = [self._footer(path) for path in self._parts]
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
        """One explanation, or some."""
        if isinstance(at, slice):
            return [self[i] for i in range(*at.indices(len(self)))]
        number = range(len(self))[at]
        part = bisect_right(self._ends, number)
        within = number - (self._ends[part - 1] if part else 0)
        return self._read(part, within)

    def __iter__(self) -> Iterator[Explanation]:
        return (self[i] for i in range(len(self)))

    def by_id(self, id: Any) -> Explanation:
        """The explanation of the row that its id names."""
        found = self._find(id)
        if len(found) != 1:
            failed = self._failed(id)
            got = f"{id!r}, which {count(len(found), 'explanation')} have" if found else repr(id)
            why = f" (row {failed[0]}: {failed[1]})" if failed else ""
            raise InputError("id", f"{got}{why}", "the id of one explained row")
        return self[found[0]]

    @cached_property
    def ids(self) -> list[Any]:
        """What the row of each explanation is called, in order; its number where it has no name."""
        columns = [self._column(path, "id") for path in self._parts]
        return [id for column in columns for id in column.to_pylist()]

    def tables(self) -> Iterator[pa.Table]:
        """The rows as they are stored, some hundred at a time, in order."""
        for part, ends in enumerate(self._groups):
            for group in range(len(ends)):
                yield self._rows(part, group)

    # -- what else is there -------------------------------------------------------------

    @property
    def finished(self) -> bool:
        """Are all rows there?"""
        return (self.folder / SUCCESS).exists()

    @cached_property
    def errors(self) -> Any:
        """The rows that could not be explained, as a pandas frame: id, row, kind, message."""
        return self._frame("errors")

    @property
    def explanations(self) -> Path:
        """The folder with a row for each explanation, which pandas, polars and DuckDB read."""
        return self.folder / "explanations"

    @property
    def factors(self) -> Path:
        """The folder with a row for each factor."""
        return self.folder / "factors"

    def to_frame(self) -> Any:
        """One row for each explanation, without the counts: a pandas frame."""
        columns = pq.read_schema(self._parts[0]).names if self._parts else []
        kept = ("counts", "flip_counts", "changes", "donors", "record")
        return self._frame("explanations", [name for name in columns if name not in kept])

    def __repr__(self) -> str:
        state = "finished" if self.finished else "not finished: go on with resume=True or --resume"
        return f"<Stored: {self._rows_in_words()} in {self.folder} ({state})>"

    def __str__(self) -> str:
        m = self.manifest
        asked = {name: v for name, v in m.question.items() if v not in (None, "none", "auto")}
        lines = [
            f"{self._rows_in_words()} in {self.folder}",
            f"  {m.explainer['model']}, {', '.join(f'{n} = {show(v)}' for n, v in asked.items())}",
        ]
        if not self.finished:
            lines.append("  Not finished: go on with resume=True, or `suffice batch … --resume`.")
        if not m.repeatable:
            lines.append("  Searches ended with their time: another run would differ a little.")
        return "\n".join(lines)

    def _rows_in_words(self) -> str:
        failed = sum(self._footer(p).num_rows for p in (self.folder / "errors").glob("*.parquet"))
        return f"{count(len(self), 'explanation')}, {count(failed, 'error')}"

    # -- reading ------------------------------------------------------------------------

    def _read(self, part: int, within: int) -> Explanation:
        ends = self._groups[part]
        group = bisect_right(ends, within)
        rows = self._rows(part, group)
        row = rows.slice(within - (ends[group - 1] if group else 0), 1)
        cells = {name: row[name][0].as_py() for name in row.column_names if name not in _ARRAYS}
        cells |= {name: _numbers(row[name]) for name in _ARRAYS}
        try:
            return read_kept(cells, self.manifest.shared)
        except (SufficeError, msgspec.MsgspecError, KeyError, TypeError, ValueError) as error:
            raise _broken(self._parts[part], error) from error

    def _rows(self, part: int, group: int) -> pa.Table:
        key = part, group
        if key not in self._held:
            try:
                with self._parts[part].open("rb") as file:
                    whole = pq.ParquetFile(file, page_checksum_verification=True)
                    self._held[key] = whole.read_row_group(group)
            except (OSError, pa.ArrowException) as error:
                raise _broken(self._parts[part], error) from error
            while len(self._held) > _GROUPS_HELD:
                self._held.popitem(last=False)
        self._held.move_to_end(key)
        return self._held[key]

    def _footer(self, path: Path) -> Any:
        try:
            label, _ = read_label(path)
            with path.open("rb") as file:
                footer = pq.read_metadata(file)
        except OSError as error:
            raise _broken(path, error) from error
        if (label.schema, label.run) != (SCHEMA_VERSION, self.manifest.check):
            raise _broken(path, "a part of another run")
        return footer

    def _frame(self, folder: str, columns: list[str] | None = None) -> Any:
        import pandas as pd

        paths = sorted((self.folder / folder).glob("*.parquet"))
        try:
            tables = [pq.read_table(path, columns=columns, partitioning=None) for path in paths]
        except (OSError, pa.ArrowException) as error:
            raise _broken(self.folder / folder, error) from error
        return pa.concat_tables(tables).to_pandas() if tables else pd.DataFrame()

    def _column(self, path: Path, name: str) -> Any:
        try:
            return pq.read_table(path, columns=[name], partitioning=None)[name]
        except (OSError, pa.ArrowException) as error:
            raise _broken(path, error) from error

    def _find(self, id: Any) -> list[int]:
        """The places of the explanations of this id: one column of each part is read."""
        found: list[int] = []
        for i, path in enumerate(self._parts):
            found += (
                _places(self._column(path, "id"), id) + (self._ends[i - 1] if i else 0)
            ).tolist()
        return found

    def _failed(self, id: Any) -> tuple[int, str] | None:
        for path in sorted((self.folder / "errors").glob("*.parquet")):
            errors = pq.read_table(path, partitioning=None)
            for at in _places(errors["id"], id).tolist():
                return errors["row"][at].as_py(), errors["message"][at].as_py()
        return None


_ARRAYS = ("counts", "flip_counts")


def _numbers(column: Any) -> Any:
    """A cell that is a list of numbers, as an array; None where it is null."""
    return None if column[0].values is None else np.asarray(column[0].values)


def _places(ids: Any, id: Any) -> Any:
    try:
        wanted = pa.scalar(id, ids.type)
    except (pa.ArrowException, TypeError, OverflowError) as error:
        raise InputError("id", id, f"an id of the folder's type, {ids.type}") from error
    return np.flatnonzero(np.asarray(pc.fill_null(pc.equal(ids, wanted), False)))


def _broken(path: Path, error: Exception | str) -> InputError:
    hint = "Going on with resume=True, or `suffice batch … --resume`, writes a bad part anew."
    return InputError("folder", f"{path} ({error})", "a whole part of this data set", hint)
