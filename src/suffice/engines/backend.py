"""Choice between compiled (numba) and NumPy kernels, and threads for their tasks.

The compiled kernels are much faster, once numba is loaded; that takes most of a second. Whether it
will pay is not known in advance, since more questions may come: a ski rental decides. Both give
the same outcomes, bit by bit. The choice follows from counts of work, so that runs are repeatable.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Literal

from suffice.engines.work import UNITS_PER_SECOND

Backend = Literal["numba", "numpy"]


class SkiRental:
    """Decides when to buy: once the rents paid would come to more than the price.

    Without knowing how often one will ski, that never costs more than twice the best choice.
    """

    def __init__(self, price: float) -> None:
        self.price = price
        self.paid = 0.0

    def should_buy(self, rent: float) -> bool:
        """Return whether this rent would bring the rents paid above the price."""
        return self.paid + rent > self.price

    def pay(self, rent: float) -> None:
        """Add a rent to those paid."""
        self.paid += rent


NUMPY_FACTOR = 20.0
"""How many times the work of the compiled kernels numpy's take."""

NUMBA_STARTUP = SkiRental(price=0.8 * UNITS_PER_SECOND)
"""The rent is the work that numpy did in this process; the price what loading numba takes."""


def choose_backend(work: float) -> Backend:
    """Return numba where it is loaded already, or where its start is earned back by now.

    `work` is that of the compiled kernels for what lies ahead.
    """
    if not numba_is_installed():
        return "numpy"
    if numba_is_loaded():
        return "numba"
    rent = NUMPY_FACTOR * work
    if NUMBA_STARTUP.should_buy(rent) and load_numba():
        return "numba"
    NUMBA_STARTUP.pay(rent)
    return "numpy"


@cache
def numba_is_installed() -> bool:
    """Return whether numba is installed."""
    return find_spec("numba") is not None


@cache
def load_numba() -> bool:
    """Load the compiled kernels; False where numba refuses, as a numpy newer than it knows."""
    try:
        import_module("suffice.engines.trees.numba_blocks")
    except ImportError:
        return False
    return True


def numba_is_loaded() -> bool:
    """Return whether the compiled kernels are loaded, so that using them costs no start."""
    return "suffice.engines.trees.numba_kernels" in sys.modules


def available_cores() -> int:
    """Return how many cores this process may use; OMP_NUM_THREADS limits them, as in workers."""
    share = os.environ.get("OMP_NUM_THREADS", "")
    most = int(share) if share.isdecimal() and int(share) else sys.maxsize
    if hasattr(os, "sched_getaffinity"):
        return min(most, len(os.sched_getaffinity(0)))
    return min(most, os.cpu_count() or 1)


def run_in_threads(work: Callable[[int], None], tasks: int, workers: int) -> None:
    """Run `work(task)` for all tasks in threads; an interrupt waits for those that have begun.

    Threads are kept for the next call: starting one takes as long as a small task.
    """
    left = iter(range(tasks))  # shared: each number is taken by one thread

    def take() -> None:
        for task in left:
            work(task)

    if min(workers, tasks) <= 1:
        return take()
    helpers = [_thread_pool().submit(take) for _ in range(min(workers, tasks))]
    try:
        for helper in helpers:
            helper.result()
    finally:
        for _ in left:  # after an error nobody takes more
            pass
        wait([helper for helper in helpers if not helper.cancel()])  # those that have begun


@cache
def _thread_pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(available_cores(), thread_name_prefix="suffice-trees")
