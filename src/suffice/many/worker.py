"""The other end of `processes`: a process that is given a function once, and piece after piece.

Messages are a letter, a length and so many bytes. What comes in over stdin is read by a thread of
its own: where it ends, so does this process, whatever it is busy with: none outlives its driver.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import struct
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from time import perf_counter
from traceback import format_exception
from typing import Any, BinaryIO

__all__ = [
    "BROKEN",
    "DONE",
    "FUNCTION",
    "PIECE",
    "RAISED",
    "READY",
    "not_collecting",
    "receive",
    "send",
    "serve",
]

FUNCTION, PIECE = b"F", b"P"
READY, BROKEN, DONE, RAISED = b"R", b"B", b"D", b"E"

_HEAD = struct.Struct("<cQ")
SECONDS = struct.Struct("<d")


def send(stream: BinaryIO, kind: bytes, *parts: bytes) -> None:
    """Write one message."""
    stream.write(_HEAD.pack(kind, sum(map(len, parts))))
    for part in parts:
        stream.write(part)
    stream.flush()


def receive(stream: BinaryIO) -> tuple[bytes, bytes]:
    """Read one message; an EOFError where the other end is gone."""
    kind, size = _HEAD.unpack(_exactly(stream, _HEAD.size))
    return kind, _exactly(stream, size)


def _exactly(stream: BinaryIO, size: int) -> bytes:
    found = stream.read(size)
    if len(found) < size:
        raise EOFError
    return found


def serve() -> None:
    """Answer messages until there are no more."""
    # To end is the driver's to say: it finishes what is in hand when it is asked to stop.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    given: SimpleQueue[tuple[bytes, bytes]] = SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin.buffer, given), daemon=True).start()
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a model prints must not come between the replies
    function: Any = None
    while True:
        kind, content = given.get()
        try:
            if kind == FUNCTION:
                function = None  # not two models at a time
                function = pickle.loads(content)
                del content
                gc.freeze()  # it stays as long as this process, so nobody need look through it
                send(replies, READY)
                continue
            piece = pickle.loads(content)
            started = perf_counter()
            result = function(piece)
            seconds = perf_counter() - started
            reply = DONE, SECONDS.pack(seconds), packed(result)
        except BaseException as error:  # a model may raise SystemExit, too
            reply = (BROKEN if kind == FUNCTION else RAISED), b"", _packed_error(error)
        send(replies, *reply)


def _listen(stream: BinaryIO, given: SimpleQueue[tuple[bytes, bytes]]) -> None:
    try:
        while True:
            given.put(receive(stream))
    except (EOFError, OSError):
        os._exit(0)


def packed(value: object) -> bytes:
    """A value as bytes; what was defined in a notebook or a script goes with its definition."""
    try:
        with not_collecting():
            return pickle.dumps(value, protocol=5)
    except Exception:
        import cloudpickle  # type: ignore[import-untyped,unused-ignore]

        found: bytes = cloudpickle.dumps(value, protocol=5)
        return found


@contextmanager
def not_collecting() -> Iterator[None]:
    """Without garbage collection, which looks through all that is made again and again.

    Answers have no cycles; packing and unpacking hundreds of them takes a quarter of the time so.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def _packed_error(error: BaseException) -> bytes:
    told = "".join(format_exception(error))
    try:
        found = packed(error)
        pickle.loads(found)  # many classes of errors can be stored but not made again
    except Exception:
        error = RuntimeError(f"{type(error).__name__}: {error}")
        found = packed(error)
    return packed((found, told))
