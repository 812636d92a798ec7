"""Which rows of a table: by number ("0:1000", "5,9,12") or by a value ("region=north")."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise

import numpy as np

from suffice.errors import InputError
from suffice.many.source import BATCH, Source
from suffice.tables import PandasTable, Table, plain
from suffice.typing import BoolVector, Counts

__all__ = ["Selected", "Selection", "read_selection"]

_ALLOWED = "numbers from 0 such as '0:1000', '5,9,12' or '0:10,50', or 'COLUMN=VALUE'"


@dataclass(frozen=True)
class Selection:
    """Ranges of row numbers, and the value that a column has in them; and how it was written."""

    ranges: tuple[tuple[int, int | None], ...] = ((0, None),)
    column: str = ""
    value: str = ""
    text: str = ""


def read_selection(text: str) -> Selection:
    """Read what a user writes.

    >>> read_selection("50,0:10").ranges, read_selection("7:").ranges
    (((0, 10), (50, 51)), ((7, None),))
    >>> read_selection("region=north").column
    'region'
    """
    if "=" in text:
        column, _, value = text.partition("=")
        if not column.strip():
            raise InputError("rows", repr(text), _ALLOWED)
        return Selection(column=column.strip(), value=value.strip(), text=text)
    ranges = sorted((_range(part.strip(), text) for part in text.split(",")), key=lambda r: r[0])
    for (_, stop), (start, _) in pairwise(ranges):
        if stop is None or start < stop:
            raise InputError("rows", f"{text!r}, which has row {start} twice", _ALLOWED)
    return Selection(tuple(ranges), text=text)


def _range(part: str, text: str) -> tuple[int, int | None]:
    start, colon, stop = part.partition(":")
    numbers = [start or "0", stop] if colon else [start]
    if not all(number.isdecimal() or (colon and not number) for number in numbers):
        raise InputError("rows", repr(text), _ALLOWED)
    if not colon:
        return int(start), int(start) + 1
    found = int(numbers[0]), int(stop) if stop else None
    if found[1] is not None and found[1] <= found[0]:
        raise InputError("rows", f"{part!r}, which is no row", _ALLOWED)
    return found


class Selected(Source):
    """Some rows of a file, numbered anew; their own numbers name them where nothing else does."""

    jumps = False

    def __init__(self, source: Source, selection: Selection, keep: Sequence[str]) -> None:
        super().__init__(_total(source, selection))
        self._source = source
        self._selection = selection
        self._keep = list(keep)
        self._numbered = source.id is None
        self.id = source.id or _free_name(keep)
        self.name = f"{source.name}, rows {selection.text}"

    def _from(self, first: int) -> Iterator[Table]:
        left = first
        for numbers, table in self._chosen():
            if left >= len(table):
                left -= len(table)
                continue
            frame = table.native.iloc[left:][self._keep].reset_index(drop=True)
            if self._numbered:
                frame[self.id] = numbers[left:]
            yield PandasTable(frame)
            left = 0

    def _chosen(self) -> Iterator[tuple[Counts, Table]]:
        """The rows that are meant, with their numbers in the whole table."""
        for start, stop in self._selection.ranges:
            at = start
            while stop is None or at < stop:
                table = self._source.rows(at, at + BATCH if stop is None else min(at + BATCH, stop))
                if table is None:
                    if stop is not None:
                        raise InputError("rows", repr(self._selection.text), self._within(at))
                    break
                numbers = np.arange(at, at + len(table))
                mask = self._mask(table)
                if mask.any():
                    yield numbers[mask], table.take(np.flatnonzero(mask))
                at += len(table)

    def _mask(self, table: Table) -> BoolVector:
        if not self._selection.column:
            return np.ones(len(table), dtype=bool)
        column = table.column(table.position(self._selection.column, "rows"))
        value = self._selection.value
        return np.array([says(cell, value) for cell in column.tolist()], dtype=bool)

    def _within(self, total: int) -> str:
        return f"0 to {total - 1}, which are the rows of {self._source.name}"

    def fingerprint(self) -> str | None:
        """Of the whole table, and which rows of it."""
        whole = self._source.fingerprint()
        text = f"{whole} {self._selection.text}"
        return None if whole is None else sha256(text.encode()).hexdigest()


def says(cell: object, written: str) -> bool:
    """Is the cell what was written, as a text or as a number?

    >>> says(3.0, "3"), says("north", "north"), says(True, "true"), says(None, "")
    (True, True, True, True)
    """
    value = plain(cell)
    if value is None:
        return written == ""
    if isinstance(value, bool):
        return str(value).lower() == written.lower()
    if isinstance(value, int | float):
        try:
            return float(written) == value
        except ValueError:
            return False
    return value == written


def _total(source: Source, selection: Selection) -> int | None:
    """How many rows it is; an error where the table has fewer than are asked for."""
    if selection.column:
        return None
    total = 0
    for start, stop in selection.ranges:
        end = source.total if stop is None else stop
        if end is None:
            return None
        if source.total is not None and not start < end <= source.total:
            allowed = f"0 to {source.total - 1}, which are the rows of {source.name}"
            raise InputError("rows", repr(selection.text), allowed)
        total += end - start
    return total


def _free_name(taken: Sequence[str]) -> str:
    name = "row"
    while name in taken:
        name += "_"
    return name
