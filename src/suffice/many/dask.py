"""A team of Dask workers: each piece is a future of `distributed`; the function is sent out once.

It goes to the workers as a plugin, which the scheduler gives to those that come later, too: what
is scattered is lost with the last worker that has it, and a row that ends one may end them all.

Dask itself runs a piece again when its worker is gone, and gives up after some workers died
(`distributed.scheduler.allowed-failures`). It counts against all pieces that a worker had, so the
innocent are suspected with the guilty: such a piece is said not to have been alone, and `drive`
tries a single row again when nothing else is under way.
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

from suffice.errors import InputError, one_line
from suffice.many.team import Does, Done, Lost, Piece, TeamError, raised
from suffice.wording import duration

__all__ = ["DaskTeam"]

R = TypeVar("R")

_PATIENCE = 300.0
"""Seconds to wait for a worker where there is none: a cluster may still be growing."""

_TRIES = 5
"""To tell all workers of the function, where some end meanwhile."""

_FETCH = 60.0
"""Seconds to wait for a result that was there: if its worker is gone, it is made again."""

_LOOK = 0.5
"""Seconds after which the cluster is looked at, if nothing comes back before."""


class DaskTeam(Generic[R]):
    """The workers of a Dask cluster.

    Parameters
    ----------
    function
        From a piece to its result; sent to all workers once.
    client
        A `distributed.Client`, which stays open, or the address of a scheduler.
    row_time_limit
        Seconds that a row may take, and a piece too: where it takes longer, its worker is ended.
    """

    def __init__(
        self, function: Does[R], *, client: Any, row_time_limit: float | None = None
    ) -> None:
        packed = _packed(function)
        self._client, self._own = _connected(client)
        self._limit = row_time_limit
        self._name, self._numbers = f"suffice-{uuid4().hex}", count()
        self._function = _function(self._name, packed)
        self._back: SimpleQueue[str] = SimpleQueue()
        self._pieces: dict[str, _AtWork] = {}
        self._threads, self._counted, self._since_empty = 0, 0.0, monotonic()
        try:
            self._begin()
        except BaseException:
            self.close()
            raise

    def _begin(self) -> None:
        from suffice import __version__

        found = self._client.run(_version, on_error="return")
        for address, version in found.items():
            if isinstance(version, OSError):
                continue  # it has just ended: the one in its place is told what all are told
            if isinstance(version, Exception):
                told = f"The Dask worker {address} cannot import suffice ({raised(version)})."
                raise TeamError(f"{told} Install suffice {__version__} on every worker.")
            if version != __version__:
                told = (
                    f"The Dask worker {address} has suffice {version}, and this is {__version__}."
                )
                raise TeamError(f"{told} Answers could differ: install the same on every worker.")
        if self._limit is not None:
            self._client.subscribe_topic(self._name, self._started)
        for tries_left in reversed(range(_TRIES)):
            try:
                self._client.register_plugin(self._function, name=self._name)
            except _UnreadableError as error:
                told = f"The model was sent to a Dask worker, which cannot read it ({error})."
                raise TeamError(told) from None
            except OSError as error:  # a worker ended just then
                if not tries_left:
                    told = f"The model could not be sent to the Dask workers ({raised(error)})."
                    raise TeamError(told) from error
                sleep(1)
            else:
                break

    @property
    def workers(self) -> int:
        """Threads of all workers; the cluster may grow and shrink."""
        if monotonic() - self._counted > 5 or not self._threads:
            with suppress(OSError):  # whether the scheduler is gone shows elsewhere
                self._threads = sum(self._client.nthreads().values())
            self._counted = monotonic()
            if self._threads:
                self._since_empty = monotonic()
        return max(1, self._threads)

    def submit(self, piece: Piece) -> None:
        """Give a piece to the cluster."""
        key = f"{self._name}-{next(self._numbers)}"
        alone = not self._pieces
        for other in self._pieces.values():
            other.alone = False
        try:
            topic = None if self._limit is None else self._name
            future = self._client.submit(_do, self._name, piece, topic, key, key=key, pure=False)
        except Exception as error:
            self._check()
            raise TeamError(f"A piece could not be given to Dask ({raised(error)}).") from error
        self._pieces[key] = _AtWork(piece, future, alone)
        future.add_done_callback(lambda _: self._back.put(key))

    def wait(self, seconds: float) -> Sequence[Done[R] | Lost]:
        """What has come back; a worker whose piece is overdue is restarted."""
        deadline = monotonic() + seconds
        while True:
            self._check()
            overdue = self._overdue()
            if overdue:
                return overdue
            rest = deadline - monotonic()
            try:
                key = self._back.get(timeout=max(0.0, min(rest, _LOOK)))
            except Empty:
                if rest <= 0:
                    return []
                continue
            work = self._pieces.pop(key, None)
            if work is not None:  # else it was given up before
                return self._read(key, work)

    def _read(self, key: str, work: _AtWork) -> Sequence[Done[R] | Lost]:
        from concurrent.futures import CancelledError

        from distributed import KilledWorker

        try:
            result, seconds = work.future.result(timeout=_FETCH)
        except KilledWorker as error:
            times = error.allowed_failures + 1
            told = "the worker ended" + (f", {times} times" if times > 1 else "")
            return [Lost(work.piece, told, alone=work.alone)]
        except CancelledError:
            raise self._gone() from None
        except Exception as error:
            if work.future.status == "error":
                return [Lost(work.piece, raised(error), error)]
            # It was there, and its worker is gone: Dask makes it again.
            self._check()
            self._pieces[key] = work
            work.future.add_done_callback(lambda _: self._back.put(key))
            return []
        return [Done(work.piece, result, seconds)]

    def _started(self, event: tuple[float, dict[str, str]]) -> None:
        """A worker says that it has begun with a piece."""
        _, told = event
        work = self._pieces.get(told["key"])
        if work is not None:
            work.worker, work.since = told["worker"], monotonic()

    def _overdue(self) -> list[Lost]:
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
        told = f"took longer than {limit:g} s"
        return [Lost(work.piece, told, alone=work.alone) for work in late.values()]

    def _end_worker(self, address: str) -> None:
        # What it does cannot be interrupted, so the process must go; a nanny starts another.
        for other in self._pieces.values():
            if other.worker == address:
                other.since = None
        try:
            self._client.run(_leave, workers=[address], wait=False)
        except Exception:  # it may be gone already
            self._check()

    def _check(self) -> None:
        if self._client.status not in ("running", "connecting"):
            raise self._gone()
        if self._pieces and self.workers and not self._threads:
            waited = monotonic() - self._since_empty
            if waited > _PATIENCE:
                raise TeamError(f"The Dask cluster has had no worker for {duration(waited)}.")

    def _gone(self) -> TeamError:
        address = self._client.scheduler.address if self._client.scheduler else "its address"
        return TeamError(f"The connection to the Dask scheduler at {address} was lost.")

    def close(self) -> None:
        """Cancel what is under way, and take the function back; a client given stays open."""
        if self._client.status == "running":
            self._client.cancel([work.future for work in self._pieces.values()], force=True)
            with suppress(OSError, ValueError):  # it was not there yet
                self._client.unregister_worker_plugin(self._name)
        self._pieces.clear()
        if self._own:
            self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _AtWork:
    """A piece under way."""

    def __init__(self, piece: Piece, future: Any, alone: bool) -> None:
        self.piece, self.future, self.alone = piece, future, alone
        self.worker: str | None = None
        self.since: float | None = None


class _UnreadableError(Exception):
    """The function cannot be read where it was sent."""


_FUNCTIONS: dict[str, Any] = {}
"""On a worker: what each team does, by the team's name."""


def _function(name: str, packed: bytes) -> Any:
    """What carries the function to the workers; a class of Dask's own, so made when it is there."""
    from distributed import WorkerPlugin

    class Function(WorkerPlugin):
        def setup(self, worker: Any) -> None:
            _read_function(name, packed)

        def teardown(self, worker: Any) -> None:
            _FUNCTIONS.pop(name, None)

    return Function()


def _read_function(name: str, packed: bytes) -> None:
    try:
        _FUNCTIONS[name] = pickle.loads(packed)
    except Exception as error:
        raise _UnreadableError(raised(error)) from error


def _do(name: str, piece: Piece, topic: str | None, key: str) -> tuple[Any, float]:
    """What a worker does."""
    if topic is not None:
        from distributed import get_worker

        worker = get_worker()
        worker.log_event(topic, {"key": key, "worker": worker.address})
    started = perf_counter()
    return _FUNCTIONS[name](piece), perf_counter() - started


async def _leave() -> None:
    os._exit(1)


def _version() -> str:
    from suffice import __version__

    return __version__


def _packed(function: Does[Any]) -> bytes:
    import cloudpickle  # type: ignore[import-untyped,unused-ignore]

    try:
        return cast(bytes, cloudpickle.dumps(function, protocol=5))
    except Exception as error:
        got = f"a model that cannot be sent to a cluster ({one_line(error.__cause__ or error)})"
        hint = "Wrap it in an object that can be pickled."
        raise InputError("client", got, "a model that can be sent", hint) from error


def _connected(client: Any) -> tuple[Any, bool]:
    """A client, and whether it is ours to close."""
    try:
        from distributed import Client
    except ImportError as error:
        hint = 'Install it: pip install "suffice[dask]".'
        raise InputError(
            "client", "a Dask cluster, but distributed is not installed", "None", hint
        ) from error
    if isinstance(client, Client):
        if client.asynchronous:
            raise InputError("client", "an asynchronous client", "Client(asynchronous=False)")
        return client, False
    if not isinstance(client, str):
        raise InputError("client", client, "a distributed.Client or the address of a scheduler")
    try:
        return Client(client, set_as_default=False), True  # type: ignore[no-untyped-call,unused-ignore]
    except (OSError, ValueError, TimeoutError) as error:
        got = f"{client!r}, where no scheduler answers ({raised(error)})"
        raise InputError(
            "client", got, "the address of a Dask scheduler, such as tcp://host:8786"
        ) from error
