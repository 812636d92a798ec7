"""For peers that draw from numpy's global generator: seed it, and leave it as it was."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

__all__ = ["seeded"]


@contextmanager
def seeded(*seed: int) -> Iterator[None]:
    """The peers offer no generator of their own to pass in."""
    before = np.random.get_state()  # noqa: NPY002
    np.random.seed(seed[0] if len(seed) == 1 else seed)  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(before)  # noqa: NPY002
