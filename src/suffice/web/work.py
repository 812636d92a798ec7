"""Long work for one visitor: in a thread of its own, with its progress told, and stoppable.

A search tells its progress bar how far it has come. Here the bar is the visitor's: it hears of it,
and when the visitor has gone, the next word of progress ends the search.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any

import msgspec

from suffice.errors import InputError, SufficeError
from suffice.progress import watched
from suffice.results import json_text

__all__ = ["VisitorLeft", "Watch", "Work", "told"]

_BETWEEN_WORDS = 0.25
"""Seconds between two lines of progress, and so until a visitor's leaving is noticed."""

_AT_ONCE = 2
"""Quick questions that are worked on together: more would only get in each other's way."""

_QUICK = 1.0
"""Seconds after which a question is no quick one any more, and lets the next have its turn."""

_THREADS = 64
"""Questions that can be in work at all."""


class VisitorLeft(Exception):  # noqa: N818 - nobody did wrong
    """The visitor has left."""


class Watch:
    """How far one piece of work has come, and whether anyone still waits for it."""

    def __init__(self) -> None:
        self.what = ""
        self.share: float | None = None
        self._gone = False

    def leave(self) -> None:
        """Nobody waits any more."""
        self._gone = True

    def __call__(self, what: str, done: float, total: float | None) -> None:
        """A word of progress, from the thread that works."""
        if self._gone:
            raise VisitorLeft
        self.what, self.share = what, min(1.0, done / total) if total else None


class Work:
    """The threads in which questions are answered."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="suffice-question")
        self._turns = asyncio.Semaphore(_AT_ONCE)

    def close(self) -> None:
        """Wait for nobody."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def lines(self, answer: Callable[[], Any]) -> AsyncIterator[bytes]:
        """Lines of JSON: progress, as long as it takes, and then the answer or the error."""
        watch, loop = Watch(), asyncio.get_running_loop()
        turn: asyncio.Future[Any] | None = asyncio.ensure_future(self._turns.acquire())
        try:
            while turn is not None and not await _done(turn):
                yield _line({"progress": None, "what": "waiting for others"})
            started = loop.time()
            run = copy_context().run
            work = loop.run_in_executor(self._threads, run, _watched, answer, watch)
            while not await _done(work):
                if turn is not None and loop.time() - started > _QUICK:
                    self._give_back(turn)
                    turn = None
                yield _line({"progress": watch.share, "what": watch.what})
            yield _line(work.result())
        finally:
            watch.leave()
            self._give_back(turn)

    def _give_back(self, turn: asyncio.Future[Any] | None) -> None:
        """Let the next one work; who never had a turn has none to give."""
        if turn is not None and not turn.cancel():
            self._turns.release()


async def _done(waited_for: asyncio.Future[Any]) -> bool:
    """Is it, within the time between two words?"""
    return bool((await asyncio.wait({waited_for}, timeout=_BETWEEN_WORDS))[0])


def _watched(answer: Callable[[], Any], watch: Watch) -> dict[str, Any]:
    try:
        with watched(watch):
            return {"answer": answer()}
    except VisitorLeft:
        return {"error": {"message": "stopped", "argument": None}}
    except Exception as error:
        if not isinstance(error, SufficeError):
            logging.getLogger("suffice").exception("A question could not be answered.")
        return {"error": told(error)}


def told(error: Exception) -> dict[str, Any]:
    """An error as a sentence; a fault of ours says so, and what it was stays here."""
    if isinstance(error, InputError):
        return {"message": str(error), "argument": error.argument}
    if isinstance(error, SufficeError):
        return {"message": str(error), "argument": None}
    words = f"This could not be answered ({type(error).__name__}). The server's screen says more."
    return {"message": words, "argument": None}


def _line(value: Any) -> bytes:
    return json_text(msgspec.to_builtins(value)).encode() + b"\n"
