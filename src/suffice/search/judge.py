"""Verdicts on subsets for a search that visits few of them, within its limits.

The judge knows the view and the test, so that the search itself speaks only of sets: in the flip
view replacing T is holding its complement, and a hit is a reference that misses. It remembers its
verdicts, and asks the model about many subsets in one call.
"""

from __future__ import annotations

import numpy as np

from suffice.evaluate import Evaluator
from suffice.inference import passing_levels
from suffice.search.limits import LimitKeeper
from suffice.search.question import Question, ViewName
from suffice.search.sequential import curtailed_verdicts, sequential_verdicts
from suffice.typing import BoolVector, Counts, Held

__all__ = ["Judge"]


class Judge:
    """Which sets of players are sufficient?"""

    def __init__(
        self, evaluator: Evaluator, view: ViewName, question: Question, keeper: LimitKeeper
    ) -> None:
        self._evaluator = evaluator
        self._flip = view == "flip"
        self._question = question
        self._keeper = keeper
        self._known: dict[tuple[bool, bytes], bool] = {}
        counts = np.arange(self.n + 1)
        passing = passing_levels(counts, self.n, question.alpha, "none", 1) >= question.tau
        self.need = int(np.argmax(passing)) if passing.any() else self.n + 1
        """The smallest number of hits that passes the test on all references."""

    @property
    def n(self) -> int:
        """How many references there are."""
        return self._evaluator.n

    @property
    def subsets_left(self) -> float:
        """How many subsets the budget can still pay for, were each asked in full."""
        left = self._keeper.rows_left
        return np.inf if left is None else left / self.n

    def passes(self, sets: Held, quick: bool = False) -> BoolVector:
        """Is each set sufficient by the full test or, if `quick`, by the sequential one?

        Without α there is nothing to be quick about: both are the full answer.
        """
        q = self._question
        quick = quick and q.alpha is not None
        keys = [(quick, row.tobytes()) for row in np.packbits(sets, axis=1)]
        new = {key: i for i, key in enumerate(keys) if key not in self._known}
        asked = sets[list(new.values())]
        if quick and q.alpha is not None:
            found = sequential_verdicts(self.hits_of, asked, self.n, q.tau, q.alpha, q.seed)
        else:
            found = curtailed_verdicts(self.hits_of, asked, self.n, self.need, q.seed)
        self._known.update(zip(new, found.passed.tolist(), strict=True))
        return np.array([self._known[key] for key in keys], dtype=bool)

    def hits(self, members: BoolVector) -> BoolVector:
        """(n,): which references hit, for one set."""
        return self.hits_of(np.tile(members, (self.n, 1)), np.arange(self.n))

    def hits_of(self, sets: Held, references: Counts) -> BoolVector:
        """(rows,): does reference references[i] hit with sets[i]? All, or LimitReached."""
        self._keeper.check(len(sets))
        hits = self._ask(sets, references, self._keeper)
        if len(hits) < len(sets):
            self._keeper.check()
        return hits

    def some_hits_of(self, sets: Held, references: Counts, share: float) -> BoolVector:
        """The same for the first of them, as far as a share of what is left allows."""
        return self._ask(sets, references, self._keeper.part(share))

    def _ask(self, sets: Held, references: Counts, keeper: LimitKeeper) -> BoolVector:
        held = ~sets if self._flip else sets
        return np.asarray(keeper.ask(self._evaluator, held, references) != self._flip)
