"""A team of processes on this machine, which survives what happens to them.

Each process has a thread here that starts it, sends it the function once and then piece after
piece, and starts another when it is gone. Processes are started afresh, not forked: threads of
numba or of a BLAS do not survive a fork. They do not import the user's script, so that it needs no
guard; what was defined in it is sent with its definition. Each may use its share of the cores.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from multiprocessing.spawn import get_executable
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any, BinaryIO, Generic, Self, TypeVar, cast

from suffice.errors import InputError, one_line
from suffice.many import worker
from suffice.many.team import Does, Done, Lost, Piece, TeamError, raised

__all__ = ["Processes", "keep", "take_kept"]

R = TypeVar("R")

_BOOT = (
    "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); "
    "from suffice.many.worker import serve; serve()"
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
"""So many processes in a row that end before they are ready mean that none will be."""

_WARMING = 5.0
"""Seconds more for the first piece of a process, which loads kernels and makes things ready."""

_LOOK = 0.2
"""Seconds after which a process is looked at from which nothing came."""


class Processes(Generic[R]):
    """So many processes that do pieces by one function.

    Parameters
    ----------
    function
        From a piece to its result; it is sent to each process once.
    workers
        How many processes.
    row_time_limit
        Seconds that a row may take. A piece may take no longer, either: where it does, its process
        is ended, so that the row is found by splitting.
    argument
        What a user calls the number of workers, for errors.

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
        self.workers = workers
        self._argument = argument
        self._crew = _Crew(self._packed(function), workers, row_time_limit)
        # Threads know the crew only, so that a team nobody needs any more is closed.
        self._end = weakref.finalize(self, self._crew.close)

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
        """Another function from now on; it is sent again only if it is not the same."""
        self._crew.give(self._packed(function))

    def submit(self, piece: Piece) -> None:
        """Give a piece to whichever process is free next."""
        self._crew.inbox.put((piece, worker.packed(piece)))

    def wait(self, seconds: float) -> Sequence[Done[R] | Lost]:
        """What has come back; nothing if nothing does in so many seconds."""
        outbox = self._crew.outbox
        try:
            back = [outbox.get(timeout=seconds)]
        except Empty:
            return []
        while not outbox.empty():
            back.append(outbox.get())
        broken = [found for found in back if isinstance(found, TeamError)]
        if len(broken) == len(back):
            raise broken[0]
        for error in broken:  # not before what was done is handed on
            outbox.put(error)
        return [_read(found) for found in back if not isinstance(found, TeamError)]

    @property
    def pids(self) -> list[int]:
        """The processes that are running."""
        running = [attendant.process for attendant in self._crew.attendants]
        return [p.pid for p in running if p is not None and p.poll() is None]

    def close(self) -> None:
        """End all processes at once, and wait until they are gone."""
        self._end()
        for attendant in self._crew.attendants:
            attendant.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_Reply = tuple[Piece, bytes, bytes]


def _read(back: _Reply | Lost) -> Done[Any] | Lost:
    if isinstance(back, Lost):
        return back
    piece, kind, content = back
    if kind == worker.RAISED:
        error = _read_error(content)
        return Lost(piece, raised(error), error)
    seconds = worker.SECONDS.unpack_from(content)[0]
    try:
        with worker.not_collecting():
            result = pickle.loads(memoryview(content)[worker.SECONDS.size :])
    except Exception as error:
        return Lost(piece, raised(error), error)
    return Done(piece, result, seconds)


def _read_error(content: bytes) -> BaseException:
    stored, told = pickle.loads(content)
    try:
        error: BaseException = pickle.loads(stored)
    except Exception:
        error = RuntimeError(told.splitlines()[-1])
    error.add_note(f"In a worker process:\n{told}")
    return error


class _Crew:
    """What the threads share."""

    def __init__(self, function: bytes, workers: int, row_time_limit: float | None) -> None:
        self.inbox: SimpleQueue[tuple[Piece, bytes] | None] = SimpleQueue()
        self.outbox: SimpleQueue[_Reply | Lost | TeamError] = SimpleQueue()
        self.environment = _environment(workers)
        self.row_time_limit = row_time_limit
        self.function, self.version = function, 0
        self.closed = False
        self.failed_starts = 0
        self.lock = threading.Lock()
        self._driver = os.getpid()
        self.attendants = [_Attendant(self, i) for i in range(workers)]
        for attendant in self.attendants:
            attendant.start()

    def give(self, function: bytes) -> None:
        if function != self.function:
            self.function, self.version = function, self.version + 1

    def start_failed(self) -> bool:
        """One more process ended before it was ready: is it hopeless?"""
        with self.lock:
            self.failed_starts += 1
            return self.failed_starts >= _STARTS

    def close(self) -> None:
        if os.getpid() != self._driver:
            return  # a fork of the driver does not own its processes
        with self.lock:
            self.closed = True
        for attendant in self.attendants:
            self.inbox.put(None)
            attendant.end()


class _GoneError(Exception):
    """The process is no more; the reason is how it ended."""

    def __init__(self, reason: str, *, overdue: bool = False) -> None:
        super().__init__(reason)
        self.overdue = overdue


class _Attendant(threading.Thread):
    """The thread of one process at a time."""

    def __init__(self, crew: _Crew, number: int) -> None:
        super().__init__(name=f"suffice worker {number}", daemon=True)
        self._crew = crew
        self.process: subprocess.Popen[bytes] | None = None
        self._replies: _Replies = SimpleQueue()
        self._version: int | None = None
        """Of the function that the process has."""
        self._fresh = True
        """Has the process done nothing yet?"""

    def run(self) -> None:
        """Do pieces until there are no more to come."""
        self._make_ready()  # before there is work: imports take a second
        while (given := self._crew.inbox.get()) is not None:
            piece, content = given
            if self._make_ready():
                self._crew.outbox.put(self._do(piece, content))
        if self.process is not None:
            self.end()
            self._ended()

    def _do(self, piece: Piece, content: bytes) -> _Reply | Lost:
        limit = self._crew.row_time_limit
        if limit is not None and self._fresh:
            patience: float | None = limit + _WARMING
        else:
            patience = limit
        try:
            kind, back = self._ask(worker.PIECE, content, patience)
        except _GoneError as gone:
            reason = f"took longer than {limit:g} s" if gone.overdue else str(gone)
            return Lost(piece, reason, by_chance=not gone.overdue)
        self._fresh = False
        return piece, kind, back

    def _make_ready(self) -> bool:
        """Is there a process that has the function? One is started if there is none."""
        crew = self._crew
        while not crew.closed:
            if self.process is not None and self.process.poll() is not None:
                self._ended()
            version, function = crew.version, crew.function
            if self.process is not None and self._version == version:
                return True
            try:
                if self.process is None:
                    self._start()
                kind, content = self._ask(worker.FUNCTION, function)
            except _GoneError as gone:
                if crew.start_failed():
                    told = f"No worker process can be started: {gone}, {_STARTS} times in a row."
                    crew.outbox.put(TeamError(told))
                    return False
                continue
            if kind == worker.BROKEN:
                error = _read_error(content)
                told = f"The model was sent to a process, which cannot read it ({raised(error)})."
                broken = TeamError(told)
                broken.__cause__ = error
                crew.outbox.put(broken)
                return False
            crew.failed_starts, self._version = 0, version
        return False

    def _start(self) -> None:
        with self._crew.lock:  # none may start once all are ended
            if self._crew.closed:
                raise _GoneError("the team is closed")
            process = self.process = subprocess.Popen(
                [get_executable(), "-c", _BOOT],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=self._crew.environment,
                **_GROUP,
            )
        self._fresh, self._version, self._replies = True, None, SimpleQueue()
        reader = threading.Thread(
            target=_read_on, args=(process.stdout, self._replies), daemon=True
        )
        reader.start()
        with suppress(OSError):  # that it is gone shows when it is asked
            cast(BinaryIO, process.stdin).write(pickle.dumps(sys.path))

    def _ask(
        self, kind: bytes, content: bytes, patience: float | None = None
    ) -> tuple[bytes, bytes]:
        """Send a message and wait for the reply, as long as the process lives."""
        process = self.process
        assert process is not None
        started = monotonic()
        try:
            worker.send(cast(BinaryIO, process.stdin), kind, content)
        except (OSError, ValueError):
            raise _GoneError(self._ended()) from None
        while True:
            # Asked first: a reply that came before the end is a reply.
            gone = process.poll() is not None
            try:
                reply = self._replies.get(timeout=_LOOK)
            except Empty:
                overdue = patience is not None and monotonic() - started > patience
                # A child of the process may hold its pipe open, so its end may not show there.
                if gone or overdue:
                    raise _GoneError(self._ended(), overdue=overdue and not gone) from None
                continue
            if reply is None:
                raise _GoneError(self._ended())
            return reply

    def _ended(self) -> str:
        """How the process ended, or that it is ended now."""
        process, self.process = self.process, None
        assert process is not None
        try:
            code = process.wait(timeout=1.0)  # its pipe may close before it ends
        except subprocess.TimeoutExpired:
            process.kill()  # of no more use
            code = process.wait()
        with suppress(OSError):  # what was to be written has nowhere to go
            cast(BinaryIO, process.stdin).close()
        return _ending(code)

    def end(self) -> None:
        """End the process now."""
        process = self.process
        if process is not None:
            process.kill()
            process.wait()


_Replies = SimpleQueue[tuple[bytes, bytes] | None]


def _read_on(stream: BinaryIO, replies: _Replies) -> None:
    """Hand on what comes from a process, and None at its end."""
    with suppress(EOFError, OSError), stream:
        while True:
            replies.put(worker.receive(stream))
    replies.put(None)


_GROUP: Mapping[str, Any] = (
    {"creationflags": 0x200}  # CREATE_NEW_PROCESS_GROUP
    if sys.platform == "win32"
    else {"process_group": 0}
)
"""Ctrl-C is for the driver alone, which then decides."""


def _ending(code: int) -> str:
    """How a process ended, in words.

    >>> _ending(-9), _ending(3)
    ('the process ended with signal 9 (SIGKILL)', 'the process ended with code 3')
    """
    if code >= 0:
        return f"the process ended with code {code}"
    names = {s.value: f" ({s.name})" for s in signal.Signals}
    return f"the process ended with signal {-code}{names.get(-code, '')}"


def _environment(workers: int) -> dict[str, str]:
    """This one's, with threads limited so that all processes together use the cores once."""
    from joblib import cpu_count

    share = max(1, cpu_count() // workers)
    environment = dict(os.environ)
    for name in _THREADS:
        given = environment.get(name, "")
        environment[name] = str(min(share, int(given)) if given.isdigit() else share)
    return environment


_KEPT: weakref.WeakKeyDictionary[Any, Processes[Any]] = weakref.WeakKeyDictionary()
"""Teams at rest, by whose work they do: they end with it, or with this program."""


def take_kept(owner: object, function: Does[R], *, workers: int, argument: str) -> Processes[R]:
    """The owner's team as it was kept, or a new one; it is the caller's until it is kept again.

    It may be larger: starting one anew takes longer than having some at rest. The function is sent
    again where it is not, byte by byte, what the processes have.
    """
    team: Processes[R] | None = _KEPT.pop(owner, None)
    if team is not None and team.workers >= workers:
        team.give(function)
        return team
    if team is not None:
        team.close()
    return Processes(function, workers=workers, argument=argument)


def keep(owner: object, team: Processes[Any]) -> None:
    """Leave a team at rest that has nothing more to do."""
    other = _KEPT.pop(owner, None)
    if other is not None:
        other.close()
    _KEPT[owner] = team
