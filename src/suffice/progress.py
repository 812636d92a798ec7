"""The one progress bar: for work over a second, and on a terminal unless it is asked for."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

import numpy as np

from suffice.errors import InputError

__all__ = ["Progress", "checked_progress", "progress_bar"]


class Progress(Protocol):
    """What is told how far the work has come."""

    def update(self, n: float = 1) -> object:
        """So much more is done."""
        ...

    def set_postfix_str(self, s: str = "") -> object:
        """What else is to be known: errors so far."""
        ...


def progress_bar(
    what: str, total: float | None = None, progress: bool | None = None
) -> AbstractContextManager[Progress]:
    """A bar that counts `what` up to `total` (None: no end is known).

    `progress` None shows it on a terminal only, True anywhere, False nowhere.

    >>> with progress_bar("rows", 10, progress=False) as bar:
    ...     _ = bar.update(10)
    """
    shown = checked_progress(progress)
    from tqdm.auto import tqdm  # slow to import, so not at start-up

    disable = None if shown is None else not shown
    bar: AbstractContextManager[Progress] = tqdm(
        total=total, desc=what, unit="", unit_scale=True, delay=1, disable=disable
    )
    return bar


def checked_progress(given: object) -> bool | None:
    """Whether to show progress, as a user says it."""
    if given is None or isinstance(given, bool | np.bool_):
        return None if given is None else bool(given)
    got = repr(given) if isinstance(given, str) else given
    raise InputError("progress", got, "None, True or False")
