"""Cost model of engines: predicted work, the choice of numba or NumPy by it, and threads.

Which engine is used, which search is planned and how far a search goes must not depend on the speed
or the load of a machine. So they compare counts of work: rows × the cost of a row of that kind of
model, leaves, hybrids, sets. One unit is about a nanosecond on a laptop with two cores and numba.
The constants are rough (a factor of three either way) and fixed: they do not change with what is
installed, so every machine chooses the same. `estimate_seconds` turns work into seconds for
display; no choice may depend on a clock unless the user sets a time limit.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal

import numpy as np

from suffice.context.hybrids import Hybrids, SwapHybrids

UNITS_PER_SECOND = 1e9
"""Work in a second; for display only."""

CALL = 1e6
"""One call of a model, whatever the number of rows."""

ROW = 500.0
"""Building one row of a hybrid and reading its answer."""

UNKNOWN_MODEL = 2e4
"""One row of a model of which nothing is known: a callable, a network, an unknown estimator."""

TEXT_ROW = 5e4
"""Joining the words of a text and cutting it into words again."""

IMAGE_ROW = 1e6
"""Composing one image and predicting it by a model of which nothing is known."""

NETWORK_ROW = 2e3
"""One row of a neural network, beside its products."""

NETWORK_PRODUCT = 0.02
"""One product and sum in a neural network: its library uses all lanes of all cores."""

CONVOLUTION_POSITIONS = 256.0
"""Times that a row uses each weight of a convolution: the positions of its map, as a rough mean."""

TOKENS = 32.0
"""Times that a text uses each weight of a network: its tokens, as a rough mean."""

TREE = 100.0
"""One row in one tree, as a library of compiled trees needs it."""

MULTIPLICATION = 1.0
"""One product and sum in a matrix product."""

LOOKUP = 100.0
"""Telling a hybrid from those predicted before, by its key."""

LATTICE_CELL = 5.0
"""One hybrid of a sweep of the lattice by trees, once the leaves were added."""

LEAF = 500.0
"""One leaf beside one block of references in a sweep of the lattice by trees."""

LIST_LEAF = 200.0
"""One leaf in a rectangle of 64 subsets × 64 references."""

ADDITIVE_SUM = 2.0
"""One margin of one hybrid in a sweep of the lattice by an additive model."""

MIN_WORK_SAVED = 5e6
"""An engine that reads the model is used unless asking the model saves more than this."""


def estimate_seconds(work: float) -> float:
    """Return the seconds that an amount of work is said to take, for display."""
    return work / UNITS_PER_SECOND


def row_work(model: Any) -> float:
    """Return the work of one row of a model in a call with many rows.

    `model` is a target's model; its `original` is the user's own. Trees, networks, kernels and
    coefficients are counted where scikit-learn's attributes name them.
    """
    original = getattr(model, "original", model)
    if hasattr(original, "of_texts"):
        network = getattr(original.of_texts, "model", None)  # of a pipeline of transformers
        return TEXT_ROW + (TOKENS * _network_work(network) or row_work(original.of_texts))
    if hasattr(original, "of_images"):
        return IMAGE_ROW + _network_work(original.of_images)
    return ROW + _estimator_work(original)


def max_distinct_rows(hybrids: Hybrids) -> float:
    """Return a bound on the number of distinct rows among all hybrids.

    A reference that agrees with the input on k of d players makes at most 2^(d - k) rows, and there
    are no more rows than combinations of the players' values.
    """
    if not isinstance(hybrids, SwapHybrids):
        return float(np.ldexp(hybrids.n, min(hybrids.d, 1000)))
    differing = (hybrids.codes[1:] != hybrids.codes[0]).sum(axis=1).astype(float)
    with np.errstate(over="ignore"):
        rows = np.exp2(differing).sum()
        return float(min(rows, np.prod(hybrids.codes.max(axis=0) + 1.0)))


def lattice_work(model: Any, hybrids: Hybrids) -> float:
    """Return the work of predicting each distinct hybrid once with the model."""
    finding = LOOKUP * np.ldexp(float(hybrids.n), min(hybrids.d, 1000))
    return CALL + max_distinct_rows(hybrids) * row_work(model) + float(finding)


def _estimator_work(model: Any) -> float:
    """Return the work of one row of a fitted estimator, `UNKNOWN_MODEL` where nothing is known."""
    steps = getattr(model, "steps", None)
    if isinstance(steps, list) and steps:  # a pipeline: its steps before the last are cheap
        return len(steps) * ROW + _estimator_work(steps[-1][-1])
    members = getattr(model, "estimators_", None)
    if isinstance(members, list | np.ndarray) and len(members):
        return _members_work(np.asarray(members, dtype=object).ravel())
    if hasattr(model, "tree_"):
        return TREE
    for name in ("_predictors", "n_estimators"):  # histogram boosting; xgboost and lightgbm
        trees = getattr(model, name, None)
        count = len(trees) if isinstance(trees, list) else trees
        if isinstance(count, int) and not isinstance(count, bool):
            return TREE * count
    sizes = [_size(model, n) for n in ("support_vectors_", "_fit_X", "X_train_", "coef_")]
    if isinstance(layers := getattr(model, "coefs_", None), list):
        sizes += [float(np.size(layer)) for layer in layers]
    return MULTIPLICATION * sum(sizes) or _network_work(model) or UNKNOWN_MODEL


def _network_work(model: Any) -> float:
    """Return the work of one row of a torch module or a keras model, 0 for any other model."""
    weights = getattr(model, "parameters", None) or getattr(model, "weights", None)
    if callable(weights):
        weights = weights()
    shapes = [getattr(weight, "shape", None) for weight in weights or ()]
    if not shapes or not all(isinstance(shape, tuple) for shape in shapes):
        return 0.0
    products = sum(
        float(np.prod(shape)) * (CONVOLUTION_POSITIONS if len(shape) > 2 else 1.0)
        for shape in shapes
        if shape is not None
    )
    return NETWORK_ROW + NETWORK_PRODUCT * products


def _members_work(members: Any) -> float:
    return float(sum(_estimator_work(member) for member in members))


def _size(model: Any, name: str) -> float:
    """Return how many numbers a fitted array holds; 0 where the model has none."""
    return float(getattr(getattr(model, name, None), "size", 0.0))


# Choice between compiled (numba) and NumPy kernels, and threads for their tasks.
#
# The compiled kernels are much faster, once numba is loaded; that takes most of a second. Whether
# it will pay is not known in advance, since more questions may come: a ski rental decides. Both
# give the same outcomes, bit by bit. The choice follows from counts of work, so that runs are
# repeatable.


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
    helpers = [_thread_pool().submit(take) for _ in range(min(workers, tasks) - 1)]
    try:
        take()  # this thread works, too
        for helper in helpers:
            helper.result()
    finally:
        for _ in left:  # after an error nobody takes more
            pass
        wait([helper for helper in helpers if not helper.cancel()])  # those that have begun


@cache
def _thread_pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(available_cores(), thread_name_prefix="suffice-trees")
