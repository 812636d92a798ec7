"""The folder that explanations of many rows are kept in, each row exactly once.

    out/explanations/part-….parquet   a row for each explanation
    out/factors/part-….parquet        a row for each factor of either view
    out/errors/part-….parquet         a row for each row that could not be explained
    out/_manifest.json                what was asked, of what
    out/_SUCCESS                      comes last: all rows are there
    out/_work/                        chunks of parts that are not full yet
    out/_log.jsonl                    when, and how fast: no part of the data set

Chunks come in any order and size, and some of them twice. A chunk is on the disk when `put` comes
back, so that a crash loses only what was not put. When all rows of a part are there its files are
made of them: the same bytes, whatever the chunks were.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.ipc as ipc

from suffice.errors import InputError
from suffice.many.arrow import SCHEMA_VERSION
from suffice.many.durable import told, write_for_good
from suffice.many.lock import LOCK, lock_folder
from suffice.many.manifest import MANIFEST, Manifest, differences, read_manifest
from suffice.many.parts import FOLDERS, PartLabel, is_whole, part_path, read_label, write_part

__all__ = ["SUCCESS", "WORK", "Span", "Store", "Success"]

SUCCESS, WORK, LOG = "_SUCCESS", "_work", "_log.jsonl"

Span = tuple[int, int]
"""Rows from the first number up to, and without, the second."""


class Success(msgspec.Struct, frozen=True):
    """What a finished folder holds."""

    rows: int
    explanations: int
    errors: int


class Store:
    """A folder that is being written. `with Store.open(…) as store:` gives it free again."""

    def __init__(self, out: Path, manifest: Manifest, free: Callable[[], None]) -> None:
        self.out = out
        self.manifest = manifest
        self._free = free
        self._work = out / WORK
        self._rows = manifest.storing.rows_per_part
        self._whole = self._find_whole()
        self._staged: dict[int, dict[Span, Path]] = self._find_staged()

    @classmethod
    def open(cls, out: Path, manifest: Manifest, *, resume: bool) -> Store:
        """Begin a folder, or go on with one; an error where it is not the same run."""
        manifest = manifest.sealed()
        with told(out):
            there = out.exists()
            begun = (out / MANIFEST).exists() if there else False
        if there and not out.is_dir():
            raise InputError("out", f"{out}, which is a file", "a folder")
        if begun and not resume:
            raise InputError(
                "out",
                f"{out}, where explanations are already",
                "a new folder",
                "To go on with an unfinished run, or to see that it is whole: resume=True.",
            )
        if there and not begun and any(p.is_file() and p.name != LOCK for p in out.rglob("*")):
            raise InputError("out", f"{out}, which is not empty", "a new or an empty folder")
        with told(out):
            out.mkdir(parents=True, exist_ok=True)
        free = lock_folder(out)
        try:
            if begun:
                manifest = _same_run(out, manifest)
                # Not finished until every part was looked at again.
                (out / SUCCESS).unlink(missing_ok=True)
            _clean(out)
            with told(out):
                for folder in (*FOLDERS, WORK):
                    (out / folder).mkdir(exist_ok=True)
            if not begun:
                text = manifest.to_json()
                write_for_good(out / MANIFEST, lambda p: _write(p, text), out / WORK)
            return cls(out, manifest, free)
        except BaseException:
            free()
            raise

    # -- what is there ------------------------------------------------------------------

    def _find_whole(self) -> dict[int, int]:
        """By first row: the rows of the parts that are there; others' files are removed."""
        found: dict[int, int] = {}
        for path in sorted((self.out / "explanations").glob("*.parquet")):
            try:
                label, _ = read_label(path)
            except OSError:
                label = PartLabel(SCHEMA_VERSION, "", -1, 0)
            mine = label.first >= 0 and path == part_path(self.out, "explanations", label.first)
            if mine and is_whole(self.out, self.manifest.check, label.first):
                found[label.first] = label.rows
        known = {part_path(self.out, folder, first) for folder in FOLDERS for first in found}
        with told(self.out):
            for folder in FOLDERS:
                for path in (self.out / folder).iterdir():
                    if path not in known:
                        path.unlink()
        return found

    def _find_staged(self) -> dict[int, dict[Span, Path]]:
        """By first row of the part: the chunks that are there."""
        found: dict[int, dict[Span, Path]] = {}
        for path in sorted(self._work.glob("rows-*.arrow")):
            first, stop = map(int, path.stem.split("-")[1:])
            part = self._part_of(first)
            if part in self._whole:
                path.unlink()
                continue
            try:
                self._read_staged(path)
            except (OSError, pa.ArrowException):
                path.unlink()
            else:
                found.setdefault(part, {})[first, stop] = path
        return found

    def _part_of(self, row: int) -> int:
        return row - row % self._rows

    def gap(self, at: int, total: int | None = None) -> Span | None:
        """The first rows from number `at` on that are not there yet; None where all are.

        Of a table whose length is not known (`total` None) there is always a gap: at its end.
        """
        while total is None or at < total:
            part = self._part_of(at)
            stop = part + self._rows if total is None else min(part + self._rows, total)
            whole = self._whole.get(part, 0)
            at = max(at, part + whole)
            ends = stop
            for first, last in sorted(self._staged.get(part, {})):
                if first <= at < last:
                    at = last
                elif first > at:
                    ends = first
                    break
            if at < ends:
                return at, ends
        return None

    # -- what comes ---------------------------------------------------------------------

    def put(self, chunk: pa.Table) -> None:
        """Keep a chunk: consecutive rows, as `ChunkToArrow` gives them."""
        if not chunk.num_rows:
            return
        chunk = chunk.replace_schema_metadata(None)  # what it took is no part of the rows
        first, at = chunk["row"][0].as_py(), 0
        while at < chunk.num_rows:
            part = self._part_of(first + at)
            upto = min(chunk.num_rows, part + self._rows - first)
            if part not in self._whole:
                self._put(part, first + at, chunk.slice(at, upto - at))
            at = upto

    def _put(self, part: int, first: int, rows: pa.Table) -> None:
        if rows.num_rows == self._rows:
            self._write_part(part, rows)
            return
        span = (first, first + rows.num_rows)
        path = self._work / f"rows-{span[0]:012d}-{span[1]:012d}.arrow"
        write_for_good(path, lambda p: _write_chunk(p, rows), self._work)
        staged = self._staged.setdefault(part, {})
        staged[span] = path
        if _covers(staged, part, part + self._rows):
            self._assemble(part, part + self._rows)

    def _assemble(self, part: int, stop: int) -> None:
        at, pieces = part, []
        for first, last in sorted(self._staged[part]):
            if last > at:  # some rows may have come twice
                rows = self._read_staged(self._staged[part][first, last])
                pieces.append(rows.slice(at - first))
                at = last
        self._write_part(part, pa.concat_tables(pieces).slice(0, stop - part))

    def _write_part(self, part: int, rows: pa.Table) -> None:
        label = PartLabel(SCHEMA_VERSION, self.manifest.check, part, rows.num_rows)
        write_part(self.out, self._work, rows, label)
        self._whole[part] = rows.num_rows
        for path in self._staged.pop(part, {}).values():
            path.unlink(missing_ok=True)

    def _read_staged(self, path: Path) -> pa.Table:
        with ipc.open_file(path) as file:
            return file.read_all()

    def finish(self, total: int) -> Success:
        """All rows are there: make the last part, and say so; an error if some are missing."""
        gap = self.gap(0, total)
        if gap is not None:
            raise ValueError(f"rows {gap[0]:,} to {gap[1] - 1:,} are missing")
        for part in sorted(self._staged):
            self._assemble(part, min(part + self._rows, total))
        explained, failed = (
            sum(read_label(part_path(self.out, folder, first))[1] for first in self._whole)
            for folder in ("explanations", "errors")
        )
        success = Success(total, explained, failed)
        shutil.rmtree(self._work)
        text = msgspec.json.encode(success) + b"\n"
        write_for_good(self.out / SUCCESS, lambda p: _write(p, text), self.out)
        return success

    def log(self, event: dict[str, Any]) -> None:
        """Say something of the run that is no part of the data set."""
        with told(self.out / LOG), (self.out / LOG).open("ab") as file:
            file.write(msgspec.json.encode(event) + b"\n")

    def close(self) -> None:
        """Let others write."""
        self._free()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _same_run(out: Path, new: Manifest) -> Manifest:
    """The manifest that a folder was begun with, if it is of this very run."""
    old = read_manifest(out)
    changed = differences(old, new)
    if changed:
        raise InputError(
            "resume",
            f"a folder of another run ({'; '.join(changed)})",
            "the model, data and question that it was begun with",
            f"Write to another folder, or remove {out}.",
        )
    return old


def _clean(out: Path) -> None:
    """Remove what a crash left half written."""
    with told(out):
        for path in (*out.glob("*.tmp"), *(out / WORK).glob("*.tmp")):
            path.unlink()


def _covers(spans: Iterable[Span], first: int, stop: int) -> bool:
    """Do they leave no gap?"""
    at = first
    for low, high in sorted(spans):
        if low > at:
            return False
        at = max(at, high)
    return at >= stop


def _write(path: Path, text: bytes) -> None:
    path.write_bytes(text)


def _write_chunk(path: Path, rows: pa.Table) -> None:
    with path.open("wb") as file, ipc.new_file(file, rows.schema) as writer:
        writer.write_table(rows)
