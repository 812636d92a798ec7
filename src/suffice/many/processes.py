"""A pool of worker processes on this machine, run by one loop in the calling thread.

Each process has a socket. The loop waits for any of them to become readable or writable, and never
blocks in a read or a write, so Ctrl-C ends it at any moment. A process that ends is replaced, and
the piece it had is lost; `drive` gives it out again.

Processes are started afresh, not forked: threads of numba or of a BLAS do not survive a fork. They
do not import the user's script, which therefore needs no guard; what was defined in it is sent by
value. Each may use its share of the cores.
"""

from __future__ import annotations

import os
import pickle
import selectors
import signal
import socket
import subprocess
import sys
import threading
import weakref
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.spawn import get_executable
from time import monotonic
from typing import IO, Any, Generic, Self, TypeVar, cast

from suffice.errors import InputError, one_line
from suffice.many.team import Does, Done, Lost, Piece, TeamError, raised
from suffice.many.worker import HEAD, not_collecting, packed

__all__ = ["Processes", "keep", "take_kept"]

R = TypeVar("R")

_BOOT = (
    "import sys; sys.path[:] = sys.argv[2:]; "
    "from suffice.many.worker import serve; serve(sys.argv[1])"
)

_THREADS = (
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
"""Libraries read these when they are loaded, so they are set before a process starts."""

_STARTS = 5
"""The pool gives up when this many processes in a row end before they are ready."""

_WARMING = 5.0
"""Seconds more for the first piece of a process, which compiles kernels and fills caches."""

_LOOK = 0.2
"""Seconds after which all processes are looked at, where no socket has anything to say.

A child of a worker may hold its socket open, so the end of the worker may not show there."""

_READ = 1 << 20
"""Bytes that are read at a time."""


class Processes(Generic[R]):
    """A pool of processes that apply one function to pieces of rows.

    A process is started when there is a piece for it.

    Parameters
    ----------
    function
        From a piece to its result; it is sent to each process once.
    workers
        The largest number of processes.
    row_time_limit
        Seconds that a row may take. A piece may take no longer, either: where it does, its process
        is ended, so that the row is found by splitting.
    argument
        The name of the user's argument for the number of workers, for errors.

    >>> with Processes(sum_of, workers=2) as team:  # doctest: +SKIP
    ...     team.submit(Piece(0, [1, 2]))
    """

    def __init__(
        self,
        function: Does[R],
        *,
        workers: int,
        row_time_limit: float | None = None,
        argument: str = "workers",
    ) -> None:
        self.workers, self.driver = workers, os.getpid()
        self._argument, self._limit = argument, row_time_limit
        self._function = self._packed(function)
        self._environment = _environment(workers)
        self._pieces: deque[tuple[Piece, bytes]] = deque()
        self._workers: list[_Worker] = []
        self._failed_starts = 0
        self._error: TeamError | None = None
        self._end = weakref.finalize(self, _end_all, self._workers, self.driver)

    def _packed(self, function: Does[R]) -> bytes:
        import cloudpickle  # type: ignore[import-untyped,unused-ignore]

        try:
            return cast(bytes, cloudpickle.dumps(function, protocol=5))
        except Exception as error:  # each library has its own
            why = one_line(error.__cause__ or error)
            got = f"{self.workers} processes, to which this model cannot be sent ({why})"
            hint = f"Use {self._argument}=1, or wrap the model in an object that can be sent."
            raise InputError(self._argument, got, "1 for such a model", hint) from error

    def give(self, function: Does[R]) -> None:
        """Use another function from now on; it is sent only if its pickle is another."""
        if (found := self._packed(function)) != self._function:
            self._function = found

    def submit(self, piece: Piece) -> None:
        """Give a piece to whichever process is free next."""
        self._pieces.append((piece, packed(piece)))
        self._hand_out()

    def wait(self, seconds: float) -> Sequence[Done[R] | Lost]:
        """Return what has come back, or nothing if nothing does in this many seconds."""
        deadline = monotonic() + seconds
        while True:
            _select(self._workers, min(_LOOK, deadline - monotonic()))
            back = [found for w in [*self._workers] if (found := self._look_at(w)) is not None]
            self._hand_out()  # before results are unpickled and used
            if back:
                return [_read(found) for found in back]
            if self._error is not None:
                raise self._error
            if monotonic() >= deadline:
                return []

    def _hand_out(self) -> None:
        """Send pieces to the processes that are free, and start those that are needed."""
        if self._error is not None or not self._pieces:
            return
        for worker in self._workers:
            if worker.busy or worker.process.poll() is not None:
                continue
            if worker.function is not self._function:
                worker.give(self._function)
            elif self._pieces:
                worker.do(*self._pieces.popleft())
        at_work = sum(worker.piece is not None for worker in self._workers)
        wanted = min(self.workers, at_work + len(self._pieces))
        while len(self._workers) < wanted and self._error is None:
            try:
                # An interrupt in between would leave a process that nobody knows of.
                with _signals_held():
                    self._workers.append(_Worker(self._environment))
            except OSError as error:
                self._start_failed(raised(error))
            else:
                self._workers[-1].give(self._function)

    def _look_at(self, worker: _Worker) -> _Reply | Lost | None:
        """Return what came back from a worker: its reply to a piece, or that the piece is lost."""
        piece = worker.piece
        try:
            reply = worker.receive()
        except EOFError:
            reason = worker.end(patience=1.0)  # its socket may close before it ends
            self._workers.remove(worker)
            if piece is not None:
                return Lost(piece, reason, by_chance=True)
            if worker.busy:
                self._start_failed(reason)
            return None
        if reply is None:
            if piece is None or self._limit is None:
                return None
            if monotonic() - worker.since <= self._limit + (_WARMING if worker.fresh else 0):
                return None
            worker.end()
            self._workers.remove(worker)
            return Lost(piece, f"took longer than {self._limit:g} s")
        well, content = reply
        if piece is not None:
            return piece, well, content
        if well:
            self._failed_starts = 0
        else:
            error = _read_error(content)
            told = f"The model was sent to a process, which cannot read it ({raised(error)})."
            self._error = TeamError(told)
            self._error.__cause__ = error
        return None

    def _start_failed(self, reason: str) -> None:
        self._failed_starts += 1
        if self._failed_starts >= _STARTS:
            told = f"No worker process can be started: {reason}, {_STARTS} times in a row."
            self._error = TeamError(told)

    @property
    def pids(self) -> list[int]:
        """The processes that are running."""
        return [w.process.pid for w in self._workers if w.process.poll() is None]

    def close(self) -> None:
        """End all processes at once, and wait until they are gone."""
        self._pieces.clear()
        _end_all(self._workers, self.driver)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Worker:
    """One process, what it is doing, and what is still to be sent to it."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.function: bytes | None = None
        self.piece: Piece | None = None
        self.busy = False
        """Is a reply still to come?"""
        self.fresh = True
        """Has it done no piece yet?"""
        self.since = 0.0
        """When it was last sent something."""
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

    def give(self, function: bytes) -> None:
        """Send the function that pieces are done by."""
        self.function = function
        self._send(function, is_function=True)

    def do(self, piece: Piece, content: bytes) -> None:
        """Send a piece of rows for the process to apply the function to."""
        self.piece = piece
        self._send(content, is_function=False)

    def _send(self, content: bytes, *, is_function: bool) -> None:
        self.busy = True
        head = HEAD.pack(is_function, len(content))
        self.unsent += [memoryview(head), memoryview(content)]
        self._flush()

    def _flush(self) -> None:
        # That the process is gone shows when its reply is received.
        with suppress(BlockingIOError, ConnectionError):
            while self.unsent:
                sent = self.channel.send(self.unsent[0])
                self.since = monotonic()
                self.unsent[0] = self.unsent[0][sent:]
                if not self.unsent[0]:
                    self.unsent.popleft()

    def receive(self) -> tuple[bool, memoryview] | None:
        """Return the reply once all of it is there; an EOFError where the process has ended."""
        self._flush()
        # Looked at before the socket: what was sent before the end is a reply.
        ended = self.process.poll() is not None
        try:
            while chunk := self.channel.recv(_READ):
                self._received += chunk
            ended = True
        except BlockingIOError:
            if self._received:
                self.since = monotonic()  # it is done; that we read late is not its fault
        except ConnectionError:
            ended = True
        if len(self._received) >= HEAD.size:
            well, size = HEAD.unpack_from(self._received)
            if len(self._received) == HEAD.size + size:
                content, self._received = memoryview(self._received)[HEAD.size :], bytearray()
                self.fresh, self.busy, self.piece = self.piece is None, False, None
                return well, content
        if ended:
            raise EOFError
        return None

    def end(self, patience: float = 0.0) -> str:
        """Kill the process unless it ends by itself in this many seconds; return how it ended."""
        try:
            code = self.process.wait(patience)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait(60)  # it takes milliseconds; interrupts may be held back
        self.channel.close()
        cast(IO[bytes], self.process.stdin).close()
        return _ending(code)


def _start(channel: socket.socket, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start a process that has one end of the socket, and of a pipe that closes with this one."""
    command = [get_executable(), "-c", _BOOT, str(channel.fileno()), *map(str, sys.path)]
    # A process group of its own: Ctrl-C in a terminal is for the driver alone.
    if sys.platform == "win32":
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            env=environment,
            creationflags=subprocess.CREATE_NEW_PROCESS_GROUP,
        )
        with suppress(OSError):  # that it is gone shows when its reply is received
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
    """End processes; a fork of the driver has no right to."""
    if os.getpid() != driver:
        return
    with _signals_held():
        for worker in workers:
            worker.process.kill()
        while workers:
            workers.pop().end()


@contextmanager
def _signals_held() -> Iterator[None]:
    """Hold signals back whose handlers may raise an exception, and raise them at the end."""
    with _held(signal.SIGTERM), _held(signal.SIGINT):
        yield


@contextmanager
def _held(number: signal.Signals) -> Iterator[None]:
    handler = signal.getsignal(number)
    # Python runs handlers in the main thread only, so nothing is raised in any other.
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
    """Wait until a worker can be read from, or sent what is unsent, or the time is over."""
    with selectors.DefaultSelector() as selector:
        for worker in workers:
            writing = selectors.EVENT_WRITE if worker.unsent else 0
            selector.register(worker.channel, selectors.EVENT_READ | writing)
        selector.select(max(0.0, seconds))


_Reply = tuple[Piece, bool, memoryview]


def _read(back: _Reply | Lost) -> Done[Any] | Lost:
    if isinstance(back, Lost):
        return back
    piece, well, content = back
    if not well:
        error = _read_error(content)
        return Lost(piece, raised(error), error)
    try:
        with not_collecting():
            seconds, result = pickle.loads(content)
    except Exception as error:
        return Lost(piece, raised(error), error)
    return Done(piece, result, seconds)


def _read_error(content: memoryview) -> BaseException:
    stored, told = pickle.loads(content)
    try:
        error: BaseException = pickle.loads(stored)
    except Exception:
        error = RuntimeError(told.splitlines()[-1])
    error.add_note(f"In a worker process:\n{told}")
    return error


def _ending(code: int) -> str:
    """Describe the end of a process.

    >>> _ending(-9), _ending(3)
    ('the process ended with signal 9 (SIGKILL)', 'the process ended with code 3')
    """
    if code >= 0:
        return f"the process ended with code {code}"
    names = {s.value: f" ({s.name})" for s in signal.Signals}
    return f"the process ended with signal {-code}{names.get(-code, '')}"


def _environment(workers: int) -> dict[str, str]:
    """Return this environment, with threads limited to one worker's share of the cores."""
    from joblib import cpu_count

    share = max(1, cpu_count() // workers)
    environment = dict(os.environ)
    for name in _THREADS:
        given = environment.get(name, "")
        environment[name] = str(min(share, int(given)) if given.isdigit() else share)
    return environment


_KEPT: weakref.WeakKeyDictionary[Any, Processes[Any]] = weakref.WeakKeyDictionary()
"""Idle pools, by the object whose work they do: they end with it, or with this program."""


def take_kept(owner: object, function: Does[R], *, workers: int, argument: str) -> Processes[R]:
    """Return the owner's idle pool, or a new one; it is the caller's until it is kept again.

    The pool may be larger than asked for: a process takes seconds to start and little to keep. The
    function is sent again where its pickle is not the one that the processes have.
    """
    team: Processes[R] | None = _KEPT.pop(owner, None)
    if team is None or team.workers < workers or team.driver != os.getpid():
        return Processes(function, workers=workers, argument=argument)
    team.give(function)
    return team


def keep(owner: object, team: Processes[Any]) -> None:
    """Keep a pool that has nothing more to do for the owner's next call, in place of any other."""
    _KEPT[owner] = team
