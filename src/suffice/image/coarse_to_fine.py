"""From coarse to fine: split some regions, and leave all else as a set that names them has it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from suffice.context.hybrids import Context
from suffice.context.players import Players
from suffice.context.swap import PooledHybrids
from suffice.image.references import listed
from suffice.image.regions import Labels
from suffice.tables.arrays import ArrayTable
from suffice.tables.table import Table
from suffice.typing import Counts, Held

__all__ = ["Surroundings", "part_marks", "part_names", "split_regions"]


@dataclass(frozen=True)
class Surroundings(Context):
    """How parts of some regions mix with references while all other pixels stay put.

    All else is replaced in the keep view and held in the flip view, as it is for any set that names
    nothing of it. A hybrid is a row of cells for the parts and one more cell for the rest: 0 where
    the rest is held, else the number of the same reference that replaced parts come from.
    """

    kind = "parts"

    regions: tuple[str, ...]
    elsewhere: str
    """What the picture looks like where it is replaced."""

    def bind(self, pool: Table, players: Players, seed: int) -> tuple[PartHybrids, PartHybrids]:
        """Each view has hybrids of its own: they differ in the rest."""
        return PartHybrids(pool, players, False), PartHybrids(pool, players, True)

    def describe(self) -> str:
        """What is split, and what becomes of the rest."""
        return f"parts of {listed(self.regions)}; all else {self.elsewhere} (keep) or held (flip)"


@dataclass(frozen=True, eq=False)
class PartHybrids(PooledHybrids):
    """Rows of cells, the last of which is the rest of the picture."""

    rest_held: bool

    def rows(self, held: Held, references: Counts) -> ArrayTable:
        """Build row i from parts held[i] and reference references[i]."""
        cells = np.asarray(self.pool.splice(held, references + 1).native)
        rest = np.zeros_like(references) if self.rest_held else references + 1
        names = (*self.pool.names, "the rest")
        return ArrayTable(np.column_stack([cells, rest]), names)

    def donors(self, held: Held) -> None:
        """A region has no value to put a cost on."""


def split_regions(labels: Labels, regions: Sequence[int], n: int) -> tuple[Labels, tuple[int, ...]]:
    """Split regions into about n parts of one size; also tell which region each part is of.

    Pixels of no part get the next number: the rest.

    >>> labels, owners = split_regions(np.array([[0, 0, 0, 0, 1, 1]]), [0], 2)
    >>> labels.tolist(), owners
    ([[0, 0, 1, 1, 2, 2]], (0, 0))
    """
    sizes = np.array([np.sum(labels == region) for region in regions])
    # Each region has at least one part; the others go one by one to where parts are largest.
    parts = np.ones(len(regions), dtype=int)
    for _ in range(n - len(regions)):
        room = np.where(parts < sizes, sizes / parts, 0)
        if not room.any():
            break
        parts[room.argmax()] += 1
    out = np.full(labels.shape, int(parts.sum()), dtype=np.int64)
    owners: list[int] = []
    for region, count in zip(regions, parts.tolist(), strict=True):
        for piece in _pieces(np.argwhere(labels == region), count):
            out[piece[:, 0], piece[:, 1]] = len(owners)
            owners.append(region)
    return out, tuple(owners)


def part_names(owners: Sequence[str]) -> tuple[str, ...]:
    """A name for each part; a region that was left whole keeps its own.

    >>> part_names(["region 2", "region 2", "sky"])
    ('region 2 part 1', 'region 2 part 2', 'sky')
    >>> part_names(["sky part 1", "sky part 1"])
    ('sky part 1.1', 'sky part 1.2')
    """
    joints = ("." if " part " in owner else " part " for owner in owners)
    numbered = zip(owners, joints, _numbers(owners), strict=True)
    return tuple(f"{owner}{joint}{k}" if k else owner for owner, joint, k in numbered)


def part_marks(owners: Sequence[int], marks: Sequence[str]) -> tuple[str, ...]:
    """What is written on each part of a region, given what is written on the regions.

    >>> part_marks([0, 0, 1], ["2", "sky"])
    ('2.1', '2.2', 'sky')
    """
    numbered = zip(owners, _numbers(owners), strict=True)
    return tuple(f"{marks[o]}.{k}" if k and marks[o] else marks[o] for o, k in numbered)


def _numbers(owners: Sequence[Hashable]) -> list[int]:
    """The number of each part among those of its owner; 0 where it is the only one."""
    counts, seen = Counter(owners), Counter[Hashable]()
    numbers = []
    for owner in owners:
        seen[owner] += 1
        numbers.append(seen[owner] if counts[owner] > 1 else 0)
    return numbers


def _pieces(pixels: Counts, count: int) -> list[Counts]:
    """Cut across the longer side until there are enough: compact, of one size, in any shape."""
    if count == 1:
        return [pixels]
    first = count // 2
    longer = int(np.ptp(pixels, axis=0).argmax())
    # Along the other side within equal places, so that the cut is clean.
    order = np.lexsort((pixels[:, 1 - longer], pixels[:, longer]))
    cut = round(len(pixels) * first / count)
    before, after = pixels[order[:cut]], pixels[order[cut:]]
    return _pieces(before, first) + _pieces(after, count - first)
