"""The loop of a worker process, which `processes` starts: it is sent a function, then pieces.

A message is a flag, a length and that many bytes, a pickle. The flag of a request says whether it
is a function, that of a reply whether all went well. Each request gets one reply.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import socket
import struct
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from traceback import format_exception
from typing import Any

__all__ = ["HEAD", "not_collecting", "packed", "serve"]

HEAD = struct.Struct("<?Q")
"""The start of a message: its flag, and the length of what follows."""


def serve(channel: str) -> None:
    """Reply to messages until the driver closes the channel, which is the number of a socket."""
    # Only the driver ends a worker: the command finishes pieces in hand when it is interrupted.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    del sys.argv[1:]
    if sys.platform == "win32":
        driver = socket.fromshare(pickle.load(sys.stdin.buffer))
    else:
        driver = socket.socket(fileno=int(channel))
        driver.set_inheritable(False)
    _end_with_driver()
    os.dup2(2, 1)
    sys.stdout = sys.stderr  # which is not buffered: what a killed worker printed is not lost
    requests = driver.makefile("rb")
    function: Any = None
    while len(head := requests.read(HEAD.size)) == HEAD.size:
        is_function, size = HEAD.unpack(head)
        content = requests.read(size)
        if len(content) < size:
            return
        try:
            if is_function:
                function = None  # two models may not fit into memory
                function = pickle.loads(content)
                del content
                gc.freeze()  # the function stays, so the garbage collector need not visit it
                well, reply = True, b""
            else:
                piece = pickle.loads(content)
                started = perf_counter()
                result = function(piece)
                well, reply = True, packed((perf_counter() - started, result))
        except BaseException as error:  # a model may raise SystemExit, too
            well, reply = False, _packed_error(error)
        driver.sendall(HEAD.pack(well, len(reply)))
        driver.sendall(reply)


def _end_with_driver() -> None:
    """End this process when the driver ends, whatever this process is busy with.

    The driver holds the other end of standard input and never writes to it again, so that it
    closes with the driver. The model gets an empty standard input instead.
    """
    lifeline = os.dup(0)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    if sys.platform == "linux":
        import fcntl

        # A thread cannot run while native code holds the interpreter's lock. The kernel can: it
        # sends SIGIO, which ends the process.
        signal.signal(signal.SIGIO, signal.SIG_DFL)
        fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(lifeline, fcntl.F_SETFL, os.O_ASYNC)

    def watch() -> None:
        os.read(lifeline, 1)
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()


def packed(value: object) -> bytes:
    """Pickle a value; by value where it was defined in a notebook or a script."""
    try:
        with not_collecting():
            return pickle.dumps(value, protocol=5)
    except Exception:
        import cloudpickle  # type: ignore[import-untyped,unused-ignore]

        found: bytes = cloudpickle.dumps(value, protocol=5)
        return found


@contextmanager
def not_collecting() -> Iterator[None]:
    """Suspend garbage collection, which visits every new object again and again.

    Explanations have no reference cycles; pickling hundreds of them takes a quarter of the time.
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
        pickle.loads(found)  # many classes of errors can be pickled but not unpickled
    except Exception:
        error = RuntimeError(f"{type(error).__name__}: {error}")
        found = packed(error)
    return packed((found, told))
