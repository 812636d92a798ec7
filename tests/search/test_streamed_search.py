"""Streamed ≡ in memory: all sets decided at one τ, from hits that go by in the order of masks."""

from __future__ import annotations

from collections.abc import Iterator
from math import comb
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from suffice import Explainer, Explanation, InputError
from suffice.engines import LatticeEvaluator
from suffice.factors import bitsets
from suffice.factors.lattice import held_of_masks, masks_of_held
from suffice.progress import progress_bar
from suffice.search import (
    LimitKeeper,
    Limits,
    Question,
    Stop,
    exhaustive_search,
    plan,
    streamed as decide,
    streamed as seen,
)
from suffice.search.findings import Findings
from suffice.search.profile import Profile
from suffice.search.streamed import streamed_search
from suffice.typing import VIEWS
from tests.effort import examples
from tests.engines.engine_cases import Case
from tests.random_problems import thresholds


class Table:
    """A lattice evaluator that is given every outcome; it counts what it is asked."""

    name = "table"
    note = None
    model_seconds = 0.0

    def __init__(self, outcomes: np.ndarray, block: int = 64, rows_per_block: int = 0) -> None:
        self._outcomes = outcomes
        self._block = block
        self._rows_per_block = rows_per_block
        self.rows_predicted = 0
        self.blocks = 0

    @property
    def n(self) -> int:
        return self._outcomes.shape[1]

    def seconds_per_hybrid(self) -> None:
        return None

    def outcomes(self, held: Any, tick: Any = None) -> np.ndarray:
        if tick is not None:
            tick(1.0)
        return self._outcomes[masks_of_held(held)]

    def outcomes_of_hybrids(self, held: Any, references: Any) -> np.ndarray:
        return self._outcomes[masks_of_held(held), references]

    def sweep(self) -> Iterator[Any]:
        for start in range(0, len(self._outcomes), self._block):
            self.blocks += 1
            self.rows_predicted += self._rows_per_block
            some = self._outcomes[start : start + self._block]
            yield start, some.sum(axis=1, dtype=np.int64), np.packbits(some, axis=1)

    def sweep_counts(self) -> Iterator[Any]:
        for start, hits, _ in self.sweep():
            yield start, hits

    def work_per_hybrid(self) -> float:
        return 0.0

    def sweep_work(self) -> float:
        return 0.0


@st.composite
def tables(draw: st.DrawFn, max_d: int = 9) -> Table:
    """Outcomes by chance, the more often the input's the more of it is held, or quite at random."""
    d = draw(st.integers(1, max_d))
    n = draw(st.sampled_from([1, 2, 7, 20, 65, 130, 255, 256, 300]))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    lean = draw(st.sampled_from([0.0, 0.5, 1.0, 3.0]))
    held = held_of_masks(np.arange(1 << d), d)
    score = held @ rng.normal(0.5, 1.0, size=d)
    chance = 1 / (1 + np.exp(-lean * (score - np.median(score))))
    return Table(rng.random((1 << d, n)) < chance[:, None], draw(st.sampled_from([8, 64, 1 << 12])))


def players(table: Table) -> int:
    return len(table._outcomes).bit_length() - 1


def in_memory(evaluator: LatticeEvaluator, d: int, question: Question) -> tuple[Profile, Profile]:
    keep = Profile.of(exhaustive_search(evaluator, d).tally, question)
    return keep, keep.other_view()


def minimal(profile: Profile, tau: float) -> dict[tuple[int, ...], int]:
    return {m.members: m.hits for m in profile.minimal_at(tau)}


def found(findings: Findings) -> dict[tuple[int, ...], int]:
    return {f.members: f.hits for f in findings.factors}


def check(evaluator: LatticeEvaluator, d: int, question: Question) -> None:
    """The streamed search says what the counts of all sets say, in both views."""
    result = streamed_search(evaluator, d, question)
    tau, most = question.tau, question.limits.max_size
    bounded = most is not None and most < d
    profiles = in_memory(evaluator, d, question)
    for findings, profile in zip((result.keep, result.flip), profiles, strict=True):
        assert list(found(findings).items()) == list(minimal(profile, tau).items())
        assert findings.covered == pytest.approx(profile.covered(tau), rel=1e-12)
        assert findings.decided == (not bounded)
        assert findings.only_at_tau
        if not bounded:
            assert (findings.decided_size, findings.decided_share) == (d, 1.0)
    assert result.stopped == (Stop("max_size", most) if bounded else None)
    for factor, kept in zip(result.flip.factors, result.flip_outcomes, strict=True):
        rest = np.ones((1, d), dtype=bool)
        rest[0, list(factor.members)] = False
        np.testing.assert_array_equal(kept, evaluator.outcomes(rest)[0])
        assert factor.hits == (~kept).sum()
    for mine, true in zip(result.tally.levels, profiles[0].tally.levels, strict=True):
        assert mine.tolist() in ([], true.tolist())


weights = st.lists(st.floats(0.1, 10.0), min_size=13, max_size=13)


@given(tables(), thresholds, st.none() | weights)
def test_finds_and_covers_what_all_counts_say(table, tau, given_weights):
    d = players(table)
    by_size = None if given_weights is None else tuple(given_weights[: d + 1])
    check(table, d, Question(tau, size_weights=by_size))


@given(tables(), thresholds, st.sampled_from([(0.05, "none"), (0.3, "none"), (0.3, "bonferroni")]))
def test_a_test_needs_the_same_hits(table, tau, test):
    d, (alpha, adjust) = players(table), test
    question = Question(tau, alpha, adjust)
    if question.fewest_hits(table.n, 1 << d) <= table.n:
        check(table, d, question)


@given(tables(), thresholds, st.integers(0, 6))
def test_a_largest_size_bounds_what_is_reported(table, tau, size):
    check(table, players(table), Question(tau, limits=Limits(max_size=size)))


@pytest.mark.parametrize("kernel", ["numpy", "numba"])
@settings(max_examples=examples(15))
@given(seed=st.integers(0, 10**6), d=st.integers(1, 12), tau=thresholds, n=st.sampled_from([9, 70]))
def test_trees_are_streamed_as_they_are_swept(kernel, seed, d, tau, n):
    if kernel == "numba":
        pytest.importorskip("numba")
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, size=(n + 1, d)).astype(float)  # whole numbers, so that there are ties
    y = X @ rng.normal(size=d) + rng.normal(size=n + 1) > 0
    y[:2] = True, False
    model = RandomForestClassifier(6, max_depth=4, random_state=0).fit(X, y)
    check(Case(model, X).trees(kernel), d, Question(tau))


@settings(max_examples=examples(25))
@given(
    seed=st.integers(0, 10**6),
    d=st.integers(1, 12),
    tau=thresholds,
    n=st.sampled_from([9, 70, 260]),
)
def test_additive_models_are_streamed_as_they_are_swept(seed, d, tau, n):
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, size=(n + 1, d)).astype(float)
    model = LogisticRegression().fit(X[:2], [0, 1]) if d else None
    assert model is not None
    model.coef_, model.intercept_ = rng.integers(-3, 4, size=(1, d)) * 1.0, np.zeros(1)
    check(Case(model, X).additive(), d, Question(tau))


@pytest.mark.parametrize("engine", ["trees", "additive"])
def test_22_players_of_whom_ten_matter_are_as_those_ten(engine):
    """What the others do changes no hit, so each set of the ten stands for 2^12 sets."""
    if engine == "trees":
        pytest.importorskip("numba")
    matter = [0, 3, 5, 7, 11, 14, 15, 17, 19, 21]
    rng = np.random.default_rng(4)
    X = rng.normal(size=(400, 22))
    few = X[:, matter]

    def among_22(rows: Any) -> Any:
        out = np.zeros((len(rows), 22))
        out[:, matter] = rows
        return out

    kind = RandomForestClassifier(5, max_depth=4, random_state=0)
    model = (kind if engine == "trees" else LogisticRegression()).fit(
        among_22(few), few @ np.linspace(0.3, 1.0, 10) + few[:, 0] * few[:, 9] > 0
    )
    answers = model.predict(X)
    rows = np.array([5, *np.flatnonzero(answers != answers[5])[:8]])
    question = Question(0.75)
    ten = Case(lambda rows: model.predict(among_22(np.asarray(rows))), few[rows])
    profiles = in_memory(ten.box(), 10, question)
    case = Case(model, X[rows])
    result = streamed_search(case.trees() if engine == "trees" else case.additive(), 22, question)
    for findings, profile in zip((result.keep, result.flip), profiles, strict=True):
        expected = minimal(profile, question.tau).items()
        assert found(findings) == {tuple(matter[j] for j in few): hits for few, hits in expected}
        assert len(expected) > 1
        assert findings.covered == tuple(part * 2**12 for part in profile.covered(question.tau))
        assert findings.decided
    assert result.stopped is None
    # Of small sets the counts are kept, and only of those.
    kept = [size for size, level in enumerate(result.tally.levels) if len(level)]
    assert kept == [*range(7), *range(16, 23)]
    assert result.tally.hits([2, 3, 11]) == profiles[0].tally.hits([1, 4])


def explain_any_three(d: int) -> Explanation:
    """Of `d` features any three, or all but two replaced, decide."""
    X = np.vstack([np.ones(d), np.zeros((3, d))])
    model = LogisticRegression().fit(X, [1, 0, 0, 0])
    model.coef_, model.intercept_ = np.ones((1, d)), np.array([-2.5])
    return Explainer(model, X).explain(np.ones(d), search="exhaustive", tau=0.9, progress=False)


def test_an_exhaustive_search_past_memory_is_complete_at_its_tau():
    e = explain_any_three(25)
    assert (len(e.keep), len(e.flip)) == (comb(25, 3), comb(25, 23))
    assert e.complete and e.stopped is None
    assert e.keep.necessity == 1.0  # no smaller set keeps the outcome for any reference
    assert e.provenance.hybrids == 3 << 25
    assert "Complete at τ = 0.9: each of 33,554,432 subsets was decided" in " ".join(str(e).split())
    assert Explanation.from_json(e.to_json()) == e


def test_too_many_sets_to_list_are_reported(monkeypatch):
    monkeypatch.setattr(decide, "_MOST_LISTED", 400)
    # As if memory ended at 15 players, and small sets at a few.
    monkeypatch.setattr(plan, "EXHAUSTIVE_PLAYERS", 15)
    monkeypatch.setattr(seen, "_MOST_TALLIED", 150)
    e = explain_any_three(16)
    assert (len(e.keep), len(e.flip)) == (400, comb(16, 14))
    assert e.stopped == Stop("many", comb(16, 3))
    assert not e.keep.complete and e.flip.complete
    assert (e.keep.necessity, e.keep.necessity_interval) == (1.0, None)
    said = " ".join(str(e).split())
    assert (
        "Not listed in full: each of 65,536 subsets was decided, and necessity counts them all; "
        "but there are 560 minimal sets in one view, of which only the smallest are listed: all "
        "of up to 2 features." in said
    )
    assert Explanation.from_json(e.to_json()) == e


@given(tables(), thresholds, st.integers(0, 8))
def test_a_stopped_stream_says_only_what_it_can_know(table, tau, blocks):
    """The small sets count for nothing here, so that only the stream is looked at."""
    d = players(table)
    question = Question(tau)
    profiles = in_memory(table, d, question)
    least = question.fewest_hits(table.n, 1 << d)
    everyone = np.arange(1 << d)
    part = seen.stream_hits(table, d, False, LimitKeeper(Limits(budget=1)))
    assert part.count == 0 if table.n > 1 else part.count >= 0
    table._block, table._rows_per_block = 8, 1
    part = seen.stream_hits(table, d, False, LimitKeeper(Limits(budget=blocks + table.n)))
    assert part.count == min(1 << d, 8 * (blocks + 1)) or table.n * 8 * (blocks + 1) > 1000
    with progress_bar("sets", progress=False) as bar:
        known = decide.decide_view(part, decide.PassCriterion(least, d), bar)
    factors = {f.members: f.hits for f in known.factors}
    true = minimal(profiles[0], tau)
    first = {
        members: hits for members, hits in true.items() if sum(1 << j for j in members) < part.count
    }
    assert factors == first
    masks = np.array([sum(1 << j for j in members) for members in factors], dtype=np.int64)
    above = ((everyone[:, None] & masks) == masks).any(axis=1)
    decided = above | (everyone < part.count)
    assert known.decided_share == decided.mean()
    sizes = np.bitwise_count(everyone)
    assert known.decided_size == next(
        (k - 1 for k in range(d + 1) if not decided[sizes == k].all()), d
    )


@pytest.fixture
def few_small_sets(monkeypatch):
    """Large lattices are rare in tests, so the bound on what counts as small is lowered."""
    monkeypatch.setattr(seen, "_MOST_TALLIED", 150)


@pytest.mark.usefixtures("few_small_sets")
@given(tables(), thresholds, st.integers(1, 2000))
def test_a_budget_never_misleads(table, tau, budget):
    d = players(table)
    question = Question(tau, limits=Limits(budget=budget))
    profiles = in_memory(table, d, Question(tau))
    table._rows_per_block = 1
    result = streamed_search(table, d, question)
    for findings, profile in zip((result.keep, result.flip), profiles, strict=True):
        true = minimal(profile, tau)
        assert found(findings).items() <= true.items()
        assert findings.decided == (findings.decided_size == d)
        small = {members for members in true if len(members) <= findings.decided_size}
        assert small <= found(findings).keys()
        if findings.decided:
            assert found(findings) == true
        assert findings.covered in (None, profile.covered(tau))
        assert findings.decided == (findings.decided_share == 1)
    decided = result.keep.decided and result.flip.decided
    stops = (Stop("budget", budget), Stop("hybrids", budget))
    assert result.stopped is None if decided else result.stopped in stops


class Clock:
    """Time passes only when a table is asked."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class SlowTable(Table):
    """A block of the stream takes a second."""

    def __init__(self, outcomes: np.ndarray, clock: Clock) -> None:
        super().__init__(outcomes)
        self._clock = clock

    def sweep_counts(self) -> Iterator[Any]:
        for block in super().sweep_counts():
            self._clock.now += 1.0
            yield block


@pytest.mark.usefixtures("few_small_sets")
def test_a_time_limit_ends_the_stream_and_keeps_small_sets():
    rng = np.random.default_rng(0)
    held = held_of_masks(np.arange(1 << 10), 10)
    outcomes = np.repeat((held[:, 0] & held[:, 9])[:, None], 5, axis=1) | (
        rng.random((1024, 5)) < 0.1
    )
    clock = Clock()
    table = SlowTable(outcomes, clock)
    limits = Limits(time_limit=10.0)
    result = streamed_search(
        table, 10, Question(0.9, limits=limits), LimitKeeper(limits, clock=clock)
    )
    assert result.stopped == Stop("time_limit", 10.0)
    assert table.blocks == 8  # of 16: the ninth would end after nine tenths of the time
    assert clock.now <= 10.0
    assert found(result.keep)[0, 9] == 5
    assert {(0,), (9,)} <= found(result.flip).keys()
    assert not result.keep.decided and not result.flip.decided
    assert result.flip.decided_share >= 0.5
    assert result.draws is not None


def test_where_there_are_too_many_the_smallest_are_listed(monkeypatch):
    """Any three of the first nine players suffice, and the tenth with any of those."""
    held = held_of_masks(np.arange(1 << 10), 10)
    passes = (held[:, :9].sum(axis=1) >= 3) | (held[:, 9] & held[:, :9].any(axis=1))
    table = Table(np.repeat(passes[:, None], 4, axis=1))
    question = Question(1.0)
    monkeypatch.setattr(decide, "_MOST_LISTED", 20)
    monkeypatch.setattr(decide, "_WORDS_AT_ONCE", 2)
    result = streamed_search(table, 10, question)
    keep, _ = in_memory(table, 10, question)
    assert result.stopped == Stop("many", 9 + 84)
    assert "93 minimal sets" in str(result.stopped)
    assert list(found(result.keep)) == list(minimal(keep, 1.0))[:20]
    assert not result.keep.decided
    assert result.keep.decided_size == 2  # all pairs are listed, and some of the triples
    assert result.keep.decided_share == 1.0
    assert result.keep.covered == keep.covered(1.0)
    assert len(result.flip.factors) <= 20


def test_where_no_set_can_pass_nothing_is_counted():
    table = Table(np.ones((16, 5), dtype=bool))
    result = streamed_search(table, 4, Question(0.9, alpha=0.05))
    assert table.blocks == 0
    assert result.stopped is None
    for findings in (result.keep, result.flip):
        assert findings.decided
        assert findings.factors == ()


@pytest.mark.parametrize("adjust", ["holm", "bh"])
def test_adjustments_that_need_all_counts_are_refused(adjust):
    table = Table(np.ones((16, 5), dtype=bool))
    with pytest.raises(InputError, match=r"decides sets at one τ.*search exhaustively"):
        streamed_search(table, 4, Question(alpha=0.05, adjust=adjust))


class Restarting(Table):
    """Gives its reading of the model up at the second block, and begins again with the truth."""

    def sweep_counts(self) -> Iterator[Any]:
        yield 0, np.full(self._block, self.n)
        yield from super().sweep_counts()


@given(tables(), thresholds)
def test_an_engine_may_begin_again(table, tau):
    d = players(table)
    again = Restarting(table._outcomes, 1 << d - 1)
    result = streamed_search(again, d, Question(tau))
    for findings, profile in zip(
        (result.keep, result.flip), in_memory(table, d, Question(tau)), strict=True
    ):
        assert found(findings) == minimal(profile, tau)
        assert findings.covered == profile.covered(tau)


class Interrupted(Table):
    def sweep_counts(self) -> Iterator[Any]:
        yield next(super().sweep_counts())
        raise KeyboardInterrupt


def test_an_interrupt_comes_through():
    with pytest.raises(KeyboardInterrupt):
        streamed_search(Interrupted(np.ones((256, 3), dtype=bool)), 8, Question())


@given(st.integers(0, 9), st.data())
def test_closures_and_their_least_elements_are_those_of_the_sets(d, data):
    masks = data.draw(st.sets(st.integers(0, (1 << d) - 1), max_size=12))
    chosen = np.zeros(1 << d, dtype=bool)
    chosen[list(masks)] = True
    words = bitsets.pack(chosen)
    assert len(words) == len(bitsets.empty(d))
    assert set(bitsets.masks_in(words).tolist()) == masks
    bitsets.close_upward(words, d)
    closed = {s for s in range(1 << d) if any(s & m == m for m in masks)}
    assert set(bitsets.masks_in(words).tolist()) == closed
    assert np.flatnonzero(bitsets.unpack(words, 1 << d)).tolist() == sorted(closed)
    least = {m for m in masks if not any(m != other and m & other == other for other in masks)}
    assert set(bitsets.masks_in(bitsets.minimal_elements(words, d)).tolist()) == least


def test_with_one_view_only_that_one_is_decided():
    table = Table(np.random.default_rng(0).random((1 << 6, 9)) < 0.7)
    both, held, replaced = (
        streamed_search(table, 6, Question(0.7, views=views))
        for views in (VIEWS, ("keep",), ("flip",))
    )
    assert both.keep.factors and both.flip.decided
    assert held.keep == both.keep and replaced.flip == both.flip
    assert held.stopped is None and replaced.stopped is None
    for left_out in (held.flip, replaced.keep):
        assert not left_out.factors and not left_out.decided and left_out.covered is None
    assert not held.flip_outcomes
