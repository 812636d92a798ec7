"""Direction, higher or lower, in which the cheapest changes that need a feature move it.

A change needs a feature if the set without it flips the outcome for no reference. Reason letters
say "too low" or "too high" by this, so the cheapest change is looked for among all sets that were
counted, not only among those that are minimal at some threshold; and where equally cheap changes
disagree, no direction is claimed.
"""

from __future__ import annotations

import numpy as np

from suffice.context.cost import SetCosts
from suffice.context.hybrids import Hybrids
from suffice.context.swap import PooledHybrids
from suffice.explanation.schema import Direction
from suffice.explanation.sufficient_factor import Player
from suffice.factors.order import COST_TOLERANCE
from suffice.search.exhaustive import Sweep
from suffice.tables import as_scalar
from suffice.tables.cells import missing_mask
from suffice.typing import BoolVector, Counts, Reals

_MAX_PAIRS = 1 << 27
"""Limit on pairs of a set and a reference that are priced; above it no direction is known."""
_PAIRS_PER_BLOCK = 1 << 20


def find_directions(
    sweep: Sweep | None, hybrids: Hybrids, costs: Reals, players: tuple[Player, ...]
) -> dict[str, Direction]:
    """Return the direction of each feature that is one number and that some change needs.

    `sweep` is that of the flip view, and `costs` are (references, players).
    """
    if sweep is None or not sweep.tally.complete or not isinstance(hybrids, PooledHybrids):
        return {}
    moves = {i: move for i in range(hybrids.d) if (move := _moves(hybrids, i)) is not None}
    # Replacing a set is holding its complement, and complements are numbered backwards.
    flips = np.asarray(sweep.tally.dense[::-1] < sweep.tally.n)
    masks = np.flatnonzero(flips)
    some = np.zeros(len(masks), dtype=bool)
    for i in moves:
        some |= _needs(masks, i, flips)
    masks = masks[some]
    if len(masks) * hybrids.n * len(moves) > _MAX_PAIRS:
        return {}
    least = {i: np.full(hybrids.n, np.inf) for i in moves}
    prices = SetCosts(costs)
    for block in np.array_split(masks, 1 + len(masks) * hybrids.n // _PAIRS_PER_BLOCK):
        price = prices.of_masks(block)
        price[sweep.outcomes_of(len(flips) - 1 - block)] = np.inf
        for i, move in moves.items():
            cheapest = price[_needs(block, i, flips)].min(axis=0, initial=np.inf)
            # Setting a feature to the value that it has shows nothing about it.
            least[i] = np.minimum(least[i], np.where(move == 0, np.inf, cheapest))
    found: dict[str, Direction] = {}
    for i, cost in least.items():
        if np.isfinite(cost).any():
            ways = set(moves[i][cost <= cost.min() * (1 + COST_TOLERANCE)].tolist())
            one = _NAMES.get(min(ways), "either")
            found[players[i].name] = one if len(ways) == 1 else "either"
    return found


def _needs(masks: Counts, i: int, flips: BoolVector) -> BoolVector:
    """Return which sets have feature i and, without it, flip for no reference."""
    return np.asarray((masks >> i & 1 == 1) & ~flips[masks & ~(1 << i)])


_MADE_MISSING = 2
_NAMES: dict[int, Direction] = {1: "higher", -1: "lower"}


def _moves(hybrids: PooledHybrids, player: int) -> Counts | None:
    """Return, by reference, 1 for a higher value than the input's, −1 for a lower one, 0 for it.

    None if the feature is not one number. A missing value is neither higher nor lower.
    """
    columns = hybrids.players.columns[player]
    values = hybrids.pool.column(columns[0])
    missing = missing_mask(values)
    if len(columns) > 1 or missing[0]:
        return None
    if values.dtype.kind == "O":
        known = values[~missing]
        if any(
            isinstance(v, bool) or not isinstance(v, int | float) for v in map(as_scalar, known)
        ):
            return None
    elif values.dtype.kind not in "iuf":
        return None
    # Compared as they are: large integers would be rounded as floats.
    higher, lower = (np.zeros(len(values), dtype=bool) for _ in range(2))
    higher[~missing] = values[~missing] > values[0]
    lower[~missing] = values[~missing] < values[0]
    return np.asarray(higher.astype(np.int64) - lower + _MADE_MISSING * missing)[1:]
