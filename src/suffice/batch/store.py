"""The output folder of a batch run: Parquet parts, staged chunks, resume after a crash.

    out/explanations/part-….parquet   a row for each explanation
    out/factors/part-….parquet        a row for each factor of either view
    out/errors/part-….parquet         a row for each row that could not be explained
    out/_manifest.json                the question, and hashes of model and data
    out/_SUCCESS                      written last: numbers of rows, and the digest of every file
    out/_work/                        chunks of parts that are not complete yet, digests of files
    out/_log.jsonl                    times and speed; no part of the data set

Chunks may come in any order and size, and rows may come twice: each is stored once. `add` returns
when the chunk is on the disk, so a crash loses only chunks that were not added. A part has a fixed
number of rows; its files are written when all its rows are there, with the same bytes whatever the
chunks were. The digest of a file is recorded before the file gets its name, so a file that changed
later, or that took the place of another, is detected: `load` names it, and a resumed run writes it
again.
"""

from __future__ import annotations

import os
import shutil
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
from msgspec import Meta

from suffice.batch.atomic_write import (
    LOCK_FILE,
    PRIVATE_FOLDER,
    TEMPORARY_SUFFIX,
    lock_folder,
    translate_os_errors,
    write_atomically,
)
from suffice.batch.factor_columns import FACTOR_TYPE
from suffice.batch.hashing import hash_file
from suffice.batch.manifest import MANIFEST_FILE, Manifest, list_differences, read_manifest
from suffice.errors import InputError
from suffice.results import private_opener

SUCCESS_FILE, WORK_FOLDER, LOG_FILE = "_SUCCESS", "_work", "_log.jsonl"

DIGESTS_FILE = "digests.jsonl"
"""File in `WORK_FOLDER` with a line for each file that was written."""

SCHEMA_VERSION = 1
"""Version of the tables, increased when older tables can no longer be read."""

RowRange = tuple[int, int]
"""Rows from the first number up to, but without, the second."""


class FileDigest(msgspec.Struct, frozen=True):
    """The SHA-256 and the size of a file."""

    sha256: str
    size: int

    @classmethod
    def of_file(cls, path: Path) -> FileDigest:
        """Return the digest of a file."""
        return cls(hash_file(path), path.stat().st_size)


Digests = dict[str, FileDigest]
"""Digests by the path of the file in the folder: "factors/part-000000000000.parquet"."""


class RunTotals(msgspec.Struct, frozen=True):
    """Contents of `_SUCCESS`: numbers of rows, explanations and errors of a finished folder."""

    rows: int
    explanations: int
    errors: int
    files: Digests = {}
    """The digests of all parts; empty in folders of version 0.5.0 and older."""


class _DigestLine(msgspec.Struct, frozen=True):
    """A line of the file of digests of an unfinished run."""

    file: str
    digest: FileDigest


def read_totals(folder: Path) -> RunTotals | None:
    """Return the contents of `_SUCCESS`; None if the run is unfinished, OSError if it is broken."""
    path = folder / SUCCESS_FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=RunTotals)
    except FileNotFoundError:
        return None
    except (msgspec.MsgspecError, ValueError) as error:
        raise OSError(f"not written by suffice, or incomplete ({error})") from error


def read_digests(folder: Path) -> Digests:
    """Return the digests of an unfinished run; a line that a crash cut off is skipped."""
    try:
        lines = (folder / WORK_FOLDER / DIGESTS_FILE).read_bytes().splitlines()
    except FileNotFoundError:
        return {}
    found: Digests = {}
    for line in lines:
        try:
            read = msgspec.json.decode(line, type=_DigestLine)
        except (msgspec.MsgspecError, ValueError):
            continue
        found[read.file] = read.digest
    return found


class ExplanationStore:
    """A folder that is being written; `with ExplanationStore.open(…) as store:` releases its lock.

    Two dictionaries describe the folder. `_finished_parts` has the number of rows of each complete
    part by its first row; `_staged` has, for each incomplete part, the files of its chunks by their
    range of rows.
    """

    def __init__(self, folder: Path, manifest: Manifest, release_lock: Callable[[], None]) -> None:
        self.folder = folder
        self.manifest = manifest
        self._release_lock = release_lock
        self._work = folder / WORK_FOLDER
        self._rows = manifest.storing.rows_per_part
        self._digests = read_digests(folder)
        self._finished_parts = self._find_finished_parts()
        self._staged: dict[int, dict[RowRange, Path]] = self._find_staged()

    @classmethod
    def open(cls, folder: Path, manifest: Manifest, *, resume: bool) -> ExplanationStore:
        """Start a folder, or continue one; an InputError if it belongs to another run."""
        manifest = manifest.with_hash()
        with translate_os_errors(folder):
            exists = folder.exists()
            started = (folder / MANIFEST_FILE).exists() if exists else False
        if exists and not folder.is_dir():
            raise InputError("out", f"{folder}, which is a file", "a folder")
        if started and not resume:
            raise InputError(
                "out",
                f"{folder}, which already has explanations",
                "a new folder",
                "resume=True continues an unfinished run, and checks a finished one.",
            )
        if exists and not started and _has_other_files(folder):
            raise InputError("out", f"{folder}, which is not empty", "a new or an empty folder")
        with translate_os_errors(folder):
            folder.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
        # Locked before anything of the folder is removed or written.
        release_lock = lock_folder(folder)
        try:
            if started:
                manifest = _check_same_run(folder, manifest)
            _remove_temporary_files(folder)
            with translate_os_errors(folder):
                for name in (*TABLE_FOLDERS, WORK_FOLDER):
                    (folder / name).mkdir(PRIVATE_FOLDER, exist_ok=True)
                if started:
                    _mark_unfinished(folder)
            if not started:
                text = manifest.to_json()
                write_atomically(
                    folder / MANIFEST_FILE, lambda p: p.write_bytes(text), folder / WORK_FOLDER
                )
            return cls(folder, manifest, release_lock)
        except BaseException:
            release_lock()
            raise

    # -- contents of the folder ----------------------------------------------------------

    def _find_finished_parts(self) -> dict[int, int]:
        """Return the number of rows of each complete part by its first row; remove other files."""
        found: dict[int, int] = {}
        for path in sorted((self.folder / "explanations").glob("*.parquet")):
            try:
                label, _ = read_part_label(path)
            except OSError:
                continue
            expected = path == part_path(self.folder, "explanations", label.first)
            run = self.manifest.check
            if expected and is_part_intact(self.folder, run, label, self._digests):
                found[label.first] = label.rows
                for name in TABLE_FOLDERS:
                    part = part_path(self.folder, name, label.first)
                    if part.relative_to(self.folder).as_posix() not in self._digests:
                        self._record(part, part)
        known = {part_path(self.folder, name, first) for name in TABLE_FOLDERS for first in found}
        with translate_os_errors(self.folder):
            for name in TABLE_FOLDERS:
                for path in (self.folder / name).iterdir():
                    if path not in known:
                        path.unlink()
        return found

    def _find_staged(self) -> dict[int, dict[RowRange, Path]]:
        """Return the staged chunks by the first row of their part; remove unusable files."""
        found: dict[int, dict[RowRange, Path]] = {}
        for path in sorted(self._work.glob("rows-*.arrow")):
            first, stop = map(int, path.stem.split("-")[1:])
            part = self._part_of(first)
            if part in self._finished_parts:
                path.unlink()
                continue
            # Arrow files have no checksums: only the digest shows that a cell changed.
            digest = self._digests.get(f"{WORK_FOLDER}/{path.name}")
            changed = bool(self._digests) and digest != FileDigest.of_file(path)
            try:
                self._read_staged(path)
            except (OSError, pa.ArrowException):
                changed = True
            if changed:
                path.unlink()
            else:
                found.setdefault(part, {})[first, stop] = path
        return found

    def _part_of(self, row: int) -> int:
        return row - row % self._rows

    def next_missing(self, at: int, total: int | None = None) -> RowRange | None:
        """Return the first missing rows from number `at` on; None if no row is missing.

        A table of unknown length (`total` None) always has missing rows: at its end.
        """
        while total is None or at < total:
            part = self._part_of(at)
            stop = part + self._rows if total is None else min(part + self._rows, total)
            at = max(at, part + self._finished_parts.get(part, 0))
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

    # -- writing -------------------------------------------------------------------------

    def add(self, chunk: pa.Table) -> None:
        """Store a chunk: consecutive rows, as `ChunkToArrow` returns them."""
        if not chunk.num_rows:
            return
        chunk = chunk.replace_schema_metadata(None)  # timings, which must not reach the files
        first, at = chunk["row"][0].as_py(), 0
        while at < chunk.num_rows:
            part = self._part_of(first + at)
            # A chunk may span two parts: parts begin at fixed rows, chunks where workers ended.
            stop = min(chunk.num_rows, part + self._rows - first)
            if part not in self._finished_parts:
                self._add_to_part(part, first + at, chunk.slice(at, stop - at))
            at = stop

    def _add_to_part(self, part: int, first: int, rows: pa.Table) -> None:
        if rows.num_rows == self._rows:
            self._write_part(part, rows)
            return
        span = (first, first + rows.num_rows)
        path = self._work / f"rows-{span[0]:012d}-{span[1]:012d}.arrow"
        write_atomically(
            path, lambda p: _write_chunk(p, rows), self._work, lambda p: self._record(path, p)
        )
        staged = self._staged.setdefault(part, {})
        staged[span] = path
        if _covers_range(staged, part, part + self._rows):
            self._assemble(part, part + self._rows)

    def _assemble(self, part: int, stop: int) -> None:
        """Write a part from its staged chunks, which cover its rows up to `stop`."""
        at, chunks = part, []
        for first, last in sorted(self._staged[part]):
            if last > at:  # chunks may overlap: rows can come twice
                rows = self._read_staged(self._staged[part][first, last])
                chunks.append(rows.slice(at - first))
                at = last
        self._write_part(part, pa.concat_tables(chunks).slice(0, stop - part))

    def _write_part(self, part: int, rows: pa.Table) -> None:
        label = PartLabel(SCHEMA_VERSION, self.manifest.check, part, rows.num_rows)
        write_part(self.folder, self._work, rows, label, self._record)
        self._finished_parts[part] = rows.num_rows
        for path in self._staged.pop(part, {}).values():
            path.unlink(missing_ok=True)

    def _record(self, path: Path, written: Path) -> None:
        """Record the digest of a file that was written elsewhere, before it gets its name.

        In this order a file of the folder always has a digest; a crash in between leaves a digest
        without its file, which a resumed run replaces.
        """
        name, digest = path.relative_to(self.folder).as_posix(), FileDigest.of_file(written)
        self._digests[name] = digest
        path = self._work / DIGESTS_FILE
        with translate_os_errors(path), open(path, "ab", opener=private_opener) as file:
            file.write(msgspec.json.encode(_DigestLine(name, digest)) + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def _read_staged(self, path: Path) -> pa.Table:
        with ipc.open_file(path) as file:
            return file.read_all()

    def finish(self, total: int) -> None:
        """Write the last part and `_SUCCESS`; a ValueError if rows are missing."""
        gap = self.next_missing(0, total)
        if gap is not None:
            raise ValueError(f"rows {gap[0]:,} to {gap[1] - 1:,} are missing")
        for part in sorted(self._staged):
            self._assemble(part, min(part + self._rows, total))
        explained, failed = (
            sum(
                read_part_label(part_path(self.folder, name, first))[1].num_rows
                for first in self._finished_parts
            )
            for name in ("explanations", "errors")
        )
        paths = [part_path(Path(), name, p) for name in TABLE_FOLDERS for p in self._finished_parts]
        digests = {name: self._digests[name] for name in sorted(path.as_posix() for path in paths)}
        text = msgspec.json.encode(RunTotals(total, explained, failed, digests)) + b"\n"
        write_atomically(self.folder / SUCCESS_FILE, lambda p: p.write_bytes(text), self.folder)
        shutil.rmtree(self._work)  # last: until `_SUCCESS` is written, digests are only there

    def log(self, event: dict[str, Any]) -> None:
        """Append an event to the log, which is no part of the data set."""
        path = self.folder / LOG_FILE
        with translate_os_errors(path), open(path, "ab", opener=private_opener) as file:
            file.write(msgspec.json.encode(event) + b"\n")

    def close(self) -> None:
        """Release the lock, so that another run can write to the folder."""
        self._release_lock()

    def __enter__(self) -> ExplanationStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _has_other_files(folder: Path) -> bool:
    """Return whether a folder has files besides those of a run that ended before its manifest."""
    return any(
        path.is_file() and path.name != LOCK_FILE and path.suffix != TEMPORARY_SUFFIX
        for path in folder.rglob("*")
    )


def _check_same_run(folder: Path, new: Manifest) -> Manifest:
    """Return the manifest of a folder; an InputError if it is of another run than `new`."""
    old = read_manifest(folder)
    changed = list_differences(old, new)
    if changed:
        raise InputError(
            "resume",
            f"a folder of another run ({'; '.join(changed)})",
            "the model, data and question of the run that started it",
            f"Write to another folder, or remove {folder}.",
        )
    return old


def _mark_unfinished(folder: Path) -> None:
    """Remove `_SUCCESS`: a folder counts as unfinished until every part was checked again.

    Its digests move to the work folder first.
    """
    with suppress(OSError):  # a broken file has no digests: pages are checked instead
        totals = read_totals(folder)
        if totals is None:
            return
        lines = [msgspec.json.encode(_DigestLine(*item)) for item in totals.files.items()]
        text = b"".join(line + b"\n" for line in lines)
        path = folder / WORK_FOLDER / DIGESTS_FILE
        write_atomically(path, lambda p: p.write_bytes(text), path.parent)
    (folder / SUCCESS_FILE).unlink(missing_ok=True)


def _remove_temporary_files(folder: Path) -> None:
    """Remove incomplete files that a crash left."""
    with translate_os_errors(folder):
        for path in (folder, folder / WORK_FOLDER):
            for temporary in path.glob(f"*{TEMPORARY_SUFFIX}"):
                temporary.unlink()


def _covers_range(spans: Iterable[RowRange], first: int, stop: int) -> bool:
    """Return whether the spans cover all rows from `first` to `stop`."""
    at = first
    for low, high in sorted(spans):
        if low > at:
            return False
        at = max(at, high)
    return at >= stop


def _write_chunk(path: Path, rows: pa.Table) -> None:
    with path.open("wb") as file, ipc.new_file(file, rows.schema) as writer:
        writer.write_table(rows)


# -- parts: the explanations, factors and errors of a block of rows, a Parquet file each --


TABLE_FOLDERS = ("factors", "errors", "explanations")
"""Folders of the three tables, in the order in which the files of a part are written.

A part counts as complete by its file of explanations, which is therefore the last."""

ROWS_PER_ROW_GROUP = 512
"""Rows of a Parquet row group, which are read together for a single explanation."""

_LABEL_KEY = b"suffice"
_OTHER_TABLES_COLUMNS = ("factors", "error_kind", "error_message")


class PartLabel(msgspec.Struct, frozen=True):
    """The label in the footer of every file of a part."""

    schema: int
    run: str
    """`Manifest.check` of the run."""
    first: Annotated[int, Meta(ge=0)]
    rows: Annotated[int, Meta(ge=1)]
    """Rows of input, with those that ended in an error."""


def part_path(out: Path, folder: str, first: int) -> Path:
    """Return the path of a file of the part that starts with a row.

    >>> part_path(Path("out"), "factors", 8192).as_posix()
    'out/factors/part-000000008192.parquet'
    """
    return out / folder / f"part-{first:012d}.parquet"


def write_part(
    out: Path,
    work: Path,
    rows: pa.Table,
    label: PartLabel,
    record: Callable[[Path, Path], None],
) -> None:
    """Write the three files of a part, each first to the folder `work`.

    `record` is called with the path of a file and the path that it was written to.
    """
    tables = _split_into_tables(rows.combine_chunks())
    for folder in TABLE_FOLDERS:
        table = tables[folder].replace_schema_metadata({_LABEL_KEY: msgspec.json.encode(label)})
        path = part_path(out, folder, label.first)
        check = _part_checker(path, table.num_rows, label, record)
        write_atomically(path, _parquet_writer(table), work, check)


def _parquet_writer(table: pa.Table) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        with path.open("wb") as file:
            # By default the Arrow schema is stored, too, so that ids keep their Arrow type.
            pq.write_table(
                table,
                file,
                row_group_size=ROWS_PER_ROW_GROUP,
                compression="zstd",
                version="2.6",
                write_page_checksum=True,
            )

    return write


def _part_checker(
    path: Path, rows: int, label: PartLabel, record: Callable[[Path, Path], None]
) -> Callable[[Path], None]:
    def check(written: Path) -> None:
        found, footer = read_part_label(written)
        if (found, footer.num_rows) != (label, rows):
            raise OSError(f"{footer.num_rows} of {rows} rows can be read back")
        record(path, written)

    return check


def read_part_label(path: Path) -> tuple[PartLabel, Any]:
    """Return the label and the footer of a Parquet file of a part; OSError for any other file."""
    try:
        with path.open("rb") as file:
            footer = pq.read_metadata(file)
        label = msgspec.json.decode((footer.metadata or {})[_LABEL_KEY], type=PartLabel)
    except (pa.ArrowException, KeyError, ValueError, msgspec.MsgspecError) as error:
        # ValueError: a text of the footer that is not UTF-8.
        raise OSError(f"not a part written by suffice, or incomplete ({error})") from error
    return label, footer


def is_part_intact(out: Path, run: str, label: PartLabel, digests: Digests) -> bool:
    """Return whether the three files of a part exist, belong to the run, and are undamaged.

    A run of version 0.5.0 has no digests. Then the checksums of the pages are compared, which do
    not cover the footers.
    """
    if (label.schema, label.run) != (SCHEMA_VERSION, run):
        return False
    for folder in TABLE_FOLDERS:
        path = part_path(out, folder, label.first)
        try:
            digest = digests.get(path.relative_to(out).as_posix())
            if digests and digest != FileDigest.of_file(path):
                return False
            if read_part_label(path)[0] != label:
                return False
            if not digests:
                with path.open("rb") as file:
                    pages = pq.ParquetFile(file, page_checksum_verification=True).iter_batches()
                    deque(pages, maxlen=0)
        except (OSError, pa.ArrowException, ValueError):
            return False
    return True


def _split_into_tables(rows: pa.Table) -> dict[str, pa.Table]:
    failed = pc.is_valid(rows["error_kind"])
    explained = rows.filter(pc.invert(failed))
    errors = rows.filter(failed).select(["id", "row", "error_kind", "error_message"])
    return {
        "explanations": explained.drop_columns(list(_OTHER_TABLES_COLUMNS)),
        "factors": _factors_table(explained),
        "errors": errors.rename_columns(["id", "row", "kind", "message"]),
    }


def _factors_table(explained: pa.Table) -> pa.Table:
    lists = _combine_chunks(explained["factors"])
    parents = np.asarray(pc.list_parent_indices(lists))
    columns = _combine_chunks(pc.list_flatten(lists)).flatten()
    which: list[Any] = [explained[name].take(pa.array(parents)) for name in ("id", "row")]
    names = ["id", "row", *(field.name for field in FACTOR_TYPE)]
    return pa.table([*which, *columns], names=names)


def _combine_chunks(column: Any) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
