"""Greedy search from many starts, for sets too large to search all of their size.

What it returns is verified: each factor passes the same test as in the exhaustive search, and each
set one smaller fails it. That no other factor exists is not claimed.

Each start looks among players that hold no factor known before (`starts.py`) and goes down to a set
that cannot be made smaller (`shrink.py`); what is sufficient is decided by `verdicts.py`. The
search ends when `starts` starts in a row bring nothing new, or at a limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from suffice.evaluate import Evaluator
from suffice.progress import Progress, progress_bar
from suffice.randomness import Stream, generator
from suffice.search.findings import Findings, Found
from suffice.search.greedy.shrink import Probe, Search, find_one
from suffice.search.greedy.starts import Starts
from suffice.search.greedy.verdicts import Judge
from suffice.search.limits import LimitKeeper, LimitReached
from suffice.search.question import Question, ViewName
from suffice.search.stop import Stop
from suffice.typing import BoolVector

__all__ = ["Greedy", "greedy_search"]

Members = tuple[int, ...]

_IN_STEP = 8
"""Starts whose questions go to the model together; what one finds helps only later ones."""
_SUBSETS_PER_START = 64
"""About how many subsets a start asks about, to tell how many a budget allows at once."""
_STARTS_IN_ALL = 16
"""Times `starts`: the end of a search that has no other limit and keeps finding."""


@dataclass(frozen=True, eq=False)
class Greedy:
    """What a greedy search found, and why it stopped."""

    findings: Findings
    outcomes: dict[Members, BoolVector]
    """By factor: which references hit (keep: have the input's outcome; flip: do not)."""
    stopped: Stop
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
) -> Greedy:
    """Find sufficient sets of any size that no player can be dropped from.

    With `alpha` the steps use sequential tests, and the verification the full one. Factors in
    `known` are not returned again, nor anything that contains one of them. Of the limits,
    `max_size` bounds what is returned. A time limit counts from now, unless a `keeper` is given
    that has counted before.
    """
    limits = question.limits
    judge = Judge(evaluator, view, question, keeper or LimitKeeper(limits))
    search = _Search(judge, d, question.seed, {tuple(sorted(map(int, m))) for m in known})
    stopped = search.run(starts, question.progress)
    largest = d if limits.max_size is None else limits.max_size
    outcomes = {m: search.found[m] for m in search.minimal() if len(m) <= largest}
    factors = tuple(Found(m, int(hits.sum()), "one smaller") for m, hits in outcomes.items())
    findings = Findings(question.tau, factors, decided=False)
    return Greedy(findings, outcomes, stopped, search.starts)


class _Search:
    """The state of a search: what is known, what was found."""

    def __init__(self, judge: Judge, d: int, seed: int, known: set[Members]) -> None:
        self._judge = judge
        self._d = d
        self._rng = generator(seed, Stream.STARTS)
        self._known = sorted(known)
        self.found: dict[Members, BoolVector] = {}
        self.starts = 0
        self._fruitless = 0

    def run(self, patience: int, progress: bool | None) -> Stop:
        """Start again and again, until a limit or the want of finds ends it."""
        with progress_bar("greedy starts", None, progress) as bar:
            try:
                return self._run(patience, bar)
            except LimitReached as limit:
                return limit.stop

    def _run(self, patience: int, bar: Progress) -> Stop:
        over = self._over(patience)
        if over is not None:
            return over
        where = Starts(self._judge, self._d, self._rng)
        while over is None:
            known = [*self._known, *self.found]
            affordable = self._judge.subsets_left / (4 * _SUBSETS_PER_START)
            width = int(min(_IN_STEP, patience - self._fruitless, max(1, affordable)))
            self.starts += width
            searches = [find_one(where.universe(known), self._d) for _ in range(width)]
            _run_in_step(searches, self._judge, self._note)
            bar.update(width)
            over = self._over(patience)
        return over

    def _over(self, patience: int) -> Stop | None:
        """Why would another start be pointless?"""
        if self._judge.need > self._judge.n:
            return Stop("untestable", self._judge.n)
        if () in self._known or () in self.found:
            return Stop("nothing", 0)
        if self._fruitless >= patience:
            return Stop("fruitless", patience)
        return Stop("starts", self.starts) if self.starts >= _STARTS_IN_ALL * patience else None

    def _note(self, members: Members | None) -> None:
        """Keep what a start found; the outcomes on all references are the last word on it."""
        self._fruitless += 1
        if members is None or members in self.found:
            return
        row = np.zeros(self._d, dtype=bool)
        row[list(members)] = True
        self.found[members] = self._judge.hits(row)
        self._fruitless = 0

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
