"""What counts of all sets say, in small numbers by bit mask, against Definition 4 word by word."""

from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

from suffice.inference import adjusted_p_values, certainty, clopper_pearson, lower_bound, p_value
from suffice.search.profile import Profile
from suffice.search.tally import Tally


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
    assert (tally.hits(profile.best), -len(profile.best)) == surest


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
        assert certainty(hits, n, 0.9) == ((float(low), float(high)), p)
