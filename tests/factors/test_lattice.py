"""The lattice's numbering, against itertools."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from suffice.factors.lattice import (
    Lattice,
    by_level,
    by_mask,
    drop_one_ranks,
    held_of_masks,
    masks_by_size,
    masks_of_held,
    members_of,
    over_subsets,
    over_supersets,
    supersets_of,
)


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


@given(st.integers(1, 300), st.data())
def test_large_sets_are_numbered_by_what_they_leave_out(d, data):
    """Sets of nearly all players are found as fast as those of nearly none, and numbered alike."""
    lattice = Lattice(d)
    size = d - data.draw(st.integers(0, min(3, d)))
    ranks = np.array([data.draw(st.integers(0, lattice.width(size) - 1))])
    members = lattice.unrank(size, ranks)
    assert members.shape == (1, size) and (np.diff(members[0]) > 0).all()
    assert lattice.rank(members[0].tolist()) == ranks[0]
    assert np.flatnonzero(lattice.held_at(size, ranks)[0]).tolist() == members[0].tolist()


@given(st.integers(0, 6), st.data())
def test_arrays_over_all_subsets_say_the_same_by_mask_and_by_level(d, data):
    dense = np.array(data.draw(st.lists(st.integers(0, 9), min_size=1 << d, max_size=1 << d)))
    levels = by_level(dense)
    lattice = Lattice(d)
    for size, level in enumerate(levels):
        masks = [lattice.mask(m) for m in lattice.members(size).tolist()]
        assert level.tolist() == dense[masks].tolist()
    assert (by_mask(levels) == dense).all()
    masks = np.arange(1 << d)
    held = held_of_masks(masks, d)
    assert (masks_of_held(held) == masks).all()
    assert [members_of(m) for m in masks.tolist()] == [tuple(np.flatnonzero(h)) for h in held]

    inside = (masks[:, None] & masks) == masks[:, None]  # [s, t]: is s a subset of t?
    for operation in (np.add, np.maximum):
        below = [operation.reduce(dense[inside[:, t]]) for t in masks]
        above = [operation.reduce(dense[inside[s]]) for s in masks]
        assert over_subsets(dense.copy(), operation).tolist() == below
        assert over_supersets(dense.copy(), operation).tolist() == above
    some = data.draw(st.lists(st.sampled_from(masks.tolist()), max_size=3))
    assert supersets_of(some, d).tolist() == inside[some].any(axis=0).tolist()
