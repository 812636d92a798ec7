"""Pool of worker processes on this machine, which replaces those that die, crash or take too long.

Each process has a socket. The loop waits for any socket to become readable or writable, and never
blocks in a read or a write, so Ctrl-C ends the loop at any moment. A process that ends is replaced,
and its piece is lost; `workers.run_pieces` submits the piece again.

Processes are spawned, not forked: threads of numba or of a BLAS do not survive a fork. The user's
script is not imported by them, so it needs no `__main__` guard; objects defined in the script are
pickled by value. Each process may use its share of the cores.
"""

from __future__ import annotations

import gc
import os
import pickle
import selectors
import signal
import socket
import struct
import subprocess
import sys
import threading
import weakref
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.spawn import get_executable
from time import monotonic, perf_counter
from traceback import format_exception
from typing import IO, Any, Generic, Self, TypeVar, cast

from suffice.batch.workers import (
    CompletedPiece,
    LostPiece,
    Piece,
    PieceFunction,
    WorkerError,
    format_error,
    pickle_function,
)

R = TypeVar("R")

_BOOT_CODE = (
    "import sys; sys.path[:] = sys.argv[2:]; "
    "from suffice.batch.process_pool import run_worker; run_worker(sys.argv[1])"
)

_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "POLARS_MAX_THREADS",
    "RAYON_NUM_THREADS",
    "LOKY_MAX_CPU_COUNT",  # joblib, and so a forest's own n_jobs=-1
)
"""Libraries read these variables at import, so they are set before a process starts."""

_MAX_FAILED_STARTS = 5
"""The pool gives up when this many processes in a row end before they are ready."""

_WARM_UP_SECONDS = 5.0
"""Extra seconds for the first piece of a process, which compiles kernels and fills caches."""

_POLL_SECONDS = 0.2
"""Seconds after which all processes are checked if no socket becomes ready.

A child of a worker may inherit the socket and hold it open, so the socket need not close when the
worker ends."""

_READ_BYTES = 1 << 20
"""Bytes read from a socket at a time."""


class ProcessPool(Generic[R]):
    """A pool of processes that apply one function to pieces of rows.

    A process is started when there is a piece for it.

    Parameters
    ----------
    function
        From a piece to its result; it is sent to each process once.
    workers
        The largest number of processes.
    row_time_limit
        Seconds that a row may take. The limit applies to a whole piece, too: if the piece takes
        longer, its process is killed, and the slow row is found by splitting the piece.
    argument
        The name of the user's argument for the number of workers, for error messages.

    >>> with ProcessPool(sum_of, workers=2) as pool:  # doctest: +SKIP
    ...     pool.submit(Piece(0, [1, 2]))
    """

    def __init__(
        self,
        function: PieceFunction[R],
        *,
        workers: int,
        row_time_limit: float | None = None,
        argument: str = "workers",
    ) -> None:
        self.n_workers, self.driver = workers, os.getpid()
        self._argument, self._limit = argument, row_time_limit
        self._function = self._pickle(function)
        self._environment = _worker_environment(workers)
        self._pieces: deque[tuple[Piece, bytes]] = deque()
        self._workers: list[_Worker] = []
        self._failed_starts = 0
        self._error: WorkerError | None = None
        self._end = weakref.finalize(self, _end_all, self._workers, self.driver)

    def _pickle(self, function: PieceFunction[R]) -> bytes:
        # workers=1 is one worker process, to which the model must be sent; n_jobs=1 is this one.
        without = "Use n_jobs=1" if self._argument == "n_jobs" else f"Leave {self._argument} out"
        hint = f"{without}, or wrap the model in an object that can be pickled."
        return pickle_function(function, self._argument, hint)

    def set_function(self, function: PieceFunction[R]) -> None:
        """Use another function from now on; it is sent only if its pickle differs."""
        if (pickled := self._pickle(function)) != self._function:
            self._function = pickled

    def submit(self, piece: Piece) -> None:
        """Queue a piece for the next free process."""
        self._pieces.append((piece, pickle_value(piece)))
        self._hand_out()

    def wait(self, seconds: float) -> Sequence[CompletedPiece[R] | LostPiece]:
        """Return the pieces that came back; an empty list if none does within `seconds`."""
        deadline = monotonic() + seconds
        while True:
            _select(self._workers, min(_POLL_SECONDS, deadline - monotonic()))
            replies = [r for w in [*self._workers] if (r := self._check_worker(w)) is not None]
            self._hand_out()  # before results are unpickled, so that no process waits for that
            if replies:
                return [_read_reply(reply) for reply in replies]
            if self._error is not None:
                raise self._error
            if monotonic() >= deadline:
                return []

    def _hand_out(self) -> None:
        """Send pieces to free processes, and start as many processes as are needed."""
        if self._error is not None or not self._pieces:
            return
        for worker in self._workers:
            if worker.busy or worker.process.poll() is not None:
                continue
            if worker.function is not self._function:
                worker.send_function(self._function)
            elif self._pieces:
                worker.send_piece(*self._pieces.popleft())
        running = sum(worker.piece is not None for worker in self._workers)
        wanted = min(self.n_workers, running + len(self._pieces))
        while len(self._workers) < wanted and self._error is None:
            try:
                # An interrupt between start and append would leave a process that nothing ends.
                with _signals_deferred():
                    self._workers.append(_Worker(self._environment))
            except OSError as error:
                self._start_failed(format_error(error))
            else:
                self._workers[-1].send_function(self._function)

    def _check_worker(self, worker: _Worker) -> _Reply | LostPiece | None:
        """Return a worker's reply to its piece, or its lost piece; None if there is neither."""
        piece = worker.piece
        try:
            reply = worker.receive()
        except EOFError:
            reason = worker.end(patience=1.0)  # its socket may close before it ends
            self._workers.remove(worker)
            if piece is not None:
                return LostPiece(piece, reason, retryable=True)
            if worker.busy:
                self._start_failed(reason)
            return None
        if reply is None:
            if piece is None or self._limit is None:
                return None
            limit = self._limit + (_WARM_UP_SECONDS if worker.fresh else 0)
            if monotonic() - worker.since <= limit:
                return None
            worker.end()
            self._workers.remove(worker)
            return LostPiece(piece, f"took longer than {self._limit:g} s")
        succeeded, content = reply
        if piece is not None:
            return piece, succeeded, content
        if succeeded:  # in unpickling the function
            self._failed_starts = 0
        else:
            error = _read_error(content)
            self._error = WorkerError(
                f"A worker process cannot unpickle the model ({format_error(error)})."
            )
            self._error.__cause__ = error
        return None

    def _start_failed(self, reason: str) -> None:
        self._failed_starts += 1
        if self._failed_starts >= _MAX_FAILED_STARTS:
            self._error = WorkerError(
                f"No worker process can be started: {reason}, {_MAX_FAILED_STARTS} times in a row."
            )

    @property
    def pids(self) -> list[int]:
        """Ids of the running processes."""
        return [w.process.pid for w in self._workers if w.process.poll() is None]

    def close(self) -> None:
        """Kill all processes, and wait until they are gone."""
        self._pieces.clear()
        _end_all(self._workers, self.driver)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Worker:
    """Process with its socket, its piece, and the bytes still to be sent to it."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.function: bytes | None = None
        self.piece: Piece | None = None
        self.busy = False
        """Whether a reply is expected."""
        self.fresh = True
        """Whether this process has completed no piece yet."""
        self.since = 0.0
        """Time of the last byte sent to the process, or received from it."""
        self.unsent: deque[memoryview] = deque()
        self._received = bytearray()
        self.channel, theirs = socket.socketpair()
        with theirs:
            try:
                self.process = _start(theirs, environment)
            except BaseException:
                self.channel.close()
                raise
        self.channel.setblocking(False)

    def send_function(self, function: bytes) -> None:
        """Send the pickled function to apply to pieces."""
        self.function = function
        self._send(function, is_function=True)

    def send_piece(self, piece: Piece, content: bytes) -> None:
        """Send a piece, with its pickle, to apply the function to."""
        self.piece = piece
        self._send(content, is_function=False)

    def _send(self, content: bytes, *, is_function: bool) -> None:
        self.busy = True
        head = _HEAD.pack(is_function, len(content))
        self.unsent += [memoryview(head), memoryview(content)]
        self._flush()

    def _flush(self) -> None:
        # If the process is gone, `receive` finds out.
        with suppress(BlockingIOError, ConnectionError):
            while self.unsent:
                sent = self.channel.send(self.unsent[0])
                self.since = monotonic()
                self.unsent[0] = self.unsent[0][sent:]
                if not self.unsent[0]:
                    self.unsent.popleft()

    def receive(self) -> tuple[bool, memoryview] | None:
        """Return the reply once it is complete, else None; raise EOFError if the process ended."""
        self._flush()
        # Polled before the socket is read: bytes sent before the end may be a complete reply.
        ended = self.process.poll() is not None
        try:
            while chunk := self.channel.recv(_READ_BYTES):
                self._received += chunk
            ended = True
        except BlockingIOError:
            if self._received:
                self.since = monotonic()  # the row is done; reading late must not make it overdue
        except ConnectionError:
            ended = True
        if len(self._received) >= _HEAD.size:
            succeeded, size = _HEAD.unpack_from(self._received)
            if len(self._received) == _HEAD.size + size:
                content, self._received = memoryview(self._received)[_HEAD.size :], bytearray()
                self.fresh, self.busy, self.piece = self.piece is None, False, None
                return succeeded, content
        if ended:
            raise EOFError
        return None

    def end(self, patience: float = 0.0) -> str:
        """Kill the process unless it ends within `patience` seconds; return how it ended."""
        try:
            code = self.process.wait(patience)
        except subprocess.TimeoutExpired:
            self.process.kill()
            # A kill takes milliseconds; the limit matters because interrupts may be deferred here.
            code = self.process.wait(60)
        self.channel.close()
        cast(IO[bytes], self.process.stdin).close()
        return _describe_exit(code)


def _start(channel: socket.socket, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start a worker process with one end of the socket, and a pipe that closes with the driver."""
    command = [get_executable(), "-c", _BOOT_CODE, str(channel.fileno()), *map(str, sys.path)]
    # In a process group of its own, so that Ctrl-C in a terminal reaches the driver only.
    if sys.platform == "win32":
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            env=environment,
            creationflags=subprocess.CREATE_NEW_PROCESS_GROUP,
        )
        with suppress(OSError):  # if the process is gone, `receive` finds out
            process.stdin.write(pickle.dumps(channel.share(process.pid)))
            process.stdin.flush()
        return process
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        env=environment,
        pass_fds=[channel.fileno()],
        process_group=0,
    )


def _end_all(workers: list[_Worker], driver: int) -> None:
    """Kill all worker processes, unless this process is a fork of the driver."""
    if os.getpid() != driver:
        return
    with _signals_deferred():
        for worker in workers:
            worker.process.kill()
        while workers:
            workers.pop().end()


@contextmanager
def _signals_deferred() -> Iterator[None]:
    """Defer SIGTERM and SIGINT, whose handlers may raise an exception, to the end of the block."""
    with _deferred(signal.SIGTERM), _deferred(signal.SIGINT):
        yield


@contextmanager
def _deferred(number: signal.Signals) -> Iterator[None]:
    handler = signal.getsignal(number)
    # Python runs handlers in the main thread only, so no other thread can be interrupted.
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    caught: list[int] = []
    try:
        signal.signal(number, lambda n, _: caught.append(n))
        yield
    finally:
        signal.signal(number, handler)
        if caught:
            signal.raise_signal(number)


def _select(workers: Sequence[_Worker], seconds: float) -> None:
    """Wait until a socket can be read, or written if bytes are unsent, or the time is over."""
    with selectors.DefaultSelector() as selector:
        for worker in workers:
            writing = selectors.EVENT_WRITE if worker.unsent else 0
            selector.register(worker.channel, selectors.EVENT_READ | writing)
        selector.select(max(0.0, seconds))


_Reply = tuple[Piece, bool, memoryview]


def _read_reply(reply: _Reply | LostPiece) -> CompletedPiece[Any] | LostPiece:
    if isinstance(reply, LostPiece):
        return reply
    piece, succeeded, content = reply
    if not succeeded:
        error = _read_error(content)
        return LostPiece(piece, format_error(error), error)
    try:
        with garbage_collection_paused():
            seconds, result = pickle.loads(content)
    except Exception as error:
        return LostPiece(piece, format_error(error), error)
    return CompletedPiece(piece, result, seconds)


def _read_error(content: memoryview) -> BaseException:
    """Return the exception that a worker raised, with its traceback there as a note."""
    pickled, traceback = pickle.loads(content)
    try:
        error: BaseException = pickle.loads(pickled)
    except Exception:  # its class need not exist in this process
        error = RuntimeError(traceback.splitlines()[-1])
    error.add_note(f"In a worker process:\n{traceback}")
    return error


def _describe_exit(code: int) -> str:
    """Return a clause about the exit code or the signal that a process ended with.

    >>> _describe_exit(-9), _describe_exit(3)
    ('the process ended with signal 9 (SIGKILL)', 'the process ended with code 3')
    """
    if code >= 0:
        return f"the process ended with code {code}"
    names = {s.value: f" ({s.name})" for s in signal.Signals}
    return f"the process ended with signal {-code}{names.get(-code, '')}"


def _worker_environment(workers: int) -> dict[str, str]:
    """Return the environment variables, with threads limited to one worker's share of the cores."""
    from joblib import cpu_count

    share = max(1, cpu_count() // workers)
    environment = dict(os.environ)
    for name in _THREAD_VARIABLES:
        given = environment.get(name, "")
        environment[name] = str(min(share, int(given)) if given.isdigit() else share)
    return environment


_IDLE_POOLS: weakref.WeakKeyDictionary[Any, ProcessPool[Any]] = weakref.WeakKeyDictionary()
"""Idle pools by their owner, such as an explainer: a pool ends with its owner or the program."""


def take_idle_pool(
    owner: object, function: PieceFunction[R], *, workers: int, argument: str
) -> ProcessPool[R]:
    """Return the owner's idle pool, or a new one; `keep_idle_pool` gives it back.

    The pool may be larger than `workers`: a process takes seconds to start and costs little while
    idle. The function is sent again if its pickle differs from the one that the processes have.
    """
    pool: ProcessPool[R] | None = _IDLE_POOLS.pop(owner, None)
    if pool is None or pool.n_workers < workers or pool.driver != os.getpid():
        return ProcessPool(function, workers=workers, argument=argument)
    pool.set_function(function)
    return pool


def keep_idle_pool(owner: object, pool: ProcessPool[Any]) -> None:
    """Keep an idle pool for the owner's next call, in place of any other."""
    _IDLE_POOLS[owner] = pool


# -- in the worker process: a loop that receives a function, then pieces -----------------


_HEAD = struct.Struct("<?Q")
"""The head of a message: its flag, and the number of bytes that follow.

To a worker the flag means "this is the function", from a worker "this is a result" (else it is an
exception)."""


def run_worker(channel: str) -> None:
    """Reply to messages until the driver closes the socket whose number is `channel`."""
    # Only the driver ends a worker: an interrupted `suffice batch` finishes its running pieces.
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
    sys.stdout = sys.stderr  # unbuffered, so that the output of a killed worker is not lost
    requests = driver.makefile("rb")
    function: Any = None
    while len(head := requests.read(_HEAD.size)) == _HEAD.size:
        is_function, size = _HEAD.unpack(head)
        content = requests.read(size)
        if len(content) < size:
            return
        try:
            if is_function:
                function = None  # freed first: two models may not fit into memory
                function = pickle.loads(content)
                del content
                gc.freeze()  # the function stays, so the garbage collector need not visit it
                succeeded, reply = True, b""
            else:
                piece = pickle.loads(content)
                started = perf_counter()
                result = function(piece)
                succeeded, reply = True, pickle_value((perf_counter() - started, result))
        except BaseException as error:  # a model may raise SystemExit, too
            succeeded, reply = False, _pickle_error(error)
        driver.sendall(_HEAD.pack(succeeded, len(reply)))
        driver.sendall(reply)


def _end_with_driver() -> None:
    """End this process when the driver ends, whatever this process is doing.

    Standard input is a pipe whose other end the driver holds and never writes to again, so the pipe
    closes with the driver. The model gets an empty standard input instead.
    """
    lifeline = os.dup(0)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    if sys.platform == "linux":
        import fcntl

        # A thread cannot run while native code holds the interpreter's lock, but the kernel can
        # send SIGIO, whose default action ends the process.
        signal.signal(signal.SIGIO, signal.SIG_DFL)
        fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(lifeline, fcntl.F_SETFL, os.O_ASYNC)

    def watch() -> None:
        os.read(lifeline, 1)
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()


def pickle_value(value: object) -> bytes:
    """Return the pickle of a value; classes of a notebook or a script are pickled by value."""
    try:
        with garbage_collection_paused():
            return pickle.dumps(value, protocol=5)
    except Exception:
        import cloudpickle  # type: ignore[import-untyped,unused-ignore]

        found: bytes = cloudpickle.dumps(value, protocol=5)
        return found


@contextmanager
def garbage_collection_paused() -> Iterator[None]:
    """Suspend garbage collection, which would visit every new object again and again.

    Explanations have no reference cycles; pickling hundreds of them takes a quarter of the time
    without collections.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def _pickle_error(error: BaseException) -> bytes:
    """Return the pickle of an exception (itself pickled, or a RuntimeError) and its traceback."""
    try:
        pickled = pickle_value(error)
        pickle.loads(pickled)  # many exception classes can be pickled but not unpickled
    except Exception:
        pickled = pickle_value(RuntimeError(f"{type(error).__name__}: {error}"))
    return pickle_value((pickled, "".join(format_exception(error))))
