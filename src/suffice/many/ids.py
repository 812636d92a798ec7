"""Do the names of the rows tell them apart? Told before a run, not after it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suffice.many.files import TableFile
from suffice.many.source import hash_rows
from suffice.tables import PandasTable, plain
from suffice.wording import count

__all__ = ["MOST_CHECKED", "SharedIds", "shared_ids"]

MOST_CHECKED = 10_000_000
"""Rows whose ids are compared: eight bytes are kept of each."""


@dataclass(frozen=True)
class SharedIds:
    """How many rows have an id that an earlier one has, and one example; and how many have none."""

    rows: int
    example: object
    where: tuple[int, int]
    missing: int

    def __str__(self) -> str:
        parts = []
        if self.rows:
            first, second = self.where
            example = f"{self.example!r}: rows {first} and {second}"
            parts.append(f"{count(self.rows, 'row')} with the id of an earlier one ({example})")
        if self.missing:
            parts.append(f"{count(self.missing, 'row')} without one")
        return " and ".join(parts)


def shared_ids(file: TableFile, column: str) -> SharedIds | None:
    """What is wrong with a column that is to name rows, of as many rows as are checked.

    >>> import tempfile, pathlib
    >>> from suffice.many.files import open_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "t.csv"
    ...     _ = path.write_text("who,age\\nann,41\\nbob,23\\nann,60\\n")
    ...     print(shared_ids(open_file(path), "who"))
    1 row with the id of an earlier one ('ann': rows 0 and 2)
    """
    file.position(column, "--id")
    hashes, missing, read = [np.empty(0, dtype=np.uint64)], 0, 0
    for frame in file.frames([column]):
        there = frame[frame[column].notna()]
        missing += len(frame) - len(there)
        hashes.append(np.frombuffer(hash_rows(PandasTable(there)), dtype="<u8"))
        read += len(frame)
        if read >= MOST_CHECKED:
            break
    found, counts = np.unique(np.concatenate(hashes), return_counts=True)
    repeated = int((counts - 1).sum())
    if not repeated:
        return SharedIds(0, None, (0, 0), missing) if missing else None
    example, where = _example(file, column, found[np.argmax(counts > 1)])
    return SharedIds(repeated, example, where, missing)


def _example(file: TableFile, column: str, wanted: np.uint64) -> tuple[object, tuple[int, int]]:
    """The id with this hash, and the first two rows that have it."""
    rows: list[int] = []
    start, value = 0, None
    for frame in file.frames([column]):
        there = np.flatnonzero(frame[column].notna())
        hashes = np.frombuffer(hash_rows(PandasTable(frame.iloc[there])), dtype="<u8")
        for at in there[hashes == wanted].tolist():
            value = plain(frame[column].iloc[at])
            rows.append(start + at)
        if len(rows) > 1:
            break
        start += len(frame)
    return value, (rows[0], rows[1])
