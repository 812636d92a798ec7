"""Files that are there whole or not at all: written aside, synced, checked, then renamed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from suffice.errors import InputError, one_line

__all__ = ["told", "write_for_good"]


def write_for_good(
    path: Path,
    write: Callable[[Path], None],
    aside: Path,
    check: Callable[[Path], None] = lambda _: None,
) -> None:
    """Let `write` make a file, and give it its name when it is safe on the disk and `check` passes.

    It is made in the folder `aside`, which must be of the same file system: nobody who reads the
    data set looks there, and what a crash leaves in it is removed by the next run.
    """
    temporary = aside / f"{path.parent.name}-{path.name}.{os.getpid()}.tmp"
    with told(path):
        try:
            write(temporary)
            _sync(temporary)
            check(temporary)
            temporary.replace(path)
            _sync(path.parent)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise


@contextmanager
def told(path: Path) -> Iterator[None]:
    """What the system says of a file, as an error that can be acted on."""
    try:
        yield
    except OSError as error:
        why = error.strerror or one_line(error)
        hint = "What was written before is whole: make room, then go on with resume=True."
        allowed = "a folder that can be written to, with room left"
        raise InputError("out", f"{path} ({why})", allowed, hint) from error


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
