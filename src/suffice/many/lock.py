"""One writer for a folder: a lock that the system takes back when its process ends, however."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

from suffice.errors import InputError
from suffice.many.durable import told

__all__ = ["LOCK", "lock_folder"]

LOCK = "_lock"

_mine: set[Path] = set()
"""Folders that this process writes to: the system locks out other processes only."""


def lock_folder(folder: Path) -> Callable[[], None]:
    """Lock a folder; what comes back gives it free. An error where somebody else writes to it."""
    path, key = folder / LOCK, folder.resolve()
    if key in _mine:
        raise _busy(folder, f"process {os.getpid()}, this one")
    with told(path):
        handle = _opened(path)
    if handle is None:
        holder = path.read_text(encoding="utf-8", errors="replace").strip()
        raise _busy(folder, holder or "another process")
    _mine.add(key)
    os.truncate(handle, 0)
    os.write(handle, f"process {os.getpid()} on {socket.gethostname()}\n".encode())

    def free() -> None:
        _mine.discard(key)
        path.unlink(
            missing_ok=True
        )  # while it is locked, so that nobody waits for a file that goes
        os.close(handle)

    return free


def _opened(path: Path) -> int | None:
    """The lock's handle; None if somebody else has it. One whose process ended is nobody's."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        if not _locked(handle):
            os.close(handle)
            return None
        try:
            if path.stat().st_ino == os.fstat(handle).st_ino:
                return handle
        except FileNotFoundError:
            pass
        os.close(handle)  # its last holder removed it meanwhile


def _locked(handle: int) -> bool:
    try:
        import fcntl
    except ImportError:  # Windows keeps others from opening what is open
        return True
    try:
        # Not inherited by worker processes, which may live a little longer than their parent.
        fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _busy(folder: Path, holder: str) -> InputError:
    hint = "Wait for it to end, or write to another folder."
    return InputError("out", f"{folder}, which {holder} writes to", "a folder of one's own", hint)
