"""The lattice's numbering, against itertools."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from suffice.factors.lattice import Lattice, drop_one_ranks, masks_by_size


@pytest.mark.parametrize("d", range(7))
def test_levels_list_every_subset_once_in_mask_order(d):
    lattice = Lattice(d)
    masks = []
    for size in range(d + 1):
        members = lattice.members(size)
        assert {tuple(m) for m in members.tolist()} == set(combinations(range(d), size))
        level = [lattice.mask(m) for m in members.tolist()]
        assert level == sorted(level)
        assert [lattice.rank(m) for m in members.tolist()] == list(range(lattice.width(size)))
        held = lattice.held(size)
        assert [np.flatnonzero(row).tolist() for row in held] == members.tolist()
        masks += level
    assert masks == masks_by_size(d).tolist()
    assert len(masks) == lattice.count


@given(st.integers(1, 300), st.integers(0, 4), st.data())
def test_numbers_and_subsets_are_inverse_for_hundreds_of_players(d, size, data):
    lattice = Lattice(d)
    if size > d:
        return
    rank = data.draw(st.integers(0, lattice.width(size) - 1))
    members = lattice.unrank(size, np.array([rank]))[0].tolist()
    assert lattice.rank(members) == rank
    for position, without in enumerate(
        drop_one_ranks(np.array([members], dtype=np.int64), d)[0].tolist()
    ):
        rest = members[:position] + members[position + 1 :]
        assert lattice.rank(rest) == without
    # Complements are numbered backwards, even where the level is far too wide to list.
    held = lattice.held(d - size, lattice.width(size) - 1 - rank, lattice.width(size) - rank)
    assert np.flatnonzero(~held[0]).tolist() == members
