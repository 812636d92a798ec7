"""The user's model, asked about cells that are joined into texts first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from suffice.models import WrappedModel, adapted, as_model, not_a_model
from suffice.tables.arrays import ArrayTable
from suffice.tables.labels import as_labels
from suffice.target import Event, Outcome, Target, class_event, event_for
from suffice.text.join import Join
from suffice.typing import BoolVector, Counts, Values

__all__ = ["JoinedModel", "TextDecision", "Texts", "decide"]


_TIMED = 64
"""Texts that tell how long one takes among many,"""
_TIMING = 0.5
"""or as many as take so long, in seconds."""


class Texts(ArrayTable):
    """Texts as a table that is only ever handed to the model, as a list of strings."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.names = ("text",)
        self._texts = list(texts)

    def __len__(self) -> int:
        return len(self._texts)

    @property
    def native(self) -> Any:
        """The list."""
        return self._texts

    def take(self, rows: Counts) -> Texts:
        """These texts."""
        return Texts([self._texts[i] for i in rows])


@dataclass(frozen=True, eq=False)
class TextDecision:
    """What the model says of a text, read as an event, and of some others along with it."""

    model: WrappedModel
    event: Event
    y: bool
    """Does the text have the outcome?"""
    prediction: Any
    others: BoolVector
    """Do the other texts?"""

    def outcomes(self, texts: Sequence[str]) -> BoolVector:
        """Do these texts have the event?"""
        return Target(self.model, self.event)(Texts(texts))

    def pace(self, text: str) -> float | None:
        """Seconds for a text among many: far less than for the few that were asked about so far."""
        few = self.model.seconds_per_row or 0.0
        count = int(min(_TIMED, _TIMING / max(few, 1e-9)))
        if count <= len(self.others):
            return few
        started = perf_counter()
        self.model.predict(Texts([text] * count))
        return (perf_counter() - started) / count

    @property
    def outcome(self) -> Outcome:
        """The event as an explainer takes it: already settled."""
        return Outcome(self.event.says, lambda model, prediction: self.event)


class JoinedModel:
    """Answers for rows of cells, as a model of tables does."""

    def __init__(
        self, model: WrappedModel, join: Join, seen: Sequence[int], pace: float | None = None
    ) -> None:
        self.__name__ = model.name
        self._model = model
        self._join = join
        self.of_texts = model.original
        """The user's own model."""
        self.gaps = join.gaps
        """What stands before, between and after the cells."""
        self.seen = seen
        """The cells that are in sight."""
        self.seconds_per_row = pace
        if model.classes is not None:
            self.classes_ = as_labels(model.classes)

    def predict(self, cells: Values) -> Values:
        """One label or value per row."""
        return self._model.predict(self._texts(cells))

    def predict_proba(self, cells: Values) -> Values:
        """One score per row and class."""
        return self._model.scores(self._texts(cells))

    def predict_scored(self, cells: Values) -> tuple[Values, Values | None]:
        """Both by one call, where the user's model gives them so."""
        return self._model.predict_scored(self._texts(cells))

    def _texts(self, cells: Values) -> Texts:
        # Tuples that come and go: a thousand lists at once would wake the garbage collector.
        return Texts(self._join(zip(*cells.T.tolist(), strict=True)))


def decide(model: Any, text: str, others: Sequence[str], outcome: Any) -> TextDecision:
    """Ask the model about a text and some others in one call, and settle what the outcome is."""
    model = model if isinstance(model, type) else adapted(model)
    if isinstance(model, type) or not (callable(model) or hasattr(model, "predict")):
        allowed = "a callable on a list of strings, or a model whose predict takes one"
        raise not_a_model(model, allowed)
    table = Texts([text, *others])
    wrapped, answers = as_model(model, table)
    event = _event(outcome, wrapped, answers[0])
    target = Target(wrapped, event)
    truth = target(table) if event.needs_scores else target.read(answers)
    return TextDecision(wrapped, event, bool(truth[0]), answers[0], truth[1:])


def _event(outcome: Any, model: WrappedModel, prediction: Any) -> Event:
    """The event that is meant; a callable may have shown no class but the text's own so far."""
    if outcome is None and model.classes is not None and len(model.classes) == 1:
        return class_event(model.classes[0])
    return event_for(outcome, model, prediction)
