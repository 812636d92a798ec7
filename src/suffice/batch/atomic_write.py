"""Atomic writes (a file is complete or absent), and the lock that allows one writer per folder.

POSIX systems are tested. Windows is supported by design but untested: it cannot sync a folder,
needs a writable handle to sync a file, and cannot remove a file that is open.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from suffice.errors import InputError, one_line
from suffice.results import private_opener

PRIVATE_FOLDER = 0o700
"""Permissions of the folders that are made: their owner's alone. Existing ones keep theirs."""

TEMPORARY_SUFFIX = ".suffice-tmp"
"""Suffix of files that are being written: a run that finds one of an earlier run removes it."""


def write_atomically(
    path: Path,
    write: Callable[[Path], object],
    aside: Path,
    check: Callable[[Path], None] = lambda _: None,
) -> None:
    """Call `write` for a temporary file, and rename it once it is synced and `check` passes.

    The temporary file is in the folder `aside`, which must be on the same file system: readers of
    the data set do not look there, and the next run removes files that a crash left in it. It is
    made before `write` opens it, so that its owner alone can read it from the beginning.
    """
    temporary = aside / f"{path.parent.name}-{path.name}.{os.getpid()}{TEMPORARY_SUFFIX}"
    with translate_os_errors(path):
        try:
            os.close(private_opener(str(temporary), os.O_WRONLY | os.O_CREAT))
            write(temporary)
            _sync(temporary, os.O_RDWR)
            check(temporary)
            temporary.replace(path)
            if sys.platform != "win32":
                _sync(path.parent, os.O_RDONLY)  # else a crash could undo the rename
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise


@contextmanager
def translate_os_errors(path: Path) -> Iterator[None]:
    """Turn an OSError about a file of the output folder into an InputError about `out`."""
    try:
        yield
    except OSError as error:
        why = error.strerror or one_line(error)
        hint = "Files written before are complete: make room, then continue with resume=True."
        allowed = "a folder that can be written to, with free space"
        raise InputError("out", f"{path} ({why})", allowed, hint) from error


def _sync(path: Path, flags: int) -> None:
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


# -- the lock: the operating system releases it when its process ends, in whatever way ----


LOCK_FILE = "_lock"

_locked_here: set[Path] = set()
"""Folders locked by this process: the operating system excludes only other processes."""


def lock_folder(folder: Path) -> Callable[[], None]:
    """Lock a folder and return the function that unlocks it; an InputError if it is locked."""
    path, key = folder / LOCK_FILE, folder.resolve()
    if key in _locked_here:
        raise _folder_in_use(folder, f"process {os.getpid()}, this one")
    with translate_os_errors(path):
        handle = _open_lock(path)
        if handle is None:
            holder = path.read_text(encoding="utf-8", errors="replace").strip()
            raise _folder_in_use(folder, holder or "another process")
        try:
            os.ftruncate(handle, 0)
            os.write(handle, f"process {os.getpid()} on {socket.gethostname()}\n".encode())
        except OSError:  # a full disk: closing the file releases the lock
            os.close(handle)
            raise
    _locked_here.add(key)

    def unlock() -> None:
        _locked_here.discard(key)
        if sys.platform == "win32":  # an open file cannot be removed; another may lock it meanwhile
            os.close(handle)
            with suppress(OSError):
                path.unlink()
        else:  # removed while locked, so that no process waits for the lock of a file that is gone
            path.unlink(missing_ok=True)
            os.close(handle)

    return unlock


def _open_lock(path: Path) -> int | None:
    """Return the handle of the locked file; None if another process holds the lock."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        if not _try_lock(handle):
            os.close(handle)
            return None
        try:
            if os.path.samestat(path.stat(), os.fstat(handle)):
                return handle
        except FileNotFoundError:
            pass
        os.close(handle)  # its last holder removed the file after it was opened here


def _try_lock(handle: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            # A locked byte cannot be read: one far behind the name of the holder is locked.
            os.lseek(handle, 1 << 30, os.SEEK_SET)
            try:
                msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
            finally:
                os.lseek(handle, 0, os.SEEK_SET)
        else:
            import fcntl

            # `lockf` locks, unlike those of `flock`, are not inherited by child processes, which
            # may live a little longer than this one.
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _folder_in_use(folder: Path, holder: str) -> InputError:
    hint = "Wait until it ends, or write to another folder."
    got = f"{folder}, which {holder} writes to"
    return InputError("out", got, "a folder that no other process writes to", hint)
