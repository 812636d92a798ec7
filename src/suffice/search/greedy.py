"""`search="greedy"`: grow and shrink sets from many starts, for many features.

Each factor returned is verified: it passes the test of the exhaustive search, and each set one
smaller (for factors of up to five players: each set inside it) fails it. The search claims that no
other factor exists only if every set was decided, which happens in small lattices.

Each start picks players that contain no known factor (`StartSampler`) and descends to a set that
cannot be made smaller (`find_minimal_set`). `SufficiencyTest` decides what is sufficient, and
`OutcomeCache` avoids predicting a hybrid twice. The search ends when every set is decided, when
`starts` starts in a row find nothing new, or at a limit.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from suffice.engines import Evaluator
from suffice.factors.lattice import Lattice, held_of_members
from suffice.progress import Progress, progress_bar
from suffice.randomness import Stream, generator
from suffice.search.findings import Findings, FoundSet, Proof
from suffice.search.limits import LimitKeeper, LimitReached, Stop
from suffice.search.outcome_cache import OutcomeCache, SufficiencyTest
from suffice.search.question import Question
from suffice.typing import BoolVector, Counts, HeldSets, Reals, ViewName

Members = tuple[int, ...]

_STARTS_AT_ONCE = 8
"""Starts that run side by side and share model calls; findings help later starts only."""
_SUBSETS_PER_START = 64
"""Subsets that a start tests, roughly: decides how many starts a budget allows at once."""
_MOST_STARTS_FACTOR = 16
"""Multiple of `starts` after which a search ends that keeps finding sets without a limit."""
_FEW_UNDECIDED = 1 << 10
"""Undecided sets that are all decided at the end; more, if no more than were seen before."""
_REST_AT_ONCE = 1 << 12


@dataclass(frozen=True, eq=False)
class GreedyResult:
    """Findings of a greedy search, and the reason why it stopped."""

    findings: Findings
    outcomes: dict[Members, BoolVector]
    """References that hit with each factor (keep: have the input's outcome; flip: do not)."""
    stopped: Stop | None
    """Limit that ended the search; None if every set is decided."""
    starts: int
    """Number of starts."""


def greedy_search(
    evaluator: Evaluator,
    d: int,
    view: ViewName,
    question: Question,
    keeper: LimitKeeper | None = None,
    *,
    starts: int = 32,
    most: float = np.inf,
    known: Iterable[Sequence[int]] = (),
    cache: OutcomeCache | None = None,
) -> GreedyResult:
    """Find sufficient sets of any size that no player can be dropped from.

    The search ends when `starts` starts in a row found nothing new, or once `most` sets are found.
    With `alpha` the steps use sequential tests, and the verification the full one. Factors in
    `known` are not returned again, nor sets that contain one of them. Outcomes in `cache` are not
    predicted again; searches of both views share one. `max_size` bounds the sets returned. A time
    limit starts now, unless a `keeper` that already counts is given.
    """
    limits = question.limits
    keeper = keeper or LimitKeeper(limits)
    cache = OutcomeCache(evaluator, d, question.seed) if cache is None else cache
    search = _GreedySearch(
        cache, view, question, keeper, {tuple(sorted(map(int, m))) for m in known}
    )
    stopped = search.run(starts, most, question.progress)
    outcomes = {m: search.found[m] for m in search.minimal() if len(m) <= limits.largest(d)}
    factors = tuple(
        FoundSet(m, int(hits.sum()), _proof(m, stopped is None)) for m, hits in outcomes.items()
    )
    share = search.decided_share
    size = d if stopped is None else -1
    findings = Findings(question.tau, factors, stopped is None, size, decided_share=share)
    return GreedyResult(findings, outcomes, stopped, search.starts)


def _proof(members: Members, all_decided: bool) -> Proof:
    return "exhaustive" if all_decided or len(members) <= ALL_INSIDE else "one smaller"


class _GreedySearch:
    """State of a greedy search: cache, undecided sets, and factors found."""

    def __init__(
        self,
        cache: OutcomeCache,
        view: ViewName,
        question: Question,
        keeper: LimitKeeper,
        known: set[Members],
    ) -> None:
        self._cache = cache
        self._keeper = keeper
        self._judge = SufficiencyTest(cache, view, question, keeper)
        self._d = cache.d
        self._rng = generator(question.seed, Stream.STARTS)
        self._known = sorted(known)
        for members in known:
            self._judge.undecided.mark_supersets(members)
        self.found: dict[Members, BoolVector] = {}
        self.starts = 0
        self._fruitless = 0

    def run(self, patience: int, most: float, progress: bool | None) -> Stop | None:
        """Run starts until a limit, `patience` starts without a new factor, or all sets decided."""
        with progress_bar("greedy starts", None, progress) as bar:
            try:
                return self._run(patience, most, bar)
            except LimitReached as limit:
                return limit.stop if self._judge.undecided.count else None

    def _run(self, patience: int, most: float, bar: Progress) -> Stop | None:
        if not self._judge.undecided.count:
            return None
        where = StartSampler(*self._cache.effects(self._keeper), self._rng)
        stop = None
        while self._judge.undecided.count and stop is None:
            known = [*self._known, *self.found]
            affordable = self._judge.subsets_left / (4 * _SUBSETS_PER_START)
            width = int(min(_STARTS_AT_ONCE, patience - self._fruitless, max(1, affordable)))
            self.starts += width
            searches = [find_minimal_set(where.universe(known), self._d) for _ in range(width)]
            _run_in_step(searches, self._judge, self._note)
            bar.update(width)
            if self._fruitless >= patience:
                stop = Stop("fruitless", patience)
            elif self.starts >= _MOST_STARTS_FACTOR * patience or len(self.found) >= most:
                stop = Stop("starts", self.starts)
        few = max(self._cache.seen, _FEW_UNDECIDED)
        if self._judge.undecided.count <= few and len(self.found) < most:
            self._decide_the_rest()
        return stop if self._judge.undecided.count else None

    def _decide_the_rest(self) -> None:
        """Decide all open sets, the smallest first, so that each that passes is minimal."""
        while self._judge.undecided.count:
            sets = self._judge.undecided.smallest(_REST_AT_ONCE)
            for members in sets[self._judge.passes(sets)]:
                self._keep(tuple(np.flatnonzero(members).tolist()))

    def _note(self, members: Members | None) -> None:
        """Record the result of a start."""
        self._fruitless += 1
        if members is not None and members not in self.found:
            self._keep(members)
            self._fruitless = 0

    def _keep(self, members: Members) -> None:
        """Add a factor with its outcomes on all references, on which its sufficiency rests."""
        self.found[members] = self._judge.hits(held_of_members([members], self._d)[0])
        self._judge.undecided.mark_supersets(members)

    @property
    def decided_share(self) -> float | None:
        """Share of all sets that is decided; None if it is not counted."""
        return self._judge.undecided.decided_share

    def minimal(self) -> list[Members]:
        """Return the factors found, smallest first, without supersets of others."""
        out: list[Members] = []
        for members in sorted(self.found, key=lambda m: (len(m), m)):
            inside = set(members)
            if not any(inside.issuperset(smaller) for smaller in out):
                out.append(members)
        return out


def _run_in_step(
    searches: list[SetSearch], judge: SufficiencyTest, note: Callable[[Members | None], None]
) -> None:
    """Run searches side by side and join their probes in one call; `note` gets each result."""
    waiting: list[tuple[SetSearch, Probe]] = []

    def resume(search: SetSearch, verdicts: BoolVector | None) -> None:
        try:
            asked = next(search) if verdicts is None else search.send(verdicts)
        except StopIteration as end:
            note(end.value)
        else:
            waiting.append((search, asked))

    for search in searches:
        resume(search, None)
    while waiting:
        turn = [entry for entry in waiting if entry[1].quick == waiting[0][1].quick]
        waiting = [entry for entry in waiting if entry[1].quick != turn[0][1].quick]
        passed = judge.passes(np.concatenate([q.sets for _, q in turn]), turn[0][1].quick)
        cuts = np.cumsum([len(q.sets) for _, q in turn])[:-1]
        for (search, _), verdicts in zip(turn, np.split(passed, cuts), strict=True):
            resume(search, verdicts)


# Start points of a greedy search: players, and the order to try them in.


_MOST_ATTEMPTS = 8
"""Draws for a universe that was not tried before."""


class StartSampler:
    """Draws universes of players to search in."""

    def __init__(self, effect: Reals, error: Reals, rng: np.random.Generator) -> None:
        self._d = len(effect)
        self._rng = rng
        self._drawn = 0
        self._tried: set[bytes] = set()
        self._effect, self._error = effect, error

    def universe(self, known: Sequence[tuple[int, ...]]) -> Counts:
        """Return players that contain no known factor, in the order to try them in."""
        for _ in range(_MOST_ATTEMPTS):
            forbidden = hitting_set(known, self._d, self._rng)
            if forbidden.tobytes() not in self._tried:
                break
        # If all draws were tried before, another order of the players may still find more.
        self._tried.add(forbidden.tobytes())
        return self._order(np.flatnonzero(~forbidden))

    def _order(self, players: Counts) -> Counts:
        """Return the players by falling effect; every second time in random order."""
        self._drawn += 1
        if self._drawn % 2 == 0:
            return self._rng.permutation(players)
        noise = self._rng.normal(size=len(players))
        drawn = self._effect[players] + self._error[players] * noise
        return players[np.argsort(-drawn, kind="stable")]


def hitting_set(sets: Sequence[tuple[int, ...]], d: int, rng: np.random.Generator) -> BoolVector:
    """Draw a set of players that meets each of `sets`, and from which none can be left out.

    >>> hitting_set([(0, 1), (1, 2), (1,)], 4, np.random.default_rng(0)).tolist()
    [False, True, False, False]
    """
    # There may be thousands of sets and draws: a Python set tests a few members far faster than
    # an array.
    met_by: set[int] = set()
    for i in rng.permutation(len(sets)).tolist():
        if met_by.isdisjoint(sets[i]):
            met_by.add(int(rng.choice(sets[i])))
    chosen = np.zeros(d, dtype=bool)
    chosen[list(met_by)] = True
    contains = held_of_members(sets, d)
    met = contains.astype(np.int64) @ chosen.astype(np.int64)
    for player in rng.permutation(np.flatnonzero(chosen)).tolist():
        mine = contains[:, player]
        if (met[mine] > 1).all():
            chosen[player] = False
            met -= mine
    return chosen


# One greedy search: from a universe of players down to a set that cannot be made smaller.


ALL_INSIDE = 5
"""Size up to which sets are compared with all sets inside them: at most 31."""
_PREFIXES_TRIED = 12


class Probe(NamedTuple):
    """Question whether sets are sufficient; `quick`: a sequential test is enough."""

    sets: HeldSets
    quick: bool


SetSearch: TypeAlias = Generator[Probe, BoolVector, tuple[int, ...] | None]


def find_minimal_set(order: Counts, d: int) -> SetSearch:
    """Search for a minimal set among players, tried in this order; returns None if none is found.

    >>> search = find_minimal_set(np.array([2, 0, 1]), d=3)
    >>> question = next(search)
    >>> try:
    ...     while True:  # sufficient: whatever holds player 0
    ...         question = search.send(question.sets[:, 0])
    ... except StopIteration as end:
    ...     end.value
    (0,)
    """
    for quick in (True, False):
        sufficient = yield from _grow(order, d, quick)
        if sufficient is None:
            return None
        smaller = yield from _shrink(sufficient, d, quick)
        settled = yield from _verify_minimal(smaller, d)
        if settled is not None:
            return settled
        # The sequential test passed a set that the full test fails: repeat with the full one.
    return None


def _grow(order: Counts, d: int, quick: bool) -> Generator[Probe, BoolVector, Counts | None]:
    """Return `order` if it is sufficient, else its first prefix that is.

    Sufficiency is not monotone: a prefix may be sufficient where the whole is not.
    """
    if (yield Probe(held_of_members([order], d), quick))[0]:
        return order
    lengths = np.unique(np.geomspace(1, max(1, len(order)), _PREFIXES_TRIED).round().astype(int))
    chain = [order[:length] for length in (0, *lengths[lengths < len(order)].tolist())]
    passed = yield Probe(held_of_members(chain, d), quick)
    return chain[int(np.argmax(passed))] if passed.any() else None


def _shrink(order: Counts, d: int, quick: bool) -> Generator[Probe, BoolVector, Counts]:
    """Drop players while the rest stays sufficient, as `order` is; return the rest."""
    needed, gap = 0, (len(order) + 1) // 2
    while needed < len(order):
        # Needed players are about as far apart as the last two were: start from that distance.
        low, high = needed, len(order)
        step = gap
        while high > needed:
            shorter = max(needed, high - step)
            if not (yield Probe(held_of_members([order[:shorter]], d), quick))[0]:
                low = shorter
                break
            high, step = shorter, 2 * step
        else:
            return order[:needed]
        while high - low > 1:
            middle = (low + high) // 2
            if (yield Probe(held_of_members([order[:middle]], d), quick))[0]:
                high = middle
            else:
                low = middle
        gap = len(order) - high + 1
        order = np.concatenate([order[high - 1 : high], order[: high - 1]])
        needed += 1
    return order


def _verify_minimal(order: Counts, d: int) -> Generator[Probe, BoolVector, tuple[int, ...] | None]:
    """Descend until nothing inside passes the full test; None if the set itself does not."""
    if not (yield Probe(held_of_members([order], d), False))[0]:
        return None
    while len(order):
        inside = _proper_subsets(order)
        passed = yield Probe(held_of_members(inside, d), False)
        if not passed.any():
            break
        if len(order) <= ALL_INSIDE:
            order = inside[int(np.argmax(passed))]
            continue
        # Players that can be dropped alone can often be dropped together: 1, 2, 4, … of them.
        spare = np.flatnonzero(passed)[::-1]  # the last in the order first
        together = [np.delete(order, spare[: 1 << k]) for k in range(len(spare).bit_length() + 1)]
        passed = yield Probe(held_of_members(together, d), False)
        order = together[int(np.flatnonzero(passed)[-1])]
    return tuple(sorted(order.tolist()))


def _proper_subsets(order: Counts) -> list[Counts]:
    """Return proper subsets to compare a set with, smallest first; of large sets, one smaller."""
    size = len(order)
    if size > ALL_INSIDE:
        return [np.delete(order, i) for i in range(size)]
    lattice = Lattice(size)
    return [order[row] for k in range(size) for row in lattice.members(k)]
