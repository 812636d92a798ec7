"""Explain a list of rows in memory, in this process or in several (`Explainer.explain_many`).

The rows of a chunk share work: their inputs are predicted in one call, and whatever follows from a
set of references (codes, prices, positions among a model's thresholds) is computed once for all
rows that use it (see `DecisionBuilder` and `CachedRows`). A black-box model predicts the hybrids of
many rows in one call. Each explanation equals the one that `explain` returns for the row alone,
except for its timing, its number of predicted rows and its date.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence, Sized
from typing import Any, Protocol

from suffice.batch.workers import LostPiece, Piece, RowsInMemory, RunStopper, run_pieces
from suffice.context.references import CachedRows
from suffice.decision import Decision, DecisionBuilder
from suffice.engines.blackbox import BlackBox, predict_together
from suffice.errors import InputError, LostRowsError, SufficeError
from suffice.explanation import Explanation, Explanations
from suffice.explanation.explain import PreparedSearch, SearchRequest, prepare_search
from suffice.formatting import join_first, plural
from suffice.progress import interrupts_say, progress_bar
from suffice.search.plan import Plan
from suffice.tables import Table

_ROWS_PER_CHUNK = 64
"""Rows explained together in this process: enough rows to share the cost of a model call."""


class BatchExplainer(Protocol):
    """Protocol of an explainer as the batch runner needs it; `Explainer` implements it."""

    @property
    def decider(self) -> DecisionBuilder:
        """The model, the data and the contrast."""
        ...

    @property
    def asking(self) -> Callable[..., SearchRequest]:
        """Validates the arguments of `explain`."""
        ...

    @property
    def plan(self) -> Callable[..., Plan]:
        """Returns how one row would be searched."""
        ...

    def read_rows(self, X: Any) -> Sequence[Table | SufficeError]:
        """Return each row of a table in the dtypes of the data, or its error."""
        ...

    def decide_many(self, rows: CachedRows) -> list[Decision | SufficeError]:
        """Return the model's decision for each row, or its error."""
        ...

    def answer(
        self, decision: Decision, asking: SearchRequest, ready: PreparedSearch | None = None
    ) -> Explanation:
        """Explain one decision, whose search may be prepared already."""
        ...


def explain_many(
    explainer: BatchExplainer,
    rows: Sequence[Table],
    question: dict[str, Any],
    *,
    n_jobs: int,
    progress: bool | None,
) -> Explanations:
    """Return the explanation of each row, in order, by `n_jobs` processes (-1: one per core)."""
    question = question | {"progress": False}  # the only bar is the one over all rows
    if n_jobs != 1 and len(rows) > 1:
        from joblib import effective_n_jobs

        n_jobs = min(effective_n_jobs(n_jobs), len(rows))  # more would have nothing to do
        if n_jobs > 1:
            return Explanations(_explain_in_processes(explainer, rows, question, n_jobs, progress))
    found: list[Explanation] = []
    with (
        progress_bar("explanations", len(rows), progress) as bar,
        interrupts_say(lambda: _lost_rows_text(found, len(rows))),
    ):
        while len(found) < len(rows):
            chunk = rows[len(found) : len(found) + _ROWS_PER_CHUNK]
            for answer in explain_rows(explainer, chunk, question):
                if isinstance(answer, SufficeError):
                    raise _add_row_number(answer, len(found), question)
                found.append(answer)
                bar.update()
    return Explanations(found)


def _lost_rows_text(found: Sized, rows: int) -> str:
    return (
        f"{len(found):,} of {plural(rows, 'row')} were explained, and are lost; explain_to(X, "
        "folder) stores rows as they are explained, and continues with resume=True"
    )


def explain_rows(
    explainer: BatchExplainer, rows: Sequence[Table], question: dict[str, Any]
) -> list[Explanation | SufficeError]:
    """Return the explanation or the error of each row; an error affects its own row only."""
    if not len(rows):
        return []
    try:
        asking = explainer.asking(**question)
    except SufficeError as error:  # the question is the same for all rows
        return [error] * len(rows)
    found: list[Explanation | SufficeError] = []
    decisions = explainer.decide_many(CachedRows.from_rows(rows))
    prepared = _predict_ahead(decisions, asking)
    for place, decision in enumerate(decisions):
        try:
            if isinstance(decision, SufficeError):
                raise decision
            found.append(explainer.answer(decision, asking, prepared.pop(place, None)))
        except SufficeError as error:
            found.append(error)
    return found


def _predict_ahead(
    decisions: Sequence[Decision | SufficeError], asking: SearchRequest
) -> dict[int, PreparedSearch]:
    """Predict the hybrids of all black-box rows together; return prepared searches by place.

    This is valid only for searches that count every set without a limit: a budget or a time limit
    belongs to a single row. Engines need hardly any predictions, and their prepared searches take
    memory, so the function returns at the first row that has one.
    """
    prepared: dict[int, PreparedSearch] = {}
    if not asking.question.limits.unlimited or asking.how not in ("auto", "exhaustive"):
        return prepared
    for place, decision in enumerate(decisions):
        if isinstance(decision, SufficeError) or not decision.context.is_swap:
            continue
        try:
            search = prepare_search(decision, asking)
        except SufficeError:  # raised again, and reported, when the row is explained
            continue
        prepared[place] = search
        if not isinstance(search.evaluators[0], BlackBox):
            return prepared
    exhaustive = (search for search in prepared.values() if search.plan.way == "exhaustive")
    predict_together([e for s in exhaustive for e in s.evaluators if isinstance(e, BlackBox)])
    return prepared


def _add_row_number(error: BaseException, number: int, question: Collection[str]) -> BaseException:
    """Return the error with its row number, unless it is about the question of all rows."""
    of_all = isinstance(error, InputError) and error.argument in question
    return error.at(f"row {number}") if isinstance(error, SufficeError) and not of_all else error


# -- several processes -------------------------------------------------------------------


class ExplainPiece:
    """The function sent to each process: explains pieces whose `context_data` is the question."""

    def __init__(self, explainer: BatchExplainer) -> None:
        self._explainer = explainer

    def __call__(self, piece: Piece) -> list[Explanation | SufficeError]:
        """Return the explanation or the error of each row of the piece."""
        return explain_rows(self._explainer, piece.rows, piece.context_data)


def _explain_in_processes(
    explainer: BatchExplainer,
    rows: Sequence[Table],
    question: dict[str, Any],
    n_jobs: int,
    progress: bool | None,
) -> list[Explanation]:
    """Return the explanation of each row, in order, by several processes.

    The processes are kept for the explainer's next call. If this call ends early, they are ended,
    so that nothing keeps running.
    """
    from suffice.batch.process_pool import keep_idle_pool, take_idle_pool

    found: dict[int, Explanation] = {}
    errors: dict[int, BaseException] = {}
    lost: dict[int, str] = {}
    stopper = RunStopper()

    def add_error(number: int, error: BaseException) -> None:
        errors[number] = error
        stopper.stop("a row has an error")

    def failed(piece: Piece, how: LostPiece) -> list[Explanation | SufficeError]:
        if how.error is None:
            lost[piece.first] = how.reason
        else:
            add_error(piece.first, how.error)
        return []

    pieces = RowsInMemory(rows, question)
    pool = take_idle_pool(explainer, ExplainPiece(explainer), workers=n_jobs, argument="n_jobs")
    try:
        with (
            progress_bar("explanations", len(rows), progress) as bar,
            interrupts_say(lambda: _lost_rows_text(found, len(rows))),
        ):
            for piece, answers in run_pieces(pieces, pool, failed=failed, stopper=stopper, bar=bar):
                for number, answer in enumerate(answers, piece.first):
                    if isinstance(answer, Explanation):
                        found[number] = answer
                    else:
                        add_error(number, answer)
    except BaseException:
        pool.close()
        raise
    keep_idle_pool(explainer, pool)
    if errors:
        first = min(errors)
        raise _add_row_number(errors[first], first, question)
    if lost:
        raise _lost_rows_error(lost, [found.get(i) for i in range(len(rows))])
    return [found[i] for i in range(len(rows))]


def _lost_rows_error(lost: dict[int, str], found: list[Explanation | None]) -> LostRowsError:
    rows = [f"row {number}: {reason}" for number, reason in sorted(lost.items())]
    others = plural(len(found) - len(lost), "other explanation")
    message = f"{join_first(rows, 5)}, at every attempt. `found` has the {others}."
    return LostRowsError(message, found, sorted(lost))
