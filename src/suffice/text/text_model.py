"""A text as a row of cells: the table of cells, its hybrids, and a model that joins cells to texts.

A cell is the text of one span. A reference is another row of cells; a hybrid takes some cells from
the input and the rest from a reference.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from time import perf_counter
from typing import Any

import numpy as np

from suffice.context import Hybrids, Players, SwapHybrids
from suffice.context.hybrids import Context, PooledHybrids
from suffice.models import WrappedModel, require_model, wrap_model
from suffice.tables import Table
from suffice.tables.backends import ArrayTable, HiddenColumnTable
from suffice.tables.cells import label_array
from suffice.target import Event, Outcome, Target, class_event, event_for
from suffice.text.segmentation import Span
from suffice.typing import BoolVector, Counts, Values

_TEXTS_TIMED = 64
"""Texts predicted at once to measure the time per text, at most."""
_TIMING_SECONDS = 0.5
"""Time for that measurement in seconds; a slow model predicts fewer texts."""


READS_TEXTS = "a callable on a list of strings, or a model whose predict takes one"
"""Description of the models that texts can be explained for, used in error messages."""


class TextTable(ArrayTable):
    """Table of texts, which the model receives as a list of strings."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.names = ("text",)
        self._texts = list(texts)

    def __len__(self) -> int:
        return len(self._texts)

    @property
    def native(self) -> Any:
        """List of the texts."""
        return self._texts

    def take(self, rows: Counts) -> TextTable:
        """Return a table of the texts at these positions."""
        return TextTable([self._texts[i] for i in rows])


@dataclass(frozen=True, eq=False)
class TextDecision:
    """Prediction for a text and for some other texts, read as an event that holds or does not."""

    text: str
    model: WrappedModel
    event: Event
    has_outcome: bool
    prediction: Any
    others_have_outcome: BoolVector

    def outcomes(self, texts: Sequence[str]) -> BoolVector:
        """Predict texts and return which of them have the event."""
        return Target(self.model, self.event)(TextTable(texts))

    @cached_property
    def seconds_per_text(self) -> float | None:
        """Seconds per text in a large batch, measured once.

        A model needs far less time for each of many texts than for each of the few predicted so
        far, so a batch of copies of the text is timed.
        """
        few = self.model.seconds_per_row or 0.0
        count = int(min(_TEXTS_TIMED, _TIMING_SECONDS / max(few, 1e-9)))
        if count <= len(self.others_have_outcome):
            return few
        started = perf_counter()
        self.model.predict(TextTable([self.text] * count))
        return (perf_counter() - started) / count

    @property
    def outcome(self) -> Outcome:
        """The event in the form that `Explainer` takes, independent of further predictions."""
        return Outcome(self.event.text, lambda model, prediction: self.event)


class TextModel:
    """Model of rows of cells: joins each row into a text, which the user's model predicts."""

    def __init__(
        self,
        model: WrappedModel,
        join: CellJoiner,
        seen: Sequence[int],
        seconds_per_row: float | None = None,
    ) -> None:
        self.__name__ = model.name
        self._model = model
        self._join = join
        self.of_texts = model.original
        """The user's own model."""
        self.gaps = join.gaps
        """Characters before, between and after the cells."""
        self.seen = seen
        """Indices of the cells that are features; the others are hidden."""
        self.seconds_per_row = seconds_per_row
        self.has_scores = model.has_scores
        if model.classes is not None:
            self.classes_ = label_array(model.classes)

    def predict(self, cells: Values) -> Values:
        """Return one label or value per row."""
        return self._model.predict(self._texts(cells))

    def predict_proba(self, cells: Values) -> Values:
        """Return one score per row and class."""
        return self._model.scores(self._texts(cells))

    def predict_with_scores(self, cells: Values) -> tuple[Values, Values | None]:
        """Return labels and scores, by one call of the user's model where it offers that."""
        return self._model.predict_with_scores(self._texts(cells))

    def _texts(self, cells: Values) -> TextTable:
        # Short-lived tuples: a thousand lists alive at once would trigger the garbage collector.
        return TextTable(self._join(zip(*cells.T.tolist(), strict=True)))


class TextColumnModel:
    """Model of texts from an ONNX model, which takes them as a column of strings."""

    def __init__(self, model: Any) -> None:
        self.__name__ = getattr(model, "__name__", type(model).__name__)
        self._model = model

    def predict(self, texts: list[str]) -> Any:
        """Return one label or number for each text."""
        column = np.empty((len(texts), 1), dtype=object)
        column[:, 0] = texts
        return self._model.predict(column)


def decide_text(model: Any, text: str, others: Sequence[str], outcome: Any) -> TextDecision:
    """Predict a text and some other texts in one call, and determine the outcome."""
    model = require_model(model, READS_TEXTS)
    table = TextTable([text, *others])
    # Texts are predicted one explainer at a time, and each prediction may be dear.
    wrapped, answers = wrap_model(model, table, predict_again=False)
    event = _event(outcome, wrapped, answers[0])
    target = Target(wrapped, event)
    truth = target(table) if event.needs_scores else target.read(answers)
    return TextDecision(text, wrapped, event, bool(truth[0]), answers[0], truth[1:])


def _event(outcome: Any, model: WrappedModel, prediction: Any) -> Event:
    """Return the event that `outcome` means.

    The classes of a plain callable are known from its predictions only, which so far may have been
    one class; that class is then the event.
    """
    if outcome is None and model.classes is not None and len(model.classes) == 1:
        return class_event(model.classes[0])
    return event_for(outcome, model, prediction)


# From cells back to a text: the characters between the spans stay as they are.


class CellJoiner:
    """Join rows of cells into texts: each cell replaces a span of the original text.

    An empty cell also removes one space beside it.

    >>> join = CellJoiner("Not good, no!", [(0, 3), (4, 8), (10, 12)])
    >>> join([["Not", "plate", "no"], ["Not", "", "no"], ["", "good", ""]])
    ['Not plate, no!', 'Not, no!', 'good,!']
    """

    def __init__(self, text: str, spans: Sequence[Span]) -> None:
        edges = [0, *(edge for span in spans for edge in span), len(text)]
        self.gaps = [text[a:b] for a, b in list(pairwise(edges))[::2]]
        # One formatting of a whole row takes a tenth of the time of adding up its pieces; where
        # the same stands between all spans, as in a plain row of words, joining takes a quarter.
        first, *inner, last = self.gaps
        self._alike = not first and not last and len(set(inner)) == 1
        self._between = inner[0] if inner else ""
        self._template = "%s".join(gap.replace("%", "%%") for gap in self.gaps)

    def __call__(self, rows: Iterable[Sequence[str]]) -> list[str]:
        """Return a text for each row of cells."""
        whole = self._between.join if self._alike else self._format
        return [self._shorter(row) if "" in row else whole(row) for row in rows]

    def _format(self, row: Sequence[str]) -> str:
        return self._template % tuple(row)

    def _shorter(self, row: Sequence[str]) -> str:
        out = self.gaps[0]
        for cell, gap in zip(row, self.gaps[1:], strict=True):
            if cell:
                out += cell + gap
            elif gap[:1].isspace():
                out += gap[1:]
            else:
                out = (out[:-1] if out[-1:].isspace() else out) + gap
        return out


class CellTable(HiddenColumnTable):
    """Table of cells of texts; words outside the features are hidden columns."""

    def codes(self) -> Counts:
        """Return integer codes of the cells, as for any table.

        For few rows a dictionary is faster than the hash table that tables use otherwise.
        """
        out = np.empty((len(self), len(self.names)), dtype=np.int64)
        for j in range(len(self.names)):
            cells = self.column(j).tolist()
            number = {cell: i for i, cell in enumerate(sorted(set(cells)))}
            out[:, j] = [number[cell] for cell in cells]
        return out


@dataclass(frozen=True)
class TextContext(Context):
    """Context of texts: words are swapped with those of a reference."""

    kind = "text"

    description: str
    has_hidden: bool = False
    """Whether some words are hidden, that is, belong to no feature."""

    def bind(self, pool: Table, players: Players, seed: int) -> tuple[Hybrids, Hybrids]:
        """Return the hybrids of both views: the same object unless some words are hidden.

        Hidden words are held in the flip view and replaced in the keep view, as for every set that
        does not name them.
        """
        assert isinstance(pool, CellTable)
        if not self.has_hidden:
            hybrids = WordSwapHybrids(pool, players)
            return hybrids, hybrids
        flip = WordSwapHybrids(pool.with_hidden_of(0), players)
        # With one reference, replaced words are the same in all hybrids, so equal visible words
        # make equal texts and hybrids can be recognised by their keys.
        if len(pool) == 2:
            return WordSwapHybrids(pool.with_hidden_of(1), players), flip
        return RestReplacedHybrids(pool, players), flip

    def describe(self) -> str:
        """Describe what replaces words, and what happens to hidden words."""
        rest = "; words not looked at are all replaced (keep) or all held (flip)"
        return self.description + rest * self.has_hidden


class WordSwapHybrids(SwapHybrids):
    """Swap hybrids of words, with codes taken from columns where each word is a player."""

    @cached_property
    def codes(self) -> Counts:
        """Codes (1 + n, d), equal where two rows agree on all words of a player."""
        columns = self.pool.codes()
        if columns.shape[1] == self.d:
            return columns
        return self.players.codes(columns)


@dataclass(frozen=True, eq=False)
class RestReplacedHybrids(PooledHybrids):
    """Hybrids of the visible words, in a text whose hidden words come from each reference.

    These hybrids have no keys: equal visible words do not make equal texts.
    """
