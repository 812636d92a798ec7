"""Assertions shared by the checks: requirements, comparison of rows, sampling of sets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from suffice.errors import one_line, short_repr
from suffice.factors.lattice import held_of_masks
from suffice.tables.table import Table
from suffice.typing import BoolVector, HeldSets

_MOST_PLAYERS_FOR_ALL_SETS = 8
"""Players up to which every set is tried; of more, some are drawn."""

_SETS = 200


def require(holds: object, words: str) -> None:
    """Raise an AssertionError with this message unless the condition holds."""
    if not holds:
        raise AssertionError(words)


@contextmanager
def errors_as_assertions(what: str) -> Iterator[None]:
    """Turn any error raised inside into an AssertionError that names `what`."""
    try:
        yield
    except AssertionError:
        raise
    except Exception as error:
        text = f"{type(error).__name__}: {one_line(error)}"
        raise AssertionError(f"{what} raised {text}") from error


def pickled_copy(thing: Any) -> Any:
    """Return a pickled and unpickled copy."""
    import cloudpickle  # type: ignore[import-untyped,unused-ignore]

    return cloudpickle.loads(cloudpickle.dumps(thing))


def sample_sets(d: int, rng: np.random.Generator) -> HeldSets:
    """Return (sets, d): all sets of few players; of many, a sample with the empty and full set."""
    if d <= _MOST_PLAYERS_FOR_ALL_SETS:
        return held_of_masks(np.arange(1 << d), d)
    drawn = rng.random((_SETS, d)) < rng.random((_SETS, 1))
    drawn[0], drawn[1] = False, True
    return drawn


def format_set(held: BoolVector, names: tuple[str, ...]) -> str:
    """Return a set in braces, for a message.

    >>> (format_set(np.array([True, False]), ("age", "debt")),
    ...  format_set(np.array([False]), ("age",)))
    ('{age}', '{}')
    """
    chosen = [name for name, kept in zip(names, held, strict=True) if kept]
    return "{" + ", ".join(chosen) + "}"


def equal_cells(one: Table, other: Table) -> HeldSets:
    """Return (rows, columns): which cells of two tables a model cannot distinguish."""
    codes = one.stack(other).codes()
    return np.asarray(codes[: len(one)] == codes[len(one) :])


def require_same_dtypes(rows: Table, pool: Table, what: str) -> None:
    """Require rows with the pool's columns, dtypes and library."""
    got: Any = short_repr(rows)
    require(isinstance(rows, Table), f"{what} gives {got}: not a Table")
    require(rows.names == pool.names, f"{what} gives columns {rows.names}, not {pool.names}")
    require(
        type(rows.native) is type(pool.native),
        f"{what} gives a {type(rows.native).__name__}, not a {type(pool.native).__name__}",
    )
    for j, name in enumerate(pool.names):
        words = f"{what} gives {rows.dtype(j)} in column {name!r}, whose dtype is {pool.dtype(j)}"
        require(rows.same_dtype(j, pool), words)
