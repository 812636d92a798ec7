"""Tests and intervals against scipy's own, and Theorem 2's level by simulation."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import binomtest, false_discovery_control

from suffice import InputError
from suffice.inference import (
    adjusted_p_values,
    clopper_pearson,
    fewest_hits,
    lower_bound,
    p_value,
    passing_taus,
    wilson,
)
from suffice.validation import check_adjustment

counts = st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(counts, st.floats(0.01, 0.99))
def test_p_values_and_intervals_are_scipys(count, tau):
    hits, n = count
    ours = binomtest(hits, n, tau, alternative="greater")
    assert np.isclose(p_value(hits, n, tau), ours.pvalue, atol=1e-12)
    for mine, method in ((clopper_pearson, "exact"), (wilson, "wilson")):
        theirs = binomtest(hits, n).proportion_ci(0.95, method=method)
        assert np.allclose(mine(hits, n), (theirs.low, theirs.high), atol=1e-9)


@given(counts, st.floats(0.001, 0.5), st.floats(0.01, 0.99))
def test_the_lower_bound_is_the_largest_threshold_that_passes(count, alpha, tau):
    hits, n = count
    bound = lower_bound(hits, n, alpha)
    if abs(bound - tau) > 1e-9:
        assert (p_value(hits, n, tau) <= alpha) == (tau <= bound)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_adjusted_p_values(p):
    assert np.allclose(adjusted_p_values(p, "bh"), false_discovery_control(p))
    assert np.allclose(adjusted_p_values(p, "bonferroni"), np.minimum(np.array(p) * len(p), 1))
    holm = adjusted_p_values(p, "holm")
    assert (holm <= adjusted_p_values(p, "bonferroni") + 1e-15).all()
    assert (holm >= np.array(p)).all()
    assert (adjusted_p_values(p, "none") == p).all()


@given(
    st.integers(1, 30).flatmap(
        lambda n: st.tuples(st.just(n), st.lists(st.integers(0, n), min_size=1, max_size=10))
    ),
    st.floats(0.01, 0.4),
    st.floats(0.02, 0.98),
    st.sampled_from(["none", "bonferroni", "holm", "bh"]),
)
def test_passing_levels_say_what_adjusted_p_values_say(world, alpha, tau, adjust):
    n, hits = world[0], np.array(world[1])
    levels = passing_taus(hits, n, alpha, adjust, len(hits))
    p = adjusted_p_values(p_value(hits, n, tau), adjust)
    clear = np.abs(levels - tau) > 1e-9
    assert ((tau <= levels) == (p <= alpha))[clear].all()


def test_holm_judges_equal_hits_as_the_first_of_them():
    first, last = lower_bound(9, 10, 0.05 / 3), lower_bound(3, 10, 0.05)
    levels = passing_taus(np.array([9, 3, 9]), 10, 0.05, "holm", 3)
    assert levels.tolist() == [first, last, first]


def test_unknown_adjustment():
    with pytest.raises(
        InputError, match="adjust: got 'fdr'; allowed: 'none', 'bonferroni', 'holm' or 'bh'"
    ):
        check_adjustment("fdr", 0.05)


@pytest.mark.parametrize("tau", [0.5, 0.9])
@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_theorem_2_type_one_error_stays_below_alpha(tau, alpha):
    """At the edge of the null hypothesis, PS = τ, a factor is reported in at most α of samples."""
    rng = np.random.default_rng(11)
    runs = 20_000
    hits = rng.binomial(80, tau, size=runs)
    rate = (p_value(hits, 80, tau) <= alpha).mean()
    assert rate <= alpha + 3 * np.sqrt(alpha * (1 - alpha) / runs)
    assert rate > 0.4 * alpha  # the test has power: it is not merely silent


def test_family_wise_error_over_a_lattice_search():
    """No set truly exceeds τ: Holm reports any at all in at most α of the searches."""
    from suffice import Explainer

    alpha, wrong, runs = 0.2, 0, 150
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        data = rng.random((60, 3))
        coin = rng.random(2**16) < 0.5

        def model(rows, coin=coin):
            # Every distinct row gets its own fair coin, so each set's true PS is one half.
            return coin[(rows * [7919.0, 104729.0, 1299709.0]).sum(axis=1).astype(np.int64) % 2**16]

        e = Explainer(lambda rows, m=model: m(rows).astype(int), data, references="all").explain(
            rng.random(3), tau=0.5, alpha=alpha, adjust="holm", max_size=2
        )
        wrong += bool(e.keep.factors)
    assert wrong / runs <= alpha + 3 * np.sqrt(alpha * (1 - alpha) / runs)


def test_the_fewest_hits_that_pass():
    assert fewest_hits(3, 2 / 3) == 2
    assert fewest_hits(10, 0.9, 0.05) == 11  # not even ten of ten pass
    some = fewest_hits(100, 0.5, 0.05)
    assert some < fewest_hits(100, 0.5, 0.05, "bonferroni", 5)
    assert fewest_hits(100, 0.5, 0.05, "bonferroni", 5) < fewest_hits(
        100, 0.5, 0.05, "bonferroni", 16
    )
    assert p_value(some, 100, 0.5) <= 0.05 < p_value(some - 1, 100, 0.5)


@pytest.mark.parametrize("interval", [wilson, clopper_pearson])
@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ((3, -10), "n: got -10; allowed: numbers of trials, above 0"),
        ((3, 2), "hits: got 3; allowed: from 0 to n"),
        ((-1, 2), "hits: got -1; allowed: from 0 to n"),
        ((np.nan, 2), "hits: got nan"),
        ((1, np.inf), "n: got inf"),
        (("one", 2), "hits: got 'one'; allowed: a number"),
        (([1, 2, 3], [4, 5]), "hits: got shape .*; allowed: as many hits"),
        ((1, 2, 1.5), r"level: got 1.5; allowed: a number in \(0, 1\)"),
        ((1, 2, 1), r"level: got 1; allowed: a number in \(0, 1\)"),
        ((1, 2, True), "level: got True"),
    ],
)
def test_counts_that_cannot_be_have_no_interval(interval, counts, message):
    with pytest.raises(InputError, match=message):
        interval(*counts)
