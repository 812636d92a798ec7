"""Rows in memory, explained by several processes: the answers are those of one.

A row's own error is raised when no row before it can have one any more, so it is always the first.
Rows that end their process are told at the end, with the answers to all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from suffice.errors import LostRowsError, SufficeError
from suffice.explanation import Explanation
from suffice.many.brake import Brake
from suffice.many.drive import drive
from suffice.many.processes import keep, take_kept
from suffice.many.rows import Explains, at_row, explain_rows
from suffice.many.team import Lost, Piece, RowsInHand
from suffice.progress import progress_bar
from suffice.tables import Table
from suffice.wording import and_more, count

__all__ = ["ExplainPiece", "explain_together"]


class ExplainPiece:
    """What is sent to each process: the explainer, to explain pieces whose note is the question."""

    def __init__(self, explainer: Explains) -> None:
        self._explainer = explainer

    def __call__(self, piece: Piece) -> list[Explanation | SufficeError]:
        """One for each row, in order."""
        return explain_rows(self._explainer, piece.rows, piece.note)


def explain_together(
    explainer: Explains,
    rows: Sequence[Table],
    question: dict[str, Any],
    *,
    jobs: int,
    progress: bool | None,
) -> list[Explanation]:
    """An explanation of each row, in order, by so many processes, which are kept for the next call.

    They are ended where the call does not come to its end: nothing is left running.
    """
    found: dict[int, Explanation] = {}
    errors: dict[int, BaseException] = {}
    lost: dict[int, str] = {}

    def failed(piece: Piece, how: Lost) -> list[Explanation | SufficeError]:
        if how.error is None:
            lost[piece.first] = how.reason
        else:
            errors[piece.first] = how.error
            brake.pull("a row has an error")
        return []

    brake = Brake()
    work = RowsInHand(rows, question)
    team = take_kept(explainer, ExplainPiece(explainer), workers=jobs, argument="n_jobs")
    try:
        with progress_bar("explanations", len(rows), progress) as bar:
            for piece, answers in drive(work, team, failed=failed, brake=brake, bar=bar):
                for number, answer in enumerate(answers, piece.first):
                    if isinstance(answer, Explanation):
                        found[number] = answer
                    else:
                        errors[number] = answer
                        brake.pull("a row has an error")
    except BaseException:
        team.close()
        raise
    keep(explainer, team)
    if errors:
        first = min(errors)
        raise at_row(errors[first], first, question)
    if lost:
        raise _told(lost, [found.get(i) for i in range(len(rows))])
    return [found[i] for i in range(len(rows))]


def _told(lost: dict[int, str], found: list[Explanation | None]) -> LostRowsError:
    rows = [f"row {number}: {reason}" for number, reason in sorted(lost.items())]
    others = count(len(found) - len(lost), "other row")
    message = f"{and_more(rows, 5)}, each time it was tried. What {others} gave is in `found`."
    return LostRowsError(message, found, sorted(lost))
