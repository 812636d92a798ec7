"""The covering problem: the fewest columns of a table of truths, one of which is true in most rows.

It is solved exactly, by integer programming, where that ends in time; else the best cover found is
told with a bound: no fewer columns do.
"""

from __future__ import annotations

import numpy as np

from suffice.typing import Outcomes

__all__ = ["cover_with_fewest", "rows_needed"]

_SECONDS = 10.0


def cover_with_fewest(table: Outcomes, share: float) -> tuple[list[int], int]:
    """Columns, as few as can be, one of which is true in so large a share of rows; and a bound.

    Where that share cannot be reached, as large a one as can. The bound: no fewer columns do.

    >>> table = np.array([[1, 0, 1], [1, 0, 0], [0, 1, 1], [0, 1, 0]], dtype=bool)
    >>> cover_with_fewest(table, 1.0), cover_with_fewest(table, 0.5)
    (([0, 1], 2), ([0], 1))
    """
    reachable = int(table.any(axis=1).sum()) if table.size else 0
    needed = min(rows_needed(share, len(table)), reachable)
    greedy = _greedy(table, needed)
    if len(greedy) <= 1:
        return greedy, len(greedy)
    exact, bound = _exact(table, needed)
    if exact is not None and len(exact) <= len(greedy):
        return exact, bound
    return greedy, bound


def rows_needed(share: float, n: int) -> int:
    """The least number of n rows that is so large a share of them."""
    return int(np.ceil(share * n - 1e-9))


def _greedy(table: Outcomes, needed: int) -> list[int]:
    """The column that adds most, again and again; the first among equals."""
    known = np.zeros(len(table), dtype=bool)
    chosen: list[int] = []
    while known.sum() < needed:
        chosen.append(int((table & ~known[:, None]).sum(axis=0).argmax()))
        known |= table[:, chosen[-1]]
    return chosen


def _exact(table: Outcomes, needed: int) -> tuple[list[int] | None, int]:
    """By integer programming: a column is chosen or not, a row is covered or not.

    Rows that are alike are one, with their number; so are columns.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array, eye_array, hstack

    columns = np.unique(table, axis=1, return_index=True)[1]
    columns.sort()
    rows, times = np.unique(table[:, columns], axis=0, return_counts=True)
    n, m = rows.shape
    covers = hstack([csr_array(rows.astype(float)), -eye_array(n)]).tocsr()
    cost = np.concatenate([np.ones(m), np.zeros(n)])
    total = np.concatenate([np.zeros(m), times.astype(float)])[None, :]
    found = milp(
        cost,
        integrality=np.concatenate([np.ones(m), np.zeros(n)]),
        bounds=Bounds(0, 1),
        constraints=[LinearConstraint(covers, lb=0), LinearConstraint(total, lb=needed - 1e-6)],
        options={"time_limit": _SECONDS},
    )
    bound = 1 if found.mip_dual_bound is None else int(np.ceil(found.mip_dual_bound - 1e-6))
    if found.x is None:
        return None, max(1, bound)
    chosen = [int(columns[j]) for j in np.flatnonzero(found.x[:m] > 0.5)]
    known = table[:, chosen].any(axis=1).sum()
    return (chosen if known >= needed else None), max(1, bound)
