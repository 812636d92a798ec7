"""What the checks share: to claim something in words, to compare rows, to draw sets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from suffice.errors import one_line, shorten
from suffice.factors.lattice import held_of_masks
from suffice.tables.table import Table
from suffice.typing import BoolVector, Held

__all__ = ["claim", "draw_sets", "named_set", "raising", "same_cells", "same_dtypes", "sent"]

_WHOLE_LATTICE = 8
"""Players up to which every set is tried; of more, some are drawn."""

_SETS = 200


def claim(holds: object, words: str) -> None:
    """Raise an AssertionError in these words unless it holds."""
    if not holds:
        raise AssertionError(words)


@contextmanager
def raising(what: str) -> Iterator[None]:
    """Whatever is raised inside, but for a claim of ours, is a broken promise of `what`."""
    try:
        yield
    except AssertionError:
        raise
    except Exception as error:
        told = f"{type(error).__name__}: {one_line(error)}"
        raise AssertionError(f"{what} raised {told}") from error


def sent(thing: Any) -> Any:
    """What another process gets that is sent a thing."""
    import cloudpickle  # type: ignore[import-untyped,unused-ignore]

    return cloudpickle.loads(cloudpickle.dumps(thing))


def draw_sets(d: int, rng: np.random.Generator) -> Held:
    """(sets, d): every set of few players; of many some, the empty and the full one first."""
    if d <= _WHOLE_LATTICE:
        return held_of_masks(np.arange(1 << d), d)
    drawn = rng.random((_SETS, d)) < rng.random((_SETS, 1))
    drawn[0], drawn[1] = False, True
    return drawn


def named_set(held: BoolVector, names: tuple[str, ...]) -> str:
    """A set in braces, for a message.

    >>> named_set(np.array([True, False]), ("age", "debt")), named_set(np.array([False]), ("age",))
    ('{age}', '{}')
    """
    chosen = [name for name, kept in zip(names, held, strict=True) if kept]
    return "{" + ", ".join(chosen) + "}"


def same_cells(one: Table, other: Table) -> Held:
    """(rows, columns): which cells of two tables a model could not tell apart."""
    codes = one.stack(other).codes()
    return np.asarray(codes[: len(one)] == codes[len(one) :])


def same_dtypes(rows: Table, pool: Table, what: str) -> None:
    """Claim that rows have the pool's columns, in its dtypes and of its library."""
    got: Any = shorten(rows)
    claim(isinstance(rows, Table), f"{what} gives {got}: not a Table")
    claim(rows.names == pool.names, f"{what} gives columns {rows.names}, not {pool.names}")
    claim(
        type(rows.native) is type(pool.native),
        f"{what} gives a {type(rows.native).__name__}, not a {type(pool.native).__name__}",
    )
    for j, name in enumerate(pool.names):
        words = f"{what} gives {rows.dtype(j)} in column {name!r}, whose dtype is {pool.dtype(j)}"
        claim(rows.same_dtype(j, pool), words)
