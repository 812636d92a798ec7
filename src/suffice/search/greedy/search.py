"""Greedy search from many starts, for sets too large to search all of their size.

What it returns is verified: each factor passes the same test as in the exhaustive search, and each
set one smaller fails it; up to five players, each set inside it. That no other factor exists is
claimed only where every set was decided, which a small lattice may bring.

Each start looks among players that hold no factor known before (`starts.py`) and goes down to a set
that cannot be made smaller (`shrink.py`); what is sufficient is decided by `judge.py`, and nothing
is worked out twice (`memo.py`). The search ends when no set is open, when `starts` starts in a row
bring nothing new, or at a limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from suffice.evaluate import Evaluator
from suffice.progress import Progress, progress_bar
from suffice.randomness import Stream, generator
from suffice.search.findings import Findings, Found, Proof
from suffice.search.greedy.judge import Judge
from suffice.search.greedy.memo import Memo
from suffice.search.greedy.shrink import ALL_INSIDE, Probe, Search, find_one
from suffice.search.greedy.starts import Starts
from suffice.search.limits import LimitKeeper, LimitReached
from suffice.search.question import Question
from suffice.search.stop import Stop
from suffice.typing import BoolVector, ViewName

__all__ = ["Greedy", "greedy_search"]

Members = tuple[int, ...]

_IN_STEP = 8
"""Starts whose questions go to the model together; what one finds helps only later ones."""
_SUBSETS_PER_START = 64
"""About how many subsets a start asks about, to tell how many a budget allows at once."""
_STARTS_IN_ALL = 16
"""Times `starts`: the end of a search that has no other limit and keeps finding."""
_FEW = 1 << 10
"""So few open sets are all decided in the end, and so are more if no more than were seen before."""
_REST_AT_ONCE = 1 << 12


@dataclass(frozen=True, eq=False)
class Greedy:
    """What a greedy search found, and why it stopped."""

    findings: Findings
    outcomes: dict[Members, BoolVector]
    """By factor: which references hit (keep: have the input's outcome; flip: do not)."""
    stopped: Stop | None
    """None: every set is decided."""
    starts: int
    """How many starts were made."""


def greedy_search(
    evaluator: Evaluator,
    d: int,
    view: ViewName,
    question: Question,
    keeper: LimitKeeper | None = None,
    *,
    starts: int = 32,
    known: Iterable[Sequence[int]] = (),
    memo: Memo | None = None,
) -> Greedy:
    """Find sufficient sets of any size that no player can be dropped from.

    With `alpha` the steps use sequential tests, and the verification the full one. Factors in
    `known` are not returned again, nor anything that contains one of them. What is in `memo` is not
    asked again; searches of both views share one. Of the limits, `max_size` bounds what is
    returned. A time limit counts from now, unless a `keeper` is given that has counted before.
    """
    limits = question.limits
    keeper = keeper or LimitKeeper(limits)
    memo = Memo(evaluator, d, question.seed) if memo is None else memo
    search = _Search(memo, view, question, keeper, {tuple(sorted(map(int, m))) for m in known})
    stopped = search.run(starts, question.progress)
    largest = d if limits.max_size is None else limits.max_size
    outcomes = {m: search.found[m] for m in search.minimal() if len(m) <= largest}
    factors = tuple(
        Found(m, int(hits.sum()), _proof(m, stopped is None)) for m, hits in outcomes.items()
    )
    share = search.decided_share
    findings = Findings(question.tau, factors, decided=stopped is None, decided_share=share)
    return Greedy(findings, outcomes, stopped, search.starts)


def _proof(members: Members, all_decided: bool) -> Proof:
    return "exhaustive" if all_decided or len(members) <= ALL_INSIDE else "one smaller"


class _Search:
    """The state of a search: what is known, what was found."""

    def __init__(
        self,
        memo: Memo,
        view: ViewName,
        question: Question,
        keeper: LimitKeeper,
        known: set[Members],
    ) -> None:
        self._memo = memo
        self._keeper = keeper
        self._judge = Judge(memo, view, question, keeper)
        self._d = memo.d
        self._rng = generator(question.seed, Stream.STARTS)
        self._known = sorted(known)
        for members in known:
            self._judge.open.close_above(members)
        self.found: dict[Members, BoolVector] = {}
        self.starts = 0
        self._fruitless = 0

    def run(self, patience: int, progress: bool | None) -> Stop | None:
        """Start again and again, until a limit or the want of finds ends it, or all is seen."""
        with progress_bar("greedy starts", None, progress) as bar:
            try:
                return self._run(patience, bar)
            except LimitReached as limit:
                return limit.stop if self._judge.open.left else None

    def _run(self, patience: int, bar: Progress) -> Stop | None:
        if not self._judge.open.left:
            return None
        where = Starts(*self._memo.effects(self._keeper), self._rng)
        stop = None
        while self._judge.open.left and stop is None:
            known = [*self._known, *self.found]
            affordable = self._judge.subsets_left / (4 * _SUBSETS_PER_START)
            width = int(min(_IN_STEP, patience - self._fruitless, max(1, affordable)))
            self.starts += width
            searches = [find_one(where.universe(known), self._d) for _ in range(width)]
            _run_in_step(searches, self._judge, self._note)
            bar.update(width)
            if self._fruitless >= patience:
                stop = Stop("fruitless", patience)
            elif self.starts >= _STARTS_IN_ALL * patience:
                stop = Stop("starts", self.starts)
        if self._judge.open.left <= max(self._memo.seen, _FEW):
            self._see_the_rest()
        return stop if self._judge.open.left else None

    def _see_the_rest(self) -> None:
        """Decide all open sets, the smallest first: what then passes holds no smaller that does."""
        while self._judge.open.left:
            sets = self._judge.open.smallest(_REST_AT_ONCE)
            for members in sets[self._judge.passes(sets)]:
                self._keep(tuple(np.flatnonzero(members).tolist()))

    def _note(self, members: Members | None) -> None:
        """Take note of how a start ended."""
        self._fruitless += 1
        if members is not None and members not in self.found:
            self._keep(members)
            self._fruitless = 0

    def _keep(self, members: Members) -> None:
        """Keep a factor; the outcomes on all references are the last word on it."""
        row = np.zeros(self._d, dtype=bool)
        row[list(members)] = True
        self.found[members] = self._judge.hits(row)
        self._judge.open.close_above(members)

    @property
    def decided_share(self) -> float | None:
        """The share of all sets that is decided; None where nobody counts them."""
        return self._judge.open.closed_share

    def minimal(self) -> list[Members]:
        """What was found, smallest first, without what contains something found later."""
        out: list[Members] = []
        for members in sorted(self.found, key=lambda m: (len(m), m)):
            inside = set(members)
            if not any(inside.issuperset(smaller) for smaller in out):
                out.append(members)
        return out


def _run_in_step(
    searches: list[Search], judge: Judge, note: Callable[[Members | None], None]
) -> None:
    """Let searches run side by side, their questions put together; `note` each one's end."""
    waiting: list[tuple[Search, Probe]] = []

    def resume(search: Search, verdicts: BoolVector | None) -> None:
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
