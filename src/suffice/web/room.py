"""What the explorer knows: models, a table, and an explainer for each contrast that is asked for.

Nothing here knows of HTTP. Every answer is made of what JSON has.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Any

import msgspec
import numpy as np

from suffice.context.causal import CausalContext, CausalModel
from suffice.context.hybrids import Context
from suffice.errors import InputError, did_you_mean
from suffice.explainer import Explainer
from suffice.explanation import Explanation
from suffice.tables import as_table, plain
from suffice.target import at_least, at_most
from suffice.text import TextExplainer
from suffice.web.asked import (
    AskedRecourse,
    AskedRows,
    Contrast,
    ExplainInput,
    Input,
    PredictInput,
)
from suffice.web.rows import Page, Rows, shown

__all__ = ["Room"]

_EXPLAINERS_KEPT = 16

_MOST_REFERENCES = 500
"""As many are used unless more are asked for: an answer while one waits."""

_MOST_SECONDS = 60.0
"""No question takes longer."""


class Room:
    """Models and a table, ready to be asked.

    `models` by name; `graph` a causal model of the columns; `text` the column that holds texts, of
    models that read texts; `opening` the lines of code that open a model and the data.
    """

    def __init__(
        self,
        models: Mapping[str, Any],
        data: Any,
        *,
        outcome: Any = None,
        n_references: int | None = _MOST_REFERENCES,
        random_state: int = 0,
        graph: CausalModel | None = None,
        text: str | None = None,
        opening: Callable[[str], Sequence[str]] = lambda name: ("model = …", "data = …"),
    ) -> None:
        self._models = dict(models)
        self._opening = opening
        self._data = data
        self.seed = random_state
        self.n_references = n_references
        self._outcome = outcome
        self._graph = graph
        self.text = text
        self._lock = Lock()
        self._explainers: OrderedDict[tuple[str, bytes], Explainer] = OrderedDict()
        self._rows = Rows(as_table(data))
        self._own = {} if text else {name: self._plain(name) for name in self._models}
        self._answers = {
            name: self._own[name].answers if text is None else self._read_texts(name)
            for name in self._models
        }

    def about(self) -> dict[str, Any]:
        """The models, the columns, and what may be asked."""
        first = next(iter(self._models))
        answers = self._answers[first]
        labels = sorted({str(shown(v)) for v in np.unique(answers.astype(str))[:60]})
        numbers = answers.dtype.kind == "f"
        return {
            "models": list(self._models),
            "rows": len(self._rows),
            "columns": msgspec.to_builtins(self._rows.columns()),
            "features": [] if self.text else list(self._own[first].data.names),
            "predictions": [] if numbers else labels,
            "numbers": numbers,
            "n_references": self.n_references,
            "graph": self._graph_facts(),
            "text": self.text,
        }

    def rows(self, asked: AskedRows) -> Page:
        """A page of the table."""
        name = self._name(asked.model)
        return self._rows.page(asked, self._answers[name], name)

    def predict(self, asked: PredictInput) -> dict[str, Any]:
        """The model's answer for one input."""
        if self.text:
            model = self._models[self._name(asked.model)]
            answer = np.asarray(_called(model)([self.text_of(asked.input)]))[0]
            return {"prediction": shown(answer), "score": None}
        decision = self._own[self._name(asked.model)].decide(self._input(asked.input))
        return {
            "prediction": shown(decision.prediction),
            "score": msgspec.to_builtins(decision.own_score),
        }

    def explain(self, asked: ExplainInput) -> Explanation:
        """What suffices to keep this input's outcome, and to flip it."""
        question: dict[str, Any] = {
            "tau": asked.tau,
            "alpha": asked.alpha,
            "adjust": asked.adjust,
            "max_size": asked.max_size,
            "search": asked.search,
            "time_limit": _seconds(asked.time_limit),
        }
        if self.text:
            return self._texts(asked).explain(self.text_of(asked.input), **question)
        explainer = self.explainer(asked.model, asked.contrast)
        return explainer.explain(self._input(asked.input), **question)

    def recourse(self, asked: AskedRecourse) -> Any:
        """The cheapest ways to another outcome."""
        self._only_tables("recourse")
        explainer = self.explainer(asked.model, asked.contrast)
        return explainer.recourse(
            self._input(asked.input),
            tau=asked.tau,
            immutable=asked.immutable,
            increasing=asked.increasing,
            decreasing=asked.decreasing,
            ranges=asked.ranges or None,
            max_cost=asked.max_cost,
            max_size=asked.max_size,
            max_options=asked.max_options,
            values=asked.values,
            time_limit=_seconds(asked.time_limit),
        )

    def shapley(self, asked: ExplainInput) -> Any:
        """What each feature adds to sufficiency."""
        self._only_tables("Shapley values")
        return self.explainer(asked.model, asked.contrast).shapley(self._input(asked.input))

    def rules(self, asked: ExplainInput) -> Any:
        """The best rules for this input."""
        self._only_tables("rules")
        explainer = self.explainer(asked.model, asked.contrast)
        return explainer.anchor(self._input(asked.input), tau=asked.tau)

    def explainer(self, model: str | None, contrast: Contrast) -> Explainer:
        """The explainer for such a contrast; kept for the next question."""
        key = self._name(model), msgspec.json.encode(contrast)
        with self._lock:
            found = self._explainers.get(key)
            if found is not None:
                self._explainers.move_to_end(key)
                return found
        made = self._contrasted(key[0], contrast)
        with self._lock:
            self._explainers[key] = made
            while len(self._explainers) > _EXPLAINERS_KEPT:
                self._explainers.popitem(last=False)
        return made

    def opening(self, model: str | None) -> Sequence[str]:
        """Code that opens a model and the data."""
        return self._opening(self._name(model))

    def label(self, outcome: str, model: str | None = None) -> Any:
        """A class as the model knows it, from how it is shown."""
        answers = self._answers[self._name(model)]
        labels = {str(shown(v)): plain(v) for v in set(answers.tolist())}
        if outcome not in labels:
            hint = did_you_mean(outcome, labels)
            raise InputError("outcome", repr(outcome), "a class of the model", hint)
        return labels[outcome]

    def row_values(self, number: int) -> dict[str, Any]:
        """One row's values by column, as JSON has them."""
        if not 0 <= number < len(self._rows):
            raise InputError("row", number, f"0 to {len(self._rows) - 1}")
        table = as_table(self._data)
        return {name: shown(table.cell(number, j)) for j, name in enumerate(table.names)}

    # -- the parts ----------------------------------------------------------------------

    def _name(self, model: str | None) -> str:
        if model is None:
            return next(iter(self._models))
        if model not in self._models:
            hint = did_you_mean(model, self._models)
            raise InputError("model", repr(model), "a model that is served", hint)
        return model

    def _plain(self, name: str) -> Explainer:
        return Explainer(
            self._models[name],
            self._data,
            outcome=self._outcome,
            n_references=self.n_references,
            random_state=self.seed,
        )

    def _contrasted(self, name: str, contrast: Contrast) -> Explainer:
        references: Any = contrast.references
        if isinstance(references, list):
            references = self._rows.mask(references)
        changes: dict[str, Any] = {
            "references": references,
            "outcome": self._event(name, contrast),
            "groups": contrast.groups or None,
            "context": self._context(contrast),
        }
        if contrast.n_references is not None:
            changes["n_references"] = contrast.n_references
        return self._own[name].but(**changes)

    def _event(self, name: str, contrast: Contrast) -> Any:
        given = [contrast.outcome, contrast.at_least, contrast.at_most]
        if sum(part is not None for part in given) > 1:
            raise InputError("outcome", "several", "one of outcome, at_least, at_most")
        if contrast.at_least is not None:
            return at_least(contrast.at_least)
        if contrast.at_most is not None:
            return at_most(contrast.at_most)
        if contrast.outcome is None:
            return self._outcome
        return self.label(contrast.outcome, name)

    def _context(self, contrast: Contrast) -> Context | None:
        if not contrast.causal:
            return None
        if self._graph is None:
            raise InputError("causal", True, "false: no graph was given", "Serve with --graph.")
        return CausalContext(self._graph)

    def _input(self, given: Input) -> Any:
        """The input as the explainer reads it: a row's own values, and those that were changed."""
        if given.row is None:
            return dict(given.values)
        base = as_table(self._data)
        if not 0 <= given.row < len(base):
            raise InputError("row", given.row, f"0 to {len(base) - 1}")
        if not given.values:
            return base.take(np.array([given.row])).native
        known = base.names
        for name in given.values:
            if name not in known:
                hint = did_you_mean(name, known)
                raise InputError("values", f"column {name!r}", "columns of the table", hint)
        cells = {name: base.cell(given.row, j) for j, name in enumerate(known)}
        return cells | dict(given.values)

    def _graph_facts(self) -> dict[str, list[str]] | None:
        if self._graph is None:
            return None
        return {node: list(self._graph.parents(node)) for node in self._graph.nodes}

    def _only_tables(self, what: str) -> None:
        if self.text:
            raise InputError("input", "a text", f"a row of a table: {what} are of tables")

    # -- texts --------------------------------------------------------------------------

    def _texts(self, asked: ExplainInput) -> TextExplainer:
        model, contrast = self._name(asked.model), asked.contrast
        if isinstance(contrast.references, list) or contrast.groups or contrast.causal:
            raise InputError("contrast", "of a table", "outcome and n_references, for a text")
        return TextExplainer(
            self._models[model],
            outcome=self._event(model, contrast),
            n_references=contrast.n_references,
            random_state=self.seed,
        )

    def text_of(self, given: Input) -> str:
        """The text that is asked about."""
        if given.text is not None:
            return given.text
        if given.row is None:
            raise InputError("input", "neither row nor text", "one of the two")
        return str(self.row_values(given.row)[self._column()])

    def _column(self) -> str:
        assert self.text is not None
        return self.text

    def _read_texts(self, name: str) -> Any:
        table = as_table(self._data)
        texts = [str(v) for v in table.column(table.position(self._column(), "text"))]
        return np.asarray(_called(self._models[name])(texts))


def _seconds(given: float | None) -> float | None:
    """The time limit: none but the server's own where none was given."""
    if given is None:
        return None
    if not 0 < given <= _MOST_SECONDS:
        raise InputError("time_limit", given, f"seconds, up to {_MOST_SECONDS:g}")
    return given


def _called(model: Any) -> Callable[[list[str]], Any]:
    found: Callable[[list[str]], Any] = model.predict if hasattr(model, "predict") else model
    return found
