"""Progress bars of long work, and listeners that receive its progress in place of a bar."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import partial
from types import TracebackType
from typing import Protocol
from warnings import catch_warnings, simplefilter

import numpy as np

from suffice.errors import InputError

LARGEST_TOTAL = 1 << 53
"""A progress bar with a larger total would never move."""


# The progress bar: shown for work over a second, by default only on a terminal.


ProgressListener = Callable[[str, float, float | None], None]
"""Receives what is counted, how much is done, and the total (None: not known)."""

_listener: ContextVar[ProgressListener | None] = ContextVar("watcher", default=None)


class Progress(Protocol):
    """Protocol of a progress bar."""

    def update(self, n: float = 1) -> object:
        """Add to what is done."""
        ...

    def set_postfix_str(self, s: str = "") -> object:
        """Show a short text beside the bar, such as the number of errors."""
        ...


def progress_bar(
    what: str, total: float | None = None, progress: bool | None = None
) -> AbstractContextManager[Progress]:
    """Return a bar that counts `what` up to `total` (None: not known).

    `progress` None shows it on a terminal only, True anywhere, False nowhere.

    >>> with progress_bar("rows", 10, progress=False) as bar:
    ...     _ = bar.update(10)
    """
    shown = check_progress(progress)
    watcher = _listener.get()
    if watcher is not None:
        return _listener_bar(watcher, what, total)
    if shown is False:
        return nullcontext(
            _SilentBar()
        )  # a bar, even one that is not shown, takes its time to make
    with catch_warnings():
        # In a notebook without ipywidgets the bar is a plain one, which is no news to a user.
        simplefilter("ignore")
        from tqdm.auto import tqdm  # slow to import, so not at start-up

    # None: where there is no terminal, tqdm itself shows nothing.
    disable = None if shown is None else False
    bar: AbstractContextManager[Progress] = tqdm(
        total=total, desc=what, unit="", unit_scale=True, delay=1, disable=disable
    )
    return bar


def check_progress(given: object) -> bool | None:
    """Return the argument `progress`, or raise unless it is None, True or False."""
    if given is None or isinstance(given, bool | np.bool_):
        return None if given is None else bool(given)
    got = repr(given) if isinstance(given, str) else given
    raise InputError("progress", got, "None, True or False")


@contextmanager
def listen_to_progress(watcher: ProgressListener) -> Iterator[None]:
    """Send all progress made inside to `watcher`, not to a bar; an error of it ends the work.

    >>> with listen_to_progress(lambda what, done, total: print(f"{done:g} of {total} {what}")):
    ...     with progress_bar("rows", 10) as bar:
    ...         _ = bar.update(4)
    0 of 10 rows
    4 of 10 rows
    """
    # A context variable: requests of several visitors run in threads and must not hear of each
    # other.
    before = _listener.set(watcher)
    try:
        yield
    finally:
        _listener.reset(before)


class _SilentBar:
    """Progress bar that does nothing."""

    def update(self, n: float = 1) -> None:
        """Add to what is done."""

    def set_postfix_str(self, s: str = "") -> None:
        """Ignore the text, which tqdm would show behind the bar."""


class _ListenerBar:
    """Progress bar that sends its count to a listener."""

    def __init__(self, watcher: ProgressListener, what: str, total: float | None) -> None:
        self._facts = watcher, what, total
        self._done = 0.0
        self.update(0)

    def update(self, n: float = 1) -> None:
        """Add to what is done."""
        watcher, what, total = self._facts
        self._done += n
        watcher(what, self._done, total)

    def set_postfix_str(self, s: str = "") -> None:
        """Ignore the text: listeners receive numbers only."""


@contextmanager
def _listener_bar(watcher: ProgressListener, what: str, total: float | None) -> Iterator[Progress]:
    yield _ListenerBar(watcher, what, total)


# Interrupts of long work.


@contextmanager
def interrupts_say(what: Callable[[], str]) -> Iterator[None]:
    """Add to a KeyboardInterrupt what was done, and how to go on."""
    try:
        yield
    except KeyboardInterrupt as error:
        # From None: the traceback of the interrupted line says nothing that helps.
        raise _explained_interrupt(f"{str(error) or 'interrupted'}: {what()}") from None


def _explained_interrupt(text: str) -> KeyboardInterrupt:
    """Return an interrupt that a script, a terminal and a notebook show without a traceback.

    It is no subclass: Python ends by the signal, as shells expect, for KeyboardInterrupt itself
    only.
    """
    interrupt = KeyboardInterrupt(text)
    vars(interrupt)[_SHOWN_BY_IPYTHON] = partial(list, (text,))
    if sys.excepthook is sys.__excepthook__:  # the hook of another program stays
        sys.excepthook = _print_interrupt
    return interrupt


_SHOWN_BY_IPYTHON = "_render_traceback_"
"""Name under which IPython looks for the lines to show in place of a traceback."""


def _print_interrupt(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Print an explained interrupt as its sentence, and every other exception as Python does."""
    if isinstance(error, KeyboardInterrupt) and _SHOWN_BY_IPYTHON in vars(error):
        print(error, file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, trace)


def search_lost_text() -> str:
    """Return what became of a search for one row, and how to have what it finds until an end."""
    return (
        "nothing is kept of this search; with a budget, max_size or time_limit it ends by itself "
        "with what it has found"
    )
