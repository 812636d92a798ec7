"""What counts of all sets say, in small numbers by bit mask, against Definition 4 word by word."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

from suffice.factors.lattice import Lattice, by_level
from suffice.inference import (
    adjusted_p_values,
    clopper_pearson,
    interval_and_p_value,
    lower_bound,
    p_value,
)
from suffice.search.exhaustive import Tally
from suffice.search.profile import Profile


@st.composite
def worlds(draw):
    d, n = draw(st.integers(1, 4)), draw(st.sampled_from([1, 3, 12, 300]))
    some = draw(st.lists(st.integers(0, n), min_size=1, max_size=6))
    hits = draw(st.lists(st.sampled_from(some), min_size=1 << d, max_size=1 << d))
    return Tally.of_dense(np.array(hits), n)


def sets_of(d):
    return [s for size in range(d + 1) for s in combinations(range(d), size)]


def passing(tally, alpha, adjust, largest):
    """By set: the largest τ at which it passes, one set of the family after the other."""
    family = [s for s in sets_of(tally.d) if len(s) <= largest]
    hits = {s: tally.hits(s) for s in family}
    if alpha is None:
        return {s: hits[s] / tally.n for s in family}
    m, out, last = len(family), {}, None
    ordered = sorted(family, key=lambda s: -hits[s])
    if adjust in ("holm", "bh"):
        for rank, s in enumerate(ordered, start=1):
            level = alpha / (m + 1 - rank) if adjust == "holm" else alpha * rank / m
            out[s] = float(lower_bound(hits[s], tally.n, level))
        for s in ordered if adjust == "holm" else ordered[::-1]:
            if last is not None:
                out[s] = min(out[s], out[last]) if adjust == "holm" else max(out[s], out[last])
            last = s
        return out
    level = alpha / m if adjust == "bonferroni" else alpha
    return {s: float(lower_bound(hits[s], tally.n, level)) for s in family}


TESTS = [(None, "none"), (0.2, "none"), (0.2, "bonferroni"), (0.3, "holm"), (0.3, "bh")]


@pytest.mark.parametrize(("alpha", "adjust"), TESTS)
@given(worlds(), st.integers(0, 4), st.sampled_from([0.01, 0.3, 0.5, 2 / 3, 1.0]))
def test_minimal_sets_and_necessity_are_what_the_definitions_say(
    alpha, adjust, tally, largest, tau
):
    profile = Profile(tally, alpha, adjust, max_size=largest)
    passes = passing(tally, alpha, adjust, min(largest, tally.d))
    assume(all(level == tau or abs(level - tau) > 1e-9 for level in passes.values()))

    def below(s):
        return max((passes.get(t, 0.0) for t in sets_of(tally.d) if set(t) < set(s)), default=0.0)

    minimal = {s for s in passes if below(s) < tau <= passes[s]}
    found = profile.minimal_at(tau)
    assert {m.members for m in found} == minimal
    order = [(len(m.members), -m.hits, m.members[::-1]) for m in found]
    assert order == sorted(order)
    for m in found:
        assert m.hits == tally.hits(m.members)
        assert (m.low, m.high) == pytest.approx((below(m.members), passes[m.members]), abs=1e-12)
        assert profile.interval(m.members) == (m.low, m.high)
    closed = [s for s in sets_of(tally.d) if any(set(m) <= set(s) for m in minimal)]
    total = sum(map(tally.hits, sets_of(tally.d)))
    assert profile.covered(tau) == (sum(map(tally.hits, closed)), total)
    surest = max((tally.hits(s), -len(s)) for s in passes)
    assert profile.best is not None
    assert profile.best.hits == tally.hits(profile.best.members)
    assert (profile.best.hits, -len(profile.best.members)) == surest


@given(worlds(), st.data())
def test_sizes_that_weigh_more_count_more(tally, data):
    d, tau = tally.d, 0.5
    weights = tuple(data.draw(st.lists(st.floats(0.1, 9), min_size=d + 1, max_size=d + 1)))
    profile = Profile(tally, size_weights=weights)
    minimal = [set(m.members) for m in profile.minimal_at(tau)]

    def weight(s):
        return tally.hits(s) * weights[len(s)] / comb(d, len(s))

    closed = sum(weight(s) for s in sets_of(d) if any(m <= set(s) for m in minimal))
    total = sum(map(weight, sets_of(d)))
    covered, outcome = profile.covered(tau)
    assert (covered / outcome if outcome else 0) == pytest.approx(closed / total if total else 0)


@pytest.mark.parametrize("adjust", ["none", "bonferroni", "holm", "bh"])
@given(worlds(), st.sampled_from([0.3, 0.9]))
def test_adjusted_p_values_are_those_of_the_whole_family(adjust, tally, tau):
    profile = Profile(tally, 0.1, adjust)
    hits = [tally.hits(s) for s in sets_of(tally.d)]
    whole = adjusted_p_values(p_value(hits, tally.n, tau), adjust)
    for hit, p in zip(hits, whole.tolist(), strict=True):
        assert profile.p_value(hit, tau) == pytest.approx(p, rel=1e-12, abs=0)


@pytest.mark.parametrize("n", [1, 7, 700, 5000])
def test_certainty_is_the_interval_and_the_p_value_of_a_count(n):
    for hits in {0, 1, n // 2, n - 1, n}:
        low, high = clopper_pearson(hits, n)
        p = float(p_value(hits, n, 0.9))
        assert interval_and_p_value(hits, n, 0.9) == ((float(low), float(high)), p)


# Counts by bit mask and by level are two forms of one thing.


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
            assert ours.n_evaluated(size) == theirs.n_evaluated(size) == lattice.width(size)
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
    assert not other.complete and other.n_evaluated(1) == 1


@pytest.mark.parametrize("n", [3, 300])
def test_counts_of_the_smallest_type_are_kept_as_they_are(n):
    hits = np.arange(4, dtype=np.min_scalar_type(n))
    assert Tally.of_dense(hits, n).dense is hits


@pytest.mark.parametrize("adjust", ["none", "bonferroni", "holm", "bh"])
def test_a_search_that_evaluated_no_set_at_all_tests_none(adjust):
    empty = np.zeros(0, dtype=np.int64)
    for levels in ((empty,), (empty, empty, empty)):
        profile = Profile(Tally(2, 5, levels), 0.05, adjust)
        assert profile.n_tested == 0
        assert profile.p_value(5, 0.9) <= 1
