"""A part: the explanations, factors and errors of a fixed run of rows, a Parquet file of each.

A part's name is the number of its first row, and its bytes follow from its rows alone: the same
settings always, rows in their order, nothing of when or where. The file of explanations comes
last, so that a part that has one has all three.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from suffice.many.arrow import SCHEMA_VERSION, chunk_schema
from suffice.many.durable import write_for_good
from suffice.many.factor_rows import FACTOR

__all__ = ["FOLDERS", "PartLabel", "is_whole", "part_path", "read_label", "schemas", "write_part"]

FOLDERS = ("factors", "errors", "explanations")
"""In the order in which they are written."""

ROWS_PER_GROUP = 512
"""Rows that are read together when one explanation is asked for."""

_LABEL = b"suffice"
_NOT_EXPLANATIONS = ("factors", "error_kind", "error_message")


class PartLabel(msgspec.Struct, frozen=True):
    """What every file of a part says of itself."""

    schema: int
    run: str
    """The check of the manifest it belongs to."""
    first: int
    rows: int
    """Rows of input; errors among them."""


def schemas(id_type: pa.DataType) -> dict[str, pa.Schema]:
    """The columns of the three tables."""
    chunk = chunk_schema(id_type)
    which = [pa.field("id", id_type), pa.field("row", pa.int64())]
    texts = [pa.field("kind", pa.string()), pa.field("message", pa.string())]
    return {
        "explanations": pa.schema([f for f in chunk if f.name not in _NOT_EXPLANATIONS]),
        "factors": pa.schema([*which, *FACTOR]),
        "errors": pa.schema([*which, *texts]),
    }


def part_path(out: Path, folder: str, first: int) -> Path:
    """Where the file of a part is.

    >>> part_path(Path("out"), "factors", 8192).as_posix()
    'out/factors/part-000000008192.parquet'
    """
    return out / folder / f"part-{first:012d}.parquet"


def write_part(out: Path, aside: Path, rows: pa.Table, label: PartLabel) -> None:
    """Write the three files of a part."""
    tables = _tables(rows.combine_chunks())
    for folder in FOLDERS:
        table = tables[folder].replace_schema_metadata({_LABEL: msgspec.json.encode(label)})
        path = part_path(out, folder, label.first)
        write_for_good(path, _writer(table), aside, _checker(table.num_rows, label))


def _writer(table: pa.Table) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        with path.open("wb") as file:
            # The schema of Arrow is kept beside Parquet's, so that ids come back as they were.
            pq.write_table(
                table,
                file,
                row_group_size=ROWS_PER_GROUP,
                compression="zstd",
                version="2.6",
                write_page_checksum=True,
            )

    return write


def _checker(rows: int, label: PartLabel) -> Callable[[Path], None]:
    def check(path: Path) -> None:
        found, n = read_label(path)
        if (found, n) != (label, rows):
            raise OSError(f"{n} rows came back of the {rows} that were written")

    return check


def read_label(path: Path) -> tuple[PartLabel, int]:
    """What the footer of a file says, and how many rows it has; OSError for any other file."""
    try:
        with path.open("rb") as file:
            footer = pq.read_metadata(file)
        label = msgspec.json.decode((footer.metadata or {})[_LABEL], type=PartLabel)
    except (pa.ArrowException, KeyError, msgspec.MsgspecError) as error:
        raise OSError(f"no part of a data set of suffice, or not all of it ({error})") from error
    return label, footer.num_rows


def is_whole(out: Path, run: str, first: int, rows: int | None = None) -> bool:
    """Are the three files of a part there, of this run, and every byte as it was written?"""
    for folder in FOLDERS:
        path = part_path(out, folder, first)
        try:
            label, _ = read_label(path)
            with path.open("rb") as file:
                # A sound footer does not vouch for what stands before it: checksums do.
                for _ in pq.ParquetFile(file, page_checksum_verification=True).iter_batches():
                    continue
        except (OSError, pa.ArrowException):
            return False
        wanted = label.rows if rows is None else rows
        if label != PartLabel(SCHEMA_VERSION, run, first, wanted):
            return False
    return True


def _tables(rows: pa.Table) -> dict[str, pa.Table]:
    failed = pc.is_valid(rows["error_kind"])
    explained = rows.filter(pc.invert(failed))
    errors = rows.filter(failed).select(["id", "row", "error_kind", "error_message"])
    return {
        "explanations": explained.drop_columns(list(_NOT_EXPLANATIONS)),
        "factors": _flattened(explained),
        "errors": errors.rename_columns(["id", "row", "kind", "message"]),
    }


def _flattened(explained: pa.Table) -> pa.Table:
    lists = _joined(explained["factors"])
    parents = np.asarray(pc.list_parent_indices(lists))
    columns = _joined(pc.list_flatten(lists)).flatten()
    which: list[Any] = [explained[name].take(pa.array(parents)) for name in ("id", "row")]
    names = ["id", "row", *(field.name for field in FACTOR)]
    return pa.table([*which, *columns], names=names)


def _joined(column: Any) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
