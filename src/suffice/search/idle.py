"""Players that cannot matter for this input and these references: left out, and nothing changes.

A player is *idle* where holding or replacing it changes no hybrid's outcome: every reference has
the input's value; or an engine that has read the model says so. Then the count of a set is that of
the set without its idle players. So no minimal set holds one; and since D draws each set as often
with an idle player as without it, necessity over the others is necessity over all.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from suffice.context.swap import SwapHybrids
from suffice.evaluate import Evaluator, Idle, ModelReader
from suffice.search.plan import Narrowed
from suffice.search.question import Question

__all__ = ["WORTH_LOOKING", "find_idle", "narrow"]

WORTH_LOOKING = 12
"""With so few players all their sets take less time than finding out which of them matter."""


def narrow(hybrids: SwapHybrids, question: Question, evaluator: Evaluator) -> Narrowed:
    """Leave out what `find_idle` finds.

    Not where a correction for many tests counts all sets, with idle players or without; nor where D
    prefers sets of some sizes, so that it does matter how many idle players are held.
    """
    counts = question.adjust != "none" or question.size_weights is not None
    idle = {} if counts else find_idle(hybrids, evaluator)
    if not idle:
        return Narrowed.of_all((hybrids, hybrids), question)
    players = tuple(p for p in range(hybrids.d) if p not in idle)
    among = hybrids.among(players)
    return Narrowed((among, among), question, players, idle)


def find_idle(hybrids: SwapHybrids, evaluator: Evaluator) -> Mapping[int, Idle]:
    """The idle players and why; at least one player is left.

    What the references share is said before what the model does: it can be seen without it.
    """
    idle: dict[int, Idle] = {}
    if isinstance(evaluator, ModelReader):
        idle |= evaluator.idle()
    same = (hybrids.codes[1:] == hybrids.codes[0]).all(axis=0)
    idle |= {int(player): "same" for player in np.flatnonzero(same)}
    if len(idle) == hybrids.d:
        del idle[min(idle)]
    return dict(sorted(idle.items()))
