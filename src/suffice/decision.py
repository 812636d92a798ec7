"""`Decision`: one input with the model's prediction, the outcome to explain and its references."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np

from suffice.context.change_rules import DeclaredChanges, ResolvedChanges
from suffice.context.cost import CostSpec
from suffice.context.hybrids import Context, Hybrids, SwapContext
from suffice.context.players import Players
from suffice.context.references import (
    CachedRows,
    Pool,
    ReferenceCache,
    References,
    ReferenceSpec,
    choose_references,
)
from suffice.engines import EngineSelector, Evaluator
from suffice.errors import ModelError, SufficeError
from suffice.models.wrapped_model import WrappedModel
from suffice.search.limits import Limits
from suffice.tables.table import Table
from suffice.target import PredictionScore, Target, event_for
from suffice.typing import BoolVector, HeldSets, Values

Prediction = tuple[Values, Values | None]
"""The model's answer for a row, and the scores that came with it; None where none did."""


INPUT_ROWS_AGAIN = 2
"""How often the input is predicted again where a hybrid that is the input lost its outcome."""


def random_model_error(model: object, rows: str) -> ModelError:
    """Return the error for a model that predicts the same rows otherwise in another call."""
    return ModelError(
        f"{model} contradicts itself: it predicted {rows} otherwise when it was called again. Fix "
        "its random state, or call eval() on a torch module. A model that is meant to be random is "
        "explained by tests: explain(x, alpha=0.05)"
    )


@dataclass(frozen=True, eq=False)
class Decision:
    """An input with its outcome, the references it is contrasted with, and how they mix."""

    inputs: CachedRows
    """Rows, in the data's dtypes, among which the input was read."""
    index: int
    """Position of the input among those rows."""
    prediction: Any
    target: Target
    y: bool
    """Whether the input has the target's outcome."""
    data: Table
    answers: Values
    """The model's answer for each row of the data."""
    references: References
    players: Players
    engine_selector: EngineSelector
    context: Context = field(default_factory=SwapContext)
    cost: CostSpec = None
    changes: ResolvedChanges = field(default_factory=ResolvedChanges)
    """Declared rules on which features may change, and how."""
    seed: int = 0
    scores: Values | None = None
    """(1, classes): the scores that came along with the prediction; None where none did."""
    rows_for_outcome: int = 0
    """Rows that the model predicted to decide the input's outcome."""
    rows_by_engine: int = 0
    """Rows of the input that an engine predicted in the model's place."""

    def require_consistent(self) -> None:
        """Raise if the model predicted rows of data otherwise when it was called again."""
        model = self.target.model
        if rows := getattr(model, "contradiction", ""):
            raise random_model_error(model, rows)

    def require_same_prediction(self) -> int:
        """Raise if the input alone has not the outcome that it had; return the rows predicted."""
        if not all((self.target(self.row) == self.y).all() for _ in range(INPUT_ROWS_AGAIN)):
            raise random_model_error(self.target.model, "the input")
        return INPUT_ROWS_AGAIN

    @property
    def supports_recourse(self) -> bool:
        """True if the context allows recourse: features can be set to chosen values."""
        return self.context.is_swap or self.context.is_causal

    @cached_property
    def row(self) -> Table:
        """The input as a table of one row."""
        return self.inputs.row(self.index)

    @cached_property
    def pool(self) -> Table:
        """The input in row 0 and the references below it."""
        if self.context.is_swap:
            return Pool(self.inputs, self.index, self.references)
        # Other contexts make rows of their own from a table of a kind of their own.
        return self.row.stack(self.references.table)

    @cached_property
    def differs(self) -> HeldSets:
        """(references, players): whether the reference's values differ from the input's."""
        codes = self.pool.codes()
        columns = codes[1:] != codes[0]
        return np.stack([columns[:, list(c)].any(axis=1) for c in self.players.columns], axis=1)

    @cached_property
    def hybrids(self) -> tuple[Hybrids, Hybrids]:
        """The hybrids of the keep view and of the flip view: often the same."""
        return self.context.bind_with_costs(
            self.pool, self.players, self.seed, self.data, self.cost
        )

    @property
    def rows_predicted(self) -> int:
        """Rows that the model predicted for the input itself: its outcome and its score."""
        scored = self.scores is None and self.target.wrapped.classes is not None
        return self.rows_for_outcome + (scored and self.target.wrapped.has_scores)

    @cached_property
    def own_score(self) -> PredictionScore | None:
        """Probability, score or value shown beside the prediction; computed when first read."""
        model, known = self.target.wrapped, self.scores is not None
        # The row is only read if the model has to predict it.
        rows = self.inputs.table if known or model.classes is None else self.row
        return model.prediction_scores(rows, [self.prediction], self.scores)[0]

    def evaluator(
        self, hybrids: Hybrids, limits: Limits | None = None, exhaustive: bool = True
    ) -> Evaluator:
        """Return an evaluator of hybrids; its note is the reason why no faster one is used."""
        limits = limits or Limits()
        return self.engine_selector.make_evaluator(
            self.target,
            hybrids,
            self.y,
            limits.budget,
            exhaustive,
            limits.batch_seconds,
            self._own_readings,
        )

    @cached_property
    def _own_readings(self) -> dict[str, Any]:
        """Readings of the model for questions with a budget, by the engine's name."""
        return {}


@dataclass(frozen=True, eq=False)
class DecisionBuilder:
    """Makes a model's decisions for inputs, with the references that each is contrasted with.

    Inputs that are decided together are predicted in one call, and those with the same references
    share everything that follows from these.
    """

    model: WrappedModel
    answers: Values
    """The model's answer for each row of the data."""
    data: Table
    outcome: Any
    references: ReferenceSpec
    n_references: int | None
    like_data: Callable[[Table], Table]
    """Converts a table of the user's as the data was converted."""
    players: Players
    engine_selector: EngineSelector
    context: Context
    cost: CostSpec
    changes: DeclaredChanges
    seed: int
    sets: ReferenceCache = field(init=False, default_factory=ReferenceCache)
    resolved_changes: ResolvedChanges = field(init=False)

    def __post_init__(self) -> None:
        # A misspelt name fails now, not at the first recourse.
        resolved = self.changes.resolve(self.data, self.players)
        object.__setattr__(self, "resolved_changes", resolved)

    def one(self, row: Table, outcome: Any = None) -> Decision:
        """The decision for one input; `outcome` in place of the usual one."""
        inputs = CachedRows(row)
        shares, asked = self.engine_selector.class_shares(inputs)
        answers, scores = self.model.predict_with_scores(row, shares)
        asked = asked if scores is not None and scores is shares else 1
        return self._decision(inputs, 0, answers, scores, outcome, asked)

    def many(self, inputs: CachedRows) -> list[Decision | SufficeError]:
        """Return the decision for each input, or its error; they are those of one call for each."""
        found: list[Decision | SufficeError] = []
        for place, predicted in enumerate(self._predicted(inputs.table)):
            try:
                if isinstance(predicted, SufficeError):
                    raise predicted
                found.append(self._decision(inputs, place, *predicted))
            except SufficeError as error:
                found.append(error)
        return found

    def _predicted(self, table: Table) -> list[Prediction | SufficeError]:
        """Return the prediction of each row, with its scores if the same call gives them.

        A matrix product may round a row differently in another batch. That changes no label except
        in a tie, but it changes scores: so models that may not compute row by row predict each row
        in a call of its own for these.
        """
        apart = self.engine_selector.predicts_row_by_row
        each = [table.take(np.array([i])) for i in range(len(table))] if not apart else []
        if self.model.classes is None and not apart:
            return [self._alone(row) for row in each]
        try:
            answers, scores = self.model.predict_with_scores(table)
        except SufficeError as error:
            if len(table) == 1:
                return [error]
            halves = np.array_split(np.arange(len(table)), 2)
            return [told for half in halves for told in self._predicted(table.take(half))]
        if not apart:
            return [(answers[i : i + 1], self._scores(row)) for i, row in enumerate(each)]
        scores = self._scores(table.take(np.arange(len(table)))) if scores is None else scores
        return [
            (answers[i : i + 1], None if scores is None else scores[i : i + 1])
            for i in range(len(table))
        ]

    def _alone(self, row: Table) -> Prediction | SufficeError:
        try:
            return self.model.predict_with_scores(row)
        except SufficeError as error:
            return error

    def _scores(self, rows: Table) -> Values | None:
        """Return the scores of all rows by one call; None if the model has none for some."""
        try:
            return None if self.model.classes is None else self.model.scores(rows)
        except SufficeError:
            return None

    def _decision(
        self,
        inputs: CachedRows,
        place: int,
        answers: Values,
        scores: Values | None,
        outcome: Any = None,
        asked: int = 1,
    ) -> Decision:
        wanted = self.outcome if outcome is None else outcome
        argument = "outcome" if outcome is None else "desired"
        prediction = answers[0]
        target = Target(self.model, event_for(wanted, self.model, prediction, argument))
        truth = target(inputs.row(place)) if target.event.needs_scores else target.read(answers)
        y = bool(truth[0])
        return Decision(
            inputs=inputs,
            index=place,
            prediction=prediction,
            target=target,
            y=y,
            data=self.data,
            answers=self.answers,
            references=self._references_of(target, inputs, place, y),
            players=self.players,
            engine_selector=self.engine_selector,
            context=self.context,
            cost=self.cost,
            changes=self.resolved_changes,
            seed=self.seed,
            scores=scores,
            rows_for_outcome=asked + target.event.needs_scores,
            rows_by_engine=1 - asked,
        )

    def _references_of(self, target: Target, inputs: CachedRows, place: int, y: bool) -> References:
        def is_opposite() -> BoolVector:
            known = None if target.event.needs_scores else self.answers
            return np.asarray((target(self.data) if known is None else target.read(known)) != y)

        def chosen(opposite: Callable[[], BoolVector] = is_opposite) -> Table:
            return choose_references(
                self.references,
                self.data,
                inputs.row(place),
                opposite,
                self.n_references,
                self.seed,
                self.like_data,
            )

        if callable(self.references):  # it may choose others for every input
            return References(chosen())
        if not (isinstance(self.references, str) and self.references == "opposite"):
            return self.sets.get_or_choose("given", chosen)
        event = target.event
        if event.kind == "custom":  # two functions can only be compared by their results
            mask = is_opposite()
            return self.sets.get_or_choose(
                np.packbits(mask).tobytes(), lambda: chosen(lambda: mask)
            )
        # 1 and True are different labels but equal keys, so the key has the types as well.
        typed = tuple((type(value), value) for value in event.parameters)
        return self.sets.get_or_choose((event.kind, typed, y), chosen)


@runtime_checkable
class SupportsDecide(Protocol):
    """Protocol of an explainer, for callers that only need its decisions."""

    @property
    def data(self) -> Table:
        """Table that references are taken from."""
        ...

    @property
    def outcome(self) -> Any:
        """The argument `outcome`; None: the input's predicted outcome."""
        ...

    def decide(self, x: Any, outcome: Any = None) -> Decision:
        """Return the decision for one input; `outcome` in place of the explainer's own."""
        ...
