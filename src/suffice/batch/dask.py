"""Workers of a Dask cluster (optional dependency): each piece is a future of `distributed`.

The function is sent once, as a worker plugin, which the scheduler also gives to workers that join
later. Scattered data would be lost with the last worker that holds it, and a row that ends one
worker may end all of them.

Dask itself runs a piece again when its worker is gone, and gives up after several workers died
(`distributed.scheduler.allowed-failures`). Such a failure counts against every piece that a worker
had, so a harmless piece can fail with a harmful one: it is reported with `ran_alone=False`, and
`workers.run_pieces` tries a single row again when nothing else is running.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from queue import Empty, SimpleQueue
from time import monotonic, perf_counter, sleep
from typing import Any, Generic, Self, TypeVar, cast
from uuid import uuid4

from suffice.batch.workers import (
    CompletedPiece,
    LostPiece,
    Piece,
    PieceFunction,
    WorkerError,
    format_error,
    pickle_function,
)
from suffice.errors import InputError
from suffice.formatting import duration

R = TypeVar("R")

_NO_WORKER_SECONDS = 300.0
"""Seconds to wait for a first worker: a cluster may still be growing."""

_SEND_ATTEMPTS = 5
"""Attempts to send the function to all workers, some of which may end meanwhile."""

_FETCH_SECONDS = 60.0
"""Seconds to wait for a completed result: if its worker is gone, Dask computes it again."""

_POLL_SECONDS = 0.5
"""Seconds after which the cluster is checked if no piece comes back before."""


class DaskWorkers(Generic[R]):
    """The workers of a Dask cluster.

    Parameters
    ----------
    function
        From a piece to its result; it is sent to each worker once.
    client
        A `distributed.Client`, which stays open.
    row_time_limit
        Seconds that a row may take, and a whole piece too: if it takes longer, its worker is ended.
    """

    def __init__(
        self, function: PieceFunction[R], *, client: Any, row_time_limit: float | None = None
    ) -> None:
        check_client(client)
        hint = "Wrap the model in an object that can be pickled."
        pickled = pickle_function(function, "client", hint)
        self._client = client
        self._limit = row_time_limit
        self._name, self._numbers = f"suffice-{uuid4().hex}", count()
        self._function = _function_plugin(self._name, pickled)
        self._completed: SimpleQueue[str] = SimpleQueue()
        self._pieces: dict[str, _RunningPiece] = {}
        self._threads, self._counted, self._since_empty = 0, 0.0, monotonic()
        try:
            self._check_versions()
            self._send_function()
        except BaseException:
            self.close()
            raise

    def _check_versions(self) -> None:
        """Raise unless every worker has the version of suffice that this process has."""
        from suffice import __version__

        found = self._client.run(_suffice_version, on_error="return")
        for address, version in found.items():
            if isinstance(version, OSError):
                continue  # this worker has just ended
            if isinstance(version, Exception):
                raise WorkerError(
                    f"The Dask worker {address} cannot import suffice ({format_error(version)}). "
                    f"Install suffice {__version__} on every worker."
                )
            if version != __version__:
                raise WorkerError(
                    f"The Dask worker {address} has suffice {version}, and this is {__version__}. "
                    "Explanations could differ: install the same version on every worker."
                )

    def _send_function(self) -> None:
        if self._limit is not None:
            self._client.subscribe_topic(self._name, self._on_start)
        for attempts_left in reversed(range(_SEND_ATTEMPTS)):
            try:
                self._client.register_plugin(self._function, name=self._name)
            except _UnreadableError as error:
                raise WorkerError(f"A Dask worker cannot unpickle the model ({error}).") from None
            except OSError as error:  # a worker ended meanwhile
                if not attempts_left:
                    raise WorkerError(
                        f"The model could not be sent to the Dask workers ({format_error(error)})."
                    ) from error
                sleep(1)
            else:
                break

    @property
    def n_workers(self) -> int:
        """Number of threads of all workers, at least 1; the cluster may grow and shrink."""
        if monotonic() - self._counted > 5 or not self._threads:
            with suppress(OSError):  # `_check` finds out whether the scheduler is gone
                self._threads = sum(self._client.nthreads().values())
            self._counted = monotonic()
            if self._threads:
                self._since_empty = monotonic()
        return max(1, self._threads)

    def submit(self, piece: Piece) -> None:
        """Submit a piece to the cluster."""
        key = f"{self._name}-{next(self._numbers)}"
        ran_alone = not self._pieces
        for other in self._pieces.values():
            other.ran_alone = False
        try:
            topic = None if self._limit is None else self._name
            future = self._client.submit(
                _run_piece, self._name, piece, topic, key, key=key, pure=False
            )
        except Exception as error:
            self._check()
            raise WorkerError(
                f"Rows could not be submitted to Dask ({format_error(error)})."
            ) from error
        self._pieces[key] = _RunningPiece(piece, future, ran_alone)
        future.add_done_callback(lambda _: self._completed.put(key))

    def wait(self, seconds: float) -> Sequence[CompletedPiece[R] | LostPiece]:
        """Return the pieces that came back; a worker whose piece is overdue is ended."""
        deadline = monotonic() + seconds
        while True:
            self._check()
            overdue = self._take_overdue()
            if overdue:
                return overdue
            rest = deadline - monotonic()
            try:
                key = self._completed.get(timeout=max(0.0, min(rest, _POLL_SECONDS)))
            except Empty:
                if rest <= 0:
                    return []
                continue
            work = self._pieces.pop(key, None)
            if work is not None:  # None: the piece was overdue, and has been returned as lost
                return self._read(key, work)

    def _read(self, key: str, work: _RunningPiece) -> Sequence[CompletedPiece[R] | LostPiece]:
        from concurrent.futures import CancelledError

        from distributed import KilledWorker

        try:
            result, seconds = work.future.result(timeout=_FETCH_SECONDS)
        except KilledWorker as error:
            times = error.allowed_failures + 1
            reason = "the worker ended" + (f", {times} times" if times > 1 else "")
            return [LostPiece(work.piece, reason, ran_alone=work.ran_alone)]
        except CancelledError:
            raise self._connection_lost() from None
        except Exception as error:
            if work.future.status == "error":
                return [LostPiece(work.piece, format_error(error), error)]
            # The result was complete, but its worker is gone: Dask computes it again.
            self._check()
            self._pieces[key] = work
            work.future.add_done_callback(lambda _: self._completed.put(key))
            return []
        return [CompletedPiece(work.piece, result, seconds)]

    def _on_start(self, event: tuple[float, dict[str, str]]) -> None:
        """Note which worker has started a piece, and when."""
        _, message = event
        work = self._pieces.get(message["key"])
        if work is not None:
            work.worker, work.since = message["worker"], monotonic()

    def _take_overdue(self) -> list[LostPiece]:
        """Remove the pieces that exceed the time limit, end their workers, return them as lost."""
        limit = self._limit
        if limit is None:
            return []
        late = {
            key: work
            for key, work in list(self._pieces.items())
            if work.since is not None
            and monotonic() - work.since > limit
            and not work.future.done()
        }
        for key, work in late.items():
            del self._pieces[key]
            self._client.cancel([work.future], force=True)
        for address in {work.worker for work in late.values()}:
            self._end_worker(cast(str, address))
        reason = f"took longer than {limit:g} s"
        return [LostPiece(w.piece, reason, ran_alone=w.ran_alone) for w in late.values()]

    def _end_worker(self, address: str) -> None:
        # A running task cannot be interrupted, so its process must end; a nanny starts another.
        for other in self._pieces.values():
            if other.worker == address:
                other.since = None
        try:
            self._client.run(_exit_worker, workers=[address], wait=False)
        except Exception:  # the worker may be gone already
            self._check()

    def _check(self) -> None:
        """Raise if the scheduler is gone, or if the cluster has had no worker for too long."""
        if self._client.status not in ("running", "connecting"):
            raise self._connection_lost()
        if self._pieces and self.n_workers and not self._threads:
            waited = monotonic() - self._since_empty
            if waited > _NO_WORKER_SECONDS:
                raise WorkerError(f"The Dask cluster has had no worker for {duration(waited)}.")

    def _connection_lost(self) -> WorkerError:
        address = self._client.scheduler.address if self._client.scheduler else "its address"
        return WorkerError(f"The connection to the Dask scheduler at {address} was lost.")

    def close(self) -> None:
        """Cancel running pieces, and remove the function from the workers."""
        if self._client.status == "running":
            self._client.cancel([work.future for work in self._pieces.values()], force=True)
            with suppress(OSError, ValueError):  # the plugin may not be registered yet
                self._client.unregister_worker_plugin(self._name)
        self._pieces.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _RunningPiece:
    """A piece that was submitted, with its future, and the worker and time of its start."""

    def __init__(self, piece: Piece, future: Any, ran_alone: bool) -> None:
        self.piece, self.future, self.ran_alone = piece, future, ran_alone
        self.worker: str | None = None
        self.since: float | None = None


def check_client(client: Any) -> None:
    """Raise an InputError unless the argument is a synchronous `distributed.Client`."""
    try:
        from distributed import Client
    except ImportError as error:
        hint = 'Dask clusters need distributed. Install it with: pip install "suffice[dask]"'
        raise InputError("client", client, "None or a distributed.Client", hint) from error
    if not isinstance(client, Client):
        raise InputError("client", client, "None or a distributed.Client")
    if client.asynchronous:
        raise InputError("client", "an asynchronous client", "Client(asynchronous=False)")


# -- on the cluster ----------------------------------------------------------------------


class _UnreadableError(Exception):
    """A worker cannot unpickle the function."""


_FUNCTIONS: dict[str, Any] = {}
"""On a worker: the functions of all runs, by the name of the run."""


def _function_plugin(name: str, pickled: bytes) -> Any:
    """Return a worker plugin with the function; its base class exists only with `distributed`."""
    from distributed import WorkerPlugin

    class Function(WorkerPlugin):
        def setup(self, worker: Any) -> None:
            _read_function(name, pickled)

        def teardown(self, worker: Any) -> None:
            _FUNCTIONS.pop(name, None)

    return Function()


def _read_function(name: str, pickled: bytes) -> None:
    try:
        _FUNCTIONS[name] = pickle.loads(pickled)
    except Exception as error:
        raise _UnreadableError(format_error(error)) from error


def _run_piece(name: str, piece: Piece, topic: str | None, key: str) -> tuple[Any, float]:
    """Apply a run's function to a piece, on a worker; return the result and the seconds."""
    if topic is not None:
        from distributed import get_worker

        worker = get_worker()
        worker.log_event(topic, {"key": key, "worker": worker.address})
    started = perf_counter()
    return _FUNCTIONS[name](piece), perf_counter() - started


async def _exit_worker() -> None:
    os._exit(1)


def _suffice_version() -> str:
    from suffice import __version__

    return __version__
