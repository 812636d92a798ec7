"""Counts by bit mask and by level are two forms of one thing."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from suffice.factors.lattice import Lattice, by_level
from suffice.search.tally import Tally


@st.composite
def counts(draw):
    d, n = draw(st.integers(1, 6)), draw(st.sampled_from([1, 7, 255, 256, 70_000]))
    hits = draw(st.lists(st.integers(0, n), min_size=1 << d, max_size=1 << d))
    return np.array(hits), n


@given(counts())
def test_counts_by_mask_and_by_level_answer_alike(world):
    hits, n = world
    dense, levels = Tally.of_dense(hits, n), Tally(len(hits).bit_length() - 1, n, by_level(hits))
    lattice = Lattice(dense.d)
    for ours, theirs in ((dense, levels), (dense.other_view(), levels.other_view())):
        assert ours.dense.dtype == theirs.dense.dtype == np.min_scalar_type(n)
        assert (ours.dense == theirs.dense).all()
        assert ours.complete and theirs.complete
        assert (ours.visited, ours.exhaustive_size) == (theirs.visited, theirs.exhaustive_size)
        for size in range(dense.d + 1):
            assert ours.levels[size].dtype == np.int64
            assert ours.levels[size].tolist() == theirs.levels[size].tolist()
            assert ours.listed(size) == theirs.listed(size) == lattice.width(size)
            assert ours.start(size) == theirs.start(size) == 0
    for mask, hit in enumerate(hits.tolist()):
        members = [j for j in range(dense.d) if mask >> j & 1]
        assert dense.hits(members) == levels.hits(members) == hit


def test_the_other_view_of_a_bounded_tally_is_what_its_levels_say_backwards():
    hits = np.array([0, 1, 2, 3, 4, 5, 6, 7])
    whole = by_level(hits)
    bounded = Tally(3, 9, (whole[0], whole[1], whole[2][:1], whole[3]))
    other = bounded.other_view()
    assert [level.tolist() for level in other.levels] == [[2], [6], [5, 7, 8], [9]]
    assert other.starts == (0, 2, 0, 0)
    assert not other.complete and other.listed(1) == 1


@pytest.mark.parametrize("n", [3, 300])
def test_counts_of_the_smallest_type_are_kept_as_they_are(n):
    hits = np.arange(4, dtype=np.min_scalar_type(n))
    assert Tally.of_dense(hits, n).dense is hits
